"""Iterations of Khatri-Rao k-means against k-means with as many free centroids; memory.

Everybody starts from the same centroids: ours from protocentroids after a few iterations, the
others from all their combinations. The models differ, so they part ways afterwards; what is
compared is the mean time of an iteration without tolerance. Searching for a start is no part of it.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import peers
from benchmarks.data import load, mixture, noise, tfidf
from benchmarks.harness import Contender, MissingRequirementError, Report, compete, in_new_process
from polymeans import KhatriRaoKMeans
from polymeans.datasets import make_khatri_rao

OURS = "polymeans"
FREE = "polymeans KMeans"
SKLEARN = "sklearn lloyd"


@dataclass(frozen=True)
class SpeedCase:
    """Rows, a grid, iterations, and the ratios that are wished for."""

    name: str
    make: Callable[[Any], Any]
    sizes: tuple[int, int]
    aggregator: str
    n_iter: int
    wished: dict[str, float]


def _mnist(options: Any) -> np.ndarray:
    if options.data is None:
        return mixture(20000, 784, 100)
    return load(options.data, "mnist")["X"][:20000].astype(np.float32) / 255


def _products(options: Any) -> np.ndarray:
    X, _, _ = make_khatri_rao(20000, (32, 32), 100, aggregator="product", noise=1, random_state=0)
    return X.astype(np.float32)


def _imdb(options: Any) -> Any:
    return tfidf(options.data, "imdb_100k").astype(np.float32)


CASES = [
    SpeedCase(
        "20000x100 mixture",
        lambda options: mixture(20000, 100, 10000),
        (100, 100),
        "sum",
        10,
        {SKLEARN: 12},
    ),
    SpeedCase(
        "20000x100 noise",
        lambda options: noise(20000, 100),
        (100, 100),
        "sum",
        10,
        {SKLEARN: 12},
    ),
    SpeedCase("20000x784 images", _mnist, (10, 10), "sum", 20, {SKLEARN: 2}),
    SpeedCase("imdb_100k tf-idf", _imdb, (10, 10), "sum", 20, {SKLEARN: 15}),
    SpeedCase("20000x784 images", _mnist, (10, 10), "product", 20, {FREE: 1}),
    SpeedCase(
        "20000x100 mixture",
        lambda options: mixture(20000, 100, 1024),
        (32, 32),
        "product",
        20,
        {FREE: 1},
    ),
    SpeedCase(
        "20000x100 noise", lambda options: noise(20000, 100), (32, 32), "product", 20, {FREE: 1}
    ),
    SpeedCase("20000x100 products", _products, (32, 32), "product", 20, {FREE: 1}),
]

# Iterations of equal work, for products: later on free centroids come to rest one by one and are
# passed over, while a product's move together.
CASES += [replace(case, n_iter=3) for case in CASES if case.aggregator == "product"]


def run(options: Any, report: Report) -> None:
    """All cases, then memory."""
    for case in CASES:
        h1, h2 = case.sizes
        title = f"{case.name}, {case.aggregator} {h1}x{h2}"
        if options.only in title:
            _case(title, case, options, report)
    if options.only in "memory":
        _memory(report)


def _case(title: str, case: SpeedCase, options: Any, report: Report) -> None:
    try:
        X = case.make(options)
    except MissingRequirementError as missing:
        print(f"{title} left out: {missing}\n", flush=True)
        return
    start = KhatriRaoKMeans(
        case.sizes,
        aggregator=case.aggregator,
        init="random",
        n_init=1,
        max_iter=3,
        tol=0,
        random_state=0,
    ).fit(X)
    centers = start.cluster_centers_
    free = replace(peers.ours(X, centers), name=FREE)
    free.run(2)  # compile
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of empty clusters
        results = compete(
            _ours(X, start.protocentroids_, case.aggregator),
            [free, peers.scikit_learn(X, centers, "lloyd")],
            n_iter=case.n_iter,
            repeats=options.repeats,
            patience=options.patience,
        )
    mine = results[OURS]
    own = mine.seconds / (mine.outcome["n_iter"] + 1)
    table = []
    for result in results.values():
        # A fit of m iterations assigns m + 1 times; scikit-learn counts the last one as well
        # when nothing moves any more.
        n_iter = result.outcome.get("n_iter", mine.outcome["n_iter"])
        passes = n_iter + (result.name != SKLEARN or n_iter == case.n_iter)
        table.append(
            {
                "": result.name,
                "ms/iteration": 1e3 * result.seconds / passes,
                "ratio": result.seconds / passes / own,
                "wished": case.wished.get(result.name, ""),
                "~": "~" if result.extrapolated else "",
                "n_iter": n_iter,
                "used": _n_used(result.outcome.get("labels")),
                "inertia": result.outcome.get("inertia", ""),
                "runs": len(result.all_seconds),
            }
        )
    report.table(
        f"{title}, {X.dtype}, {case.n_iter} iterations",
        table,
        "used: centroids that serve somebody; inertia: others have free centroids and end lower",
    )


def _n_used(labels: np.ndarray | None) -> Any:
    return "" if labels is None else len(np.unique(labels))


def _ours(X: Any, sets: list[np.ndarray], aggregator: str) -> Contender:
    sizes = tuple(len(part) for part in sets)

    def run(n_iter: int) -> dict[str, Any]:
        model = KhatriRaoKMeans(
            sizes, aggregator=aggregator, init=sets, max_iter=n_iter, tol=0
        ).fit(X)
        return {"labels": model.labels_, "inertia": model.inertia_, "n_iter": model.n_iter_}

    return Contender(OURS, run)


_MEMORY_PROBE = """
import numpy as np
from benchmarks.data import mixture
X = mixture(20000, 100, 10000)
rng = np.random.RandomState(0)
sets = [X[rng.choice(len(X), 100)] for _ in range(2)]
sets[1] -= X.mean(axis=0)
centers = (sets[0][:, None] + sets[1]).reshape(10000, 100)
if {name!r} == "sklearn lloyd":
    from sklearn.cluster import KMeans
    def fit(X, k, n_iter):
        KMeans(k * k, init=centers[:k * k], n_init=1, max_iter=n_iter, tol=0).fit(X)
elif {name!r} == "polymeans KMeans":
    from polymeans import KMeans
    def fit(X, k, n_iter):
        KMeans(k * k, init=centers[:k * k], max_iter=n_iter, tol=0).fit(X)
else:
    from polymeans import KhatriRaoKMeans
    def fit(X, k, n_iter):
        init = [part[:k] for part in sets]
        KhatriRaoKMeans((k, k), init=init, max_iter=n_iter, tol=0).fit(X)
fit(X[:2000], 8, 3)
print(added_peak(lambda: fit(X, 100, 3)))
"""


def _memory(report: Report) -> None:
    """Peak resident memory a fit adds, each in a process of its own."""
    peaks = {
        name: float(in_new_process(_MEMORY_PROBE.format(name=name)))
        for name in (OURS, FREE, SKLEARN)
    }
    report.table(
        "memory 20000x100 float32, sum 100x100 (k=10000), 3 iterations",
        [
            {
                "": name,
                "additional peak MB": peak,
                "ratio": peak / peaks[OURS],
                "wished": 2 if name == SKLEARN else "",
            }
            for name, peak in peaks.items()
        ],
        "all centroids as float32 take 4 MB, 20000x10000 distances 800 MB",
    )
