"""What the rows add up to, cluster by cluster, kept current as labels change.

Between two iterations only rows that changed cluster matter. A cluster that exchanged more rows
than it has is summed anew, and all changed ones are now and then, so rounding cannot build up.
Every algorithm gets its statistics here: equal labels give equal bits.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.engine.threads import reduction_blocks

#: Iterations after which changed clusters are summed anew whatever moved.
REFRESH = 32

#: Correcting the sums by one moved row costs as much as summing this many anew.
_CORRECTION = {True: 3, False: 1}


@dataclass(frozen=True)
class Change:
    """What an update of the labels changed."""

    n_moved: int
    clusters: NDArray[np.int64]  #: clusters that gained or lost rows
    resummed: NDArray[np.int64]  #: those of them that were summed anew
    shifted: NDArray[np.int64]  #: and those that were corrected by their moved rows
    moved: NDArray[np.int64]  #: rows that changed cluster
    starts: NDArray[np.int64]  #: where each cluster's events begin
    events: NDArray[np.int64]  #: positions into moved (departures), or past its end (arrivals)

    def spread(self, n_clusters: int) -> "Change":
        """The same change where it moves all centroids, not only those of its clusters."""
        everyone, nobody = np.arange(n_clusters), np.empty(0, dtype=np.int64)
        return replace(self, clusters=everyone, resummed=everyone, shifted=nobody)


def count(rows: Any, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.int64]:
    """Rows of positive weight in each cluster."""
    from polymeans.kernels import sums

    sizes = np.zeros(n_clusters, dtype=np.int64)
    sums.count_labels(labels, rows.weights, sizes)
    return sizes


def total_square(rows: Any) -> float:
    """Weighted squared norms of all rows, measured from where their sums are."""
    from polymeans.kernels import sums

    return sum(
        rows.threads.map(
            lambda block: sums.weighted_squares(rows.norms, rows.weights, *block),
            reduction_blocks(rows.n_samples),
        )
    )


def origin_of(rows: Any) -> NDArray[np.float64]:
    """Where the rows' sums are measured from."""
    return np.zeros(rows.n_used) if rows.is_sparse else rows.arrays.origin


class ClusterStatistics:
    """Masses and sums of the clusters.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    numerators : ndarray of shape (n_clusters, n_features), float64
        What stands in for the sums before there are any; becomes the array of sums.
    track : bool, default=None
        Keep ``squares`` and ``cross`` of the sums current. None: for sparse rows, where codebooks
        of sums ask for them and short rows make it cheap.
    """

    def __init__(
        self, rows: Any, numerators: NDArray[np.float64], track: bool | None = None
    ) -> None:
        self.rows = rows
        self.track = rows.is_sparse if track is None else track
        n_clusters = len(numerators)
        self.sums = numerators
        self.mass = np.zeros(n_clusters)
        self.squares = np.zeros(n_clusters)
        self._peaks = np.zeros(n_clusters)
        self.cross = np.zeros(n_clusters)
        self.sizes = np.zeros(n_clusters, dtype=np.int64)
        self._holds_sums = np.zeros(n_clusters, dtype=bool)
        self._updates = 0
        self.origin = origin_of(rows)
        self.total_square = total_square(rows)

    def block_sums(self, first: int, last: int) -> tuple[NDArray[np.float64], int]:
        """An array that holds the sums of features first:last, and its first column's feature."""
        return self.sums, 0

    def update(self, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> Change:
        """Follow the labels from ``previous`` to ``labels``."""
        from polymeans.kernels import sums

        rows, n_clusters = self.rows, len(self.mass)
        self._updates += 1
        moved = np.flatnonzero(previous != labels)
        ends = np.concatenate([previous[moved], labels[moved]])
        starts = np.zeros(n_clusters + 1, dtype=np.int64)
        events = np.empty(len(ends), dtype=np.int64)
        sums.group_by_label(ends, starts, events)
        n_events = np.diff(starts)
        self.sizes = count(rows, labels, n_clusters)

        touched = n_events > 0
        emptied = touched & (self.sizes == 0)
        many = _CORRECTION[rows.is_sparse] * n_events >= self.sizes
        # Heavy rows that leave light ones behind would leave their rounding errors there too.
        heavy = np.bincount(
            previous[moved][previous[moved] >= 0],
            weights=rows.weights[moved[previous[moved] >= 0]],
            minlength=n_clusters,
        )
        many |= 2 * heavy >= self.mass
        anew = touched & ~emptied & (many | ~self._holds_sums)
        if self._updates % REFRESH == 0:
            anew = touched & ~emptied
        resummed = np.flatnonzero(anew)
        shifted = np.flatnonzero(touched & ~emptied & ~anew)
        self.cross[~touched] = self.squares[~touched]

        # An emptied cluster keeps its last centroid, which its sums stand for.
        self.mass[emptied] = 0.0
        self._holds_sums[emptied] = False
        self._resum(resummed, labels)
        self._holds_sums[resummed] = True
        costs = n_events[shifted]
        self.rows.threads.map(
            lambda share: sums.shift_sums(
                rows.arrays,
                rows.weights,
                shifted[slice(*share)],
                starts,
                events,
                moved,
                self.mass,
                self.sums,
                self.squares,
                self._peaks,
                self.cross,
                self.track,
            ),
            self.rows.threads.shares(costs),
        )
        changed = np.flatnonzero(touched & ~emptied)
        return Change(len(moved), changed, resummed, shifted, moved, starts, events)

    def _resum(self, clusters: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        if len(clusters) == 0:
            return
        from polymeans.kernels import sums

        starts = np.zeros(len(self.mass) + 1, dtype=np.int64)
        members = np.empty(self.rows.n_samples, dtype=np.int64)
        sums.group_by_label(labels, starts, members)
        self.rows.threads.map(
            lambda share: sums.resum(
                self.rows.arrays,
                self.rows.weights,
                clusters[slice(*share)],
                starts,
                members,
                self.mass,
                self.sums,
                self.squares,
                self._peaks,
                self.cross,
                np.empty(self.sums.shape[1]),
                self.track,
            ),
            self.rows.threads.shares(np.diff(starts)[clusters]),
        )
