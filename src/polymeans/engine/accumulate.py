"""Totals of a block's rows under given labels: the additive half of an iteration."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from polymeans.core.contracts import Additive
from polymeans.core.exact_sums import Ladder
from polymeans.core.statistics import CellStatistics, MarginalStatistics
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import Block
from polymeans.engine.changes import Moves

#: Bytes of totals that a core's cache holds, and rows that make a thread of their own worthwhile.
_CACHED, _PIECE_ROWS = 2**22, 4096


@dataclass(frozen=True)
class MassTotals:
    """Rows of positive weight, and the rungs of the mass, of each cluster."""

    counts: NDArray[np.int64]  #: (k,)
    rungs: NDArray[np.float64]  #: (k, n_mass_rungs)

    def __add__(self, other: "MassTotals") -> "MassTotals":
        return MassTotals(self.counts + other.counts, self.rungs + other.rungs)

    def __sub__(self, other: "MassTotals") -> "MassTotals":
        return MassTotals(self.counts - other.counts, self.rungs - other.rungs)


#: Totals of a block's rows, of the kind that a codebook needs.
Totals: TypeAlias = CellStatistics | MarginalStatistics | MassTotals


class _Exact(Additive, Protocol):
    """What is added up exactly, so that taking a part away undoes adding it."""

    def __sub__(self, other: Self, /) -> Self:
        """What is left without the other."""


#: Two of one kind.
_Same = TypeVar("_Same", bound=_Exact)


def together(one: _Same, other: _Same) -> _Same:
    """Totals of two sets of rows."""
    return one + other


def without(one: _Same, other: _Same) -> _Same:
    """Totals of a set of rows less those of another."""
    return one - other


def cell_statistics(
    block: Block, labels: NDArray[np.int32], n_clusters: int, total_square: float
) -> CellStatistics:
    """Totals of a block's rows under given labels."""
    from polymeans.kernels.groups import count_labels

    frame = block.measured
    statistics = CellStatistics.empty(frame, n_clusters)
    statistics.total_square = total_square
    count_labels(labels, block.weights, statistics.counts)
    add_clusters(block, labels, np.arange(n_clusters), statistics.mass_rungs, statistics.rungs)
    return statistics


def is_followed_by_rows(block: Block, statistics: CellStatistics) -> bool:
    """Whether totals stay in cache, so that rows are best added in their own order."""
    return not block.is_sparse and statistics.rungs.nbytes <= _CACHED


