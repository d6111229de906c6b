"""Nearest centroids of CSR rows: stream the centroids' entries of each nonzero past the row.

The centroids lie feature by feature in a *table* of halves (or float32), features ordered by how
often they occur, so that the entries a row needs are contiguous and the common ones stay in
cache. A nonzero then costs one short read for all centroids together. Halves carry eleven bits:
``spread`` bounds what rounding may do to each score, and rows whose best candidates cannot be
told apart are decided by ``exact_score``. The table holds scaled cluster *sums*; ``slope[j]``
turns a product with column j into one with the centroid.
"""

import numpy as np
from numba import njit, types
from numba.extending import overload

from polymeans.kernels.rows import exact_score
from polymeans.kernels.vector import as_float32, as_half_bits

_FAST = {"nnan", "nsz", "contract", "reassoc"}


@njit(nogil=True, cache=True, fastmath=_FAST)
def row_scores(
    indptr,
    indices,
    values,  # IN  float32
    i,
    table,  # IN  (d, m) halves or float32
    slope,  # IN  (m,) float32
    half_norms,  # IN  (m,) float32
    scores,  # OUT (m,) float32
):
    """``scores[j] = |c_j|²/2 - x·c_j`` for one row and all columns of the table."""
    m = table.shape[1]
    scores[:] = 0.0
    p = indptr[i]
    end = indptr[i + 1]
    # Eight nonzeros at a time: the running scores are read and written once for all of them.
    while p + 8 <= end:
        t0 = table[indices[p]]
        t1 = table[indices[p + 1]]
        t2 = table[indices[p + 2]]
        t3 = table[indices[p + 3]]
        t4 = table[indices[p + 4]]
        t5 = table[indices[p + 5]]
        t6 = table[indices[p + 6]]
        t7 = table[indices[p + 7]]
        v0 = values[p]
        v1 = values[p + 1]
        v2 = values[p + 2]
        v3 = values[p + 3]
        v4 = values[p + 4]
        v5 = values[p + 5]
        v6 = values[p + 6]
        v7 = values[p + 7]
        for j in range(m):
            scores[j] += (
                v0 * as_float32(t0[j])
                + v1 * as_float32(t1[j])
                + v2 * as_float32(t2[j])
                + v3 * as_float32(t3[j])
                + v4 * as_float32(t4[j])
                + v5 * as_float32(t5[j])
                + v6 * as_float32(t6[j])
                + v7 * as_float32(t7[j])
            )
        p += 8
    while p < end:
        t0 = table[indices[p]]
        v0 = values[p]
        for j in range(m):
            scores[j] += v0 * as_float32(t0[j])
        p += 1
    for j in range(m):
        scores[j] = half_norms[j] - slope[j] * scores[j]


@njit(nogil=True, cache=True, fastmath=_FAST)
def smallest_ceiling(scores, spread, floor, reach):
    """Upper bound on the smallest true score."""
    ceiling = np.float32(np.inf)
    for j in range(scores.shape[0]):
        ceiling = min(ceiling, scores[j] + (reach * spread[j] + floor[j]))
    return ceiling


@njit(nogil=True, cache=True, fastmath=_FAST)
def count_possible(scores, spread, floor, reach, ceiling):
    """How many columns may have a true score at or below the ceiling."""
    n = np.int32(0)
    for j in range(scores.shape[0]):
        n += np.int32(scores[j] - (reach * spread[j] + floor[j]) <= ceiling)
    return n


@njit(nogil=True, cache=True, fastmath=_FAST)
def smallest_other(scores, spread, floor, reach, column):
    """Lower bound on the true scores of all columns but one."""
    smallest = np.float32(np.inf)
    for j in range(scores.shape[0]):
        other = scores[j] - (reach * spread[j] + floor[j])
        smallest = min(smallest, other if j != column else np.float32(np.inf))
    return smallest


@njit(nogil=True, cache=True)
def pick(
    rows,
    i,
    book,
    columns,  # IN  (m,) cluster of each column
    scores,
    spread,
    floor,
    reach,
    ceiling,
    n_possible,
    exact,  # IN  exact score to beat, and whose it is (-1: nobody's)
    label,
):
    """Nearest among the possible columns; the lowest index wins ties."""
    for column in range(scores.shape[0]):
        if scores[column] - (reach * spread[column] + floor[column]) <= ceiling:
            j = columns[column]
            if n_possible == 1 and label < 0:
                return j, column
            if j == label:
                continue
            score = exact_score(rows, i, book, j)
            if score < exact or (score == exact and j < label):
                exact = score
                label = j
    return label, -1


