"""Transformed k-means on rows as they come: odd containers, float32, far origins, odd weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from polymeans import TransformedKMeans
from polymeans.datasets import make_documents


@pytest.fixture(scope="module")
def text():
    X, _ = make_documents(150, 300, n_topics=4, length=30, overlap=0.3, random_state=0)
    return X


def shuffled(X):
    """The same rows with entries out of order, one of them in two parts."""
    coo = X.tocoo()
    order = np.lexsort((-coo.col, coo.row))
    data, indices, indptr = coo.data[order], coo.col[order], X.indptr.copy()
    data = np.concatenate([[data[0] / 4], data])
    data[1] *= 0.75
    indices = np.concatenate([indices[:1], indices]).astype(np.int32)
    indptr[1:] += 1
    return sp.csr_array((data, indices, indptr), shape=X.shape)


@pytest.mark.parametrize("params", [{}, {"embedding": None}, {"embedding": None, "solver": "cg"}])
def test_entries_may_be_out_of_order_and_in_parts(text, params):
    odd = shuffled(text)
    for part in (odd.data, odd.indices, odd.indptr):
        part.flags.writeable = False
    before = odd.data.copy(), odd.indices.copy()
    model = TransformedKMeans(4, random_state=0, n_init=2, **params).fit(odd)
    assert_array_equal(model.labels_, model.predict(odd))
    assert_array_equal(odd.data, before[0])
    assert_array_equal(odd.indices, before[1])
    plain = TransformedKMeans(4, random_state=0, n_init=2, **params).fit(text)
    assert_allclose(model.inertia_, plain.inertia_, rtol=1e-9)


def test_kernels_of_float32_rows_far_from_the_origin():
    X = (np.random.default_rng(0).normal(size=(150, 10)) + 100).astype(np.float32)
    model = TransformedKMeans(3, kernel="linear", embedding="svd", random_state=0).fit(X)
    plain = TransformedKMeans(3, embedding="svd", random_state=0).fit(X)
    assert_allclose(model.inertia_, plain.inertia_, rtol=1e-6)


def test_sparse_float32_rows_fewer_than_features():
    X = sp.random_array((150, 200), density=0.05, rng=np.random.default_rng(0)).toarray() * 0.01
    X[:, 0] = 100 + np.random.default_rng(1).normal(size=150)
    X = sp.csr_array(X.astype(np.float32))
    model = TransformedKMeans(3, embedding=None, metric="euclidean", random_state=0).fit(X)
    assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.parametrize("scale", [1.0, 1e-10, 1e10])
def test_empty_clusters_are_filled_at_any_scale(scale):
    X, _ = make_blobs(200, centers=4, random_state=0)
    start = np.arange(200) % 3  # the fourth has nobody
    model = TransformedKMeans(4, init=start).fit(X * scale)
    assert len(np.unique(model.labels_)) == 4
    assert_array_equal(model.labels_, TransformedKMeans(4, init=start).fit(X).labels_)


def test_fewer_distinct_rows_than_clusters_end_early():
    X = np.repeat(np.array([[10.0, 0.0], [0.0, 20.0], [-15.0, 5.0]]), 1000, axis=0)
    with pytest.warns(match="distinct clusters"):
        model = TransformedKMeans(5, random_state=0, n_init=2).fit(X)
    assert model.n_iter_ < 10
    assert len(np.unique(model.labels_)) == 3


@pytest.mark.parametrize("seed", range(5))
def test_exchange_never_makes_it_worse(seed):
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(12, 20)), 10.0 ** rng.uniform(-12, 0, 12)
    params = {"embedding": None, "rho": 1e-9, "random_state": 0, "metric": "euclidean"}
    plain = TransformedKMeans(3, **params).fit(X, sample_weight=weights)
    refined = TransformedKMeans(3, refine="exchange", **params).fit(X, sample_weight=weights)
    assert refined.inertia_ <= plain.inertia_ * (1 + 1e-9)


def test_conjugate_gradients_far_from_the_origin():
    X, start = make_blobs(150, n_features=300, centers=3, cluster_std=8, random_state=0)
    X, params = X + 1e4, {"embedding": None, "metric": "euclidean", "init": start}
    exact = TransformedKMeans(3, solver="exact", **params).fit(X)
    fast = TransformedKMeans(3, solver="cg", **params).fit(X)
    assert_array_equal(fast.labels_, exact.labels_)
    assert_allclose(fast.rho_, exact.rho_, rtol=1e-6)
    assert_allclose(fast.cluster_centers_, exact.cluster_centers_, rtol=1e-9)
    for dtype in (np.float32, np.float64):
        model = TransformedKMeans(3, solver="cg", **params).fit(X.astype(dtype))
        assert_array_equal(model.predict(X.astype(dtype)), model.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_conjugate_gradients_on_equal_rows():
    X = np.tile(np.random.default_rng(0).normal(size=(1, 5)), (20, 1))
    model = TransformedKMeans(3, embedding=None, solver="cg", random_state=0).fit(X)
    assert_array_equal(model.predict(X), model.labels_)
    assert model.inertia_ == 0.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["cg", "exact"])
@pytest.mark.parametrize("seed", range(6))
def test_means_of_equal_rows_of_different_weights_are_equal_but_for_rounding(solver, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 5)).astype(np.float32)
    X[1:5] = X[1]
    weights = rng.uniform(0.2, 0.9, size=6)
    params = {"embedding": None, "solver": solver, "random_state": seed}
    for metric in ("cosine", "euclidean"):
        model = TransformedKMeans(6, metric=metric, **params).fit(X, sample_weight=weights)
        assert_array_equal(model.predict(X), model.labels_)


def test_rows_without_weight_may_lie_anywhere():
    X = np.random.default_rng(0).normal(size=(60, 3)) * 1e-5
    X[0] = 1e8
    weights = np.ones(60)
    weights[0] = 0.0
    params = {"rho": 1e-20, "embedding": None, "random_state": 0}
    with_it = TransformedKMeans(3, **params).fit(X, sample_weight=weights)
    without = TransformedKMeans(3, **params).fit(X[1:])
    assert_allclose(with_it.inertia_, without.inertia_, rtol=1e-6)
    assert_array_equal(with_it.predict(X), with_it.labels_)


def test_many_rows_and_a_kernel():
    X, _ = make_blobs(2100, centers=3, random_state=0)
    model = TransformedKMeans(3, kernel="rbf", random_state=0, n_init=2).fit(X)
    assert len(np.unique(model.labels_)) == 3
    indefinite = np.diag(np.r_[np.ones(2099), -0.5])
    with pytest.raises(ValueError, match="positive semidefinite"):
        TransformedKMeans(3, kernel="precomputed", embedding="svd").fit(indefinite)
    with pytest.warns(match="distinct clusters"):
        TransformedKMeans(2, kernel="rbf", embedding="svd", n_init=1).fit(np.ones((2100, 2)))


def test_what_cannot_be_combined():
    X = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(ValueError, match="mixed"):
        TransformedKMeans(2, embedding=None, solver="cg", init="mixed").fit(X)
    with pytest.raises(ValueError, match="metric"):
        TransformedKMeans(2, kernel="precomputed", metric="cosine").fit(X @ X.T)
    with pytest.raises(ValueError, match="square"):
        TransformedKMeans(2, kernel=lambda a, b: a.T @ b).fit(X)


def test_score_does_not_depend_on_the_output_wanted():
    X, _ = make_blobs(60, centers=3, random_state=0)
    model = TransformedKMeans(3, random_state=0).fit(X)
    value = model.score(X)
    assert model.set_output(transform="pandas").score(X) == value
    assert value < 0


def test_changing_the_parameters_of_a_kernel_later_changes_nothing():
    X, _ = make_blobs(60, centers=3, random_state=0)
    params = {"gamma": 0.1}
    model = TransformedKMeans(3, kernel="rbf", kernel_params=params, random_state=0).fit(X)
    before = model.transform(X)
    params["gamma"] = 5.0
    assert_array_equal(model.transform(X), before)
