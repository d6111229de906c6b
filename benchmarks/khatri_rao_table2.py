"""Table 2 of the Khatri-Rao paper, one default fit for each of 20 seeds, and other data sets.

The paper reports the best of 20 fits. Here every seed counts: the best, the middle and the worst
of them, and how many are above the paper's figure. Since the search was tuned on these data sets,
others follow, where the paper's protocol (the best of 20 plain descents from random rows) is run
on the same engine.
"""

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.data import load
from benchmarks.harness import Report
from benchmarks.khatri_rao_data import CASES, Case, scaled, standardized
from polymeans import KhatriRaoKMeans
from polymeans.datasets import make_double_digits, make_khatri_rao, make_stick_figures
from polymeans.metrics import parameter_ratio, unsupervised_accuracy

SEEDS = 20
SEEDS_ELSEWHERE = 10
AGGREGATORS = ("sum", "product")
ROUNDING = 0.005  #: the paper prints two digits


def run(options: Any, report: Report) -> None:
    """Both blocks. ``--repeats``, where given, is the number of seeds."""
    load(options.data, "r15")  # so that a missing folder is noticed before an hour is spent
    given = options.repeats if options.repeats != 3 else None
    _table2(options, report, given or SEEDS)
    _elsewhere(options, report, given or SEEDS_ELSEWHERE)


# --- Table 2 ---------------------------------------------------------------------------------


def _table2(options: Any, report: Report, n_seeds: int) -> None:
    quality: dict[str, list] = {aggregator: [] for aggregator in AGGREGATORS}
    cost: dict[str, list] = {aggregator: [] for aggregator in AGGREGATORS}
    for case in CASES:
        if options.only.lower() not in case.name.lower():
            continue
        X, y = case.make(options.data)
        free, free_seconds = _free(X, case.sizes[0] * case.sizes[1])
        same_budget, _ = _free(X, sum(case.sizes))
        for aggregator in AGGREGATORS:
            fits, seconds = _fits(X, case.sizes, aggregator, n_seeds)
            row = _quality(case, aggregator, fits, free, y)
            row["k-means h1+h2"] = same_budget / free
            quality[aggregator].append(row)
            cost[aggregator].append(_cost(case, fits, seconds, free_seconds))
            print(
                f"  {case.name} {aggregator}: paper {row['paper']}, median {row['median']:.4f}, "
                f"{row['above']} of {n_seeds} above",
                flush=True,
            )
    if not quality["sum"]:
        return
    print()
    for aggregator in AGGREGATORS:
        report.table(
            f"Table 2, {aggregator}: inertia over that of k-means(h1 h2), {n_seeds} default fits",
            _digits(quality[aggregator], 4),
            _verdict(quality[aggregator]),
        )
        report.table(
            f"Table 2, {aggregator}: cost of one fit",
            cost[aggregator],
            "passes: over all rows and columns, the search included; medians over seeds",
        )


def _free(X: np.ndarray, k: int) -> tuple[float, float]:
    """Inertia of k-means as the paper runs it, and seconds of those 20 runs."""
    began = time.perf_counter()
    model = KMeans(k, init="random", n_init=20, random_state=42).fit(X)
    return float(model.inertia_), time.perf_counter() - began


def _fits(
    X: np.ndarray, sizes: tuple[int, ...], aggregator: str, n_seeds: int
) -> tuple[list[KhatriRaoKMeans], list[float]]:
    fits, seconds = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _compile(aggregator, X.dtype)
        for seed in range(n_seeds):
            began = time.perf_counter()
            fits.append(KhatriRaoKMeans(sizes, aggregator=aggregator, random_state=seed).fit(X))
            seconds.append(time.perf_counter() - began)
    return fits, seconds


@cache
def _compile(aggregator: str, dtype: np.dtype) -> None:
    """Fits of the kinds to be timed, on few rows."""
    X = make_khatri_rao(200, noise=0.5, random_state=0)[0].astype(dtype)
    for init in ("search", "random"):
        KhatriRaoKMeans((3, 3), aggregator=aggregator, init=init, random_state=0).fit(X)


def _quality(
    case: Case, aggregator: str, fits: list[KhatriRaoKMeans], free: float, y: np.ndarray
) -> dict[str, Any]:
    paper = case.paper_sum if aggregator == "sum" else case.paper_product
    ratios = [fit.inertia_ / free for fit in fits]
    best = fits[int(np.argmin(ratios))]
    paper_ari = case.paper_ari[AGGREGATORS.index(aggregator)] if case.paper_ari else "-"
    return {
        "": case.name,
        "sizes": "x".join(map(str, case.sizes)),
        "paper": paper,
        "best": min(ratios),
        "median": statistics.median(ratios),
        "worst": max(ratios),
        "above": sum(ratio >= paper + ROUNDING for ratio in ratios),
        "ARI": float(adjusted_rand_score(y, best.labels_)),
        "paper ARI": paper_ari,
        "ACC": unsupervised_accuracy(y, best.labels_),
        "NMI": float(normalized_mutual_info_score(y, best.labels_)),
        "parameters": float(parameter_ratio(best)),
    }


