"""Labels from a product of sparse factors, for dense and CSR rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.codebooks.factored import FactoredCodebook
from polymeans.core.frame import Frame
from polymeans.core.rows import Rows, is_csr
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.nearest import decide_contested
from polymeans.engine.stateless import StatelessAssigner

if TYPE_CHECKING:
    from polymeans.kernels.factored_labels import ScoreBounds

#: Range of the largest coordinate of centroids for which rows are labeled in one pass: squares of
#: such numbers, and sums of them, stay within the range of float32.
_SMALLEST, _LARGEST = 1e-12, 1e12


def label_in_one_pass(
    X: Rows, factors: Sequence[sp.csr_array], offset: NDArray[Any], table: NDArray[Any]
) -> NDArray[np.int32] | None:
    """Labels of dense rows; None if they are sparse, not finite, or centroids are extreme."""
    largest = float(np.abs(table).max())
    if is_csr(X) or not (largest == 0 or _SMALLEST <= largest <= _LARGEST):
        return None
    labels = np.full(len(X), -1, dtype=np.int32)
    rows = unmeasured_block(X, table)
    codebook = FactoredCodebook.given(rows.frame, factors, offset, table)
    scores = FactoredScores(rows, codebook)
    scores.assign(codebook, labels, labels)
    if not scores.finite:
        return None
    decide_contested(rows, codebook, labels)
    return labels


def unmeasured_block(X: NDArray[Any], centers: NDArray[Any]) -> DenseBlock:
    """Dense rows that are labeled once and forgotten: nothing is computed about them beforehand.

    Passes over the rows (their range, mean, lengths, and whether they are finite) cost more than
    their labels through a product of sparse factors. Here everything happens on the one way through
    memory; where rows are measured from is taken from the centroids.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        C-ordered, float32 or float64. Need not be finite: :class:`FactoredScores` says so then.
    centers : ndarray of shape (n_clusters, n_features)
        Table of the centroids the rows will meet, of ordinary size.

    Returns
    -------
    DenseBlock
        Without norms or weights.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean = centers.mean(axis=0, dtype=np.float64)
        variance = centers.var(axis=0, dtype=np.float64)
        # It costs a little; what rounding leaves open would have to be much more without it.
        shifted = bool(np.sum(mean**2) > 16 * variance.sum())
    shift = (mean if shifted else np.zeros(X.shape[1])).astype(X.dtype)
    nothing = np.empty(0)
    frame = Frame.of_dense(X.shape[0], shift, shifted)
    return DenseBlock(X, nothing, frame, norms=nothing)


