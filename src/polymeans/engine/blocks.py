"""Rows the engine can cluster, seen through a frame: a block is some of them, dense or CSR.

Both kinds offer the same view to the rest of the engine: a kernel container, norms, weights, and
the way to some of the rows. Neither modifies what it was given, neither knows labels or centroids.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core.frame import Frame, MeasuredFrame
from polymeans.core.threads import running_threads

Result = TypeVar("Result")

#: Entries of rows that are worth a task of their own.
_PIECE_ENTRIES = 2**17


class _Rows(ABC):
    """What both kinds share."""

    n_samples: int
    frame: Frame

    @property
    @abstractmethod
    def n_stored(self) -> int:
        """Number of stored entries."""

    @property
    def measured(self) -> MeasuredFrame:
        """The frame, which knows what all rows add up to: a fit's blocks have one."""
        assert isinstance(self.frame, MeasuredFrame)
        return self.frame

    def each(self, function: Callable[[int, int], Result]) -> list[Result]:
        """Run ``function(lo, hi)`` over all rows; the split must not matter."""
        threads = running_threads()
        smallest = max(64, _PIECE_ENTRIES // max(1, self.n_stored // max(1, self.n_samples)))
        return threads.map(lambda r: function(*r), threads.ranges(self.n_samples, smallest))


class DenseBlock(_Rows):
    """Rows of a C-ordered float32 or float64 array.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        In the engine's coordinates.
    weights : ndarray of shape (n_samples,), float64
    frame : Frame
        Shared by all blocks.
    first : int, default=0
        Number of the first row among the rows of all blocks.
    directionless : ndarray of int, default=None
        Rows of zeros where only directions count: their label is 0, whatever the centroids are.
    norms : ndarray of shape (n_samples,), default=None
        Of the rows less the frame's shift, if they are known.
    """

    is_sparse: ClassVar[bool] = False

    def __init__(
        self,
        values: NDArray[Any],
        weights: NDArray[np.float64],
        frame: Frame,
        first: int = 0,
        directionless: NDArray[np.int64] | None = None,
        norms: NDArray[np.float64] | None = None,
    ) -> None:
        from polymeans.kernels.rows import DenseArrays

        self.frame, self.weights, self.first = frame, weights, first
        self.n_samples, self.n_features = values.shape
        self.arrays = DenseArrays(values)
        self.directionless = np.empty(0, np.int64) if directionless is None else directionless
        self._norms = norms

    @property
    def norms(self) -> NDArray[np.float64]:
        """Norms of the rows less the frame's shift, computed when they are first asked for."""
        from polymeans.kernels import prepare

        if self._norms is None:
            found, values, shift = np.empty(self.n_samples), self.arrays.values, self.frame.shift
            self.each(lambda lo, hi: prepare.shifted_norms(values, shift, lo, hi, found))
            self._norms = found
        return self._norms

    @property
    def has_no_norms(self) -> bool:
        """Rows are to be labeled by exact scores, which need no norms."""
        return self._norms is not None and len(self._norms) < self.n_samples

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        return self.arrays.values.dtype

    @property
    def n_stored(self) -> int:
        """Number of stored entries."""
        return self.n_samples * self.n_features

    def matrix(self) -> NDArray[Any]:
        """All rows, in engine coordinates."""
        return self.arrays.values

    def rows_at(self, indices: NDArray[np.integer]) -> NDArray[Any]:
        """Some rows in their own container, in engine coordinates."""
        return np.ascontiguousarray(self.arrays.values[indices])

    dense_rows = rows_at

    def release(self) -> None:
        """Let go of what only seeding needs: nothing."""


class SparseBlock(_Rows):
    """Rows of a CSR matrix whose features are numbered by how many entries they have.

    What a row needs most often then lies together and stays in cache. Costs 8 extra bytes for
    each stored entry (16 for float64 values of directions).

    Parameters
    ----------
    indptr, indices, values : ndarray
        In the engine's features and coordinates.
    weights : ndarray of shape (n_samples,), float64
    frame : Frame
        Shared by all blocks.
    first : int, default=0
        Number of the first row among the rows of all blocks.
    directionless : ndarray of int, default=None
        Rows of zeros where only directions count: their label is 0, whatever the centroids are.
    norms : ndarray of shape (n_samples,), default=None
        Of the rows, if they are known.
    """

    is_sparse: ClassVar[bool] = True
    has_no_norms: ClassVar[bool] = False

    def __init__(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[Any],
        weights: NDArray[np.float64],
        frame: Frame,
        first: int = 0,
        directionless: NDArray[np.int64] | None = None,
        norms: NDArray[np.float64] | None = None,
    ) -> None:
        from polymeans.kernels import prepare
        from polymeans.kernels.rows import SparseArrays

        self.frame, self.weights, self.first = frame, weights, first
        self.n_samples, self.n_features = len(indptr) - 1, frame.n_used
        self.arrays = SparseArrays(indptr, indices, values)
        self.values32 = values.astype(np.float32, copy=False)
        self.lengths = np.diff(indptr)
        self.directionless = np.empty(0, np.int64) if directionless is None else directionless
        if norms is None:
            norms = np.empty(self.n_samples)
            # Of directions too: rounding makes their length not quite one.
            self.each(lambda lo, hi: prepare.row_norms(indptr, values, lo, hi, norms))
        self.norms: NDArray[np.float64] = norms
        self._transposed: tuple[NDArray[Any], ...] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        return self.arrays.values.dtype

    @property
    def n_stored(self) -> int:
        """Number of stored entries."""
        return len(self.arrays.indices)

    def transposed(self) -> tuple[NDArray[Any], ...]:
        """Which rows have an entry of each feature (CSC), built when first asked for."""
        if self._transposed is None:
            from polymeans.kernels import prepare

            starts = np.empty(self.n_features + 1, dtype=np.int64)
            owners = np.empty(self.n_stored, dtype=np.int32)
            entries = np.empty(self.n_stored, dtype=np.float32)
            indptr, indices, _ = self.arrays
            prepare.transpose(indptr, indices, self.values32, starts, owners, entries)
            self._transposed = starts, owners, entries
        return self._transposed

    def release(self) -> None:
        """Let go of what only seeding needs."""
        self._transposed = None

    def matrix(self) -> sp.csr_array:
        """All rows, in engine coordinates."""
        indptr, indices, values = self.arrays
        return sp.csr_array((values, indices, indptr), shape=(self.n_samples, self.n_features))

    def rows_at(self, indices: NDArray[np.integer]) -> sp.csr_array:
        """Some rows in their own container, in engine coordinates."""
        indptr, features, values = self.arrays
        lengths = self.lengths[indices]
        ends = np.cumsum(lengths)
        places = np.repeat(indptr[indices] - ends + lengths, lengths) + np.arange(lengths.sum())
        starts = np.concatenate([[0], ends])
        shape = (len(indices), self.n_features)
        return sp.csr_array((values[places], features[places], starts), shape=shape)

    def dense_rows(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        """Some rows as an array, in engine coordinates."""
        from polymeans.kernels import prepare

        out = np.empty((len(indices), self.n_features))
        threads = running_threads()
        threads.map(
            lambda r: prepare.scatter_rows(*self.arrays, np.asarray(indices), *r, out),
            threads.ranges(len(indices)),
        )
        return out


Block = DenseBlock | SparseBlock
