"""palm4MSA and its hierarchical form: beside slow versions, and on poor input."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import hadamard

from polymeans.factorization import (
    hierarchical_palm4msa,
    palm4msa,
    prune_and_grow,
    refit,
)
from polymeans.factorization.budget import chain_limits, chain_shapes
from polymeans.factorization.palm4msa import default_chain, descend
from polymeans.factorization.palm_steps import Chain, PalmSteps
from polymeans.kernels.factorization_steps import largest_eigenvalue
from tests.factorization.checks import (
    METHODS,
    STEPS,
    assert_sound,
    matrices,
    quietly,
    random_chain,
)
from tests.oracles_factorization import (
    gradient,
    product,
    published_palm4msa,
    squared_error,
)

palm_module = importlib.import_module("polymeans.factorization.palm_steps")
products_module = importlib.import_module("polymeans.factorization._products")


def test_gradient_is_that_of_the_error(target, monkeypatch):
    """The first published step from a start whose support does not change tells the gradient."""
    monkeypatch.setattr(palm_module, "_POWER_TOL", 1e-15)
    monkeypatch.setattr(palm_module, "_POWER_ITERATIONS", 10000)
    rng = np.random.default_rng(1)
    factors = [rng.normal(size=(12, 6)), rng.normal(size=(6, 7)), rng.normal(size=(7, 20))]
    factors = [factor / np.linalg.norm(factor) for factor in factors]
    for q in range(3):
        left, right = (
            product(factors[:q] or [np.eye(12)]),
            product(factors[q + 1 :] or [np.eye(20)]),
        )
        slow = gradient(target, factors, 2.0, q)
        fast = 2.0 * (
            (left.T @ left) @ (2.0 * factors[q]) @ (right @ right.T) - left.T @ target @ right.T
        )
        assert_allclose(fast, slow, rtol=1e-9, atol=1e-9)
    shapes = [factor.shape for factor in factors]
    limits = [(shape[1], shape[0]) for shape in shapes]
    descent = PalmSteps(target, Chain(factors, 2.0), limits, "lipschitz")
    error = descent.sweep()
    slow, scale = published_palm4msa(target, factors, 2.0, limits, 1)
    assert_allclose(error, squared_error(target, [scale * slow[0], *slow[1:]]), rtol=1e-6)


@pytest.mark.parametrize("n_factors", [2, 3, 4])
@pytest.mark.parametrize("shape", [(6, 9), (9, 6), (7, 7)])
def test_published_step_does_what_was_published(n_factors, shape, monkeypatch):
    monkeypatch.setattr(palm_module, "_POWER_TOL", 1e-15)
    monkeypatch.setattr(palm_module, "_POWER_ITERATIONS", 10000)
    target = np.random.default_rng(n_factors).normal(size=shape)
    shapes = chain_shapes(shape, n_factors)
    limits = chain_limits(shapes, 2)
    start = default_chain(target, shapes)
    for n_iter in (1, 3):
        slow, scale = published_palm4msa(target, *start, limits, n_iter)
        fast, errors = descend(target, start, limits, n_iter, 0.0, "lipschitz")
        assert len(errors) == n_iter
        slow_error = squared_error(target, [scale * slow[0], *slow[1:]])
        assert_allclose(errors[-1], slow_error, rtol=1e-6)
        if min(errors) == errors[-1]:
            for a, b in zip(fast.factors, slow, strict=True):
                assert_array_equal(a != 0, b != 0)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("n", [8, 16, 32])
def test_hadamard_is_recovered(n, step):
    n_factors = n.bit_length() - 1
    found = hierarchical_palm4msa(hadamard(n), n_factors=n_factors, sparsity_level=2, step=step)
    assert found.relative_error < 1e-8
    assert found.nnz == 2 * n * n_factors
    for factor in found.factors:
        assert_array_equal(np.diff(factor.indptr), 2)


def test_hadamard_of_two_factors_is_recovered_from_the_default_start():
    assert palm4msa(hadamard(4), n_factors=2, sparsity_level=2).relative_error < 1e-7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("step", STEPS)
def test_factors_meet_their_limits(target, method, step):
    found = method(target, n_factors=4, sparsity_level=2, step=step)
    assert_sound(found, target)
    limits = chain_limits(chain_shapes(target.shape, 4), 2)
    for factor, (per_row, per_column) in zip(found.factors, limits, strict=True):
        m, n = factor.shape
        assert factor.nnz <= m * per_row + n * per_column


def test_line_search_ends_lower_than_the_published_step(target):
    for method in METHODS:
        short, long = (
            method(target, n_factors=4, sparsity_level=2, step=step, max_iter=50)
            for step in STEPS[::-1]
        )
        assert long.errors[-1] < short.errors[-1]


def test_warm_start_goes_on(target, weights):
    rough = palm4msa(target, n_factors=3, sparsity_level=2, max_iter=5)
    more = palm4msa(target, factors=rough.factors, sparsity_level=2, max_iter=20)
    assert more.errors[-1] < rough.errors[-1]
    other = palm4msa(target, factors=rough.factors, sparsity_level=2, weights=weights)
    assert_sound(other, target, weights)
    assert_array_equal(other.factors[0].toarray()[0], rough.factors[0].toarray()[0])


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repeated_rows(target, method):
    """Weighted rows are the rows times the roots of the weights, without them in the factors."""
    weights = np.arange(1.0, 13.0)
    weighted = method(target, n_factors=3, sparsity_level=3, weights=weights)
    scaled = method(np.sqrt(weights)[:, None] * target, n_factors=3, sparsity_level=3)
    assert_sound(weighted, target, weights)
    assert_allclose(weighted.errors, scaled.errors, rtol=1e-9)
    assert_allclose(np.sqrt(weights)[:, None] * weighted.toarray(), scaled.toarray(), atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_scale_of_the_target_does_not_matter(target, method):
    one = method(target, n_factors=3, sparsity_level=2, max_iter=20)
    for scale in (2.0**-600, 2.0**400):
        other = method(scale * target, n_factors=3, sparsity_level=2, max_iter=20)
        assert_array_equal(other.toarray(), scale * one.toarray())


@pytest.mark.parametrize("method", METHODS)
def test_same_bits_each_time_and_input_is_not_changed(target, method):
    before = target.copy()
    one, other = (method(target, n_factors=3, sparsity_level=2) for _ in range(2))
    for a, b in zip(one.factors, other.factors, strict=True):
        assert_array_equal(a.toarray(), b.toarray())
    assert_array_equal(target, before)


@pytest.mark.parametrize("shape", [(20, 30), (30, 20)])
def test_form_of_products_does_not_matter(shape, monkeypatch):
    """Large factors are multiplied in sparse form. (The default start has ties for rounding.)"""
    rng = np.random.default_rng(0)
    target = rng.normal(size=shape)
    start = random_chain(rng, chain_shapes(shape, 4), density=0.2)

    def chain():
        rough = palm4msa(target, factors=start, sparsity_level=2, max_iter=2)
        return refit(target, rough.factors, max_sweeps=2)

    one = chain()
    monkeypatch.setattr(products_module, "_MIN_ENTRIES", 0)
    monkeypatch.setattr(products_module, "_MAX_DENSITY", 0.3)
    assert_allclose(chain().toarray(), one.toarray(), rtol=1e-6, atol=1e-8)


def test_operator_is_the_product(target):
    found = palm4msa(target, n_factors=3, sparsity_level=2, max_iter=5)
    assert_allclose(found.operator.toarray(), found.toarray())
    assert found.operator.nnz == found.nnz
    assert "n_factors=3" in repr(found)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (1, 1)])
def test_single_rows_and_columns_are_exact(method, step, shape):
    target = np.random.default_rng(0).normal(size=shape)
    found = quietly(method, target, sparsity_level=1, step=step)
    assert_sound(found, target)
    assert found.relative_error < 1e-6
    if shape == (9, 1):
        weights = np.r_[0.0, np.ones(8)]
        found = quietly(method, target, sparsity_level=1, step=step, weights=weights)
        assert found.relative_error < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_zero_target(method):
    found = method(np.zeros((5, 7)), n_factors=3, sparsity_level=2)
    assert found.relative_error == 0
    assert_array_equal(found.toarray(), np.zeros((5, 7)))


@pytest.mark.parametrize("method", METHODS)
def test_dense_enough_is_exact(method):
    target = np.random.default_rng(0).normal(size=(6, 8))
    with pytest.warns(UserWarning, match="sparsity_level=9 is more") as said:
        found = method(target, n_factors=3, sparsity_level=9)
    assert len(said) == 1
    assert found.relative_error < 1e-5


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"n_factors": 1}, ValueError, "n_factors"),
        ({"n_factors": 2.5}, ValueError, "n_factors"),
        ({"sparsity_level": 0}, ValueError, "sparsity_level"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"tol": -1.0}, ValueError, "tol"),
        ({"step": "newton"}, ValueError, "step"),
        ({"weights": [1.0, 2.0]}, ValueError, "weights"),
        ({"weights": -np.ones(12)}, ValueError, "weights"),
        ({"weights": np.full(12, np.nan)}, ValueError, "weights"),
    ],
)
def test_bad_parameters_are_named(target, method, options, error, match):
    with pytest.raises(error, match=match):
        method(target, **options)


def test_bad_targets_and_factors_are_named(target):
    with pytest.raises(ValueError, match="target"):
        palm4msa(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="overflow"):
        palm4msa(np.full((3, 3), 1e200))
    with pytest.raises(ValueError, match="shapes"):
        palm4msa(target, factors=[np.eye(12), np.eye(12)])
    with pytest.raises(ValueError, match="n_factors"):
        palm4msa(target, factors=[np.eye(12), target], n_factors=3)
    with pytest.raises(ValueError, match="two or more"):
        refit(target, [target])


@settings(max_examples=60, deadline=None)
@given(
    matrices,
    st.integers(2, 4),
    st.integers(1, 3),
    st.sampled_from(STEPS),
    st.sampled_from(METHODS),
    st.booleans(),
)
def test_poor_input_gives_finite_factors(target, n_factors, level, step, method, weighted):
    weights = np.arange(float(len(target))) if weighted else None
    options = {"n_factors": n_factors, "sparsity_level": level, "step": step, "max_iter": 15}
    found = quietly(method, target, weights=weights, **options)
    assert_sound(found, target, weights)
    assert found.relative_error <= 1 + 1e-9
    better = quietly(refit, target, found.factors, weights=weights, max_sweeps=3)
    assert_sound(better, target, weights)
    assert (np.diff(better.errors) <= 0).all()
    budget = max(1, found.nnz)
    grown = quietly(prune_and_grow, target, found.factors, budget, weights=weights, n_rounds=3)
    assert_sound(grown, target, weights)
    assert grown.nnz <= budget
    assert grown.relative_error <= better.relative_error * (1 + 1e-6) + 1e-9


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (6, 5), elements=st.floats(-5, 5)))
def test_largest_eigenvalue(matrix):
    gram = matrix.T @ matrix
    vector = 1.0 + 0.5 * np.cos(np.arange(5.0) ** 2)
    found = largest_eigenvalue(gram, vector, np.empty(5), 2000, 1e-9)
    wanted = np.linalg.norm(matrix, 2) ** 2
    assert found <= wanted * (1 + 1e-9)
    assert_allclose(found, wanted, rtol=1e-2, atol=1e-12)
