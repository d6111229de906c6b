"""NonRedundantKMeans against slow and obvious versions, on every kind of input."""

import itertools
import logging
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymeans import KMeans, NonRedundantKMeans
from polymeans.datasets import make_colored_letters, make_nonredundant, make_stick_figures
from polymeans.metrics import labelings_confusion
from tests.oracles import best_pair, mean_of, nearest, scatter_between, views_cost

SIZES = [(3, 4), (2, 2), (2, 3, 3), (4,)]


@pytest.fixture(scope="module")
def easy():
    """Rows with views of three and four clusters, and their labels."""
    X, labels, _ = make_nonredundant(300, (3, 4), random_state=0)
    return X, labels


def spaces_of(model):
    """Columns of the rotation that belong to each view."""
    edges = np.cumsum((0, *model.n_dims_))
    return [model.rotation_[:, lo:hi] for lo, hi in itertools.pairwise(edges)]


def direct_cost(model, X, weights=None):
    X = X.toarray() if sp.issparse(X) else X
    return views_cost(
        X.astype(np.float64),
        model.labels_per_view_,
        [centers.astype(np.float64) for centers in model.centers_per_view_],
        spaces_of(model),
        model.mean_.astype(np.float64),
        weights,
    )


def same_bits(one, other):
    for name in ("labels_per_view_", "rotation_", "mean_", "explained_variance_ratio_"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for a, b in zip(one.centers_per_view_, other.centers_per_view_):
        assert_array_equal(a, b)
    assert one.inertia_ == other.inertia_
    assert_array_equal(one.history_["inertia"], other.history_["inertia"])


def assert_sound(model, n, d):
    """Shapes agree, directions are orthonormal, and everything is a number."""
    m = sum(model.n_dims_)
    assert model.rotation_.shape == (d, m)
    assert_allclose(model.rotation_.T @ model.rotation_, np.eye(m), atol=1e-10, rtol=0)
    assert model.labels_per_view_.shape == (n, model.n_views_)
    assert model.labels_per_view_.dtype == model.labels_.dtype == np.int32
    assert model.explained_variance_ratio_.shape == (model.n_views_,)
    assert (model.explained_variance_ratio_ >= 0).all()
    assert model.explained_variance_ratio_.sum() <= 1 + 100 * np.finfo(model.mean_.dtype).eps
    for k, centers in zip(model.n_clusters_, model.centers_per_view_):
        assert centers.shape == (k, d)
        assert np.isfinite(centers).all()
    for value in (model.rotation_, model.mean_, model.explained_variance_ratio_, model.inertia_):
        assert np.isfinite(value).all()
    assert np.isfinite(model.history_["inertia"]).all()


# --- cost, labels and centers ---------------------------------------------------------------------


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
        centers = model.centers_per_view_[s].astype(np.float64)
        assert_array_equal(nearest(X.astype(np.float64), centers), model.labels_per_view_[:, s])
        if dtype == np.float64:
            inside = nearest(X @ V, centers @ V)
            assert_array_equal(inside, model.labels_per_view_[:, s])
        assert model.centers_per_view_[s].dtype == model.mean_.dtype == dtype
    assert_array_equal(model.cluster_centers_, model.centers_per_view_[model.main_view_])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_centers_are_cluster_means_within_their_subspace(blobs, sizes, weighted):
    X = blobs[:300]
    weights = np.random.default_rng(0).random(300) if weighted else np.ones(300)
    model = NonRedundantKMeans(sizes, effort=0.1, random_state=0).fit(X, sample_weight=weights)
    assert model.history_["n_moved"][-1] == 0
    for s, V in enumerate(spaces_of(model)):
        for c, center in enumerate(model.centers_per_view_[s]):
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


# --- equivalent ways to ask -----------------------------------------------------------------------


def test_the_order_of_views_does_not_matter(easy):
    X, _ = easy
    one = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    other = NonRedundantKMeans((4, 3), random_state=0).fit(X)
    assert_allclose(one.inertia_, other.inertia_, rtol=1e-9)
    assert one.n_dims_ == other.n_dims_[::-1]
    ratios = other.explained_variance_ratio_[::-1]
    assert_allclose(one.explained_variance_ratio_, ratios, rtol=1e-9)


def test_a_rotation_and_a_shift_of_the_rows_do_not_matter(easy):
    X, _ = easy
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(X.shape[1], X.shape[1])))[0]
    plain = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    turned = NonRedundantKMeans((3, 4), random_state=0).fit(X @ Q + 1e3)
    assert_allclose(turned.inertia_, plain.inertia_, rtol=1e-9)


