"""Sizes of grids, decomposition and diagnosis of centroids."""

from collections.abc import Iterator
from functools import reduce
from itertools import combinations_with_replacement
from math import prod

import numpy as np

from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.containers import fingerprint, wrap
from benchmarks.fuzz.values import MODERATE, draw_values
from benchmarks.fuzz.watch import watched
from polymeans import balanced_sizes, decompose_centroids, diagnose_structure
from polymeans.grids import diagnose_centroids, largest_grid, n_sets_bounds


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """Centroids for a grid with as many cells, or more."""
    sizes = tuple(map(int, rng.integers(1, 4, int(rng.integers(1, 4)))))
    k = int(rng.integers(1, prod(sizes) + 1))
    X, kind = draw_values(rng, k, int(rng.integers(1, 5)), "float64", MODERATE)
    weights = rng.integers(0, 4, k) * 1.0 if rng.random() < 0.3 else None
    if weights is not None:
        weights[0] = 1.0
    params = {
        "n_protocentroids": sizes,
        "aggregator": str(rng.choice(["sum", "product"])),
        "random_state": int(rng.integers(100)),
    }
    return Case(area, seed, number, X, "C order", weights, params, frozenset({kind}))


def check(case: Case) -> Iterator[str]:
    """Sizes by trying all, errors by counting again."""
    yield from _sizes(case)
    X, sizes = wrap(case.X, case.container), case.params["n_protocentroids"]
    before = fingerprint(X)
    with watched(refusable=False):
        found = decompose_centroids(X, weights=case.weights, n_init=2, max_iter=10, **case.params)
    yield require(fingerprint(X) == before, "input is unchanged", "centers differ")
    together = np.add if case.params["aggregator"] == "sum" else np.multiply
    sets = [part.astype(np.longdouble) for part in found.protocentroids]
    cells = np.unravel_index(found.cells, sizes)
    made = reduce(together, [part[index] for part, index in zip(sets, cells)])
    w = np.ones(len(case.X)) if case.weights is None else case.weights
    error = float((w[:, None] * (case.X.astype(np.longdouble) - made) ** 2).sum())
    scale = float((w[:, None] * case.X.astype(np.longdouble) ** 2).sum())
    yield require(len(set(found.cells.tolist())) == len(case.X), "no cell twice", found.cells)
    yield require(
        abs(error - found.error) <= 1e-6 * error + 1e-9 * scale,
        "reported error is that of the grid",
        f"{found.error!r}, really {error!r}",
    )
    steps = np.diff(found.history)
    yield require(
        (steps <= 1e-9 * (found.history[:-1] + scale)).all(), "error never rises", found.history
    )
    if case.rng(2).random() < 0.1 and len(sizes) > 1 and prod(sizes) == len(case.X) > 3:
        yield from _diagnosis(case, sizes)


def _diagnosis(case: Case, sizes: tuple[int, ...]) -> Iterator[str]:
    with watched(refusable=True):
        report = diagnose_centroids(case.X, sizes, weights=case.weights, n_null=3, random_state=0)
        rows = np.repeat(case.X, 2, axis=0)
        other = diagnose_structure(rows, sizes, n_null=3, random_state=0)
    for evidence in (report.additive, report.multiplicative, other.additive, other.multiplicative):
        inside = evidence.share <= 1 + 1e-9 and 0.25 <= evidence.p_value <= 1
        yield require(inside, "evidence is a share and a chance", evidence)
    yield require(report.verdict == "none", "three comparisons convince nobody", report.verdict)


def _sizes(case: Case) -> Iterator[str]:
    rng = case.rng(3)
    n_clusters, n_sets = int(rng.integers(1, 60)), int(rng.integers(1, 4))
    with watched(refusable=False):
        found = balanced_sizes(n_clusters, n_sets)
        budget = int(rng.integers(n_sets, 14))
        largest, best = largest_grid(budget, n_sets), largest_grid(budget)
        fewest, _ = n_sets_bounds(n_clusters, 3)
    enough = (
        [
            sizes
            for sizes in combinations_with_replacement(range(1, n_clusters + 1), n_sets)
            if prod(sizes) >= n_clusters
        ]
        if n_clusters**n_sets < 50_000
        else [found]
    )
    least = min(map(sum, enough))
    yield require(
        sum(found) == least and prod(found) >= n_clusters, "fewest vectors", f"{found}, {least}"
    )
    most = max(prod(s) for s in _splits(budget, n_sets))
    yield require(prod(largest) == most and sum(largest) == budget, "largest grid", largest)
    best_of_all = max(prod(s) for p in range(1, budget + 1) for s in _splits(budget, p))
    yield require(prod(best) == best_of_all, "largest grid", best)
    yield require(3**fewest >= n_clusters, "enough sets", fewest)
    yield require(fewest == 1 or 3 ** (fewest - 1) < n_clusters, "enough sets", fewest)


def _splits(budget: int, n_sets: int) -> list[tuple[int, ...]]:
    if n_sets == 1:
        return [(budget,)]
    return [
        (first, *rest)
        for first in range(1, budget // n_sets + 1)
        for rest in _splits(budget - first, n_sets - 1)
        if rest[0] >= first
    ]
