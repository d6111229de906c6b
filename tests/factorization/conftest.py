"""A small target and weights for the tests of factorizations."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def target():
    """Smooth rows of different sizes: few directions, no exact zeros."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 4)) @ rng.normal(size=(4, 20)) + 0.1 * rng.normal(size=(12, 20))


@pytest.fixture(scope="module")
def weights():
    return np.r_[0.0, np.arange(1.0, 12.0)]
