"""Centroids as landmarks: inner products of rows with them, through a fast operator if any."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import shown
from polymeans.core.norms import squared_norms
from polymeans.core.threads import Threads, product_blocks


def fitted_clusterer(clusterer: Any, default: Any, X: Any) -> Any:
    """A fitted clusterer for rows X.

    Parameters
    ----------
    clusterer : estimator or None
        Returned as it is if it is fitted, else cloned and fitted.
    default : callable
        Makes the clusterer to fit if none is given.
    X : ndarray or CSR matrix or array of shape (n_samples, n_features)

    Returns
    -------
    estimator
    """
    if clusterer is None:
        return default().fit(X)
    for name in ("fit", "predict"):
        if not hasattr(clusterer, name):
            raise TypeError(
                f"clusterer must be None or an estimator with fit, predict and cluster_centers_, "
                f"got {shown(clusterer)}, which has no {name}."
            )
    try:
        check_is_fitted(clusterer)
    except NotFittedError:
        clusterer = clone(clusterer).fit(X)
    if getattr(clusterer, "cluster_centers_", None) is None:
        raise TypeError(
            f"clusterer={clusterer!r} has no cluster_centers_ when it is fitted. Use one with "
            "centroids among the features, such as KMeans, QuickKMeans or KhatriRaoKMeans."
        )
    if clusterer.cluster_centers_.shape[1] != X.shape[1]:
        raise ValueError(
            f"clusterer was fitted on {clusterer.cluster_centers_.shape[1]} features, but X has "
            f"{X.shape[1]}. Fit it on rows like these, or give it unfitted."
        )
    return clusterer


class Landmarks:
    """Centroids of a fitted clusterer, their squared norms, and inner products with rows.

    If the clusterer has a fast operator (``operator_``, and ``offset_`` where centroids are
    measured from one), products are computed by it, and the landmarks are the matrix that the
    operator represents, plus the offset.

    Parameters
    ----------
    clusterer : estimator
        Fitted.

    Attributes
    ----------
    centers : ndarray of shape (n_landmarks, n_features)
    squares : ndarray of shape (n_landmarks,)
        Squared norms, float64.
    """

    def __init__(self, clusterer: Any) -> None:
        self.operator = getattr(clusterer, "operator_", None)
        if self.operator is None:
            self.centers = np.ascontiguousarray(clusterer.cluster_centers_)
        else:
            self.offset = np.asarray(getattr(clusterer, "offset_", np.zeros(1)))
            self.centers = np.ascontiguousarray(self.operator.toarray() + self.offset)
        self.squares = squared_norms(self.centers)

    def products(self, X: Any, n_threads: int | None = None) -> NDArray[Any]:
        """Inner products of rows with all landmarks, the same bits for any number of threads."""
        with Threads(n_threads, one_blas_thread=True) as threads:
            if self.operator is not None:
                out = self.operator.products(X, n_threads=n_threads)
                if self.offset.any():
                    out += np.asarray(X @ self.offset.astype(X.dtype, copy=False))[:, None]
                return out
            centers = self.centers.astype(X.dtype, copy=False).T
            out = np.empty((X.shape[0], centers.shape[1]), dtype=X.dtype)

            def multiply(block: tuple[int, int]) -> None:
                # The caller handles overflow; its errstate is not inherited by other threads.
                with np.errstate(over="ignore", invalid="ignore"):
                    out[slice(*block)] = X[slice(*block)] @ centers

            threads.map(multiply, product_blocks(X.shape[0]))
        return out
