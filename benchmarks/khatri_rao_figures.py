"""Figures 6, 7 and 8 of the Khatri-Rao paper: budgets, numbers of sets, growth.

Ours are single default fits (medians over ``--repeats`` seeds); k-means is the best of 20 runs of
scikit-learn from random rows, as in the paper. "naive" is the paper's two-phase baseline, k-means
first and its centroids taken apart afterwards, with our decomposition for the second phase.
"""

import json
import statistics
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

from benchmarks.harness import Report, drawing, in_new_process
from benchmarks.khatri_rao_data import CASES
from polymeans import KhatriRaoKMeans
from polymeans.codebooks.aggregation import combine
from polymeans.grids.decomposition import decompose_centroids
from polymeans.metrics import purity

DATA_SETS = ("Blobs", "Classification")

#: Figure 6: both sets have so many protocentroids.
CARDINALITIES = range(2, 11)
#: The paper: inertia of the better aggregator over that of k-means with the same budget, at most.
PAPER_SHARE = {"Blobs": 0.31, "Classification": 0.81}

#: Figure 7: twelve vectors in two, three and four sets.
SPLITS = ((6, 6), (4, 4, 4), (3, 3, 3, 3))

Outcome = tuple[float, float]  #: inertia and purity


def run(options: Any, report: Report) -> None:
    """The three figures."""
    if options.only.lower() in "figure 6":
        _figure6(options, report)
    if options.only.lower() in "figure 7":
        _figure7(options, report)
    if options.only.lower() in "figure 8":
        _figure8(report)


def _rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    return next(case for case in CASES if case.name == name).make(None)


def _grid(
    X: np.ndarray, y: np.ndarray, sizes: Sequence[int], aggregator: str, n_seeds: int
) -> Outcome:
    fits = [
        KhatriRaoKMeans(sizes, aggregator=aggregator, random_state=seed).fit(X)
        for seed in range(n_seeds)
    ]
    return (
        statistics.median(fit.inertia_ for fit in fits),
        statistics.median(purity(y, fit.labels_) for fit in fits),
    )


def _free(X: np.ndarray, k: int) -> KMeans:
    return KMeans(k, init="random", n_init=20, random_state=42).fit(X)


def _naive(X: np.ndarray, y: np.ndarray, sizes: Sequence[int], free: KMeans) -> Outcome:
    found = decompose_centroids(free.cluster_centers_, sizes, aggregator="product", random_state=0)
    centers = combine(found.protocentroids, "product")
    labels, distances = pairwise_distances_argmin_min(X, centers)
    return float(np.square(distances).sum()), purity(y, labels)


def _contenders(
    X: np.ndarray, y: np.ndarray, sizes: Sequence[int], n_seeds: int
) -> dict[str, Outcome]:
    small, large = _free(X, sum(sizes)), _free(X, prod(sizes))
    return {
        "sum": _grid(X, y, sizes, "sum", n_seeds),
        "product": _grid(X, y, sizes, "product", n_seeds),
        "naive": _naive(X, y, sizes, large),
        "k-means h1+h2": (float(small.inertia_), purity(y, small.labels_)),
        "k-means h1 h2": (float(large.inertia_), purity(y, large.labels_)),
    }


# --- Figure 6 --------------------------------------------------------------------------------


def _figure6(options: Any, report: Report) -> None:
    series = {}
    for name in DATA_SETS:
        X, y = _rows(name)
        found = [_contenders(X, y, (h, h), options.repeats) for h in CARDINALITIES]
        series[name] = found
        for which, what in enumerate(("inertia", "purity")):
            rows = []
            for h, outcomes in zip(CARDINALITIES, found):
                row: dict[str, Any] = {"h1=h2": h}
                row.update({method: outcome[which] for method, outcome in outcomes.items()})
                row["share"] = _share(row, what)
                rows.append(row)
            note = "share: better aggregator over k-means with as many vectors"
            if what == "inertia":
                note += f" (paper: at most {PAPER_SHARE[name]}, at sizes it does not list)"
            report.table(f"Figure 6, {name}: {what}", rows, note)
    pyplot = drawing()
    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8), layout="tight")
    for line, name in zip(axes, DATA_SETS):
        for which, (ax, what) in enumerate(zip(line, ("inertia", "purity"))):
            for method in series[name][0]:
                values = [outcomes[method][which] for outcomes in series[name]]
                ax.plot(CARDINALITIES, values, marker="o", label=method)
            ax.set(title=name, xlabel="h1 = h2", ylabel=what)
            if what == "inertia":
                ax.set_yscale("log")
    axes[0, 0].legend()
    report.figure("khatri_rao_figure6", figure)
    pyplot.close(figure)


def _share(row: dict[str, Any], what: str) -> float:
    better = min if what == "inertia" else max
    return better(row["sum"], row["product"]) / row["k-means h1+h2"]


# --- Figure 7 --------------------------------------------------------------------------------


