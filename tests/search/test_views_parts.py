"""Parts of the search for several clusterings: small problems, starts, gains, populations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from polymeans.datasets import make_nonredundant
from polymeans.kernels.small_kmeans import side_by_side, small_kmeans
from polymeans.kernels.subspaces import explained, flatten_means
from polymeans.kernels.view_descent import (
    Sample,
    fill_empty_clusters,
    label_views,
)
from polymeans.search.views.crossover import cross
from polymeans.search.views.dependence_tree import DependenceTree, mutual_information
from polymeans.search.views.gain import entropy, gain, scatters
from polymeans.search.views.independent_components import CONTRASTS, unmix
from polymeans.search.views.islands import distinct_states, search_islands
from polymeans.search.views.problem import Candidate, Problem
from polymeans.search.views.starts import independent_start, random_start
from tests.oracles import inertia, mean_of, nearest, scatter_between, scatter_within
from tests.subspaces import (
    assert_orthonormal,
    columns,
    copy_of,
    means_of,
    random_rows,
    random_views,
)


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
    n_moved = label_views(Sample(X, weights), centers, masses, views.starts, labels)
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
    assert fill_empty_clusters(Sample(X, weights), centers, views, labels) == 1
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
    tree = DependenceTree(M + M.T)
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
    assert [state.cost for state in distinct_states(states, 3)] == [1.0, 1.001, 2.0]


def test_a_population_is_no_worse_than_its_founders_and_always_the_same():
    problem = crowded_problem(sizes=(12, 4))
    founders = some_states(problem, 6)
    lowest = min(state.cost for state in founders)

    def backwards(function, tasks):
        """As threads might: in another order."""
        return [function(task) for task in list(tasks)[::-1]][::-1]

    found = [
        search_islands(problem, founders, 0.2, np.random.default_rng(3), map_)[0]
        for map_ in (lambda function, tasks: list(map(function, tasks)), backwards)
    ]
    assert found[0].cost <= lowest
    assert found[0].cost == found[1].cost
    assert_array_equal(found[0].labels, found[1].labels)
