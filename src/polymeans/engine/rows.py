"""Rows the engine can cluster: what it needs to know about them, computed once.

Both kinds offer the same view to the rest of the engine: a kernel container, norms, weights,
the spread of the data, and a few passes over all rows. Neither modifies what it was given.
"""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.engine.threads import Threads, reduction_blocks

#: Squares of larger (smaller) numbers leave the range of float32; such rows are kept rescaled.
_LARGEST, _SMALLEST = 1e15, 1e-15


def power_of_two_unit(largest: float) -> float:
    """Scale that brings extreme values near one, exactly; 1 for ordinary values."""
    if largest == 0 or _SMALLEST <= largest <= _LARGEST:
        return 1.0
    return float(2.0 ** np.clip(np.floor(np.log2(largest)), -1000, 1000))


class DenseRows:
    """Rows of a C-ordered float32 or float64 array.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,), float64
    threads : Threads
    spherical : bool
        Cluster directions: rows are brought to length one (in a copy).
    reach : float, default=0
        Largest coordinate of centroids that will be met, if they come from outside.
    """

    is_sparse = False
    #: What an estimator wants to remember for the length of a fit.
    context: Any = None

    def __init__(
        self,
        X: NDArray[Any],
        weights: NDArray[np.float64],
        threads: Threads,
        spherical: bool,
        reach: float = 0.0,
    ) -> None:
        from polymeans.kernels import dense
        from polymeans.kernels.rows import DenseArrays

        self.threads = threads
        self.weights = weights
        self.spherical = spherical
        self.n_samples, self.n_features = X.shape
        self.dtype = X.dtype
        largest = max(self.each(lambda lo, hi: dense.largest_entry(X, lo, hi)))
        self.unit = power_of_two_unit(max(largest, reach))
        if self.unit != 1.0:
            X = (X / self.unit).astype(X.dtype, copy=False)
        self.directionless = np.empty(0, dtype=np.int64)
        if spherical:
            X, lengths = _unit_rows(X, threads)
            self.unit = 1.0
            self.weights, self.directionless = _ignore_directionless(weights, lengths)
        # float32 scores of rows far from the origin would drown in rounding: subtract the mean
        # where it is the larger part of the rows' length. A sample tells; labels are exact for
        # any shift.
        n_sampled = int(np.clip(2**20 // max(1, self.n_features), 32, 1024))
        sample = X[:: max(1, self.n_samples // n_sampled)].astype(np.float64)
        mean = sample.mean(axis=0)
        self.shifted = not spherical and bool(np.sum(mean**2) > sample.var(axis=0).sum())
        self.shift = (mean if self.shifted else np.zeros(self.n_features)).astype(X.dtype)
        self.arrays = DenseArrays(X, self.shift.astype(np.float64))
        self.norms = np.empty(self.n_samples)
        self.each(lambda lo, hi: dense.shifted_norms(X, self.shift, lo, hi, self.norms))

    @cached_property
    def mean_variance(self) -> float:
        """Weighted variance of the features, averaged over them."""
        from polymeans.kernels import dense

        values, weights = self.arrays.values, self.weights
        origin = values[np.argmax(weights > 0)].astype(np.float64)
        moments = self._reduce(
            lambda lo, hi, out: dense.column_moments(values, weights, origin, lo, hi, out)
        )
        moments /= float(weights.sum())
        return float(np.maximum(moments[1] - moments[0] ** 2, 0.0).mean())

    @property
    def n_stored(self) -> int:
        """Number of stored entries."""
        return self.n_samples * self.n_features

    def each(self, function: Any) -> list[Any]:
        """Run ``function(lo, hi)`` over all rows; the split must not matter."""
        ranges = self.threads.ranges(self.n_samples, smallest=64)
        return self.threads.map(lambda r: function(*r), ranges)

    def _reduce(self, accumulate: Any) -> NDArray[np.float64]:
        def part(block: tuple[int, int]) -> NDArray[np.float64]:
            out = np.zeros((2, self.n_features))
            accumulate(*block, out)
            return out

        total = np.zeros((2, self.n_features))
        blocks = reduction_blocks(self.n_samples)
        # A few blocks at a time: wide rows would otherwise pile up partial sums.
        step = 4 * self.threads.n_threads
        for first in range(0, len(blocks), step):
            for partial in self.threads.map(part, blocks[first : first + step]):
                total += partial
        return total

    def release(self) -> None:
        """Let go of what only seeding needs: nothing."""

    def internal(self, centers: NDArray[Any]) -> NDArray[Any]:
        """User's centroids in the coordinates the engine works in."""
        return np.ascontiguousarray(centers / self.unit, dtype=self.dtype)

    def external(self, centers: NDArray[Any]) -> NDArray[Any]:
        """The engine's centroids in the user's coordinates and dtype."""
        return np.ascontiguousarray(centers * self.unit, dtype=self.dtype)

    def matrix(self) -> NDArray[Any]:
        """All rows, in engine coordinates."""
        return self.arrays.values

    def take(self, indices: NDArray[np.integer]) -> NDArray[Any]:
        """Some rows, dense, in engine coordinates."""
        return np.ascontiguousarray(self.arrays.values[indices])

    def subset(self, indices: NDArray[np.integer], weights: NDArray[np.float64]) -> "DenseRows":
        """Some rows with weights of their own."""
        return DenseRows(self.take(indices), weights, self.threads, False)


class SparseRows:
    """Rows of a CSR matrix.

    Features are renumbered by how many entries they have, those without any are left out: what
    a row needs most often then lies together and stays in cache. Costs 8 extra bytes for each
    stored entry (16 for float64 values under ``spherical``).

    Parameters
    ----------
    X : CSR matrix or array of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,), float64
    threads : Threads
    spherical : bool
        Cluster directions: rows are brought to length one (in a copy).
    reach : float, default=0
        Largest coordinate of centroids that will be met, if they come from outside.
    """

    is_sparse = True
    #: What an estimator wants to remember for the length of a fit.
    context: Any = None

    def __init__(
        self,
        X: Any,
        weights: NDArray[np.float64],
        threads: Threads,
        spherical: bool,
        reach: float = 0.0,
    ) -> None:
        from polymeans.kernels import prepare
        from polymeans.kernels.rows import SparseArrays

        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.threads = threads
        self.weights = weights
        self.spherical = spherical
        self.n_samples, self.n_features = X.shape
        self.dtype = X.dtype
        values = X.data
        largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
        self.unit = power_of_two_unit(max(largest, reach))
        if self.unit != 1.0:
            values = (values / self.unit).astype(values.dtype, copy=False)

        frequency = np.zeros(self.n_features, dtype=np.int64)
        prepare.count_features(X.indices, frequency)
        self.n_used = max(1, int(np.count_nonzero(frequency)))
        self.order = np.argsort(-frequency, kind="stable")[: self.n_used]
        self.rank = np.full(self.n_features, -1, dtype=np.int32)
        self.rank[self.order] = np.arange(self.n_used, dtype=np.int32)
        indptr = X.indptr.astype(np.int64)
        indices = np.empty(len(X.indices), dtype=np.int32)
        threads.map(
            lambda r: prepare.renumber(X.indices, self.rank, *r, indices),
            threads.ranges(len(indices)),
        )
        self.lengths = np.diff(indptr)
        self.norms = np.empty(self.n_samples)
        self.each(lambda lo, hi: prepare.row_norms(indptr, values, lo, hi, self.norms))
        self.directionless = np.empty(0, dtype=np.int64)
        if spherical:
            present = self.norms > 0
            inverse = np.divide(1.0, self.norms, out=np.zeros(self.n_samples), where=present)
            scaled = np.empty_like(values)
            self.each(lambda lo, hi: prepare.scale_rows(indptr, values, inverse, lo, hi, scaled))
            values = scaled
            self.unit = 1.0
            self.weights, self.directionless = _ignore_directionless(weights, self.norms)
            # Of the rows as they are stored: rounding makes their length not quite one.
            self.each(lambda lo, hi: prepare.row_norms(indptr, values, lo, hi, self.norms))
        self.arrays = SparseArrays(indptr, indices, values)
        self.values32 = values.astype(np.float32, copy=False)

        self._transposed: tuple[NDArray[Any], ...] | None = None

    @cached_property
    def mean_variance(self) -> float:
        """Weighted variance of the features, averaged over them."""
        from polymeans.kernels import prepare

        # Σ_f Var(x_f) = E|x|² - |E x|²
        total = float(self.weights.sum())
        mean = np.zeros(self.n_used)
        prepare.feature_sums(*self.arrays, self.weights, mean)
        mean /= total
        spread = float(np.sum(self.weights * self.norms**2)) / total - float(np.sum(mean**2))
        return max(0.0, spread) / self.n_features

    def transposed(self) -> tuple[NDArray[Any], ...]:
        """Which rows have an entry of each feature (CSC), built when first asked for."""
        if self._transposed is None:
            from polymeans.kernels import prepare

            starts = np.empty(self.n_used + 1, dtype=np.int64)
            owners = np.empty(self.n_stored, dtype=np.int32)
            entries = np.empty(self.n_stored, dtype=np.float32)
            indptr, indices, _ = self.arrays
            prepare.transpose(indptr, indices, self.values32, starts, owners, entries)
            self._transposed = starts, owners, entries
        return self._transposed

    def release(self) -> None:
        """Let go of what only seeding needs."""
        self._transposed = None

    @property
    def n_stored(self) -> int:
        """Number of stored entries."""
        return len(self.arrays.indices)

    each = DenseRows.each

    def internal(self, centers: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """User's centroids as the engine works with them: used features, by rank.

        Also their squared norms: of the part outside the used features, and of everything.
        """
        from polymeans.kernels import prepare

        n_centers = len(centers)
        out = np.empty((n_centers, self.n_used))
        outside, total = np.empty(n_centers), np.empty(n_centers)
        self.threads.map(
            lambda r: prepare.take_features(centers, self.rank, self.unit, *r, out, outside, total),
            self.threads.ranges(n_centers),
        )
        return out, outside, total

    def external(self, centers: NDArray[Any]) -> NDArray[Any]:
        """The engine's centroids in the user's features and dtype."""
        from polymeans.kernels import prepare

        out = np.empty((len(centers), self.n_features), dtype=self.dtype)
        self.threads.map(
            lambda r: prepare.put_features(centers, self.order, self.unit, *r, out),
            self.threads.ranges(len(centers)),
        )
        return out

    def take(self, indices: NDArray[np.integer]) -> NDArray[np.float64]:
        """Some rows, dense, in engine coordinates."""
        from polymeans.kernels import prepare

        out = np.empty((len(indices), self.n_used))
        self.threads.map(
            lambda r: prepare.scatter_rows(*self.arrays, np.asarray(indices), *r, out),
            self.threads.ranges(len(indices)),
        )
        return out

    def subset(self, indices: NDArray[np.integer], weights: NDArray[np.float64]) -> "SparseRows":
        """Some rows with weights of their own."""
        return SparseRows(self.matrix()[indices], weights, self.threads, False)

    def matrix(self) -> sp.csr_array:
        """All rows, in engine coordinates."""
        indptr, indices, values = self.arrays
        return sp.csr_array((values, indices, indptr), shape=(self.n_samples, self.n_used))


def _unit_rows(X: NDArray[Any], threads: Threads) -> tuple[NDArray[Any], NDArray[np.float64]]:
    out = np.empty_like(X)
    lengths = np.empty(len(X))

    def normalise(block: tuple[int, int]) -> None:
        part = X[slice(*block)].astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", part, part))
        lengths[slice(*block)] = norms
        out[slice(*block)] = part / np.where(norms > 0, norms, 1.0)[:, None]

    threads.map(normalise, reduction_blocks(len(X)))
    return out, lengths


def _ignore_directionless(
    weights: NDArray[np.float64], lengths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of zeros have no direction and count for nothing, unless there is nothing else."""
    nowhere = np.flatnonzero(lengths == 0)
    remaining = np.where(lengths > 0, weights, 0.0)
    return (remaining if remaining.any() else weights), nowhere
