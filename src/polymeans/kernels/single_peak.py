"""Densities with a single peak: how likely the best of them makes given data."""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel(inner=True, allocates=True)
def pool(heights, widths, first, last, falling):
    """The nearest monotone steps to ``heights[first:last]``, in place: pool adjacent violators."""
    n = last - first
    values = np.empty(n)
    weights = np.empty(n)
    sizes = np.empty(n, dtype=np.int64)
    top = -1
    for i in range(n):
        at = last - 1 - i if falling else first + i
        top += 1
        values[top], weights[top], sizes[top] = heights[at], widths[at], 1
        while top > 0 and values[top - 1] > values[top]:
            weight = weights[top - 1] + weights[top]
            values[top - 1] = (
                values[top - 1] * weights[top - 1] + values[top] * weights[top]
            ) / weight
            weights[top - 1] = weight
            sizes[top - 1] += sizes[top]
            top -= 1
    i = 0
    for block in range(top + 1):
        for _ in range(sizes[block]):
            at = last - 1 - i if falling else first + i
            heights[at] = values[block]
            i += 1


@kernel(allocates=True)
def single_peak(shares, widths):
    """Mean log-density of the best step function with one peak, bins having these shares."""
    n = shares.shape[0]
    heights = np.empty(n)
    best = -np.inf
    for peak in range(n):
        for b in range(n):
            heights[b] = shares[b] / widths[b]
        pool(heights, widths, 0, peak + 1, False)
        pool(heights, widths, peak, n, True)
        total = 0.0
        mass = 0.0
        for b in range(n):
            mass += heights[b] * widths[b]
        for b in range(n):
            if shares[b] > 0.0:
                total += shares[b] * np.log(heights[b] / mass)
        best = max(best, total)
    return best
