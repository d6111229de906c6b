"""Starts without rows, and the local method."""

import numpy as np
import pytest

from polymeans import KhatriRaoKMeans, KMeans, L1KMeans
from polymeans.datasets import make_stick_figures
from polymeans.federated import Rules, Site, simulate
from tests.federated.test_exact import cut, rows_of

SITES = 5


@pytest.mark.parametrize("start", ["summaries", "k-means||"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_starts_are_nearly_as_good_as_those_of_a_local_fit(start, metric):
    X = rows_of(n=900)
    estimator = KMeans(12, metric=metric, random_state=0)
    run = simulate(estimator, cut(X, SITES)[1], start=start, random_state=0)
    best = min(KMeans(12, metric=metric, random_state=s).fit(X).inertia_ for s in range(5))
    assert run.model.inertia_ < 1.25 * best


def test_khatri_rao_start_is_found_by_the_search_on_summaries():
    X, _ = make_stick_figures(600, random_state=0)
    X = X.astype(np.float32)
    estimator = KhatriRaoKMeans((3, 3), random_state=0)
    run = simulate(estimator, cut(X, SITES)[1], random_state=0)
    assert run.model.inertia_ < 1.02 * estimator.fit(X).inertia_


@pytest.mark.parametrize("least", [1, 7, 40])
@pytest.mark.parametrize("kind", ["summary", "candidates"])
def test_no_row_is_offered(least, kind):
    X = rows_of(n=200)
    site = Site("a", X, rules=Rules(min_count=least), seed=0)
    request = {"round": 1, "kind": kind, "n_micro": 500, "spherical": False}
    request |= {"known": X[:3].copy(), "expected": 20.0}
    reply = site.answer(request)
    distances = np.abs(reply["points"][:, None] - X[None]).max(axis=2)
    assert len(reply["points"])
    assert distances.min() > 1e-4
    if kind == "summary":
        counts = reply["counts"]["values"].astype(int) << reply["counts"]["shift"]
        assert counts.min() >= max(2, least)
        assert counts.sum() == len(X)


def test_too_few_points_to_begin_from():
    with pytest.raises(ValueError, match="n_clusters=30"):
        simulate(KMeans(30), [rows_of()], min_count=40)


def test_a_callable_start_is_refused():
    with pytest.raises(ValueError, match="never leave"):
        simulate(KMeans(3, init=lambda X, k, random_state: X[:k]), [rows_of()])


# --- the local method ------------------------------------------------------------------------


@pytest.mark.parametrize("as_published", [False, True])
@pytest.mark.parametrize("aggregator", [None, "sum", "product"])
def test_local_method_comes_near_the_exact_one(aggregator, as_published):
    X = np.abs(rows_of(n=900))
    estimator = KMeans(9, random_state=0)
    if aggregator is not None:
        estimator = KhatriRaoKMeans((3, 3), aggregator=aggregator, random_state=0)
    sites = cut(X, SITES)[1]
    run = simulate(estimator, sites, "local", as_published=as_published, random_state=0, rounds=8)
    exact = simulate(estimator, sites, random_state=0)
    assert run.model.inertia_ == pytest.approx(-run.model.score(X), rel=1e-6)
    assert run.model.inertia_ < (3.0 if as_published else 1.4) * exact.model.inertia_


def test_the_repaired_method_ends_by_its_objective_and_does_not_forget():
    X = rows_of(n=900)
    run = simulate(KMeans(9, random_state=0), cut(X, SITES)[1], "local", random_state=0, rounds=50)
    inertias = run.history.inertia[np.isfinite(run.history.inertia)]
    assert len(run.history) < 50
    assert run.model.inertia_ <= inertias.min()


def test_khatri_rao_sends_protocentroids():
    X = np.abs(rows_of(n=900, d=50))
    sites = cut(X, SITES)[1]
    options = {"method": "local", "as_published": True, "rounds": 4, "random_state": 0}
    grid = simulate(KhatriRaoKMeans((6, 6), aggregator="product", random_state=0), sites, **options)
    free = simulate(KMeans(36, random_state=0), sites, **options)
    assert grid.bytes_down < 0.5 * free.bytes_down
    assert grid.bytes_up < 0.7 * free.bytes_up


def test_the_local_method_is_for_some_estimators():
    with pytest.raises(ValueError, match="is for KMeans"):
        simulate(L1KMeans(3), [rows_of()], "local")
