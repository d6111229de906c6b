"""Statistics that follow labels as they change: the local runner's private business.

Between two iterations only rows that changed cluster matter. Sums are exact, so correcting them by
the rows that moved gives the bits that summing everything anew would give; which of the two is
done is a matter of cost alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.core.exact_sums import Ladder
from polymeans.core.frame import MeasuredFrame
from polymeans.core.statistics import (
    CellStatistics,
    DeferredStatistics,
    GroupedStatistics,
    KnownSums,
    MarginalStatistics,
    marginals,
)
from polymeans.core.threads import running_threads
from polymeans.engine.accumulate import add_clusters, mass_statistics
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock

#: Correcting a sum by one moved row costs as much as adding this many rows anew: scattered access
#: for sparse rows costs more than rows that stand next to each other in cache.
_CORRECTION = {True: 3, False: 1}

#: Bytes of totals that a core's cache holds, and rows that make a thread of their own worthwhile.
_CACHED, _PIECE_ROWS = 2**22, 4096

#: Up to this many combinations for each protocentroid, dense rows are summed combination by
#: combination: one pass instead of one for each set, and sums of sums cost nothing.
_FEW = 8


def _none() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Change:
    """What an update of the labels changed."""

    n_moved: int  #: rows that changed cluster
    clusters: NDArray[np.int64]  #: clusters whose sums changed and that have rows
    rewritten: NDArray[np.int64]  #: those of them of which any entry may have changed
    shifted: NDArray[np.int64] = field(
        default_factory=_none
    )  #: and those that differ in their moved rows' features only
    moved: NDArray[np.int64] = field(
        default_factory=_none
    )  #: rows that changed cluster, where some are only shifted
    starts: NDArray[np.int64] = field(default_factory=_none)  #: where each cluster's events begin
    events: NDArray[np.int64] = field(
        default_factory=_none
    )  #: positions into moved (departures), or past it (arrivals)

    @classmethod
    def of_everything(cls, n_moved: int, n_clusters: int) -> "Change":
        """All centroids may have moved in all of their entries."""
        everything = np.arange(n_clusters)
        return cls(n_moved, everything, everything)

    def followed_by(self, other: "Change", n_moved: int) -> "Change":
        """Both changes together."""
        clusters = np.union1d(self.clusters, other.clusters)
        return Change(n_moved, clusters, clusters)


@dataclass(frozen=True)
class Moves:
    """Rows that changed cluster, and by cluster: those that left it and those that came."""

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]  #: where each cluster's events begin
    events: NDArray[np.int64]  #: positions into rows (departures), or past them (arrivals)

    @classmethod
    def between(
        cls, previous: NDArray[np.int32], labels: NDArray[np.int32], n_clusters: int
    ) -> "Moves":
        """From some labels to others."""
        from polymeans.kernels import sums

        rows = np.flatnonzero(previous != labels)
        ends = np.concatenate([previous[rows], labels[rows]])
        starts = np.zeros(n_clusters + 1, dtype=np.int64)
        events = np.empty(len(ends), dtype=np.int64)
        sums.group_by_label(ends, starts, events)
        return cls(rows, starts, events)

    @cached_property
    def n_events(self) -> NDArray[np.int64]:
        """Rows that left or came, for each cluster."""
        return np.diff(self.starts)

    @cached_property
    def touched(self) -> NDArray[np.int64]:
        """Clusters that rows left or came to."""
        return np.flatnonzero(self.n_events)

    def change(self, counts: NDArray[np.int64], whole: NDArray[np.bool_]) -> Change:
        """What the moves changed; ``whole`` says which touched clusters may differ anywhere."""
        touched = self.touched
        # A cluster without rows keeps its centroid, which its sums say nothing about.
        with_rows = counts[touched] > 0
        return Change(
            len(self.rows),
            touched[with_rows],
            touched[with_rows & whole],
            touched[with_rows & ~whole],
            self.rows,
            self.starts,
            self.events,
        )


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
        self.row_by_row = not block.is_sparse and self.statistics.rungs.nbytes <= _CACHED

    def update(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        """Follow the labels from ``previous`` to ``labels``."""
        if self.row_by_row:
            return self._follow_rows(previous, labels)
        return self._follow_clusters(previous, labels)

    def _follow_rows(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        from polymeans.kernels import sums

        block, statistics, threads = self.block, self.statistics, running_threads()
        frame, n_clusters = statistics.frame, len(statistics.counts)
        touched = np.zeros(n_clusters, dtype=bool)
        totals = statistics.counts, statistics.mass_rungs, statistics.rungs, touched
        common = (block.arrays, block.weights, previous, labels)
        magics = (frame.ladder.magics, frame.mass_ladder.magics)
        # Each thread has totals of its own: sums are exact, so adding them up changes nothing.
        pieces = min(threads.n_threads, max(1, block.n_samples // _PIECE_ROWS))
        if pieces == 1:
            n_moved = sums.follow_labels(*common, 0, block.n_samples, *magics, *totals)
        else:

            def follow(part: tuple[int, int]) -> tuple[int, list[NDArray[Any]]]:
                own = [np.zeros_like(total) for total in totals]
                return sums.follow_labels(*common, *part, *magics, *own), own

            edges = [block.n_samples * piece // pieces for piece in range(pieces + 1)]
            n_moved = 0
            for n_own, own in threads.map(follow, pairwise(edges)):
                n_moved += n_own
                for total, part in zip(totals, own):
                    total += part
        changed = np.flatnonzero(touched)
        statistics.touch(changed)
        return Change(n_moved, changed, changed)

    def _follow_clusters(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        from polymeans.kernels import sums

        block, statistics = self.block, self.statistics
        was_empty = statistics.counts == 0
        moves = Moves.between(previous, labels, len(was_empty))
        n_events, touched = moves.n_events, moves.touched
        statistics.counts = np.zeros(len(was_empty), dtype=np.int64)
        sums.count_labels(labels, block.weights, statistics.counts)

        anew = _CORRECTION[block.is_sparse] * n_events[touched] >= statistics.counts[touched]
        add_clusters(block, labels, touched[anew], statistics.mass_rungs, statistics.rungs)
        corrected = touched[~anew]
        frame, threads = statistics.frame, running_threads()
        threads.map(
            lambda share: sums.move_members(
                block.arrays,
                block.weights,
                corrected[slice(*share)],
                moves.starts,
                moves.events,
                moves.rows,
                frame.ladder.magics,
                frame.mass_ladder.magics,
                statistics.mass_rungs,
                statistics.rungs,
            ),
            threads.shares(n_events[corrected]),
        )
        statistics.touch(touched)
        return moves.change(statistics.counts, anew | was_empty[touched])


class NumeratorAccount:
    """Sums of sparse rows kept as the numerators of their centroids.

    The sums exist once, in the codebook, and are brought up to date when it is refitted; what
    rounding takes from them is kept here.

    Parameters
    ----------
    block : SparseBlock
    n_clusters : int
    """

    def __init__(self, block: SparseBlock, n_clusters: int) -> None:
        self.block = block
        dtype = _remainder_dtype(block.measured.ladder)
        shape = (0, 0) if dtype is None else (n_clusters, block.measured.n_used)
        # Zeros: blocks of features in which a cluster has nothing are never written.
        self._remainders = np.zeros(shape, dtype=dtype)
        self._known: KnownSums | None = None  #: whose remainders these are
        self._made: Moves | None = None  #: the moves that have gone into them last
        #: Under which labels, and each cluster's rows of positive weight and mass then.
        self._held = np.full(block.n_samples, -1, dtype=np.int32)
        self._counts = np.zeros(n_clusters, dtype=np.int64)
        self._mass = np.zeros((n_clusters, block.measured.mass_ladder.n_rungs))

    @staticmethod
    def serves(block: Block) -> bool:
        """Whether sums of these rows are exact in two numbers."""
        return isinstance(block, SparseBlock) and block.measured.ladder.n_rungs <= 2

    def update(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        """Follow the labels from those of the last refit to ``labels``."""
        from polymeans.kernels import sums

        moves = Moves.between(self._held, labels, len(self._counts))
        counts, mass = self._counts.copy(), self._mass.copy()
        magics = self.block.measured.mass_ladder.magics
        sums.move_masses(moves.rows, self._held, labels, self.block.weights, magics, counts, mass)
        self._update = labels, moves, counts, mass
        return moves.change(counts, self._anew(moves, counts)[moves.touched])

    @property
    def statistics(self) -> GroupedStatistics:
        """What the rows add up to under the labels of the last update."""
        # Made on demand: kept here it would refer to this account and keep both alive.
        frame = self.block.measured
        _, moves, counts, mass = self._update
        compare = partial(self._compare, *self._update)
        return GroupedStatistics(frame, frame.total_square, counts, mass, moves.touched, compare)

    def _anew(self, moves: Moves, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Clusters that had no rows, or of whose rows so many moved that all are summed anew."""
        return (_CORRECTION[True] * moves.n_events >= counts) | (self._counts == 0)

    def _compare(
        self,
        labels: NDArray[np.int32],
        moves: Moves,
        counts: NDArray[np.int64],
        mass: NDArray[np.float64],
        known: KnownSums,
        clusters: NDArray[np.int64],
        take: bool,
        squares: NDArray[np.float64],
        cross: NDArray[np.float64],
    ) -> None:
        from polymeans.kernels import numerators, sums

        block, threads = self.block, running_threads()
        held = known.numerators(self._remainders)
        # Corrected are the sums that were taken last, and once.
        correctable = take and known is self._known and moves is not self._made
        anew = self._anew(moves, counts)[clusters] | (not correctable)
        replaced, corrected = clusters[anew], clusters[~anew]
        rows, weights = block.arrays, block.weights
        if len(replaced):
            starts = np.zeros(len(counts) + 1, dtype=np.int64)
            members = numerators.Groups(starts, np.empty(block.n_samples, dtype=np.int64))
            sums.group_by_label(labels, *members)
            magics = block.measured.ladder.magics
            threads.map(
                lambda share: numerators.replace_sums(
                    rows,
                    weights,
                    replaced[slice(*share)],
                    members,
                    magics,
                    take,
                    held,
                    squares,
                    cross,
                ),
                threads.shares(np.diff(starts)[replaced]),
            )
        events = numerators.Groups(moves.starts, moves.events)
        threads.map(
            lambda share: numerators.correct_sums(
                rows,
                weights,
                corrected[slice(*share)],
                events,
                moves.rows,
                held,
                squares,
                cross,
            ),
            threads.shares(moves.n_events[corrected]),
        )
        if take:
            self._known, self._made, self._held = known, moves, labels.copy()
            # A cluster that lost its rows keeps the centroid, hence the sum, of its last ones.
            self._counts, self._mass = counts, mass


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

    @property
    def statistics(self) -> MarginalStatistics:
        """What the rows add up to under the labels of the last update."""
        if self.by_cell:
            cells = self.accounts[0].statistics.rungs
            parts = marginals(cells.reshape(*self.sizes, -1))
            shape = cells.shape[1:]
            rungs = np.concatenate([part.reshape(len(part), *shape) for part in parts])
        else:
            rungs = np.concatenate([account.statistics.rungs for account in self.accounts])
        frame = self.accounts[0].statistics.frame
        return MarginalStatistics(frame, frame.total_square, self.sizes, *self._masses, rungs)

    def update(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        """Follow the labels from ``previous`` to ``labels``."""
        self._masses = mass_statistics(self.block, labels, self.n_clusters)
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
        frame = self.block.measured
        return DeferredStatistics(
            frame, frame.total_square, *self._masses, feature_sums=self._feature_sums
        )

    def update(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        """Follow the labels from ``previous`` to ``labels``."""
        self._labels = labels.copy()
        self._masses = mass_statistics(self.block, labels, self.n_clusters)
        return Change.of_everything(int(np.count_nonzero(previous != labels)), self.n_clusters)

    def _feature_sums(self, first: int, last: int) -> NDArray[np.float64]:
        rungs = feature_rungs(self.block, self._labels, self.n_clusters, first, last)
        return rounded_features(self.block.measured, rungs, self.statistics.mass, first, last)


def feature_rungs(
    block: DenseBlock, labels: NDArray[np.int32], n_clusters: int, first: int, last: int
) -> NDArray[np.float64]:
    """Rungs of the clusters' sums of features first:last, (k, n_rungs, last - first)."""
    from polymeans.kernels import khatri_rao

    ladder = block.measured.ladder
    rungs = np.zeros((n_clusters, ladder.n_rungs, last - first))
    khatri_rao.cell_sums(
        block.arrays.values, block.weights, ladder.magics, labels, first, last, rungs
    )
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


def _remainder_dtype(ladder: Ladder) -> type | None:
    """The shortest one that holds what rounding takes from sums on one or two rungs."""
    if ladder.n_rungs == 1:
        return None
    upper, lower = ladder.units
    # At most half an upper unit, in whole lower ones.
    short = upper <= 2.0**25 * lower and upper < 2.0**127 and lower >= 2.0**-149
    return np.float32 if short else np.float64