class FactoredScores(StatelessAssigner):
    """Computes every score of every row, by way of the factors.

    Labels are those of the codebook's table of centroids: scores in the rows' precision come with a
    bound on what rounding did to them, and rows it leaves open are settled by exact scores. So it
    does not matter that the table is a rounded version of the product.

    Parameters
    ----------
    rows : Block
    codebook : FactoredCodebook
        Centroids ``offset + (S_1 ... S_Q)_c``: has ``factors``, ``offset``, the table ``centers``
        of the rows' dtype (computed in float64 and rounded once), and their ``book``.

    Attributes
    ----------
    n_settled : int
        Rows of the last call that needed exact scores.
    finite : bool
        Whether all entries of dense rows were finite; labels mean nothing if not.
    """

    def __init__(self, rows: Block, codebook: FactoredCodebook) -> None:
        self.rows = rows
        self.n_settled = 0
        self.finite = True

    def assign(
        self, codebook: FactoredCodebook, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        from polymeans.kernels.factored_labels import assign_dense, assign_sparse
        from polymeans.kernels.factored_layout import balance, make_buffers, pack_chain

        rows, book = self.rows, codebook.book
        balanced = balance(codebook.factors)
        bounds = _score_bounds(rows, codebook, balanced)
        with np.errstate(over="ignore"):
            chain = pack_chain(balanced, rows.dtype)

        def label(lo: int, hi: int) -> tuple[int, bool]:
            buffers = make_buffers(chain)
            if rows.is_sparse:
                return assign_sparse(
                    rows.arrays, rows.norms, book, chain, bounds, lo, hi, labels, buffers
                )
            return assign_dense(
                rows.arrays,
                rows.norms,
                rows.frame.shift,
                rows.frame.shifted,
                book,
                chain,
                bounds,
                lo,
                hi,
                labels,
                buffers,
            )

        parts = rows.each(label)
        self.n_settled = sum(n_settled for n_settled, _ in parts)
        self.finite = all(finite for _, finite in parts)


def _score_bounds(
    rows: Block, codebook: FactoredCodebook, factors: list[sp.csr_array]
) -> "ScoreBounds":
    """Scores of the zero row, and how far from exact a score can be.

    Half the squared distance to centroid ``c = offset + v``, less what all have in common, is
    ``|c - shift|²/2 - v·(x - shift)``: the offset takes part in the first term only. The exact rule
    has the table's c in both, the chain its own v in the second.
    """
    from polymeans.kernels.factored_labels import ScoreBounds

    unit = float(np.finfo(rows.dtype).eps) / 2
    tiny = float(np.finfo(rows.dtype).tiny)
    double = 2.0**-53
    n_features = codebook.centers.shape[1]
    spread, rounding, faint = chain_error(factors, unit, tiny)
    if isinstance(rows, SparseBlock):
        start = codebook.book.half_norms.astype(np.float64)
        lengths = np.sqrt(2 * start)
        exact = 2.5 * (int(rows.lengths.max(initial=0)) + 8) * double
        slope, floor, own = exact * lengths, 8 * double * start, 0.0
    else:
        centers = codebook.centers.astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", centers, centers))
        if rows.frame.shifted:
            centers -= rows.frame.shift
        start = 0.5 * np.einsum("ij,ij->i", centers, centers)
        exact = 2.5 * (n_features + 8) * double
        # Of the exact distance, at most 2 |x|² + 2 |c|² (shifted), and of ``start`` itself.
        slope, floor, own = np.zeros(len(start)), 4 * exact * start, exact
    start = start - start.min()
    # The table was summed up in float64, in whatever order, and rounded.
    n_inner = sum(factor.shape[0] for factor in factors[1:])
    table = (n_inner + len(factors) + 8) * double * spread
    table += unit * lengths + np.sqrt(n_features) * tiny
    slope = slope + 1.25 * (rounding + table + 4 * unit * spread)
    floor = floor + 1.25 * (faint + 4 * unit * start)
    # Where scores could leave their type's range, or roundings add up to something, only exact
    # scores will do.
    headroom = float(np.finfo(rows.dtype).max) / 64 - float(np.max(start + floor))
    if not (headroom > 0 and np.all(rounding <= 0.1 * spread)):
        zeros = np.zeros(len(start), dtype=rows.dtype)
        return ScoreBounds(zeros, zeros, slope, floor, own, -1.0)
    longest = headroom / max(1.0, float(np.max(spread + slope)))
    offsets = (start - floor).astype(rows.dtype)
    return ScoreBounds(offsets, slope.astype(rows.dtype), slope, floor, own, longest)


def chain_error(
    factors: list[sp.csr_array], unit: float, tiny: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """What becomes of a row of length one on its way through the chain, at most.

    For each row of the first factor: the sum of absolute values of all its terms, by how much
    rounding can change the result, and by how much numbers too small for their type can, whatever
    the length. Factors, rows and every addition are rounded once; second-order terms are the
    caller's.
    """
    spread = rounding = faint = np.empty(0)
    with np.errstate(over="ignore", invalid="ignore"):
        for position, factor in enumerate(reversed(factors)):
            size = factor.copy()
            # The error of rounding an entry is relative, unless it is smaller than this.
            size.data = np.maximum(np.abs(size.data), tiny)
            n_terms = np.diff(size.indptr)
            roundings = (n_terms + 3.0) * unit
            if position == 0:
                # Squares may vanish where the numbers do not.
                spread = np.sqrt(size.power(2).sum(axis=1)) + 1e-150 * np.sqrt(n_terms)
                rounding = roundings * spread
                faint = 2.0 * n_terms * tiny
            else:
                rounding = size @ rounding + roundings * (size @ (spread + rounding))
                faint = size @ faint + 2.0 * n_terms * tiny
                spread = size @ spread
        if len(factors) == 1:  # and the identity
            rounding = rounding + 4 * unit * spread
    return spread, rounding, faint
