"""Rows and centroids in the coordinates where the nearest centroid is a row's label."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import is_name


class Places(NamedTuple):
    """Rows and centroids in one space, and the metric there."""

    rows: Any
    centers: NDArray[np.float64]
    metric: str  #: "euclidean" or "cosine"


def is_cosine(model: Any) -> bool:
    """Whether rows count by their direction only."""
    return is_name(getattr(model, "metric_", getattr(model, "metric", None)), "cosine")


def places_of(model: Any, rows: Any) -> Places:
    """Where rows and centroids are, for any fitted estimator of the package.

    Parameters
    ----------
    model : fitted estimator
    rows : ndarray, CSR or frame

    Returns
    -------
    Places
        :class:`~polymeans.TransformedKMeans`, also with a kernel: in the learned space.
        :class:`~polymeans.NonRedundantKMeans`: in the subspace of the main view. Others: in the
        space of the features.
    """
    if hasattr(model, "transform_view"):
        inside = model.transform_view(rows, model.main_view_)
        return Places(inside, centroids_of_view(model), "euclidean")
    in_space = getattr(model, "centroids_in_space_", None)
    if in_space is not None:
        return Places(model.transform(rows), np.asarray(in_space, dtype=np.float64), "euclidean")
    metric = "cosine" if is_cosine(model) else "euclidean"
    return Places(rows, np.asarray(model.cluster_centers_, dtype=np.float64), metric)


def centroids_of_view(model: Any) -> NDArray[np.float64]:
    """Centroids of the main view in its coordinates; ``transform`` would ask for feature names."""
    edges = np.cumsum((0, *model.n_dims_))
    basis = model.rotation_[:, edges[model.main_view_] : edges[model.main_view_ + 1]]
    if model.whitening_ is not None:
        basis = model.whitening_ @ basis
    return np.asarray((model.cluster_centers_ - model.mean_) @ basis, dtype=np.float64)
