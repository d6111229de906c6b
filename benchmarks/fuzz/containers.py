"""The same values in every container that a user may pass."""

import os
import tempfile
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

DENSE = (
    "C order",
    "F order",
    "read-only",
    "strided",
    "big-endian",
    "memory map",
    "list",
    "pandas",
    "polars",
    "integers",
    "booleans",
)
SPARSE = (
    "csr_matrix",
    "csr_array",
    "csr 64-bit indices",
    "csr unsorted",
    "csr duplicates",
    "csr explicit zeros",
    "csr read-only",
    "csc",
)


def holds(container: str, X: NDArray[Any]) -> bool:
    """Whether these values survive in that container."""
    if container == "integers":
        return bool(np.all(np.abs(X) < 2**31) and np.all(np.floor(X) == X))
    if container == "booleans":
        return bool(np.all((X == 0) | (X == 1)))
    return True


def wrap(X: NDArray[Any], container: str) -> Any:
    """Values in a container.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    container : str
        A name of ``DENSE`` or ``SPARSE``.

    Returns
    -------
    array-like or sparse matrix
        A new object; nothing in it is shared with X.
    """
    if container.startswith("cs"):
        return _sparse(X, container)
    return _dense(X, container)


def _dense(X: NDArray[Any], container: str) -> Any:
    if container == "F order":
        return np.array(X, order="F")
    if container == "read-only":
        X = X.copy()
        X.flags.writeable = False
        return X
    if container == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if container == "big-endian":
        return X.astype(X.dtype.newbyteorder(">"))
    if container == "memory map":
        return _memory_map(X)
    if container == "list":
        return X.tolist()
    if container in ("pandas", "polars"):
        return _frame(X, container)
    if container == "integers":
        return X.astype(np.int64)
    if container == "booleans":
        return X.astype(bool)
    return X.copy()


def _memory_map(X: NDArray[Any]) -> NDArray[Any]:
    handle, path = tempfile.mkstemp(suffix=".fuzz")
    os.close(handle)
    try:
        X.tofile(path)
        return np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape)
    finally:
        os.unlink(path)  # the map keeps the content until it is gone itself


def _frame(X: NDArray[Any], container: str) -> Any:
    names = [f"feature {j}" for j in range(X.shape[1])]
    if container == "pandas":
        import pandas

        return pandas.DataFrame(X.copy(), columns=names)
    import polars

    return polars.DataFrame({name: X[:, j].copy() for j, name in enumerate(names)})


def _sparse(X: NDArray[Any], container: str) -> Any:
    if container == "csc":
        return sp.csc_array(X)
    rows, columns = np.nonzero(np.ones_like(X) if container == "csr explicit zeros" else X)
    data = X[rows, columns]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
    width = np.int64 if container == "csr 64-bit indices" else np.int32
    if container == "csr unsorted":
        order = np.lexsort((-columns, rows))
        data, columns = data[order], columns[order]
    elif container == "csr duplicates":
        # Each entry twice, as itself and as zero: the sum is exact for any value.
        data = np.stack([data, np.zeros_like(data)], axis=1).ravel()
        columns, indptr = np.repeat(columns, 2), 2 * indptr
    kind = sp.csr_matrix if container == "csr_matrix" else sp.csr_array
    made = kind((data, columns.astype(width), indptr.astype(width)), shape=X.shape)
    if container == "csr 64-bit indices":
        made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    if container == "csr read-only":
        for part in (made.data, made.indices, made.indptr):
            part.flags.writeable = False
    return made


def fingerprint(X: Any) -> Any:
    """Everything of a container that a function could have changed, bit for bit."""
    if sp.issparse(X):
        return (X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes(), X.dtype, X.shape)
    if isinstance(X, np.ndarray):
        return X.tobytes(), X.dtype, X.shape, X.flags.writeable
    if isinstance(X, list):
        return repr(X)
    if hasattr(X, "to_numpy"):
        return X.to_numpy().tobytes(), tuple(map(str, X.columns)), tuple(map(str, X.dtypes))
    return None