@pytest.mark.parametrize("sizes", [4, (4,)])
def test_one_view_is_plain_kmeans(easy, sizes):
    X, labels = easy
    X = X + 5.0 * np.eye(4, X.shape[1])[labels[:, 1]]
    model = NonRedundantKMeans(sizes, random_state=0).fit(X)
    plain = KMeans(4, n_init=10, random_state=0).fit(X)
    assert_allclose(model.inertia_, plain.inertia_, rtol=1e-9)
    assert labelings_confusion(plain.labels_, model.labels_per_view_).minimum == 1.0
    assert model.n_views_ == 1
    assert model.main_view_ == 0
    assert model.n_dims_ == (3,)


def test_without_a_noise_space_the_rotation_is_whole(easy):
    X, _ = easy
    model = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    whole = clone(model).set_params(noise_space=False).fit(X)
    d = X.shape[1]
    assert whole.rotation_.shape == (d, d)
    assert_allclose(whole.rotation_.T @ whole.rotation_, np.eye(d), atol=1e-10)
    assert_array_equal(whole.rotation_[:, : sum(model.n_dims_)], model.rotation_)
    assert whole.n_dims_ == (model.n_dims_[0], d - model.n_dims_[0])
    assert_array_equal(whole.labels_per_view_, model.labels_per_view_)
    assert whole.inertia_ == model.inertia_
    assert_allclose(direct_cost(whole, X), whole.inertia_, rtol=1e-9)


def test_sizes_may_be_any_sequence_of_integers(easy):
    X, _ = easy
    model = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    for sizes in ([3, 4], np.array([3, 4]), (np.int64(3), np.int32(4))):
        same_bits(NonRedundantKMeans(sizes, random_state=0).fit(X), model)
    assert model.n_clusters_ == (3, 4)


def test_labels_can_be_given(easy):
    X, labels = easy
    model = NonRedundantKMeans((3, 4), init=labels).fit(X)
    assert_array_equal(model.labels_per_view_, labels)
    assert model.n_iter_ <= 2
    for init in (labels.tolist(), labels.astype(np.float32), pd.DataFrame(labels)):
        same_bits(NonRedundantKMeans((3, 4), init=init).fit(X), model)
    one = NonRedundantKMeans(4, init=labels[:, 1]).fit(X)
    assert one.labels_per_view_.shape == (300, 1)


def test_a_cluster_without_rows_among_given_labels_is_filled(easy):
    X, labels = easy
    model = NonRedundantKMeans((3, 4), init=np.minimum(labels, 1)).fit(X)
    assert [len(np.unique(digit)) for digit in model.labels_per_view_.T] == [3, 4]


def test_given_labels_are_kept_where_no_step_improves_them():
    # Hidden in noise of larger variance, but a local optimum all the same.
    X, labels, _ = make_nonredundant(
        400, (3, 3), n_noise=20, noise_scale=7.0, separation=12.0, random_state=0
    )
    B = [scatter_between(X, digit) for digit in labels.T]
    spaces = best_pair(B[1] - B[0], np.zeros((X.shape[1], 0)))
    for V, digit in zip(spaces, labels.T):
        centers = np.stack([X[digit == c].mean(axis=0) for c in range(3)])
        assert_array_equal(nearest(X @ V, centers @ V), digit)
    model = NonRedundantKMeans((3, 3), init=labels).fit(X)
    assert_array_equal(model.labels_per_view_, labels)


# --- repeatability --------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["search", "random"])
def test_the_same_seed_gives_the_same_bits(blobs, init):
    model = NonRedundantKMeans((3, 4), init=init, effort=0.1, random_state=3).fit(blobs[:400])
    same_bits(clone(model).fit(blobs[:400]), model)
    generator = np.random.RandomState(3)
    same_bits(clone(model).set_params(random_state=generator).fit(blobs[:400]), model)


