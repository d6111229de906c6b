"""A report after a fit: seconds of its parts, size of the page, memory it adds.

The peer is what a person would call otherwise: scikit-learn's measures of the same labels, of which
``describe`` finds two, and the silhouettes by centroids, features and typical rows besides.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.data import mixture
from benchmarks.harness import Report, in_new_process

#: Rows, features, clusters.
DENSE = [(100_000, 50, 20), (100_000, 50, 200), (20_000, 784, 100)]
DOCUMENTS = [(20_000, 5000, 50)]

_MEMORY = """
import numpy as np
import polymeans
from polymeans import KMeans
X = np.random.default_rng(0).normal(size=({n}, {d})).astype(np.float32)
model = KMeans({k}, max_iter=5, random_state=0).fit(X)
polymeans.report(model, X[:1000]).html()
print(added_peak(lambda: polymeans.report(model, X).html()))
"""


def run(options: Any, report: Report) -> None:
    """All cases."""
    for title, X, k in _cases(options.only):
        report.table(title, _measure(X, k, max(1, options.repeats)), _NOTE)
    if options.only in "memory of a report":
        n, d, k = DENSE[0]
        added = float(in_new_process(_MEMORY.format(n=n, d=d, k=k)))
        rows = [{"": f"{n} x {d}, {k} clusters, float32", "MB": added, "rows [MB]": n * d * 4e-6}]
        report.table("memory of a report", rows, "added at its peak, in a process of its own")


_NOTE = (
    "best of the repeats, in turns; ratio: seconds over those of describe. scikit-learn: "
    "calinski_harabasz_score and davies_bouldin_score of the labels"
)


def _measure(X: Any, k: int, repeats: int) -> list[dict[str, Any]]:
    from polymeans import KMeans, describe
    from polymeans import report as make

    began = time.perf_counter()
    model = KMeans(k, random_state=0).fit(X)
    fit = time.perf_counter() - began
    found = make(model, X)
    parts: dict[str, Callable[[], Any]] = {
        "describe": lambda: describe(model, X),
        "report": lambda: make(model, X),
        "its page": found.html,
        "predict": lambda: model.predict(X),
    }
    if isinstance(X, np.ndarray):
        parts["scikit-learn, two measures"] = lambda: _two_measures(X, model.labels_)
    best = dict.fromkeys(parts, np.inf)
    for _ in range(repeats):
        for name, call in parts.items():
            began = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - began)
    own, size = best["describe"], len(found.html().encode()) / 1e6
    rows: list[dict[str, Any]] = [{"": "fit", "seconds": fit, "ratio": fit / own, "MB": 0.0}]
    for name, seconds in best.items():
        page = size if name == "its page" else 0.0
        rows.append({"": name, "seconds": seconds, "ratio": seconds / own, "MB": page})
    return rows


def _two_measures(X: Any, labels: Any) -> tuple[float, float]:
    from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score

    return calinski_harabasz_score(X, labels), davies_bouldin_score(X, labels)


def _cases(only: str) -> Iterator[tuple[str, Any, int]]:
    """Title, rows and clusters."""
    for n, d, k in DENSE:
        title = f"dense {n} x {d}, {k} clusters"
        if only in title:
            yield title, mixture(n, d, k), k
    for n, d, k in DOCUMENTS:
        title = f"documents {n} x {d}, {k} clusters"
        if only in title:
            from polymeans.datasets import make_documents

            yield title, make_documents(n, d, n_topics=k, random_state=0)[0], k
