"""What a fitted estimator says about its centroids, in public attributes only."""

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray


def tables(model: Any) -> list[NDArray[Any]]:
    """Centroids that decide labels: as the attributes define them, and rounded to their type.

    Labels may be nearest in either. Where centroids are not made of parts both are the same.
    """
    if hasattr(model, "protocentroids_"):
        sets = [part.astype(np.longdouble) for part in model.protocentroids_]
        together = np.add if model.aggregator == "sum" else np.multiply
        n_features = sets[0].shape[1]
        wide = reduce(
            lambda left, right: together(left[:, None], right[None]).reshape(-1, n_features), sets
        )
        # Kernels add in float64, one set after the other: three sets are rounded twice.
        stepwise = reduce(
            lambda left, right: together(left[:, None], right[None]).reshape(-1, n_features),
            [part.astype(np.float64) for part in model.protocentroids_],
        )
        with np.errstate(over="ignore"):
            return [wide.astype(np.float64), model.cluster_centers_, stepwise]
    if hasattr(model, "factors_"):
        factors = [factor.astype(np.float64) for factor in model.factors_]
        product = reduce(lambda left, right: left @ right, factors)
        wide = product.toarray() + model.offset_.astype(np.float64)
        if model.centers == "factored":
            return [wide, model.cluster_centers_]
        return [wide, wide.astype(model.offset_.dtype)]
    return [model.cluster_centers_]


def is_made_of_parts(model: Any) -> bool:
    """Whether centroids are rounded when they are put together."""
    return hasattr(model, "protocentroids_") or hasattr(model, "factors_")


def public_state(model: Any) -> dict[str, Any]:
    """Fitted attributes that have to be the same bits for every way to run a fit."""
    names = (
        "labels_",
        "cluster_centers_",
        "protocentroids_",
        "centroids_per_view_",
        "labels_per_view_",
        "inertia_",
        "n_iter_",
    )
    state = {name: getattr(model, name) for name in names if hasattr(model, name)}
    history = getattr(model, "history_", None)
    if history is not None:
        state["history_"] = [history[name] for name in ("inertia", "n_moved", "shift")]
    return state


def difference(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """The first attribute that has other bits, or None."""
    for name, value in one.items():
        parts = value if isinstance(value, list) else [value]
        others = other[name] if isinstance(value, list) else [other[name]]
        for left, right in zip(parts, others, strict=True):
            if left is None and right is None:
                continue
            left, right = np.asarray(left), np.asarray(right)
            if left.shape != right.shape or left.dtype != right.dtype:
                return f"{name}: {left.dtype}{left.shape} and {right.dtype}{right.shape}"
            # By value, not by bytes: -0.0 and 0.0 are the same number.
            if not np.array_equal(left, right, equal_nan=left.dtype.kind == "f"):
                return f"{name}: {_first(left, right)}"
    return None


def _first(left: NDArray[Any], right: NDArray[Any]) -> str:
    if not left.ndim:
        return f"{left!r} and {right!r}"
    place = np.unravel_index(int(np.argmax(left != right)), left.shape)
    return f"{left[place]!r} and {right[place]!r} at {tuple(map(int, place))}"


def numbers(model: Any) -> dict[str, NDArray[Any]]:
    """All fitted numbers, by the name of the attribute."""
    found = {}
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        if name == "history_":
            found[name] = np.stack([value["inertia"], value["shift"]])
            continue
        for part in value if isinstance(value, list | tuple) else [value]:
            part = getattr(part, "data", part) if hasattr(part, "indptr") else part
            if isinstance(part, np.ndarray | float) and np.asarray(part).dtype.kind == "f":
                found[name] = np.concatenate([found.get(name, np.empty(0)), np.ravel(part)])
    return found
