"""Dask: whole fits and k-means‖ on two worker processes against dask-ml, and our fit in memory."""

import logging
import warnings
from typing import Any

import numpy as np

from benchmarks.data import mixture
from benchmarks.harness import Contender, MissingRequirementError, Report, compete

CASES = [(1_000_000, 20, 50), (1_000_000, 64, 64), (2_000_000, 32, 100)]
N_ITER = 20

#: Rows of a chunk.
_CHUNK = 125_000


def run(options: Any, report: Report) -> None:
    """All shapes on one cluster of two processes with one thread each."""
    try:
        import dask_ml.cluster  # noqa: F401
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingRequirementError('needs dask-ml: pip install ".[bench]"') from None
    warnings.filterwarnings("ignore", "Sending large graph")
    logging.getLogger("dask_ml").setLevel(logging.ERROR)
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
        ) as cluster,
        Client(cluster),
    ):
        for n, d, k in CASES:
            title = f"{n}x{d} k={k}"
            if options.only in title:
                _case(title, mixture(n, d, k), k, options, report)


def _case(title: str, X: np.ndarray, k: int, options: Any, report: Report) -> None:
    import dask.array as da
    from distributed import wait

    rows = da.from_array(X, chunks=(_CHUNK, X.shape[1])).persist()
    wait(rows)
    start = X[np.random.RandomState(0).choice(len(X), k, replace=False)].copy()
    results = compete(
        _ours("polymeans", rows, start),
        [_dask_ml(rows, start), _ours("polymeans in memory", X, start)],
        n_iter=N_ITER,
        repeats=options.repeats,
        patience=options.patience,
    )
    _report(report, f"{title} float32, {N_ITER} iterations from the same rows", results, X)
    results = compete(
        _our_seeding(rows, k),
        [_dask_ml_seeding(rows, k)],
        n_iter=1,
        repeats=options.repeats,
        patience=options.patience,
    )
    _report(report, f"{title} float32, k-means|| alone", results, X)


def _report(report: Report, title: str, results: dict[str, Any], X: np.ndarray) -> None:
    mine = results["polymeans"]
    least = _inertia(X, mine.outcome["centers"])
    table = []
    for result in results.values():
        inertia = _inertia(X, result.outcome["centers"])
        table.append(
            {
                "": result.name,
                "seconds": result.seconds,
                "ratio": result.seconds / mine.seconds,
                "iterations": result.outcome.get("n_iter", ""),
                "inertia": inertia,
                "of ours": inertia / least,
            }
        )
    note = "Inertia is computed here: inertia_ of dask-ml adds up distances that are not squared."
    report.table(title, table, note)


def _inertia(X: np.ndarray, centers: np.ndarray) -> float:
    """Of the rows for these centroids."""
    from polymeans import KMeans

    model = KMeans(len(centers), init=centers.astype(X.dtype), max_iter=1)
    return float(model.fit(X).history_["inertia"][0])


def _ours(name: str, rows: Any, start: np.ndarray) -> Contender:
    from polymeans import KMeans

    def fit(n_iter: int) -> dict[str, Any]:
        model = KMeans(len(start), init=start, max_iter=n_iter, tol=0).fit(rows)
        return {"centers": model.cluster_centers_, "n_iter": model.n_iter_}

    return Contender(name, fit)


def _dask_ml(rows: Any, start: np.ndarray) -> Contender:
    from dask_ml.cluster import KMeans

    def fit(n_iter: int) -> dict[str, Any]:
        model = KMeans(len(start), init=start, max_iter=n_iter, tol=0).fit(rows)
        return {"centers": model.cluster_centers_, "n_iter": model.n_iter_}

    return Contender("dask-ml", fit)


def _our_seeding(rows: Any, k: int) -> Contender:
    from polymeans import KMeans
    from polymeans.distributed import rows_to_fit
    from polymeans.engine.block_runner import BlockRunner
    from polymeans.engine.parallel_seeding import parallel

    def seed(_: int) -> dict[str, Any]:
        placed = rows_to_fit(KMeans(k), rows, None)
        runner = BlockRunner(placed)
        chosen = parallel(runner, k, np.random.RandomState(0))
        centers = runner.frame.unit * (runner.take(chosen) + 0.0)
        placed.close()
        return {"centers": centers}

    return Contender("polymeans", seed)


def _dask_ml_seeding(rows: Any, k: int) -> Contender:
    from dask_ml.cluster.k_means import k_init

    def seed(_: int) -> dict[str, Any]:
        return {"centers": np.asarray(k_init(rows, k, init="k-means||", random_state=0))}

    return Contender("dask-ml", seed)
