"""Checks of the parameters of NonRedundantKMeans."""

from numbers import Integral
from typing import Any

import numpy as np

from polymeans._rows import RowsInfo
from polymeans._validation import (
    MOST_EFFORT,
    check_boolean,
    check_choice,
    check_integer,
    check_labels,
    check_real,
    is_flat_sequence,
    is_name,
    shown,
)

INITS = ("auto", "search", "random")

#: Combinations of clusters at most: the fit keeps a mass for each combination, in float64 some
#: 32 MiB for this many.
_MOST_COMBINATIONS = 2**22


def sizes_of(n_clusters: Any) -> tuple[int, ...] | None:
    """Clusters of each view; None where they are chosen automatically."""
    if isinstance(n_clusters, str):
        return None
    if isinstance(n_clusters, Integral):
        return (int(n_clusters),)
    return tuple(int(k) for k in n_clusters)


def check_parameters(model: Any) -> None:
    """Raise if a parameter cannot be used, whatever the rows are."""
    if isinstance(model.n_clusters, str):
        if model.n_clusters != "auto":
            raise ValueError(
                'n_clusters must be "auto", an integer, or a tuple of integers such as (3, 4), '
                f"got {model.n_clusters!r}."
            )
    else:
        _check_sizes(model.n_clusters)
    remedy = "1 is the default, 4 is thorough."
    check_real("effort", model.effort, 0.01, remedy, MOST_EFFORT)
    check_real("resolution", model.resolution, 0.0, "0.1 is the default.")
    check_boolean("noise_space", model.noise_space)
    if not isinstance(model.whiten, bool | np.bool_):
        check_integer("whiten", model.whiten, 1, "Or use True or False.")
    if isinstance(model.init, str):
        check_choice("init", model.init, INITS, "Or give labels, one column for each view.")


def _check_sizes(sizes: Any) -> None:
    if isinstance(sizes, Integral) and not isinstance(sizes, bool):
        check_integer("n_clusters", sizes, 1)
        return
    if not is_flat_sequence(sizes) or len(sizes) == 0:
        raise TypeError(
            "n_clusters must be a tuple of integers, one for each view, such as (3, 4), an "
            f'integer, or "auto", got {shown(sizes)}.'
        )
    remedy = (
        "A view needs two clusters; dimensions for noise are set aside without being asked for."
    )
    for s, k in enumerate(sizes):
        check_integer(f"n_clusters[{s}]", k, 2, remedy)
    if np.prod([float(k) for k in sizes]) > _MOST_COMBINATIONS:
        raise ValueError(
            f"n_clusters={tuple(sizes)} make more than {_MOST_COMBINATIONS} combinations, more "
            "than can be counted. Use fewer views or fewer clusters."
        )


def check_start(model: Any, info: RowsInfo) -> Any:
    """The name of a method, or labels in each view; an error if these rows do not suffice."""
    n_samples, n_features = info.shape
    sizes = sizes_of(model.n_clusters)
    if sizes is not None:
        if n_samples < max(sizes):
            raise ValueError(
                f"n_samples={n_samples} should be >= every number of clusters, "
                f"n_clusters={model.n_clusters}. Ask for fewer clusters or give more rows."
            )
        if len(sizes) > n_features:
            raise ValueError(
                f"n_clusters={model.n_clusters} has {len(sizes)} views for "
                f"n_features={n_features}: each view needs a direction of its own. Ask for "
                "fewer views."
            )
    init = "search" if is_name(model.init, "auto") else model.init
    if sizes is None and not is_name(init, "search"):
        raise ValueError(
            'init must be "auto" or "search" where n_clusters="auto" chooses the views, got '
            f"{shown(model.init)}. Give the numbers of clusters too."
        )
    if isinstance(init, str):
        return str(init)
    assert sizes is not None  # refused above
    return check_labels("init", model.init, n_samples, sizes)
