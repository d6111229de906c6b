"""Rows as users give them: an array, or a CSR matrix of scipy, which has no types to name it by."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeGuard, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class Sparse(Protocol):
    """What is used of scipy's sparse matrices and arrays, whatever their format."""

    ndim: int
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @property
    def nnz(self) -> int:
        """Stored entries."""

    @property
    def T(self) -> "Sparse":  # noqa: N802
        """The transpose; of CSR it is CSC."""

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> Self:
        """The same with values of another type."""

    def multiply(self, other: "Sparse", /) -> "Sparse":
        """Products entry by entry."""

    def sum(self, axis: int) -> NDArray[Any]:
        """Along rows or columns; of a sparse matrix the result has two dimensions."""

    def max(self, axis: int) -> "Sparse":
        """The largest entries along rows or columns."""

    def toarray(self) -> NDArray[Any]:
        """The same as an array."""

    def __abs__(self) -> Self:
        """Absolute values."""

    def __truediv__(self, other: float, /) -> Self:
        """Quotients, in float64."""

    @overload
    def __matmul__(self, other: NDArray[Any], /) -> NDArray[Any]: ...
    @overload
    def __matmul__(self, other: "Sparse", /) -> "Sparse": ...
    def __matmul__(self, other: "NDArray[Any] | Sparse", /) -> "NDArray[Any] | Sparse":
        """A product; it is sparse if the other matrix is."""

    def __rmatmul__(self, other: NDArray[Any], /) -> NDArray[Any]:
        """An array times this."""


class CSR(Sparse, Protocol):
    """A CSR matrix or array."""

    data: NDArray[Any]
    indices: NDArray[np.integer]
    indptr: NDArray[np.integer]
    has_canonical_format: bool

    def __init__(
        self,
        parts: tuple[NDArray[Any], NDArray[np.integer], NDArray[np.integer]],
        /,
        *,
        shape: tuple[int, int],
    ) -> None:
        """From values, indices and pointers."""

    def copy(self) -> Self:
        """Another one with the same entries."""

    def sum_duplicates(self) -> None:
        """Order the entries of each row, and add up those of one place."""

    def __getitem__(
        self, rows: slice | NDArray[Any] | tuple[slice, NDArray[np.integer]], /
    ) -> Self:
        """Some rows, or some columns of some."""


#: An array or a CSR matrix.
Rows: TypeAlias = NDArray[Any] | CSR


def is_csr(X: Rows) -> "TypeIs[CSR]":
    """Whether rows are a CSR matrix, not an array."""
    return bool(sp.issparse(X))


def stacked(parts: Sequence[Rows]) -> Rows:
    """Rows of several parts, all of one kind, in one container; the part itself if it is one."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if _are_arrays(parts) else sp.vstack(parts, format="csr")


def _are_arrays(parts: Sequence[Rows]) -> TypeGuard[Sequence[NDArray[Any]]]:
    return not is_csr(parts[0])
