"""Where a fitted estimator measures distances, and how it is told a number of clusters."""

from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

from polymeans._validation import is_name, shown
from polymeans.grids.sizes import balanced_sizes
from polymeans.inspection._geometry import places_of
from polymeans.inspection._models import in_latent_space
from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.nonredundant import NonRedundantKMeans
from polymeans.transformed import TransformedKMeans


def split_pipeline(X: Any, estimator: Any) -> tuple[Any, Any]:
    """What the last step of a pipeline gets, the others being fitted to X, and that step."""
    if not isinstance(estimator, Pipeline):
        return X, estimator
    *steps, (_, last) = estimator.steps
    return (clone(Pipeline(steps)).fit_transform(X) if steps else X), last


def check_clusterer(estimator: Any) -> None:
    """Raise unless the estimator can be given a number of clusters, and has centroids."""
    is_estimator = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    parameters = estimator.get_params() if is_estimator else {}
    if not {"n_clusters", "n_protocentroids"} & set(parameters):
        raise TypeError(
            "estimator must be a clusterer with the parameter n_clusters or n_protocentroids, got "
            f"{shown(estimator)}. Pass an instance such as polymeans.KMeans()."
        )
    if in_latent_space(estimator):
        raise TypeError(
            "estimator must cluster all rows in the same space whatever their number of clusters, "
            f"got {type(estimator).__name__}: each number would train a network of its own, and "
            "distances in the latent spaces of different networks do not compare. Choose with "
            "polymeans.KMeans(), the default, or compare polymeans.stability for a few numbers."
        )


def has_free_centroids(estimator: Any) -> bool:
    """Whether ``init`` may be an array of centroids, so that a nested start is possible."""
    parameters = estimator.get_params()
    own_start = isinstance(estimator, KhatriRaoKMeans | NonRedundantKMeans | TransformedKMeans)
    return "n_clusters" in parameters and "init" in parameters and not own_start


def is_cosine(estimator: Any) -> bool:
    """Whether rows count by their direction only."""
    return is_name(getattr(estimator, "metric", None), "cosine")


def is_plain(estimator: Any) -> bool:
    """Whether this is k-means with Euclidean distances, also scikit-learn's."""
    return type(estimator).__name__ == "KMeans" and not is_cosine(estimator)


def possible_values(estimator: Any, values: list[int]) -> list[int]:
    """Numbers of clusters that the structure can have, for those that are asked for."""
    if isinstance(estimator, KhatriRaoKMeans):
        n_sets = len(estimator.n_protocentroids)
        return sorted({prod(balanced_sizes(k, n_sets)) for k in values if k > 1})
    return sorted(set(values))


def with_n_clusters(estimator: Any, k: int, seed: int, n_threads: int | None) -> Any:
    """A new estimator that will find k clusters (NonRedundantKMeans: k in each view)."""
    new = clone(estimator)
    given = {"random_state": seed, "n_threads": n_threads}
    new.set_params(**{name: given[name] for name in given.keys() & new.get_params().keys()})
    if isinstance(new, KhatriRaoKMeans):
        return new.set_params(n_protocentroids=balanced_sizes(k, len(new.n_protocentroids)))
    if isinstance(new, NonRedundantKMeans):
        several = isinstance(new.n_clusters, tuple | list)
        return new.set_params(n_clusters=(k,) * (len(new.n_clusters) if several else 1))
    return new.set_params(n_clusters=k)


def in_its_space(model: Any, rows: Any) -> tuple[Any, NDArray[np.float64]]:
    """Rows and centroids in the coordinates where the nearest centroid is a row's label.

    For cosine distances rows are brought to length one: then Euclidean distances decide.

    Parameters
    ----------
    model : fitted estimator
    rows : ndarray or CSR matrix or array

    Returns
    -------
    rows : ndarray or CSR
    centers : ndarray
    """
    places = places_of(model, rows)
    return normalize(places.rows) if places.metric == "cosine" else places.rows, places.centers


def products_with(
    rows: Any, centers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Products of rows and centroids, squares of rows, products of centroids; from their mean.

    Sparse rows are measured from zero, so that they stay sparse.
    """
    if sp.issparse(rows):
        squares = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).reshape(-1)
        return np.asarray(rows @ centers.T, dtype=np.float64), squares, centers @ centers.T
    origin = centers.mean(axis=0)
    about, centered = np.asarray(rows, dtype=np.float64) - origin, centers - origin
    squares = np.einsum("ij,ij->i", about, about)
    return about @ centered.T, squares, centered @ centered.T
