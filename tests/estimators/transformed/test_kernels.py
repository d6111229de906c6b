"""TransformedKMeans in the space of a kernel: named, callable and precomputed ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.utils import get_tags

from polymeans import TransformedKMeans
from tests.oracles_transformed import (
    METRICS,
    descend,
    embed,
    embed_kernel,
    inertia_of,
    log_det,
    means_of,
    metric_distances,
    metric_of,
)

GAMMA = 0.05


@pytest.fixture(scope="module")
def rows():
    """Clusters that overlap a little, labels with errors to start from, and new rows."""
    X, y = make_blobs(120, 5, centers=3, cluster_std=2.5, random_state=1)
    start = np.where(np.random.default_rng(0).random(120) < 0.2, (y + 1) % 3, y)
    return X[:90], start[:90], X[90:]


def pairwise_distances(Z):
    return ((Z[:, None] - Z[None]) ** 2).sum(axis=2)


# --- the linear kernel is no kernel ---------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rho", ["auto", 5.0])
@pytest.mark.parametrize(
    ("embedding", "n_components"), [(None, "auto"), ("svd", "auto"), ("svd", 2)]
)
def test_linear_kernel_is_plain(rows, embedding, n_components, rho, weighted):
    X, start, new = rows
    weights = np.random.default_rng(1).random(90) + 0.1 if weighted else None
    model = TransformedKMeans(
        3, rho=rho, embedding=embedding, n_components=n_components, metric="euclidean", init=start
    )
    plain = clone(model).fit(X, sample_weight=weights)
    kernel = clone(model).set_params(kernel="linear").fit(X, sample_weight=weights)
    assert_array_equal(kernel.labels_, plain.labels_)
    for name in ("rho_", "inertia_", "objective_", "log_det_"):
        assert_allclose(getattr(kernel, name), getattr(plain, name), rtol=1e-8)
    assert_array_equal(kernel.predict(new), plain.predict(new))
    assert_allclose(
        pairwise_distances(kernel.transform(new)),
        pairwise_distances(plain.transform(new)),
        rtol=1e-6,
        atol=1e-9,
    )


def test_linear_kernel_is_plain_where_rows_are_fewer_than_features():
    rng = np.random.default_rng(0)
    X, new, start = rng.normal(size=(12, 30)), rng.normal(size=(9, 30)), np.arange(12) % 2
    model = TransformedKMeans(2, rho=3.0, embedding=None, metric="euclidean", init=start)
    plain = clone(model).fit(X)
    kernel = clone(model).set_params(kernel="linear").fit(X)
    assert_array_equal(kernel.labels_, plain.labels_)
    assert_allclose(kernel.inertia_, plain.inertia_, rtol=1e-9)
    assert_array_equal(kernel.predict(new), plain.predict(new))


@pytest.mark.parametrize("embedding", [None, "svd", "auto"])
def test_precomputed_products_are_the_linear_kernel(rows, embedding):
    X, start, new = rows
    model = TransformedKMeans(3, embedding=embedding, kernel="linear", init=start)
    linear = clone(model).fit(X)
    given = clone(model).set_params(kernel="precomputed").fit(X @ X.T)
    assert_array_equal(given.labels_, linear.labels_)
    assert_allclose(given.objective_, linear.objective_, rtol=1e-8)
    assert_array_equal(given.predict(new @ X.T), linear.predict(new))
    assert_array_equal(given.predict(X @ X.T), given.labels_)
    assert given.n_features_in_ == 90
    assert get_tags(given).input_tags.pairwise
    assert not get_tags(linear).input_tags.pairwise
    with pytest.raises(ValueError, match="features"):
        given.predict(new @ X[:50].T)


# --- other kernels --------------------------------------------------------------------------------


@pytest.mark.parametrize("embedding", [None, "svd"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rbf_kernel_has_the_objective_of_its_space(rows, embedding, weighted):
    X, start, _ = rows
    weights = np.random.default_rng(1).random(90) + 0.1 if weighted else None
    params = {"kernel": "rbf", "kernel_params": {"gamma": GAMMA}}
    model = TransformedKMeans(3, embedding=embedding, init=start, **params)
    model.fit(X, sample_weight=weights)
    r = None if embedding is None else 6
    Y = embed_kernel(rbf_kernel(X, gamma=GAMMA), r, weights)
    assert_allclose(model.inertia_, inertia_of(Y, model.labels_, model.rho_, weights), rtol=1e-7)
    total = float((Y**2).sum() if weights is None else (weights[:, None] * Y**2).sum())
    expected = total / 90 if embedding is None else 0.1 * total / 6
    assert model.rho_ == pytest.approx(expected if not weighted or r else model.rho_)
    assert_array_equal(model.labels_, descend(Y, start, 3, model.rho_, weights))
    assert model.embedding_ == embedding
    if embedding == "svd":
        assert model.n_components_ == 6
        assert_allclose(model.log_det_, log_det(Y, model.labels_, model.rho_, weights), rtol=1e-8)


def test_kernel_space_has_the_learned_metric(rows):
    X, start, _ = rows
    model = TransformedKMeans(
        3, rho=0.5, embedding=None, init=start, kernel="rbf", kernel_params={"gamma": GAMMA}
    ).fit(X)
    Y = embed_kernel(rbf_kernel(X, gamma=GAMMA))
    B = metric_of(Y, model.labels_, 0.5)
    expected = 0.25 * metric_distances(Y[:20], Y[:20], B)
    assert_allclose(pairwise_distances(model.transform(X[:20])), expected, atol=1e-6)
    centers = means_of(Y, model.labels_, 3)
    distances = 0.25 * metric_distances(Y, centers, B)
    Z = model.transform(X)
    found = ((Z[:, None] - model.centroids_in_space_[None]) ** 2).sum(axis=2)
    assert_allclose(found, distances, atol=1e-6)
    assert_array_equal(found.argmin(axis=1), model.labels_)


@pytest.mark.parametrize("embedding", [None, "svd"])
def test_named_callable_and_precomputed_kernels_agree(rows, embedding):
    X, start, new = rows
    model = TransformedKMeans(3, embedding=embedding, init=start)
    params = {"gamma": GAMMA}
    named = clone(model).set_params(kernel="rbf", kernel_params=params).fit(X)
    called = clone(model).set_params(kernel=rbf_kernel, kernel_params=params).fit(X)
    closed = clone(model).set_params(kernel=lambda X, Y: rbf_kernel(X, Y, gamma=GAMMA)).fit(X)
    given = clone(model).set_params(kernel="precomputed").fit(rbf_kernel(X, gamma=GAMMA))
    for other in (called, closed, given):
        assert_array_equal(other.labels_, named.labels_)
        assert_allclose(other.objective_, named.objective_, rtol=1e-9)
    expected = named.predict(new)
    assert_array_equal(called.predict(new), expected)
    assert_array_equal(closed.predict(new), expected)
    assert_array_equal(given.predict(rbf_kernel(new, X, gamma=GAMMA)), expected)
    assert_array_equal(named.predict(X), named.labels_)


@pytest.mark.parametrize(
    ("kernel", "params"),
    [("rbf", None), ("cosine", None), ("poly", {"degree": 2}), ("laplacian", {"gamma": 0.1})],
)
@pytest.mark.parametrize("embedding", [None, "svd"])
def test_kernels_of_scikit_learn(rows, kernel, params, embedding):
    X, start, new = rows
    model = TransformedKMeans(
        3, embedding=embedding, kernel=kernel, kernel_params=params, init=start
    ).fit(X)
    Y = embed_kernel(pairwise_kernels(X, metric=kernel, **(params or {})), 6 if embedding else None)
    assert_allclose(model.inertia_, inertia_of(Y, model.labels_, model.rho_), rtol=1e-6)
    assert_array_equal(model.predict(X), model.labels_)
    assert np.isfinite(model.transform(new)).all()
    assert model.cluster_centers_ is None


@pytest.mark.parametrize("kernel", ["linear", None])
@pytest.mark.parametrize("spherical", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_cut_of_the_linear_kernel_is_the_plain_cut(rows, weighted, kernel, spherical):
    X, start, new = np.abs(rows[0]), rows[1], np.abs(rows[2])
    weights = np.random.default_rng(1).random(90) + 0.1 if weighted else None
    Y = embed(X, "cut", spherical, 5, weights)
    model = TransformedKMeans(
        3, embedding="cut", n_components=5, metric=METRICS[spherical], init=start, kernel=kernel
    ).fit(X, sample_weight=weights)
    assert_allclose(model.inertia_, inertia_of(Y, model.labels_, model.rho_, weights))
    assert_array_equal(model.labels_, descend(Y, start, 3, model.rho_, weights))
    found = metric_distances(
        embed(X, "cut", spherical, 5, weights, new),
        means_of(Y, model.labels_, 3, weights),
        metric_of(Y, model.labels_, model.rho_, weights),
    )
    assert_array_equal(model.predict(new), found.argmin(axis=1))


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_kernels_of_sparse_rows(rows, container):
    X = np.where(np.abs(rows[0]) > 2, rows[0], 0.0)
    for params in ({"kernel": "linear"}, {"kernel": "rbf", "kernel_params": {"gamma": GAMMA}}):
        model = TransformedKMeans(3, init=rows[1], **params)
        dense = clone(model).fit(X)
        sparse = clone(model).fit(container(X))
        assert_array_equal(sparse.labels_, dense.labels_)
        assert_allclose(sparse.objective_, dense.objective_, rtol=1e-9)
        assert_array_equal(sparse.predict(container(X)), dense.labels_)
        assert_array_equal(sparse.predict(X), dense.labels_)


def test_weights_count_like_repeated_rows(rows):
    X, start, _ = rows
    weights = np.random.default_rng(0).integers(0, 3, 90)
    for embedding in (None, "svd"):
        model = TransformedKMeans(3, rho=0.5, embedding=embedding, kernel="rbf", init=start)
        weighted = clone(model).fit(X, sample_weight=weights)
        repeated = clone(model).set_params(init=np.repeat(start, weights))
        repeated.fit(np.repeat(X, weights, axis=0))
        assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-8)
        assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
        assert_array_equal(weighted.predict(X), weighted.labels_)


def test_a_kernel_sees_rings():
    X, rings = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    model = TransformedKMeans(2, kernel="rbf", kernel_params={"gamma": 5.0}, random_state=0).fit(X)
    assert adjusted_rand_score(rings, model.labels_) > 0.95
    plain = TransformedKMeans(2, random_state=0).fit(X)
    assert adjusted_rand_score(rings, plain.labels_) < 0.1


def test_exchange_helps_kernels_too(rows):
    X, start, _ = rows
    model = TransformedKMeans(3, rho=0.05, kernel="rbf", embedding=None, init=start)
    plain = clone(model).fit(X)
    refined = clone(model).set_params(refine="exchange").fit(X)
    assert refined.log_det_ <= plain.log_det_ + 1e-9
    Y = embed_kernel(rbf_kernel(X))
    assert_allclose(refined.inertia_, inertia_of(Y, refined.labels_, 0.05), rtol=1e-6)


# --- refused --------------------------------------------------------------------------------------


def bad_kernels():
    G = np.eye(6) + 0.1
    unlike = G.copy()
    unlike[0, 1] += 0.5
    indefinite = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    return [(G[:, :4], "square"), (unlike, "symmetric"), (indefinite, "positive|negative")]


@pytest.mark.parametrize("embedding", [None, "svd"])
@pytest.mark.parametrize(("G", "match"), bad_kernels(), ids=["wide", "unlike", "indefinite"])
def test_matrices_that_are_no_kernel_are_refused(G, match, embedding):
    model = TransformedKMeans(2, kernel="precomputed", embedding=embedding, random_state=0)
    with pytest.raises(ValueError, match=match) as caught:
        model.fit(G)
    assert "kernel" in str(caught.value)


@pytest.mark.parametrize("kernel", ["gaussian", "", 3, ["rbf"]])
def test_unknown_kernels_are_refused(rows, kernel):
    with pytest.raises((ValueError, TypeError), match="kernel"):
        TransformedKMeans(3, kernel=kernel).fit(rows[0])


@pytest.mark.parametrize("params", [{"kernel_params": 3}, {"kernel_params": {"nonsense": 1}}])
def test_wrong_kernel_params_are_refused(rows, params):
    with pytest.raises((ValueError, TypeError), match=r"kernel_params|nonsense"):
        TransformedKMeans(3, kernel="rbf", **params).fit(rows[0])


@pytest.mark.parametrize(
    "kernel",
    [lambda X, Y: np.ones((len(X), 3)), lambda X, Y: np.full((len(X), len(Y)), np.nan)],
    ids=["shape", "nan"],
)
def test_callables_that_return_nonsense_are_refused(rows, kernel):
    with pytest.raises(ValueError, match=r"kernel|NaN"):
        TransformedKMeans(3, kernel=kernel).fit(rows[0])


def test_what_kernels_cannot_have_is_refused_by_name(rows):
    with pytest.raises(ValueError, match=r"embedding.*negative"):
        TransformedKMeans(3, kernel="linear", embedding="cut").fit(rows[0])
    with pytest.raises(ValueError, match="solver"):
        TransformedKMeans(3, kernel="rbf", embedding=None, solver="cg").fit(rows[0])


def test_precomputed_values_cannot_be_brought_to_length_one(rows):
    with pytest.raises(ValueError, match=r'metric="cosine".*diagonal'):
        TransformedKMeans(3, kernel="precomputed", metric="cosine").fit(rows[0] @ rows[0].T)


def check_identical_rows(**params):
    for seed in range(20):
        X = np.tile(np.random.default_rng(seed).normal(size=(1, 9)), (7, 1))
        X = sp.csr_array(X) if params["kernel"] is None else X
        model = TransformedKMeans(2, random_state=0, **params).fit(X)
        assert_array_equal(model.labels_, model.labels_[0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_identical_rows_are_no_bad_kernel(kernel):
    check_identical_rows(kernel=kernel, embedding="auto")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("kernel", "embedding"),
    [("linear", "svd"), ("linear", None), ("rbf", "svd"), ("rbf", None), (None, None)],
)
def test_identical_rows_are_no_bad_kernel_once_centered(kernel, embedding):
    check_identical_rows(kernel=kernel, embedding=embedding, metric="euclidean")


def test_a_kernel_without_spread_works():
    G = np.ones((8, 8))
    with pytest.warns(match="distinct clusters"):
        model = TransformedKMeans(2, kernel="precomputed", random_state=0).fit(G)
    for name in ("objective_", "log_det_", "inertia_", "rho_"):
        assert np.isfinite(getattr(model, name))
    assert np.isfinite(model.transform(G)).all()
