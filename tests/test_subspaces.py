"""Subspaces of several clusterings against full scatter matrices, and the parts of their search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from polymeans.codebooks.orthogonal import basis_of, make_views, principal_directions
from polymeans.datasets import make_nonredundant
from polymeans.kernels.small_kmeans import side_by_side, small_kmeans
from polymeans.kernels.subspaces import explained, flatten_means, rotate, rotate_pair
from polymeans.kernels.views import (
    Sample,
    fill_empty,
    label,
    weighted_means,
)
from polymeans.search.views.crossover import cross
from polymeans.search.views.gain import entropy, gain, scatters
from polymeans.search.views.independent import CONTRASTS, Tree, mutual_information, unmix
from polymeans.search.views.population import apart, search_population
from polymeans.search.views.problem import Candidate, Problem
from polymeans.search.views.starts import independent_start, random_start
from tests.oracles import best_pair, inertia, mean_of, nearest, scatter_between, scatter_within

SIZES = [(2, 2), (3, 4), (5, 2), (3, 3, 4), (2, 3, 2, 4)]


def random_rows(sizes, n=80, d=9, seed=0):
    """Rows, labels in views that have nothing to do with them, and weights, some of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(1, 3, d)
    labels = np.stack([rng.permutation(n) % k for k in sizes]).astype(np.int32)
    weights = rng.integers(0, 4, n).astype(float)
    return X, labels, weights


def means_of(X, labels, sizes, weights):
    """What the kernels call weighted means, and the masses of the clusters."""
    means = np.empty((sum(sizes), X.shape[1]))
    masses = np.empty(sum(sizes))
    starts = np.cumsum([0, *sizes]).astype(np.int64)
    centered = np.ascontiguousarray(X - mean_of(X, weights))
    weighted_means(Sample(centered, weights), labels, starts, means, masses)
    return means, masses


def random_views(sizes, d, seed=0):
    """Orthogonal subspaces without meaning, as large as they may be."""
    views = make_views(sizes, d)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    used = 0
    for s, k in enumerate(sizes):
        m = min(k - 1, d - used)
        views.basis[views.places[s] : views.places[s] + m] = Q[:, used : used + m].T
        views.dims[s] = m
        used += m
    return views


def copy_of(views):
    return views._replace(dims=views.dims.copy(), basis=views.basis.copy())


def columns(views, chosen=None):
    """Basis vectors of some views, or of all, as columns."""
    chosen = range(len(views.dims)) if chosen is None else chosen
    parts = [basis_of(views, s) for s in chosen]
    return np.concatenate([np.zeros((0, views.basis.shape[1])), *parts]).T


def assert_orthonormal(V, atol=1e-10):
    assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=atol, rtol=0)


# --- means and what they explain ------------------------------------------------------------------


@pytest.mark.parametrize("sizes", SIZES)
def test_weighted_means_make_the_scatter_between_clusters(sizes):
    X, labels, weights = random_rows(sizes)
    means, masses = means_of(X, labels, sizes, weights)
    start = 0
    for digit, k in zip(labels, sizes):
        A = means[start : start + k]
        assert_allclose(A.T @ A, scatter_between(X, digit, weights), atol=1e-9)
        assert_allclose(masses[start : start + k], np.bincount(digit, weights, minlength=k))
        start += k


