"""Spaces TransformedKMeans works in: embeddings, ways to compute them, dense and sparse rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from polymeans import TransformedKMeans
from polymeans.datasets import make_documents
from tests.oracles import mean_of, scatter_within
from tests.oracles_transformed import (
    METRICS,
    as_dense,
    closed_form,
    descend,
    directions,
    embed,
    inertia_of,
    log_det,
    means_of,
    metric_distances,
    metric_of,
    unit,
)

#: Ways to be asked for: sparse documents, and dense rows with negative entries.
TEXT = [
    ("cut", True),
    ("svd", True),
    ("svd", False),
    (None, True),
    (None, False),
]


@pytest.fixture(scope="module")
def text():
    """Documents of four topics, labels with errors to start from."""
    X, topics = make_documents(150, 400, n_topics=4, length=30, overlap=0.3, random_state=0)
    wrong = np.random.default_rng(0).random(150) < 0.15
    return X, np.where(wrong, (topics + 1) % 4, topics)


@pytest.fixture(scope="module")
def dense():
    """Rows of four clusters that share a covariance, labels with errors to start from."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 200)
    noise = rng.normal(size=(200, 12)) @ rng.normal(size=(12, 12))
    wrong = rng.random(200) < 0.15
    X = 3 * rng.normal(size=(4, 12))[labels] + noise + 5.0
    return X, np.where(wrong, (labels + 1) % 4, labels)


def space_of(model, X, weights=None, rows=None):
    """Coordinates the model works in, found directly."""
    kind = model.embedding_
    return embed(
        X, kind, model.metric_ == "cosine", model.n_components_ if kind else None, weights, rows
    )


