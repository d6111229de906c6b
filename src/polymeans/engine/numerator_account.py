"""Sums of sparse rows that stand in the codebook, as the numerators of its centroids."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from polymeans.core.exact_sums import Ladder
from polymeans.core.statistics import GroupedStatistics, KnownSums
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import Block, SparseBlock
from polymeans.engine.changes import Change, Moves

#: Correcting a sum by one moved row costs as much as summing this many rows anew: its numbers are
#: scattered in memory, those of rows that are summed one after another stay in cache. Measured on
#: documents with 100 and 500 clusters, where the ratio was 2.8 to 3.6.
_CORRECTION = 3


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
        from polymeans.kernels.cluster_sums import move_masses

        moves = Moves.between(self._held, labels, len(self._counts))
        counts, mass = self._counts.copy(), self._mass.copy()
        magics = self.block.measured.mass_ladder.magics
        move_masses(moves.rows, self._held, labels, self.block.weights, magics, counts, mass)
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
        return (_CORRECTION * moves.n_events >= counts) | (self._counts == 0)

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
        from polymeans.kernels import groups, numerators

        block, threads = self.block, running_threads()
        held = known.numerators(self._remainders)
        # Corrected are the sums that were taken last, and once.
        correctable = take and known is self._known and moves is not self._made
        anew = self._anew(moves, counts)[clusters] | (not correctable)
        replaced, corrected = clusters[anew], clusters[~anew]
        rows, weights = block.arrays, block.weights
        if len(replaced):
            starts = np.zeros(len(counts) + 1, dtype=np.int64)
            members = groups.Groups(starts, np.empty(block.n_samples, dtype=np.int64))
            groups.group_by_label(labels, *members)
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
        events = groups.Groups(moves.starts, moves.events)
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


def _remainder_dtype(ladder: Ladder) -> type | None:
    """The shortest one that holds what rounding takes from sums on one or two rungs."""
    if ladder.n_rungs == 1:
        return None
    upper, lower = ladder.units
    # At most half an upper unit, in whole lower ones.
    short = upper <= 2.0**25 * lower and upper < 2.0**127 and lower >= 2.0**-149
    return np.float32 if short else np.float64
