"""Rows drawn in proportion to what they cost: the random choices of k-means++ in trial loops.

The engine's k-means++ (``polymeans.engine.seeding``) draws from a ``RandomState`` in the order
scikit-learn does; trials draw from numba's generator, which their callers seed.
"""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel(inner=True)
def n_candidates(k):
    """Rows drawn for each of k places, of which greedy k-means++ takes the best.

    The number is that of scikit-learn.
    """
    return 2 + int(np.log(k))


@kernel
def accumulate(weights, costs, cumulative):
    """``cumulative`` = running sums of weights times costs; the total.

    Where no row costs anything, the sums are those of the weights alone, and the total is zero.
    """
    total = 0.0
    for i in range(weights.shape[0]):
        total += weights[i] * costs[i]
        cumulative[i] = total
    if not total > 0.0:
        mass = 0.0
        for i in range(weights.shape[0]):
            mass += weights[i]
            cumulative[i] = mass
    return total


@kernel(inner=True)
def draw(cumulative):
    """Index drawn in proportion to what is accumulated."""
    u = np.random.random() * cumulative[-1]
    low = 0
    high = cumulative.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low
