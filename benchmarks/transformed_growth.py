"""Time of a fit of transformed k-means as documents and words grow, beside spherical k-means.

Nothing of words by words or documents by documents should be formed for large data, so the time
should grow with the number of stored entries: with documents, and hardly with words.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.harness import Report, drawing
from benchmarks.transformed_data import (
    GROWTH,
    GROWTH_FEATURES,
    GROWTH_ROWS,
    GROWTH_TOPICS,
    growing,
)
from polymeans import KMeans, TransformedKMeans

SLOW = 5.0  #: seconds of a fit, beyond which it is measured once
WHAT = {"n": "rows", "d": "features"}


def _spherical(n_init: int) -> KMeans:
    return KMeans(GROWTH_TOPICS, metric="cosine", n_init=n_init, tol=0, random_state=0)


MODELS: dict[str, Callable[[], Any]] = {
    "transformed": lambda: TransformedKMeans(GROWTH_TOPICS, n_init=10, random_state=0),
    "spherical": lambda: _spherical(10),
    "no embedding, cg, 1 start": lambda: TransformedKMeans(
        GROWTH_TOPICS, embedding=None, solver="cg", n_init=1, random_state=0
    ),
    "spherical, 1 start": lambda: _spherical(1),
}


def run(options: Any, report: Report) -> None:
    """Both directions, a table each, and one figure."""
    asked = [key for key in GROWTH if options.only.lower() in f"growth {key}"]
    if not asked:
        return
    for make in MODELS.values():
        _seconds(make(), growing(200, 300))  # compile
    pyplot = drawing()
    figure, axes = pyplot.subplots(1, len(asked), figsize=(6 * len(asked), 4.5), layout="tight")
    for key, ax in zip(asked, np.atleast_1d(axes)):
        series = _measure(GROWTH[key], options.repeats)
        values = [case["nd".index(key)] for case in GROWTH[key]]
        _table(report, key, values, series)
        for name, seconds in series.items():
            ax.plot(values, seconds, marker="o", label=name)
        ax.set(xlabel=WHAT[key], ylabel="seconds of a fit", xscale="log", yscale="log")
        ax.set_xticks(values, map(str, values))
        ax.set_xticks([], minor=True)
        ax.legend()
    report.figure("transformed_growth", figure)
    pyplot.close(figure)


def _measure(cases: list[tuple[int, int]], repeats: int) -> dict[str, list[float]]:
    """Best seconds of a fit, everybody in turns."""
    series: dict[str, list[float]] = {name: [] for name in MODELS}
    for n, d in cases:
        X = growing(n, d)
        best = dict.fromkeys(MODELS, np.inf)
        for repeat in range(min(repeats, 3)):
            for name, make in MODELS.items():
                if repeat == 0 or best[name] < SLOW:
                    best[name] = min(best[name], _seconds(make(), X))
        for name, seconds in best.items():
            series[name].append(seconds)
        shown = ", ".join(f"{name} {seconds:.3g} s" for name, seconds in best.items())
        print(f"  growth: {n} rows, {d} features: {shown}", flush=True)
    return series


def _seconds(model: Any, X: sp.csr_array) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        model.fit(X)
        return time.perf_counter() - began


def _table(report: Report, key: str, values: list[int], series: dict[str, list[float]]) -> None:
    rows: list[dict[str, Any]] = [
        {WHAT[key]: value, **{name: seconds[place] for name, seconds in series.items()}}
        for place, value in enumerate(values)
    ]
    for row in rows:
        row["times"] = row["transformed"] / row["spherical"]
        row["times, cg"] = row["no embedding, cg, 1 start"] / row["spherical, 1 start"]
    slopes = {name: _slope(values, seconds) for name, seconds in series.items()}
    rows.append({WHAT[key]: "slope", **slopes})
    fixed = f"{GROWTH_FEATURES} features" if key == "n" else f"{GROWTH_ROWS} rows"
    report.table(
        f"growth of {WHAT[key]}: seconds of a fit, {fixed}, k={GROWTH_TOPICS}",
        rows,
        "best of the measurements; 10 starts unless said; times: over spherical k-means with as "
        "many starts; slope: of the logarithms, 1 is proportional",
    )


def _slope(values: list[int], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(values), np.log(seconds), 1)[0])
