"""Size of a codebook."""

from numbers import Integral
from typing import Any

from sklearn.utils.validation import check_is_fitted


def parameter_ratio(model: Any) -> float:
    """Numbers that a fitted codebook stores, over those of as many free centroids.

    **Idea.** Free centroids are ``n_clusters · n_features`` numbers. A structured codebook stores
    fewer numbers for as many centroids: two sets of 30 protocentroids, 60 vectors, have 900
    combinations, a ratio of 1/15.

    **Use when** you compare the size of a model with its inertia. **Do not use** as a measure of
    memory: indices, labels and precision are not counted.

    Parameters
    ----------
    model : estimator
        A fitted clustering. The size of its codebook is ``n_parameters_``; if it has
        ``cluster_centers_`` and no ``n_parameters_``, its centroids are free. The number of
        clusters is ``n_clusters_``, else ``n_clusters``, else the rows of ``cluster_centers_``.

    Returns
    -------
    ratio : float
        1 for free centroids, less for a codebook that is smaller.

    See Also
    --------
    polymeans.compare : Structures beside each other under equal budgets.
    polymeans.inspection.plot_tradeoff : Inertia against the numbers stored.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.metrics import parameter_ratio
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> parameter_ratio(KMeans(4, random_state=0).fit(X))
    1.0
    """
    check_is_fitted(model)
    n_features = getattr(model, "n_features_in_", None)
    if n_features is None:
        raise TypeError(
            f"model must have n_features_in_, got {model!r}, which does not. "
            "Pass an estimator fitted on rows of features."
        )
    free = _n_clusters(model) * n_features
    n_parameters = getattr(model, "n_parameters_", None)
    if n_parameters is None:
        if not hasattr(model, "cluster_centers_"):
            raise TypeError(
                f"model must have n_parameters_ or cluster_centers_, got {model!r}, which has "
                "neither. Pass a clustering that has centroids."
            )
        n_parameters = free
    return float(n_parameters / free)


def _n_clusters(model: Any) -> int:
    # Centroids come last: some models compute all of them whenever the attribute is read.
    for name in ("n_clusters_", "n_clusters"):
        value = getattr(model, name, None)
        if isinstance(value, Integral):
            return int(value)
    centers = getattr(model, "cluster_centers_", None)
    if centers is None:
        raise TypeError(
            f"model must have n_clusters_, an integer n_clusters or cluster_centers_, got "
            f"{model!r}, which has none of them. Pass a clustering that has centroids."
        )
    return int(centers.shape[0])
