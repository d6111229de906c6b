"""Whitened rows of NonRedundantKMeans: coordinates, cost, labels and centers."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from polymeans import NonRedundantKMeans
from tests.estimators.nonredundant.checks import (
    KINDS,
    of_kind,
    same_bits,
    spaces_of,
    whitened,
    whitened_cost,
)
from tests.oracles import best_pair, mean_of, nearest, scatter_between


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("sizes", "n_axes"), [((3, 4), 6), ((2, 3, 3), 9), ((3, 3), 2), (4, 3)])
def test_inertia_is_the_sum_in_whitened_coordinates(blobs, sizes, n_axes, weighted, kind):
    X = of_kind(np.where(blobs[:200] > 0, blobs[:200], 0.0), kind)
    weights = np.random.default_rng(0).integers(0, 4, 200).astype(float) if weighted else None
    model = NonRedundantKMeans(sizes, whiten=n_axes, effort=0.1, random_state=0)
    model.fit(X, sample_weight=weights)
    rtol = 1e-4 if kind == "float32" else 1e-9
    assert 0 in (model.history_["n_moved"][-1], model.history_["shift"][-1])
    assert_allclose(model.inertia_, whitened_cost(model, X, weights), rtol=rtol)
    assert_allclose(model.inertia_, -model.score(X, sample_weight=weights), rtol=rtol)
    total = n_axes * (200 if weights is None else weights.sum())
    left = total * (1 - model.explained_variance_ratio_.sum())
    assert_allclose(model.inertia_, left, rtol=rtol)


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_axes", [2, 5, 12])
def test_whitened_rows_have_the_identity_as_covariance(blobs, n_axes, weighted, kind):
    X = blobs[:300] * np.linspace(1, 20, 12) + 3.0
    weights = np.random.default_rng(0).random(300) if weighted else np.ones(300)
    model = NonRedundantKMeans((2, 3), whiten=n_axes, effort=0.05, random_state=0)
    model.fit(of_kind(X, kind), sample_weight=weights)
    assert model.whitening_.shape == (12, n_axes)
    assert model.rotation_.shape == (n_axes, sum(model.n_dims_))
    assert_allclose(model.rotation_.T @ model.rotation_, np.eye(sum(model.n_dims_)), atol=1e-10)
    atol = 1e-5 if kind == "float32" else 1e-9
    assert_allclose(model.mean_, mean_of(X, weights), rtol=1e-5 if kind == "float32" else 1e-12)
    Z = whitened(model, X)
    assert_allclose(mean_of(Z, weights), 0.0, atol=atol)
    assert_allclose((weights[:, None] * Z).T @ Z / weights.sum(), np.eye(n_axes), atol=atol)
    # Directions are orthogonal among features too, and only their lengths differ.
    among = model.whitening_ / np.linalg.norm(model.whitening_, axis=0)
    assert_allclose(among.T @ among, np.eye(n_axes), atol=1e-9)


@KINDS
@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 3), 4])
def test_labels_are_those_of_the_nearest_center_in_whitened_coordinates(blobs, sizes, kind):
    X = of_kind(blobs[:300], kind)
    model = NonRedundantKMeans(sizes, whiten=6, effort=0.1, random_state=0).fit(X)
    assert_array_equal(model.predict_views(X), model.labels_per_view_)
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(model.labels_, model.labels_per_view_[:, model.main_view_])
    for s, centers in enumerate(model.centroids_per_view_):
        found = nearest(whitened(model, X), whitened(model, centers))
        assert_array_equal(found, model.labels_per_view_[:, s])
    assert_array_equal(model.cluster_centers_, model.centroids_per_view_[model.main_view_])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 3), 4])
def test_centers_are_those_of_whitened_rows_among_features(blobs, sizes, weighted):
    X = blobs[:300]
    weights = np.random.default_rng(0).random(300) if weighted else np.ones(300)
    model = NonRedundantKMeans(sizes, whiten=6, effort=0.1, random_state=0)
    model.fit(X, sample_weight=weights)
    assert model.history_["n_moved"][-1] == 0
    Z, W = whitened(model, X), model.whitening_
    axes = np.linalg.qr(W)[0]
    for s, V in enumerate(spaces_of(model)):
        assert model.centroids_per_view_[s].shape == (model.n_clusters_[s], X.shape[1])
        for c, center in enumerate(model.centroids_per_view_[s]):
            mine = model.labels_per_view_[:, s] == c
            expected = V @ (V.T @ mean_of(Z[mine], weights[mine]))
            assert_allclose((center - model.mean_) @ W, expected, atol=1e-9)
            # Nothing outside of the components has been added.
            inside = axes @ (axes.T @ (center - model.mean_))
            assert_allclose(inside, center - model.mean_, atol=1e-9)


@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 3)])
def test_whitened_subspaces_are_the_best_for_the_labels(blobs, sizes):
    X = blobs[:300]
    model = NonRedundantKMeans(sizes, whiten=8, effort=0.1, random_state=0).fit(X)
    Z, spaces = whitened(model, X), spaces_of(model)
    B = [scatter_between(Z, digit) for digit in model.labels_per_view_.T]
    found = [np.trace(V.T @ b @ V) for V, b in zip(spaces, B)]
    assert_allclose(model.explained_variance_ratio_, np.array(found) / (8 * 300), rtol=1e-9)
    for s, t in itertools.combinations(range(len(sizes)), 2):
        rest = [V for u, V in enumerate(spaces) if u not in (s, t)]
        best = best_pair(B[t] - B[s], np.concatenate([np.zeros((8, 0)), *rest], axis=1))
        value = sum(np.trace(V.T @ B[u] @ V) for u, V in zip((s, t), best))
        assert found[s] + found[t] >= value * (1 - 1e-6)


@KINDS
@pytest.mark.parametrize("noise_space", [True, False])
def test_transform_whitens_and_rotates(easy, noise_space, kind):
    X = easy[0] + 2.0
    rows = of_kind(X, kind)
    model = NonRedundantKMeans(
        (3, 4), whiten=7, noise_space=noise_space, effort=0.1, random_state=0
    ).fit(rows)
    coordinates = model.transform(rows)
    expected = whitened(model, X) @ model.rotation_
    assert isinstance(coordinates, np.ndarray)
    assert coordinates.dtype == rows.dtype
    atol = 1e-4 if kind == "float32" else 1e-9
    assert_allclose(coordinates, expected, atol=atol)
    assert_allclose(coordinates.T @ coordinates / 300, np.eye(sum(model.n_dims_)), atol=atol)
    first = model.n_dims_[0]
    assert_array_equal(model.transform_view(rows, 0), coordinates[:, :first])
    assert_array_equal(model.transform_view(rows, -1), coordinates[:, first:])
    assert_array_equal(clone(model).fit_transform(rows), coordinates)
    if not noise_space:
        assert model.rotation_.shape == (7, 7)
        lengths = (whitened(model, X) ** 2).sum(axis=1)
        assert_allclose((coordinates**2).sum(axis=1), lengths, atol=100 * atol)
    frame = model.set_output(transform="pandas").transform(rows)
    assert list(frame.columns) == list(model.get_feature_names_out())


def test_float32_stays_float32_when_whitened(easy):
    for rows in (easy[0].astype(np.float32), sp.csr_array(easy[0].astype(np.float32))):
        model = NonRedundantKMeans((3, 4), whiten=5, effort=0.1, random_state=0).fit(rows)
        assert model.mean_.dtype == np.float32
        assert all(centers.dtype == np.float32 for centers in model.centroids_per_view_)
        assert model.transform(rows).dtype == np.float32
        assert model.rotation_.dtype == model.whitening_.dtype == np.float64
        assert_array_equal(model.predict_views(rows), model.labels_per_view_)
        wide = NonRedundantKMeans((3, 4), whiten=5, init=easy[1]).fit(easy[0])
        narrow = clone(wide).fit(easy[0].astype(np.float32))
        assert_allclose(narrow.inertia_, wide.inertia_, rtol=1e-4)


@pytest.mark.parametrize(("sizes", "n_axes"), [((3, 4), 6), ((2, 2), 3), (4, 4), ((3, 4, 5), 10)])
def test_whitening_alone_takes_as_many_components_as_the_search_looks_at(easy, sizes, n_axes):
    X, _ = easy
    model = NonRedundantKMeans(sizes, whiten=True, effort=0.1, random_state=0).fit(X)
    assert model.whitening_.shape == (X.shape[1], n_axes)
    for whiten in (n_axes, np.int64(n_axes)):
        counted = clone(model).set_params(whiten=whiten).fit(X)
        same_bits(counted, model)
        assert_array_equal(counted.whitening_, model.whitening_)


@pytest.mark.parametrize("whiten", [np.True_, np.False_])
def test_answers_of_numpy_are_answers(easy, whiten):
    X, _ = easy
    model = NonRedundantKMeans((3, 4), whiten=bool(whiten), effort=0.1, random_state=0).fit(X)
    same_bits(clone(model).set_params(whiten=whiten).fit(X), model)


@pytest.mark.parametrize("kind", ["float64", "csr"])
def test_there_are_no_more_components_than_the_rank(kind):
    rng = np.random.default_rng(0)
    full = rng.normal(size=(100, 6)) * np.linspace(1, 5, 6)
    flat = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 6)) + 10.0
    wide = rng.normal(size=(8, 60))
    for X, rank in ((full, 6), (flat, 3), (wide, 7)):
        most = NonRedundantKMeans((2, 3), whiten=rank, effort=0.1, random_state=0)
        most.fit(of_kind(X, kind))
        model = clone(most).set_params(whiten=50).fit(of_kind(X, kind))
        assert model.whitening_.shape == most.whitening_.shape == (X.shape[1], rank)
        assert_allclose(model.inertia_, whitened_cost(model, X), rtol=1e-9)
        assert_allclose(np.cov(whitened(model, X).T, ddof=0), np.eye(rank), atol=1e-8)


def test_fewer_components_than_views_are_refused(easy):
    X = np.outer(np.arange(40.0) // 10, [1.0, 2.0, 2.0])  # a line, whatever is asked for
    for rows, whiten in ((easy[0], 1), (X, 3), (X, True), (sp.csr_array(X), 2)):
        with pytest.raises(ValueError, match=f"whiten={whiten} leaves 1 components for 2 views"):
            NonRedundantKMeans((4, 2), whiten=whiten).fit(rows)
    assert NonRedundantKMeans(4, whiten=3, random_state=0).fit(X).whitening_.shape == (3, 1)
