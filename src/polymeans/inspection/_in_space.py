"""Rows and centroids in the space where an estimator measures distances."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import is_name
from polymeans.inspection._models import unwrapped


@dataclass(frozen=True)
class Places:
    """Rows, centroids and labels in one space, and the metric there."""

    rows: Any
    centers: NDArray[np.float64]
    labels: NDArray[Any]
    metric: str


def in_space(estimator: Any, X: Any) -> Places:
    """Where rows and centroids are, for any estimator of the package or a pipeline.

    Parameters
    ----------
    estimator : fitted estimator
    X : rows

    Returns
    -------
    Places
        TransformedKMeans, also with a kernel: in the learned space. NonRedundantKMeans: in the
        subspace of the main view. Others: in the space of the features.
    """
    model, X = unwrapped(estimator, X)
    check_is_fitted(model)
    labels = np.asarray(model.predict(X))
    if hasattr(model, "transform_view"):
        if model.n_views_ == 0:
            raise ValueError(
                "estimator must have a view to draw, but n_views_ is 0: no clusters were found."
            )
        inside = model.transform_view(X, model.main_view_)
        edges = np.cumsum((0, *model.n_dims_))
        basis = model.rotation_[:, edges[model.main_view_] : edges[model.main_view_ + 1]]
        if model.whitening_ is not None:
            basis = model.whitening_ @ basis
        return Places(inside, (model.cluster_centers_ - model.mean_) @ basis, labels, "euclidean")
    space = getattr(model, "centers_in_space_", None)
    if space is not None:
        return Places(model.transform(X), np.asarray(space, dtype=float), labels, "euclidean")
    if model.cluster_centers_ is None:
        raise TypeError(
            f"This plot needs centers, which {model!r} has not: solver='cg' with a kernel keeps "
            "none. Use another solver."
        )
    metric = "cosine" if is_name(getattr(model, "metric", None), "cosine") else "euclidean"
    rows = X if hasattr(X, "shape") and not hasattr(X, "columns") else np.asarray(X)
    return Places(rows, np.asarray(model.cluster_centers_, dtype=float), labels, metric)
