"""Exact sums and masses of clusters, and the centroids and the inertia that follow from them.

Work is split over clusters, not over rows, so that no thread needs a private k x d buffer. Sums are
exact (:mod:`polymeans.kernels.exact`), so neither the split nor the order of rows matters.
"""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.rows import add_row, as_dtype_of
from polymeans.kernels.stretches import STRETCH, is_occupied


@kernel
def sum_members(
    rows,  # IN  row container
    weights,  # IN  (n,)
    clusters,  # IN  clusters to sum
    members,  # IN  rows by cluster
    magics,  # IN  ladder of the sums
    mass_magics,  # IN  ladder of the masses
    mass,  # OUT (k, n_mass_rungs)
    sums,  # OUT (k, n_rungs, d)
):
    """Totals of some clusters from their rows."""
    for j in clusters:
        own_mass, total = mass[j], sums[j]
        own_mass[:] = 0.0
        total[:] = 0.0
        for m in range(members.starts[j], members.starts[j + 1]):
            i = members.items[m]
            w = weights[i]
            if w != 0.0:
                _add_mass(w, mass_magics, own_mass)
                add_row(rows, i, w, magics, total)


@kernel
def move_members(
    rows,  # IN  row container
    weights,  # IN  (n,)
    clusters,  # IN  clusters to correct
    events,  # IN  positions into moved by cluster; those past n_moved are arrivals
    moved,  # IN  (n_moved,) rows that changed cluster
    magics,  # IN  ladder of the sums
    mass_magics,  # IN  ladder of the masses
    mass,  # INOUT (k, n_mass_rungs)
    sums,  # INOUT (k, n_rungs, d)
):
    """The same by subtracting rows that left and adding those that came: no rounding, no drift."""
    n_moved = moved.shape[0]
    for j in clusters:
        own_mass, total = mass[j], sums[j]
        for e in range(events.starts[j], events.starts[j + 1]):
            event = events.items[e]
            arrives = event >= n_moved
            i = moved[event - n_moved if arrives else event]
            w = weights[i] if arrives else -weights[i]
            if w != 0.0:
                _add_mass(w, mass_magics, own_mass)
                add_row(rows, i, w, magics, total)


@kernel
def follow_labels(
    rows,  # IN  row container
    weights,  # IN  (n,)
    previous,  # IN  (n,) -1: the row was in no cluster
    labels,  # IN  (n,)
    lo,
    hi,
    magics,  # IN  ladder of the sums
    mass_magics,  # IN  ladder of the masses
    counts,  # INOUT (k,) rows of positive weight
    mass,  # INOUT (k, n_mass_rungs)
    sums,  # INOUT (k, n_rungs, d)
    touched,  # INOUT (k,) clusters that gained or lost rows
):
    """Follow the labels of rows lo:hi in the order of the rows; how many changed.

    Rows are read one after another, and all totals stay in cache where they are few.
    """
    n_moved = 0
    for i in range(lo, hi):
        before, now = previous[i], labels[i]
        if before == now:
            continue
        n_moved += 1
        # To its cluster, then out of the one before: written once, which halves what is compiled.
        j, w, one = now, weights[i], 1
        while True:
            touched[j] = True
            if w != 0.0:
                counts[j] += one
                _add_mass(w, mass_magics, mass[j])
                add_row(rows, i, w, magics, sums[j])
            if one < 0 or before < 0:
                break
            j, w, one = before, -w, -1
    return n_moved


@kernel(inner=True)
def _add_mass(weight, magics, mass):
    for r in range(magics.shape[0]):
        part = (weight + magics[r]) - magics[r]
        mass[r] += part
        weight -= part
    mass[magics.shape[0]] += weight


