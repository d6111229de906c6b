"""Elkan's bounds: one lower bound for every row and centroid.

The loop runs over centroids on the outside and a block of rows inside, as the SparseKmeans
supplement rearranges it: the rows that fail both tests of a centroid are compared with it one after
another, while it is in cache. The distance to the own centroid is exact in every iteration, so the
upper bound is always tight.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.rounding import DOWN, LEAST, UP
from polymeans.kernels.rows import (
    as_contested,
    exact_score,
    row_length,
    score_rounding,
    squared_distance,
)


class CentroidBounds(NamedTuple):
    """Bounds on the distances of all rows to all centroids, and between centroids."""

    longest: float  # largest centroid norm
    longest_one: int  # whose it is
    half_gaps: np.ndarray  # (k, k) half the distance between centroids, rounded down
    drift: np.ndarray  # (k,) how far each centroid moved since the last call, rounded up
    lower: np.ndarray  # (n, k) bounds on distances


@kernel
def assign_elkan(
    rows,  # IN  row container
    book,  # IN  centroids
    norms,  # IN  (n,) row norms
    bounds,  # INOUT lower; IN the rest
    lo,
    hi,
    previous,  # IN  (n,) labels of the last call, -1: none
    labels,  # OUT (n,)
    own_score,  # BUFFER (block_rows,) float64
    rival,  # BUFFER (block_rows,) float64 smallest score of the other centroids looked at
    bound,  # BUFFER (block_rows,) float32
):
    """Label of every row. Returns the number of scores that were computed."""
    longest, longest_one, half_gaps, drift, lower = bounds
    k = lower.shape[1]
    block_rows = own_score.shape[0]
    examined = 0
    for b0 in range(lo, hi, block_rows):
        b1 = min(b0 + block_rows, hi)
        for i in range(b0, b1):
            for j in range(k):
                lower[i, j] = max(np.float32(0.0), (lower[i, j] - drift[j]) * DOWN)
            label = max(previous[i], 0)
            labels[i] = label
            score, nearer, farther = _measure(rows, i, book, label, norms[i], longest)
            own_score[i - b0] = score
            rival[i - b0] = np.inf
            bound[i - b0] = farther
            lower[i, label] = nearer
        examined += b1 - b0
        for j in range(k):
            gaps = half_gaps[j]
            for i in range(b0, b1):
                a = labels[i]
                u = bound[i - b0]
                # Strictly nearer to its own centroid: a tie must still be decided.
                if a == j or u < lower[i, j] or u < gaps[a]:
                    continue
                score, nearer, farther = _measure(rows, i, book, j, norms[i], longest)
                examined += 1
                lower[i, j] = nearer
                if score < own_score[i - b0]:
                    labels[i] = j
                    rival[i - b0] = own_score[i - b0]
                    own_score[i - b0] = score
                    bound[i - b0] = farther
                else:
                    rival[i - b0] = min(rival[i - b0], score)
        for i in range(b0, b1):
            if rival[i - b0] < np.inf:
                best, label = own_score[i - b0], labels[i]
                slack = score_rounding(
                    rows, i, norms[i], book, rival[i - b0], longest_one, best, longest_one
                )
                if not rival[i - b0] - best > slack:
                    labels[i] = as_contested(label)
    return examined


@kernel(inner=True)
def _measure(rows, i, book, j, norm, longest):
    """Exact score, and the distance it stands for rounded down and up."""
    score = exact_score(rows, i, book, j)
    square = squared_distance(rows, norm, score)
    # Eight times the rounding error (2**-53 each) of so many products and additions.
    slack = 2.0**-50 * (row_length(rows, i) + 8) * (norm + longest) ** 2
    nearer = max(np.float32(0.0), np.float32(np.sqrt(max(0.0, square - slack))) * DOWN - LEAST)
    farther = np.float32(np.sqrt(square + slack)) * UP + LEAST
    return score, nearer, farther
