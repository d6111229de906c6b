"""Coordinates of the views of a fitted estimator, and distances in them."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._distances import distances_between
from polymeans._rows import chunk_by_chunk, is_blocks
from polymeans.search.views.whitening import FAR, project


class ViewCoordinates:
    """What estimators with views return beyond labels: rows in a view, and their names there."""

    n_views_: int
    n_dims_: tuple[int, ...]
    main_view_: int
    mean_: NDArray[Any]
    cluster_centers_: Any
    transform: Any
    _transform: Any

    @chunk_by_chunk
    def transform_view(self, X: Any, view: int) -> NDArray[Any] | Iterator[NDArray[Any]]:
        """Rows in the coordinates of one view.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.
        view : int
            Which one, from 0; negative numbers count from the end.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, n_dims_[view])
            Measured from the mean. For blocks, an iterator of such arrays.
        """
        check_is_fitted(self)
        if self.n_views_ == 0:
            raise ValueError(
                f"view={view!r} cannot be shown: no views were found. Ask for some by "
                "n_clusters=(3, 3), or look at the rows themselves."
            )
        if not isinstance(view, Integral) or not -self.n_views_ <= view < self.n_views_:
            raise ValueError(
                f"view must be an integer from 0 to {self.n_views_ - 1}, got {view!r}: "
                f"{self.n_views_} views were found."
            )
        edges = np.cumsum((0, *self.n_dims_))
        view = int(view) % self.n_views_
        mine = slice(edges[view], edges[view + 1])
        if is_blocks(X):
            return (np.asarray(part)[:, mine] for part in self.transform(X))
        return np.asarray(self.transform(X))[:, mine]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of ``transform``: ``view0_dim0``, ``view0_dim1``, ...

        Parameters
        ----------
        input_features : Ignored
            Present by convention.

        Returns
        -------
        names : ndarray of str
            One for each dimension of each view.
        """
        check_is_fitted(self)
        names = [f"view{s}_dim{i}" for s, m in enumerate(self.n_dims_) for i in range(m)]
        return np.array(names, dtype=object)

    @property
    def _n_features_out(self) -> int:
        return sum(self.n_dims_)

    def _distances(self, X: Any) -> NDArray[Any]:
        """Distances of checked rows to the centroids of the main view, in its subspace."""
        if self.n_views_ == 0:
            return distances_between(X, np.asarray(self.mean_)[None], X.dtype)
        edges = np.cumsum((0, *self.n_dims_))
        mine = slice(edges[self.main_view_], edges[self.main_view_ + 1])
        inside, centroids = self._transform(X)[:, mine], centroids_of_view(self)
        if np.isfinite(inside).all() and np.isfinite(centroids).all():
            return distances_between(inside, centroids, X.dtype)
        return self._far_distances(X)

    def _far_distances(self, X: Any) -> NDArray[Any]:
        """The same where coordinates leave the range of numbers, in a larger unit."""
        basis = basis_of_view(self)
        inside = project(X / FAR, self.mean_ / FAR, basis)
        centroids = project(self.cluster_centers_ / FAR, self.mean_ / FAR, basis)
        with np.errstate(over="ignore"):
            return FAR * distances_between(inside, centroids, X.dtype)


def column_of(labels: NDArray[np.int32], view: int) -> NDArray[np.int32]:
    """Labels in one view; all the same if there is none.

    Parameters
    ----------
    labels : ndarray of shape (n, n_views)
    view : int

    Returns
    -------
    ndarray of shape (n,)
    """
    if labels.shape[1] == 0:
        return np.zeros(len(labels), dtype=np.int32)
    return np.ascontiguousarray(labels[:, view])


def basis_of_view(model: Any) -> NDArray[Any]:
    """Directions of the main view, as columns."""
    edges = np.cumsum((0, *model.n_dims_))
    basis = model.rotation_[:, edges[model.main_view_] : edges[model.main_view_ + 1]]
    return basis if model.whitening_ is None else model.whitening_ @ basis


def centroids_of_view(model: Any) -> NDArray[np.float64]:
    """Centroids of the main view in its coordinates; ``transform`` would ask for feature names."""
    with np.errstate(over="ignore"):  # coordinates beyond the largest number are infinite
        inside = (model.cluster_centers_ - model.mean_) @ basis_of_view(model)
    return np.asarray(inside, dtype=np.float64)
