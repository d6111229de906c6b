"""Combinations of protocentroids, one from each of several sets.

p sets of ``h_1, ..., h_p`` vectors make ``k = h_1 · ... · h_p`` centroids, each the sum or the
elementwise product of one *protocentroid* from every set. Centroid number ``c`` is in C order: the
last set's index runs fastest, as in ``numpy.unravel_index(c, sizes)``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

AGGREGATORS = ("sum", "product")


def combine(protocentroids: Sequence[NDArray[Any]], aggregator: str) -> NDArray[Any]:
    """All centroids, in C order.

    Parameters
    ----------
    protocentroids : sequence of p arrays of shape (h_q, n_features)
    aggregator : {"sum", "product"}

    Returns
    -------
    ndarray of shape (h_1 · ... · h_p, n_features)
    """
    operation = np.add if aggregator == "sum" else np.multiply
    combined = np.asarray(protocentroids[0])
    for following in protocentroids[1:]:
        combined = operation(combined[:, None, :], following[None, :, :])
        combined = combined.reshape(-1, combined.shape[-1])
    return combined


def split(stacked: NDArray[Any], sizes: Sequence[int]) -> list[NDArray[Any]]:
    """The sets of a stack of protocentroids (views)."""
    return np.split(stacked, np.cumsum(sizes)[:-1])


def digits_of(codes: NDArray[np.integer], sizes: Sequence[int]) -> NDArray[np.int32]:
    """Which protocentroid of each set a centroid is made of: shape (p, n)."""
    return np.array(np.unravel_index(codes, tuple(sizes)), dtype=np.int32).reshape(len(sizes), -1)


def labels_per_set(codes: NDArray[np.int32], sizes: Sequence[int]) -> NDArray[np.int32]:
    """The same with one column for each set: shape (n, p), also for p = 0."""
    if len(sizes) == 0:
        return np.empty((len(codes), 0), dtype=np.int32)
    return np.ascontiguousarray(digits_of(codes, sizes).T)


def center_later_sets(
    protocentroids: Sequence[NDArray[np.float64]], marginals: Sequence[NDArray[np.float64]]
) -> None:
    """Fix the gauge of a sum, in place: weighted means of all sets but the first become zero.

    Adding a vector to one set and subtracting it from another changes no centroid.
    """
    for theta, mass in zip(protocentroids[1:], marginals[1:]):
        mean = mass @ theta / mass.sum()
        theta -= mean
        protocentroids[0][...] += mean


def scale_later_sets(protocentroids: Sequence[NDArray[np.float64]]) -> None:
    """Fix the gauge of a product, in place: all sets but the first get unit root mean square.

    Feature by feature, multiplying one set and dividing another by the same number changes no
    centroid. Signs are such that later sets have non-negative sums. A feature in which a later
    set vanishes is zero in all centroids: it becomes zero in the first set and one in the others.
    """
    first = protocentroids[0]
    for theta in protocentroids[1:]:
        # Squares of extreme values would leave the range of float64: divide by the largest first.
        unit = np.abs(theta).max(axis=0)
        unit[unit == 0] = 1.0
        scale = unit * np.sqrt(np.mean((theta / unit) ** 2, axis=0))
        dead = scale == 0
        sign = np.where(theta.sum(axis=0) < 0, -1.0, 1.0)
        scale = np.where(dead, 1.0, scale * sign)
        theta /= scale
        first *= scale
        theta[:, dead] = 1.0
        first[:, dead] = 0.0
