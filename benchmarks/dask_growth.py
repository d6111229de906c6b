"""How a pass on a Dask cluster grows: with rows, chunks and workers, and a model of its cost.

Whole fits of a few iterations on one and on two worker processes of one thread each. The model

    seconds = fixed + task * chunks + (chunk * chunks + row * rows) / workers

is fitted to the measured passes (relative errors, no negative terms) and printed beside them, with
what it gives for clusters that are larger than this machine. On a machine with two cores the
scheduler, the calling process and the workers share these, so that what depends on the number of
tasks is overstated.
"""

import logging
import pickle
import warnings
from typing import Any

import numpy as np

from benchmarks.harness import MissingRequirementError, Report

N_FEATURES, N_CLUSTERS, N_ITER = 32, 100, 8

#: Rows, and rows of a chunk.
SIZES = [(100_000, 25_000), (1_000_000, 62_500), (1_000_000, 250_000), (10_000_000, 250_000)]

#: Rows, rows of a chunk and workers that are only computed.
LARGER = [(10**8, 10**6, 10), (10**9, 10**6, 100), (10**10, 4 * 10**6, 100)]


def run(options: Any, report: Report) -> None:
    """Measure, fit the model, extrapolate."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingRequirementError('needs Dask: pip install ".[distributed]"') from None
    warnings.filterwarnings("ignore", "Sending large graph")
    logging.getLogger("distributed").setLevel(logging.ERROR)
    cases, seconds = [], []
    for n_workers in (1, 2):
        with (
            LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                host="127.0.0.1",
            ) as cluster,
            Client(cluster),
        ):
            for n_rows, chunk in SIZES:
                cases.append((n_rows, chunk, n_workers))
                seconds.append(_pass_seconds(n_rows, chunk, options.repeats))
    terms = _fitted(cases, np.array(seconds))
    fixed, task, per_chunk, per_row = terms
    note = (
        f"model: {fixed * 1e3:.1f} ms, {task * 1e3:.2f} ms a task, {per_chunk * 1e3:.2f} ms a "
        f"chunk and worker, {per_row * 1e9:.1f} ns a row and worker"
    )
    table = [
        {
            "rows": n_rows,
            "rows of a chunk": chunk,
            "workers": n_workers,
            "seconds a pass": measured,
            "by the model": _terms_of(n_rows, chunk, n_workers) @ terms,
            "two workers are faster": _speedup(cases, seconds, n_rows, chunk, n_workers),
        }
        for (n_rows, chunk, n_workers), measured in zip(cases, seconds)
    ]
    title = f"{N_FEATURES} features, k={N_CLUSTERS}, float32: median of {N_ITER - 1} passes"
    report.table(title, table, note)
    sent, returned = _message_bytes()
    report.table(
        "computed by the model, not measured",
        [
            {
                "rows": f"{n_rows:.0e}",
                "workers": n_workers,
                "chunks": -(-n_rows // chunk),
                "seconds a pass": _terms_of(n_rows, chunk, n_workers) @ terms,
                "MB to each worker": sent / 2**20,
                "MB from each chunk": returned / 2**20,
                "levels of the tree": int(np.ceil(np.log(-(-n_rows // chunk)) / np.log(8))),
                "GB of rows a worker": 4 * N_FEATURES * n_rows / n_workers / 2**30,
            }
            for n_rows, chunk, n_workers in LARGER
        ],
        "Each worker is one thread of a machine like this one; the network takes no time.",
    )


def _rows(n_rows: int, chunk: int) -> Any:
    """Overlapping clusters, generated where they are kept."""
    import dask.array as da

    sizes = [chunk] * (n_rows // chunk)
    centers = np.random.default_rng(0).normal(size=(N_CLUSTERS, N_FEATURES)).astype(np.float32)

    def make(block_info: Any = None) -> np.ndarray:
        rng = np.random.default_rng(block_info[None]["chunk-location"][0])
        noise = rng.standard_normal((chunk, N_FEATURES), dtype=np.float32)
        return centers[rng.integers(0, N_CLUSTERS, chunk)] + noise

    return da.map_blocks(make, chunks=(tuple(sizes), (N_FEATURES,)), dtype=np.float32)


def _pass_seconds(n_rows: int, chunk: int, repeats: int) -> float:
    """Of an iteration: the median in a fit, the best of several fits."""
    from distributed import wait

    from polymeans import KMeans

    X = _rows(n_rows, chunk).persist()
    wait(X)
    start = np.asarray(X[:N_CLUSTERS])
    medians = []
    for _ in range(max(2, repeats)):
        model = KMeans(N_CLUSTERS, init=start, n_init=1, max_iter=N_ITER, tol=0).fit(X)
        medians.append(float(np.median(model.history_["seconds"][1:])))
    return min(medians)


def _terms_of(n_rows: int, chunk: int, n_workers: int) -> np.ndarray:
    n_chunks = -(-n_rows // chunk)
    return np.array([1.0, n_chunks, n_chunks / n_workers, n_rows / n_workers])


def _fitted(cases: list[tuple[int, int, int]], seconds: np.ndarray) -> np.ndarray:
    from scipy.optimize import nnls

    design = np.array([_terms_of(*case) for case in cases]) / seconds[:, None]
    scale = design.max(axis=0)
    return nnls(design / scale, np.ones(len(seconds)))[0] / scale


def _speedup(cases: list[Any], seconds: list[float], *case: int) -> Any:
    n_rows, chunk, n_workers = case
    if n_workers != 2:
        return ""
    return seconds[cases.index((n_rows, chunk, 1))] / seconds[cases.index(case)]


def _message_bytes() -> tuple[int, int]:
    """Pickled bytes of the centroids, and of the totals of one chunk."""
    from polymeans import KMeans
    from polymeans.core.statistics import CellStatistics
    from polymeans.engine.assignment import make_codebook
    from polymeans.engine.runners import LocalRunner

    X = np.concatenate([np.eye(N_FEATURES)] * 4).astype(np.float32)
    model = KMeans(len(X) // 4, init=X[: len(X) // 4]).fit(X)
    frame = LocalRunner(X, np.ones(len(X))).frame
    centers = np.resize(model.cluster_centers_, (N_CLUSTERS, N_FEATURES))
    totals = CellStatistics.empty(frame, N_CLUSTERS)
    arrays = (totals.counts, totals.mass_rungs, totals.rungs)
    return len(pickle.dumps(make_codebook(frame, centers))), sum(one.nbytes for one in arrays)
