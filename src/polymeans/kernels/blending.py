"""Means of rows seen so far, moved towards the means of new ones."""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel
def blend_means(
    clusters,  # IN  which means have new rows
    shares,  # IN  (m,) share of the new rows in all that are remembered
    mass,  # IN  (m,) of the new rows
    sums,  # IN  (m, n_used) of the new rows about the origin, in their unit
    origin,  # IN  (n_used,)
    unit,  # IN  of the new rows
    rank,  # IN  (n_features,) where features stand in the sums, -1: nowhere; empty: as they are
    means,  # INOUT (m, n_features) in the user's coordinates
):
    """``means += share * (new - means)`` for some of them.

    Features that no new row has are zero in the new means.
    """
    largest = np.finfo(np.float64).max
    in_order = len(rank) == 0
    for j in clusters:
        share = shares[j]
        for f in range(means.shape[1]):
            r = f if in_order else rank[f]
            new = 0.0
            if r >= 0:
                # A mean of finite numbers is finite; its rounding may not be.
                new = (sums[j, r] / mass[j] + origin[r]) * unit
                new = min(max(new, -largest), largest)
            if share == 1.0:  # nothing is remembered
                means[j, f] = new
                continue
            old = means[j, f]
            moved = old + share * (new - old)
            if not abs(moved) <= largest:  # the difference is out of range
                moved = (1.0 - share) * old + share * new
            means[j, f] = moved
