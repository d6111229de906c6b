"""Targets to draw from, and what every factorization must fulfil."""

import warnings

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose

from polymeans.factorization import (
    hierarchical_palm4msa,
    palm4msa,
)
from tests.oracles_factorization import (
    squared_error,
)

METHODS = [palm4msa, hierarchical_palm4msa]
STEPS = ["line_search", "lipschitz"]

numbers = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e6, 1e6),
    st.sampled_from([1e-12, -1e12, 1e-300]),
)
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=numbers)


def assert_sound(found, target, weights=None):
    """Everything is finite, and the last error is that of the factors."""
    for factor in found.factors:
        assert isinstance(factor, sp.csr_array)
        assert factor.has_sorted_indices
        assert np.isfinite(factor.data).all()
    assert found.shape == target.shape
    assert np.isfinite(found.errors).all()
    assert np.isfinite(found.relative_error)
    error = np.sqrt(squared_error(target, found.factors, weights))
    # Large entries that cancel leave different roundings in products of different order.
    assert_allclose(error, np.sqrt(found.errors[-1]), rtol=1e-6, atol=1e-8 * found.target_norm)


def quietly(method, *arguments, **options):
    """Without the word about dense factors; with errors for all other warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="sparsity_level")
        return method(*arguments, **options)


def random_chain(rng, shapes, density=0.5):
    return [
        sp.csr_array(rng.normal(size=shape) * (rng.random(shape) < density)) for shape in shapes
    ]
