"""Cluster sums: which rows belong where, and their totals.

Work is split over clusters, not over rows. Each cluster adds its rows in row order whatever the
number of threads, so results have the same bits for any of them, and no thread needs a private
k x d buffer.
"""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.rows import add_row, exact_score, row_dot, squared_distance


@kernel
def group_by_label(
    labels,  # IN  (m,) label of each item, negative items are left out
    starts,  # OUT (k + 1,) where each group begins
    members,  # OUT (m,) item positions, by label, ascending within a label
):
    k = starts.shape[0] - 1
    starts[:] = 0
    for m in range(labels.shape[0]):
        if labels[m] >= 0:
            starts[labels[m] + 1] += 1
    for j in range(k):
        starts[j + 1] += starts[j]
    for m in range(labels.shape[0]):
        j = labels[m]
        if j >= 0:
            members[starts[j]] = m
            starts[j] += 1
    for j in range(k, 0, -1):
        starts[j] = starts[j - 1]
    starts[0] = 0


@kernel
def dot(a, b):
    """Inner product in a fixed order (a threaded BLAS would not promise one)."""
    n = a.shape[0]
    s0 = s1 = s2 = s3 = 0.0
    t = 0
    while t + 4 <= n:
        s0 += np.float64(a[t]) * np.float64(b[t])
        s1 += np.float64(a[t + 1]) * np.float64(b[t + 1])
        s2 += np.float64(a[t + 2]) * np.float64(b[t + 2])
        s3 += np.float64(a[t + 3]) * np.float64(b[t + 3])
        t += 4
    while t < n:
        s0 += np.float64(a[t]) * np.float64(b[t])
        t += 1
    return (s0 + s1) + (s2 + s3)


@kernel
def resum(
    rows,  # IN  row container
    weights,  # IN  (n,)
    clusters,  # IN  clusters to sum anew
    starts,  # IN  (k + 1,) group boundaries
    members,  # IN  (n,) rows by cluster
    mass,  # OUT (k,)
    sums,  # INOUT (k, d)
    squares,  # OUT (k,) squared norms of the sums
    peaks,  # OUT (k,) the same
    cross,  # OUT (k,) inner products of the new with the old sums
    previous,  # BUFFER (d,)
    track,  # IN  whether squares and cross are wanted
):
    for j in clusters:
        total = sums[j]
        if track:
            previous[:] = total
        total[:] = 0.0
        mass_j = 0.0
        for m in range(starts[j], starts[j + 1]):
            i = members[m]
            w = weights[i]
            mass_j += w
            if w != 0.0:
                add_row(rows, i, w, total)
        mass[j] = mass_j
        if track:
            squares[j] = dot(total, total)
            peaks[j] = squares[j]
            cross[j] = dot(total, previous)


@kernel
def shift_sums(
    rows,  # IN  row container
    weights,  # IN  (n,)
    clusters,  # IN  clusters to correct
    starts,  # IN  (k + 1,) event boundaries
    events,  # IN  positions into moved; those past n_moved are arrivals
    moved,  # IN  (n_moved,) rows that changed cluster
    mass,  # INOUT (k,)
    sums,  # INOUT (k, d)
    squares,  # INOUT (k,) squared norms of the sums
    peaks,  # INOUT (k,) their largest values since they were last computed afresh
    cross,  # OUT (k,) inner products of the new with the old sums
    track,  # IN  whether squares and cross are wanted (cheap for short rows only)
):
    n_moved = moved.shape[0]
    for j in clusters:
        total = sums[j]
        if not track:
            for e in range(starts[j], starts[j + 1]):
                arrives = events[e] >= n_moved
                i = moved[events[e] - n_moved if arrives else events[e]]
                w = weights[i] if arrives else -weights[i]
                mass[j] += w
                add_row(rows, i, w, total)
            continue
        # S_old . (S_new - S_old), while the old sums still stand. Then |S_new|^2 follows row by
        # row from |S + wx|^2 = |S|^2 + 2w S.x + w^2 |x|^2 = |S|^2 + w (S.x + (S + wx).x).
        advance = 0.0
        for e in range(starts[j], starts[j + 1]):
            arrives = events[e] >= n_moved
            i = moved[events[e] - n_moved if arrives else events[e]]
            advance += (weights[i] if arrives else -weights[i]) * row_dot(rows, i, total)
        cross[j] = squares[j] + advance
        for e in range(starts[j], starts[j + 1]):
            arrives = events[e] >= n_moved
            i = moved[events[e] - n_moved if arrives else events[e]]
            w = weights[i] if arrives else -weights[i]
            mass[j] += w
            before = row_dot(rows, i, total)
            add_row(rows, i, w, total)
            squares[j] += w * (before + row_dot(rows, i, total))
            peaks[j] = max(peaks[j], squares[j])
        if squares[j] < 0.5 * peaks[j]:
            squares[j] = dot(total, total)  # what cancellation left would not be accurate
            peaks[j] = squares[j]


@kernel
def own_distances(
    rows,  # IN  row container
    book,  # IN  centroids
    norms,  # IN  (n,) row norms
    labels,  # IN  (n,)
    order,  # IN  (n,) rows by label, so that a centroid is in cache for all its rows
    lo,
    hi,
    out,  # OUT (n,) squared distance to the own centroid
):
    for position in range(lo, hi):
        i = order[position]
        out[i] = squared_distance(rows, norms[i], exact_score(rows, i, book, labels[i]))


@kernel
def weighted_squares(values, weights, lo, hi):
    total = 0.0
    for i in range(lo, hi):
        total += values[i] * values[i] * weights[i]
    return total


@kernel
def divide_rows(
    numerators,  # IN  (k, d)
    denominators,  # IN  (k,)
    lo,
    hi,
    rank,  # IN  (d_all,) where a feature stands in the rows of numerators, -1: nowhere
    out,  # OUT (k, d), may be the numerators themselves
    squares,  # OUT (k,) squared norms of the quotients as stored
):
    for j in range(lo, hi):
        for t in range(numerators.shape[1]):
            out[j, t] = numerators[j, t] / denominators[j]
        # In the features' own order, as whoever is given these centroids later will sum them.
        total = 0.0
        for t in range(rank.shape[0]):
            if rank[t] >= 0:
                c = np.float64(out[j, rank[t]])
                total += c * c
        squares[j] = total


@kernel
def count_labels(labels, weights, sizes):
    """Rows of positive weight under each label."""
    for i in range(labels.shape[0]):
        if weights[i] > 0.0:
            sizes[labels[i]] += 1


@kernel
def assign_exact(
    rows,  # IN  row container
    book,  # IN  centroids
    lo,
    hi,
    labels,  # OUT (n,)
):
    """Labels by exact scores alone: the definition, and the quickest way for a handful of rows."""
    for i in range(lo, hi):
        best = np.inf
        label = 0
        for j in range(book.half_norms.shape[0]):
            score = exact_score(rows, i, book, j)
            if score < best:
                best = score
                label = j
        labels[i] = label


@kernel
def closed_form_inertia(
    centers,  # IN  (k, d)
    origin,  # IN  (d,)
    mass,  # IN  (k,)
    sums,  # IN  (k, d) cluster sums about the origin
):
    """``Σ_j n_j |c_j|² - 2 c_j·s_j`` about the origin: add Σ w|x|² for the inertia."""
    total = 0.0
    for j in range(mass.shape[0]):
        if mass[j] > 0.0:
            part = 0.0
            for t in range(origin.shape[0]):
                c = np.float64(centers[j, t]) - origin[t]
                part += c * (mass[j] * c - 2.0 * sums[j, t])
            total += part
    return total
