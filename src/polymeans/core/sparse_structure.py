"""Whether the index arrays of sparse rows describe a matrix, before compiled code trusts them.

An index outside of the matrix lets kernels, and scipy's own conversions, read and write where they
must not. numpy looks at the arrays here, which costs a pass over the indices and no memory.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core.rows import Rows

_REMEDY = "Build the matrix again from its triples."


def check_structure(matrix: sp.sparray | sp.spmatrix, where: str, first: int = 0) -> None:
    """Raise ValueError if a CSR, CSC, BSR or COO matrix has indices that lead outside of it.

    Other formats have no arrays that compiled code trusts.

    Parameters
    ----------
    matrix : sparse matrix or array
    where : str
        What to call it in errors.
    first : int, default=0
        Number of its first row.
    """
    if matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(matrix, where, first)
    elif matrix.format == "coo":
        for name, numbers, size in zip(("row", "column"), matrix.coords, matrix.shape):
            bad = _outside(numbers, size)
            if bad is not None:
                raise ValueError(
                    f"{where} has the {name} index {numbers[bad]}, outside of the {size} {name}s. "
                    f"{_REMEDY}"
                )


def checked_matrix(X: object, name: str = "X", **options: object) -> Rows:
    """Finite numbers of float32 or float64, in an array or CSR, of whatever scikit-learn accepts.

    Parameters
    ----------
    X : array-like or sparse matrix
    name : str, default="X"
        What to call it in errors.
    **options
        For :func:`sklearn.utils.check_array`.

    Returns
    -------
    ndarray, csr_matrix or csr_array
    """
    from sklearn.utils import check_array

    if sp.issparse(X):
        check_structure(X, name)
    return check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name=name, **options
    )


def _check_compressed(matrix: sp.sparray | sp.spmatrix, where: str, first: int) -> None:
    """The same of a matrix that is compressed along rows (columns of CSC)."""
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    by_column = matrix.format == "csc"
    height, width = matrix.shape[::-1] if by_column else matrix.shape
    if matrix.format == "bsr":
        height, width = height // matrix.blocksize[0], width // matrix.blocksize[1]
    kind, name, other = matrix.format.upper(), "column", "row"
    if by_column:
        name, other = other, name
    if indptr.shape != (height + 1,) or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(
            f"{where}: indptr of the {kind} {other}s must begin with 0, never decrease, and have "
            f"{height + 1} entries. {_REMEDY}"
        )
    n_stored = int(indptr[-1])
    if n_stored > min(len(data), len(indices)):
        raise ValueError(
            f"{where}: indptr of the {kind} {other}s ends at {n_stored}, but there are {len(data)} "
            f"values and {len(indices)} indices. {_REMEDY}"
        )
    bad = _outside(indices[:n_stored], width)
    if bad is not None:
        start = first if not by_column else 0
        line = start + int(np.searchsorted(indptr, bad, side="right")) - 1
        raise ValueError(
            f"{where}: {other} {line} has the {name} index {indices[bad]}, outside of the "
            f"{width} {name}s. {_REMEDY}"
        )


def _outside(numbers: NDArray[Any], size: int) -> int | None:
    """Where the first index is that is negative or too large; None if none is."""
    if not len(numbers) or (numbers.min() >= 0 and numbers.max() < size):
        return None
    return int(np.flatnonzero((numbers < 0) | (numbers >= size))[0])