# --- embeddings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rho", ["auto", 2.0])
@pytest.mark.parametrize(("embedding", "spherical"), [*TEXT, ("cut", False)])
def test_documents_are_clustered_in_the_space_asked_for(text, embedding, spherical, rho, weighted):
    X, start = text
    weights = np.random.default_rng(0).random(150) + 0.1 if weighted else None
    model = TransformedKMeans(
        4, rho=rho, embedding=embedding, metric=METRICS[spherical], init=start
    )
    model.fit(X, sample_weight=weights)
    check_space(model, X, start, weights)
    if rho == "auto":
        check_rho(model, X, weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spherical", [True, False])
@pytest.mark.parametrize(("embedding", "r"), [("svd", "auto"), ("svd", 3), (None, "auto")])
def test_dense_rows_are_clustered_in_the_space_asked_for(dense, embedding, r, spherical, weighted):
    X, start = dense
    weights = np.random.default_rng(0).random(200) + 0.1 if weighted else None
    model = TransformedKMeans(
        4, embedding=embedding, n_components=r, metric=METRICS[spherical], init=start
    ).fit(X, sample_weight=weights)
    check_space(model, X, start, weights)
    check_rho(model, X, weights)


def check_space(model, X, start, weights):
    """Labels, values, predictions and distances are those of the space found directly."""
    k = model.n_clusters
    Y = space_of(model, X, weights)
    labels, rho = model.labels_, model.rho_
    # As they are, rows may be fewer than features.
    r = model.n_components_
    assert r == Y.shape[1] if model.embedding_ else r in {Y.shape[1], len(Y), len(Y) - 1}
    assert_array_equal(labels, descend(Y, start, k, rho, weights))
    assert_allclose(model.inertia_, inertia_of(Y, labels, rho, weights), rtol=1e-8)
    assert_allclose(model.log_det_, log_det(Y, labels, rho, weights), rtol=1e-8, atol=1e-8)
    W = scatter_within(Y, labels, weights)
    assert_allclose(model.objective_, closed_form(W, model.lam_, model.mu_), rtol=1e-8)
    rows = unit(X) if model.metric_ == "cosine" else as_dense(X)
    assert_allclose(model.cluster_centers_, means_of(rows, labels, k, weights), atol=1e-10)
    assert_array_equal(model.predict(X), labels)

    new = as_dense(X)[:30][:, ::-1]
    Y_new = space_of(model, X, weights, new)
    B, centers = metric_of(Y, labels, rho, weights), means_of(Y, labels, k, weights)
    expected = rho / 2 * metric_distances(Y_new, centers, B)
    found = ((model.transform(new)[:, None] - model.centroids_in_space_[None]) ** 2).sum(axis=2)
    if r < Y.shape[1]:  # what no row of the fit has is as far from every center
        expected -= expected.min(axis=1, keepdims=True)
        found -= found.min(axis=1, keepdims=True)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert_array_equal(model.predict(new), found.argmin(axis=1))


def check_rho(model, X, weights):
    """A tenth of the mean scatter of a coordinate; without an embedding, the mean of a row."""
    Y = space_of(model, X, weights)
    total = np.trace(scatter_within(Y, np.zeros(len(Y)), weights))
    if model.embedding_ is not None:
        assert model.rho_ == pytest.approx(0.1 * total / model.n_components_)
    elif weights is None:
        assert model.rho_ == pytest.approx(total / len(Y))


@pytest.mark.parametrize("container", [as_dense, sp.csr_array])
def test_auto_looks_at_the_rows(text, dense, container):
    X, _ = text
    model = TransformedKMeans(4, random_state=0).fit(container(X))
    assert model.metric_ == "cosine"
    assert model.embedding_ == "cut"
    assert model.n_components_ == 8
    signed = container(as_dense(X) * np.where(np.arange(400) % 2, 1.0, -1.0))
    model = TransformedKMeans(4, random_state=0).fit(signed)
    assert model.metric_ == "euclidean"
    assert model.embedding_ == "svd"
    full = TransformedKMeans(4, random_state=0).fit(container(np.abs(dense[0])))
    assert full.metric_ == "euclidean"
    assert full.embedding_ == "white"
    assert full.n_components_ == 12
    many = TransformedKMeans(30, n_init=1, random_state=0).fit(container(np.abs(dense[0])))
    assert many.embedding_ == "svd"
    assert many.n_components_ == 12
    whole = TransformedKMeans(4, embedding=None, random_state=0).fit(container(dense[0]))
    assert whole.embedding_ is None
    assert whole.n_components_ == 12
    assert whole.discarded_ == 0


@pytest.mark.parametrize(("share", "spherical"), [(0.1, True), (0.11, False)])
def test_auto_is_spherical_up_to_a_tenth_of_entries(share, spherical):
    X = np.zeros((40, 100))
    X.flat[np.random.default_rng(0).permutation(4000)[: round(4000 * share)]] = 1.0
    for rows in (X, sp.csr_array(X)):
        assert TransformedKMeans(3, random_state=0).fit(rows).metric_ == METRICS[spherical]


def test_stored_zeros_count_as_zeros(text):
    X, start = text
    extra = sp.csr_array(X + sp.random_array(X.shape, density=0.2, rng=0))
    stored = extra.tocoo()
    extra.data[:] = as_dense(X)[stored.row, stored.col]
    assert extra.nnz > 0.1 * 150 * 400
    one = TransformedKMeans(4, init=start).fit(X)
    other = TransformedKMeans(4, init=start).fit(extra)
    assert other.metric_ == "cosine"
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.objective_, other.objective_, rtol=1e-9)


def test_discarded_is_the_share_outside_of_the_components(dense, text):
    X, _ = dense
    model = TransformedKMeans(4, embedding="svd", n_components=3, metric="euclidean").fit(X)
    values = np.linalg.eigvalsh(np.cov(X.T))
    assert model.discarded_ == pytest.approx(values[:-3].sum() / values.sum())
    full = clone(model).set_params(n_components=12).fit(X)
    assert full.discarded_ == pytest.approx(0.0, abs=1e-12)
    rows = unit(text[0])
    degrees = rows @ rows.sum(axis=0)
    for kind, scale in (("cut", 1 / np.sqrt(degrees)), ("svd", np.ones(150))):
        model = TransformedKMeans(4, embedding=kind, metric="cosine", random_state=0).fit(text[0])
        scaled = scale[:, None] * rows
        kept = ((scaled @ directions(rows, kind, True, 8)) ** 2).sum() / (scaled**2).sum()
        assert model.discarded_ == pytest.approx(1 - kept)


def test_without_an_embedding_components_are_those_of_pca(dense):
    X, start = dense
    params = {"rho": 40.0, "n_components": 3, "metric": "euclidean", "init": start}
    one = TransformedKMeans(4, embedding=None, **params).fit(X)
    other = TransformedKMeans(4, embedding="svd", **params).fit(X)
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.inertia_, other.inertia_, rtol=1e-9)
    assert one.n_components_ == 3
    assert one.discarded_ == pytest.approx(other.discarded_)


