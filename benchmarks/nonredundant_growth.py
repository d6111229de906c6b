"""Time of an iteration of non-redundant k-means as rows and features grow, beside ClustPy's.

ClustPy forms matrices of features by features and takes their eigenvectors; ours does not, so its
time should grow with the first power of both.
"""

import statistics
import time
import warnings
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Report, drawing
from benchmarks.nonredundant_data import GROWTH, GROWTH_SIZES, growing
from polymeans import NonRedundantKMeans

OURS, FIRST = "polymeans", "polymeans, first"
N_ITER = 20  #: of ours at most; the median is taken
PROBE = 3  #: of ClustPy's, after the first
LIMIT = 8.0  #: seconds for a fit of ClustPy, beyond which larger sizes are not tried
QUICK = 3.0  #: seconds for a fit of ClustPy, up to which it is measured again
WHAT = {"n": "rows", "d": "features"}


def run(options: Any, report: Report) -> None:
    """Both directions, a table each, and one figure."""
    asked = [key for key in GROWTH if options.only.lower() in f"growth {key}"]
    if not asked:
        return
    NonRedundantKMeans(GROWTH_SIZES, init=_labels(200)).fit(growing(200, 20))  # compile
    pyplot = drawing()
    figure, axes = pyplot.subplots(1, len(asked), figsize=(6 * len(asked), 4.5), layout="tight")
    for key, ax in zip(asked, np.atleast_1d(axes)):
        series = _measure(GROWTH[key], options.repeats)
        values = [case["nd".index(key)] for case in GROWTH[key]]
        _table(report, key, values, series)
        for name, seconds in series.items():
            ax.plot(values, seconds, marker="o", label=name)
        ax.set(xlabel=WHAT[key], ylabel="seconds of an iteration", xscale="log", yscale="log")
        ax.legend()
    report.figure("nonredundant_growth", figure)
    pyplot.close(figure)


def _measure(cases: list[tuple[int, int]], repeats: int) -> dict[str, list[float]]:
    """Seconds of an iteration; nan where a contender was too slow before."""
    names = {f"ClustPy, BLAS threads: {threads}": threads for threads in peers.blas_threads()}
    series: dict[str, list[float]] = {name: [] for name in (OURS, FIRST, *names)}
    slow: set[str] = set()
    for n, d in cases:
        X = growing(n, d)
        histories = [_our_seconds(X)]
        for name, threads in names.items():
            seconds, whole = (np.nan, 0.0) if name in slow else _peer_seconds(X, threads, repeats)
            series[name].append(seconds)
            if whole > LIMIT:
                slow.add(name)
            histories.append(_our_seconds(X))
        series[OURS].append(statistics.median(np.concatenate(histories)))
        series[FIRST].append(statistics.median(history[0] for history in histories))
        shown = ", ".join(f"{name} {seconds[-1]:.3g} s" for name, seconds in series.items())
        print(f"  growth: {n} rows, {d} features: {shown}", flush=True)
    return series


def _labels(n: int) -> np.ndarray:
    """Random ones: far from any optimum, so that there is something left to iterate."""
    return np.random.default_rng(0).integers(0, GROWTH_SIZES, size=(n, len(GROWTH_SIZES)))


def _our_seconds(X: np.ndarray) -> np.ndarray:
    """Of each iteration."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations that end early
        model = NonRedundantKMeans(GROWTH_SIZES, init=_labels(len(X)), max_iter=N_ITER).fit(X)
    return model.history_["seconds"]


def _peer_seconds(X: np.ndarray, threads: int, repeats: int) -> tuple[float, float]:
    """What later iterations of a fit add, each, and the seconds of the longer fit.

    The best of several measurements of both fits: their difference is small at first.
    """
    contender = peers.nrkmeans(X, GROWTH_SIZES, threads=threads)
    shortest, longest = np.inf, np.inf
    for _ in range(repeats):
        few, seconds = _timed(contender, 1)
        shortest = min(shortest, seconds)
        more, seconds = _timed(contender, 1 + PROBE)
        longest = min(longest, seconds)
        if seconds > QUICK:
            break
    return (longest - shortest) / max(more - few, 1), longest


def _timed(contender: Any, n_iter: int) -> tuple[int, float]:
    began = time.perf_counter()
    outcome = contender.run(n_iter)
    seconds = time.perf_counter() - began
    return outcome.get("n_iter", n_iter), seconds


def _table(report: Report, key: str, values: list[int], series: dict[str, list[float]]) -> None:
    rows = []
    for place, value in enumerate(values):
        row: dict[str, Any] = {WHAT[key]: value}
        row.update({name: seconds[place] for name, seconds in series.items()})
        others = [seconds[place] for name, seconds in series.items() if not name.startswith(OURS)]
        row["times"] = float(np.fmin.reduce(others)) / row[OURS]
        rows.append(row)
    for title, start in (("slope, all", 0), ("slope, last four", -4)):
        slopes = {name: _slope(values, seconds, start) for name, seconds in series.items()}
        rows.append({WHAT[key]: title, **slopes})
    fixed = "100 features" if key == "n" else "4000 rows"
    report.table(
        f"growth of {WHAT[key]}: seconds of an iteration, {fixed}",
        rows,
        "median of ours; first: its first iteration, in which every row gets new labels; "
        f"nan: the size before took more than {LIMIT:g} s; times: better ClustPy over ours; "
        "slope: of the logarithms, 1 is proportional",
    )


def _slope(values: list[int], seconds: list[float], start: int) -> float:
    """Of the measurements that were made, from the one at ``start``."""
    known = [(x, y) for x, y in zip(values, seconds) if y > 0][start:]
    if len(known) < 2:
        return np.nan
    return float(np.polyfit(*np.log(np.array(known).T), 1)[0])
