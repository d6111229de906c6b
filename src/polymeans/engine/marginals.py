"""Statistics of grids of centroids: set by set, or left to be summed when they are needed."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.engine.statistics import (
    Change,
    ClusterStatistics,
    origin_of,
    total_square,
)

#: Up to this many combinations for each protocentroid, dense rows are summed combination by
#: combination: one pass instead of one for each set, and sums of sums cost nothing.
_FEW = 8


class MarginalStatistics:
    """Sums of the rows of each protocentroid, and the masses of all combinations.

    All that sums of protocentroids need. Each set of them is a clustering of the rows, whose sums
    are kept current as for free centroids; or the combinations are, where they are few.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    sizes : tuple of int
        Number of protocentroids in each set.
    """

    def __init__(self, rows: Any, sizes: Sequence[int]) -> None:
        self.rows = rows
        self.sizes = tuple(sizes)
        self.origin = origin_of(rows)
        self.masses = np.zeros(int(np.prod(self.sizes)))
        by_cell = not rows.is_sparse and len(self.masses) <= _FEW * sum(self.sizes)
        self._groups = (len(self.masses),) if by_cell else self.sizes
        stacked = np.zeros((sum(self._groups), len(self.origin)))
        edges = np.cumsum((0, *self._groups))
        self._stacked = stacked
        self._statistics = [
            ClusterStatistics(rows, stacked[lo:hi], track=False) for lo, hi in pairwise(edges)
        ]
        self.total_square = self._statistics[0].total_square

    @property
    def sums(self) -> NDArray[np.float64]:
        """Weighted sums about the origin, all sets on top of each other."""
        axes = range(len(self.sizes))
        cells = self.masses.reshape(self.sizes)
        # Sums of what is empty stand for nothing (see ClusterStatistics): they must not count.
        if len(self._statistics) == len(self.sizes):
            masses = [cells.sum(axis=tuple(a for a in axes if a != q)) for q in axes]
            used = np.concatenate(masses) > 0
            return self._stacked if used.all() else np.where(used[:, None], self._stacked, 0.0)
        cells = np.where(cells[..., None] > 0, self._stacked.reshape(*self.sizes, -1), 0.0)
        return np.concatenate([cells.sum(axis=tuple(a for a in axes if a != q)) for q in axes])

    def update(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        """Follow the labels from ``previous`` to ``labels``."""
        self.masses = np.bincount(labels, self.rows.weights, minlength=len(self.masses))
        known = previous[0] >= 0
        stride = len(self.masses)
        for h, statistics in zip(self._groups, self._statistics):
            stride //= h
            if h == len(self.masses):
                statistics.update(previous, labels)
                continue
            digits = labels // np.int32(stride) % np.int32(h)
            before = previous // np.int32(stride) % np.int32(h) if known else previous
            statistics.update(before, digits)
        return _plain_change(np.flatnonzero(previous != labels), len(self.masses))


class DeferredStatistics:
    """Masses of the clusters and the labels; sums of a few features at a time on demand.

    For products of protocentroids that are not to cost k x d numbers.

    Parameters
    ----------
    rows : DenseRows
    n_clusters : int
    """

    def __init__(self, rows: Any, n_clusters: int) -> None:
        self.rows = rows
        self.origin = origin_of(rows)
        self.mass = np.zeros(n_clusters)
        self.total_square = total_square(rows)

    def update(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        """Follow the labels from ``previous`` to ``labels``."""
        self._labels = labels.copy()
        self.mass = np.bincount(labels, self.rows.weights, minlength=len(self.mass))
        return _plain_change(np.flatnonzero(previous != labels), len(self.mass))

    def block_sums(self, first: int, last: int) -> tuple[NDArray[np.float64], int]:
        """Sums of features first:last, and the feature of their first column."""
        from polymeans.kernels import khatri_rao

        sums = np.empty((len(self.mass), last - first))
        values, origin = self.rows.arrays
        khatri_rao.cell_sums(values, self.rows.weights, origin, self._labels, first, last, sums)
        return sums, first


def _plain_change(moved: NDArray[np.int64], n_clusters: int) -> Change:
    """A change of which only the rows are told: everything may have moved."""
    nothing = np.empty(0, dtype=np.int64)
    return Change(len(moved), nothing, nothing, nothing, moved, nothing, nothing).spread(n_clusters)
