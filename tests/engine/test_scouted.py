"""Bounds that are set up once a sample shows that they pay: labels stay, and both ways are gone."""

import numpy as np
import pytest

from polymeans import KMeans
from polymeans.engine import assignment
from polymeans.engine.dense_assigners import DenseLazy
from polymeans.engine.scouted import ScoutedLazy


def _rows(kind, dtype, n=6000, d=64, k=200):
    rng = np.random.default_rng(0)
    if kind == "noise":
        return rng.normal(size=(n, d)).astype(dtype)
    groups = 3 * rng.normal(size=(k, d))
    return (groups[rng.integers(0, k, n)] + rng.normal(size=(n, d))).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kind", "pays"), [("noise", False), ("groups", True)])
def test_bounds_are_set_up_where_they_pay(kind, pays, dtype, monkeypatch):
    X = _rows(kind, dtype)
    made = []
    original = ScoutedLazy.__init__
    monkeypatch.setattr(
        ScoutedLazy,
        "__init__",
        lambda self, *arguments: (original(self, *arguments), made.append(self))[0],
    )
    # Few iterations: late in a fit bounds pay for noise, too.
    given = {"n_clusters": 200, "init": X[:200], "tol": 0, "max_iter": 12 if pays else 4}
    model = KMeans(**given).fit(X)
    (scouted,) = made
    assert (scouted._lazy is not None) == pays
    plain = KMeans(**given, algorithm="lloyd").fit(X)
    assert (model.labels_ == plain.labels_).all()
    assert (model.cluster_centers_ == plain.cluster_centers_).all()
    assert model.inertia_ == plain.inertia_


def test_clusters_that_lose_all_rows_are_placed_anew(monkeypatch):
    X = _rows("groups", np.float32)
    start = X[:200].copy()
    start[50:60] = 1e3  # no row is near
    given = {"n_clusters": 200, "init": start, "tol": 0, "max_iter": 20}
    scouted = KMeans(**given).fit(X)
    plain = KMeans(**given, algorithm="lloyd").fit(X)
    assert (scouted.labels_ == plain.labels_).all()
    assert len(np.unique(scouted.labels_)) == 200
    monkeypatch.setattr(assignment.ScoutedLazy, "serves", staticmethod(lambda rows: False))
    lazy = KMeans(**given).fit(X)
    assert (lazy.labels_ == plain.labels_).all()


def test_few_rows_are_not_sampled(monkeypatch):
    def refuse(*arguments):
        raise AssertionError

    monkeypatch.setattr(ScoutedLazy, "__init__", refuse)
    X = _rows("groups", np.float32, n=2000)
    calls = []
    original = DenseLazy.assign
    monkeypatch.setattr(
        DenseLazy, "assign", lambda *arguments: (calls.append(1), original(*arguments))[1]
    )
    KMeans(200, init=X[:200]).fit(X)
    assert calls
