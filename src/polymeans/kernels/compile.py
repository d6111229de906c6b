"""How kernels are compiled: once for each machine, without the GIL, never stale."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from polymeans._first_import import import_numba

import_numba()  # an interrupt must not leave it half imported

from numba import njit  # noqa: E402


@cache
def _sources_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``numba.njit`` without the GIL, cached on disk until any kernel source changes.

    numba's own cache looks only at the file of a function; kernels here call each other across
    files, and callers of a changed function must be compiled again.
    """
    if function is None:
        return lambda function: kernel(function, **options)
    options = {"error_model": "numpy", **options}
    dispatcher = njit(nogil=True, cache=True, **options)(function)
    # Versions of numba without these attributes cache as usual.
    cache_file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = _sources_digest()
    if hasattr(cache_file, "_load_index"):
        cache_file._load_index = _tolerant(cache_file._load_index)
    return dispatcher


def _tolerant(load_index: Callable[[], dict[Any, Any]]) -> Callable[[], dict[Any, Any]]:
    """Treat an index that cannot be read, since it names classes that are gone, as empty."""

    def load() -> dict[Any, Any]:
        try:
            return load_index()
        except Exception:
            return {}

    return load
