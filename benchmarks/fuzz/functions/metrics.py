"""Scores of labelings against plain counting."""

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np

from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.watch import watched
from polymeans import metrics


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """Two tables of labels: the first columns are known, the others found."""
    n, n_true, n_pred = int(rng.integers(1, 25)), *map(int, rng.integers(1, 4, 2))
    labels = rng.integers(0, int(rng.integers(1, 5)), (n, n_true + n_pred)) - 1
    weights = None
    if rng.random() < 0.5:
        weights = rng.integers(0, 4, n) * 10.0 ** rng.integers(-100, 100)
        weights[0] = weights.max() + 1e-100
    return Case(area, seed, number, labels, weights=weights, params={"n_true": n_true})


def check(case: Case) -> Iterator[str]:
    """All scores of a table."""
    n_true = min(case.params["n_true"], case.X.shape[1])
    true, pred = case.X[:, :n_true], case.X[:, n_true:]
    if not pred.size:
        return
    yield from _classes(true[:, 0], pred[:, 0], case.weights)
    yield from _pairs(true, pred)
    yield from _information(case.X, case.weights)


def _classes(y: Any, c: Any, weights: Any) -> Iterator[str]:
    w = np.ones(len(y)) if weights is None else weights
    table = np.array([[w[(y == a) & (c == b)].sum() for b in np.unique(c)] for a in np.unique(y)])
    with watched(refusable=False):
        purity = metrics.purity(y, c, sample_weight=weights)
        accuracy = metrics.unsupervised_accuracy(y, c, sample_weight=weights)
        disorder = metrics.entropy(y, c, sample_weight=weights)
    yield _close("purity counts", purity, table.max(axis=0).sum() / w.sum())
    wide = table if table.shape[0] <= table.shape[1] else table.T
    best = max(
        sum(wide[i, j] for i, j in enumerate(order))
        for order in permutations(range(wide.shape[1]), wide.shape[0])
    )
    yield _close("accuracy counts", accuracy, best / w.sum())
    n_classes = np.count_nonzero(table.sum(axis=1))
    with np.errstate(all="ignore"):
        shares = table / table.sum(axis=0)
        terms = np.where(table > 0, -table * np.log(shares), 0.0)
    expected = terms.sum() / w.sum() / np.log(n_classes) if n_classes > 1 else 0.0
    yield _close("entropy counts", disorder, expected)


def _pairs(true: Any, pred: Any) -> Iterator[str]:
    def together(table: Any) -> set[tuple[int, int]]:
        varied = [column for column in table.T if len(np.unique(column)) > 1] or [table[:, 0]]
        return {
            (i, j)
            for i, j in combinations(range(len(table)), 2)
            if any(column[i] == column[j] for column in varied)
        }

    with watched(refusable=False):
        scores = metrics.pair_scores(true, pred)
        f1 = metrics.pair_f1_score(true, pred)
    known, found = together(true), together(pred)
    both = len(known & found)
    if not known and not found:
        expected = (1.0, 1.0, 1.0)
    else:
        expected = (
            both / len(found) if found else 0.0,
            both / len(known) if known else 0.0,
            2 * both / (len(known) + len(found)),
        )
    yield require(tuple(scores) == expected, "pairs count", f"{scores}, expected {expected}")
    yield require(f1 == expected[2], "pairs count", f"{f1}, expected {expected[2]}")


def _information(labels: Any, weights: Any) -> Iterator[str]:
    w = np.ones(len(labels)) if weights is None else weights
    joint = np.array(["/".join(map(str, row)) for row in labels])
    pairs = list(combinations(range(labels.shape[1]), 2))
    apart = [
        2 * _entropy(labels[:, [i, j]], w) - _entropy(labels[:, i], w) - _entropy(labels[:, j], w)
        for i, j in pairs
    ]
    with watched(refusable=False):
        first = metrics.variation_of_information(labels[:, 0], labels[:, 1], sample_weight=weights)
        mean = metrics.average_variation_of_information(labels, sample_weight=weights)
        matrix = metrics.mutual_information_matrix(labels, sample_weight=weights)
        share = metrics.view_redundancy(labels, correct_bias=False)
        confusion = metrics.labelings_confusion(labels, labels)
    yield _close("information counts", first, apart[0])
    yield _close("information counts", mean, float(np.mean(apart)))
    for (i, j), distance in zip(pairs, apart):
        total = _entropy(labels[:, i], w) + _entropy(labels[:, j], w)
        # 2 I = H(a) + H(b) - VI; labels that never vary tell everything about each other.
        expected = (total - distance) / total if total > 1e-9 else 1.0
        yield _close("information counts", matrix[i, j], expected, 1e-6)
    alone = sum(_entropy(column, np.ones(len(labels))) for column in labels.T)
    expected = 1 - _entropy(joint, np.ones(len(labels))) / alone if alone > 0 else 0.0
    yield _close("redundancy counts", share, min(max(expected, 0), 1 - 1 / labels.shape[1]))
    yield require((confusion.found > 1 - 1e-9).all(), "labelings match themselves", confusion)


def _entropy(labels: Any, w: Any) -> float:
    _, codes = np.unique(labels, axis=0, return_inverse=True)
    shares = np.bincount(codes.ravel(), w) / w.sum()
    shares = shares[shares > 0]
    return float(-(shares * np.log(shares)).sum())


def _close(promise: str, value: float, expected: float, tolerance: float = 1e-9) -> str:
    return require(abs(value - expected) <= tolerance, promise, f"{value!r}, expected {expected!r}")
