"""Products of vectors, fitted to sums of cells."""

import numpy as np

from polymeans.codebooks.aggregation import combine
from polymeans.codebooks.multiplicative import fit_multiplicative


def test_the_product_refit_reaches_a_stationary_point():
    rng = np.random.default_rng(0)
    masses = rng.integers(0, 5, 12).astype(float)
    sums = masses[:, None] * rng.normal(size=(12, 3))
    sets = fit_multiplicative(sums, masses, [rng.normal(size=(3, 3)), rng.normal(size=(4, 3))], 500)

    def cost(sets):
        v = combine(sets, "product")
        return float((masses[:, None] * v**2 - 2 * sums * v).sum())

    for q in range(2):
        for index in np.ndindex(sets[q].shape):
            for step in (1e-4, -1e-4):
                moved = [theta.copy() for theta in sets]
                moved[q][index] += step
                assert cost(moved) >= cost(sets) - 1e-5