@pytest.mark.parametrize("sizes", SIZES)
def test_explained_is_the_trace_within_the_subspaces(sizes):
    X, labels, weights = random_rows(sizes)
    means, _ = means_of(X, labels, sizes, weights)
    views = random_views(sizes, X.shape[1])
    expected = sum(
        np.trace(columns(views, [s]).T @ scatter_between(X, digit, weights) @ columns(views, [s]))
        for s, digit in enumerate(labels)
    )
    assert_allclose(explained(means, views), expected, rtol=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_flat_means_are_cluster_means_within_the_subspace(sizes):
    X, labels, weights = random_rows(sizes)
    means, masses = means_of(X, labels, sizes, weights)
    views = random_views(sizes, X.shape[1])
    centers = np.empty_like(means)
    flatten_means(means, masses, views, centers)
    start = 0
    for s, (digit, k) in enumerate(zip(labels, sizes)):
        V = columns(views, [s])
        for c in range(k):
            mine = (digit == c) & (weights > 0)
            center = mean_of(X[mine], weights[mine]) - mean_of(X, weights)
            assert_allclose(centers[start + c], V @ V.T @ center, atol=1e-12)
        start += k


# --- the V step -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (5, 2)])
def test_two_views_have_the_eigenvectors_of_the_difference_of_scatters(sizes, seed):
    X, labels, weights = random_rows(sizes, seed=seed)
    means, _ = means_of(X, labels, sizes, weights)
    views = make_views(sizes, X.shape[1])
    value = rotate(means, views, 1, 0.0)
    difference = scatter_within(X, labels[0], weights) - scatter_within(X, labels[1], weights)
    expected = best_pair(difference, np.zeros((X.shape[1], 0)))
    for s, V in enumerate(expected):
        assert views.dims[s] == V.shape[1]
        assert_allclose(columns(views, [s]) @ columns(views, [s]).T, V @ V.T, atol=1e-8)
    best = sum(
        np.trace(V.T @ scatter_between(X, digit, weights) @ V) for V, digit in zip(expected, labels)
    )
    assert_allclose(value, best, rtol=1e-10)
    assert_orthonormal(columns(views))


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize("sizes", [(3, 3, 4), (2, 4, 3)])
def test_a_pair_is_rotated_within_the_complement_of_the_other_views(sizes, pair):
    X, labels, weights = random_rows(sizes, seed=5)
    means, _ = means_of(X, labels, sizes, weights)
    views = random_views(sizes, X.shape[1])
    (other,) = set(range(3)) - set(pair)
    kept = columns(views, [other]).copy()
    s, t = pair
    rotate_pair(means, views, s, t)
    assert_array_equal(columns(views, [other]), kept)
    difference = scatter_within(X, labels[s], weights) - scatter_within(X, labels[t], weights)
    for u, V in zip(pair, best_pair(difference, kept)):
        assert_allclose(columns(views, [u]) @ columns(views, [u]).T, V @ V.T, atol=1e-8)
    assert_orthonormal(columns(views))


def test_one_view_is_what_its_means_span():
    X, labels, weights = random_rows((4,))
    means, _ = means_of(X, labels, (4,), weights)
    views = make_views((4,), X.shape[1])
    value = rotate(means, views, 1, 0.0)
    assert views.dims[0] == 3
    assert_allclose(value, np.trace(scatter_between(X, labels[0], weights)), rtol=1e-12)
    assert_orthonormal(columns(views))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", SIZES)
def test_no_pair_update_lowers_what_is_explained(sizes, seed):
    X, labels, weights = random_rows(sizes, seed=seed)
    means, _ = means_of(X, labels, sizes, weights)
    views = random_views(sizes, X.shape[1], seed)
    before = explained(means, views)
    for _ in range(3):
        for s in range(len(sizes)):
            for t in range(s + 1, len(sizes)):
                rotate_pair(means, views, s, t)
                now = explained(means, views)
                assert now >= before * (1 - 1e-12)
                before = now


@pytest.mark.parametrize("sizes", SIZES)
def test_at_convergence_no_pair_update_improves(sizes):
    X, labels, weights = random_rows(sizes, seed=1)
    means, _ = means_of(X, labels, sizes, weights)
    views = random_views(sizes, X.shape[1])
    value = rotate(means, views, 2000, 1e-13)
    assert value == explained(means, views)
    for s in range(len(sizes)):
        for t in range(s + 1, len(sizes)):
            turned = copy_of(views)
            rotate_pair(means, turned, s, t)
            assert explained(means, turned) <= value * (1 + 1e-9)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("n_views", [2, 3])
def test_views_with_the_same_labels_lose_nothing(k, n_views):
    sizes = (k,) * n_views
    X, labels, weights = random_rows(sizes, seed=2)
    labels[:] = labels[0]
    means, _ = means_of(X, labels, sizes, weights)
    views = random_views(sizes, X.shape[1])
    value = rotate(means, views, 50, 1e-12)
    assert_allclose(value, np.trace(scatter_between(X, labels[0], weights)), rtol=1e-9)
    assert (views.dims <= k - 1).all()
    assert views.dims.sum() == k - 1 or n_views > 2
    assert_orthonormal(columns(views))


def test_nearly_the_same_labels_lose_nothing():
    X, labels, weights = random_rows((4, 4), seed=3)
    weights += 1.0
    labels[1] = labels[0]
    labels[1, 0] = (labels[1, 0] + 1) % 4
    means, _ = means_of(X, labels, (4, 4), weights)
    views = make_views((4, 4), X.shape[1])
    value = rotate(means, views, 1, 0.0)
    assert value >= max(np.trace(scatter_between(X, digit, weights)) for digit in labels)
    assert (views.dims <= 3).all()


@pytest.mark.parametrize(
    ("ratio", "strong"), [(1e3, 0), (1e5, 0), (1e7, 0), (1e3, 1), (1e5, 1), (1e7, 1)]
)
def test_a_weak_view_keeps_its_directions_in_either_order(ratio, strong):
    rng = np.random.default_rng(0)
    labels = np.stack([rng.permutation(90) % 3 for _ in range(2)]).astype(np.int32)
    X = np.zeros((90, 4))
    corners = np.array([[0.0, 0], [3, 0], [0, 4]])
    X[:, :2] = corners[labels[strong]] * ratio
    X[:, 2:] = corners[labels[1 - strong]]
    means, _ = means_of(X, labels, (3, 3), np.ones(90))
    views = make_views((3, 3), 4)
    rotate(means, views, 1, 0.0)
    assert_array_equal(views.dims, [2, 2])


def ugly_rows(kind, n, d, rng):
    X = rng.normal(size=(n, d))
    if kind == "collinear":
        X = np.outer(rng.normal(size=n), rng.normal(size=d)) + 1e-9 * X
    elif kind == "duplicates":
        X = X[rng.integers(0, 3, n)]
    elif kind == "constant":
        X[:, ::2] = 7.0
    elif kind == "unlike":
        X *= 10.0 ** rng.integers(-8, 8, d)
    elif kind == "lattice":
        X = rng.integers(-1, 2, (n, d)).astype(float)
    elif kind == "equal":
        X[:] = X[0]
    return X


@settings(max_examples=150, deadline=None)
@given(
    sizes=st.sampled_from([(2, 2), (3, 3), (4, 2), (2, 3, 4), (3, 3, 3)]),
    n=st.integers(4, 14),
    d=st.integers(3, 20),
    kind=st.sampled_from(
        ["plain", "collinear", "duplicates", "constant", "unlike", "lattice", "equal"]
    ),
    scale=st.sampled_from([1e-100, 1e-8, 1.0, 1e8, 1e100]),
    same=st.booleans(),
    seed=st.integers(0, 100),
)
def test_ugly_means_still_give_the_best_orthonormal_subspaces(sizes, n, d, kind, scale, same, seed):
    rng = np.random.default_rng(seed)
    X = ugly_rows(kind, n, d, rng)
    X -= X.mean(axis=0)
    labels = np.stack([rng.integers(0, k, n) for k in sizes]).astype(np.int32)
    if same:
        labels[:] = np.minimum(labels[0], min(sizes) - 1)
    views = random_views(sizes, d, seed)
    means, _ = means_of(X * scale, labels, sizes, np.ones(n))
    rotate(means, views, 20, 1e-12)
    assert_orthonormal(columns(views))
    assert (views.dims <= np.array(sizes) - 1).all()
    total = float((X**2).sum())
    B = [scatter_between(X, digit) for digit in labels]
    for s in range(len(sizes)):
        for t in range(s + 1, len(sizes)):
            rotate_pair(means, views, s, t)
            assert_orthonormal(columns(views))
            others = columns(views, set(range(len(sizes))) - {s, t})
            best = sum(
                np.trace(V.T @ B[u] @ V) for u, V in zip((s, t), best_pair(B[t] - B[s], others))
            )
            found = sum(
                np.trace(columns(views, [u]).T @ B[u] @ columns(views, [u])) for u in (s, t)
            )
            # The oracle leaves equal claims to nobody: it may only be exceeded.
            assert found >= best - 1e-8 * total


@pytest.mark.parametrize("given", [True, False])
def test_principal_directions_are_ordered_and_have_a_sign(given):
    rng = np.random.default_rng(0)
    masses = rng.dirichlet(np.ones(5))
    basis = np.linalg.qr(rng.normal(size=(7, 4)))[0].T
    deviations = rng.normal(size=(5, 4)) @ basis
    deviations -= masses @ deviations
    directions, variance = principal_directions(deviations, masses, basis if given else None)
    assert_allclose(directions @ directions.T, np.eye(4), atol=1e-12)
    spread = masses @ (deviations @ directions.T) ** 2
    assert (np.diff(spread) <= 0).all()
    assert_allclose(variance, masses @ (deviations**2).sum(axis=1))
    assert (directions[np.arange(4), np.abs(directions).argmax(axis=1)] > 0).all()


# --- small problems -------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 3)])
def test_the_value_of_a_descent_never_falls_and_is_that_of_its_labels(sizes):
    X, labels, weights = random_rows(sizes, n=150)
    problem = Problem(X - mean_of(X, weights), weights, sizes)
    values = []
    for max_iter in range(1, 15):
        state = problem.descend(labels.copy(), max_iter)
        means, masses = means_of(X, state.labels, sizes, weights)
        values.append(problem.total - state.cost)
        assert_allclose(values[-1], explained(means, state.views), rtol=1e-10)
    assert len(set(values)) > 3
    assert (np.diff(values) >= -1e-9 * values[-1]).all()
    assert (masses > 0).all()


def test_labels_in_each_view_are_those_of_the_nearest_center():
    X, labels, weights = random_rows((3, 4))
    means, masses = means_of(X, labels, (3, 4), weights)
    views = random_views((3, 4), X.shape[1])
    centers = np.empty_like(means)
    flatten_means(means, masses, views, centers)
    before = labels.copy()
    n_moved = label(Sample(X, weights), centers, masses, views.starts, labels)
    assert n_moved == (labels != before).sum() > 0
    for s, part in enumerate((slice(0, 3), slice(3, 7))):
        V = columns(views, [s])
        assert_array_equal(labels[s], nearest(X @ V, centers[part] @ V))


def test_an_empty_cluster_gets_the_farthest_row_of_its_view():
    X, labels, weights = random_rows((3, 4))
    labels[0] = np.minimum(labels[0], 1)
    means, masses = means_of(X, labels, (3, 4), weights)
    views = random_views((3, 4), X.shape[1])
    centers = np.empty_like(means)
    flatten_means(means, masses, views, centers)
    before = labels.copy()
    assert fill_empty(Sample(X, weights), centers, views, labels) == 1
    V = columns(views, [0])
    distances = ((X @ V - centers[before[0]] @ V) ** 2).sum(axis=1) * (weights > 0)
    (moved,) = np.flatnonzero((labels != before).any(axis=0))
    assert moved == distances.argmax()
    assert labels[0, moved] == 2


def test_small_kmeans_reports_the_scatter_of_its_labels():
    X, _, weights = random_rows((3,), n=60, d=2)
    labels = np.zeros(60, dtype=np.int32)
    centers = np.empty((4, 2))
    value = small_kmeans(side_by_side(X.T, weights), 5, 50, 0, centers, labels)
    C = np.stack([mean_of(X[labels == c], weights[labels == c]) for c in range(4)])
    assert_allclose(centers, C, rtol=1e-9)
    assert_allclose(value, inertia(X, C, labels, weights), rtol=1e-9)
    assert_array_equal(labels, nearest(X, C))


# --- parts of the search --------------------------------------------------------------------------


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_unmixing_is_a_rotation_that_finds_independent_sources(contrast):
    rng = np.random.default_rng(0)
    sources = rng.choice([-1.0, 1.0], size=(2000, 3)) + 0.1 * rng.normal(size=(2000, 3))
    mixed = sources @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    mixed -= mixed.mean(axis=0)
    left = np.linalg.svd(mixed, full_matrices=False)[0]
    rotation = unmix(left * np.sqrt(2000), np.ones(2000), contrast, rng)
    assert_orthonormal(rotation)
    found = left @ rotation.T
    correlation = np.abs(np.corrcoef(found.T, sources.T)[:3, 3:])
    assert_array_equal(np.sort(correlation.argmax(axis=1)), [0, 1, 2])
    assert correlation.max(axis=1).min() > 0.95


def test_mutual_information_tells_dependent_columns():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3000, 3))
    information = mutual_information(np.c_[z, z[:, 0] ** 2 + 0.1 * z[:, 2]], np.ones(3000))
    assert_array_equal(information, information.T)
    assert information[0, 3] > 0.3
    assert information[0, 1] < 0.02
    assert (information >= 0).all()


