"""L1KMeans: the projection, the budget, the loop, and conventions."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning

from polymeans import KMeans
from polymeans.codebooks.l1 import project_onto_l1_ball, radius_for_budget
from polymeans.l1 import L1KMeans
from tests import oracles

# --- the projection ----------------------------------------------------------------------------


def slow_projection(x, radius):
    """Try every number of non-zeros and keep the nearest point that is in the ball."""
    if np.abs(x).sum() <= radius:
        return x.copy()
    order = np.argsort(-np.abs(x), kind="stable")
    best, nearest = None, np.inf
    for m in range(1, len(x) + 1):
        kept = order[:m]
        threshold = (np.abs(x[kept]).sum() - radius) / m
        y = np.zeros_like(x)
        y[kept] = np.sign(x[kept]) * np.maximum(np.abs(x[kept]) - threshold, 0)
        if np.abs(y).sum() <= radius * (1 + 1e-9) and ((x - y) ** 2).sum() < nearest:
            best, nearest = y, ((x - y) ** 2).sum()
    return best


numbers = st.floats(-100, 100, allow_subnormal=False, width=32)


@settings(max_examples=150, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=numbers),
    st.floats(1e-3, 300),
)
def test_projection_is_the_nearest_point(vectors, radius):
    projected = project_onto_l1_ball(vectors, radius)
    assert (np.abs(projected).sum(axis=1) <= radius * (1 + 1e-12)).all()
    for x, y in zip(vectors, projected):
        np.testing.assert_allclose(y, slow_projection(x, radius), atol=1e-9)
        # Optimality: no point of the ball, hence no vertex, lies further along x - y.
        slope = x - y
        assert radius * np.abs(slope).max() <= slope @ y + 1e-7 * (1 + np.abs(slope @ x))


def test_projection_keeps_its_digits_where_the_radius_is_tiny():
    x = np.array([[1e9, 1e9, 1e9 - 1, 0.0, -1e9]])
    np.testing.assert_allclose(
        project_onto_l1_ball(x, 1e-6), [[1e-6 / 3, 1e-6 / 3, 0, 0, -1e-6 / 3]], rtol=1e-12
    )
    assert not project_onto_l1_ball(x, 0.0).any()


@settings(max_examples=150, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=numbers),
    st.integers(1, 36),
)
def test_budget_gives_the_largest_radius_it_allows(vectors, budget):
    radius = radius_for_budget(vectors, budget)
    smaller = np.count_nonzero(np.abs(project_onto_l1_ball(vectors, radius * (1 - 1e-9))) > 0)
    assert smaller <= budget
    if np.count_nonzero(vectors) > budget:
        larger = project_onto_l1_ball(vectors, radius * (1 + 1e-6) + 1e-9)
        assert np.count_nonzero(larger) > budget
    else:
        np.testing.assert_array_equal(project_onto_l1_ball(vectors, radius * (1 + 1e-12)), vectors)


# --- the loop ----------------------------------------------------------------------------------


def kinds(blobs, documents):
    return [blobs, blobs.astype(np.float32), sp.csr_matrix(blobs), documents]


@pytest.mark.parametrize("offset", ["zero", "mean", "median"])
@pytest.mark.parametrize("budget", [None, 60])
def test_objective_never_rises_and_everything_agrees(blobs, documents, budget, offset):
    for X in kinds(blobs, documents):
        model = L1KMeans(10, n_nonzeros=budget, offset=offset, random_state=0, tol=0).fit(X)
        inertias = model.history_["inertia"]
        assert (np.diff(inertias) <= 1e-9 * inertias[0]).all()
        assert model.inertia_ <= inertias[-1] * (1 + 1e-9)
        assert model.inertia_ == pytest.approx(-model.score(X), rel=1e-6)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.cluster_centers_.dtype == model.sparse_centroids_.dtype == X.dtype
        scale = np.abs(model.cluster_centers_).max()
        np.testing.assert_allclose(
            model.sparse_centroids_.toarray() + model.offset_,
            model.cluster_centers_,
            atol=1e-6 * scale,
        )
        assert model.n_nonzeros_ == model.sparse_centroids_.nnz
        assert model.n_parameters_ == model.n_nonzeros_ + np.count_nonzero(model.offset_)
        assert model.inertia_ >= model.kmeans_inertia_ * (1 - 1e-9)
        assert model.compression_ == model.cluster_centers_.size / model.n_nonzeros_
        norms = np.abs(model.sparse_centroids_.toarray()).sum(axis=1)
        assert (norms <= model.radius_ * (1 + 1e-5)).all()
        if budget is not None:
            assert model.n_nonzeros_ <= budget
        assert model.n_nonzeros_ < model.cluster_centers_.size
        assert isinstance(model.sparse_centroids_, sp.csr_array)


def test_centroids_are_projected_means(blobs):
    weights = np.random.default_rng(0).random(len(blobs))
    model = L1KMeans(6, radius=9.0, random_state=0, tol=0).fit(blobs, sample_weight=weights)
    for j in range(6):
        mine = model.labels_ == j
        mean = oracles.mean_of(blobs[mine], weights[mine])
        np.testing.assert_allclose(model.cluster_centers_[j], slow_projection(mean, 9.0), atol=1e-9)
    np.testing.assert_array_equal(model.labels_, oracles.nearest(blobs, model.cluster_centers_))
    assert model.inertia_ == pytest.approx(
        oracles.inertia(blobs, model.cluster_centers_, model.labels_, weights)
    )
    assert model.radius_ == 9.0


@pytest.mark.parametrize("budget", [None, 50])
def test_dense_and_sparse_rows_give_the_same(blobs, budget):
    X = np.where(np.abs(blobs) > 4, blobs, 0.0)
    for algorithm in ("lloyd", "elkan", "lazy"):
        a, b = (
            L1KMeans(9, init=X[:9], n_nonzeros=budget, algorithm=algorithm).fit(rows)
            for rows in (X, sp.csr_array(X))
        )
        np.testing.assert_array_equal(a.labels_, b.labels_)
        np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-9, atol=1e-12)


def test_a_large_ball_is_no_constraint(blobs):
    plain = KMeans(7, random_state=0).fit(blobs)
    model = L1KMeans(7, radius=1e9, random_state=0).fit(blobs)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.inertia_ == pytest.approx(plain.inertia_)
    full = L1KMeans(7, n_nonzeros=7 * 12, random_state=0).fit(blobs)
    np.testing.assert_allclose(full.cluster_centers_, plain.cluster_centers_)


def test_automatic_radius_is_a_share_of_k_means(blobs):
    plain = KMeans(7, random_state=0).fit(blobs)
    norms = np.abs(plain.cluster_centers_).sum(axis=1)
    model = L1KMeans(7, random_state=0).fit(blobs)
    assert model.radius_ == pytest.approx(0.5 * norms[plain.labels_].mean())


def test_all_starts_share_one_ball(blobs):
    several = L1KMeans(12, n_init=4, random_state=0).fit(blobs)
    one = L1KMeans(12, n_init=1, random_state=0).fit(blobs)
    assert several.radius_ == one.radius_
    assert several.inertia_ <= one.inertia_


def test_more_nonzeros_serve_better(blobs):
    start = KMeans(10, random_state=0).fit(blobs).cluster_centers_
    losses = [L1KMeans(10, init=start, n_nonzeros=n).fit(blobs).inertia_ for n in (12, 40, 80, 120)]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_extreme_magnitudes(blobs, scale):
    X = (blobs * scale).astype(np.float32)
    model = L1KMeans(5, random_state=0).fit(X)
    plain = L1KMeans(5, random_state=0).fit(blobs.astype(np.float32))
    assert model.radius_ == pytest.approx(plain.radius_ * scale, rel=1e-4)
    given_radius = L1KMeans(5, radius=plain.radius_ * scale, random_state=0).fit(X)
    assert np.mean(given_radius.labels_ == plain.labels_) > 0.99


def test_same_bits_for_any_number_of_threads():
    X = np.random.default_rng(0).normal(size=(40_000, 16)).astype(np.float32)
    models = [
        L1KMeans(30, n_nonzeros=200, random_state=0, max_iter=6, n_threads=n).fit(X)
        for n in (1, 2, 5)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
        np.testing.assert_array_equal(model.cluster_centers_, models[0].cluster_centers_)
        assert model.inertia_ == models[0].inertia_


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_that_are_zero_or_all_alike():
    for X in (np.zeros((6, 3)), np.ones((6, 3)), sp.csr_matrix((6, 3))):
        for parameters in ({}, {"n_nonzeros": 2}, {"radius": 0.5}, {"offset": "mean"}):
            model = L1KMeans(2, random_state=0, **parameters).fit(X)
            assert np.isfinite(model.cluster_centers_).all()
            assert np.isfinite([model.inertia_, model.compression_, model.radius_]).all()
            np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_ties_leave_no_choice_within_the_budget():
    X = np.array([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = L1KMeans(2, n_nonzeros=3, random_state=0).fit(X)
    assert model.n_nonzeros_ <= 3
    assert L1KMeans(2, n_nonzeros=4, random_state=0).fit(X).n_nonzeros_ == 4


def test_input_is_never_modified(blobs, documents):
    for X in (blobs, documents):
        before = X.copy()
        L1KMeans(5, random_state=0, offset="mean").fit(X).predict(X)
        assert (before != X).sum() == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"radius": 0}, "radius must be a finite number larger than 0, got 0"),
        ({"radius": np.inf}, "radius"),
        ({"radius": "small"}, "radius"),
        ({"n_nonzeros": 1}, "n_nonzeros must be an integer of at least 2, got 1"),
        ({"n_nonzeros": 2.5}, "n_nonzeros"),
        ({"n_nonzeros": 9, "radius": 1.0}, "both given"),
        ({"offset": "center"}, "offset must be one of 'zero', 'mean', 'median', got 'center'"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"init": "kmeans"}, "init must be one of"),
    ],
)
def test_bad_parameters(blobs, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        L1KMeans(**{"n_clusters": 2, **parameters}).fit(blobs)


@pytest.mark.parametrize("seed", [79, 80, 81])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_empty_clusters_do_not_raise_the_objective_of_a_budget(seed):
    X = np.random.default_rng(seed).normal(size=(124, 2))
    inertias = L1KMeans(30, n_nonzeros=50, random_state=0).fit(X).history_["inertia"]
    assert (np.diff(inertias) <= 1e-9 * inertias[0]).all()
