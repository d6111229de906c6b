"""Data of everyday size, dense: fits from given centroids, default fits, and labels of new rows.

Each contender has a process of its own, because threads that one library leaves spinning would slow
the next one down. The processes take turns, several times for each task; the least time of a call
counts, because noise only ever adds time. Ratios are the peer's time over ours. Fits run to
convergence with the default tolerance, faiss' for as many iterations as scikit-learn's.
"""

import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import load
from benchmarks.harness import MissingRequirementError, Report

#: Seconds and calls that a turn has at least; turns of each contender; seconds of quiet between.
_SECONDS, _CALLS, _TURNS, _PAUSE = 0.15, 2, 3, 0.05

_NAMES = ("polymeans", "sklearn", "intelex", "faiss")

Task = Callable[[], Any]


def run(options: Any, report: Report) -> None:
    """Every case by every task; then geometric means and the smallest ratios."""
    context = multiprocessing.get_context("spawn")
    workers: dict[str, Connection] = {}
    for name in _NAMES:
        workers[name], theirs = context.Pipe()
        given = name, theirs, options.data, options.only
        context.Process(target=_serve, args=given, daemon=True).start()
        answer = workers[name].recv()
        if answer is not None:
            raise MissingRequirementError(answer)
    ratios: dict[tuple[str, str], list[float]] = {}
    while all(titles := [worker.recv() for worker in workers.values()]):
        tasks = {name: worker.recv() for name, worker in workers.items()}
        rows = [_row(task, workers, tasks, ratios) for task in tasks["polymeans"]]
        for worker in workers.values():
            worker.send(None)
        report.table(titles[0], rows)
    report.table(
        "all cases: peer's time / ours",
        [
            {
                "task": task,
                "peer": name,
                "geometric mean": float(np.exp(np.mean(np.log(found)))),
                "least": min(found),
                "cells": len(found),
                "below 1": sum(ratio < 1 for ratio in found),
                "below 1.2": sum(ratio < 1.2 for ratio in found),
            }
            for (task, name), found in ratios.items()
        ],
    )
    if options.data is None:
        print("covtype and MNIST were left out: --data DIR has them")


def _row(
    task: str,
    workers: dict[str, Connection],
    tasks: dict[str, list[str]],
    ratios: dict[tuple[str, str], list[float]],
) -> dict[str, Any]:
    able = [name for name in workers if task in tasks[name]]
    least = dict.fromkeys(able, np.inf)
    for _ in range(_TURNS):
        for name in able:
            workers[name].send(task)
            least[name] = min(least[name], workers[name].recv())
            time.sleep(_PAUSE)
    row: dict[str, Any] = {"": task, "polymeans ms": 1e3 * least["polymeans"]}
    for name in able[1:]:
        ratio = least[name] / least["polymeans"]
        row[f"{name} ms"], row[f"/{name}"] = 1e3 * least[name], ratio
        ratios.setdefault((_kind(task), name), []).append(ratio)
    return row


def _serve(name: str, parent: Connection, data: Path | None, only: str) -> None:
    """Answer the seconds of tasks until all cases are done; runs in a process of its own."""
    warnings.simplefilter("ignore")
    try:
        make_tasks = _contender(name)
    except ImportError as missing:
        parent.send(f'{missing}: pip install ".[bench]"')
        return
    parent.send(None)
    for title, X, k in _cases(data):
        if only not in title:
            continue
        tasks = make_tasks(X, k)
        parent.send(f"{title} k={k} {X.dtype}")
        parent.send(list(tasks))
        while (task := parent.recv()) is not None:
            parent.send(_least_seconds(tasks[task]))
    parent.send("")


def _least_seconds(task: Task) -> float:
    task()  # compile and touch everything once
    least, n_calls, began = np.inf, 0, time.perf_counter()
    while n_calls < _CALLS or time.perf_counter() - began < _SECONDS:
        started = time.perf_counter()
        task()
        least = min(least, time.perf_counter() - started)
        n_calls += 1
    return least


def _kind(task: str) -> str:
    return "predict" if task.startswith("predict") else task


def _cases(data: Path | None) -> Iterator[tuple[str, np.ndarray, int]]:
    """Titles, rows and numbers of clusters, small ones first."""
    from sklearn.datasets import load_digits, load_iris, make_blobs

    def blobs(n: int, d: int, k: int, dtype: Any = np.float64) -> np.ndarray:
        return make_blobs(n, d, centers=k, cluster_std=3.0, random_state=0)[0].astype(dtype)

    rng = np.random.default_rng(0)
    digits = np.ascontiguousarray(load_digits().data)
    yield "iris 150x4", load_iris().data, 3
    yield "digits 1797x64", digits, 10
    yield "digits 1797x64", digits.astype(np.float32), 10
    yield "blobs 2000x2", blobs(2000, 2, 2), 2
    yield "blobs 10000x2", blobs(10_000, 2, 5), 5
    yield "blobs 20000x16", blobs(20_000, 16, 26), 26
    yield "blobs 100000x10", blobs(100_000, 10, 8), 8
    yield "blobs 1000000x8", blobs(1_000_000, 8, 16, np.float32), 16
    yield "noise 20000x100", rng.standard_normal((20_000, 100), dtype=np.float32), 100
    if data is None:
        return
    yield "covtype 93000x54", load(data, "covtype_93k")["X"].astype(float), 50
    mnist = load(data, "mnist")["X"].astype(np.float32) / 255
    yield "mnist 70000x784", mnist, 10
    yield "mnist 20000x784", np.ascontiguousarray(mnist[:20_000]), 100


def _start(X: np.ndarray, k: int) -> np.ndarray:
    return X[np.random.default_rng(0).permutation(len(X))[:k]].copy()


def _contender(name: str) -> Callable[[np.ndarray, int], dict[str, Task]]:
    """What makes the tasks of a contender from rows and a number of clusters."""
    if name == "faiss":
        return _faiss_tasks()
    if name == "polymeans":
        from polymeans import KMeans
    elif name == "sklearn":
        from sklearn.cluster import KMeans
    else:
        from sklearnex.cluster import KMeans

    def make(X: np.ndarray, k: int) -> dict[str, Task]:
        start = _start(X, k)
        model = KMeans(k, init=start, n_init=1, max_iter=2).fit(X)
        return {
            "fit": lambda: KMeans(k, init=start, n_init=1).fit(X),
            "default fit": lambda: KMeans(k, random_state=0).fit(X),
            "predict 1": lambda: model.predict(X[:1]),
            "predict 100": lambda: model.predict(X[:100]),
            "predict all": lambda: model.predict(X),
        }

    return make


def _faiss_tasks() -> Callable[[np.ndarray, int], dict[str, Task]]:
    import faiss

    def make(X: np.ndarray, k: int) -> dict[str, Task]:
        if X.dtype != np.float32:  # it has no other type
            return {}
        from sklearn.cluster import KMeans

        start = _start(X, k)
        n_iter = KMeans(k, init=start, n_init=1).fit(X).n_iter_
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(start)
        sizes = {"max_points_per_centroid": len(X), "min_points_per_centroid": 1}

        def fit() -> None:
            kmeans = faiss.Kmeans(X.shape[1], k, niter=n_iter, **sizes)
            kmeans.train(X, init_centroids=start)

        return {
            "fit": fit,
            "predict 1": lambda: index.search(X[:1], 1),
            "predict 100": lambda: index.search(X[:100], 1),
            "predict all": lambda: index.search(X, 1),
        }

    return make
