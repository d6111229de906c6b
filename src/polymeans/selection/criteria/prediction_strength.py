"""Prediction strength (Tibshirani and Walther, 2005): do two halves find the same clusters?"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def prediction_strength(own: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Share of pairs of a cluster that stay together, for the cluster where it is lowest.

    Parameters
    ----------
    own : ndarray of shape (n,)
        Labels that rows have in a fit to them.
    predicted : ndarray of shape (n,)
        Labels that centroids fitted to other rows give them.

    Returns
    -------
    float
        From 0 to 1. Clusters of one row are left out; 1 if there are no others.
    """
    n_other = int(predicted.max(initial=0)) + 1
    table = np.bincount(own.astype(np.int64) * n_other + predicted)
    table = np.pad(table, (0, -len(table) % n_other)).reshape(-1, n_other)
    sizes = table.sum(axis=1)
    together = (table * (table - 1)).sum(axis=1)[sizes > 1]
    pairs = (sizes * (sizes - 1))[sizes > 1]
    return float(np.min(together / pairs, initial=1.0))