def _figure7(options: Any, report: Report) -> None:
    pyplot = drawing()
    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8), layout="tight")
    for line, name in zip(axes, DATA_SETS):
        X, y = _rows(name)
        baselines = {
            f"k-means {k}": (float(free.inertia_), purity(y, free.labels_))
            for k in (12, 36)
            for free in [_free(X, k)]
        }
        baselines["naive 6+6"] = _naive(X, y, (6, 6), _free(X, 36))
        grids = {
            aggregator: [_grid(X, y, sizes, aggregator, options.repeats) for sizes in SPLITS]
            for aggregator in ("sum", "product")
        }
        rows = [
            {"": f"{aggregator} {sizes}", "centroids": prod(sizes), "inertia": inertia, "purity": p}
            for aggregator, outcomes in grids.items()
            for sizes, (inertia, p) in zip(SPLITS, outcomes)
        ]
        rows += [{"": title, "inertia": i, "purity": p} for title, (i, p) in baselines.items()]
        report.table(f"Figure 7, {name}: twelve vectors", rows)
        for which, (ax, what) in enumerate(zip(line, ("inertia", "purity"))):
            for aggregator, outcomes in grids.items():
                values = [outcome[which] for outcome in outcomes]
                ax.plot([2, 3, 4], values, marker="o", label=aggregator)
            for number, (title, outcome) in enumerate(baselines.items()):
                ax.axhline(outcome[which], color=f"C{number + 2}", linestyle="--", label=title)
            ax.set(title=name, xlabel="sets of protocentroids", ylabel=what, xticks=[2, 3, 4])
    axes[0, 0].legend()
    report.figure("khatri_rao_figure7", figure)
    pyplot.close(figure)


# --- Figure 8 --------------------------------------------------------------------------------

N_ITER = 5
PATIENCE = 60  #: seconds for a process

#: What grows: rows, features and sizes of the sets, in the paper's ranges.
GROWTH: dict[str, list[tuple[int, int, tuple[int, int]]]] = {
    "n": [(n, 100, (10, 10)) for n in (4000, 8000, 12000, 16000)],
    "m": [(1000, m, (10, 10)) for m in (10000, 15000, 20000, 25000)],
    "k": [(20000, 100, sizes) for sizes in ((50, 50), (50, 100), (75, 100), (100, 100))],
}

#: Aggregator and ``store_centroids`` of ours.
OURS = {
    "sum": ("sum", "auto"),
    "product stored": ("product", True),
    "product streamed": ("product", False),
}
PEERS = ("sklearn h1 h2", "sklearn h1+h2")

_PROBE = """
import json, time, warnings
import numpy as np
from sklearn.datasets import make_blobs
warnings.simplefilter("ignore")  # of empty clusters
n, m, sizes, name, ours, n_iter = {arguments!r}
X = make_blobs(n, centers=100, n_features=m, random_state=42)[0].astype(np.float32)
rng = np.random.RandomState(0)
rows = X[rng.choice(n, sum(sizes))]
sets = [rows[:sizes[0]], rows[sizes[0]:]]
if name in ours:
    from polymeans import KhatriRaoKMeans
    aggregator, store = ours[name]
    if aggregator == "sum":
        sets[1] = sets[1] - X.mean(axis=0)
    else:  # factors about one
        sets[1] = np.exp(0.2 * rng.standard_normal(sets[1].shape)).astype(np.float32)
    def fit(X, small, n_iter):
        init = [part[:8] for part in sets] if small else sets
        KhatriRaoKMeans(
            tuple(map(len, init)), aggregator=aggregator, store_centroids=store, init=init,
            max_iter=n_iter, tol=0,
        ).fit(X)
else:
    from sklearn.cluster import KMeans
    centers = rows
    if name == "sklearn h1 h2":
        sets[1] = sets[1] - X.mean(axis=0)
        centers = (sets[0][:, None] + sets[1]).reshape(-1, m)
    def fit(X, small, n_iter):
        init = centers[:64] if small else centers
        KMeans(len(init), init=init, n_init=1, max_iter=n_iter, tol=0).fit(X)
fit(X[:200], True, 2)
times = []
def timed():
    began = time.perf_counter()
    fit(X, False, n_iter)
    times.append(time.perf_counter() - began)
peak = added_peak(timed)
if times[0] < 10:
    timed()
print(json.dumps([min(times), peak]))
"""


def _figure8(report: Report) -> None:
    """Time and additional peak memory, each in a process of its own."""
    pyplot = drawing()
    figure, axes = pyplot.subplots(2, 3, figsize=(14, 8), layout="tight")
    for column, (what, cases) in zip(axes.T, GROWTH.items()):
        seconds: dict[str, list[float]] = {name: [] for name in (*OURS, *PEERS)}
        peaks: dict[str, list[float]] = {name: [] for name in seconds}
        for n, m, sizes in cases:
            for name in seconds:
                slow = bool(seconds[name]) and np.isnan(seconds[name][-1])
                code = _PROBE.format(arguments=(n, m, sizes, name, OURS, N_ITER))
                answer = "" if slow else in_new_process(code, PATIENCE)
                took, peak = json.loads(answer) if answer else (np.nan, np.nan)
                seconds[name].append(took)
                peaks[name].append(peak)
        labels = [{"n": n, "m": m, "k": prod(sizes)}[what] for n, m, sizes in cases]
        for ax, unit, values in ((column[0], "seconds", seconds), (column[1], "MB", peaks)):
            rows = [
                {what: label, **{name: found[i] for name, found in values.items()}}
                for i, label in enumerate(labels)
            ]
            title = "time of a fit" if unit == "seconds" else "additional peak memory"
            report.table(
                f"Figure 8, growth of {what}: {title}, {N_ITER} iterations, {unit}",
                rows,
                f"nan: not done after {PATIENCE} seconds, larger ones not tried",
            )
            for name, found in values.items():
                ax.plot(labels, found, marker="o", label=name)
            ax.set(xlabel=what, ylabel=unit, yscale="log", xticks=labels)
    axes[0, 0].legend()
    report.figure("khatri_rao_figure8", figure)
    pyplot.close(figure)