def _cost(
    case: Case, fits: list[KhatriRaoKMeans], seconds: list[float], free_seconds: float
) -> dict[str, Any]:
    return {
        "": case.name,
        "rows": len(fits[0].labels_),
        "features": fits[0].n_features_in_,
        "seconds": statistics.median(seconds),
        "slowest": max(seconds),
        "iterations": statistics.median(fit.n_iter_ for fit in fits),
        "passes": statistics.median(fit.n_passes_ for fit in fits),
        "sklearn k-means, 20 runs": free_seconds,
    }


def _verdict(rows: list[dict[str, Any]]) -> str:
    missed = [row[""] for row in rows if row["median"] >= row["paper"] + ROUNDING]
    unsteady = [row[""] for row in rows if row["above"] > 1]
    return (
        f"median at or below the paper's best of 20: {len(rows) - len(missed)} of {len(rows)} rows"
        f"{_names(missed, ', not ')}; more than one seed above: {len(unsteady)}"
        f"{_names(unsteady, ', ')}"
    )


def _names(names: list[str], before: str) -> str:
    return before + ", ".join(names) if names else ""


def _digits(rows: list[dict[str, Any]], n_digits: int) -> list[dict[str, Any]]:
    """Figures with so many digits after the point; those of the paper as it prints them."""
    return [
        {
            key: f"{value:.{n_digits}f}"
            if isinstance(value, float) and not key.startswith("paper")
            else value
            for key, value in row.items()
        }
        for row in rows
    ]


# --- data the search was not tuned on --------------------------------------------------------


@dataclass(frozen=True)
class Elsewhere:
    """Rows, and the sizes to fit."""

    name: str
    sizes: tuple[int, ...]
    make: Callable[[Path | None], np.ndarray]


def _bundled(loader: Callable, prepare: Callable) -> Callable[[Path | None], np.ndarray]:
    return lambda folder: prepare(loader(return_X_y=True)[0])


def _made(maker: Callable, *arguments: Any, **options: Any) -> Callable[[Path | None], np.ndarray]:
    return lambda folder: maker(*arguments, **options, random_state=0)[0]


def _har(folder: Path | None) -> np.ndarray:
    return standardized(load(folder, "har_inertial_3350")["X"])


def _fashion(folder: Path | None) -> np.ndarray:
    file = load(folder, "fashion_mnist")
    first = [np.flatnonzero(file["y"] == label)[:500] for label in range(10)]
    return scaled(file["X"][np.concatenate(first)]).astype(np.float32)


ELSEWHERE = [
    Elsewhere("digits", (2, 5), _bundled(datasets.load_digits, lambda X: X / 16)),
    Elsewhere("digits", (4, 5), _bundled(datasets.load_digits, lambda X: X / 16)),
    Elsewhere("iris", (2, 3), _bundled(datasets.load_iris, standardized)),
    Elsewhere("wine", (2, 3), _bundled(datasets.load_wine, standardized)),
    Elsewhere("breast cancer", (3, 3), _bundled(datasets.load_breast_cancer, standardized)),
    Elsewhere("HAR signals", (2, 3), _har),
    Elsewhere("Fashion-MNIST 5000", (2, 5), _fashion),
    Elsewhere("make_khatri_rao sum", (4, 5), _made(make_khatri_rao, 2000, (4, 5), 8, noise=0.2)),
    Elsewhere(
        "make_khatri_rao product",
        (4, 5),
        _made(make_khatri_rao, 2000, (4, 5), 8, aggregator="product", noise=0.2),
    ),
    Elsewhere(
        "make_khatri_rao 3 sets, interaction",
        (3, 4, 5),
        _made(make_khatri_rao, 3000, (3, 4, 5), 10, noise=0.2, interaction=0.2),
    ),
    Elsewhere("make_stick_figures", (3, 3), _made(make_stick_figures)),
    Elsewhere("make_double_digits", (10, 10), _made(make_double_digits, 3000)),
]


def _elsewhere(options: Any, report: Report, n_seeds: int) -> None:
    rows = []
    for case in ELSEWHERE:
        if options.only.lower() not in case.name.lower():
            continue
        X = case.make(options.data)
        for aggregator in AGGREGATORS:
            fits, seconds = _fits(X, case.sizes, aggregator, n_seeds)
            plain, plain_seconds = _plain(X, case.sizes, aggregator)
            ratios = [fit.inertia_ / plain for fit in fits]
            rows.append(
                {
                    "": case.name,
                    "sizes": "x".join(map(str, case.sizes)),
                    "aggregator": aggregator,
                    "best of 20 plain": plain,
                    "best": min(ratios),
                    "median": statistics.median(ratios),
                    "worst": max(ratios),
                    "above": sum(ratio > 1 + 1e-4 for ratio in ratios),
                    "seconds": statistics.median(seconds),
                    "20 plain seconds": plain_seconds,
                }
            )
    if not rows:
        return
    for row in rows:
        row.update({key: f"{row[key]:.4f}" for key in ("best", "median", "worst")})
    report.table(
        f"not tuned on: inertia of {n_seeds} default fits over the best of 20 plain descents",
        rows,
        "above: seeds more than 0.01% above the best of 20 plain descents from random rows",
    )


def _plain(X: np.ndarray, sizes: tuple[int, ...], aggregator: str) -> tuple[float, float]:
    """The paper's protocol on our engine."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KhatriRaoKMeans(
            sizes, aggregator=aggregator, init="random", n_init=20, random_state=42
        ).fit(X)
    return model.inertia_, time.perf_counter() - began
