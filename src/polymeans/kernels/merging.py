"""Clusters joined one after another, and densities with a single peak."""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel
def merge_clusters(
    means,  # IN/OUT (k, m) used up
    masses,  # IN/OUT (k,) rows of each cluster; all positive
    inverse,  # IN/OUT (m, m) inverse of the floored covariance within clusters
    price,  # IN  what one cluster more costs
    gains,  # OUT (k,) gain of j + 1 clusters over that of all of them
    joined,  # OUT (k, 2) clusters joined when j + 1 were left (the second into the first)
):
    """Join the two clusters that are worth least apart, until one is left.

    Joining a and b adds ``t d d'`` to the covariance within, where d is the distance of their
    means and ``t = n_a n_b / ((n_a + n_b) n)``. That costs ``n/2 log(1 + t d'C⁻¹d)`` and refunds
    what labels and parameters of one cluster cost.
    """
    k, m = means.shape
    n = masses.sum()
    alive = np.ones(k, dtype=np.bool_)
    step = np.empty(m)
    turned = np.empty(m)
    total = 0.0
    gains[k - 1] = 0.0
    for left in range(k - 1, 0, -1):
        best, first, second = -np.inf, 0, 0
        for a in range(k):
            for b in range(a + 1, k):
                if alive[a] and alive[b]:
                    joint = masses[a] + masses[b]
                    square = 0.0
                    for i in range(m):
                        inner = 0.0
                        for j in range(m):
                            inner += inverse[i, j] * (means[a, j] - means[b, j])
                        square += (means[a, i] - means[b, i]) * inner
                    worse = 0.5 * n * np.log(1.0 + masses[a] * masses[b] / (joint * n) * square)
                    refund = joint * np.log(joint)
                    refund -= masses[a] * np.log(masses[a]) + masses[b] * np.log(masses[b])
                    if refund - worse > best:
                        best, first, second = refund - worse, a, b
        joint = masses[first] + masses[second]
        share = masses[first] * masses[second] / (joint * n)
        for i in range(m):
            step[i] = means[first, i] - means[second, i]
        square = 0.0
        for i in range(m):
            turned[i] = 0.0
            for j in range(m):
                turned[i] += inverse[i, j] * step[j]
            square += step[i] * turned[i]
        # The covariance grew by a matrix of rank one: so did its inverse shrink.
        for i in range(m):
            for j in range(m):
                inverse[i, j] -= share / (1.0 + share * square) * turned[i] * turned[j]
            means[first, i] -= masses[second] / joint * step[i]
        masses[first] = joint
        alive[second] = False
        total += best + price
        gains[left - 1] = total
        joined[left - 1, 0] = first
        joined[left - 1, 1] = second


@kernel
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


@kernel
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
