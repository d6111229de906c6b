"""A learned space as arrays and plain values, as pickles and model files keep it."""

from dataclasses import fields
from typing import Any

from polymeans.spaces.embedding import Space
from polymeans.spaces.learned_metric import LearnedMetric
from polymeans.spaces.maps import KernelMap, LinearMap


def taken_apart(state: dict[str, Any]) -> dict[str, Any]:
    """An estimator's state with what ``_space`` and ``_learned_metric`` consist of, if fitted."""
    if "_space" not in state:
        return state
    space, metric = state["_space"], state["_learned_metric"]
    parts = None if space is None else {**_fields(space), "map": _fields(space.map)}
    taken = {"_space": parts, "_learned_metric": None if metric is None else _fields(metric)}
    return state | taken


def put_together(state: dict[str, Any]) -> dict[str, Any]:
    """The state that :func:`taken_apart` was given."""
    if "_space" not in state:
        return state
    space, metric = state["_space"], state["_learned_metric"]
    if space is not None:
        kind = LinearMap if "directions" in space["map"] else KernelMap
        space = Space(**{**space, "map": kind(**space["map"])})
    learned = None if metric is None else LearnedMetric(**metric)
    return state | {"_space": space, "_learned_metric": learned}


def _fields(value: Any) -> dict[str, Any]:
    return {part.name: getattr(value, part.name) for part in fields(value)}
