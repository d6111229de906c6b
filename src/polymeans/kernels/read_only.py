"""Arrays that must not be written to, for kernels that were compiled for those that may be.

numba has a type of its own for read-only arrays, and would compile every kernel once more for it.
The compiled code is the same: a kernel that writes to such an array is refused, one that does not
has no use for the difference.
"""

from typing import Any

from numba import types


def as_writable(kind: Any) -> Any:
    """The type of an argument, with arrays in it that can be written to."""
    if isinstance(kind, types.Array):
        return kind if kind.mutable else kind.copy(readonly=False)
    if isinstance(kind, types.BaseTuple):
        parts = tuple(map(as_writable, kind.types))
        if parts != tuple(kind.types):
            return types.BaseTuple.from_types(parts, getattr(kind, "instance_class", None))
    return kind
