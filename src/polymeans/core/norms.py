"""Norms and largest entries of rows, dense or CSR."""

import numpy as np
from numpy.typing import NDArray

from polymeans.core.rows import Rows, is_csr


def squared_norms(X: Rows) -> NDArray[np.float64]:
    """Of each row, in float64."""
    if not is_csr(X):
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    if not X.has_canonical_format:  # entries that add up
        X = X.copy()
        X.sum_duplicates()
    squares = np.append(X.data.astype(np.float64) ** 2, 0.0)
    sums = np.add.reduceat(squares, X.indptr[:-1])
    return np.where(np.diff(X.indptr) > 0, sums, 0.0)  # an empty row sums its neighbor's first


def largest_of_rows(X: Rows) -> NDArray[np.float64]:
    """The largest absolute value of each row."""
    largest = abs(X).max(axis=1).toarray() if is_csr(X) else np.asarray(abs(X).max(axis=1))
    return largest.ravel().astype(np.float64)


def rows_over(X: Rows, divisors: NDArray[np.float64]) -> Rows:
    """Each row divided by a number of its own, in the dtype and format of the rows."""
    if not is_csr(X):
        return (X / divisors[:, None]).astype(X.dtype, copy=False)
    data = (X.data / np.repeat(divisors, np.diff(X.indptr))).astype(X.dtype, copy=False)
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def row_lengths(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Norms of dense rows, also where their squares leave the range of float64."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    extreme = np.flatnonzero(~((lengths > 1e-140) & (lengths < np.inf)))
    if len(extreme):
        largest = np.abs(X[extreme]).max(axis=1, initial=0.0)
        some = extreme[(largest > 0) & (largest < np.inf)]
        largest = np.abs(X[some]).max(axis=1, initial=0.0)
        scaled = X[some] / largest[:, None]
        lengths[some] = largest * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return lengths