@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
def test_any_number_of_threads_gives_the_same_bits(kind):
    X, _, _ = make_nonredundant(5000, (3, 4, 5), separation=3.0, random_state=0)
    X = {"float64": X, "float32": X.astype(np.float32), "csr": sp.csr_matrix(X)}[kind]
    fits = [
        NonRedundantKMeans((3, 4, 5), effort=0.3, random_state=0, n_threads=n).fit(X)
        for n in (1, 2, 3)
    ]
    same_bits(fits[1], fits[0])
    same_bits(fits[2], fits[0])


def test_input_is_never_changed(easy):
    weights = np.random.default_rng(0).random(300)
    labels = easy[1].copy()
    held = weights.copy(), labels.copy()
    weights.flags.writeable = labels.flags.writeable = False
    for X in (easy[0].copy(), easy[0].astype(np.float32), easy[0] + 1e5, sp.csr_matrix(easy[0])):
        before = X.copy()
        (X.data if sp.issparse(X) else X).flags.writeable = False
        for init in ("search", "random", labels):
            model = NonRedundantKMeans((3, 4), init=init, effort=0.05, random_state=0)
            model.fit(X, sample_weight=weights).predict_views(X)
        assert (before != X).sum() == 0
        assert_array_equal(weights, held[0])
        assert_array_equal(labels, held[1])


def test_fitting_leaves_parameters_alone(easy):
    X, labels = easy
    model = NonRedundantKMeans([3, 4], init=labels, random_state=0)
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(X)
    assert {name: repr(value) for name, value in model.get_params().items()} == before


def test_a_fitted_model_keeps_its_own_sizes(easy):
    X, _ = easy
    model = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    expected = model.labels_per_view_
    for sizes in ((5, 5, 5), 2):
        model.set_params(n_clusters=sizes)
        assert_array_equal(model.predict_views(X), expected)


def test_clone_and_pickle(easy):
    X, _ = easy
    model = NonRedundantKMeans((3, 4), effort=0.5, random_state=0).fit(X)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    same_bits(again, model)
    assert_array_equal(again.predict_views(X), model.labels_per_view_)


# --- weights, dtypes and containers ---------------------------------------------------------------


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


# --- good optima ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (3, 4, 5), (2, 3, 4, 3)])
def test_hidden_clusterings_are_found(sizes, seed):
    X, labels, _ = make_nonredundant(500, sizes, random_state=seed)
    model = NonRedundantKMeans(sizes, random_state=seed).fit(X)
    assert labelings_confusion(labels, model.labels_per_view_).minimum > 0.99
    truth = NonRedundantKMeans(sizes, init=labels).fit(X)
    assert model.inertia_ <= truth.inertia_ * (1 + 1e-6)


def test_hidden_subspaces_are_found():
    X, _, rotation = make_nonredundant(800, (3, 4), separation=10.0, random_state=1)
    model = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    for hidden, V in zip((rotation[:, :2], rotation[:, 2:4]), spaces_of(model)):
        assert np.linalg.svd(hidden.T @ V)[1].min() > 0.99


@pytest.mark.parametrize("seed", range(4))
def test_stick_figures_come_apart_into_arms_and_legs(seed):
    images, poses = make_stick_figures(300, random_state=seed)
    model = NonRedundantKMeans((3, 3), random_state=seed).fit(images)
    assert labelings_confusion(poses, model.labels_per_view_).minimum > 0.99


@pytest.mark.parametrize("seed", range(4))
def test_colored_letters_come_apart_into_letter_color_and_corner(seed):
    images, labels = make_colored_letters(400, random_state=seed)
    sizes = tuple(len(np.unique(digit)) for digit in labels.T)
    model = NonRedundantKMeans(sizes, random_state=seed).fit(images)
    assert labelings_confusion(labels, model.labels_per_view_).minimum > 0.99


def test_more_rows_than_the_search_looks_at():
    X, labels, _ = make_nonredundant(8000, (3, 4), random_state=0)
    model = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    assert labelings_confusion(labels, model.labels_per_view_).minimum > 0.99


