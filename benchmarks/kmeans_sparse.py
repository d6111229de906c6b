"""Whole fits on tf-idf documents: same starting centroids, 50 iterations, no tolerance."""

from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.data import tfidf
from benchmarks.harness import Report, compete

CASES = [
    ("20newsgroups", 100),
    ("20newsgroups", 500),
    ("tdt2", 100),
    ("tdt2", 500),
    ("imdb_100k", 100),
    ("imdb_100k", 500),
]

#: Speed-ups over scikit-learn that the SparseKmeans authors publish for their package.
PAPER = "paper (sparsekmeans over sklearn): Lloyd 4.9-11.1x, Elkan 1.7-18.1x, larger data"


def run(options: Any, report: Report) -> None:
    """All cases."""
    from polymeans.core.threads import Threads
    from polymeans.engine import seeding
    from polymeans.engine.runners import LocalRunner

    for name, k in CASES:
        title = f"{name} k={k}"
        if options.only not in title:
            continue
        X = tfidf(options.data, name)
        with Threads():
            runner = LocalRunner(X, np.ones(X.shape[0]))
            start_rows = seeding.plus_plus(runner, k, np.random.RandomState(0))
        start = X[start_rows].toarray()
        results = compete(
            peers.ours(X, start),
            [
                peers.sparsekmeans(X, start_rows, "lloyd"),
                peers.sparsekmeans(X, start_rows, "elkan"),
                peers.scikit_learn(X, start, "elkan"),
                peers.scikit_learn(X, start, "lloyd"),
            ],
            n_iter=50,
            repeats=options.repeats,
            patience=options.patience,
        )
        mine = results["polymeans"]
        table = []
        for result in results.values():
            labels = result.outcome.get("labels")
            same = "" if labels is None else float(np.mean(labels == mine.outcome["labels"]))
            table.append(
                {
                    "": result.name,
                    "seconds": result.seconds,
                    "ratio": result.seconds / mine.seconds,
                    "~": "~" if result.extrapolated else "",
                    "n_iter": result.outcome.get("n_iter", ""),
                    "equal labels": same,
                    "runs": len(result.all_seconds),
                }
            )
        for peer in ("sparsekmeans", "sklearn"):
            best = min(r.seconds for r in results.values() if r.name.startswith(peer))
            table.append({"": f"better {peer}", "seconds": best, "ratio": best / mine.seconds})
        report.table(f"{title} {X.shape[0]}x{X.shape[1]} nnz {X.nnz}, 50 iterations", table, PAPER)
