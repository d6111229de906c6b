"""Criteria that say for each number of clusters whether it is good enough: the largest counts."""

import numpy as np
from numpy.typing import NDArray


def largest_above(
    values: NDArray[np.int64], scores: NDArray[np.float64], threshold: float
) -> int | None:
    """The largest number of clusters, above one, whose score reaches the threshold; or None."""
    good = values[(scores >= threshold) & (values > 1)]
    return int(good.max()) if len(good) else None


def best_beyond(
    values: NDArray[np.int64], scores: NDArray[np.float64], without_clusters: float
) -> int | None:
    """The number of clusters with the highest score; None if rows without clusters reach it."""
    known = np.isfinite(scores) & (values > 1)
    if not known.any():
        return None
    best = int(np.argmax(np.where(known, scores, -np.inf)))
    return int(values[best]) if scores[best] > without_clusters else None
