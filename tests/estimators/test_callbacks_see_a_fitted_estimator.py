"""A callback that asks for the fitted estimator gets one that works, at any time of a fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)

callback = pytest.importorskip("sklearn.callback")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = {
    "KMeans": KMeans(3, random_state=0),
    "KMeans, cosine": KMeans(3, metric="cosine", random_state=0),
    "KhatriRaoKMeans": KhatriRaoKMeans((2, 2), random_state=0, effort=0.1),
    "KhatriRaoKMeans, product": KhatriRaoKMeans(
        (2, 2), aggregator="product", random_state=0, effort=0.1
    ),
    "QuickKMeans": QuickKMeans(4, random_state=0),
    "QuickKMeans, means": QuickKMeans(4, centers="means", random_state=0),
    "QuickKMeans, chain": QuickKMeans(4, n_factors=3, random_state=0),
    "L1KMeans": L1KMeans(3, random_state=0),
    "NonRedundantKMeans": NonRedundantKMeans((2, 2), random_state=0, effort=0.1),
    "NonRedundantKMeans, one view": NonRedundantKMeans(3, random_state=0, effort=0.1),
    "NonRedundantKMeans, no view": NonRedundantKMeans(1, random_state=0, effort=0.1),
    "NonRedundantKMeans, whitened": NonRedundantKMeans(
        (2, 2), whiten=True, noise_space=False, random_state=0, effort=0.1
    ),
    "TransformedKMeans": TransformedKMeans(3, random_state=0, n_init=2),
    "TransformedKMeans, alternating": TransformedKMeans(
        3, algorithm="alternating", random_state=0, n_init=2
    ),
    "TransformedKMeans, kernel": TransformedKMeans(3, kernel="rbf", random_state=0, n_init=2),
    "TransformedKMeans, cg": TransformedKMeans(
        3, embedding=None, solver="cg", random_state=0, n_init=2
    ),
}


def rows(n_features=6, container=np.asarray):
    X = np.random.default_rng(0).normal(size=(60, n_features)) + 3.0
    return container(np.where(X > 2.5, X, 0.0))


class Watch:
    """Uses all methods of the fitted estimator after each task."""

    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        results = {}
        for method in ("predict", "transform", "score"):
            try:
                results[method] = getattr(fitted_estimator, method)(X)
            except NotImplementedError:
                results[method] = None
        results["cluster_centers_"] = fitted_estimator.cluster_centers_
        results["get_feature_names_out"] = fitted_estimator.get_feature_names_out()
        self.seen.append((context.task_name, results))
        return False

    def teardown(self, estimator, context):
        pass


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("name", MODELS)
def test_a_watched_fit_gives_the_same_bits(name, container):
    X = rows(container=container)
    model = clone(MODELS[name]).fit(X)
    watched = clone(MODELS[name]).set_callbacks(Watch()).fit(X)
    np.testing.assert_array_equal(watched.labels_, model.labels_)
    assert watched.inertia_ == model.inertia_
    np.testing.assert_array_equal(watched.predict(X), model.labels_)
    if model.cluster_centers_ is not None:
        np.testing.assert_array_equal(watched.cluster_centers_, model.cluster_centers_)
    for mine, other in zip(getattr(watched, "factors_", []), getattr(model, "factors_", [])):
        np.testing.assert_array_equal(mine.toarray(), other.toarray())


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("name", MODELS)
def test_methods_work_in_callbacks(name, container):
    X, watch = rows(container=container), Watch()
    model = clone(MODELS[name]).set_callbacks(watch).fit(X)
    assert {task for task, _ in watch.seen} >= {"iter", "init", "fit"}
    centers = model.cluster_centers_
    for _, results in watch.seen:
        assert results["predict"].shape == (60,)
        if centers is None:
            assert results["cluster_centers_"] is None
        else:
            assert results["cluster_centers_"].shape == centers.shape
            assert results["cluster_centers_"].dtype == centers.dtype
        if "cg" in name:  # neither of them works after the fit
            assert results["transform"] is None
            assert results["score"] is None
        else:
            n_columns = len(results["get_feature_names_out"])
            assert results["transform"].shape == (60, n_columns)
            assert np.isfinite(results["score"])
    last = watch.seen[-1][1]
    np.testing.assert_array_equal(last["predict"], model.predict(X))
    np.testing.assert_array_equal(last["cluster_centers_"], centers)


@pytest.mark.parametrize("name", MODELS)
def test_nothing_of_an_earlier_fit_is_seen(name):
    first, again = Watch(), Watch()
    clone(MODELS[name]).set_callbacks(first).fit(rows(6))
    model = clone(MODELS[name]).fit(rows(8))
    model.set_callbacks(again).fit(rows(6))
    for (_, one), (_, other) in zip(first.seen, again.seen, strict=True):
        assert one.keys() == other.keys()
        for key in one:
            np.testing.assert_array_equal(one[key], other[key])


@pytest.mark.parametrize("weights", [None, np.linspace(1.0, 2.0, 60)], ids=["equal", "weights"])
@pytest.mark.parametrize("name", [name for name in MODELS if "cg" not in name])
def test_scikit_learns_scoring_monitor(name, weights):
    def own_score(estimator, X, y, sample_weight=None):
        return {"score": estimator.score(X, y, sample_weight=sample_weight)}

    X, classes = rows(), np.arange(60) % 3
    # scoring=None, the estimator's own score, fails for any estimator in scikit-learn 1.9.
    monitor = callback.ScoringMonitor(scoring=own_score)
    model = clone(MODELS[name]).set_callbacks(monitor).fit(X, classes, sample_weight=weights)
    scores = [row["score"] for row in monitor.get_logs().data]
    assert len(scores) > model.n_iter_
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", [name for name in MODELS if "cg" not in name])
def test_a_monitor_of_labels_without_weights(name):
    monitor = callback.ScoringMonitor(scoring="adjusted_rand_score")
    clone(MODELS[name]).set_callbacks(monitor).fit(rows(), np.arange(60) % 3)
    scores = [row["adjusted_rand_score"] for row in monitor.get_logs().data]
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("error::UserWarning")
def test_named_features_are_known_in_callbacks():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows(3), columns=["a", "b", "c"])
    watch = Watch()
    KMeans(3, random_state=0).set_callbacks(watch).fit(frame)
    assert len(watch.seen) > 2
