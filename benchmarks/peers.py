"""Peers behind one face: start from given centroids, run so many iterations, give labels."""

import contextlib
import io
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

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
        return {"labels": None, "inertia": float(model.obj[-1]), "n_iter": n_iter}

    return Contender("faiss", run)


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
