"""Squared norms of rows, dense or CSR."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core.contracts import Rows


def squared_norms(X: Rows) -> NDArray[np.float64]:
    """Of each row, in float64."""
    if not sp.issparse(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    if not X.has_canonical_format:  # entries that add up
        X = X.copy()
        X.sum_duplicates()
    squares = np.append(X.data.astype(np.float64) ** 2, 0.0)
    sums = np.add.reduceat(squares, X.indptr[:-1])
    return np.where(np.diff(X.indptr) > 0, sums, 0.0)  # an empty row sums its neighbour's first
