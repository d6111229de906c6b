"""NonRedundantKMeans: calls that mean the same, and repeated fits, give the same result."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from polymeans import KMeans, NonRedundantKMeans
from polymeans.datasets import make_nonredundant
from polymeans.metrics import labelings_confusion
from tests.estimators.nonredundant.checks import direct_cost, same_bits
from tests.oracles import best_pair, nearest, scatter_between


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
