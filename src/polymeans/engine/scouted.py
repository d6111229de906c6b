"""An assigner for dense rows that sets up bounds once a sample of the rows shows that they pay."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import CentersTable
from polymeans.engine.blocks import DenseBlock
from polymeans.engine.changes import Change
from polymeans.engine.dense_assigners import DenseLazy, DenseLloyd
from polymeans.engine.lane_assigners import LaneLloyd
from polymeans.engine.plain_assigners import (
    MANY_ROWS,
    BytesOrScores,
    plain_assigner,
    sample_of,
    sampled,
)

#: Times of setting bounds up, labels included, and of looking at everything group by group, in
#: units of looking at every centroid for every row by tiles; as measured.
_SETTING_UP, _BY_GROUPS = 1.2, 1.3

#: Times of looking at everything by rows side by side, and by bytes, in the same units; the latter
#: needs some time for each row, in units of comparing it with a centroid.
_BY_LANES, _BY_BYTES, _PER_ROW = 0.6, 0.25, 60


class ScoutedLazy:
    """Looks at everything until bounds would spare most of it, and then only at what they leave.

    Bounds for groups (:class:`~polymeans.engine.dense_assigners.DenseLazy`) cost more than they
    save while centroids move far, and for rows without clusters they never pay. They are tried on
    a sample of the rows in each iteration, and set up for all rows once they would have spared as
    much time as that takes.

    Parameters
    ----------
    rows : DenseBlock
    n_clusters : int
    """

    def __init__(self, rows: DenseBlock, n_clusters: int) -> None:
        self.rows = rows
        self.n_clusters = n_clusters
        self._plain = plain_assigner(rows, n_clusters)
        self._cost = _cost_of(self._plain, n_clusters)
        self._spared = 0.0  #: what bounds would have spared so far
        self._sampled = sampled(rows)
        self._scout = DenseLazy(sample_of(rows, self._sampled), n_clusters, wasted=1.0)
        self._lazy: DenseLazy | None = None  #: for all rows, once bounds pay

    @staticmethod
    def serves(rows: DenseBlock) -> bool:
        """Whether a sample costs little beside all of these rows."""
        return rows.n_samples >= MANY_ROWS

    def assign(
        self, codebook: CentersTable, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        if self._lazy is None:
            likely = previous[self._sampled]
            self._scout.assign(codebook, likely, np.empty_like(likely))
            self._spared += max(0.0, self._cost - _BY_GROUPS * self._scout.examined)
            if self._spared >= _SETTING_UP - self._cost:
                wasted = self._cost / _BY_GROUPS
                self._lazy = DenseLazy(
                    self.rows, self.n_clusters, self._plain, wasted, plain_calls=0
                )
        (self._lazy or self._plain).assign(codebook, previous, labels)

    def follow(self, codebook: object, change: Change, drift: NDArray[np.float64]) -> None:
        """Let the bounds sink by what the centroids moved."""
        (self._lazy or self._scout).follow(codebook, change, drift)

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Bounds of rows whose label was changed from outside say nothing any more."""
        if self._lazy is None:
            self._scout.forget(np.flatnonzero(np.isin(self._sampled, moved_rows)))
        else:
            self._lazy.forget(moved_rows)

    def confirm(self, explicit: object, labels: NDArray[np.int32]) -> None:
        """Correct labels for the codebook's explicit form, which is the one they are for."""


def _cost_of(plain: BytesOrScores | LaneLloyd | DenseLloyd, n_clusters: int) -> float:
    """Time of looking at everything, in units of what tiles take."""
    if isinstance(plain, BytesOrScores):
        return _BY_BYTES + _PER_ROW / n_clusters
    return _BY_LANES if isinstance(plain, LaneLloyd) else 1.0
