"""NonRedundantKMeans: rows with few distinct values or directions; scikit-learn's checks."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from polymeans import NonRedundantKMeans
from tests.estimators.nonredundant.checks import (
    assert_sound,
    direct_cost,
)


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
    model = NonRedundantKMeans(sizes, init=init, effort=0.05, random_state=0)
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
