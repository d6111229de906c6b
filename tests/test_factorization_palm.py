"""palm4MSA, its hierarchical form, refits and supports: beside slow versions, and on poor input."""

import importlib
import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from oracles_factorization import (
    best_values,
    gradient,
    largest_of_rows_and_columns,
    product,
    published_palm4msa,
    squared_error,
)
from scipy.linalg import hadamard

from polymeans.factorization import (
    guaranteed_n_nonzeros,
    hierarchical_palm4msa,
    palm4msa,
    project_rows_and_columns,
    prune_and_grow,
    published_n_factors,
    refit,
)
from polymeans.factorization._checks import check_problem
from polymeans.factorization._products import FromRight, from_left
from polymeans.factorization.budget import chain_limits, chain_shapes
from polymeans.factorization.palm4msa import Chain, Descent, default_chain, descend
from polymeans.factorization.refit import FixedSupports
from polymeans.kernels.factorization import largest_eigenvalue
from polymeans.kernels.least_squares import solve_supported

palm_module = importlib.import_module("polymeans.factorization.palm4msa")
products_module = importlib.import_module("polymeans.factorization._products")
refit_module = importlib.import_module("polymeans.factorization.refit")

METHODS = [palm4msa, hierarchical_palm4msa]
STEPS = ["line_search", "lipschitz"]

numbers = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e6, 1e6),
    st.sampled_from([1e-12, -1e12, 1e-300]),
)
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=numbers)


