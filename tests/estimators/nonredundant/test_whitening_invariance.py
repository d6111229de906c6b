"""Whitening: beside principal component analysis, invariances, containers, repeated fits."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from polymeans import KMeans, NonRedundantKMeans
from polymeans.datasets import make_nonredundant
from polymeans.metrics import labelings_confusion
from tests.estimators.nonredundant.checks import KINDS, of_kind, same_bits, whitened, whitened_cost
from tests.marks import long


@pytest.mark.parametrize("n_axes", [4, 7, 12])
@pytest.mark.parametrize("init", ["search", "labels"])
def test_whitening_is_that_of_principal_component_analysis(easy, init, n_axes):
    X, labels = easy
    X = X * np.linspace(1, 2, X.shape[1])
    scores = PCA(n_axes, whiten=True, svd_solver="full").fit_transform(X)
    init = labels if init == "labels" else init
    model = NonRedundantKMeans((3, 4), whiten=n_axes, init=init, random_state=0).fit(X)
    start = model.labels_per_view_ if isinstance(init, str) else init
    apart = NonRedundantKMeans((3, 4), init=start).fit(scores)
    # There, rows less one make up the variance.
    assert_allclose(model.inertia_, apart.inertia_ * 300 / 299, rtol=1e-9)
    assert_array_equal(model.labels_per_view_, apart.labels_per_view_)
    assert_allclose(model.explained_variance_ratio_, apart.explained_variance_ratio_, rtol=1e-9)
    Z = whitened(model, X) * np.sqrt(299 / 300)
    assert_allclose(np.abs(Z), np.abs(scores), atol=1e-8)


def test_the_search_is_as_good_on_whitened_rows():
    X, _, _ = make_nonredundant(
        400, (3, 4), n_dims=2, scales=(10.0, 1.0), center_scale=4.0, random_state=1
    )
    model = NonRedundantKMeans((3, 4), whiten=4, random_state=0).fit(X)
    scores = PCA(4, whiten=True, svd_solver="full").fit_transform(X)
    apart = NonRedundantKMeans((3, 4), random_state=0).fit(scores)
    assert_allclose(model.inertia_, apart.inertia_ * 400 / 399, rtol=1e-6)


@pytest.mark.parametrize("seed", [0, *long(1, 2, 3, 4, 5)])
def test_whitening_finds_a_view_that_another_outshines(seed):
    X, labels, _ = make_nonredundant(
        400, (3, 4), n_dims=2, scales=(10.0, 1.0), center_scale=4.0, random_state=seed
    )
    plain = NonRedundantKMeans((3, 4), random_state=seed).fit(X)
    assert labelings_confusion(labels, plain.labels_per_view_).minimum < 0.1
    model = NonRedundantKMeans((3, 4), whiten=4, random_state=seed).fit(X)
    assert labelings_confusion(labels, model.labels_per_view_).minimum > 0.95


def test_one_whitened_view_is_plain_kmeans(blobs):
    X = blobs[:500]
    model = NonRedundantKMeans(4, whiten=3, random_state=0).fit(X)
    plain = KMeans(4, n_init=10, random_state=0).fit(whitened(model, X))
    assert_allclose(model.inertia_, plain.inertia_, rtol=1e-6)
    nothing = NonRedundantKMeans(1, whiten=3, random_state=0).fit(X)
    assert nothing.n_views_ == 0
    assert_allclose(nothing.inertia_, 3 * 500)


def test_with_all_components_no_linear_map_matters(easy):
    X, labels = easy
    d = X.shape[1]
    model = NonRedundantKMeans((3, 4), whiten=d, init=labels).fit(X)
    A = np.random.default_rng(0).normal(size=(d, d))
    mapped = clone(model).fit(X @ A + 100.0)
    assert_allclose(mapped.inertia_, model.inertia_, rtol=1e-8)
    assert_array_equal(mapped.labels_per_view_, model.labels_per_view_)
    assert_allclose(mapped.explained_variance_ratio_, model.explained_variance_ratio_, rtol=1e-8)


@pytest.mark.parametrize("factor", [1e-200, 1e-30, 1e30, 1e200])
def test_whitened_rows_have_no_scale(easy, factor):
    X, labels = easy
    plain = NonRedundantKMeans((3, 4), whiten=5, init=labels).fit(X)
    scaled = clone(plain).fit(X * factor)
    assert_allclose(scaled.inertia_, plain.inertia_, rtol=1e-9)
    assert_allclose(scaled.cluster_centers_ / factor, plain.cluster_centers_, rtol=1e-6)
    searched = clone(plain).set_params(init="search", random_state=0).fit(X * factor)
    assert searched.inertia_ <= plain.inertia_ * (1 + 1e-9)
    for model in (scaled, searched):
        assert_array_equal(model.predict_views(X * factor), model.labels_per_view_)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_a_large_offset_is_no_trouble_for_whitening(easy, offset):
    X, labels = easy
    near = NonRedundantKMeans((3, 4), whiten=5, init=labels).fit(X)
    far = clone(near).fit(X + offset)
    assert_allclose(far.inertia_, near.inertia_, rtol=1e-5)
    assert_array_equal(far.predict_views(X + offset), far.labels_per_view_)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize(
    "n_axes",
    [
        4,
        12,
    ],
)
def test_sparse_equals_dense_when_whitened(easy, n_axes, container):
    X = np.c_[np.zeros((300, 3)), easy[0], np.zeros((300, 20))]
    X[np.abs(X) < 0.5] = 0.0
    dense = NonRedundantKMeans((3, 4), whiten=n_axes, init=easy[1]).fit(X)
    sparse = clone(dense).fit(container(X))
    assert_array_equal(sparse.predict_views(X), sparse.labels_per_view_)
    assert_array_equal(sparse.predict_views(container(X)), sparse.labels_per_view_)
    assert_allclose(sparse.transform(container(X)), sparse.transform(X), atol=1e-9)
    assert_allclose(sparse.mean_, dense.mean_, atol=1e-12)
    assert_allclose(sparse.inertia_, dense.inertia_, rtol=1e-9)
    assert_array_equal(sparse.labels_per_view_, dense.labels_per_view_)
    assert_allclose(
        sparse.whitening_ @ sparse.whitening_.T, dense.whitening_ @ dense.whitening_.T, atol=1e-9
    )
    for one, other in zip(sparse.centroids_per_view_, dense.centroids_per_view_):
        assert_allclose(one, other, atol=1e-8)


def test_documents_are_whitened_as_they_are(documents):
    X = documents[:400]
    model = NonRedundantKMeans((2, 3), whiten=True, effort=0.1, random_state=0).fit(X)
    assert model.whitening_.shape == (X.shape[1], 4)
    Z = whitened(model, X)
    assert_allclose(Z.T @ Z / 400, np.eye(4), atol=1e-9)
    assert_allclose(whitened_cost(model, X), model.inertia_, rtol=1e-9)
    assert_array_equal(model.predict_views(X.toarray()), model.labels_per_view_)


def test_whitened_weights_count_like_repeated_rows(easy):
    X, labels = easy
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = NonRedundantKMeans((3, 4), whiten=6, init=labels).fit(X, sample_weight=weights)
    repeated = clone(weighted).set_params(init=np.repeat(labels, weights, axis=0))
    repeated.fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-9)
    rows = np.repeat(weighted.labels_per_view_, weights, axis=0)
    assert_array_equal(rows, repeated.labels_per_view_)
    assert_allclose(np.abs(weighted.whitening_), np.abs(repeated.whitening_), atol=1e-8)


@KINDS
def test_whitened_fits_repeat_themselves(kind):
    X, _, _ = make_nonredundant(5000, (3, 4), separation=3.0, random_state=0)
    rows = of_kind(X, kind)
    model = NonRedundantKMeans((3, 4), whiten=5, effort=0.1, random_state=0, n_threads=1)
    before = rows.copy()
    model.fit(rows)
    assert (before != rows).sum() == 0
    for again in (
        clone(model).fit(rows),
        clone(model).set_params(n_threads=2).fit(rows),
        pickle.loads(pickle.dumps(model)),
    ):
        same_bits(again, model)
        assert_array_equal(again.whitening_, model.whitening_)
        assert_array_equal(again.predict_views(rows), model.labels_per_view_)


def test_whitening_leaves_with_the_option(easy):
    X, _ = easy
    plain = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    assert plain.whitening_ is None
    model = clone(plain).set_params(whiten=5).fit(X)
    model.set_params(whiten=False)
    assert model.transform(X).shape == (300, 5)
    assert_array_equal(model.predict_views(X), model.labels_per_view_)
    same_bits(model.fit(X), plain)
    assert model.whitening_ is None
    assert_array_equal(model.predict_views(X), plain.labels_per_view_)


def test_a_refused_fit_leaves_a_whitened_model_as_it_was(easy):
    X, _ = easy
    model = NonRedundantKMeans((3, 4), whiten=5, effort=0.1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="leaves 1 components"):
        model.set_params(whiten=1).fit(X)
    assert_array_equal(model.predict_views(X), model.labels_per_view_)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e8])
@KINDS
def test_identical_rows_are_whitened_to_nothing(request, kind, value):
    X = of_kind(np.full((20, 3), value), kind)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = NonRedundantKMeans(3, whiten=2, random_state=0).fit(X)
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert model.inertia_ == 0.0
    assert model.n_dims_ == (0,)
    assert_array_equal(model.labels_, model.labels_[0])
    assert_allclose(model.cluster_centers_, value, rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(4, 20), st.integers(2, 5)),
        elements=st.floats(-5, 5, width=16) | st.sampled_from([0.0, 1.0, 1e3, -1e-3]),
    ),
    sizes=st.sampled_from([(2, 2), (2, 3), (3, 4), 3]),
    whiten=st.sampled_from([True, 2, 3, 9]),
    noise_space=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_but_numbers_comes_out_of_whitened_rows(X, sizes, whiten, noise_space):
    model = NonRedundantKMeans(
        sizes, whiten=whiten, noise_space=noise_space, effort=0.02, n_init=1, random_state=0
    )
    spread = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    if not isinstance(sizes, int) and spread[1] <= 1e-5 * spread[0]:
        if spread[1] <= 1e-7 * spread[0]:
            with pytest.raises(ValueError, match="leaves 1 components for 2 views"):
                model.fit(X)
        return
    model.fit(X)
    q = model.whitening_.shape[1]
    assert_allclose(model.rotation_.T @ model.rotation_, np.eye(sum(model.n_dims_)), atol=1e-10)
    assert model.rotation_.shape == (q, sum(model.n_dims_))
    assert_array_equal(model.predict_views(X), model.labels_per_view_)
    for centers in model.centroids_per_view_:
        assert centers.shape[1] == X.shape[1]
        assert np.isfinite(centers).all()
    assert model.inertia_ <= len(X) * q * (1 + 1e-6)
    assert (np.diff(model.history_["inertia"]) <= 1e-6 * len(X) * q).all()
