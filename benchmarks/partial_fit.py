"""One pass over rows in batches: ``partial_fit`` here and of scikit-learn's MiniBatchKMeans."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.data import mixture
from benchmarks.harness import Report

#: Title, rows, features, clusters, rows in a batch.
DENSE = [
    ("dense", 200_000, 64, 100, 1000),
    ("dense", 200_000, 64, 100, 10_000),
    ("dense", 50_000, 16, 20, 100),
    ("dense", 50_000, 512, 256, 2000),
]
DOCUMENTS = [
    ("documents", 20_000, 5000, 100, 1000),
    ("documents", 20_000, 5000, 20, 1000),
    ("documents", 10_000, 50_000, 50, 1000),
]


def run(options: Any, report: Report) -> None:
    """All cases."""
    for title, X, k, size in _cases(options.only):
        batches = [X[lo : lo + size] for lo in range(0, X.shape[0], size)]
        everybody = contenders(k)
        first = dict.fromkeys(everybody, np.inf)
        later = dict.fromkeys(everybody, np.inf)
        whole = dict.fromkeys(everybody, np.inf)
        inertia: dict[str, list[float]] = {who: [] for who in everybody}
        for seed in range(max(1, options.repeats)):
            models = {who: make(seed) for who, make in everybody.items()}
            seconds: dict[str, list[float]] = {who: [] for who in everybody}
            for batch in batches:  # everybody takes turns, batch by batch
                for who, model in models.items():
                    began = time.perf_counter()
                    model.partial_fit(batch)
                    seconds[who].append(time.perf_counter() - began)
            for who, model in models.items():
                first[who] = min(first[who], seconds[who][0])
                later[who] = min(later[who], *seconds[who][1:])
                whole[who] = min(whole[who], sum(seconds[who]))
                inertia[who].append(-model.score(X))
        mine = later["polymeans"]
        report.table(
            title,
            [
                {
                    "": who,
                    "pass [s]": whole[who],
                    "first batch [ms]": 1e3 * first[who],
                    "batch [ms]": 1e3 * later[who],
                    "ratio": later[who] / mine,
                    "inertia": float(np.mean(inertia[who])),
                }
                for who in everybody
            ],
            "best pass and best batch after the first; inertia over all rows after the pass, mean "
            "of the seeds",
        )


def contenders(k: int) -> dict[str, Any]:
    """Who takes part, by name: a function of the seed."""
    from sklearn.cluster import MiniBatchKMeans

    from polymeans import KMeans

    return {
        "polymeans": lambda seed: KMeans(k, random_state=seed),
        "sklearn MiniBatchKMeans": lambda seed: MiniBatchKMeans(k, random_state=seed),
    }


def _cases(only: str) -> Iterator[tuple[str, Any, int, int]]:
    """Title, rows, clusters and rows in a batch."""
    from polymeans import KMeans
    from polymeans.datasets import make_documents

    for cases, make in ((DENSE, mixture), (DOCUMENTS, None)):
        for kind, n, d, k, size in cases:
            title = f"{kind} {n}x{d} k={k}, batches of {size}"
            if only not in title:
                continue
            X = mixture(n, d, k) if make else make_documents(n, d, random_state=0)[0]
            KMeans(2, random_state=0).partial_fit(X[:100]).partial_fit(X[:size])  # compile
            yield title, X, k, size
