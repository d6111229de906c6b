"""Which assigner serves which codebook, rows and algorithm; codebooks of the user's centroids.

An assigner writes the label of every row for a codebook, and may keep what saves work in
the next iteration. ``follow`` receives how far the centroids moved, ``forget`` the rows whose
labels were changed from outside. All of them return the labels that exact scores define.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids, Table
from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.factored import FactoredCodebook
from polymeans.codebooks.khatri_rao import AdditiveCodebook, MultiplicativeCodebook
from polymeans.codebooks.learned_metric import LearnedMetricCodebook
from polymeans.codebooks.numerators import NumeratorCodebook
from polymeans.core.frame import Frame
from polymeans.core.norms import row_lengths
from polymeans.engine.assigner import Assigner
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.dense_assigners import DenseLazy
from polymeans.engine.elkan import Elkan
from polymeans.engine.factored_assigner import FactoredScores
from polymeans.engine.grid_assigners import DenseSums, SparseSums, StreamedProducts
from polymeans.engine.guarded import Guarded
from polymeans.engine.lane_assigners import LaneLloyd, LaneMargins
from polymeans.engine.linear_assigner import LinearScores
from polymeans.engine.plain_assigners import plain_assigner
from polymeans.engine.scouted import ScoutedLazy
from polymeans.engine.sparse_assigners import SparseLazy, SparseLloyd

ALGORITHMS = ("auto", "lloyd", "elkan", "lazy")

#: Centroids with no larger entry are multiplied before they are brought to length one.
_SMALL = 2.0**-900

#: Centroids below which bounds cost more in each iteration than they save, as measured.
_FEW_DENSE, _FEW_SPARSE = 24, 4

#: Centroids up to which one bound for each row does better than one for each group, as measured.
_ONE_BOUND = 160


def _for_table(block: Block, codebook: Table, algorithm: str) -> Assigner[Table]:
    n_clusters = codebook.n_clusters
    if algorithm == "auto":
        few = n_clusters < (_FEW_SPARSE if block.is_sparse else _FEW_DENSE)
        algorithm = "lloyd" if few else "lazy"
    if algorithm == "elkan":
        return Elkan(block, n_clusters)
    if isinstance(block, SparseBlock):
        return (SparseLazy if algorithm == "lazy" else SparseLloyd)(block, n_clusters)
    if algorithm == "lloyd":
        return plain_assigner(block, n_clusters)
    if LaneLloyd.serves(block) and n_clusters <= _ONE_BOUND:
        return LaneMargins(block, n_clusters)
    if ScoutedLazy.serves(block):
        return ScoutedLazy(block, n_clusters)
    return DenseLazy(block, n_clusters, plain_assigner(block, n_clusters))


def _for_sums(
    block: Block, codebook: AdditiveCodebook, algorithm: str
) -> Assigner[AdditiveCodebook]:
    if isinstance(block, SparseBlock):
        return SparseSums(block, codebook)
    return DenseSums(block, codebook)


def _for_products(
    block: Block, codebook: MultiplicativeCodebook, algorithm: str
) -> Assigner[MultiplicativeCodebook]:
    assert isinstance(block, DenseBlock)  # products of sparse rows are kept in a table
    return StreamedProducts(block, codebook.n_clusters)


def _for_metric(
    block: Block, codebook: LearnedMetricCodebook, algorithm: str
) -> Assigner[LearnedMetricCodebook]:
    return LinearScores(block)


def _for_factors(
    block: Block, codebook: FactoredCodebook, algorithm: str
) -> Assigner[FactoredCodebook]:
    return FactoredScores(block, codebook)


#: How rows find their centroid, by the codebook's kind. A maker takes codebooks of its kind only,
#: and so does what it makes; Any, since a kind is a name, from which no type follows.
_MAKERS: dict[str, Callable[[Block, Any, str], Assigner[Any]]] = {
    "table": _for_table,
    "sum_grid": _for_sums,
    "product_grid": _for_products,
    "linear": _for_metric,
    "factors": _for_factors,
}


def make_assigner(
    block: Block, codebook: Centroids, algorithm: str, kind: str | None = None
) -> Assigner[Centroids]:
    """The assigner for a codebook and an algorithm; ``"auto"`` is the fastest as measured.

    ``kind`` overrides the codebook's own: "factors" for a table that is a product of factors.
    """
    maker = _MAKERS[kind or codebook.kind]
    if block.frame.guarded and codebook.kind != "linear":
        return Guarded(block, lambda others: maker(others, codebook, algorithm))
    return maker(block, codebook, algorithm)


def make_codebook(frame: Frame, centers: NDArray[Any]) -> DenseCodebook | NumeratorCodebook:
    """Free centroids, given in the user's coordinates, for rows of either kind."""
    if frame.spherical:
        small = np.abs(centers).max(axis=1) < _SMALL
        if small.any():  # lengths of subnormal numbers would have few digits
            centers = centers * np.where(small, 1 / _SMALL, 1.0)[:, None]
        lengths = row_lengths(centers.astype(np.float64))
        # Centroids of an earlier fit are of length one as far as their dtype allows: leave them.
        off = (lengths > 0) & (np.abs(lengths - 1) > 8 * np.finfo(frame.dtype).eps)
        if off.any():
            centers = centers / np.where(off, lengths, 1.0)[:, None]
    if not frame.is_sparse:
        return DenseCodebook(frame.internal(centers), frame.spherical)
    numerators, outside, total = frame.internal_sparse(centers)
    return NumeratorCodebook(numerators, total, centers, outside, frame.spherical)


def make_grid(
    frame: Frame, protocentroids: Sequence[NDArray[Any]], aggregator: str, stored: bool = True
) -> DenseCodebook | NumeratorCodebook | AdditiveCodebook | MultiplicativeCodebook:
    """Centroids combined from protocentroids, given in the user's coordinates.

    One set is nothing but free centroids. ``stored`` says whether products are all kept.
    """
    if len(protocentroids) == 1:
        return make_codebook(frame, protocentroids[0])
    sizes = [len(theta) for theta in protocentroids]
    stacked = np.ascontiguousarray(np.concatenate(protocentroids), dtype=frame.dtype)
    full = None
    # The rows' unit is common to all members of a sum, but is one factor of a product.
    measured = len(stacked) if aggregator == "sum" else sizes[0]
    if frame.is_sparse:
        inside, outside, _ = frame.internal_sparse(stacked)
        if outside.any():
            full = stacked.astype(np.float64)
            full[:measured] /= frame.unit
        inside[measured:] *= frame.unit
        stacked = inside.astype(frame.dtype)
    else:
        stacked[:measured] = frame.internal(stacked[:measured])
    return grid_codebook(frame, stacked, sizes, aggregator, full, stored)


def grid_codebook(
    frame: Frame,
    stacked: NDArray[Any],
    sizes: Sequence[int],
    aggregator: str,
    full: NDArray[np.float64] | None = None,
    stored: bool = True,
) -> AdditiveCodebook | MultiplicativeCodebook:
    """The same from protocentroids in the rows' coordinates, all sets on top of each other."""
    stacked = np.ascontiguousarray(stacked, dtype=frame.dtype)
    if aggregator == "sum":
        return AdditiveCodebook(stacked, sizes, full, frame.is_sparse)
    return MultiplicativeCodebook(stacked, sizes, full, frame.is_sparse, stored or frame.is_sparse)
