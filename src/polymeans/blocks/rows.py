"""Checks of the rows and weights of one block. Errors name the block and the row."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core.rows import CSR
from polymeans.core.sparse_structure import check_structure


def working_dtype(stored: Any, where: str) -> np.dtype[Any]:
    """The type in which values are handed out: float32 stays, other numbers become float64."""
    dtype = np.dtype(stored)
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise TypeError(
            f"{where}: values of type {dtype} cannot be clustered. Convert them to float32 or "
            "float64 first."
        )
    return np.dtype(np.float32 if dtype.itemsize == 4 and dtype.kind == "f" else np.float64)


def check_dense(
    rows: Any, dtype: np.dtype[Any], first: int, where: str
) -> tuple[NDArray[Any], np.floating[Any]]:
    """Finite rows as a plain C-ordered array, and the sum of all values.

    Rows are not copied if they are such an array already.
    """
    array = np.ascontiguousarray(rows, dtype=dtype)
    return array, _check_finite(array.reshape(-1), first, where, width=array.shape[1])


def check_csr(
    rows: CSR, dtype: np.dtype[Any], first: int, where: str
) -> tuple[CSR, np.floating[Any]]:
    """Finite CSR rows in canonical format, and the sum of all values.

    Rows are sorted, and duplicates added up, in a copy where that is needed.
    """
    n, d = rows.shape
    data, indices, indptr = rows.data, rows.indices, rows.indptr
    check_structure(rows, where, first)
    n_stored = int(indptr[-1])
    data, indices = data[:n_stored], indices[:n_stored]
    data = np.ascontiguousarray(data, dtype=dtype)
    csr = sp.csr_matrix if isinstance(rows, sp.spmatrix) else sp.csr_array
    made = csr((data, indices, indptr), shape=(n, d))  # knows nothing about its order yet
    if not made.has_canonical_format:
        made = made.copy()
        made.sum_duplicates()
    return made, _check_finite(made.data, first, where, indptr=made.indptr)


def check_weights(weights: Any, n_rows: int, first: int, where: str) -> NDArray[np.float64]:
    """Weights as float64; an error unless there is one for each row, finite and not negative."""
    array = np.asarray(weights)
    if array.shape != (n_rows,):
        raise ValueError(
            f"{where}: weights of shape {array.shape} for {n_rows} rows. Give one weight a row."
        )
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{where}: weights must be numbers, got values of type {array.dtype}.")
    array = np.ascontiguousarray(array, dtype=np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"Row {first + at} has the weight {array[at]}, which is negative or not finite "
            f"({where}). Drop the row or set its weight to zero."
        )
    return array


def kind_of(rows: Any) -> str:
    """``"dense"``, ``"CSR"``, or the name of what cannot be a block."""
    if sp.issparse(rows):
        return "CSR" if rows.format == "csr" else rows.format.upper()
    return "dense" if isinstance(rows, np.ndarray) else type(rows).__name__


def _check_finite(
    values: NDArray[Any],
    first: int,
    where: str,
    width: int = 0,
    indptr: NDArray[Any] | None = None,
) -> np.floating[Any]:
    # A sum needs no memory and is finite if all values are, unless they are very large.
    with np.errstate(over="ignore", invalid="ignore"):
        total: np.floating[Any] = values.sum()
    if np.isfinite(total):
        return total
    wrong = ~np.isfinite(values)
    if not wrong.any():
        return total
    at = int(np.flatnonzero(wrong)[0])
    row = at // width if indptr is None else int(np.searchsorted(indptr, at, side="right")) - 1
    raise ValueError(
        f"Row {first + row} has a value that is not finite: {values[at]} ({where}). Drop the row, "
        "or fill in the value, for example with sklearn.impute."
    )
