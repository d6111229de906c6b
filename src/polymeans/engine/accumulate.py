"""Totals of a block's rows under given labels: the additive half of an iteration."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeans.core.exact_sums import Ladder
from polymeans.core.statistics import CellStatistics, MarginalStatistics
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import Block


@dataclass(frozen=True)
class MassTotals:
    """Rows of positive weight, and the rungs of the mass, of each cluster."""

    counts: NDArray[np.int64]  #: (k,)
    rungs: NDArray[np.float64]  #: (k, n_mass_rungs)

    def __add__(self, other: "MassTotals") -> "MassTotals":
        return MassTotals(self.counts + other.counts, self.rungs + other.rungs)

    def __sub__(self, other: "MassTotals") -> "MassTotals":
        return MassTotals(self.counts - other.counts, self.rungs - other.rungs)


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
