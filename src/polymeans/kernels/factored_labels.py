"""Labels through a chain of sparse factors that are those of exact scores.

Approximate scores come from the chain (:mod:`polymeans.kernels.factored_products`), with a bound on
what rounding did to them; rows that it leaves open are settled by exact scores.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.factored_products import (
    apply_first,
    apply_inner,
    apply_last_to_dense,
    apply_last_to_sparse,
    compare_first,
)
from polymeans.kernels.rows import as_contested, exact_score, score_rounding


class ScoreBounds(NamedTuple):
    """Scores of centroids, and how far off they can be: ``slope * |x| + floor``."""

    offsets: np.ndarray  # (k,) score of the zero row, less the floor
    slopes: np.ndarray  # (k,) in the rows' dtype
    slope: np.ndarray  # (k,) float64
    floor: np.ndarray  # (k,) float64
    own: float  # and by this times |x|², for all centroids alike
    longest: float  # rows longer than this could leave the range of their type


@kernel(inner=True)
def decide_block(
    rows,  # IN  row container
    book,  # IN  centroids
    chain,
    bounds,
    b,
    hi,
    labels,  # OUT (n,)
    buffers,  # IN  front: what the last factor left; norms: at least the lengths of the rows
):
    """Labels of one block; rows that rounding leaves open are settled by exact scores.

    Scores are compared less their error, so no exact score is below. The exact score of the best
    is at most twice its error above: centroids beyond that are excluded. Returns how many rows were
    settled.
    """
    lanes = buffers.tile.shape[1]
    m = min(lanes, hi - b)
    for r in range(lanes):
        buffers.lengths[0, r] = buffers.norms[r]
    source, target, first = apply_inner(chain, buffers)
    compare_first(chain, source, first, bounds.offsets, bounds.slopes, buffers)
    n_settled = 0
    for r in range(m):
        i = b + r
        c = buffers.label[0, r]
        labels[i] = c
        norm = buffers.norms[r]
        reach = bounds.slope[c] * norm + bounds.floor[c] + bounds.own * norm * norm
        limit = np.float64(buffers.best[0, r]) + 2 * reach
        if not norm <= bounds.longest:
            limit = np.inf
        if np.float64(buffers.second[0, r]) > limit:
            continue
        if n_settled == 0:
            apply_first(chain, source, first, target)
        n_settled += 1
        label = -1
        least = rival = np.inf
        longest = 0
        for j in range(chain.heights[-1]):
            low = np.float64(bounds.offsets[j]) - np.float64(target[j, r])
            # Written so that a NaN remains a candidate.
            if not low - bounds.slopes[j] * norm > limit:
                score = exact_score(rows, i, book, j)
                if book.half_norms[j] > book.half_norms[longest]:
                    longest = j
                if label < 0 or score < least:
                    rival = least
                    least = score
                    label = j
                else:
                    rival = min(rival, score)
        slack = score_rounding(rows, i, norm, book, rival, label, least, longest)
        labels[i] = label if rival - least > slack else as_contested(label)
    return n_settled


@kernel
def assign_dense(
    rows,  # IN  row container
    norms,  # IN  (n,) of the shifted rows; nothing if they are to be measured on the way
    shift,  # IN  (d,)
    shifted,  # IN  whether it is not zero
    book,  # IN  centroids
    chain,
    bounds,
    lo,
    hi,
    labels,  # OUT (n,)
    buffers,
):
    """Exact labels of dense rows lo:hi.

    Returns how many needed exact scores, and whether all entries were finite.
    """
    values = rows.values
    n_features = values.shape[1]
    lanes = buffers.tile.shape[1]
    measured = norms.shape[0] == 0
    # Sums of squares are rounded, and squares may vanish where the numbers do not.
    unit = 2.0**-24 if values.itemsize == 4 else 2.0**-53
    tiny = 2.0**-126 if values.itemsize == 4 else 2.0**-1022
    more, least = 1.0 + 2 * (n_features + 8) * unit, 4 * (n_features + 8) * tiny
    n_settled = 0
    finite = True
    for b in range(lo, hi, lanes):
        finite &= apply_last_to_dense(values, b, hi - 1, shift, shifted, measured, chain, buffers)
        for r in range(lanes):
            if measured:
                buffers.norms[r] = np.sqrt(np.float64(buffers.lengths[0, r]) * more + least)
            else:
                buffers.norms[r] = norms[min(b + r, hi - 1)]
        n_settled += decide_block(rows, book, chain, bounds, b, hi, labels, buffers)
    return n_settled, finite


@kernel
def assign_sparse(rows, norms, book, chain, bounds, lo, hi, labels, buffers):
    """The same for CSR rows, whose entries are taken to be finite."""
    lanes = buffers.tile.shape[1]
    n_settled = 0
    for b in range(lo, hi, lanes):
        apply_last_to_sparse(rows.indptr, rows.indices, rows.values, b, hi - 1, chain, buffers)
        for r in range(lanes):
            buffers.norms[r] = norms[min(b + r, hi - 1)]
        n_settled += decide_block(rows, book, chain, bounds, b, hi, labels, buffers)
    return n_settled, True