def follow_rows(
    block: Block,
    statistics: CellStatistics,
    previous: NDArray[np.int32],
    labels: NDArray[np.int32],
) -> tuple[int, NDArray[np.bool_]]:
    """Correct totals by the rows whose label changed, in place, in the order of the rows.

    Parameters
    ----------
    block : Block
    statistics : CellStatistics
        Totals under the labels before.
    previous : ndarray of shape (n_samples,)
        The labels before; -1: the row was in no cluster.
    labels : ndarray of shape (n_samples,)

    Returns
    -------
    n_moved : int
        Rows whose label changed.
    touched : ndarray of shape (n_clusters,)
        Clusters that gained or lost rows.
    """
    from polymeans.kernels.cluster_sums import follow_labels

    frame, threads = statistics.frame, running_threads()
    touched = np.zeros(len(statistics.counts), dtype=bool)
    totals = statistics.counts, statistics.mass_rungs, statistics.rungs, touched
    common = (block.arrays, block.weights, previous, labels)
    magics = (frame.ladder.magics, frame.mass_ladder.magics)
    # Each thread has totals of its own: sums are exact, so adding them up changes nothing.
    pieces = min(threads.n_threads, max(1, block.n_samples // _PIECE_ROWS))
    if pieces == 1:
        return follow_labels(*common, 0, block.n_samples, *magics, *totals), touched

    def follow(part: tuple[int, int]) -> tuple[int, list[NDArray[Any]]]:
        own = [np.zeros_like(total) for total in totals]
        return follow_labels(*common, *part, *magics, *own), own

    edges = [block.n_samples * piece // pieces for piece in range(pieces + 1)]
    n_moved = 0
    for n_own, own in threads.map(follow, pairwise(edges)):
        n_moved += n_own
        for total, part in zip(totals, own):
            total += part
    return n_moved, touched


def move_clusters(
    block: Block, statistics: CellStatistics, moves: Moves, clusters: NDArray[np.int64]
) -> None:
    """Correct sums and masses of some clusters by the rows that left and came, in place."""
    from polymeans.kernels import cluster_sums, groups

    frame, threads = statistics.frame, running_threads()
    events = groups.Groups(moves.starts, moves.events)
    threads.map(
        lambda share: cluster_sums.move_members(
            block.arrays,
            block.weights,
            clusters[slice(*share)],
            events,
            moves.rows,
            frame.ladder.magics,
            frame.mass_ladder.magics,
            statistics.mass_rungs,
            statistics.rungs,
        ),
        threads.shares(moves.n_events[clusters]),
    )


def move_rows(
    block: Block,
    statistics: CellStatistics,
    previous: NDArray[np.int32],
    labels: NDArray[np.int32],
) -> None:
    """Correct totals by the rows whose label changed, in place, cluster by cluster.

    Parameters
    ----------
    block : Block
    statistics : CellStatistics
        Totals of these and perhaps of other rows, under the labels before.
    previous : ndarray of shape (n_samples,)
        The labels before; -1: the row was in no cluster.
    labels : ndarray of shape (n_samples,)
    """
    n_clusters = len(statistics.counts)
    moves = Moves.between(previous, labels, n_clusters)
    move_clusters(block, statistics, moves, moves.touched)
    counted = moves.rows[block.weights[moves.rows] > 0]
    left = previous[counted]
    statistics.counts += np.bincount(labels[counted], minlength=n_clusters)
    statistics.counts -= np.bincount(left[left >= 0], minlength=n_clusters)


def add_clusters(
    block: Block,
    labels: NDArray[np.int32],
    clusters: NDArray[np.int64],
    mass_rungs: NDArray[np.float64],
    rungs: NDArray[np.float64],
) -> None:
    """Sum some clusters from their rows, in place."""
    if len(clusters) == 0:
        return
    from polymeans.kernels import cluster_sums, groups

    starts = np.zeros(len(mass_rungs) + 1, dtype=np.int64)
    members = groups.Groups(starts, np.empty(block.n_samples, dtype=np.int64))
    groups.group_by_label(labels, *members)
    frame, threads = block.measured, running_threads()
    threads.map(
        lambda share: cluster_sums.sum_members(
            block.arrays,
            block.weights,
            clusters[slice(*share)],
            members,
            frame.ladder.magics,
            frame.mass_ladder.magics,
            mass_rungs,
            rungs,
        ),
        threads.shares(np.diff(starts)[clusters]),
    )


def marginal_statistics(
    block: Block, labels: NDArray[np.int32], sizes: Sequence[int], total_square: float
) -> MarginalStatistics:
    """Totals of a block's rows under given labels, set by set."""
    n_clusters = int(np.prod(sizes))
    masses = mass_statistics(block.weights, block.measured.mass_ladder, labels, n_clusters)
    parts = []
    stride = n_clusters
    for h in sizes:
        stride //= h
        digits = labels // np.int32(stride) % np.int32(h)
        parts.append(cell_statistics(block, digits, h, total_square).rungs)
    totals = masses.counts, masses.rungs, np.concatenate(parts)
    return MarginalStatistics(block.measured, total_square, tuple(sizes), *totals)


def mass_statistics(
    weights: NDArray[np.float64], ladder: Ladder, labels: NDArray[np.int32], n_clusters: int
) -> MassTotals:
    """Rows of positive weight, and the rungs of the mass, of each cluster."""
    from polymeans.kernels.cluster_sums import add_masses
    from polymeans.kernels.groups import count_labels

    counts = np.zeros(n_clusters, dtype=np.int64)
    count_labels(labels, weights, counts)
    rungs = np.zeros((n_clusters, ladder.n_rungs))
    add_masses(labels, weights, ladder.magics, rungs)
    return MassTotals(counts, rungs)