def test_the_search_is_as_good_as_the_best_of_twenty_random_starts(blobs):
    random = NonRedundantKMeans((4, 4), init="random", n_init=20, random_state=0).fit(blobs)
    costs = [NonRedundantKMeans((4, 4), random_state=s).fit(blobs).inertia_ for s in range(3)]
    assert np.mean(costs) <= random.inertia_ * 1.002


def test_more_starts_are_never_worse(blobs):
    X = blobs[:500]
    costs = [
        NonRedundantKMeans((4, 4), init="random", n_init=n, random_state=0).fit(X).inertia_
        for n in (1, 3, 9)
    ]
    assert costs == sorted(costs, reverse=True)


# --- whitening ------------------------------------------------------------------------------------


def whitened(model, X):
    """Rows in the coordinates they are clustered in."""
    X = X.toarray() if sp.issparse(X) else X
    return (X.astype(np.float64) - model.mean_.astype(np.float64)) @ model.whitening_


def whitened_cost(model, X, weights=None):
    return views_cost(
        whitened(model, X),
        model.labels_per_view_,
        [whitened(model, centers) for centers in model.centers_per_view_],
        spaces_of(model),
        np.zeros(model.whitening_.shape[1]),
        weights,
    )


def of_kind(X, kind):
    return {"float64": X, "float32": X.astype(np.float32), "csr": sp.csr_array(X)}[kind]


KINDS = pytest.mark.parametrize("kind", ["float64", "float32", "csr"])


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
    for s, centers in enumerate(model.centers_per_view_):
        found = nearest(whitened(model, X), whitened(model, centers))
        assert_array_equal(found, model.labels_per_view_[:, s])
    assert_array_equal(model.cluster_centers_, model.centers_per_view_[model.main_view_])


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
        assert model.centers_per_view_[s].shape == (model.n_clusters_[s], X.shape[1])
        for c, center in enumerate(model.centers_per_view_[s]):
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
        assert all(centers.dtype == np.float32 for centers in model.centers_per_view_)
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


@pytest.mark.parametrize("seed", range(6))
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
    for one, other in zip(sparse.centers_per_view_, dense.centers_per_view_):
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
    for centers in model.centers_per_view_:
        assert centers.shape[1] == X.shape[1]
        assert np.isfinite(centers).all()
    assert model.inertia_ <= len(X) * q * (1 + 1e-6)
    assert (np.diff(model.history_["inertia"]) <= 1e-6 * len(X) * q).all()


# --- coordinates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
def test_transform_rotates_about_the_mean(easy, kind):
    X = easy[0]
    rows = {"float64": X, "float32": X.astype(np.float32), "csr": sp.csr_array(X)}[kind]
    model = NonRedundantKMeans((3, 4), random_state=0).fit(rows)
    coordinates = model.transform(rows)
    assert isinstance(coordinates, np.ndarray)
    assert coordinates.dtype == rows.dtype
    assert_allclose(coordinates, (X - X.mean(axis=0)) @ model.rotation_, atol=1e-4)
    for view in (0, 1):
        V = spaces_of(model)[view]
        part = model.transform_view(rows, view)
        assert_allclose(part, (X - X.mean(axis=0)) @ V, atol=1e-4)
        assert_array_equal(part, model.transform_view(rows, view - 2))
    again = clone(model).fit_transform(rows)
    assert_array_equal(again, coordinates)


def test_noise_in_the_last_view_is_transformed_too(easy):
    X, _ = easy
    model = NonRedundantKMeans((3, 4), noise_space=False, random_state=0).fit(X)
    lengths = (model.transform(X) ** 2).sum(axis=1)
    assert_allclose(lengths, ((X - X.mean(axis=0)) ** 2).sum(axis=1))
    assert model.transform_view(X, 1).shape == (300, X.shape[1] - 2)


def test_columns_are_named_after_view_and_dimension(easy):
    X, _ = easy
    names = ["view0_dim0", "view0_dim1", "view1_dim0", "view1_dim1", "view1_dim2"]
    model = NonRedundantKMeans((3, 4), random_state=0).set_output(transform="pandas")
    frame = model.fit(X).transform(X)
    assert list(frame.columns) == list(model.get_feature_names_out()) == names
    assert model.transform_view(X, 1).shape == (300, 3)
    assert "NonRedundantKMeans" in model._repr_html_()


