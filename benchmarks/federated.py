"""Clustering rows that stay with their writers (Khatri-Rao paper, section 9.4 and Figure 10).

FEMNIST, 784 pixels, about 120 images a writer. Everybody gets the same number of rounds and, at a
given budget, the same number of vectors in each message from the server: k centroids, or two sets
of k / 2 protocentroids.
"""

import statistics
import time
from typing import Any

import numpy as np

from benchmarks.data import load
from benchmarks.federated_averaging import average
from benchmarks.harness import Report, drawing
from polymeans import KhatriRaoKMeans, KMeans
from polymeans.federated import simulate

VECTORS = (4, 6, 8, 12, 20, 30)
ROUNDS = 10
SEEDS = (0, 1, 2)


def _free(k: int, seed: int) -> KMeans:
    return KMeans(k, random_state=seed)


def _grid(aggregator: str) -> Any:
    def make(k: int, seed: int) -> KhatriRaoKMeans:
        return KhatriRaoKMeans((k // 2, k // 2), aggregator=aggregator, random_state=seed)

    return make


#: Title, estimator of a number of vectors and a seed, options of a run.
METHODS: list[tuple[str, Any, dict[str, Any]]] = [
    ("FkM published", _free, {"method": "local", "as_published": True}),
    ("KR-FkM published, product", _grid("product"), {"method": "local", "as_published": True}),
    ("KR-FkM published, sum", _grid("sum"), {"method": "local", "as_published": True}),
    ("FkM repaired", _free, {"method": "local"}),
    ("KR-FkM repaired, product", _grid("product"), {"method": "local"}),
    ("KR-FkM repaired, sum", _grid("sum"), {"method": "local"}),
    ("exact", _free, {"method": "exact"}),
    ("exact KR, product", _grid("product"), {"method": "exact"}),
    ("exact KR, sum", _grid("sum"), {"method": "exact"}),
]
AVERAGED = "averaged mini-batches"


def run(options: Any, report: Report) -> None:
    """Ten and forty writers."""
    file = load(options.data, "femnist_clients")
    X, writer = (file["X"] / np.float32(255)).astype(np.float32), file["client"]
    for n_sites in (10, 40):
        title = f"{n_sites} sites"
        if options.only and options.only not in title:
            continue
        sites = [X[writer == number] for number in range(n_sites)]
        rows = np.concatenate(sites)
        results = _all(sites, rows)
        spread = float(((rows - rows.mean(axis=0)) ** 2).sum())
        note = f"{len(rows)} rows, {ROUNDS} rounds, medians of {len(SEEDS)} seeds; "
        note += f"inertia of a single centroid {spread:.0f}"
        report.table(f"inertia, {title}", _table(results, "inertia"), note)
        for key in ("down", "up", "both"):
            report.table(f"KB {key}, {title}", _table(results, key))
        report.table(f"FkM's inertia over KR's at equal vectors, {title}", _ratios(results))
        report.table(f"seconds of a run, {title}", _table(results, "seconds"))
        _draw(results, title, report)


def _all(sites: list[np.ndarray], rows: np.ndarray) -> dict[tuple[str, int], dict[str, float]]:
    results = {}
    for k in VECTORS:
        for title, make, how in METHODS:
            runs = [_one(make(k, seed), sites, rows, seed, how) for seed in SEEDS]
            results[title, k] = {
                key: statistics.median(one[key] for one in runs) for key in runs[0]
            }
        runs = [_averaged(sites, rows, k, seed) for seed in SEEDS]
        results[AVERAGED, k] = {key: statistics.median(one[key] for one in runs) for key in runs[0]}
    return results


def _one(
    estimator: Any, sites: list[np.ndarray], rows: np.ndarray, seed: int, how: dict[str, Any]
) -> dict[str, float]:
    began = time.perf_counter()
    run = simulate(estimator, sites, rounds=ROUNDS, random_state=seed, **how)
    seconds = time.perf_counter() - began
    down, up = run.bytes_down / 1e3, run.bytes_up / 1e3
    inertia = -run.model.score(rows)
    return {"inertia": inertia, "down": down, "up": up, "both": down + up, "seconds": seconds}


def _averaged(sites: list[np.ndarray], rows: np.ndarray, k: int, seed: int) -> dict[str, float]:
    began = time.perf_counter()
    run = average(sites, k, ROUNDS, seed)
    seconds = time.perf_counter() - began
    squares = (rows**2).sum(axis=1)[:, None] - 2 * rows @ run.centers.T
    inertia = float((squares + (run.centers**2).sum(axis=1)).min(axis=1).sum())
    down, up = run.bytes_down / 1e3, run.bytes_up / 1e3
    return {"inertia": inertia, "down": down, "up": up, "both": down + up, "seconds": seconds}


def _titles() -> list[str]:
    return [title for title, _, _ in METHODS] + [AVERAGED]


def _table(results: dict[tuple[str, int], dict[str, float]], key: str) -> list[dict[str, Any]]:
    return [
        {"": title, **{f"{k} vectors": results[title, k][key] for k in VECTORS}}
        for title in _titles()
    ]


def _ratios(results: dict[tuple[str, int], dict[str, float]]) -> list[dict[str, Any]]:
    table = []
    for free, grid in [
        ("FkM published", "KR-FkM published, product"),
        ("FkM published", "KR-FkM published, sum"),
        ("FkM published", "exact KR, product"),
        ("FkM published", "exact KR, sum"),
        ("FkM repaired", "KR-FkM repaired, product"),
        ("exact", "exact KR, product"),
        ("exact", "exact KR, sum"),
    ]:
        ratio = {
            f"{k} vectors": results[free, k]["inertia"] / results[grid, k]["inertia"]
            for k in VECTORS
        }
        table.append({"": f"{free} / {grid}", **ratio})
    return table


def _draw(results: dict[tuple[str, int], dict[str, float]], title: str, report: Report) -> None:
    pyplot = drawing()
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 4.6), layout="tight", sharey=True)
    for ax, key, label in [
        (axes[0], "down", "kilobytes from the server to the sites"),
        (axes[1], "both", "kilobytes in both directions"),
    ]:
        for number, name in enumerate(_titles()):
            points = sorted((results[name, k][key], results[name, k]["inertia"]) for k in VECTORS)
            style = "--" if "published" in name else ":" if name == AVERAGED else "-"
            marker = "o" if "KR" in name else "s"
            ax.plot(*zip(*points), style, marker=marker, ms=4, label=name, color=f"C{number}")
        ax.set_xscale("log")
        ax.set_xlabel(label)
    axes[0].set_ylabel("inertia")
    axes[1].legend(fontsize=7)
    figure.suptitle(f"FEMNIST, {title}")
    report.figure(f"federated_{title.replace(' ', '_')}", figure)
    pyplot.close(figure)
