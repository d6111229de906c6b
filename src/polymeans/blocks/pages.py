"""Memory for blocks that goes back to the system when a block is let go of."""

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Bytes below which it is not worth it.
_SMALL = 2**20


def array_of_own_pages(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array in pages of its own, with zeros.

    The C library keeps freed memory of up to 32 MiB for the next allocation. Between blocks small
    arrays are allocated that stay, such as labels, so that holes of the size of a block are left,
    and a fit takes up more memory the more blocks there are.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype

    Returns
    -------
    ndarray
    """
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes < _SMALL:
        return np.zeros(shape, dtype)
    return np.frombuffer(_map(n_bytes), dtype=dtype).reshape(shape)


def _map(n_bytes: int) -> mmap.mmap:
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return mmap.mmap(-1, n_bytes)
    # Without flags it is shared memory, which has no huge pages on most systems: its small ones
    # took 16 ms to hand out for 16 MiB, as long as labeling that many values; these take 1 ms.
    pages = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):  # as NumPy does for its own large arrays
        pages.madvise(mmap.MADV_HUGEPAGE)
    return pages
