"""Numbers of clusters to compare, as they are given and as an estimator can have them."""

from numbers import Integral
from typing import Any

import numpy as np

from polymeans._validation import check_integer, shown
from polymeans.selection.space import has_free_centroids, possible_values


def check_values(given: Any, estimator: Any, n_samples: int) -> list[int]:
    """Numbers of clusters that can be compared, rising; one cluster comes first where it can."""
    if isinstance(given, Integral) and not isinstance(given, bool):
        check_integer("n_clusters", given, 2, "From 2 to this number are compared.")
        given = range(2, min(int(given), max(2, n_samples // 2)) + 1)
    if isinstance(given, str | bytes) or not np.iterable(given):
        raise TypeError(
            f"n_clusters must be an integer or a sequence of them, got {shown(given)}. "
            "Use range(2, 21), for example."
        )
    values = list(given)
    for value in values:
        check_integer("Each of n_clusters", value, 1)
    # Halves of the rows have to be enough for as many clusters.
    most = n_samples // 2
    possible = [k for k in possible_values(estimator, [int(v) for v in values]) if k <= most]
    if not any(k > 1 for k in possible):
        raise ValueError(
            f"n_clusters={shown(values)} has no number of clusters from 2 to {most}, half of the "
            f"n_samples={n_samples} rows. Give more rows, or smaller numbers."
        )
    return sorted({1, *possible}) if has_free_centroids(estimator) else possible
