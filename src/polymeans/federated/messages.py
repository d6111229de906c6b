"""What travels between a server and its sites: dictionaries of arrays, numbers and names.

Nothing in a message has to be unpickled, so any transport that moves arrays can carry it. Integers
are sent in the shortest type that holds them all.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Arrays, numbers, names, lists of names, and dictionaries of these.
Message = dict[str, Any]

#: Bytes that a number takes in a message.
_NUMBER = 8

_SIGNED = (np.int8, np.int16, np.int32, np.int64)


class InvalidMessageError(ValueError):
    """A message that does not say what it should."""


def n_bytes(message: Message) -> int:
    """Size of what a message says, without names and headers of a transport."""
    total = 0
    for _, value in flat_items(message):
        if isinstance(value, np.ndarray):
            total += value.nbytes
        elif isinstance(value, str | bytes):
            total += len(value)
        elif isinstance(value, list):
            total += sum(len(item) if isinstance(item, str) else _NUMBER for item in value)
        else:
            total += 1 if isinstance(value, bool) else _NUMBER
    return total


def flat_items(message: Message, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All values with their names; those of inner dictionaries are joined by a slash."""
    for name, value in message.items():
        if isinstance(value, dict):
            yield from flat_items(value, f"{prefix}{name}/")
        else:
            yield prefix + name, value


def nested(items: Iterator[tuple[str, Any]]) -> Message:
    """The message that :func:`flat_items` was taken from."""
    message: Message = {}
    for path, value in items:
        *outer, name = path.split("/")
        inner = message
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[name] = value
    return message


def packed_integers(values: NDArray[np.int64]) -> Message:
    """Integers in the shortest type that holds them, without bits that are zero in all of them."""
    together = int(np.bitwise_or.reduce(values, axis=None, initial=0))
    shift = (together & -together).bit_length() - 1 if together else 0
    shorter = values >> shift
    least, most = int(shorter.min(initial=0)), int(shorter.max(initial=0))
    for dtype in _SIGNED:
        if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max:
            return {"values": shorter.astype(dtype), "shift": shift}
    raise AssertionError("every int64 is one")  # pragma: no cover


def unpacked_integers(message: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The integers of :func:`packed_integers`, checked to have this shape."""
    if not isinstance(message, dict) or set(message) != {"values", "shift"}:
        raise InvalidMessageError("integers are missing")
    values, shift = message["values"], message["shift"]
    if not isinstance(values, np.ndarray) or values.dtype.kind != "i":
        raise InvalidMessageError(f"integers have dtype {getattr(values, 'dtype', None)}")
    if values.shape != shape:
        raise InvalidMessageError(f"integers have shape {values.shape} instead of {shape}")
    if not isinstance(shift, int) or not 0 <= shift < 64:
        raise InvalidMessageError(f"integers are shifted by {shift}")
    wide = values.astype(np.int64)
    out = wide << shift
    if ((out >> shift) != wide).any():
        raise InvalidMessageError("integers exceed 64 bits")
    return out


def checked_array(
    message: Message, name: str, shape: tuple[int, ...], kinds: str = "f"
) -> NDArray[Any]:
    """An array of a message; raises unless it has this shape, a dtype of these kinds, no NaN."""
    value = message.get(name)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        raise InvalidMessageError(f"{name} has dtype {getattr(value, 'dtype', None)}")
    if value.shape != shape:
        raise InvalidMessageError(f"{name} has shape {value.shape} instead of {shape}")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise InvalidMessageError(f"{name} has entries that are not finite")
    return value


def checked_number(
    message: Message, name: str, least: float = -np.inf, most: float = np.inf
) -> float:
    """A number of a message; raises unless it is within limits (infinite ones count)."""
    value = message.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidMessageError(f"{name} is {value!r} instead of a number")
    if not least <= value <= most:
        raise InvalidMessageError(f"{name} is {value!r}, outside of {least:g} to {most:g}")
    return float(value)
