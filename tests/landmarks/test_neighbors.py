"""Neighbors in few clusters: brute force as the oracle, conventions, bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.cluster import KMeans as OtherKMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

from polymeans import KMeans
from polymeans.landmarks import inverted_file
from polymeans.neighbors import (
    ClusterKNeighborsClassifier,
    ClusterKNeighborsRegressor,
    ClusterNeighbors,
)
from tests.conftest import make_documents

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def brute_force(X, Q, k, own=None, allowed=None):
    """All distances, sorted; the lowest row number first among equals."""
    X, Q = (np.asarray(A.toarray() if sp.issparse(A) else A, dtype=np.float64) for A in (X, Q))
    indices = np.empty((len(Q), k), dtype=np.int64)
    for i, q in enumerate(Q):
        square = ((X - q) ** 2).sum(axis=1)
        rows = np.arange(len(X)) if allowed is None else np.flatnonzero(allowed[i])
        if own is not None:
            rows = rows[rows != own[i]]
        order = np.lexsort((rows, square[rows]))
        indices[i] = rows[order[:k]]
    distances = np.sqrt(((X[indices] - Q[:, None]) ** 2).sum(axis=2))
    return distances, indices


def index_of(X, k=5, n_clusters=20, **parameters):
    clusterer = KMeans(n_clusters, random_state=0)
    return ClusterNeighbors(k, clusterer=clusterer, **parameters).fit(X)


def kinds(X):
    return [X, X.astype(np.float32), sp.csr_matrix(X), sp.csr_array(X.astype(np.float32))]


# --- exact search ------------------------------------------------------------------------------


def test_exact_search_is_brute_force(blobs, documents):
    for X in [*kinds(blobs[:1500]), documents[:1200]]:
        index = index_of(X, n_probe="exact")
        Q = X[::7] * np.float32(1.01)
        distances, indices = index.kneighbors(Q)
        expected = brute_force(X, Q, 5)
        np.testing.assert_array_equal(indices, expected[1])
        np.testing.assert_allclose(distances, expected[0], rtol=1e-12)
        distances, indices = index.kneighbors()
        expected = brute_force(X, X, 5, own=np.arange(X.shape[0]))
        np.testing.assert_array_equal(indices, expected[1])
        np.testing.assert_allclose(distances, expected[0], rtol=1e-12)


grid = st.integers(-3, 3).map(float)


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(4, 40), st.just(2)), elements=grid),
    arrays(np.float64, st.tuples(st.integers(1, 5), st.just(2)), elements=grid),
    st.integers(1, 4),
    st.integers(1, 4),
    st.booleans(),
)
def test_ties_go_to_the_lowest_row(X, Q, k, n_clusters, sparse):
    rows = sp.csr_array(X) if sparse else X
    index = index_of(rows, k, n_clusters, n_probe="exact")
    np.testing.assert_array_equal(index.kneighbors(Q)[1], brute_force(X, Q, k)[1])
    if k < len(X):
        np.testing.assert_array_equal(
            index.kneighbors()[1], brute_force(X, X, k, own=np.arange(len(X)))[1]
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_exact_far_from_the_origin(blobs, shift, dtype):
    X = (blobs[:600] + shift).astype(dtype)
    for rows in (X, sp.csr_matrix(X)):
        found = index_of(rows, n_probe="exact").kneighbors(X[:50])
        np.testing.assert_array_equal(found[1], brute_force(X, X[:50], 5)[1])
        assert (found[0][:, 0] == 0).all()


@pytest.mark.parametrize("scale", [1e-25, 1e25, 1e200])
def test_extreme_magnitudes(blobs, scale):
    X = blobs[:300] * scale
    if scale < 1e30:
        X = X.astype(np.float32)
    index = index_of(X, n_probe="exact")
    distances, indices = index.kneighbors(X[:20])
    assert not np.isnan(distances).any()
    if scale < 1e30:
        np.testing.assert_array_equal(indices, brute_force(X, X[:20], 5)[1])


def test_exact_leaves_clusters_out(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 5)) * 100, 30, axis=0) + rng.normal(size=(600, 5))
    looked_into = []
    compare = inverted_file.Comparison.__call__

    def counted(self, chosen, cluster):
        looked_into.append(len(chosen))
        compare(self, chosen, cluster)

    monkeypatch.setattr(inverted_file.Comparison, "__call__", counted)
    index_of(X, n_probe="exact").kneighbors(X)
    assert sum(looked_into) < 2 * len(X)


# --- few clusters ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_probe", [1, 2, 5])
def test_looks_into_the_nearest_clusters_only(blobs, documents, n_probe):
    for X in [*kinds(blobs[:1500]), documents[:1200]]:
        index = index_of(X, 3, n_probe=n_probe)
        Q = X[::11] * np.float32(1.01)
        model = index.clusterer_
        order = np.argsort(model.transform(Q), axis=1)[:, :n_probe]
        if n_probe == 1:
            order = model.predict(Q)[:, None]
        allowed = (index.labels_[None, None, :] == order[:, :, None]).any(axis=1)
        assert (allowed.sum(axis=1) >= 3).all()
        expected = brute_force(X, Q, 3, allowed=allowed)
        np.testing.assert_array_equal(index.kneighbors(Q)[1], expected[1])


def test_opens_further_clusters_until_there_are_enough():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [12.0], [30.0]])
    for rows in (X, sp.csr_array(X)):
        index = ClusterNeighbors(clusterer=KMeans(3, init=[[0.5], [11.0], [30.0]])).fit(rows)
        Q = np.array([[29.0], [9.0]])
        np.testing.assert_array_equal(index.kneighbors(Q, 1)[1], [[5], [2]])
        np.testing.assert_array_equal(index.kneighbors(Q, 2)[1], [[5, 4], [2, 3]])
        np.testing.assert_array_equal(index.kneighbors(Q, 5)[1], [[5, 4, 3, 2, 1], [2, 3, 4, 1, 0]])
        # Alone in its cluster, a row looks elsewhere.
        np.testing.assert_array_equal(
            index.kneighbors(n_neighbors=1)[1].ravel(), [1, 0, 3, 2, 3, 4]
        )


def test_all_clusters_are_exact(blobs):
    X = blobs[:800]
    index = index_of(X, 4, n_probe=20)
    np.testing.assert_array_equal(index.kneighbors(X)[1], brute_force(X, X, 4)[1])
    np.testing.assert_array_equal(
        index.set_params(n_probe=999).kneighbors(X)[1][:, 0], np.arange(800)
    )


def test_more_clusters_find_more(blobs):
    truth = brute_force(blobs[:1500], blobs[1500:1700], 1)[1]
    found = [
        np.mean(index_of(blobs[:1500], 1, 40, n_probe=n).kneighbors(blobs[1500:1700])[1] == truth)
        for n in (1, 4, 16, "exact")
    ]
    assert found == sorted(found)
    assert found[-1] == 1.0


def test_default_clusterer_routes_by_its_operator():
    X, _ = load_digits(return_X_y=True)
    index = ClusterNeighbors(3, random_state=0).fit(X)
    model = index.clusterer_
    assert type(model).__name__ == "QuickKMeans"
    assert model.n_clusters == int(np.sqrt(len(X)))
    Q = X[:200] + 0.25
    allowed = index.labels_[None] == model.predict(Q)[:, None]
    np.testing.assert_array_equal(index.kneighbors(Q)[1], brute_force(X, Q, 3, allowed=allowed)[1])
    index.set_params(n_probe=3)
    routes = model.offset_ + model.operator_.toarray()
    order = np.argsort(((Q[:, None] - routes) ** 2).sum(axis=2), axis=1)[:, :3]
    allowed = (index.labels_[None, None, :] == order[:, :, None]).any(axis=1)
    np.testing.assert_array_equal(index.kneighbors(Q)[1], brute_force(X, Q, 3, allowed=allowed)[1])
    index.set_params(n_probe="exact")
    np.testing.assert_array_equal(index.kneighbors(Q)[1], brute_force(X, Q, 3)[1])


def test_clusterers_of_all_sorts(blobs):
    X, Q = blobs[:800], blobs[800:900]
    truth = brute_force(X, Q, 2)[1]
    fitted = KMeans(9, random_state=0).fit(X)
    for clusterer in (
        OtherKMeans(7, n_init=1, random_state=0),
        KMeans(7, metric="cosine", random_state=0),
        FrozenEstimator(fitted),
    ):
        index = ClusterNeighbors(2, n_probe="exact", clusterer=clusterer).fit(X)
        np.testing.assert_array_equal(index.kneighbors(Q)[1], truth)
    index = ClusterNeighbors(2, clusterer=fitted)
    assert index.fit(X).clusterer_ is fitted
    assert clone(index).fit(X).clusterer_ is not fitted


# --- results -----------------------------------------------------------------------------------


def test_duplicates_are_at_distance_zero():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(50, 30)) * 1e3, 3, axis=0)
    for rows in kinds(X):
        distances, indices = index_of(rows, 3).kneighbors(rows)
        assert (distances == 0).all()
        np.testing.assert_array_equal(indices, np.arange(150).reshape(50, 3).repeat(3, axis=0))


def test_dense_and_sparse_are_the_same(documents):
    X, Q = documents[:1000], documents[1000:1100]
    a = index_of(X, n_probe=3)
    b = ClusterNeighbors(5, n_probe=3, clusterer=a.clusterer_).fit(X.toarray())
    for queries in (Q, Q.toarray()):
        for index in (a, b):
            distances, indices = index.kneighbors(queries)
            np.testing.assert_array_equal(indices, a.kneighbors(Q)[1])
            np.testing.assert_allclose(distances, a.kneighbors(Q)[0], rtol=1e-12)


def test_queries_of_another_dtype(blobs):
    X = blobs[:500].astype(np.float32)
    index = index_of(X, n_probe="exact")
    Q = blobs[500:550]
    np.testing.assert_array_equal(index.kneighbors(Q)[1], brute_force(X, Q, 5)[1])
    wide = index_of(X.astype(np.float64), n_probe="exact")
    np.testing.assert_array_equal(wide.kneighbors(X)[0], index.kneighbors(X)[0])


@pytest.mark.parametrize("n_probe", [1, 3, "exact"])
def test_same_bits_for_any_number_of_threads(n_probe):
    X = np.random.default_rng(0).normal(size=(6000, 10)).astype(np.float32)
    for rows in (X, make_documents(1500, 300, seed=1, length=10)):
        index = index_of(rows, 4, 40, n_probe=n_probe)
        found = [index.set_params(n_threads=n).kneighbors() for n in (1, 2, 5)]
        for distances, indices in found[1:]:
            np.testing.assert_array_equal(distances, found[0][0])
            np.testing.assert_array_equal(indices, found[0][1])


def test_graph_is_that_of_scikit_learn(blobs):
    X = blobs[:400]
    index = index_of(X, 3, n_probe="exact")
    other = NearestNeighbors(n_neighbors=3).fit(X)
    for mode in ("connectivity", "distance"):
        for queries in (None, X[:30] + 0.5):
            ours, theirs = (n.kneighbors_graph(queries, mode=mode) for n in (index, other))
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-9)
    assert index.kneighbors(return_distance=False).shape == (400, 3)


def test_frames_and_pickles(blobs):
    frame = pd.DataFrame(blobs[:300], columns=[f"f{i}" for i in range(12)])
    index = index_of(frame, 2, n_probe="exact")
    again = pickle.loads(pickle.dumps(index))
    np.testing.assert_array_equal(again.kneighbors(frame)[1], index.kneighbors(frame)[1])
    assert list(index.feature_names_in_) == list(frame.columns)


def test_unsorted_and_duplicate_entries(documents):
    X = documents[:300].copy()
    messy = X.copy()
    for i in range(300):
        entries = slice(messy.indptr[i], messy.indptr[i + 1])
        messy.indices[entries] = messy.indices[entries][::-1].copy()
        messy.data[entries] = messy.data[entries][::-1].copy()
    messy.has_sorted_indices = False
    before = messy.indices.copy()
    clean = index_of(X, 3, n_probe="exact")
    other = ClusterNeighbors(3, n_probe="exact", clusterer=clean.clusterer_).fit(messy)
    np.testing.assert_array_equal(other.kneighbors(messy)[1], clean.kneighbors(X)[1])
    np.testing.assert_array_equal(messy.indices, before)


# --- classes and targets -----------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_votes_and_means_are_those_of_scikit_learn(weights):
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 1200), slice(1100, 1500)  # some are known: at distance zero
    clusterer = KMeans(30, random_state=0)
    options = {"n_probe": "exact", "weights": weights, "clusterer": clusterer}
    ours = ClusterKNeighborsClassifier(4, **options).fit(X[train], y[train])
    theirs = KNeighborsClassifier(4, weights=weights, algorithm="brute").fit(X[train], y[train])
    same = (ours.kneighbors(X[test])[1] == theirs.kneighbors(X[test])[1]).all(axis=1)
    assert same.mean() > 0.95  # they break ties otherwise
    np.testing.assert_allclose(
        ours.predict_proba(X[test])[same], theirs.predict_proba(X[test])[same], atol=1e-6
    )
    assert ours.score(X[test], y[test]) > 0.95
    targets = np.c_[y, X[:, 20]]
    for part in (targets, targets[:, 0]):
        ours = ClusterKNeighborsRegressor(4, **options).fit(X[train], part[train])
        theirs = KNeighborsRegressor(4, weights=weights, algorithm="brute")
        theirs.fit(X[train], part[train])
        np.testing.assert_allclose(
            ours.predict(X[test])[same], theirs.predict(X[test])[same], atol=1e-5
        )


def test_classes_may_be_strings(blobs):
    y = np.where(blobs[:500, 0] > 0, "right", "left")
    model = ClusterKNeighborsClassifier(3, clusterer=KMeans(9, random_state=0)).fit(blobs[:500], y)
    assert model.score(blobs[500:900], np.where(blobs[500:900, 0] > 0, "right", "left")) > 0.8
    np.testing.assert_allclose(model.predict_proba(blobs).sum(axis=1), 1.0)


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1, got 0"),
        ({"n_probe": 0}, "n_probe must be an integer of at least 1, got 0"),
        ({"n_probe": "all"}, "n_probe"),
        ({"n_threads": 0}, "n_threads"),
        ({"clusterer": "k-means"}, "clusterer must be None or an estimator"),
        ({"clusterer": NearestNeighbors()}, "has no predict"),
        ({"clusterer": KNeighborsClassifier()}, "y|cluster_centers_"),
        ({"clusterer": KMeans(2).fit(np.eye(3))}, "fitted on 3 features, but X has 12"),
    ],
)
def test_bad_parameters(blobs, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ClusterNeighbors(**parameters).fit(blobs)


def test_bad_calls(blobs):
    with pytest.raises(NotFittedError):
        ClusterNeighbors().kneighbors(blobs)
    index = index_of(blobs[:50], 5, 3)
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit"):
        index.kneighbors(blobs, 51)
    with pytest.raises(ValueError, match="not its own neighbor"):
        index.kneighbors(n_neighbors=50)
    with pytest.raises(ValueError, match="n_neighbors"):
        index.kneighbors(blobs, 0)
    with pytest.raises(ValueError, match="mode must be one of"):
        index.kneighbors_graph(mode="both")
    with pytest.raises(ValueError, match="features"):
        index.kneighbors(blobs[:, :3])
    with pytest.raises(ValueError, match="weights must be one of 'uniform', 'distance'"):
        ClusterKNeighborsClassifier(weights="inverse").fit(blobs, np.arange(len(blobs)) % 2)
    with pytest.raises(ValueError, match="requires y"):
        ClusterKNeighborsRegressor().fit(blobs, None)


def test_entries_of_csr_queries_that_add_up():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = ClusterNeighbors(3, n_probe="exact", clusterer=KMeans(5, random_state=0)).fit(X)
    twice = sp.csr_matrix((np.array([10.0, -9]), np.array([0, 0]), np.array([0, 2])), shape=(1, 3))
    np.testing.assert_array_equal(model.kneighbors(twice)[1], model.kneighbors([[1.0, 0, 0]])[1])
