"""Every algorithm returns Lloyd's labels, ties included, on dense and sparse rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans as SklearnKMeans

from polymeans import KMeans
from tests import oracles

ALGORITHMS = ["lloyd", "elkan", "lazy"]


def fit(X, C, algorithm, **parameters):
    parameters = {"max_iter": 40, "tol": 0.0, **parameters}
    return KMeans(len(C), init=C, algorithm=algorithm, n_threads=2, **parameters).fit(X)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_clusters", [1, 2, 17, 60])
def test_dense_labels_equal_plain_lloyd(blobs, algorithm, dtype, n_clusters):
    X = blobs[:600].astype(dtype)
    C = X[:n_clusters]
    model = fit(X, C, algorithm, max_iter=6)
    _, labels = oracles.lloyd(X, C, 6)
    assert np.mean(model.labels_ == labels) >= (1.0 if dtype == np.float64 else 0.998)
    np.testing.assert_array_equal(
        model.labels_, oracles.nearest(X.astype(float), model.cluster_centers_.astype(float))
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_algorithms_agree_to_the_bit(blobs, documents, algorithm, metric):
    for X, C in [(blobs, blobs[:50]), (documents, documents[:50].toarray())]:
        reference = fit(X, C, "lloyd", metric=metric)
        model = fit(X, C, algorithm, metric=metric)
        np.testing.assert_array_equal(model.labels_, reference.labels_)
        np.testing.assert_array_equal(model.cluster_centers_, reference.cluster_centers_)
        assert model.inertia_ == reference.inertia_
        assert model.n_iter_ == reference.n_iter_


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_on_an_integer_grid_go_to_the_lowest_index(algorithm, kind, dtype):
    grid = np.stack(np.meshgrid(np.arange(12), np.arange(12)), axis=-1).reshape(-1, 2)
    X = np.concatenate([grid, grid[::3], grid[::5]]).astype(dtype)
    C = np.array([[1, 1], [1, 1], [5, 5], [9, 3], [3, 9], [5, 5], [10, 10], [0, 11]], dtype=dtype)
    rows = X if kind == "dense" else sp.csr_matrix(X)
    one = KMeans(len(C), init=C, max_iter=1, tol=np.finfo(float).max, algorithm=algorithm)
    one.fit(rows)
    expected = oracles.nearest(X, one.cluster_centers_.astype(float))
    np.testing.assert_array_equal(one.labels_, expected)
    reference = fit(rows, C, "lloyd")
    np.testing.assert_array_equal(fit(rows, C, algorithm).labels_, reference.labels_)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 60),
    d=st.integers(1, 20),
    k=st.integers(1, 20),
    seed=st.integers(0, 2**31),
    scale=st.sampled_from([1e-20, 1e-3, 1.0, 1e4, 1e20]),
    offset=st.sampled_from([0.0, 1.0, 1e4]),
    dtype=st.sampled_from([np.float32, np.float64]),
    sparse=st.booleans(),
    coarse=st.booleans(),
    weighted=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ugly_rows(n, d, k, seed, scale, offset, dtype, sparse, coarse, weighted):
    k = min(k, n)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + offset
    if coarse:
        X = np.round(X)
    X = (X * scale).astype(dtype)
    if sparse:
        X[rng.random(X.shape) < 0.6] = 0
    rows = sp.csr_matrix(X) if sparse else X
    C = X[rng.choice(n, k, replace=False)]
    weights = 10.0 ** rng.integers(-3, 4, n) * (rng.random(n) > 0.2) if weighted else np.ones(n)
    weights[0] = 1.0
    results = [
        KMeans(k, init=C, algorithm=algorithm, max_iter=10, tol=0).fit(rows, sample_weight=weights)
        for algorithm in ALGORITHMS
    ]
    for model in results:
        assert np.isfinite(model.cluster_centers_).all()
        assert np.isfinite(model.inertia_)
        assert model.inertia_ >= 0
        np.testing.assert_array_equal(model.labels_, results[0].labels_)
        np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_equal_to_scikit_learn(blobs, documents):
    for X, C in [(blobs, blobs[:40]), (documents, documents[:40].toarray())]:
        theirs = SklearnKMeans(40, init=C, n_init=1, max_iter=30, tol=0).fit(X)
        ours = fit(X, C, "auto", max_iter=30)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-10)
        assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-10)


def test_sparse_equals_dense(documents):
    C = documents[:30].toarray()
    for metric in ["euclidean", "cosine"]:
        sparse = fit(documents, C, "auto", metric=metric)
        dense = fit(documents.toarray(), C, "auto", metric=metric)
        np.testing.assert_array_equal(sparse.labels_, dense.labels_)
        np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, atol=1e-12)
        assert sparse.inertia_ == pytest.approx(dense.inertia_, rel=1e-9)


def test_rows_far_from_the_origin_in_float32():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(2000, 5)) + 3e4).astype(np.float32)
    model = fit(X, X[:8], "lazy", max_iter=5)
    expected = oracles.nearest(X.astype(float), model.cluster_centers_.astype(float))
    np.testing.assert_array_equal(model.labels_, expected)
    exact = oracles.inertia(X.astype(float), model.cluster_centers_.astype(float), model.labels_)
    assert model.inertia_ == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_inertia_never_rises_and_is_what_labels_say(blobs, documents, algorithm):
    for X, C in [(blobs, blobs[:30]), (documents, documents[:30].toarray())]:
        weights = np.random.default_rng(0).random(X.shape[0])
        model = KMeans(30, init=C, algorithm=algorithm, tol=0).fit(X, sample_weight=weights)
        inertias = np.append(model.history_["inertia"], model.inertia_)
        assert (np.diff(inertias) <= 1e-9 * inertias[0]).all()
        rows = X.toarray() if sp.issparse(X) else X
        exact = oracles.inertia(rows, model.cluster_centers_, model.labels_, weights)
        assert model.inertia_ == pytest.approx(exact, rel=1e-9)
        assert -model.score(X, sample_weight=weights) == pytest.approx(exact, rel=1e-9)


def test_centroids_are_means_of_their_rows_when_converged(documents):
    weights = np.random.default_rng(1).integers(0, 4, documents.shape[0]).astype(float)
    model = KMeans(20, random_state=0, tol=0).fit(documents, sample_weight=weights)
    rows = documents.toarray()
    for j in range(20):
        mine = model.labels_ == j
        mean = weights[mine] @ rows[mine] / weights[mine].sum()
        np.testing.assert_allclose(model.cluster_centers_[j], mean, atol=1e-12)


def test_initial_centroids_outside_the_used_features():
    X = sp.csr_matrix(np.array([[1.0, 0, 0], [0, 1.0, 0], [0.9, 0.1, 0], [0.1, 0.8, 0]]))
    C = np.array([[1.0, 0, 0], [0.9, 0.0, 5.0], [0, 1.0, 0]])
    model = KMeans(3, init=C, max_iter=1, tol=np.finfo(float).max).fit(X)
    # The middle one is far from all rows by its third coordinate, so it had to be relocated.
    assert model.cluster_centers_[1, 2] == 0
    assert set(model.predict(X)) == set(model.labels_)


def test_bounds_hold_where_squares_are_too_small_for_float32():
    steps = [
        (1, -4),
        (2, 0),
        (0, 3),
        (1, 5),
        (-5, 2),
        (5, 1),
        (-4, -5),
        (0, -4),
        (5, -2),
        (5, 1),
        (-3, -5),
        (0, 3),
        (5, -5),
        (4, 5),
        (-4, -1),
        (-3, 3),
        (5, 4),
        (2, 0),
        (-4, -1),
        (-5, 0),
        (2, -3),
        (2, -2),
        (1, 2),
    ]
    weights = np.array([3, 2, 4, 3, 3, 4, 2, 3, 2, 1, 3, 3, 4, 3, 4, 3, 3, 2, 3, 2, 3, 2, 2], float)
    params = {"n_clusters": 7, "init": "random", "random_state": 64, "n_init": 1}
    plain, lazy = (
        KMeans(algorithm=name, **params).fit(5e-324 * np.array(steps), sample_weight=weights)
        for name in ("lloyd", "lazy")
    )
    assert (plain.labels_ == lazy.labels_).all()
    assert (plain.cluster_centers_ == lazy.cluster_centers_).all()
