"""Embeddings: hundreds of features, hundreds to thousands of clusters, ten iterations.

This is what the coarse level of a vector index is built from. All libraries label all rows in every
iteration. superkmeans takes no starting centroids and draws rows of its own, so its inertia is of
another start; with its defaults (a sample of the rows, early termination) it is shown beside.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD

from benchmarks import peers
from benchmarks.data import tfidf
from benchmarks.harness import MissingRequirementError, Report, compete

N_ITER = 10


def run(options: Any, report: Report) -> None:
    """Latent semantic features of texts, and generated rows with a decaying spectrum."""
    for name, make, sizes in _cases(options):
        chosen = [k for k in sizes if options.only in f"{name} k={k}"]
        if not chosen:
            continue
        try:
            X = make()
        except MissingRequirementError as missing:
            print(f"{name} is left out: {missing}")
            continue
        for k in chosen:
            _case(f"{name} {X.shape[0]}x{X.shape[1]} k={k}", X, k, options, report)


def _cases(options: Any) -> list[tuple[str, Callable[[], np.ndarray], tuple[int, ...]]]:
    return [
        ("LSA of IMDB", lambda: _lsa(options, "imdb_100k", 60_000, 384), (256, 1000, 4096)),
        ("LSA of 20 Newsgroups", lambda: _lsa(options, "20newsgroups", None, 384), (256, 1000)),
        ("decaying spectrum", lambda: decaying(30_000, 768), (500,)),
        ("decaying spectrum, long", lambda: decaying(20_000, 1024), (256, 1000)),
    ]


def _lsa(options: Any, name: str, n_rows: int | None, n_features: int) -> np.ndarray:
    """Leading singular directions of tf-idf rows, each row brought to length one."""
    documents = tfidf(options.data, name)[:n_rows].astype(np.float32)
    reduced = TruncatedSVD(n_features, n_iter=2, random_state=0).fit_transform(documents)
    lengths = np.linalg.norm(reduced, axis=1, keepdims=True)
    return np.ascontiguousarray(reduced / np.maximum(lengths, 1e-12), dtype=np.float32)


def decaying(n_rows: int, n_features: int, n_groups: int = 400, seed: int = 0) -> np.ndarray:
    """Overlapping groups, variances falling as 1/i, seen in a random basis, length one."""
    rng = np.random.default_rng(seed)
    scale = np.arange(1, n_features + 1) ** -0.5
    centers = rng.standard_normal((n_groups, n_features)) * scale
    noise = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    rows = centers[rng.integers(0, n_groups, n_rows)] + noise * scale
    basis = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    rows = (rows @ basis).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _case(title: str, X: np.ndarray, k: int, options: Any, report: Report) -> None:
    start = X[np.random.RandomState(0).choice(len(X), k, replace=False)].copy()
    results = compete(
        peers.ours(X, start),
        [
            peers.superkmeans(X, k),
            peers.superkmeans(X, k, defaults=True),
            peers.faiss(X, start),
            replace(peers.scikit_learn(X, start, "lloyd"), equal_iterations=True),
        ],
        n_iter=N_ITER,
        repeats=options.repeats,
        patience=options.patience,
    )
    mine = results["polymeans"]
    table = []
    for result in results.values():
        # A fit of m iterations assigns m + 1 times; faiss and superkmeans stop one short of that.
        n_iter = result.outcome["n_iter"]
        passes = n_iter + (result.name.startswith(("polymeans", "sklearn")))
        table.append(
            {
                "": result.name,
                "seconds": result.seconds,
                "iterations": n_iter,
                "ms/pass": 1e3 * result.seconds / passes,
                "ratio": (result.seconds / passes) / (mine.seconds / (mine.outcome["n_iter"] + 1)),
                "inertia over ours": _inertia(X, result.outcome) / mine.outcome["inertia"],
            }
        )
    report.table(f"{title} float32, {N_ITER} iterations", table, "wanted: superkmeans 2, faiss 3")


def _inertia(X: np.ndarray, outcome: dict[str, Any]) -> float:
    """Of the final centroids on all rows; others report that of a sample, or of the start."""
    if outcome.get("centers") is None:
        return float(outcome["inertia"])
    from polymeans import KMeans

    centers = outcome["centers"]
    return -KMeans(len(centers), init=centers, max_iter=1).fit(centers).score(X)
