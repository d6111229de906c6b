"""KhatriRaoKMeans: bad and poor input; scikit-learn's checks."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polymeans import KhatriRaoKMeans
from polymeans.datasets import make_khatri_rao
from tests.estimators.khatri_rao.checks import AGGREGATORS, starting_sets


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_protocentroids": (0, 3)}, r"n_protocentroids\[0\] must be an integer of at least 1"),
        ({"n_protocentroids": (2, -1)}, r"n_protocentroids\[1\]"),
        ({"n_protocentroids": ()}, "must be a tuple of integers"),
        ({"n_protocentroids": (2, 2.5)}, r"n_protocentroids\[1\]"),
        ({"n_protocentroids": "33"}, "must be a tuple of integers"),
        ({"n_protocentroids": (h for h in (2, 3))}, "must be a tuple of integers"),
        ({"n_init": np.array([1, 2])}, "n_init must be an integer"),
        ({"n_protocentroids": (10**6,) * 4}, "1000000000000000000000000 centroids, more than"),
        ({"aggregator": "mean"}, "aggregator must be one of 'sum', 'product', got 'mean'"),
        ({"init": "kmeans"}, "init must be one of 'auto', 'search'"),
        ({"init": [np.zeros((2, 2))]}, "a list of 2 arrays"),
        ({"init": [np.zeros((2, 2)), np.zeros((4, 2))]}, r"init\[1\].*does not match"),
        ({"init": [np.full((2, 2), np.nan), np.zeros((3, 2))]}, "NaN"),
        ({"effort": 0}, "effort must be a finite number"),
        ({"store_centroids": "yes"}, "store_centroids must be"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_errors_name_parameter_value_and_remedy(parameters, match):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises((ValueError, TypeError), match=match):
        KhatriRaoKMeans(**parameters).fit(X)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_more_centroids_than_rows_warn_and_work(aggregator):
    X = np.random.default_rng(0).normal(size=(7, 3))
    with pytest.warns(ConvergenceWarning, match="9 centroids for 7 rows"):
        model = KhatriRaoKMeans((3, 3), aggregator=aggregator, random_state=0).fit(X)
    assert np.isfinite(model.inertia_)
    assert len(model.labels_) == 7


def test_identical_rows_warn_and_work():
    X = np.ones((20, 2))
    for aggregator in AGGREGATORS:
        with pytest.warns(ConvergenceWarning, match="serve no row"):
            model = KhatriRaoKMeans((2, 3), aggregator=aggregator, random_state=0).fit(X)
        assert model.inertia_ == pytest.approx(0.0, abs=1e-12)


def test_a_feature_that_is_always_zero_stays_zero(blobs):
    X = blobs.copy()
    X[:, 3] = 0.0
    for stored in (True, False):
        model = KhatriRaoKMeans(
            (3, 4), aggregator="product", random_state=0, effort=0.1, store_centroids=stored
        ).fit(X)
        assert (model.cluster_centers_[:, 3] == 0).all()
        assert all(np.isfinite(theta).all() for theta in model.protocentroids_)


def test_heavy_rows_are_never_left_out_of_the_search():
    rng = np.random.default_rng(0)
    grid = (10 * rng.normal(size=(5, 1, 3)) + 10 * rng.normal(size=(1, 4, 3))).reshape(20, 3)
    X = np.concatenate([grid, rng.normal(size=(30000, 3))])
    weights = np.concatenate([np.full(20, 1e7), np.ones(30000)])
    model = KhatriRaoKMeans((5, 4), random_state=0, effort=0.3).fit(X, sample_weight=weights)
    assert model.inertia_ < 2 * float((X[20:] ** 2).sum()) + 1e-3 * 1e7 * float((grid**2).sum())


def test_sparse_rows_without_entries_are_no_trouble():
    X = sp.random_array((60, 400), density=0.05, format="csr", random_state=0)
    X.data[:] = 0
    for aggregator in AGGREGATORS:
        with pytest.warns(ConvergenceWarning):
            model = KhatriRaoKMeans((2, 3), aggregator=aggregator, random_state=0).fit(X)
        assert model.inertia_ == 0


@pytest.mark.parametrize("far", [1e5, 1e7, 1e8])
def test_far_vectors_that_cancel_do_not_spoil_the_inertia(far):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(50, 2)), 50 + rng.normal(size=(50, 2))])
    start = [
        np.array([[far, far], [50 - far, 50 - far]]),
        np.array([[-far, -far], [far, far]]),
    ]
    model = KhatriRaoKMeans((2, 2), init=start).fit(X)
    assert_allclose(model.inertia_, -model.score(X), rtol=1e-6)
    assert (np.diff(model.history_["inertia"]) <= 1e-6 * model.history_["inertia"][0]).all()


@pytest.mark.parametrize("offset", [1e8, 1e13, 1e14])
def test_small_and_large_batches_agree_far_from_the_origin(offset):
    X, *_ = make_khatri_rao(5000, (6, 7), 4, noise=1.0, random_state=0)
    X = 10 * X + offset
    start = starting_sets(X, (6, 7), "sum")
    model = KhatriRaoKMeans((6, 7), init=start, max_iter=3, tol=0).fit(X)
    parts = [model.predict(part) for part in np.array_split(X, 10)]
    assert_array_equal(np.concatenate(parts), model.predict(X))


@pytest.mark.parametrize("scale", [1e-205, 1e200])
def test_weights_of_any_size_give_the_same_clusters(blobs, scale):
    X = blobs[:300]
    for aggregator in AGGREGATORS:
        for init in (starting_sets(X, (3, 4), aggregator), "residual", "search"):
            model = KhatriRaoKMeans(
                (3, 4), aggregator=aggregator, init=init, effort=0.05, random_state=0
            )
            plain = clone(model).fit(X)
            scaled = clone(model).fit(X, sample_weight=np.full(len(X), scale))
            assert_array_equal(plain.labels_, scaled.labels_)


def test_a_fitted_model_keeps_its_own_sizes(blobs):
    model = KhatriRaoKMeans((2, 3), init="residual", random_state=0).fit(blobs)
    expected = model.protolabels_
    model.set_params(n_protocentroids=(5, 5))
    assert_array_equal(model.predict_protolabels(blobs), expected)
    assert len(model.get_feature_names_out()) == model.transform(blobs).shape[1] == 6


def test_an_unused_protocentroid_is_employed(blobs):
    start = starting_sets(blobs, (3, 4), "sum")
    start[0][2] += 1e4
    start[1][1] -= 1e4
    model = KhatriRaoKMeans((3, 4), init=start).fit(blobs)
    assert len(np.unique(model.protolabels_[:, 0])) == 3
    assert len(np.unique(model.protolabels_[:, 1])) == 4