@pytest.mark.parametrize("view", [2, -3, 0.0, "0", None])
def test_an_unknown_view_is_refused(easy, view):
    model = NonRedundantKMeans((3, 4), random_state=0).fit(easy[0])
    with pytest.raises(ValueError, match="view must be an integer from 0 to 1"):
        model.transform_view(easy[0], view)


def test_in_a_pipeline_with_routed_weights(easy):
    X, _ = easy
    weights = np.random.default_rng(0).random(len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            NonRedundantKMeans((3, 4), random_state=0).set_fit_request(sample_weight=True),
        ).fit(X, sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    direct = NonRedundantKMeans((3, 4), random_state=0).fit(scaled, sample_weight=weights)
    same_bits(model[-1], direct)
    assert_array_equal(model.predict(X), direct.labels_)
    assert_allclose(model.transform(X), direct.transform(scaled))


# --- progress -------------------------------------------------------------------------------------


def test_nothing_is_printed_and_nothing_warned_about(easy, capfd):
    X, labels = easy
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (X, X.astype(np.float32), sp.csr_matrix(X)):
            for init in ("search", "random", labels):
                model = NonRedundantKMeans((3, 4), init=init, random_state=0, verbose=2)
                model.fit(rows).predict(rows)
    assert capfd.readouterr() == ("", "")


def test_verbose_logs(easy, caplog):
    with caplog.at_level(logging.INFO, logger="polymeans"):
        model = NonRedundantKMeans((3, 4), random_state=0, verbose=2).fit(easy[0])
    assert len(caplog.records) == model.n_iter_ + 1


class Watch:
    """A callback that keeps what it is shown and stops after some iterations."""

    def __init__(self, stop_after, look):
        self.stop_after, self.look, self.names, self.seen = stop_after, look, [], []

    def setup(self, estimator, context):
        self.names.append("setup")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.names.append(context.task_name)
        if context.task_name == "iter":
            self.seen.append(self.look(fitted_estimator, X))
            return len(self.seen) >= self.stop_after
        return False

    def teardown(self, estimator, context):
        self.names.append("teardown")


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(("sizes", "whiten"), [((3, 4), False), (5, False), ((8, 8), 6)])
def test_callbacks_see_iterations_and_can_stop(blobs, sizes, whiten, kind):
    pytest.importorskip("sklearn.callback")
    X = blobs[:800] if kind == "dense" else sp.csr_matrix(blobs[:800])
    watch = Watch(3, lambda estimator, X: -estimator.score(X))
    model = NonRedundantKMeans(sizes, whiten=whiten, init="random", n_init=1, random_state=0)
    model.set_callbacks(watch).fit(X)
    assert model.n_iter_ == 3
    assert watch.names == ["setup", "iter", "iter", "iter", "init", "fit", "teardown"]
    assert watch.seen == sorted(watch.seen, reverse=True)
    assert_allclose(watch.seen[:2], model.history_["inertia"][1:], rtol=1e-9)
    assert watch.seen[-1] == pytest.approx(model.inertia_)
    assert_array_equal(model.predict_views(X), model.labels_per_view_)


@pytest.mark.parametrize("whiten", [False, 6])
def test_callbacks_can_ask_for_labels(blobs, whiten):
    pytest.importorskip("sklearn.callback")
    watch = Watch(2, lambda estimator, X: estimator.predict_views(X).shape)
    model = NonRedundantKMeans((3, 4), whiten=whiten, init="random", n_init=1, random_state=0)
    model.set_callbacks(watch).fit(blobs[:300])
    assert watch.seen == [(300, 2)] * 2


# --- bad input ------------------------------------------------------------------------------------

WANTED = "n_clusters must be a tuple of integers, one for each view"


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_clusters": ()}, WANTED),
        ({"n_clusters": True}, WANTED),
        ({"n_clusters": 2.0}, WANTED),
        ({"n_clusters": None}, WANTED),
        ({"n_clusters": (k for k in (2, 3))}, WANTED),
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_clusters": -3}, "n_clusters must be an integer of at least 1, got -3"),
        ({"n_clusters": (1, 3)}, r"n_clusters\[0\] must be an integer of at least 2, got 1"),
        ({"n_clusters": (3, 0)}, r"n_clusters\[1\] must be an integer of at least 2, got 0"),
        ({"n_clusters": (3, -2)}, r"n_clusters\[1\] must be an integer of at least 2, got -2"),
        ({"n_clusters": (3, 2.5)}, r"n_clusters\[1\] must be an integer of at least 2, got 2.5"),
        ({"n_clusters": (3, True)}, r"n_clusters\[1\] must be an integer of at least 2, got True"),
        ({"n_clusters": (3, "4")}, r"n_clusters\[1\] must be an integer of at least 2, got '4'"),
        ({"n_clusters": (3, None)}, r"n_clusters\[1\] must be an integer of at least 2, got None"),
        ({"n_clusters": (3, (4,))}, r"n_clusters\[1\] must be an integer of at least 2"),
        ({"n_clusters": np.array([3.0, 4.0])}, r"n_clusters\[0\] must be an integer"),
        ({"n_clusters": "33"}, 'n_clusters must be "auto", an integer, or a tuple'),
        ({"n_clusters": (10**4, 10**4)}, "more than 4194304 combinations.*Use fewer"),
        ({"n_clusters": (3, 31)}, "n_samples=30 should be >= every number of clusters"),
        ({"n_clusters": 31}, "n_samples=30 should be >= every number of clusters"),
        ({"n_clusters": (2, 2, 2, 2)}, "has 4 views for n_features=3"),
        ({"noise_space": "yes"}, "noise_space must be True or False, got 'yes'"),
        ({"noise_space": 1}, "noise_space must be True or False, got 1"),
        ({"whiten": "yes"}, "whiten must be an integer of at least 1, got 'yes'"),
        ({"whiten": 0}, "whiten must be an integer of at least 1, got 0"),
        ({"whiten": 2.5}, "whiten must be an integer of at least 1, got 2.5"),
        ({"whiten": None}, "whiten must be an integer of at least 1, got None"),
        ({"whiten": -2}, "whiten must be an integer of at least 1, got -2"),
        ({"whiten": 1}, "whiten=1 leaves 1 components for 2 views: each view needs a direction"),
        ({"whiten": 2, "n_clusters": (2, 2, 2)}, "whiten=2 leaves 2 components for 3 views"),
        ({"init": "k-means++"}, "init must be one of 'search', 'random', got 'k-means"),
        ({"effort": 0}, "effort must be a finite number"),
        ({"effort": np.inf}, "effort must be a finite number"),
        ({"resolution": -1.0}, "resolution must be a finite number"),
        ({"n_init": 0}, "n_init must be an integer of at least 1"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"tol": -1.0}, "tol must be a finite number"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"verbose": -1}, "verbose must be"),
    ],
)
def test_errors_name_parameter_value_and_remedy(parameters, match):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises((ValueError, TypeError), match=match):
        NonRedundantKMeans(**parameters).fit(X)


