"""The gap statistic (Tibshirani, Walther and Hastie, 2001)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Gap(NamedTuple):
    """How far inertia is below that of rows without clusters, in logarithms."""

    gap: NDArray[np.float64]
    error: NDArray[np.float64]  #: standard error of each value


def gap_statistic(inertia: NDArray[np.float64], references: NDArray[np.float64]) -> Gap:
    """Gap and its standard error for each number of clusters.

    Parameters
    ----------
    inertia : ndarray of shape (n_values,)
        Of the rows.
    references : ndarray of shape (n_references, n_values)
        Of as many rows that are drawn without clusters.

    Returns
    -------
    Gap
    """
    tiny = np.finfo(np.float64).tiny
    logs = np.log(np.maximum(references, tiny))
    gap = logs.mean(axis=0) - np.log(np.maximum(inertia, tiny))
    return Gap(gap, logs.std(axis=0) * np.sqrt(1.0 + 1.0 / len(references)))


def first_sufficient(values: NDArray[np.int64], found: Gap) -> int | None:
    """The first value whose gap the next one does not exceed by its error; None for one cluster.

    None also if the gap still rises at the end.
    """
    for at in range(len(values) - 1):
        if found.gap[at] >= found.gap[at + 1] - found.error[at + 1]:
            return int(values[at]) if values[at] > 1 else None
    return None