@pytest.mark.parametrize("q", [1, 2, 5, 9])
def test_a_tree_is_cut_into_groups_that_cover_all_components_once(q):
    M = np.random.default_rng(0).random((q, q))
    tree = Tree(M + M.T)
    assert tree.n_leaves == q
    for n_groups in range(1, q + 1):
        groups = [tree.members[node] for node in tree.cut(n_groups)]
        assert len(groups) == n_groups
        assert sorted(c for group in groups for c in group) == list(range(q))


def test_scatters_add_up():
    X, labels, weights = random_rows((3,))
    X = X - mean_of(X, weights)
    total, within, shares = scatters(X, weights, labels[0], 3)
    mass = weights.sum()
    assert_allclose(within, scatter_within(X, labels[0], weights) / mass, atol=1e-12)
    assert_allclose(total - within, scatter_between(X, labels[0], weights) / mass, atol=1e-12)
    assert_allclose(shares, np.bincount(labels[0], weights) / mass)


def test_entropy_is_in_nats():
    assert entropy(np.array([0.25, 0.25, 0.25, 0.25, 0.0])) == pytest.approx(np.log(4))
    assert entropy(np.array([1.0, 0.0])) == 0.0


def test_clusters_gain_and_a_cut_cloud_does_not():
    rng = np.random.default_rng(0)
    halves = (np.arange(400) % 2).astype(np.int64)
    apart = rng.normal(size=(400, 2)) + 8.0 * halves[:, None]
    cloud = rng.normal(size=(400, 2)) * [10.0, 1.0]
    ones = np.ones(400)
    assert gain(apart - apart.mean(axis=0), ones, halves, 2) > 100
    assert gain(cloud - cloud.mean(axis=0), ones, (cloud[:, 0] > 0).astype(np.int64), 2) < 0
    assert gain(np.zeros((400, 2)), ones, halves, 2) == -np.inf


