"""Checks of the parameters of KhatriRaoKMeans."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import (
    MOST_EFFORT,
    check_choice,
    check_initial_centers,
    check_integer,
    check_real,
    is_flat_sequence,
    shown,
)
from polymeans.codebooks.aggregation import AGGREGATORS

INITS = ("auto", "search", "residual", "k-means++", "random", "naive")

#: Centroids at most: their numbers are labels, signed integers of 32 bits.
_MOST_CLUSTERS = 2**31 - 1


def sizes_of(n_protocentroids: Any) -> tuple[int, ...]:
    """Protocentroids in each set; an integer is one set."""
    if isinstance(n_protocentroids, Integral):
        return (int(n_protocentroids),)
    return tuple(int(h) for h in n_protocentroids)


def check_parameters(model: Any) -> None:
    """Raise if a parameter cannot be used, whatever the rows are."""
    check_set_sizes(model.n_protocentroids)
    check_choice("aggregator", model.aggregator, AGGREGATORS)
    remedy = "1 is the default, 4 is thorough."
    check_real("effort", model.effort, 0.01, remedy, MOST_EFFORT)
    if isinstance(model.init, str):
        remedy = "Or give a list of arrays, one for each set, or a callable."
        check_choice("init", model.init, INITS, remedy)
    if not isinstance(model.store_centroids, bool | np.bool_):
        check_choice("store_centroids", model.store_centroids, ("auto",), "Or True or False.")


def check_set_sizes(given: Any) -> None:
    """Raise unless ``given`` are sizes of sets, with no more combinations than labels."""
    sizes = given
    if isinstance(sizes, Integral) and not isinstance(sizes, bool):
        sizes = (sizes,)
    if not is_flat_sequence(sizes) or len(sizes) == 0:
        raise TypeError(
            "n_protocentroids must be a tuple of integers, one for each set, such as (3, 4), "
            f"got {shown(given)}."
        )
    for q, h in enumerate(sizes):
        check_integer(f"n_protocentroids[{q}]", h, 1, "A set needs at least one vector.")
    n_clusters = 1
    for h in sizes:
        n_clusters *= int(h)
    if n_clusters > _MOST_CLUSTERS:
        raise ValueError(
            f"n_protocentroids={shown(given)} make {shown(n_clusters)} centroids, more than "
            f"{_MOST_CLUSTERS} can be told apart. Use smaller or fewer sets."
        )


def check_sets(
    given: Any, sizes: tuple[int, ...], n_features: int, dtype: np.dtype[Any]
) -> list[NDArray[Any]]:
    """Protocentroids to start from, one array for each set."""
    choices = (
        f"one of {', '.join(map(repr, INITS))}, a callable, or a list of {len(sizes)} arrays "
        "of shapes (h_q, n_features)"
    )
    if len(sizes) == 1 and getattr(given, "ndim", 0) == 2:
        given = [given]
    # Arrays of no dimension have the method for a length, but no length.
    has_length = hasattr(given, "__len__") and getattr(given, "ndim", 1) > 0
    if not has_length or len(given) != len(sizes):
        found = f"{len(given)} of them" if has_length else shown(given)
        raise ValueError(f"init must be {choices}, got {found}.")
    meaning = "(h_q, n_features)"
    return [
        check_initial_centers(f"init[{q}]", part, (h, n_features), meaning, choices, dtype)
        for q, (part, h) in enumerate(zip(given, sizes))
    ]
