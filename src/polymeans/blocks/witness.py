"""Whether a block that is read again has the rows that it had before, at next to no cost."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.core.rows import Rows, is_csr

#: Entries of each array that are compared, about.
_SAMPLED = 256


def witness_of(rows: Rows, total: np.floating[Any], weights: NDArray[Any] | None) -> bytes:
    """Some bytes that are equal for equal blocks, and most likely only for these.

    The sum of all values is known from the check for NaN and tells of any value that changed by
    more than the rounding of the sum. Entries at fixed places tell of rows that changed places.
    Columns of CSR rows are compared at these places only.

    Parameters
    ----------
    rows : ndarray or CSR of shape (n_samples, n_features)
        As they come from :mod:`polymeans.blocks.rows`.
    total : floating
        Sum of all values.
    weights : ndarray of shape (n_samples,) or None

    Returns
    -------
    witness : bytes
    """
    arrays = [rows.data, rows.indices, rows.indptr] if is_csr(rows) else [rows.reshape(-1)]
    totals = [total]
    if weights is not None:
        arrays.append(weights)
        totals.append(weights.sum())
    found = hashlib.blake2b(digest_size=16)
    if all(array.flags.aligned for array in arrays):  # others may be added up in another order
        found.update(np.array(totals, dtype=np.float64).tobytes())
    for array in arrays:
        found.update(b"%d" % len(array))
        found.update(array[:: max(1, len(array) // _SAMPLED)].tobytes())
        found.update(array[-1:].tobytes())
    return found.digest()
