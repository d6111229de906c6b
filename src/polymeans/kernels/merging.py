"""Clusters joined one after another, those first whose separation explains least."""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel(allocates=True)
def merge_clusters(
    means,  # INOUT (k, m) used up
    masses,  # INOUT (k,) rows of each cluster; all positive
    inverse,  # INOUT (m, m) inverse of the floored covariance within clusters
    price,  # IN  what one cluster more costs
    gains,  # OUT (k,) gain of j + 1 clusters over that of all of them
    joined,  # OUT (k, 2) clusters joined when j + 1 were left (the second into the first)
):
    """Join the two clusters whose separation is worth least, until one is left.

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
        # The covariance has grown by a matrix of rank one, so its inverse shrinks by one.
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
