"""Rows, centroids and labels in the space where an estimator measures distances."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._not_rows import refuse_loaders
from polymeans.inspection._geometry import Places, places_of
from polymeans.inspection._models import unwrapped


def in_space(estimator: Any, X: Any) -> tuple[Places, NDArray[Any]]:
    """Where rows and centroids are, and the label of each row.

    Parameters
    ----------
    estimator : fitted estimator, or a pipeline that ends with one
    X : rows

    Returns
    -------
    places : Places
    labels : ndarray of shape (n_samples,)
    """
    refuse_loaders(X)
    model, X = unwrapped(estimator, X)
    check_is_fitted(model)
    if getattr(model, "n_views_", 1) == 0:
        raise ValueError(
            "estimator must have a view to draw, but n_views_ is 0: no clusters were found. Ask "
            f"for them, as in {type(model).__name__}((3, 3))."
        )
    if model.cluster_centers_ is None and model.centroids_in_space_ is None:
        raise TypeError(
            f"estimator must have centers to draw, which {model!r} has not. Use another solver "
            "than 'cg'."
        )
    return places_of(model, X), np.asarray(model.predict(X))
