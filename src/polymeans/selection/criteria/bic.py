"""Bayesian information criterion of round normal clusters with a common variance (X-means)."""

import numpy as np
from numpy.typing import NDArray

#: Share of the variance to which a smaller inertia is raised: below it differences are rounding.
_LEAST_INERTIA = 1e-10


def bic(inertia: float, sizes: NDArray[np.int64], n_features: int, variance: float) -> float:
    """Minus twice the log-likelihood plus a penalty for each parameter; less is better.

    Parameters
    ----------
    inertia : float
    sizes : ndarray of shape (k,)
        Rows of each cluster.
    n_features : int
    variance : float
        Inertia of a single cluster.

    Returns
    -------
    float
    """
    n, used = float(sizes.sum()), sizes[sizes > 0].astype(np.float64)
    per_entry = max(inertia, _LEAST_INERTIA * variance, np.finfo(float).tiny) / (n * n_features)
    likelihood = float(used @ np.log(used / n))
    likelihood -= 0.5 * n * n_features * (1.0 + np.log(2.0 * np.pi * per_entry))
    n_parameters = len(sizes) * n_features + len(used)  # centroids; frequencies less one; variance
    return -2.0 * likelihood + n_parameters * float(np.log(n))


def lowest(values: NDArray[np.int64], scores: NDArray[np.float64]) -> int | None:
    """The value with the lowest score; None for one cluster, or if the last value has it.

    A criterion that is lowest at the end of the range still falls there, and names no number.
    """
    if not len(values):
        return None
    best = int(np.argmin(scores))
    is_inside = values[best] > 1 and (best < len(values) - 1 or len(values) == 1)
    return int(values[best]) if is_inside else None
