"""Cost, labels, centers and subspaces of NonRedundantKMeans against slow versions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from polymeans import NonRedundantKMeans
from tests.estimators.nonredundant.checks import SIZES, assert_sound, direct_cost, spaces_of
from tests.oracles import best_pair, mean_of, nearest, scatter_between


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
@pytest.mark.parametrize("sizes", SIZES)
def test_inertia_is_the_sum_over_rows_views_and_noise(blobs, sizes, kind, weighted):
    X = blobs[:200]
    weights = np.random.default_rng(0).integers(0, 4, 200).astype(float) if weighted else None
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind == "csr":
        X = sp.csr_array(np.where(X > 0, X, 0.0))
    model = NonRedundantKMeans(sizes, effort=0.1, random_state=0).fit(X, sample_weight=weights)
    rtol = 1e-5 if kind == "float32" else 1e-9
    assert_allclose(model.inertia_, direct_cost(model, X, weights), rtol=rtol)
    assert_allclose(model.inertia_, -model.score(X, sample_weight=weights), rtol=rtol)
    assert_sound(model, *X.shape)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
def test_inertia_is_what_the_views_leave_of_the_scatter(blobs, kind, weighted):
    X = blobs[:400] + 10.0
    weights = np.random.default_rng(0).random(400) if weighted else np.ones(400)
    rows = {"float64": X, "float32": X.astype(np.float32), "csr": sp.csr_array(X)}[kind]
    model = NonRedundantKMeans((3, 4), effort=0.1, random_state=0)
    model.fit(rows, sample_weight=weights)
    assert model.history_["n_moved"][-1] == 0
    total = float((weights[:, None] * (X - mean_of(X, weights)) ** 2).sum())
    left = total * (1 - model.explained_variance_ratio_.sum())
    assert_allclose(model.inertia_, left, rtol=1e-5 if kind == "float32" else 1e-9)
    assert_allclose(model.mean_, mean_of(X, weights), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sizes", SIZES)
def test_labels_are_those_of_the_nearest_center_in_each_view(blobs, sizes, dtype):
    X = blobs[:300].astype(dtype)
    model = NonRedundantKMeans(sizes, effort=0.1, random_state=0).fit(X)
    assert_array_equal(model.predict_views(X), model.labels_per_view_)
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(model.labels_, model.labels_per_view_[:, model.main_view_])
    assert model.main_view_ == model.explained_variance_ratio_.argmax()
    for s, V in enumerate(spaces_of(model)):
        centers = model.centroids_per_view_[s].astype(np.float64)
        assert_array_equal(nearest(X.astype(np.float64), centers), model.labels_per_view_[:, s])
        if dtype == np.float64:
            inside = nearest(X @ V, centers @ V)
            assert_array_equal(inside, model.labels_per_view_[:, s])
        assert model.centroids_per_view_[s].dtype == model.mean_.dtype == dtype
    assert_array_equal(model.cluster_centers_, model.centroids_per_view_[model.main_view_])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_centers_are_cluster_means_within_their_subspace(blobs, sizes, weighted):
    X = blobs[:300]
    weights = np.random.default_rng(0).random(300) if weighted else np.ones(300)
    model = NonRedundantKMeans(sizes, effort=0.1, random_state=0).fit(X, sample_weight=weights)
    assert model.history_["n_moved"][-1] == 0
    for s, V in enumerate(spaces_of(model)):
        for c, center in enumerate(model.centroids_per_view_[s]):
            mine = model.labels_per_view_[:, s] == c
            mean = mean_of(X[mine], weights[mine])
            expected = model.mean_ + V @ (V.T @ (mean - model.mean_))
            assert_allclose(center, expected, atol=1e-9)


@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 3)])
def test_subspaces_are_the_best_for_the_labels(blobs, sizes):
    X = blobs[:300]
    model = NonRedundantKMeans(sizes, effort=0.1, random_state=0).fit(X)
    spaces = spaces_of(model)
    B = [scatter_between(X, digit) for digit in model.labels_per_view_.T]
    total = float(((X - X.mean(axis=0)) ** 2).sum())
    found = [np.trace(V.T @ b @ V) for V, b in zip(spaces, B)]
    assert_allclose(model.explained_variance_ratio_, np.array(found) / total, rtol=1e-9)
    for s in range(len(sizes)):
        for t in range(s + 1, len(sizes)):
            rest = [V for u, V in enumerate(spaces) if u not in (s, t)]
            others = np.concatenate([np.zeros((X.shape[1], 0)), *rest], axis=1)
            best = best_pair(B[t] - B[s], others)
            value = sum(np.trace(V.T @ B[u] @ V) for u, V in zip((s, t), best))
            assert found[s] + found[t] >= value * (1 - 1e-6)


@pytest.mark.parametrize("init", ["search", "random", "labels"])
@pytest.mark.parametrize("sizes", SIZES)
def test_inertia_never_rises(blobs, sizes, init):
    X = blobs[:800]
    if init == "labels":
        rng = np.random.default_rng(0)
        init = np.stack([rng.integers(0, k, len(X)) for k in sizes], axis=1)
    model = NonRedundantKMeans(sizes, init=init, effort=0.05, random_state=0).fit(X)
    history = model.history_["inertia"]
    assert (np.diff(history) <= 1e-10 * history[0]).all()
    assert model.inertia_ <= history[-1] * (1 + 1e-10)
    assert len(history) == model.n_iter_
    assert model.history_["n_moved"][-1] == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_inertia_is_right_where_a_view_has_lost_its_clusters(kind):
    lost = 0
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(14, 3)) * [10.0, 1.0, 1.0]
        rows = X if kind == "dense" else sp.csr_array(X)
        model = NonRedundantKMeans((2, 5), init="random", n_init=1, random_state=seed).fit(rows)
        lost += 0 in model.n_dims_
        assert_allclose(model.inertia_, direct_cost(model, X), rtol=1e-9)
    assert lost > 0


def test_dimensions_are_fewer_than_clusters(blobs):
    for sizes in SIZES:
        model = NonRedundantKMeans(sizes, effort=0.05, random_state=0).fit(blobs[:300])
        assert all(m <= k - 1 for m, k in zip(model.n_dims_, sizes))
        assert model.n_clusters_ == sizes
        assert model.n_views_ == len(sizes)


@pytest.mark.parametrize("sizes", [(2, 3), 2])
def test_dimensions_are_fewer_than_clusters_far_from_the_origin(sizes):
    X = np.random.default_rng(0).normal(size=(30, 4)) + 1e7
    model = NonRedundantKMeans(sizes, random_state=0).fit(X)
    assert all(m <= k - 1 for m, k in zip(model.n_dims_, model.n_clusters_))


def test_directions_are_ordered_and_have_a_sign(easy):
    X, _ = easy
    model = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    for s, V in enumerate(spaces_of(model)):
        between = np.diag(V.T @ scatter_between(X, model.labels_per_view_[:, s]) @ V)
        assert (np.diff(between) <= 0).all()
        assert (V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] > 0).all()