@pytest.mark.parametrize("sizes", [np.array(3.0), np.array([[3, 4]])])
def test_odd_arrays_of_sizes_are_refused_by_name(sizes):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises((ValueError, TypeError), match="n_clusters"):
        NonRedundantKMeans(sizes).fit(X)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda labels: labels[:-1],
            r"shape \(299, 2\).*\(300, 2\).*one column for each clustering",
        ),
        (lambda labels: labels[:, :1], r"shape \(300, 1\).*\(300, 2\)"),
        (lambda labels: labels[:, 0], r"shape \(300, 1\).*\(300, 2\)"),
        (lambda labels: labels.T, r"shape \(2, 300\).*\(300, 2\)"),
        (lambda labels: labels[:, :, None], "dim 3"),
        (lambda labels: [], "0 sample"),
        (lambda labels: labels - 1, "init must have labels from 0 to n_clusters - 1.*from -1 to"),
        (lambda labels: labels[:, ::-1], "init must have labels from 0 to n_clusters - 1"),
        (lambda labels: labels + 0.5, "init must have labels from 0"),
        (lambda labels: np.where(labels > 2, np.nan, labels), "init contains NaN"),
        (lambda labels: np.where(labels > 2, np.inf, labels), "init contains infinity"),
        (lambda labels: np.full(labels.shape, "a", dtype=object), "init must have integers"),
        (lambda labels: sp.csr_matrix(labels), "Sparse data was passed for init"),
    ],
)
def test_labels_that_cannot_be_a_start_are_refused(easy, change, match):
    X, labels = easy
    with pytest.raises((ValueError, TypeError), match=match):
        NonRedundantKMeans((3, 4), init=change(labels)).fit(X)