@pytest.fixture(scope="module")
def target():
    """Smooth rows of different sizes: few directions, no exact zeros."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 4)) @ rng.normal(size=(4, 20)) + 0.1 * rng.normal(size=(12, 20))


@pytest.fixture(scope="module")
def weights():
    return np.r_[0.0, np.arange(1.0, 12.0)]


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


# --- projection ------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(matrices, st.integers(0, 10), st.integers(0, 10))
def test_projection_keeps_the_largest_of_each_row_and_column(matrix, per_row, per_column):
    before = matrix.copy()
    found = project_rows_and_columns(matrix, per_row, per_column)
    assert_array_equal(found, largest_of_rows_and_columns(matrix, per_row, per_column))
    assert_array_equal(matrix, before)


@pytest.mark.parametrize(("per_row", "per_column"), [(1, 1), (3, 2), (7, 5), (20, 20), (2, 0)])
def test_projection_leaves_as_many_as_it_says(per_row, per_column):
    m, n = 9, 13
    matrix = np.random.default_rng(0).normal(size=(m, n))
    nnz = np.count_nonzero(project_rows_and_columns(matrix, per_row, per_column))
    rows, columns = m * min(per_row, n), n * min(per_column, m)
    assert max(rows, columns) <= nnz <= min(rows + columns, m * n)


def test_projection_takes_the_first_among_equals():
    found = project_rows_and_columns(np.ones((3, 4)), 2, 0)
    assert_array_equal(found, [[1, 1, 0, 0]] * 3)


# --- budgets ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "n"), [((64, 784), 9), ((256, 54), 8), ((64, 1024), 10), ((1, 1), 2), ((3, 5), 2)]
)
def test_number_of_factors_is_the_papers(shape, n):
    assert published_n_factors(shape) == n


def test_limits_of_a_chain_are_the_papers():
    assert chain_limits(chain_shapes((64, 784), 4), 5) == [(5, 5), (5, 5), (5, 5), (61, 5)]
    assert chain_limits(chain_shapes((256, 54), 3), 3) == [(3, 14), (3, 3), (3, 3)]
    assert chain_limits([(4, 9), (9, 6), (6, 30)], 2) == [(2, 1), (1, 2), (10, 2)]


def test_guaranteed_nonzeros_are_what_projections_leave_at_least():
    target = np.random.default_rng(0).normal(size=(10, 40))
    assert guaranteed_n_nonzeros((10, 40), 2, 4) == 2 * (10 + 2 * 10 + 40)
    assert guaranteed_n_nonzeros(target, 2, 4) == 140
    target[:, ::2] = 0
    assert guaranteed_n_nonzeros(target, 2, 4) == 100
    assert guaranteed_n_nonzeros(target, 99, 4) == 400
    found = hierarchical_palm4msa(target, n_factors=4, sparsity_level=2)
    assert found.nnz >= 100


# --- palm4MSA --------------------------------------------------------------------------------


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
    descent = Descent(target, Chain(factors, 2.0), limits, "lipschitz")
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
    monkeypatch.setattr(products_module, "_LARGE", 0)
    monkeypatch.setattr(products_module, "_THIN", 0.3)
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


# --- refit -----------------------------------------------------------------------------------


def random_chain(rng, shapes, density=0.5):
    return [
        sp.csr_array(rng.normal(size=shape) * (rng.random(shape) < density)) for shape in shapes
    ]


@pytest.mark.parametrize("q", [0, 1, 2, 3])
def test_each_factor_gets_its_best_values(target, weights, q):
    """One solve of one factor has the error of least squares on the explicit design matrix."""
    rng = np.random.default_rng(q)
    factors = random_chain(rng, [(12, 6), (6, 7), (7, 5), (5, 20)])
    supports = [factor.toarray() != 0 for factor in factors]
    chain = FixedSupports(
        check_problem(target, weights), [factor.toarray() for factor in factors], supports
    )
    left, grams = from_left(chain.factors)
    right = FromRight(chain.target)
    for factor in chain.factors[:q:-1]:
        right.pass_over(factor)
    chain.refit_one(q, grams[q], right.gram, right.toward(left[q]))
    wanted = best_values(target, factors, q, supports[q], weights)
    assert_allclose(chain.error() * chain.problem.unit**2, wanted, rtol=1e-9)


@pytest.mark.parametrize("shapes", [[(12, 6), (6, 20)], [(12, 5), (5, 5), (5, 20)]])
def test_refit_never_rises_and_keeps_supports(target, weights, shapes):
    factors = random_chain(np.random.default_rng(0), shapes)
    kept = [factor.copy() for factor in factors]
    found = refit(target, factors, weights=weights, tol=0)
    assert_sound(found, target, weights)
    assert_allclose(found.errors[0], squared_error(target, factors, weights))
    assert (np.diff(found.errors) <= 0).all()
    assert found.errors[-1] < 0.9 * found.errors[0]
    for new, old, copy in zip(found.factors, factors, kept, strict=True):
        assert_array_equal(new.indptr, old.indptr)
        assert_array_equal(new.indices, old.indices)
        assert_array_equal(old.toarray(), copy.toarray())
    # The row without weight is as it was.
    assert_array_equal(found.factors[0].toarray()[0], factors[0].toarray()[0])


def test_conjugate_gradients_reach_what_cholesky_does(target, monkeypatch):
    factors = random_chain(np.random.default_rng(0), [(12, 6), (6, 6), (6, 20)])
    exact = refit(target, factors, max_sweeps=200, tol=1e-9)
    monkeypatch.setattr(refit_module, "MOST_UNKNOWNS", 0)
    steps = refit(target, factors, max_sweeps=200, tol=1e-9)
    assert (np.diff(steps.errors) <= 0).all()
    assert_allclose(steps.errors[-1], exact.errors[-1], rtol=1e-3)


def test_refit_restores_values_from_the_right_supports():
    rng = np.random.default_rng(0)
    truth = random_chain(rng, [(30, 8), (8, 40)], density=0.3)
    start = [sp.csr_array((f.data + 0.1, f.indices, f.indptr), f.shape) for f in truth]
    found = refit(product(truth), start, max_sweeps=500, tol=0)
    assert found.relative_error < 1e-4


def test_explicit_zeros_are_part_of_a_support(target):
    left = sp.csr_array(np.eye(12))
    right = sp.csr_array(np.ones((12, 20)))
    right.data[:] = 0.0
    found = refit(target, [left, right])
    assert found.relative_error < 1e-9


def test_solutions_do_not_depend_on_how_problems_are_cut():
    rng = np.random.default_rng(0)
    P, Z = rng.normal(size=(10, 14)), rng.normal(size=(10, 30))
    X = sp.csc_array(rng.normal(size=(14, 30)) * (rng.random((14, 30)) < 0.4))
    gram, right = P.T @ P, np.ascontiguousarray(Z.T @ P)
    m = int(np.diff(X.indptr).max())

    def solve(edges):
        values, total = X.data.copy(), 0.0
        for lo, hi in pairwise(edges):
            buffers = np.empty((m, m)), np.empty(m)
            total += solve_supported(gram, right, X.indptr, X.indices, values, lo, hi, *buffers)
        return values, total

    whole, total = solve([0, 30])
    parts, _ = solve([0, 1, 7, 30])
    assert_array_equal(whole, parts)
    solved = sp.csc_array((whole, X.indices, X.indptr), X.shape)
    assert_allclose(total + np.sum(Z**2), np.sum((Z - P @ solved) ** 2))
    slow = [
        np.linalg.lstsq(P[:, rows], Z[:, j], rcond=None)[0]
        for j, rows in enumerate(np.split(X.indices, X.indptr[1:-1]))
    ]
    assert np.sum((Z - P @ solved) ** 2) <= 1e-9 + sum(
        np.sum((Z[:, j] - P[:, rows] @ x) ** 2)
        for j, (rows, x) in enumerate(zip(np.split(X.indices, X.indptr[1:-1]), slow, strict=True))
    )


@settings(max_examples=80, deadline=None)
@given(
    arrays(np.float64, (5, 6), elements=numbers),
    arrays(np.float64, (5, 4), elements=numbers),
    arrays(np.float64, (6, 4), elements=st.floats(-10, 10)),
)
def test_solutions_are_never_worse_than_what_was_there(P, Z, X):
    """However poor the dictionary: equal columns, zeros, sizes from 1e-300 to 1e12."""
    gram, right = P.T @ P, np.ascontiguousarray(Z.T @ P)
    indptr, indices = np.arange(0, 25, 6), np.tile(np.arange(6), 4)
    values = X.T.ravel().copy()
    solve_supported(gram, right, indptr, indices, values, 0, 4, np.empty((6, 6)), np.empty(6))
    assert np.isfinite(values).all()
    found = values.reshape(4, 6).T
    scale = np.sum((np.abs(P) @ np.abs(X)) ** 2) + np.sum(Z**2)
    scale += np.sum((np.abs(P) @ np.abs(found)) ** 2)
    before, after = (np.sum((Z - P @ one) ** 2) for one in (X, found))
    assert after <= before + 1e-12 * scale


# --- supports of chains ----------------------------------------------------------------------


@pytest.mark.parametrize("n_factors", [2, 3, 4])
def test_one_budget_beats_limits_for_rows_and_columns(target, weights, n_factors):
    rough = hierarchical_palm4msa(target, n_factors=n_factors, sparsity_level=2, weights=weights)
    found = prune_and_grow(target, rough.factors, rough.nnz, weights=weights, n_rounds=20)
    assert_sound(found, target, weights)
    assert found.nnz <= rough.nnz
    refitted = refit(target, rough.factors, weights=weights)
    assert found.errors[-1] < refitted.errors[-1]


@pytest.mark.parametrize("budget", [1, 20, 60, 10**6])
def test_budgets_are_kept(target, budget):
    rough = palm4msa(target, n_factors=3, sparsity_level=2)
    found = prune_and_grow(target, rough.factors, budget, n_rounds=5)
    assert_sound(found, target)
    assert found.nnz <= budget
    if budget == 10**6:
        assert found.relative_error < 1e-6


# --- norms -----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (6, 5), elements=st.floats(-5, 5)))
def test_largest_eigenvalue(matrix):
    gram = matrix.T @ matrix
    vector = 1.0 + 0.5 * np.cos(np.arange(5.0) ** 2)
    found = largest_eigenvalue(gram, vector, np.empty(5), 2000, 1e-9)
    wanted = np.linalg.norm(matrix, 2) ** 2
    assert found <= wanted * (1 + 1e-9)
    assert_allclose(found, wanted, rtol=1e-2, atol=1e-12)
