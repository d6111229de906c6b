"""One fitted model of every class and kind, on small rows, for the tests of this folder."""

from functools import cache

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs

from polymeans import (
    KhatriRaoKMeans,
    KhatriRaoSelector,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)
from polymeans.kernel_approximation import ClusterNystroem, HadamardNystroem
from polymeans.neighbors import (
    ClusterKNeighborsClassifier,
    ClusterKNeighborsRegressor,
    ClusterNeighbors,
)

ESTIMATORS = {
    "kmeans": KMeans(4),
    "kmeans-cosine": KMeans(4, metric="cosine", init="random", n_init=2),
    "khatri-rao-sum": KhatriRaoKMeans((2, 3)),
    "khatri-rao-product": KhatriRaoKMeans([2, 2], aggregator="product"),
    "quick": QuickKMeans(6),
    "quick-means": QuickKMeans(6, centers="means", n_nonzeros=30),
    "l1": L1KMeans(4),
    "l1-mean": L1KMeans(4, offset="mean", n_nonzeros=12),
    "transformed": TransformedKMeans(3),
    "transformed-full": TransformedKMeans(3, embedding=None),
    "transformed-cg": TransformedKMeans(3, embedding=None, solver="cg"),
    "transformed-rbf": TransformedKMeans(3, kernel="rbf", kernel_params={"gamma": 0.1}),
    "transformed-linear-kernel": TransformedKMeans(3, kernel="linear", embedding="svd"),
    "nonredundant": NonRedundantKMeans((2, 2)),
    "nonredundant-auto": NonRedundantKMeans("auto"),
    "nonredundant-whitened": NonRedundantKMeans((2, 2), whiten=True),
    "selector": KhatriRaoSelector(6),
    "neighbors": ClusterNeighbors(3, n_probe="exact"),
    "classifier": ClusterKNeighborsClassifier(3, clusterer=KMeans(5)),
    "regressor": ClusterKNeighborsRegressor(3, clusterer=KhatriRaoKMeans((2, 2))),
    "nystroem": ClusterNystroem(n_components=8),
    "hadamard": HadamardNystroem(n_components=10),
}

CONTAINERS = ("float64", "float32", "csr_matrix", "csr_array-float32", "frame")

#: Methods whose results say what a model has learned.
METHODS = ("predict", "transform", "score", "kneighbors", "predict_proba", "predict_views")


def rows(container, n=80):
    """Rows without negative entries, half of them zeros, in a container."""
    X = make_blobs(n, 6, centers=5, random_state=1)[0]
    X = np.where(X > 0, X, 0.0)
    X[:, 0] += 0.5
    if container == "frame":
        return pd.DataFrame(X, columns=[f"größe {i}" for i in range(6)])
    if container == "float32":
        return X.astype(np.float32)
    if container == "csr_matrix":
        return sp.csr_matrix(X)
    return sp.csr_array(X.astype(np.float32)) if container.startswith("csr_array") else X


def targets(name, n=80):
    """Classes, targets, or what is ignored."""
    return (
        np.array(["red", "green", "blue"])[np.arange(n) % 3]
        if name == "classifier"
        else (np.arange(float(n)))
    )


@cache
def fitted(name, container):
    """A model of a name in ESTIMATORS; do not change it."""
    return clone(ESTIMATORS[name]).set_params(random_state=0).fit(rows(container), targets(name))


def results(model, X, y):
    """What all methods of a model return."""
    found = {}
    for method in METHODS:
        if not hasattr(model, method):
            continue
        try:
            needs_y = method == "score" and hasattr(model, "kneighbors")
            value = getattr(model, method)(X, y) if needs_y else getattr(model, method)(X)
        except NotImplementedError as error:  # a solver that has no transform
            value = np.array([str(error)])
        for i, part in enumerate(value if isinstance(value, tuple) else (value,)):
            found[method, i] = np.asarray(part)
    return found


def same(a, b):
    """Whether two values are equal in type, form and every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        equal_type = a.dtype == b.dtype and a.shape == b.shape
        if a.dtype.names:
            return equal_type and all(same(a[name], b[name]) for name in a.dtype.names)
        return equal_type and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if sp.issparse(a):
        return a.shape == b.shape and all(
            same(getattr(a, part), getattr(b, part)) for part in ("data", "indices", "indptr")
        )
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, np.random.RandomState):
        return same(a.get_state(), b.get_state())
    if hasattr(a, "__getstate__") and hasattr(a, "get_params"):
        return same(dict(a.__getstate__()), dict(b.__getstate__()))
    return a == b or (a != a and b != b)