@pytest.mark.parametrize("start", [independent_start, "random"])
def test_starts_label_every_row_in_every_view(start):
    X, _, _ = make_nonredundant(200, (3, 4), random_state=0)
    problem = Problem(X - X.mean(axis=0), np.ones(200), (3, 4))
    for number in range(6):
        rng = np.random.default_rng(number)
        if start == "random":
            labels = random_start(problem, number, rng)
        else:
            labels = start(problem, number, 6, rng)
        assert labels.shape == (2, 200)
        assert labels.min() == 0
        assert_array_equal(labels.max(axis=1), [2, 3])


@pytest.mark.parametrize("number", range(6))
def test_starts_do_with_fewer_dimensions_than_views(number):
    rng = np.random.default_rng(0)
    problem = Problem(rng.normal(size=(50, 1)), np.ones(50), (3, 2))
    labels = independent_start(problem, number, 6, rng)
    assert labels.shape == (2, 50)


# --- populations --------------------------------------------------------------------------------


def crowded_problem(sizes=(12, 4, 4), seed=0):
    """A cloud with more clusters to be found than it has."""
    X, _, _ = random_rows(sizes, n=150, d=20, seed=seed)
    return Problem(X - X.mean(axis=0), np.ones(len(X)), sizes)


def some_states(problem, n):
    """Where random starts end."""
    generators = np.random.default_rng(0).spawn(n)
    return [problem.descend(random_start(problem, i, own), 30) for i, own in enumerate(generators)]


