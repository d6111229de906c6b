"""Peers behind one face: start from given centroids, run so many iterations, give labels."""

import contextlib
import io
import os
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.harness import Contender, MissingRequirementError

_INSTALL = 'needs {}: pip install ".[bench]"'


def ours(X: Any, start: np.ndarray, **parameters: Any) -> Contender:
    """polymeans.KMeans."""
    from polymeans import KMeans

    def run(n_iter: int) -> dict[str, Any]:
        model = KMeans(len(start), init=start, max_iter=n_iter, tol=0, **parameters).fit(X)
        return {"labels": model.labels_, "inertia": model.inertia_, "n_iter": model.n_iter_}

    return Contender("polymeans", run)


def scikit_learn(X: Any, start: np.ndarray, algorithm: str) -> Contender:
    """sklearn.cluster.KMeans."""
    from sklearn.cluster import KMeans

    def run(n_iter: int) -> dict[str, Any]:
        model = KMeans(
            len(start), init=start, n_init=1, max_iter=n_iter, tol=0, algorithm=algorithm
        ).fit(X)
        return {"labels": model.labels_, "inertia": model.inertia_, "n_iter": model.n_iter_}

    return Contender(f"sklearn {algorithm}", run, equal_iterations=algorithm == "lloyd")


def intelex(X: Any, start: np.ndarray) -> Contender:
    """scikit-learn-intelex (oneDAL)."""
    try:
        from sklearnex.cluster import KMeans
    except ImportError:
        raise MissingRequirementError(_INSTALL.format("scikit-learn-intelex")) from None

    def run(n_iter: int) -> dict[str, Any]:
        model = KMeans(
            len(start), init=start, n_init=1, max_iter=n_iter, tol=0, algorithm="lloyd"
        ).fit(X)
        return {"labels": model.labels_, "inertia": model.inertia_, "n_iter": model.n_iter_}

    return Contender("sklearn-intelex", run)


def faiss(X: np.ndarray, start: np.ndarray) -> Contender:
    """faiss.Kmeans, told not to subsample."""
    try:
        from faiss import Kmeans
    except ImportError:
        raise MissingRequirementError(_INSTALL.format("faiss-cpu")) from None

    def run(n_iter: int) -> dict[str, Any]:
        model = Kmeans(
            X.shape[1],
            len(start),
            niter=n_iter,
            max_points_per_centroid=X.shape[0],
            min_points_per_centroid=1,
        )
        model.train(X, init_centroids=start)
        return {
            "labels": None,
            "inertia": float(model.obj[-1]),
            "n_iter": n_iter,
            "centers": np.array(model.centroids),
        }

    return Contender("faiss", run)


def superkmeans(X: np.ndarray, n_clusters: int, defaults: bool = False) -> Contender:
    """superkmeans on all rows without early termination, or with its defaults."""
    try:
        from superkmeans import SuperKMeans
    except ImportError:
        raise MissingRequirementError(_INSTALL.format("superkmeans")) from None
    equal_work = {
        "hierarchical": False,
        "sampling_fraction": 1.0,
        "max_points_per_cluster": len(X),
        "early_termination": False,
    }

    def run(n_iter: int) -> dict[str, Any]:
        chosen = {"iters": n_iter, **({} if defaults else equal_work)}
        model = SuperKMeans(n_clusters, X.shape[1], **chosen)
        centers = model.train(X)
        n_iter = len(model.iteration_stats)
        return {"labels": None, "inertia": None, "n_iter": n_iter, "centers": np.array(centers)}

    return Contender("superkmeans, its defaults" if defaults else "superkmeans, all rows", run)


def sparsekmeans(X: sp.csr_matrix, start_rows: np.ndarray, algorithm: str) -> Contender:
    """The published package of the SparseKmeans paper, on two threads."""
    try:
        import graphblas
        from sparsekmeans import sparse_kmeans
    except ImportError:
        raise MissingRequirementError(_INSTALL.format("sparsekmeans")) from None
    kind = {"lloyd": sparse_kmeans.LloydKmeans, "elkan": sparse_kmeans.ElkanKmeans}[algorithm]

    def run(n_iter: int) -> dict[str, Any]:
        model = kind(
            n_clusters=len(start_rows), n_threads=2, max_iter=n_iter, tol=0, random_state=0
        )
        # It takes no starting centroids; its seeding is replaced by the rows everybody starts at.
        model._initialize_centroids = lambda _: graphblas.io.from_scipy_sparse(X[start_rows])
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = model.fit(X)
        return {"labels": np.asarray(labels), "inertia": None, "n_iter": ""}

    return Contender(f"sparsekmeans {algorithm}", run, equal_iterations=algorithm == "lloyd")


def _clustpy() -> Any:
    """clustpy.alternative; the package is not in the extra because it brings gigabytes along."""
    try:
        from clustpy import alternative
    except ImportError:
        raise MissingRequirementError(
            "needs ClustPy: pip install --no-deps clustpy (with its dependencies, which are not "
            "needed here, it would bring torch)"
        ) from None
    return alternative


def nrkmeans(
    X: np.ndarray, sizes: Sequence[int], *, seed: int = 0, n_init: int = 1, threads: int = 1
) -> Contender:
    """ClustPy's NrKmeans with a noise space, on so many BLAS threads.

    What it gives is taken from labels, not from ``n_clusters_final_``: restarts share that list,
    so it may belong to another one of them. A fit that fails gives only ``error``.
    """
    kind = _clustpy().NrKmeans

    def run(n_iter: int) -> dict[str, Any]:
        # The noise space is a last one with a single cluster.
        model = kind([*sizes, 1], n_init=n_init, max_iter=n_iter, random_state=seed)
        with threadpool_limits(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of means of no rows, where it loses a cluster
            try:
                model.fit(X)
            except Exception as error:  # it raises nothing more special
                return {"error": str(error).splitlines()[0]}
        return {
            "labels": model.labels_,
            "bases": [model.V_[:, columns] for columns in model.P_],
            "inertia": float(model.calculate_cost_function()),
            "n_iter": model.n_iter_,
        }

    return Contender(f"ClustPy, {n_init} starts" if n_init > 1 else "ClustPy, 1 start", run)


def nrkmeans_threads(X: np.ndarray, sizes: Sequence[int]) -> int:
    """BLAS threads, one or all, with which a short fit of ClustPy takes less time."""
    seconds = dict.fromkeys(blas_threads(), np.inf)
    for threads in 2 * list(seconds):  # in turns, the better of two
        began = time.perf_counter()
        nrkmeans(X, sizes, threads=threads).run(2)
        seconds[threads] = min(seconds[threads], time.perf_counter() - began)
    return min(seconds, key=lambda threads: seconds[threads])


def blas_threads() -> list[int]:
    """One and all."""
    return sorted({1, os.cpu_count() or 1})


def autonr(X: np.ndarray, *, seed: int, threads: int) -> tuple[int, ...]:
    """Numbers of clusters that ClustPy's AutoNR finds, without the noise space."""
    model = _clustpy().AutoNR(random_state=seed)
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    return tuple(int(k) for k in model.n_clusters_ if k > 1)
