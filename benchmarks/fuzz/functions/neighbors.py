"""Neighbors by way of clusters against all distances."""

from collections.abc import Iterator

import numpy as np

from benchmarks.fuzz import oracles
from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.containers import SPARSE, fingerprint, wrap
from benchmarks.fuzz.values import KINDS, draw_values
from benchmarks.fuzz.watch import watched
from polymeans import KMeans
from polymeans.neighbors import (
    ClusterKNeighborsClassifier,
    ClusterKNeighborsRegressor,
    ClusterNeighbors,
)

#: Scales whose squares are numbers: distances of others are not promised.
_KINDS = tuple(
    name for name in KINDS if name not in ("largest", "huge", "row scales", "denormal", "tiny")
)


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """Rows to search among; the queries are some of them, moved a little."""
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    dtype = "float32" if rng.random() < 0.3 else "float64"
    X, kind = draw_values(rng, n, d, dtype, _KINDS)
    container = str(rng.choice(SPARSE)) if rng.random() < 0.3 else "C order"
    params = {
        "n_neighbors": int(rng.integers(1, n)),
        "n_clusters": int(rng.integers(1, min(n, 6) + 1)),
        "n_threads": int(rng.integers(1, 4)),
        "own": bool(rng.random() < 0.3),
        "n_probe": "exact" if rng.random() < 0.8 else int(rng.integers(1, 3)),
    }
    return Case(area, seed, number, X, container, None, params, frozenset({kind, container, dtype}))


def check(case: Case) -> Iterator[str]:
    """The nearest rows, nearest first."""
    X, params = wrap(case.X, case.container), case.params
    before = fingerprint(X)
    if params["n_neighbors"] >= len(case.X) or params["n_clusters"] > len(case.X):
        return  # after shrinking
    clusterer = KMeans(params["n_clusters"], random_state=0)
    model = ClusterNeighbors(
        params["n_neighbors"],
        n_probe=params["n_probe"],
        clusterer=clusterer,
        n_threads=params["n_threads"],
    )
    queries = case.X[case.rng(2).permutation(len(case.X))[:5]]
    queries = queries + (case.X[:1] - case.X[-1:]) * queries.dtype.type(0.25)
    if not np.isfinite(queries).all() or float(np.abs(case.X).max()) > 1e150:
        return
    with watched(refusable=False):
        model.fit(X)
        given = None if params["own"] else wrap(queries, case.container)
        distances, indices = model.kneighbors(given)
    yield require(fingerprint(X) == before, "input is unchanged", "rows differ")
    rows = case.X if params["own"] else queries
    exact = np.sqrt(oracles.squared_distances(rows, case.X))
    if params["own"]:
        np.fill_diagonal(exact, np.inf)
    found = np.take_along_axis(exact, indices.astype(int), axis=1)
    smallest = 1e-300
    yield require(
        (np.abs(distances - found) <= 1e-6 * found + smallest).all(),
        "distances are accurate",
        lambda: f"largest error {float(np.abs(distances - found).max()):.3g}",
    )
    yield require((np.diff(distances, axis=1) >= 0).all(), "nearest first", distances)
    if params["n_probe"] == "exact":
        best = np.sort(exact, axis=1)[:, : params["n_neighbors"]]
        yield require(
            (found <= best * (1 + 1e-9) + smallest).all(),
            "neighbors are the nearest",
            lambda: f"found {found.max(axis=1)}, nearest {best.max(axis=1)}",
        )
    yield from _supervised(case, rows if not params["own"] else case.X, clusterer)


def _supervised(case: Case, rows: np.ndarray, clusterer: KMeans) -> Iterator[str]:
    rng = case.rng(3)
    y = rng.integers(0, 3, len(case.X))
    options = {"n_neighbors": 1, "n_probe": "exact", "clusterer": clusterer}
    with watched(refusable=False):
        classes = ClusterKNeighborsClassifier(**options).fit(case.X, y)
        chances = classes.predict_proba(rows)
        values = ClusterKNeighborsRegressor(**options).fit(case.X, y * 1.0).predict(rows)
    yield require(np.allclose(chances.sum(axis=1), 1), "chances add up to one", chances)
    yield require(np.isin(values, y).all(), "one neighbor, one value", values)
