"""Parts that the trial loops of searches share, against numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from polymeans.codebooks.additive import pair_masses, solve_additive
from polymeans.codebooks.aggregation import combine, split
from polymeans.kernels.additive import make_definite, refit_quickly
from polymeans.kernels.cells import member_sums
from polymeans.kernels.draws import accumulate
from polymeans.kernels.small_kmeans import side_by_side, small_kmeans
from polymeans.kernels.vacancies import count_members, fill_vacant

GRIDS = [(4,), (3, 4), (1, 5), (2, 3, 4)]


def memberships(sizes):
    """One row for each cell: ones at its protocentroids."""
    digits = np.unravel_index(np.arange(np.prod(sizes)), sizes)
    return np.concatenate([np.eye(h)[digit] for h, digit in zip(sizes, digits)], axis=1)


def random_grid(sizes, seed=0, n_features=3):
    """Masses of cells, some of them zero but all protocentroids used, and sums of their rows."""
    rng = np.random.default_rng(seed)
    masses = rng.random(int(np.prod(sizes))) * (rng.random(int(np.prod(sizes))) < 0.8)
    masses[:: max(1, len(masses) // 5)] += 0.1
    sums = masses[:, None] * rng.normal(size=(len(masses), n_features))
    return masses, sums


def marginals(sums, sizes):
    out = np.empty((sum(sizes), sums.shape[1]))
    member_sums(sums, np.array(sizes), out)
    return out


# --- sums ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", GRIDS)
def test_marginals_of_a_grid(sizes):
    masses, sums = random_grid(sizes)
    A = memberships(sizes)
    assert_allclose(pair_masses(masses, sizes), A.T @ (masses[:, None] * A), atol=1e-12)
    assert_allclose(marginals(sums, sizes), A.T @ sums, atol=1e-12)


@pytest.mark.parametrize("sizes", GRIDS)
def test_shifts_and_unused_protocentroids_get_the_eigenvalue_one(sizes):
    masses, _ = random_grid(sizes)
    grid = masses.reshape(sizes)
    grid[0] = 0.0 if sizes[0] > 1 else grid[0]
    system = pair_masses(masses, sizes)
    root = np.empty(len(system))
    definite = system.copy()
    make_definite(definite, np.array(sizes), root)
    assert_allclose(definite, definite.T)
    mass = np.diag(system)
    assert_allclose(root, np.where(mass > 0, np.sqrt(mass), 1.0))
    normalized = system / root / root[:, None]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    for q in range(1, len(sizes)):
        shift = ((owner == 0) * 1.0 - (owner == q)) * np.sqrt(mass)
        assert_allclose(normalized @ shift, 0, atol=1e-12)
        assert_allclose(definite @ shift, shift, atol=1e-12)
    for a in np.flatnonzero(mass == 0):
        assert_array_equal(definite[a], np.eye(len(system))[a])
    assert_allclose(np.trace(definite - normalized), len(sizes) - 1 + np.sum(mass == 0))


@pytest.mark.parametrize("sizes", GRIDS)
@pytest.mark.parametrize("apart", [False, True])
def test_quick_and_careful_refits_are_least_squares(sizes, apart):
    masses, sums = random_grid(sizes)
    if apart and len(sizes) > 1 and min(sizes) > 1:
        # Two blocks of the grid that share no protocentroid, and so no rows.
        digits = np.unravel_index(np.arange(len(masses)), sizes)
        low = np.array([digit < h // 2 for h, digit in zip(sizes, digits)])
        together = low.all(axis=0) | (~low).all(axis=0)
        masses = (masses + 0.1) * together
        sums *= together[:, None]
    A, roots = memberships(sizes), np.sqrt(masses)[:, None]
    targets = sums / np.where(masses > 0, masses, 1.0)[:, None]
    best = A @ np.linalg.lstsq(roots * A, roots * targets, rcond=None)[0]
    start = np.random.default_rng(1).normal(size=(sum(sizes), sums.shape[1]))
    system, right = pair_masses(masses, sizes), marginals(sums, sizes)
    careful = solve_additive(system, right, start, sizes)
    quick = start.copy()
    refit_quickly(system, right, np.array(sizes), quick)
    used = masses > 0
    for theta, atol in ((careful, 1e-10), (quick, 1e-6)):
        assert_allclose(combine(split(theta, sizes), "sum")[used], best[used], atol=atol)
    # Whatever the rows leave open stays as it was: exactly, or hardly moves.
    open_ = np.linalg.svd(roots * A)[2][np.linalg.matrix_rank(roots * A) :]
    mass = np.diag(pair_masses(masses, sizes))[:, None]
    for theta, atol in ((careful, 1e-10), (quick, 1e-3)):
        assert_allclose(open_ @ (mass * (theta - start)), 0, atol=atol)


# --- rows ---------------------------------------------------------------------------------------


def test_rows_that_cost_nothing_are_drawn_by_weight():
    weights, cumulative = np.array([1.0, 0.0, 3.0]), np.empty(3)
    assert accumulate(weights, np.array([2.0, 5.0, 1.0]), cumulative) == 5.0
    assert_array_equal(cumulative, [2, 2, 5])
    assert accumulate(weights, np.zeros(3), cumulative) == 0.0
    assert_array_equal(cumulative, [1, 1, 4])


def test_unused_members_get_the_costliest_rows_whose_members_have_others():
    sizes = (3, 4)
    digits = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 2, 2]])
    labels = np.ravel_multi_index(tuple(digits), sizes).astype(np.int64)
    weights = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    costs = np.array([9.0, 3.0, 2.0, 1.0, 8.0, 0.0])
    counts = np.empty(4, dtype=np.int64)
    # Rows 0 and 4 are alone with their member of the second set: the last row does not count.
    assert count_members(labels, weights, 1, counts) == 1
    assert_array_equal(counts, [1, 3, 1, 0])
    assert fill_vacant(labels, 1, counts, costs) == 1
    assert_array_equal(np.unravel_index(labels, sizes)[1], [0, 3, 1, 1, 2, 2])
    assert_array_equal(counts, [1, 2, 1, 1])
    counts = np.empty(3, dtype=np.int64)
    assert count_members(labels, weights, 4, counts) == 1
    assert fill_vacant(labels, 4, counts, costs) == 1
    assert_array_equal(np.unravel_index(labels, sizes)[0], [2, 0, 0, 1, 1, 1])
    assert_array_equal(costs, [0, 0, 2, 1, 8, 0])


def test_rows_that_cost_nothing_are_not_moved():
    labels, counts = np.zeros(3, dtype=np.int64), np.array([3, 0])
    assert fill_vacant(labels, 1, counts, np.zeros(3)) == 0
    assert_array_equal(labels, 0)


def test_centers_of_a_product_fit_their_rows():
    rng = np.random.default_rng(0)
    true, factors = rng.normal(size=(3, 5)), rng.normal(size=(200, 5)) + 2
    owners = rng.integers(3, size=200)
    X = factors * true[owners] + 0.01 * rng.normal(size=(200, 5))
    weights = rng.random(200)
    centers, labels = np.empty((3, 5)), np.empty(200, dtype=np.int32)
    lines = side_by_side(X.T, weights, factors.T)
    value = small_kmeans(lines, 3, 30, 0, centers, labels)
    costs = ((X[:, None] - factors[:, None] * centers) ** 2).sum(axis=2)
    assert_array_equal(labels, costs.argmin(axis=1))
    assert_allclose(value, weights @ costs.min(axis=1))
    for c in range(3):
        w, F = weights[labels == c, None], factors[labels == c]
        assert_allclose(centers[c], (w * F * X[labels == c]).sum(axis=0) / (w * F * F).sum(axis=0))
    assert len(set(zip(labels, owners))) == 3
