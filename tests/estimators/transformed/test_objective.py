"""What TransformedKMeans minimizes: the paper's problem, its reduction, its limits, its steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from polymeans import KMeans, TransformedKMeans
from tests.oracles import inertia, scatter_within
from tests.oracles_transformed import (
    alternate,
    best_move,
    best_partition,
    closed_form,
    descend,
    inertia_of,
    log_det,
    means_of,
    metric_distances,
    metric_of,
    paper_value,
)

PLAIN = {"embedding": None, "metric": "euclidean"}


def make_rows(seed, n, d, k):
    """Rows of overlapping clusters that share a covariance, and labels where each has a row."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % k)
    X = rng.normal(size=(k, d))[labels] * 2 + rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return X + rng.normal(size=d), labels


shapes = st.tuples(st.integers(8, 25), st.integers(1, 5), st.integers(1, 4))
seeds = st.integers(0, 10_000)
positive = st.floats(0.05, 20.0)


# --- the paper's problem --------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seed=seeds, shape=shapes, lam=positive, mu=st.floats(0.2, 8.0))
def test_objective_is_the_minimum_the_papers_own_steps_reach(seed, shape, lam, mu):
    n, d, k = shape
    X, labels = make_rows(seed, n, d, k)
    model = TransformedKMeans(k, lam=lam, mu=mu, init=labels, **PLAIN).fit(X)
    value, T, Z = alternate(X, model.labels_, lam, mu)
    assert_allclose(model.objective_, value, rtol=1e-10, atol=1e-10)
    assert paper_value(T, Z, X, model.labels_, lam, mu) == pytest.approx(value)
    W = scatter_within(X, model.labels_)
    assert_allclose(model.objective_, closed_form(W, lam, mu), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("d", [1, 4, 12])
def test_objective_counts_all_features_even_if_rows_are_fewer(d):
    X, labels = make_rows(0, 6, d, 2)
    model = TransformedKMeans(2, lam=0.7, mu=2.0, init=labels, **PLAIN).fit(X)
    value, _, _ = alternate(X, model.labels_, 0.7, 2.0)
    assert_allclose(model.objective_, value, rtol=1e-10)
    assert_allclose(model.log_det_, log_det(X, model.labels_, model.rho_), rtol=1e-10)


def test_objective_of_weighted_rows_is_that_of_repeated_rows():
    X, labels = make_rows(3, 12, 3, 2)
    weights = np.random.default_rng(0).integers(1, 4, 12)
    model = TransformedKMeans(2, lam=0.5, init=labels, **PLAIN).fit(X, sample_weight=weights)
    rows, repeated = np.repeat(X, weights, axis=0), np.repeat(model.labels_, weights)
    assert_allclose(model.objective_, alternate(rows, repeated, 0.5, 1.0)[0], rtol=1e-10)


@given(lam=positive, mu=positive)
@settings(max_examples=20, deadline=None)
def test_lam_and_mu_count_through_rho_alone(lam, mu):
    X, labels = make_rows(1, 20, 3, 3)
    by_lam = TransformedKMeans(3, lam=lam, mu=mu, init=labels, **PLAIN).fit(X)
    by_rho = TransformedKMeans(3, rho=lam * (1 + mu) / mu, mu=mu, init=labels, **PLAIN).fit(X)
    assert_array_equal(by_lam.labels_, by_rho.labels_)
    for model in (by_lam, by_rho):
        assert_allclose([model.rho_, model.lam_, model.mu_], [lam * (1 + mu) / mu, lam, mu])
    for name in ("objective_", "log_det_", "inertia_"):
        assert_allclose(getattr(by_lam, name), getattr(by_rho, name), rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_scale_of_the_rows_is_a_scale_of_rho(seed):
    X, labels = make_rows(seed, 40, 3, 3)
    one = TransformedKMeans(3, rho=2.0, init=labels, **PLAIN).fit(X)
    other = TransformedKMeans(3, rho=2.0 * 49.0, init=labels, **PLAIN).fit(7.0 * X)
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(other.inertia_, 49.0 * one.inertia_, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_shift_and_a_rotation_change_nothing(seed):
    X, labels = make_rows(seed, 40, 3, 3)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    one = TransformedKMeans(3, init=labels, **PLAIN).fit(X)
    other = TransformedKMeans(3, init=labels, **PLAIN).fit(X @ Q + 1e3)
    assert_array_equal(one.labels_, other.labels_)
    for name in ("rho_", "objective_", "log_det_", "inertia_"):
        assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-8)


# --- the reduced problem --------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rho", ["auto", 1e-3, 1.0, 1e4])
def test_inertia_and_log_det_are_their_definitions(rho, weighted):
    X, _ = make_rows(5, 60, 4, 3)
    weights = np.random.default_rng(0).random(60) if weighted else None
    model = TransformedKMeans(3, rho=rho, random_state=0, **PLAIN).fit(X, sample_weight=weights)
    rho = model.rho_
    assert_allclose(model.log_det_, log_det(X, model.labels_, rho, weights), rtol=1e-10)
    assert_allclose(model.inertia_, inertia_of(X, model.labels_, rho, weights), rtol=1e-10)
    assert_allclose(model.inertia_, rho * (model.log_det_ - 4 * np.log(rho)), rtol=1e-6)
    W = scatter_within(X, model.labels_, weights)
    assert_allclose(model.objective_, closed_form(W, model.lam_, model.mu_), rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rho", ["auto", 1e-2, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_labels_are_the_nearest_means_in_the_learned_metric(seed, rho, weighted):
    X, _ = make_rows(seed, 80, 4, 3)
    weights = np.random.default_rng(0).random(80) + 0.1 if weighted else None
    model = TransformedKMeans(3, rho=rho, random_state=0, **PLAIN).fit(X, sample_weight=weights)
    centers = means_of(X, model.labels_, 3, weights)
    B = metric_of(X, model.labels_, model.rho_, weights)
    assert_array_equal(metric_distances(X, centers, B).argmin(axis=1), model.labels_)
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.cluster_centers_, centers, rtol=1e-10, atol=1e-12)
    new, _ = make_rows(seed + 100, 50, 4, 3)
    assert_array_equal(model.predict(new), metric_distances(new, centers, B).argmin(axis=1))


@pytest.mark.parametrize("weighted", [False, True])
def test_transformed_rows_have_the_learned_metric(weighted):
    X, _ = make_rows(2, 50, 4, 3)
    weights = np.random.default_rng(0).random(50) + 0.1 if weighted else None
    model = TransformedKMeans(3, random_state=0, **PLAIN).fit(X, sample_weight=weights)
    rows = np.concatenate([X[:10], make_rows(9, 10, 4, 2)[0]])
    Z = model.transform(rows)
    B = metric_of(X, model.labels_, model.rho_, weights)
    expected = model.rho_ / 2 * metric_distances(rows, rows, B)
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    assert Z.shape == (20, model.n_components_) == (20, 4)
    assert_allclose(distances, expected, rtol=1e-8, atol=1e-10)
    # The centers are points of the same space, and the mean of all rows is its origin.
    means = means_of(X, model.labels_, 3, weights)
    assert_allclose(model.transform(means), model.centroids_in_space_, rtol=1e-8, atol=1e-10)
    middle = np.average(X, axis=0, weights=weights)[None]
    assert_allclose(model.transform(middle), 0.0, atol=1e-9)
    squares = ((Z[:, None] - model.centroids_in_space_[None]) ** 2).sum(axis=2)
    assert_array_equal(squares.argmin(axis=1), model.predict(rows))


@pytest.mark.parametrize("rho", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("seed", range(6))
def test_steps_from_given_labels_are_the_direct_steps(seed, rho):
    X, labels = make_rows(seed, 40, 3, 3)
    expected = descend(X, labels, 3, rho)
    if expected is None:
        pytest.skip("a cluster lost its rows")
    model = TransformedKMeans(3, rho=rho, init=labels, **PLAIN).fit(X)
    assert_array_equal(model.labels_, expected)


@pytest.mark.parametrize(
    ("algorithm", "rho"),
    [("profile", "auto"), ("profile", 1e-3), ("profile", 1.0), ("alternating", "auto")],
)
@pytest.mark.parametrize("seed", range(4))
def test_inertia_never_rises(seed, algorithm, rho):
    X, _ = make_rows(seed, 150, 5, 4)
    labels = np.random.default_rng(seed).integers(0, 4, 150)
    model = TransformedKMeans(4, rho=rho, init=labels, algorithm=algorithm, **PLAIN).fit(X)
    history = model.history_["inertia"]
    assert len(history) == model.n_iter_
    assert (np.diff(history) <= 1e-9 * history[0]).all()
    assert model.inertia_ <= history[-1] * (1 + 1e-9)
    assert model.inertia_ <= inertia_of(X, labels, model.rho_) * (1 + 1e-9)
    assert set(model.history_.dtype.names) == {"inertia", "n_moved", "shift", "seconds"}
    assert model.n_iter_ == 1 or model.history_["n_moved"][-1] == 0


def test_max_iter_and_tol_stop_early():
    X, _ = make_rows(0, 300, 4, 4)
    labels = np.random.default_rng(0).integers(0, 4, 300)
    model = TransformedKMeans(4, init=labels, **PLAIN)
    full = clone(model).fit(X)
    assert full.n_iter_ > 3
    short = clone(model).set_params(max_iter=2).fit(X)
    assert short.n_iter_ == 2
    assert_array_equal(short.predict(X), short.labels_)
    assert_allclose(short.inertia_, inertia_of(X, short.labels_, short.rho_), rtol=1e-9)
    loose = clone(model).set_params(tol=1e6).fit(X)
    assert loose.n_iter_ < full.n_iter_
    assert full.inertia_ <= min(loose.inertia_, short.inertia_) * (1 + 1e-12)


def test_more_starts_are_never_worse():
    X, _ = make_rows(8, 120, 4, 5)
    model = TransformedKMeans(5, rho=0.1, init="k-means++", random_state=0, **PLAIN)
    costs = [clone(model).set_params(n_init=n).fit(X).log_det_ for n in (1, 3, 9)]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("init", ["k-means", "k-means++", "mixed"])
def test_every_start_leads_to_a_fixed_point(init):
    X, _ = make_rows(11, 100, 3, 3)
    model = TransformedKMeans(3, init=init, random_state=0, **PLAIN).fit(X)
    assert_array_equal(descend(X, model.labels_, 3, model.rho_), model.labels_)
    again = clone(model).set_params(init=model.labels_).fit(X)
    assert_array_equal(again.labels_, model.labels_)
    assert_allclose(again.objective_, model.objective_, rtol=1e-12)


# --- alternating steps ----------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_alternating_steps_reach_what_profile_steps_reach(seed, mu):
    X, y = make_blobs(90, 4, centers=3, cluster_std=1.5, random_state=seed)
    X = X @ np.diag([1.0, 1.0, 3.0, 10.0])
    start = np.where(np.random.default_rng(seed).random(90) < 0.15, (y + 1) % 3, y)
    profile = TransformedKMeans(3, mu=mu, init=start, **PLAIN).fit(X)
    alternating = clone(profile).set_params(algorithm="alternating").fit(X)
    assert_array_equal(alternating.labels_, profile.labels_)
    assert_allclose(alternating.objective_, profile.objective_, rtol=1e-8)
    assert_array_equal(alternating.predict(X), alternating.labels_)


@pytest.mark.parametrize("seed", range(3))
def test_alternating_objective_is_that_of_its_labels(seed):
    X, _ = make_rows(seed, 80, 4, 3)
    model = TransformedKMeans(3, lam=5.0, algorithm="alternating", n_init=2, **PLAIN).fit(X)
    W = scatter_within(X, model.labels_)
    assert_allclose(model.objective_, closed_form(W, 5.0, 1.0), rtol=1e-9)


# --- limits of rho --------------------------------------------------------------------------------


@pytest.mark.parametrize("embedding", [None, "svd"])
@pytest.mark.parametrize("seed", range(3))
def test_a_huge_rho_keeps_what_kmeans_has_found(blobs, seed, embedding):
    X = blobs[:400]
    plain = KMeans(6, n_init=1, tol=0, random_state=seed).fit(X)
    total = ((X - X.mean(axis=0)) ** 2).sum()
    model = TransformedKMeans(6, rho=1e8 * total, init=plain.labels_, embedding=embedding)
    model.set_params(metric="euclidean", n_components="auto" if embedding is None else 12).fit(X)
    assert_array_equal(model.labels_, plain.labels_)
    assert_allclose(model.inertia_, plain.inertia_, rtol=1e-6)
    assert_allclose(model.cluster_centers_, plain.cluster_centers_, rtol=1e-9)


def test_a_huge_rho_is_as_good_as_kmeans(blobs):
    X = blobs[:400]
    plain = KMeans(6, n_init=10, random_state=0).fit(X)
    for init in ("k-means", "k-means++", "mixed"):
        model = TransformedKMeans(6, rho=1e12, init=init, random_state=0, **PLAIN).fit(X)
        assert model.inertia_ <= plain.inertia_ * 1.005
        labels = model.labels_
        assert_allclose(model.inertia_, inertia(X, means_of(X, labels, 6), labels), rtol=1e-6)


def test_no_rho_is_too_large(blobs):
    X = blobs[:200]
    plain = KMeans(3, n_init=1, tol=0, random_state=0).fit(X)
    model = TransformedKMeans(3, rho=1e60, init=plain.labels_, **PLAIN).fit(X)
    assert_array_equal(model.labels_, plain.labels_)
    assert_array_equal(model.predict(X), plain.labels_)
    assert_allclose(model.inertia_, plain.inertia_, rtol=1e-6)


def test_a_rho_that_vanishes_beside_the_rows():
    X = np.random.default_rng(0).normal(size=(10, 3)) * [1.0, 1.0, 0.0] * 1e170
    for params in ({}, {"init": "mixed"}, {"embedding": None}):
        model = TransformedKMeans(4, rho=1.0, random_state=0, **params).fit(X)
        # The scatter of such rows is no float any more: infinite, but never undefined.
        assert np.isfinite(model.log_det_)
        assert not np.isnan([model.inertia_, model.objective_, model.rho_]).any()
        assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_a_tiny_rho_finds_the_smallest_determinant(seed, d):
    X, _ = make_rows(seed, 8, d, 2)
    rho = 1e-9 * ((X - X.mean(axis=0)) ** 2).sum()
    value, labels = best_partition(X, 2, rho)
    model = TransformedKMeans(
        2, rho=rho, init="mixed", n_init=60, refine="exchange", random_state=0, **PLAIN
    ).fit(X)
    assert_allclose(model.log_det_, value, rtol=1e-9)
    assert adjusted_rand_score(labels, model.labels_) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_a_tiny_rho_does_not_care_about_scales(seed):
    # |W| of A x is |A|^2 |W| of x: any invertible map leaves the fixed points where they are.
    X, labels = make_rows(seed, 60, 3, 3)
    A = np.random.default_rng(seed).normal(size=(3, 3)) + 3 * np.eye(3)
    one = TransformedKMeans(3, rho=1e-9, init=labels, **PLAIN).fit(X)
    other = TransformedKMeans(3, rho=1e-9, init=labels, **PLAIN).fit(X @ A)
    assert_array_equal(one.labels_, other.labels_)


# --- exchange -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rho", ["auto", 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(3))
def test_after_exchange_no_move_of_a_row_helps(seed, rho, weighted):
    X, labels = make_rows(seed, 24, 2, 3)
    weights = np.random.default_rng(0).integers(1, 4, 24).astype(float) if weighted else None
    plain = TransformedKMeans(3, rho=rho, init=labels, **PLAIN).fit(X, sample_weight=weights)
    model = clone(plain).set_params(refine="exchange").fit(X, sample_weight=weights)
    assert model.log_det_ <= plain.log_det_ + 1e-9
    assert model.objective_ <= plain.objective_ + 1e-9 * abs(plain.objective_)
    assert_allclose(model.log_det_, log_det(X, model.labels_, model.rho_, weights), atol=1e-9)
    assert best_move(X, model.labels_, 3, model.rho_, weights) >= model.log_det_ - 1e-9
    assert_array_equal(model.predict(X), model.labels_)


def test_exchange_gets_out_of_fixed_points():
    better = 0
    for seed in range(10):
        X, labels = make_rows(seed, 24, 2, 3)
        model = TransformedKMeans(3, rho=1e-3, init=labels, **PLAIN)
        refined = clone(model).set_params(refine="exchange").fit(X)
        better += refined.log_det_ < model.fit(X).log_det_ - 1e-6
    assert better > 0
