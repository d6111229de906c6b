"""Short texts that tell values apart, in any process: what a recorded fit is known by."""

import hashlib
from collections.abc import Mapping
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState


def digest(value: Any) -> str:
    """A short text that differs if the value does, and is the same in another process.

    Parameters
    ----------
    value : object
        Random numbers count as their kind only: a journal keeps their state. Functions are told
        apart by their module and name, other objects by what they write of themselves, or by their
        class, if that has an address in it.

    Returns
    -------
    text : str
    """
    if isinstance(value, np.ndarray) and value.dtype != object:
        content = f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
        return hashlib.sha256(content).hexdigest()
    if sp.issparse(value):
        rows = value.tocsr().copy()
        rows.sort_indices()
        # Indices have one of two types, by what else there was when the matrix was made.
        places = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
        return f"{rows.shape} " + digest([rows.data, *places])
    if isinstance(value, Integral) and not isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, RandomState):
        return "RandomState"
    if isinstance(value, Mapping):
        return digest(sorted((digest(name), digest(part)) for name, part in value.items()))
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} " + " ".join(digest(part) for part in value)
    if isinstance(value, partial):
        return "partial " + digest([value.func, value.args, value.keywords])
    text = repr(value)
    if callable(value) or f"{id(value):x}" in text.lower():
        named = value if hasattr(value, "__qualname__") else type(value)
        return f"{named.__module__}.{named.__qualname__}"
    return text
