"""Statistics that are corrected when labels change; only the local runner uses them.

Between two iterations only rows that changed cluster matter. Sums are exact, so correcting them by
the rows that moved gives the bits that summing everything anew would give; which of the two is
done is a matter of cost alone.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import split
from polymeans.core.frame import MeasuredFrame
from polymeans.core.statistics import (
    CellStatistics,
    DeferredStatistics,
    MarginalStatistics,
    marginals,
)
from polymeans.engine.accumulate import (
    add_clusters,
    follow_rows,
    is_followed_by_rows,
    mass_statistics,
    move_clusters,
)
from polymeans.engine.blocks import Block, DenseBlock
from polymeans.engine.changes import Change, Moves
from polymeans.engine.numerator_account import NumeratorAccount

#: Correcting a sum by one moved row costs as much as summing this many rows anew. Rows of a sparse
#: block are scattered over memory, so that correcting costs more (see ``numerator_account.py``).
_CORRECTION = {True: 3, False: 1}

#: Up to this many combinations for each protocentroid, dense rows are summed combination by
#: combination: one pass instead of one for each set, and sums of sums cost nothing.
_FEW = 8


class CellAccount:
    """Statistics of the clusters.

    Parameters
    ----------
    block : Block
    n_clusters : int
    """

    def __init__(self, block: Block, n_clusters: int) -> None:
        self.block = block
        self.statistics = CellStatistics.empty(block.measured, n_clusters)
        #: Totals that stay in cache are followed row by row, others cluster by cluster.
        self.row_by_row = is_followed_by_rows(block, self.statistics)

    def update(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        """Follow the labels from ``previous`` to ``labels``."""
        if self.row_by_row:
            return self._follow_rows(previous, labels)
        return self._follow_clusters(previous, labels)

    def _follow_rows(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        n_moved, touched = follow_rows(self.block, self.statistics, previous, labels)
        changed = np.flatnonzero(touched)
        self.statistics.touch(changed)
        return Change(n_moved, changed, changed)

    def _follow_clusters(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        from polymeans.kernels import groups

        block, statistics = self.block, self.statistics
        was_empty = statistics.counts == 0
        moves = Moves.between(previous, labels, len(was_empty))
        n_events, touched = moves.n_events, moves.touched
        statistics.counts = np.zeros(len(was_empty), dtype=np.int64)
        groups.count_labels(labels, block.weights, statistics.counts)

        anew = _CORRECTION[block.is_sparse] * n_events[touched] >= statistics.counts[touched]
        add_clusters(block, labels, touched[anew], statistics.mass_rungs, statistics.rungs)
        move_clusters(block, statistics, moves, touched[~anew])
        statistics.touch(touched)
        return moves.change(statistics.counts, anew | was_empty[touched])


class MarginalAccount:
    """Statistics of grids of centroids, set by set.

    Each set of protocentroids is a clustering of the rows, whose sums are kept current as for free
    centroids; or the combinations are, where they are few.

    Parameters
    ----------
    block : Block
    sizes : sequence of int
        Number of protocentroids in each set.
    """

    def __init__(self, block: Block, sizes: Sequence[int]) -> None:
        self.block, self.sizes = block, tuple(sizes)
        self.n_clusters = int(np.prod(self.sizes))
        by_cell = not block.is_sparse and self.n_clusters <= _FEW * sum(self.sizes)
        self.accounts = [
            CellAccount(block, h) for h in ((self.n_clusters,) if by_cell else self.sizes)
        ]
        self.by_cell = by_cell
        if not by_cell:
            # All sets on top of each other, as statistics hold them.
            own = [account.statistics for account in self.accounts]
            self._stacked = np.concatenate([statistics.rungs for statistics in own])
            for statistics, rungs in zip(own, split(self._stacked, self.sizes)):
                statistics.rungs = rungs

    @property
    def statistics(self) -> MarginalStatistics:
        """What the rows add up to under the labels of the last update."""
        if self.by_cell:
            cells = self.accounts[0].statistics.rungs
            parts = marginals(cells.reshape(*self.sizes, -1))
            shape = cells.shape[1:]
            rungs = np.concatenate([part.reshape(len(part), *shape) for part in parts])
        else:
            rungs = self._stacked
        frame = self.accounts[0].statistics.frame
        masses = self._masses
        totals = masses.counts, masses.rungs, rungs
        return MarginalStatistics(frame, frame.total_square, self.sizes, *totals)

    def update(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        """Follow the labels from ``previous`` to ``labels``."""
        weights, ladder = self.block.weights, self.block.measured.mass_ladder
        self._masses = mass_statistics(weights, ladder, labels, self.n_clusters)
        if self.by_cell:
            self.accounts[0].update(previous, labels)
        else:
            stride = self.n_clusters
            for h, account in zip(self.sizes, self.accounts):
                stride //= h
                digits = labels // np.int32(stride) % np.int32(h)
                known = previous >= 0
                before = np.where(known, previous // np.int32(stride) % np.int32(h), np.int32(-1))
                account.update(before, digits)
        return Change.of_everything(int(np.count_nonzero(previous != labels)), self.n_clusters)


class DeferredAccount:
    """Masses of the clusters and the labels; sums of a few features at a time on demand.

    Parameters
    ----------
    block : DenseBlock
    n_clusters : int
    """

    def __init__(self, block: DenseBlock, n_clusters: int) -> None:
        self.block, self.n_clusters = block, n_clusters
        self._labels = np.full(block.n_samples, -1, dtype=np.int32)

    @property
    def statistics(self) -> DeferredStatistics:
        """What the rows add up to under the labels of the last update."""
        frame, masses = self.block.measured, self._masses
        return DeferredStatistics(
            frame, frame.total_square, masses.counts, masses.rungs, self._feature_sums
        )

    def update(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        """Follow the labels from ``previous`` to ``labels``."""
        self._labels = labels.copy()
        weights, ladder = self.block.weights, self.block.measured.mass_ladder
        self._masses = mass_statistics(weights, ladder, labels, self.n_clusters)
        return Change.of_everything(int(np.count_nonzero(previous != labels)), self.n_clusters)

    def _feature_sums(self, first: int, last: int) -> NDArray[np.float64]:
        rungs = feature_rungs(self.block, self._labels, self.n_clusters, first, last)
        return rounded_features(self.block.measured, rungs, self.statistics.mass, first, last)


def feature_rungs(
    block: DenseBlock, labels: NDArray[np.int32], n_clusters: int, first: int, last: int
) -> NDArray[np.float64]:
    """Rungs of the clusters' sums of features first:last, (k, n_rungs, last - first)."""
    from polymeans.kernels.multiplicative import cell_sums

    ladder = block.measured.ladder
    rungs = np.zeros((n_clusters, ladder.n_rungs, last - first))
    cell_sums(block.arrays.values, block.weights, ladder.magics, labels, first, last, rungs)
    return rungs


def rounded_features(
    frame: MeasuredFrame,
    rungs: NDArray[np.float64],
    mass: NDArray[np.float64],
    first: int,
    last: int,
) -> NDArray[np.float64]:
    """Sums about the frame's origin of features first:last from their rungs, rounded once."""
    from polymeans.kernels import exact

    out = np.empty((len(rungs), last - first))
    every = np.arange(len(rungs))
    exact.round_clusters_about(rungs, mass, frame.origin[first:last], every, out)
    return out


Account = CellAccount | NumeratorAccount | MarginalAccount | DeferredAccount