def test_spherical_rows_have_no_length(text):
    X, start = text
    lengths = np.random.default_rng(0).random(150) * 100 + 0.01
    for embedding in ("cut", "svd", None):
        model = TransformedKMeans(4, embedding=embedding, metric="cosine", init=start)
        one = clone(model).fit(X)
        other = clone(model).fit(sp.csr_array(sp.diags(lengths) @ X))
        assert_array_equal(one.labels_, other.labels_)
        assert_allclose(one.objective_, other.objective_, rtol=1e-9)
        assert_array_equal(one.predict(sp.csr_array(X * 1e-5)), one.labels_)


@pytest.mark.parametrize("embedding", ["svd", None])
def test_components_are_the_transform(dense, embedding):
    X, start = dense
    model = TransformedKMeans(4, embedding=embedding, metric="euclidean", init=start).fit(X)
    assert model.components_.shape == (model.n_components_, 12)
    expected = (X - X.mean(axis=0)) @ model.components_.T
    assert_allclose(model.transform(X), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("embedding", ["cut", "svd", None])
def test_components_of_documents_are_the_transform_of_their_space(text, embedding):
    X, start = text
    for rows in (X, X.toarray()):
        model = TransformedKMeans(4, embedding=embedding, metric="cosine", init=start).fit(rows)
        Z, T = model.transform(rows), model.components_
        Y = embed(X, embedding, True, 8) if embedding else unit(X) - unit(X).mean(axis=0)
        assert T.shape == (model.n_components_, Y.shape[1])
        size = (T @ T.T, metric_of(Y, model.labels_, model.rho_))
        expected = model.rho_ / 2 * np.linalg.inv(size[1])
        if embedding:
            assert_allclose(np.trace(T.T @ T), np.trace(expected), rtol=1e-8)
        else:
            assert_allclose(Z, Y @ T.T, atol=1e-9)


# --- dense and sparse rows ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize(("embedding", "spherical"), TEXT)
def test_sparse_equals_dense(text, embedding, spherical, container, dtype):
    X, start = text
    X = X.astype(dtype)
    model = TransformedKMeans(4, embedding=embedding, metric=METRICS[spherical], init=start)
    one = clone(model).fit(X.toarray())
    other = clone(model).fit(container(X))
    assert_array_equal(other.labels_, one.labels_)
    rtol = 1e-4 if dtype == np.float32 else 1e-9
    for name in ("rho_", "objective_", "log_det_", "inertia_"):
        assert_allclose(getattr(other, name), getattr(one, name), rtol=rtol)
    assert_array_equal(other.predict(X.toarray()), one.labels_)
    assert_array_equal(one.predict(container(X)), one.labels_)
    assert one.cluster_centers_.dtype == other.cluster_centers_.dtype == dtype
    assert other.labels_.dtype == np.int32


@pytest.mark.parametrize(("embedding", "spherical"), TEXT[:3])
def test_sparse_equals_dense_from_random_starts(embedding, spherical):
    X, _ = make_documents(200, 400, n_topics=4, length=60, overlap=0.1, random_state=1)
    model = TransformedKMeans(4, embedding=embedding, metric=METRICS[spherical], random_state=0)
    one = clone(model).fit(X.toarray())
    other = clone(model).fit(X)
    assert adjusted_rand_score(one.labels_, other.labels_) == 1.0
    assert_allclose(one.objective_, other.objective_, rtol=1e-9)


@pytest.mark.parametrize("embedding", ["cut", "svd", None])
def test_indices_may_have_64_bits_and_any_order(text, embedding):
    X, start = text
    model = TransformedKMeans(4, embedding=embedding, init=start)
    plain = clone(model).fit(X)
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    mixed = X.copy()
    for lo, hi in zip(X.indptr[:-1], X.indptr[1:]):
        mixed.indices[lo:hi] = mixed.indices[lo:hi][::-1]
        mixed.data[lo:hi] = mixed.data[lo:hi][::-1]
    mixed.has_sorted_indices = False
    for rows in (wide, mixed):
        other = clone(model).fit(rows)
        assert_array_equal(other.labels_, plain.labels_)
        assert_allclose(other.objective_, plain.objective_, rtol=1e-12)


# --- solvers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [as_dense, sp.csr_array])
@pytest.mark.parametrize(("embedding", "spherical"), [("cut", True), ("svd", True), ("svd", False)])
def test_solvers_agree(embedding, spherical, container):
    X, topics = make_documents(200, 300, n_topics=4, length=80, overlap=0.1, random_state=1)
    X = container(X)
    model = TransformedKMeans(
        4,
        embedding=embedding,
        metric=METRICS[spherical],
        n_components=4,
        init=topics,
        random_state=0,
    )
    exact = clone(model).set_params(solver="exact").fit(X)
    for solver, rtol in (("lanczos", 1e-7), ("randomized", 1e-2), ("auto", 1e-7)):
        other = clone(model).set_params(solver=solver).fit(X)
        assert_array_equal(other.labels_, exact.labels_)
        for name in ("rho_", "objective_", "inertia_"):
            assert_allclose(getattr(other, name), getattr(exact, name), rtol=rtol)
        assert_array_equal(other.predict(X), other.labels_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spherical", [True, False])
@pytest.mark.parametrize("rho", ["auto", 5.0])
def test_conjugate_gradients_find_what_is_found_exactly(text, rho, spherical, weighted):
    X, start = text
    weights = np.random.default_rng(0).random(150) + 0.1 if weighted else None
    model = TransformedKMeans(4, rho=rho, embedding=None, metric=METRICS[spherical], init=start)
    exact = clone(model).set_params(solver="exact").fit(X, sample_weight=weights)
    fast = clone(model).set_params(solver="cg").fit(X, sample_weight=weights)
    assert_array_equal(fast.labels_, exact.labels_)
    assert fast.rho_ == pytest.approx(exact.rho_)
    # Values are above the exact ones, by what does not depend on the labels.
    other = clone(exact).set_params(init=np.arange(150) % 4).fit(X, sample_weight=weights)
    fast_other = clone(fast).set_params(init=other.labels_).fit(X, sample_weight=weights)
    assert_array_equal(fast_other.labels_, other.labels_)
    assert abs(exact.log_det_ - other.log_det_) > 1e-3
    for name in ("objective_", "log_det_", "inertia_"):
        above = getattr(fast, name) - getattr(exact, name)
        assert above > 0
        assert getattr(fast_other, name) - getattr(other, name) == pytest.approx(above, rel=1e-4)
    assert_array_equal(fast.predict(X), fast.labels_)
    new, _ = make_documents(50, 400, n_topics=4, length=30, overlap=0.3, random_state=9)
    assert_array_equal(fast.predict(new), exact.predict(new))


@pytest.mark.parametrize("offset", [-5.0, 100.0])
def test_conjugate_gradients_take_dense_rows(dense, offset):
    X, start = dense
    model = TransformedKMeans(4, embedding=None, metric="euclidean", init=start)
    exact = clone(model).set_params(solver="exact").fit(X + offset)
    fast = clone(model).set_params(solver="cg").fit(X + offset)
    assert_array_equal(fast.labels_, exact.labels_)
    assert_allclose(fast.rho_, exact.rho_, rtol=1e-9)
    assert exact.inertia_ <= fast.inertia_ * (1 + 1e-9)


def test_conjugate_gradients_have_no_directions(text):
    X, start = text
    model = TransformedKMeans(4, embedding=None, solver="cg", init=start).fit(X)
    assert model.centroids_in_space_ is None
    with pytest.raises(NotImplementedError, match="cg"):
        model.transform(X)
    with pytest.raises(AttributeError, match="cg"):
        _ = model.components_


@pytest.mark.parametrize("spherical", [True, False])
def test_the_container_does_not_decide_the_number_of_components(text, spherical):
    X, start = text
    model = TransformedKMeans(4, embedding=None, metric=METRICS[spherical], init=start)
    one, other = clone(model).fit(X), clone(model).fit(X.toarray())
    assert one.n_components_ == other.n_components_


def test_rows_that_are_fewer_than_features_are_solved_exactly(text):
    X, start = text
    model = TransformedKMeans(4, embedding=None, init=start).fit(X)
    assert model.discarded_ == pytest.approx(0.0, abs=1e-10)
    Y = unit(X) - mean_of(unit(X))
    assert_allclose(model.log_det_, log_det(Y, model.labels_, model.rho_), rtol=1e-9)