@pytest.mark.parametrize("seed", range(8))
def test_a_cross_leaves_its_parents_alone_and_has_labels_and_subspaces_that_fit(seed):
    problem = crowded_problem()
    first, second = some_states(problem, 2)
    before = first.labels.copy(), first.views.basis.copy()
    child = cross(problem, first, second, np.random.default_rng(seed))
    assert_array_equal(first.labels, before[0])
    assert_array_equal(first.views.basis, before[1])
    assert all(set(row) <= set(range(k)) for row, k in zip(child.labels, problem.sizes))
    again = problem.descend(child.labels.copy(), 300, copy_of(child.views))
    assert again.cost <= child.cost * (1 + 1e-9)


def test_a_state_crossed_with_itself_is_no_worse():
    problem = crowded_problem()
    state = some_states(problem, 1)[0]
    for own in np.random.default_rng(1).spawn(6):
        assert cross(problem, state, state, own).cost <= state.cost * (1 + 1e-9)


def test_states_that_cost_about_the_same_are_kept_once():
    states = [Candidate(None, None, cost) for cost in (3.0, 1.0, 1.00001, 2.0, 1.001)]
    assert [state.cost for state in apart(states, 3)] == [1.0, 1.001, 2.0]


def test_a_population_is_no_worse_than_its_founders_and_always_the_same():
    problem = crowded_problem(sizes=(12, 4))
    founders = some_states(problem, 6)
    lowest = min(state.cost for state in founders)

    def backwards(function, tasks):
        """As threads might: in another order."""
        return [function(task) for task in list(tasks)[::-1]][::-1]

    found = [
        search_population(problem, founders, 0.2, np.random.default_rng(3), map_)[0]
        for map_ in (lambda function, tasks: list(map(function, tasks)), backwards)
    ]
    assert found[0].cost <= lowest
    assert found[0].cost == found[1].cost
    assert_array_equal(found[0].labels, found[1].labels)