def test_labels_too_large_to_count_are_refused_without_a_warning(easy):
    X, labels = easy
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="init must have labels from 0"):
            NonRedundantKMeans((3, 4), init=labels * 1e300).fit(X)


@pytest.mark.parametrize("init", [None, 5, len])
def test_a_start_that_is_no_start_is_refused_by_name(easy, init):
    with pytest.raises((ValueError, TypeError), match="init must be"):
        NonRedundantKMeans((3, 4), init=init).fit(easy[0])


def test_given_labels_with_several_starts_warn(easy):
    X, labels = easy
    with pytest.warns(RuntimeWarning, match="performing only one init"):
        NonRedundantKMeans((3, 4), init=labels, n_init=3).fit(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(easy, bad):
    dense = easy[0].copy()
    dense[3, 4] = bad
    model = NonRedundantKMeans((3, 4), random_state=0).fit(easy[0])
    for X in (dense, sp.csr_matrix(dense), dense.astype(np.float32)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            NonRedundantKMeans().fit(X)
        for method in (model.predict, model.predict_views, model.score):
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                method(X)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (-np.ones(300), r"Negative values.*sample_weight"),
        (np.zeros(300), "at least one non-zero"),
        (np.ones(7), r"sample_weight\.shape"),
        (np.full(300, np.nan), "NaN"),
    ],
)
def test_bad_weights_are_refused(easy, weights, match):
    with pytest.raises(ValueError, match=match):
        NonRedundantKMeans((3, 4)).fit(easy[0], sample_weight=weights)


def test_bad_rows_are_refused(easy):
    for X in (np.empty((0, 3)), np.empty((3, 0)), np.arange(5.0), np.zeros((2, 2, 2))):
        with pytest.raises(ValueError, match=r"0 sample|0 feature|[Ee]xpected 2D|dim 3"):
            NonRedundantKMeans().fit(X)
    for method in ("predict", "predict_views", "transform", "score", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(NonRedundantKMeans(), method)(easy[0])
    with pytest.raises(AttributeError, match="not fitted"):
        _ = NonRedundantKMeans().cluster_centers_
    with pytest.raises(ValueError, match="features"):
        NonRedundantKMeans((3, 4), random_state=0).fit(easy[0]).predict_views(easy[0][:, :5])


# --- poor data ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e8])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(
    ("sizes", "init"),
    [
        ((2, 3), "search"),
        ((2, 3), "random"),
        ((2, 3), np.zeros((20, 2))),
        (3, "search"),
        (3, "random"),
        (3, np.zeros(20)),
    ],
)
def test_identical_rows_warn_and_work(sizes, init, kind, value):
    X = np.full((20, 3), value)
    model = NonRedundantKMeans(sizes, init=init, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X if kind == "dense" else sp.csr_matrix(X))
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert "Fewer distinct clusters found" in str(warning.message)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12 * (1 + value**2))
    assert (model.labels_per_view_ == model.labels_per_view_[0]).all()
    assert_sound(model, 20, 3)


def test_identical_rows_have_no_direction():
    with pytest.warns(ConvergenceWarning):
        model = NonRedundantKMeans(3, random_state=0).fit(np.ones((20, 3)))
    assert model.n_dims_ == (0,)