@kernel
def move_masses(
    moved,  # IN  rows that changed cluster
    previous,  # IN  (n,) -1: the row was in no cluster
    labels,  # IN  (n,)
    weights,  # IN  (n,)
    magics,  # IN  ladder of the masses
    counts,  # INOUT (k,) rows of positive weight
    mass,  # INOUT (k, n_mass_rungs)
):
    """Counts and masses alone, for the rows that moved."""
    for i in moved:
        w = weights[i]
        if w != 0.0:
            counts[labels[i]] += 1
            _add_mass(w, magics, mass[labels[i]])
            if previous[i] >= 0:
                counts[previous[i]] -= 1
                _add_mass(-w, magics, mass[previous[i]])


@kernel
def add_masses(
    labels,  # IN  (n,)
    weights,  # IN  (n,)
    magics,  # IN  ladder of the masses
    mass,  # INOUT (k, n_mass_rungs)
):
    """Masses alone."""
    for i in range(labels.shape[0]):
        _add_mass(weights[i], magics, mass[labels[i]])


@kernel
def divide_rows(
    numerators,  # IN  (k, d)
    denominators,  # IN  (k,)
    lo,
    hi,
    rank,  # IN  (d_all,) where a feature stands in the rows of numerators, -1: nowhere
    out,  # OUT (k, d), zeros or the numerators themselves
    squares,  # OUT (k,) squared norms of the quotients as stored
):
    """Centroids lo:hi from sums and masses."""
    d = numerators.shape[1]
    for j in range(lo, hi):
        for first in range(0, d, STRETCH):
            last = min(first + STRETCH, d)
            if last - first < STRETCH or is_occupied(numerators[j], first):
                for t in range(first, last):
                    out[j, t] = numerators[j, t] / denominators[j]
        # In the features' own order, in which norms of given centroids are summed.
        total = 0.0
        for t in range(rank.shape[0]):
            if rank[t] >= 0:
                c = np.float64(out[j, rank[t]])
                if c != 0.0:  # otherwise each addition would wait for the one before it
                    total += c * c
        squares[j] = total


@kernel(inline="always", inner=True)
def _next_entry(total, divisor, origin, spherical, center, t):
    """An entry of the mean or direction, rounded to the dtype of the centroids."""
    mean = total[t] / divisor
    return np.float64(as_dtype_of(center, mean if spherical else mean + origin[t]))


@kernel(inner=True)
def move_to_mean(
    total,  # IN  (d,) sum of a cluster's rows about the origin
    mass,  # IN  more than zero
    origin,  # IN  (d,)
    spherical,  # IN  whether centroids have length one
    center,  # INOUT (d,)
):
    """Move a centroid to the mean of its rows, or to its direction; how far it went."""
    d = total.shape[0]
    divisor = mass
    if spherical:
        square = 0.0
        for t in range(d):
            square += total[t] * total[t]
        # Directions that cancel out leave no direction: the centroid is zero then.
        divisor = np.sqrt(square) if square > 0.0 else 1.0
    square = largest = 0.0
    for t in range(d):
        step = _next_entry(total, divisor, origin, spherical, center, t) - np.float64(center[t])
        square += step * step
        largest = max(largest, abs(step))
    length = np.sqrt(square)
    if not 1e-140 < length < np.inf and largest > 0.0:  # squares left the range of float64
        square = 0.0
        for t in range(d):
            step = _next_entry(total, divisor, origin, spherical, center, t) - np.float64(center[t])
            square += (step / largest) * (step / largest)
        length = largest * np.sqrt(square)
    for t in range(d):
        center[t] = _next_entry(total, divisor, origin, spherical, center, t)
    return length


@kernel
def move_to_means(
    sums,  # IN  (k, d) about the origin
    mass,  # IN  (k,)
    origin,  # IN  (d,)
    clusters,  # IN  clusters that changed
    spherical,  # IN  whether centroids have length one
    centers,  # INOUT (k, d)
    drift,  # OUT (k,) how far each went
):
    """Move the centroids of some clusters that have weight to the means of their rows."""
    for j in clusters:
        if mass[j] > 0.0:
            drift[j] = move_to_mean(sums[j], mass[j], origin, spherical, centers[j])


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
