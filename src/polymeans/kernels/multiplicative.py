"""Fits of products of protocentroids: sums of the cells, and alternating sweeps over the sets."""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.exact import add_dense

#: A coordinate stays as it is where the products of the other sets' coordinates, squared, average
#: less than this share of the largest average in its set: the rows hardly determine it, and the
#: quotient would be huge, in centroids that no row uses. 1e-6: factors a thousandth of the others.
UNDETERMINED = 1e-6

#: Denominators not above this are taken for zero: beyond 1e-200 quotients of ordinary numbers, and
#: their squares, might overflow.
_ZERO = 1e-200


class SweepBuffers(NamedTuple):
    """Buffers for the features that are fitted together."""

    numerators: np.ndarray  # (max h, width)
    denominators: np.ndarray  # (max h, width)
    others: np.ndarray  # (width,) product of the other sets' protocentroids


@kernel
def cell_sums(
    values,  # IN  (n, d) dense rows
    weights,  # IN  (n,)
    magics,  # IN  ladder of the sums
    labels,  # IN  (n,)
    first,  # IN  features first:last are summed
    last,
    rungs,  # INOUT (k, n_rungs, last - first)
):
    """Exact sums of some features over the rows of each cell."""
    for i in range(values.shape[0]):
        if weights[i] != 0.0:
            add_dense(values[i, first:last], weights[i], magics, rungs[labels[i]])


@kernel(allocates=True)
def sweep_products(
    sums,  # IN  (k, >= last - base) cell sums about the origin, from feature base on
    base,
    masses,  # IN  (k,)
    origin,  # IN  (d,)
    sizes,  # IN  (p,)
    first,  # IN  features first:last are fitted
    last,
    n_sweeps,
    tol,  # IN  relative gain of a sweep at which to stop
    stacked,  # INOUT (H, d) protocentroids
    buffers,  # BUFFER for last - first features
):
    """Alternate over the sets, each in closed form, feature by feature.

    Setting coordinate u to num / den gains ``den (new - old)²``; the sum of gains tells when a
    feature has converged, whatever the others of its block do.
    """
    numerators, denominators, others = buffers
    n_sets, n_cells, width = sizes.shape[0], masses.shape[0], last - first
    targets = np.empty((n_cells, width))
    scale = np.zeros(width)
    gain = np.zeros(width)
    active = np.ones(width, dtype=np.bool_)
    largest = 0
    for q in range(n_sets):
        largest = max(largest, sizes[q])
    member_mass = np.empty(largest)
    heaviest = 0.0  # weights may be of any size
    for c in range(n_cells):
        heaviest = max(heaviest, masses[c])
    for c in range(n_cells):
        if masses[c] > 0.0:
            for t in range(width):
                s = (sums[c, first + t - base] + masses[c] * origin[first + t]) / heaviest
                targets[c, t] = s
                scale[t] += s * s / (masses[c] / heaviest)
    for _ in range(n_sweeps):
        gain[:] = 0.0
        start = 0
        stride = n_cells
        for q in range(n_sets):
            stride //= sizes[q]
            numerators[: sizes[q]] = 0.0
            denominators[: sizes[q]] = 0.0
            member_mass[:] = 0.0
            _add_cells(
                masses, heaviest, sizes, q, stride, stacked, first, targets, buffers, member_mass
            )
            for t in range(width):
                others[t] = _ZERO
                for g in range(sizes[q]):
                    if member_mass[g] > 0.0:
                        share = denominators[g, t] / member_mass[g]
                        others[t] = max(others[t], UNDETERMINED * share)
            for g in range(sizes[q]):
                for t in range(width):
                    den = denominators[g, t]
                    # A coordinate that the rows hardly determine stays as it is.
                    if active[t] and den > others[t] * member_mass[g] and den > _ZERO:
                        new = numerators[g, t] / den
                        step = new - stacked[start + g, first + t]
                        gain[t] += den * step * step
                        stacked[start + g, first + t] = new
            start += sizes[q]
        any_active = False
        for t in range(width):
            active[t] = active[t] and gain[t] > tol * scale[t]
            any_active = any_active or active[t]
        if not any_active:
            break


@kernel(inner=True)
def _add_cells(masses, heaviest, sizes, q, stride, stacked, first, targets, buffers, member_mass):
    """What each member of set q is the quotient of, feature by feature, and its mass."""
    n_cells, width = targets.shape
    others = buffers.others
    for c in range(n_cells):
        mass = masses[c] / heaviest
        if mass <= 0.0:
            continue
        member = c // stride % sizes[q]
        member_mass[member] += mass
        fresh = True
        other_start = 0
        other_stride = n_cells
        for r in range(sizes.shape[0]):
            other_stride //= sizes[r]
            if r != q:
                theta = stacked[other_start + c // other_stride % sizes[r]]
                if fresh:
                    for t in range(width):
                        others[t] = theta[first + t]
                else:
                    for t in range(width):
                        others[t] *= theta[first + t]
                fresh = False
            other_start += sizes[r]
        if fresh:  # a single set
            others[:] = 1.0
        target, numerator = targets[c], buffers.numerators[member]
        denominator = buffers.denominators[member]
        for t in range(width):
            numerator[t] += target[t] * others[t]
            denominator[t] += mass * others[t] * others[t]