def test_identical_rows_without_a_noise_space():
    with pytest.warns(ConvergenceWarning):
        model = NonRedundantKMeans((2, 3), init="random", noise_space=False).fit(np.ones((20, 3)))
    assert model.n_dims_ == (0, 3)
    assert_sound(model, 20, 3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_on_a_line_have_room_for_one_view():
    X = np.outer(np.arange(40.0) // 10, [1.0, 2.0, 2.0])
    model = NonRedundantKMeans((4, 2), random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-10)
    assert_sound(model, 40, 3)


def test_constant_features_change_nothing(easy):
    X, _ = easy
    plain = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    padded = NonRedundantKMeans((3, 4), random_state=0).fit(np.c_[X, np.full((300, 3), 7.0)])
    assert_allclose(padded.inertia_, plain.inertia_, rtol=1e-9)
    assert_allclose(padded.rotation_[-3:], 0.0, atol=1e-9)
    assert_allclose(np.abs(padded.rotation_[:-3]), np.abs(plain.rotation_), atol=1e-7)
    assert_allclose(padded.cluster_centers_[:, -3:], 7.0)


def test_fewer_rows_than_features():
    X = np.random.default_rng(0).normal(size=(8, 60))
    model = NonRedundantKMeans((2, 3), random_state=0).fit(X)
    assert_sound(model, 8, 60)
    assert_allclose(direct_cost(model, X), model.inertia_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_cluster_for_each_row():
    X = np.random.default_rng(0).normal(size=(6, 9))
    model = NonRedundantKMeans((6, 2), random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-10)
    assert_sound(model, 6, 9)
    both = NonRedundantKMeans((6, 6), random_state=0).fit(X)
    assert both.inertia_ == pytest.approx(0.0, abs=1e-10)
    assert_sound(both, 6, 9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_more_clusters_than_rows_that_count(easy):
    X, labels = easy
    weights = np.zeros(300)
    weights[:3] = 1.0
    for init in ("search", "random", labels):
        model = NonRedundantKMeans((3, 4), init=init, random_state=0)
        model.fit(X, sample_weight=weights)
        assert model.inertia_ == pytest.approx(0.0, abs=1e-9)
        assert_sound(model, *X.shape)


@pytest.mark.parametrize("noise_space", [True, False])
def test_one_cluster_is_no_view(easy, noise_space):
    X, _ = easy
    model = NonRedundantKMeans(1, noise_space=noise_space).fit(X)
    assert model.n_views_ == 0
    assert model.n_clusters_ == model.n_dims_ == ()
    assert_array_equal(model.labels_, 0)
    assert_array_equal(model.predict(X), 0)
    assert model.predict_views(X).shape == (300, 0)
    assert_allclose(model.cluster_centers_, X.mean(axis=0)[None])
    assert_allclose(model.inertia_, ((X - X.mean(axis=0)) ** 2).sum())
    assert_sound(model, *X.shape)


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(4, 20), st.integers(2, 5)),
        elements=st.floats(-5, 5, width=16) | st.sampled_from([0.0, 1.0, 1e6, -1e-6]),
    ),
    sizes=st.sampled_from([(2, 2), (2, 3), (3, 4), 3]),
    init=st.sampled_from(["search", "random"]),
    noise_space=st.booleans(),
    dtype=st.sampled_from([np.float64, np.float32]),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_but_numbers_comes_out(X, sizes, init, noise_space, dtype):
    X = X.astype(dtype)
    before = X.copy()
    model = NonRedundantKMeans(
        sizes, init=init, noise_space=noise_space, effort=0.02, n_init=1, random_state=0
    )
    model.fit(X)
    assert_array_equal(X, before)
    assert_sound(model, *X.shape)
    assert_array_equal(model.predict_views(X), model.labels_per_view_)
    rows = X.astype(np.float64)
    scale = (1e-6 if dtype == np.float32 else 1e-9) * (1 + (rows**2).sum())
    assert abs(direct_cost(model, rows) - model.inertia_) <= scale
    assert (np.diff(model.history_["inertia"]) <= scale).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        NonRedundantKMeans(effort=0.05),
        NonRedundantKMeans(3, effort=0.05),
        NonRedundantKMeans(whiten=True, effort=0.05),
    ],
    expected_failed_checks=lambda estimator: dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "sample weights change the random starts, as for scikit-learn's own KMeans",
    ),
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
