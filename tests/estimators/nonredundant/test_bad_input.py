"""NonRedundantKMeans: parameters, starts, rows and weights that are refused."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from polymeans import NonRedundantKMeans

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
        ({"init": "k-means++"}, "init must be one of 'auto', 'search', 'random', got 'k-means"),
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
        (lambda labels: [], "init must be the name of a method or labels"),
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
