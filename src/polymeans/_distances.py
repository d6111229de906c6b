"""Distances of rows to centroids, under one name for all estimators."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._rows import checked_blocks, chunk_by_chunk, is_blocks
from polymeans._validation import check_rows
from polymeans.engine.assignment import make_codebook
from polymeans.engine.distances import distances_to_all
from polymeans.engine.survey import glance


class DistancesMixin:
    """Gives estimators ``distances``."""

    @chunk_by_chunk
    def distances(self, X: Any) -> NDArray[Any] | Iterator[NDArray[Any]]:
        """Distance of each row to each centroid of ``labels_``, where the estimator clusters.

        The nearest centroid is the label of a row, up to rounding.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Euclidean distances among the features; cosine distances where ``metric="cosine"``; of
            :class:`~polymeans.TransformedKMeans` in the learned space, of
            :class:`~polymeans.NonRedundantKMeans` in the subspace of the view of ``labels_``. Of
            Blocks: an iterator over the distances of each block.
        """
        check_is_fitted(self)
        if is_blocks(X):
            return (self._distances(rows) for rows, _ in checked_blocks(self, X))
        return self._distances(check_rows(self, X, reset=False))

    def _distances(self, X: Any) -> NDArray[Any]:
        """Distances of checked rows: what ``transform`` returns, where that is no other space."""
        return self._transform(X)  # type: ignore[attr-defined]


def distances_between(
    X: Any, centroids: NDArray[Any], dtype: np.dtype[Any], spherical: bool = False
) -> NDArray[Any]:
    """Distances of rows to points of the same space, at any magnitude.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        Checked rows.
    centroids : ndarray of shape (k, d)
        Finite.
    dtype : dtype
        Of the result.
    spherical : bool, default=False
        Cosine distances instead of Euclidean ones.

    Returns
    -------
    ndarray of shape (n, k)
        Infinite where a distance is beyond the largest number.
    """
    if centroids.shape[1] == 0:  # a view whose centers are all equal has no directions
        return np.zeros((X.shape[0], len(centroids)), dtype=dtype)
    X, centroids = in_one_dtype(X, centroids)
    with np.errstate(all="ignore"):
        largest = 0.0 if spherical else float(np.abs(centroids).max())
        block = glance(X, np.ones(X.shape[0]), spherical, largest)
        return distances_to_all(block, make_codebook(block.frame, centroids), dtype)


def in_one_dtype(X: Any, *vectors: NDArray[Any]) -> tuple[Any, ...]:
    """Rows and fitted vectors: labels are defined by the wider of two dtypes."""
    if X.dtype == vectors[0].dtype:
        return X, *vectors
    return tuple(part.astype(np.float64, copy=False) for part in (X, *vectors))
