"""The knee of the curve of inertia, or no knee."""

import numpy as np
from numpy.typing import NDArray

#: How much steeper the curve has to be before a knee than after it. Rows that fill a region of any
#: dimension evenly have a ratio of about one everywhere.
STEEPER = 2.0


def steepness(values: NDArray[np.int64], inertia: NDArray[np.float64]) -> NDArray[np.float64]:
    """How the inertia falls between neighboring values, as a power of the number of clusters.

    Rows that fill a region of m dimensions evenly have an inertia that falls with the power
    ``2 / m``, for any number of clusters, so a straight line in logarithms is no structure.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Numbers of clusters, rising.
    inertia : ndarray of shape (n_values,)

    Returns
    -------
    ndarray of shape (n_values - 1,)
        From each value to the next; 0 where the inertia does not fall.
    """
    floor = np.finfo(np.float64).eps * float(inertia.max(initial=0.0))
    logs = np.log(np.maximum(inertia, max(floor, np.finfo(np.float64).tiny)))
    return np.maximum(-np.diff(logs) / np.diff(np.log(values)), 0.0)


def find_knee(values: NDArray[np.int64], inertia: NDArray[np.float64]) -> int | None:
    """The value where the curve turns most, or None if it turns nowhere by a factor of two.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Numbers of clusters, rising; the first and the last cannot be a knee.
    inertia : ndarray of shape (n_values,)

    Returns
    -------
    int or None
    """
    if len(values) < 3:
        return None
    slopes = steepness(values, inertia)
    if not slopes.max() > 0:
        return None
    # Slopes near zero after the knee would make any ratio large: they count as a hundredth of the
    # steepest.
    ratios = slopes[:-1] / np.maximum(slopes[1:], 0.01 * slopes.max())
    best = int(np.argmax(ratios))
    return int(values[best + 1]) if ratios[best] >= STEEPER else None
