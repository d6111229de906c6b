"""NonRedundantKMeans: weights, dtypes, containers, offsets and scales."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from polymeans import NonRedundantKMeans
from polymeans.metrics import labelings_confusion
from tests.estimators.nonredundant.checks import assert_sound, direct_cost, same_bits, spaces_of


def test_weights_count_like_repeated_rows(easy):
    X, labels = easy
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    model = NonRedundantKMeans((3, 4), init=labels)
    weighted = clone(model).fit(X, sample_weight=weights)
    repeated = clone(model).set_params(init=np.repeat(labels, weights, axis=0))
    repeated.fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-9)
    rows = np.repeat(weighted.labels_per_view_, weights, axis=0)
    assert_array_equal(rows, repeated.labels_per_view_)
    assert_allclose(np.abs(weighted.rotation_), np.abs(repeated.rotation_), atol=1e-8)
    searched = NonRedundantKMeans((3, 4), random_state=0).fit(X, sample_weight=weights)
    assert_allclose(searched.inertia_, repeated.inertia_, rtol=1e-9)


def test_rows_of_weight_zero_are_ignored(easy):
    X, _ = easy
    far = np.concatenate([X, np.full((20, X.shape[1]), 1e4)])
    weights = np.concatenate([np.ones(300), np.zeros(20)])
    model = NonRedundantKMeans((3, 4), random_state=0).fit(far, sample_weight=weights)
    plain = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    assert_allclose(model.inertia_, plain.inertia_, rtol=1e-9)
    assert_allclose(model.mean_, plain.mean_, atol=1e-9)
    assert_allclose(model.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-9)
    assert model.labels_per_view_.shape == (320, 2)


@pytest.mark.parametrize("init", ["search", "random", "labels"])
@pytest.mark.parametrize("scale", [2.0**-400, 2.0**400])  # powers of two leave rounding alone
def test_weights_of_any_size_give_the_same_labels(easy, scale, init):
    X, labels = easy
    init = labels if init == "labels" else init
    model = NonRedundantKMeans((3, 4), init=init, effort=0.1, random_state=0)
    plain = clone(model).fit(X)
    scaled = clone(model).fit(X, sample_weight=np.full(300, scale))
    assert_array_equal(plain.labels_per_view_, scaled.labels_per_view_)
    assert_allclose(scaled.inertia_, plain.inertia_ * scale, rtol=1e-9)


@pytest.mark.parametrize("init", ["search", "labels"])
@pytest.mark.parametrize("scale", [1e-205, 1e200])
def test_weights_whose_squares_leave_the_range_give_the_same_clusters(easy, scale, init):
    X, labels = easy
    init = labels if init == "labels" else init
    model = NonRedundantKMeans((3, 4), init=init, random_state=0)
    plain = clone(model).fit(X)
    scaled = clone(model).fit(X, sample_weight=np.full(300, scale))
    assert labelings_confusion(plain.labels_per_view_, scaled.labels_per_view_).minimum == 1.0
    assert_allclose(scaled.inertia_, plain.inertia_ * scale, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, sp.csc_matrix])
def test_sparse_equals_dense(easy, container, dtype):
    X = np.c_[np.zeros((300, 3)), easy[0], np.zeros((300, 20))].astype(dtype)
    X[np.abs(X) < 0.5] = 0.0
    dense = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    sparse = NonRedundantKMeans((3, 4), random_state=0).fit(container(X))
    rtol = 1e-5 if dtype == np.float32 else 1e-9
    assert_allclose(sparse.inertia_, dense.inertia_, rtol=rtol)
    assert_allclose(sparse.mean_, dense.mean_, atol=1e-5)
    assert_allclose(sparse.explained_variance_ratio_, dense.explained_variance_ratio_, rtol=rtol)
    for V, W in zip(spaces_of(sparse), spaces_of(dense)):
        assert_allclose(V @ V.T, W @ W.T, atol=1e-4 if dtype == np.float32 else 1e-8)
    assert sparse.cluster_centers_.dtype == dtype
    assert_array_equal(sparse.predict_views(X), sparse.labels_per_view_)
    assert_array_equal(sparse.predict_views(container(X)), sparse.labels_per_view_)
    assert labelings_confusion(dense.labels_per_view_, sparse.labels_per_view_).minimum == 1.0
    assert_sound(sparse, *X.shape)


def test_documents_are_clustered_as_they_are(documents):
    X = documents[:400]
    model = NonRedundantKMeans((2, 3), effort=0.1, random_state=0).fit(X)
    assert_sound(model, *X.shape)
    assert_allclose(direct_cost(model, X), model.inertia_, rtol=1e-9)
    assert_array_equal(model.predict_views(X.toarray()), model.labels_per_view_)
    few = X[:40]
    assert (np.asarray(few.sum(axis=0)).ravel() == 0).any()
    assert_array_equal(model.predict_views(few), model.labels_per_view_[:40])


def test_containers(easy):
    X, _ = easy
    model = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    wide = np.zeros((300, 2 * X.shape[1]))
    wide[:, ::2] = X
    names = [f"f{i}" for i in range(X.shape[1])]
    for rows in (
        np.asfortranarray(X),
        wide[:, ::2],
        X.astype(">f8"),
        X.tolist(),
        pd.DataFrame(X, columns=names),
    ):
        same_bits(NonRedundantKMeans((3, 4), random_state=0).fit(rows), model)
    named = NonRedundantKMeans((3, 4), random_state=0).fit(pd.DataFrame(X, columns=names))
    assert list(named.feature_names_in_) == names
    assert named.n_features_in_ == len(names)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_inertia_before_a_relocation_is_right_far_from_the_origin():
    X = np.random.default_rng(0).normal(size=(30, 3)) + 1e7
    labels = np.random.default_rng(1).integers(0, 2, (30, 2))  # the second view lacks two clusters
    model = NonRedundantKMeans((2, 4), init=labels).fit(X)
    assert (np.diff(model.history_["inertia"]) <= 1e-6 * model.history_["inertia"][0]).all()


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_a_large_offset_is_no_trouble(easy, offset):
    X, _ = easy
    near = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    far = NonRedundantKMeans((3, 4), random_state=0).fit(X + offset)
    assert_allclose(far.inertia_, near.inertia_, rtol=1e-6)
    assert_allclose(far.explained_variance_ratio_, near.explained_variance_ratio_, rtol=1e-6)
    assert_array_equal(far.predict_views(X + offset), far.labels_per_view_)


def check_scale(easy, factor, init="search"):
    X, _ = easy
    plain = NonRedundantKMeans((3, 4), init=init, random_state=0).fit(X)
    scaled = NonRedundantKMeans((3, 4), init=init, random_state=0).fit(X * factor)
    assert labelings_confusion(plain.labels_per_view_, scaled.labels_per_view_).minimum == 1.0
    assert_allclose(scaled.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-9)
    assert_allclose(np.abs(scaled.rotation_), np.abs(plain.rotation_), atol=1e-7)
    assert_array_equal(scaled.predict_views(X * factor), scaled.labels_per_view_)


@pytest.mark.parametrize("factor", [1e-150, 1e-30, 1e18, 1e150])
def test_extreme_scales_are_no_trouble(easy, factor):
    check_scale(easy, factor)
    check_scale(easy, factor, easy[1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_scales_whose_squares_leave_the_range_are_no_trouble(easy, factor):
    check_scale(easy, factor)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_given_labels_work_at_any_scale(easy):
    X, labels = easy
    model = NonRedundantKMeans((3, 4), init=labels).fit(X * 1e-200)
    assert_array_equal(model.labels_per_view_, labels)
