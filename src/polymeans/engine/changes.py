"""Which rows changed their label, and which clusters changed with them."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


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
        from polymeans.kernels import groups

        rows = np.flatnonzero(previous != labels)
        ends = np.concatenate([previous[rows], labels[rows]])
        starts = np.zeros(n_clusters + 1, dtype=np.int64)
        events = np.empty(len(ends), dtype=np.int64)
        groups.group_by_label(ends, starts, events)
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
