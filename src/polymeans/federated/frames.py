"""How a frame travels: what a site needs to see its rows as all other sites see theirs."""

from typing import Any

import numpy as np

from polymeans.core.exact_sums import ExactSum, Ladder, TermRange
from polymeans.core.frame import MeasuredFrame
from polymeans.engine.prepared import Scaling
from polymeans.federated.messages import (
    InvalidMessageError,
    Message,
    checked_number,
)

_SHARED = (
    "n_samples",
    "n_features",
    "is_sparse",
    "spherical",
    "zeros_count",
    "unit",
    "weight_unit",
    "shifted",
    "guarded",
    "hides",
    "unweighted",
)


def frame_message(frame: MeasuredFrame) -> Message:
    """What sites have to know of a frame; totals of all rows are not part of it."""
    message: Message = {name: getattr(frame, name) for name in _SHARED}
    return message | {
        "dtype": frame.dtype.name,
        "shift": frame.shift if frame.shifted else frame.shift[:0],
        "order": frame.order.astype(np.int32) if frame.n_features < 2**31 else frame.order,
        "ladder": np.array(frame.ladder.units),
        "mass_ladder": np.array(frame.mass_ladder.units),
    }


def frame_of(message: Message) -> MeasuredFrame:
    """The frame at a site. Totals of all rows, which only a server needs, are not known there."""
    dtype, order = np.dtype(message["dtype"]), message["order"].astype(np.int64)
    n_features = int(message["n_features"])
    n_used, rank = n_features, np.empty(0, dtype=np.int32)
    if message["is_sparse"]:
        n_used = len(order)
        rank = np.full(n_features, -1, dtype=np.int32)
        rank[order] = np.arange(n_used, dtype=np.int32)
    shift = message["shift"] if message["shifted"] else np.zeros(n_used, dtype=dtype)
    shared = {name: message[name] for name in _SHARED}
    return MeasuredFrame(
        **shared,
        dtype=dtype,
        shift=shift,
        order=order,
        rank=rank,
        ladder=Ladder(tuple(message["ladder"].tolist())),
        mass_ladder=Ladder(tuple(message["mass_ladder"].tolist())),
        mass=np.nan,
        mean=np.zeros(n_used),
        total_square=np.nan,
        spread=np.nan,
        reach=1.0,
        n_stored=0,
        n_directionless=0,
    )


def scaling_message(scaling: Scaling) -> Message:
    """A scaling as numbers."""
    return dict(vars(scaling))


def scaling_of_message(message: Message) -> Scaling:
    """The scaling of a message."""
    return Scaling(
        float(message["unit"]),
        float(message["weight_unit"]),
        bool(message["spherical"]),
        bool(message["zeros_count"]),
        bool(message["guarded"]),
        bool(message["hides"]),
    )


def range_message(terms: TermRange) -> Message:
    """A range of terms as numbers."""
    return dict(vars(terms))


def range_of_message(message: Any) -> TermRange:
    """The range of a message, checked."""
    if not isinstance(message, dict):
        raise InvalidMessageError("a range is missing")
    largest = float(checked_number(message, "largest", 0.0, np.finfo(np.float64).max))
    smallest = float(checked_number(message, "smallest", 0.0))
    if smallest == 0.0 or (largest > 0 and smallest > largest):
        raise InvalidMessageError(f"a range goes from {smallest:g} to {largest:g}")
    return TermRange(largest, smallest, bool(message.get("narrow")))


def exact_bins(total: ExactSum) -> np.ndarray:
    """An exact sum as integers that may be added to those of others."""
    return (total + ExactSum()).bins  # carried, so that they cannot overflow
