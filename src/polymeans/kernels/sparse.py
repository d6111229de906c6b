"""Nearest centroids of CSR rows, from products with all centroids at once.

The centroids lie feature by feature in a *table* of halves (or float32), features ordered by how
often they occur, so that the entries a row needs are contiguous and the common ones stay in
cache. A nonzero then costs one short read for all centroids together. Halves have eleven bits:
``spread`` bounds what rounding may do to each score, and rows whose best candidates cannot be
told apart are decided by ``exact_score``. The table holds scaled cluster *sums*; ``slope[j]``
turns a product with column j into one with the centroid.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from polymeans.kernels.compile import kernel, overload
from polymeans.kernels.halves import as_half_bits, half_as_float32
from polymeans.kernels.rounding import round_down, round_up
from polymeans.kernels.rows import SparseArrays, as_contested, exact_score, score_rounding
from polymeans.kernels.streams import bracket, sift, stream_products
from polymeans.kernels.stretches import STRETCH, is_occupied

# Stretches of features transposed at a time: more of them need more of the first-level cache, fewer
# make reading a sum slower, since its neighbor in memory comes after all other clusters.
_TRANSPOSED = 16

# The relative error of a product, which a row's reach is its norm times of, is at least that of
# rounding to a half, 2**-11.
_NORM_OF_REACH = 2.0**11


class StreamedRows(NamedTuple):
    """CSR rows, and what approximate scores of them need."""

    arrays: SparseArrays
    values: np.ndarray  # the nonzeros as float32
    reaches: np.ndarray  # (n,) float32 norm times relative error of a product


class Columns(NamedTuple):
    """Some centroids side by side: a score is ``half_norms[m] - slope[m] * product``.

    It is wrong by at most ``reach * spread[m] + floor[m]``, ``reach`` being the row's share.
    """

    table: np.ndarray  # (d, m) bits of halves, or float32
    slope: np.ndarray  # (m,) float32, as are the next three
    half_norms: np.ndarray
    spread: np.ndarray
    floor: np.ndarray
    clusters: np.ndarray  # (m,) cluster of each column, -1: padding


@kernel(inner=True)
def bracket_row(rows, i, columns, scores):
    """Lower bounds on the scores of row i; returns an upper bound on the smallest score."""
    indptr, indices, _ = rows.arrays
    stream_products(indices, rows.values, indptr[i], indptr[i + 1], columns.table, scores)
    return bracket(
        columns.slope, columns.half_norms, columns.spread, columns.floor, rows.reaches[i], scores
    )


@kernel(inner=True)
def settle(
    rows,
    i,
    book,
    clusters,  # IN  (m,) cluster of each column
    scores,  # IN  lower bounds
    ceiling,
    exact,  # IN  exact score to beat, and the cluster it belongs to (-1: none)
    label,
    norm,  # IN  at least the row's norm
):
    """Nearest among the possible columns by exact score.

    Returns the label, how its score may be wrong at most, its score, and the next score.
    """
    rival = np.inf
    longest = max(label, 0)
    for column in range(scores.shape[0]):
        if scores[column] <= ceiling:
            j = clusters[column]
            if j < 0:  # padding
                continue
            score = exact_score(rows, i, book, j)
            if book.half_norms[j] > book.half_norms[longest]:
                longest = j
            if score < exact:
                rival = exact
                exact = score
                label = j
            else:
                rival = min(rival, score)
    slack = score_rounding(rows, i, norm, book, rival, longest, exact, longest)
    return label, slack, exact, rival


@kernel
def assign_full(
    rows,  # IN  streamed rows
    book,  # IN  centroids
    columns,  # IN  the same, all of them as columns
    chosen,  # IN  rows to label; empty: all of lo:hi
    lo,
    hi,
    labels,  # OUT (n,)
    own_ceiling,  # OUT (n,) float32 upper bound on the score of the label
    others_floor,  # OUT (n,) float32 lower bound on all other scores
    scores,  # BUFFER (m,) float32
):
    """Labels from all centroids. Returns how many rows needed exact scores."""
    n_exact = 0
    for position in range(lo, hi):
        i = chosen[position] if chosen.shape[0] else position
        ceiling = bracket_row(rows, i, columns, scores)
        n_possible, label, others = sift(scores, ceiling)
        if n_possible > 1:
            n_exact += 1
            norm = _NORM_OF_REACH * np.float64(rows.reaches[i])
            label, slack, exact, rival = settle(
                rows.arrays, i, book, columns.clusters, scores, ceiling, np.inf, -1, norm
            )
            ceiling = round_up(exact + slack)
            others = min(others, round_down(rival - slack))
            if not rival - exact > slack:
                label = as_contested(label)
        labels[i] = label
        own_ceiling[i] = ceiling
        others_floor[i] = others
    return n_exact


@kernel
def assign_moved(
    rows,  # IN  streamed rows
    book,  # IN  centroids
    all_columns,  # IN  all centroids as columns
    moved,  # IN  the columns of centroids that moved
    column_of,  # IN  (k,) column of each cluster among them, -1: it did not move
    lo,
    hi,
    previous,  # IN  (n,)
    labels,  # OUT (n,)
    own_ceiling,  # INOUT (n,)
    others_floor,  # INOUT (n,)
    undecided,  # OUT (n,) bool: rows that have to be compared with all centroids
    scores,  # BUFFER (m,) float32
):
    """Labels when only some centroids moved.

    A centroid that stood still keeps its score. Together with the own centroid's, those of the
    moved ones decide, unless the own score rose above the floor of the others.
    """
    n_exact = 0
    for i in range(lo, hi):
        ceiling = bracket_row(rows, i, moved, scores)
        a = previous[i]
        own_stood = column_of[a] < 0
        if own_stood:
            ceiling = min(ceiling, own_ceiling[i])
        undecided[i] = others_floor[i] <= ceiling
        if undecided[i]:
            continue
        n_possible, last, others = sift(scores, ceiling)
        label = moved.clusters[last] if last >= 0 else a
        exact = np.inf
        rival_label = -1
        contested = n_possible > 1
        if own_stood:
            own_error = rows.reaches[i] * all_columns.spread[a] + all_columns.floor[a]
            # The ceiling is a score plus its error, hence the exact score at most two errors lower;
            # half an error more is for rounding here.
            own_floor = own_ceiling[i] - np.float32(2.5) * own_error
            if own_floor > ceiling:
                others = min(others, own_floor)
            else:
                contested = n_possible > 0
                if contested:
                    exact = exact_score(rows.arrays, i, book, a)
                    rival_label = a
        if contested:
            n_exact += 1
            norm = _NORM_OF_REACH * np.float64(rows.reaches[i])
            label, slack, exact, rival = settle(
                rows.arrays, i, book, moved.clusters, scores, ceiling, exact, rival_label, norm
            )
            ceiling = round_up(exact + slack)
            others = min(others, round_down(rival - slack))
            if not rival - exact > slack:
                label = as_contested(label)
        labels[i] = label
        own_ceiling[i] = ceiling
        others_floor[i] = min(others_floor[i], others)
    return n_exact


@kernel(allocates=True)
def fill_columns(
    sums,  # IN  (k, d)
    scale,  # IN  (k,) float64 powers of two
    clusters,  # IN  columns to write
    lo,
    hi,
    table,  # INOUT (d, k)
    written,  # INOUT (n_stretches, k) where the table may differ from zero
    residue,  # INOUT (k,) squared rounding errors are added
):
    """Columns of the table for stretches of features lo:hi (a blocked transposition).

    Clusters write, one after another, to the same cache lines of some rows of the table, which stay
    in the first-level cache meanwhile.
    """
    # Rounded first and stored afterwards: rounding is done with vectors then.
    stored = np.empty(STRETCH, dtype=table.dtype)
    rests = np.zeros(STRETCH)
    for first in range(lo, hi, _TRANSPOSED):
        last = min(first + _TRANSPOSED, hi)
        for j in clusters:
            lost = 0.0
            for b in range(first, last):
                f0 = b * STRETCH
                f1 = min(f0 + STRETCH, sums.shape[1])
                if f1 - f0 < STRETCH or is_occupied(sums[j], f0):
                    written[b, j] = True
                    for f in range(f0, f1):
                        stored[f - f0], rests[f - f0] = _rounded(table, sums[j, f] * scale[j])
                    for f in range(f0, f1):
                        table[f, j] = stored[f - f0]
                        lost += rests[f - f0] * rests[f - f0]
                elif written[b, j]:
                    written[b, j] = False
                    for f in range(f0, f1):
                        table[f, j] = 0
            residue[j] += lost


@kernel
def touch_columns(
    rows,  # IN  row container
    sums,
    scale,
    clusters,
    events,  # IN  positions into moved by cluster; those past n_moved are arrivals
    moved,
    table,  # INOUT (d, k)
    written,  # INOUT (n_stretches, k) where the table may differ from zero
    residue,  # INOUT (k,) squared rounding errors are added (the old ones stay counted)
):
    """Write only the entries that moved rows changed."""
    n_moved = moved.shape[0]
    for j in clusters:
        factor = scale[j]
        lost = 0.0
        for e in range(events.starts[j], events.starts[j + 1]):
            event = events.items[e]
            i = moved[event - n_moved if event >= n_moved else event]
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                f = rows.indices[p]
                table[f, j], rest = _rounded(table, sums[j, f] * factor)
                lost += rest * rest
                written[f // STRETCH, j] = True
        residue[j] += lost


@kernel
def gather_columns(table, clusters, lo, hi, compact):
    """Copy the columns of some clusters, features lo:hi."""
    for f in range(lo, hi):
        for m in range(clusters.shape[0]):
            compact[f, m] = table[f, clusters[m]]


def _rounded(table, value):
    """``value`` as the table stores it, and the rounding error."""
    raise RuntimeError("_rounded is compiled")  # pragma: no cover


@overload(_rounded, inline="always")
def _rounded_for(table, value):
    if table.dtype == types.uint16:

        def as_half(table, value):
            bits = as_half_bits(np.float32(value))
            return bits, value - np.float64(half_as_float32(bits))

        return as_half

    def as_float32(table, value):
        single = np.float32(value)
        return single, value - np.float64(single)

    return as_float32
