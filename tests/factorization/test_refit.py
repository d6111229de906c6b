"""Best values for given supports, and supports chosen within a budget."""

import importlib
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from polymeans.factorization import (
    hierarchical_palm4msa,
    palm4msa,
    prune_and_grow,
    refit,
)
from polymeans.factorization._checks import check_problem
from polymeans.factorization._products import FromRight, from_left
from polymeans.factorization.chain_refit import FixedSupports
from polymeans.kernels.least_squares import solve_supported
from tests.factorization.checks import (
    assert_sound,
    numbers,
    random_chain,
)
from tests.oracles_factorization import (
    best_values,
    product,
    squared_error,
)

solves_module = importlib.import_module("polymeans.factorization.supported_solves")


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
    monkeypatch.setattr(solves_module, "MAX_DIRECT_UNKNOWNS", 0)
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
