"""Seeding: greedy k-means++ against scikit-learn's on the same documents, and the other methods."""

import statistics
import time
from typing import Any

import numpy as np

from benchmarks.data import tfidf
from benchmarks.harness import Report

CASES = [
    ("20newsgroups", 100),
    ("20newsgroups", 500),
    ("tdt2", 100),
    ("tdt2", 500),
    ("imdb_100k", 100),
    ("imdb_100k", 500),
]


def run(options: Any, report: Report) -> None:
    """All cases."""
    from sklearn.cluster import kmeans_plusplus

    from polymeans.core.threads import Threads
    from polymeans.engine import seeding
    from polymeans.engine.runners import LocalRunner

    for name, k in CASES:
        title = f"{name} k={k}"
        if options.only not in title:
            continue
        X = tfidf(options.data, name)
        ones = np.ones(X.shape[0])

        def choose(method: str, seed: int, X: Any = X, k: int = k, ones: Any = ones) -> Any:
            with Threads():
                return seeding.METHODS[method](LocalRunner(X, ones), k, np.random.RandomState(seed))

        def theirs(seed: int, X: Any = X, k: int = k) -> Any:
            return kmeans_plusplus(X, k, random_state=seed)[1]

        contenders = {"polymeans k-means++": lambda seed: choose("k-means++", seed)}
        contenders["sklearn k-means++"] = theirs
        for method in ("k-means||", "afk-mc2"):
            contenders[f"polymeans {method}"] = lambda seed, method=method: choose(method, seed)
        choose("k-means++", 0, X[: 2 * k], min(k, 5), ones[: 2 * k])
        seconds: dict[str, list[float]] = {who: [] for who in contenders}
        potentials: dict[str, list[float]] = {who: [] for who in contenders}
        with Threads():
            runner = LocalRunner(X, ones)
            for seed in range(options.repeats):
                for who, contender in contenders.items():
                    if who.startswith("sklearn") and seed and seconds[who][0] > options.patience:
                        continue
                    began = time.perf_counter()
                    chosen = contender(seed)
                    seconds[who].append(time.perf_counter() - began)
                    potentials[who].append(seeding.potential_of(runner, chosen))
        mine = statistics.median(seconds["polymeans k-means++"])
        report.table(
            f"{title} {X.shape[0]}x{X.shape[1]}",
            [
                {
                    "": who,
                    "seconds": min(seconds[who])
                    if who.startswith("sklearn")
                    else statistics.median(seconds[who]),
                    "ratio": min(seconds[who]) / mine,
                    "starting potential": statistics.mean(potentials[who]),
                    "runs": len(seconds[who]),
                }
                for who in contenders
            ],
            "preparing the rows is part of our time; the same seeds for everybody",
        )
