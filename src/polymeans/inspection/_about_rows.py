"""Shape, kind of numbers and density of rows that are only looked at from outside."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from polymeans._rows import is_blocks, is_dask
from polymeans._validation import shown


def about_rows(X: Any) -> tuple[Any, np.dtype[Any], float | None]:
    """Shape, dtype as it is clustered, and share of stored entries (None: dense) of rows.

    Parameters
    ----------
    X : ndarray, sparse matrix, or frame of pandas or polars

    Returns
    -------
    shape : tuple of int
    dtype : dtype
        float32 if all columns have it, else float64.
    density : float or None
    """
    if is_dask(X) or is_blocks(X):
        raise TypeError(
            "shape must be two numbers or rows in memory, got rows that are read in parts. A fit "
            "keeps two parts of them and a few numbers for each row; give the shape of as many "
            "rows as you would load."
        )
    if getattr(X, "ndim", len(getattr(X, "shape", ()))) != 2:
        raise TypeError(
            "shape must be the numbers of rows and features, as in (1000, 20), or rows that have "
            f"them, got {shown(X)}."
        )
    density = None
    if sp.issparse(X):
        n_entries = X.shape[0] * X.shape[1]
        density = X.nnz / n_entries if n_entries and X.nnz else None
    return tuple(X.shape), _dtype_of(X), density


def _dtype_of(X: Any) -> np.dtype[Any]:
    """Of an array, or of all columns of a frame."""
    own = getattr(X, "dtype", None)
    if own is not None:
        return np.dtype(np.float32 if own == np.float32 else np.float64)
    kinds = {str(kind).lower() for kind in X.dtypes}
    return np.dtype(np.float32 if kinds == {"float32"} else np.float64)
