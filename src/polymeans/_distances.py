"""Distances of rows to centroids, under one name for all estimators."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_is_fitted

from polymeans._rows import checked_blocks, chunk_by_chunk, is_blocks
from polymeans._validation import check_rows


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
    rows: NDArray[Any], centroids: NDArray[Any], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Euclidean distances in a space of few dimensions, in the dtype of the rows.

    Parameters
    ----------
    rows : ndarray of shape (n, r)
    centroids : ndarray of shape (k, r)
    dtype : dtype

    Returns
    -------
    ndarray of shape (n, k)
    """
    found = pairwise_distances(rows.astype(np.float64, copy=False), centroids.astype(np.float64))
    return found.astype(dtype, copy=False)