@njit(nogil=True, cache=True)
def assign_full(
    rows,  # IN  row container
    values,  # IN  the nonzeros as float32
    reaches,  # IN  (n,) float32 norm times relative error of a product
    book,  # IN  centroids
    table,
    slope,
    half_norms,
    spread,
    floor,
    columns,  # IN  (m,) 0 .. k-1
    chosen,  # IN  rows to label; empty: all of lo:hi
    lo,
    hi,
    labels,  # OUT (n,)
    own_ceiling,  # OUT (n,) upper bound on the score of the label
    others_floor,  # OUT (n,) lower bound on all other scores
    scores,  # BUFFER (m,) float32
):
    """Labels from all centroids. Returns how many rows needed exact scores."""
    n_exact = 0
    for position in range(lo, hi):
        i = chosen[position] if chosen.shape[0] else position
        row_scores(rows.indptr, rows.indices, values, i, table, slope, half_norms, scores)
        reach = reaches[i]
        ceiling = smallest_ceiling(scores, spread, floor, reach)
        n_possible = count_possible(scores, spread, floor, reach, ceiling)
        n_exact += np.int64(n_possible > 1)
        label, _ = pick(
            rows, i, book, columns, scores, spread, floor, reach, ceiling, n_possible, np.inf, -1
        )
        labels[i] = label
        own_ceiling[i] = scores[label] + (reach * spread[label] + floor[label])
        others_floor[i] = smallest_other(scores, spread, floor, reach, label)
    return n_exact


@njit(nogil=True, cache=True)
def assign_moved(
    rows,  # IN  row container
    values,  # IN  the nonzeros as float32
    reaches,  # IN  (n,)
    book,  # IN  centroids
    table,  # IN  (d, m) only the columns of centroids that moved
    slope,
    half_norms,
    spread,
    floor,
    columns,  # IN  (m,) their clusters
    column_of,  # IN  (k,) where a cluster stands among them, -1: it did not move
    all_spread,  # IN  (k,)
    all_floor,  # IN  (k,)
    lo,
    hi,
    previous,  # IN  (n,)
    labels,  # OUT (n,)
    own_ceiling,  # INOUT (n,)
    others_floor,  # INOUT (n,)
    undecided,  # OUT (n,) bool: this row must look at all centroids
    scores,  # BUFFER (m,) float32
):
    """Labels when only some centroids moved.

    A centroid that stood still keeps its score. Together with the own centroid's, those of the
    moved ones decide, unless the own score rose above the floor of the others.
    """
    n_exact = 0
    for i in range(lo, hi):
        row_scores(rows.indptr, rows.indices, values, i, table, slope, half_norms, scores)
        reach = reaches[i]
        a = previous[i]
        own_column = column_of[a]
        ceiling = smallest_ceiling(scores, spread, floor, reach)
        if own_column < 0:
            ceiling = min(ceiling, own_ceiling[i])
        if others_floor[i] <= ceiling:
            undecided[i] = True
            continue
        undecided[i] = False
        n_possible = count_possible(scores, spread, floor, reach, ceiling)
        own_floor = np.float32(np.inf)
        label = -1
        exact = np.inf
        if own_column < 0:
            own_error = reach * all_spread[a] + all_floor[a]
            own_floor = own_ceiling[i] - np.float32(2.5) * own_error
            if own_floor <= ceiling:
                n_possible += 1
                label = a
                if n_possible > 1:
                    exact = exact_score(rows, i, book, a)
        if n_possible > 1:
            n_exact += 1
        if label < 0 or n_possible > 1:
            label, _ = pick(
                rows,
                i,
                book,
                columns,
                scores,
                spread,
                floor,
                reach,
                ceiling,
                n_possible,
                exact,
                label,
            )
        labels[i] = label
        column = column_of[label]
        others = min(others_floor[i], smallest_other(scores, spread, floor, reach, column))
        if label != a and own_column < 0:
            others = min(others, own_floor)
        others_floor[i] = others
        if column >= 0:
            own_ceiling[i] = scores[column] + (reach * spread[column] + floor[column])
    return n_exact


@njit(nogil=True, cache=True)
def fill_columns(
    sums,  # IN  (k, d)
    scale,  # IN  (k,) float64 powers of two
    clusters,  # IN  columns to write
    lo,
    hi,
    table,  # OUT (d, k)
):
    """Columns of the table for features lo:hi (a blocked transposition)."""
    for f0 in range(lo, hi, 64):
        f1 = min(f0 + 64, hi)
        for j in clusters:
            factor = scale[j]
            for f in range(f0, f1):
                table[f, j] = _entry(table, sums[j, f] * factor)


@njit(nogil=True, cache=True)
def touch_columns(
    rows,  # IN  row container
    sums,
    scale,
    clusters,
    starts,  # IN  (k + 1,) event boundaries
    events,  # IN  positions into moved, once more for arrivals
    moved,
    table,  # INOUT (d, k)
):
    """Only the entries that moved rows changed."""
    n_moved = moved.shape[0]
    for j in clusters:
        factor = scale[j]
        for e in range(starts[j], starts[j + 1]):
            i = moved[events[e] - n_moved if events[e] >= n_moved else events[e]]
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                f = rows.indices[p]
                table[f, j] = _entry(table, sums[j, f] * factor)


@njit(nogil=True, cache=True)
def gather_columns(table, clusters, lo, hi, compact):
    for f in range(lo, hi):
        for m in range(clusters.shape[0]):
            compact[f, m] = table[f, clusters[m]]


def _entry(table, value):
    raise RuntimeError("_entry is compiled")  # pragma: no cover


@overload(_entry)
def _entry_of(table, value):
    if table.dtype == types.uint16:
        return lambda table, value: as_half_bits(np.float32(value))
    return lambda table, value: np.float32(value)
