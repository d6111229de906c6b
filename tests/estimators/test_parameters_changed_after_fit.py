"""A fitted model depends on what was fitted: parameters set afterwards wait for the next fit."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

#: Models, and parameters that are set after the fit.
CASES = {
    "KMeans": (KMeans(3, random_state=0), {"n_clusters": 7}),
    "KMeans, metric": (KMeans(3, random_state=0), {"metric": "cosine"}),
    "KMeans, cosine": (KMeans(3, metric="cosine", random_state=0), {"metric": "euclidean"}),
    "KhatriRaoKMeans": (
        KhatriRaoKMeans((2, 2), random_state=0, effort=0.1),
        {"n_protocentroids": (3, 4), "store_centroids": False},
    ),
    "KhatriRaoKMeans, aggregator": (
        KhatriRaoKMeans((2, 2), random_state=0, effort=0.1),
        {"aggregator": "product"},
    ),
    "KhatriRaoKMeans, product": (
        KhatriRaoKMeans((2, 2), aggregator="product", random_state=0, effort=0.1),
        {"aggregator": "sum", "n_protocentroids": 5},
    ),
    "QuickKMeans": (
        QuickKMeans(4, random_state=0),
        {"n_clusters": 9, "n_factors": 5, "n_nonzeros": 12, "offset": "zero"},
    ),
    "QuickKMeans, means": (
        QuickKMeans(4, centers="means", random_state=0),
        {"n_clusters": 2, "centers": "factored"},
    ),
    "L1KMeans": (L1KMeans(3, random_state=0), {"n_clusters": 8, "radius": 1.0}),
    "NonRedundantKMeans": (
        NonRedundantKMeans((2, 2), random_state=0, effort=0.1),
        {"n_clusters": (3, 2, 2), "whiten": True, "noise_space": False},
    ),
    "NonRedundantKMeans, whitened": (
        NonRedundantKMeans((2, 2), whiten=True, random_state=0, effort=0.1),
        {"n_clusters": "auto", "whiten": False},
    ),
    "TransformedKMeans": (
        TransformedKMeans(3, random_state=0, n_init=1),
        {"n_clusters": 5, "n_components": 2, "metric": "cosine", "rho": 7.0, "kernel": "rbf"},
    ),
    "TransformedKMeans, kernel": (
        TransformedKMeans(3, kernel="rbf", random_state=0, n_init=1),
        {"n_clusters": 2, "kernel": None, "kernel_params": {"gamma": 9.0}},
    ),
}

if find_spec("torch"):
    from polymeans.deep import DKM, IDEC, KhatriRaoDKM, KhatriRaoIDEC

    _QUICK = {"hidden_sizes": (16,), "n_latent": 4, "random_state": 0}
    _QUICK |= {"pretrain_epochs": 2, "distill_epochs": 2, "max_epochs": 2}
    _CHANGES = {"reconstruction_weight": 0.0, "dtype": "float64", "alpha": 7.0, "n_latent": 3}
    CASES |= {
        "DKM": (DKM(4, **_QUICK), _CHANGES | {"n_clusters": 3, "init": "latent"}),
        "IDEC": (IDEC(4, **_QUICK), _CHANGES | {"hidden_sizes": (5, 4)}),
        "IDEC, float64": (IDEC(4, dtype="float64", **_QUICK), {"dtype": "float32"}),
        "KhatriRaoDKM": (KhatriRaoDKM((2, 2), **_QUICK), _CHANGES | {"aggregator": "product"}),
        "KhatriRaoIDEC": (
            KhatriRaoIDEC((2, 2), **_QUICK),
            _CHANGES | {"n_protocentroids": (2, 3), "n_threads": 2},
        ),
    }


def rows():
    return np.random.default_rng(0).normal(size=(60, 8)) + 2.0


def answers(model):
    """Everything a fitted model answers about rows."""
    X = rows()[:25]
    found = {
        "predict": model.predict(X),
        "transform": model.transform(X),
        "distances": model.distances(X),
        "score": model.score(X),
        "names": model.get_feature_names_out(),
        "centers": model.cluster_centers_,
    }
    for method in ("predict_protolabels", "predict_views"):
        if hasattr(model, method):
            found[method] = getattr(model, method)(X)
    return found


@pytest.mark.parametrize("name", CASES)
def test_set_params_waits_for_the_next_fit(name):
    model, changes = clone(CASES[name][0]), CASES[name][1]
    expected = answers(model.fit(rows()))
    model.set_params(**changes)
    for other in (model, pickle.loads(pickle.dumps(model))):
        for key, value in answers(other).items():
            np.testing.assert_array_equal(value, expected[key], err_msg=key)
            assert np.asarray(value).dtype == np.asarray(expected[key]).dtype, key
    # And the next fit is that of a new model.
    model.fit(rows())
    fresh = clone(model).fit(rows())
    for key, value in answers(fresh).items():
        np.testing.assert_array_equal(answers(model)[key], value, err_msg=key)


@pytest.mark.parametrize("name", CASES)
def test_parameters_that_make_no_sense_do_no_harm(name):
    model = clone(CASES[name][0])
    expected = answers(model.fit(rows()))
    size = "n_protocentroids" if hasattr(model, "n_protocentroids") else "n_clusters"
    model.set_params(**{size: "nonsense", "tol": None, "init": 3})
    for key, value in answers(model).items():
        np.testing.assert_array_equal(value, expected[key], err_msg=key)


@pytest.mark.parametrize("name", CASES)
def test_frames_have_the_columns_that_were_fitted(name):
    pytest.importorskip("pandas")
    model, changes = clone(CASES[name][0]), CASES[name][1]
    expected = model.fit(rows()).transform(rows())
    model.set_output(transform="pandas").set_params(**changes)
    frame = model.transform(rows())
    assert list(frame.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(frame.to_numpy(), expected)
    assert clone(CASES[name][0]).set_output(transform="pandas").fit_transform(rows()).shape == (
        expected.shape
    )


def test_components_of_a_kernel_stay_refused():
    model = TransformedKMeans(3, kernel="rbf", random_state=0, n_init=1).fit(rows())
    with pytest.raises(AttributeError, match="kernel='rbf'"):
        model.set_params(kernel=None).components_  # noqa: B018
    other = TransformedKMeans(3, random_state=0, n_init=1).fit(rows())
    shape = other.components_.shape
    assert other.set_params(kernel="rbf").components_.shape == shape
