"""Problems for estimators: rows and parameters of each."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polymeans
from benchmarks.fuzz.case import Case
from benchmarks.fuzz.containers import DENSE, SPARSE, holds
from benchmarks.fuzz.shapes import FAST, LARGE, THREADED, draw_shape
from benchmarks.fuzz.values import draw_values
from benchmarks.fuzz.weights import draw_weights

_Rng = np.random.Generator

#: Promises that take several fits or calls; a problem checks some of them.
EXPENSIVE = (
    "threads",
    "algorithms",
    "shuffle",
    "zero weights",
    "repeated rows",
    "row by row",
    "many rows",
    "huge row",
    "transform",
    "pickle",
    "failed fit",
    "blocks",
    "damaged",
)

INITS = ("k-means++", "k-means||", "afk-mc2", "random")
ALGORITHMS = ("auto", "lazy", "lloyd", "elkan")


#: Kinds of rows whose labels are found by whole numbers: many fits of a minute each.
_WHOLE = ("huge column", "column scales", "mixed scales")

#: Values that a problem has at most where labels are found by whole numbers, as those of rows tied
#: between equal sums of protocentroids are. Where one row is far larger than all others,
#: protocentroids have no digits left for those, and go to and fro until the last iteration.
_FEW_WHOLE, _FEW_IN_CYCLES = 60_000, 6_000


def some_rows(X: Any, n_clusters: int, random_state: Any) -> NDArray[Any]:
    """A callable for ``init``: the first rows, as they are or from CSR."""
    rows = X[:n_clusters]
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


def _start(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    """An ``init``, as an array more often than not: many promises need one."""
    chance = rng.random()
    if chance < 0.35:
        return {"init": X[rng.choice(len(X), k, replace=False)], "n_init": 1}
    if chance < 0.45:  # duplicate centroids: empty clusters, equal distances
        return {"init": X[rng.integers(0, len(X), k)], "n_init": 1}
    if chance < 0.5:
        return {"init": some_rows, "n_init": 1}
    return {"init": str(rng.choice(INITS)), "n_init": int(rng.integers(1, 3))}


def _common(rng: _Rng) -> dict[str, Any]:
    params: dict[str, Any] = {
        "random_state": int(rng.integers(100)),
        "n_threads": int(rng.integers(1, 4)),
    }
    if rng.random() < 0.5:
        params["tol"] = float(rng.choice([0.0, 1e-4, 0.1]))
    if rng.random() < 0.3:
        params["max_iter"] = int(rng.integers(1, 20))
    return params


def _kmeans(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    params = {"n_clusters": k, "algorithm": str(rng.choice(ALGORITHMS)), **_start(rng, X, k)}
    return params | _common(rng)


def _cosine(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    return _kmeans(rng, X, k) | {"metric": "cosine"}


def _khatri_rao(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    n_sets = int(rng.integers(1, 4))
    sizes = tuple(int(size) for size in rng.integers(1, 4 if n_sets == 3 else 5, n_sets))
    params: dict[str, Any] = {"n_protocentroids": sizes, "effort": 0.01}
    if rng.random() < 0.5:
        part = 1.0 / n_sets
        sets = [X[rng.integers(0, len(X), size)] for size in sizes]
        params |= {"init": [(rows * X.dtype.type(part)) for rows in sets], "n_init": 1}
    else:
        names = ("residual", "k-means++", "random", "naive", "search")
        params |= {"init": str(rng.choice(names)), "n_init": 1}
    return params | _common(rng)


def _sum(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    return _khatri_rao(rng, X, k) | {"aggregator": "sum"}


def _product(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    stored = ("auto", True, False)[rng.integers(3)]
    return _khatri_rao(rng, X, k) | {"aggregator": "product", "store_centroids": stored}


def _quick(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    params: dict[str, Any] = {"n_clusters": k, "effort": 0.1, "max_iter": 5}
    params["centers"] = str(rng.choice(["factored", "means"]))
    params["offset"] = str(rng.choice(["auto", "zero", "median"]))
    if rng.random() < 0.3:
        params["sparsity_level"] = int(rng.integers(1, 4))
    elif rng.random() < 0.3:
        params["n_nonzeros"] = int(rng.integers(k, 2 * k * X.shape[1] + 2)) + 2
    if rng.random() < 0.2 and "n_nonzeros" not in params:
        params["method"] = "palm4msa"
    if rng.random() < 0.2:
        params["refit"] = False
    return _common(rng) | params | _start(rng, X, k)


def _l1(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    offset = str(rng.choice(["zero", "mean", "median"]))
    params: dict[str, Any] = {"n_clusters": k, "offset": offset}
    if rng.random() < 0.3:
        params["n_nonzeros"] = int(rng.integers(k, k * X.shape[1] + 1))
    elif rng.random() < 0.3:
        largest = float(np.abs(X).max())
        if largest > 0:
            params["radius"] = largest * float(rng.choice([0.1, 1.0, 10.0]))
    params["algorithm"] = str(rng.choice(ALGORITHMS))
    return params | _start(rng, X, k) | _common(rng)


def _transformed(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    params: dict[str, Any] = {"n_clusters": k, "n_init": 1}
    params["embedding"] = [None, "auto", "white", "svd"][rng.integers(4)]
    params["init"] = str(rng.choice(["auto", "k-means", "k-means++", "mixed"]))
    params["metric"] = str(rng.choice(["auto", "euclidean", "cosine"]))
    if rng.random() < 0.2:
        params["refine"] = "exchange"
    if rng.random() < 0.2 and params["embedding"] is None and params["init"] != "mixed":
        params |= {"solver": "cg", "refine": None}
    return params | _common(rng)


def _kernel(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    kernel = str(rng.choice(["rbf", "linear"]))
    params: dict[str, Any] = {"n_clusters": k, "n_init": 1, "kernel": kernel}
    params["embedding"] = [None, "auto"][rng.integers(2)]
    return params | _common(rng)


def _nonredundant(rng: _Rng, X: NDArray[Any], k: int) -> dict[str, Any]:
    n = len(X)
    n_views = int(rng.integers(1, min(X.shape[1], 3) + 1))
    sizes = tuple(int(size) for size in rng.integers(2, min(n, 4) + 1, n_views))
    params: dict[str, Any] = {"n_clusters": sizes, "effort": 0.02, "n_init": 1}
    params["init"] = str(rng.choice(["search", "random"]))
    if rng.random() < 0.4:
        params["init"] = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    if rng.random() < 0.25:
        params["whiten"] = True
    if rng.random() < 0.25:
        params["noise_space"] = False
    return params | _common(rng)


#: Area, share of problems, class, parameters, multiplications of the largest problem.
AREAS: dict[str, tuple[float, str, Callable[..., dict[str, Any]], int]] = {
    "KMeans": (30, "KMeans", _kmeans, THREADED),
    "KMeans cosine": (12, "KMeans", _cosine, THREADED),
    "KhatriRao sum": (10, "KhatriRaoKMeans", _sum, THREADED),
    "KhatriRao product": (10, "KhatriRaoKMeans", _product, THREADED),
    "Quick": (5, "QuickKMeans", _quick, FAST),
    "L1": (6, "L1KMeans", _l1, FAST),
    "Transformed": (4, "TransformedKMeans", _transformed, FAST),
    "Transformed kernel": (2, "TransformedKMeans", _kernel, 0),
    "NonRedundant": (5, "NonRedundantKMeans", _nonredundant, FAST),
}


def make(area: str, params: dict[str, Any]) -> Any:
    """The estimator of an area."""
    return getattr(polymeans, AREAS[area][1])(**params)


def draw(rng: _Rng, area: str, seed: int, number: int) -> Case:
    """A problem for the estimator of an area."""
    _, _, parameters, largest = AREAS[area]
    n, d, k, size = draw_shape(rng, largest)
    n = max(n, 2) if area == "NonRedundant" else n  # a view has two clusters at least
    dtype = "float32" if rng.random() < 0.4 else "float64"
    X, kind = draw_values(rng, n, d, dtype)
    if area.startswith("KhatriRao") and kind in (*_WHOLE, "outlier row"):
        X = X[: max(k, _FEW_IN_CYCLES // d)]
    elif kind in _WHOLE or (area.startswith("KhatriRao") and kind == "constant"):
        X = X[: max(k, _FEW_WHOLE // d)]
    if rng.random() < 0.4:
        container = str(rng.choice(SPARSE))
        if size in LARGE:
            X = X * (rng.random(X.shape) < 0.5)
    else:
        container = "C order" if rng.random() < 0.5 else str(rng.choice(DENSE))
        container = container if holds(container, X) else "C order"
    weights, weighing = draw_weights(rng, X, kind)
    sparsity = "sparse" if container.startswith("cs") else "dense"
    share = 0.15 if size in LARGE else 0.35
    checks = {name for name in EXPENSIVE if rng.random() < share}
    if size == "threaded":
        checks.add("threads")
    return Case(
        area,
        seed,
        number,
        X,
        container,
        weights,
        parameters(rng, X, k),
        frozenset({kind, container, sparsity, dtype, weighing, size}),
        frozenset(checks),
    )
