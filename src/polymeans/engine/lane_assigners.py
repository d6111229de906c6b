"""Assigners for dense rows with few features: sixteen rows side by side, all or open ones."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import CentersTable
from polymeans.engine.blocks import DenseBlock
from polymeans.engine.changes import Change
from polymeans.engine.dense_assigners import DenseLazy, DenseLloyd, score_error_of
from polymeans.engine.stateless import StatelessAssigner

if TYPE_CHECKING:
    from polymeans.kernels.dense import ScoreError, ScoreFrame
    from polymeans.kernels.dense_lanes import Drift, LaneBuffers

#: Features up to which rows side by side are faster than tiles, as measured.
MOST_FEATURES = 256

#: Bytes of rows that wait together, and of centroids that these rows are compared with at once:
#: both stay in the first-level cache. Centroids that the second level holds are not cut up.
_ROW_BYTES, _CENTROID_BYTES, _CACHED_BYTES = 2**14, 2**14, 2**17

#: Lines of sixteen rows that wait together however long they are: centroids in the first-level
#: cache are then read once for all of them, and rows come from the second level.
_LEAST_LINES = 4

#: Share of float64 rows that float32 scores may leave undecided; beyond it tiles of float64 take
#: less time.
UNDECIDED = 1 / 16

#: Share of rows that are looked at above which gaps cost more than they save.
_WASTED = 0.75


_NO_NORMS = np.empty(0)


class LaneLloyd(StatelessAssigner):
    """Looks at every centroid for every row.

    Rows of either precision are compared by float32 scores, and by exact scores where these do not
    decide. Float64 rows for which they often do not, since clusters are far apart beside their
    own size, go to :class:`~polymeans.engine.dense_assigners.DenseLloyd`.

    Parameters
    ----------
    rows : DenseBlock
    n_clusters : int
    """

    def __init__(self, rows: DenseBlock, n_clusters: int) -> None:
        from polymeans.kernels.dense_lanes import LanePanels
        from polymeans.kernels.lane_scan import scan_width

        self.rows = rows
        self.n_clusters = n_clusters
        width = scan_width(n_clusters)
        n_groups = -(-n_clusters // width)
        self.panels = LanePanels(
            np.empty((n_groups, rows.n_features, width), dtype=np.float32),
            np.empty((n_groups, width), dtype=np.float32),
        )
        group_bytes = 4 * width * rows.n_features
        cached = n_groups * group_bytes <= _CACHED_BYTES
        self.at_once = n_groups if cached else max(1, _CENTROID_BYTES // group_bytes)
        self.n_settled = 0  #: rows that needed exact scores
        self.n_extreme = 0  #: rows that were too long for float32 scores, or not finite
        self._tiles: DenseLloyd | None = None  #: in place of lanes, once these did not decide
        self._buffers: dict[tuple[int, int], LaneBuffers] = {}  #: of each range of rows

    _in_place_of_lanes: type[DenseLloyd] = DenseLloyd

    @staticmethod
    def serves(block: DenseBlock) -> bool:
        """Whether this is the faster way for such rows."""
        return block.n_features <= MOST_FEATURES

    def pack(self, codebook: CentersTable) -> "ScoreFrame":
        """Bring the centroids into groups; how their scores are to be read."""
        from polymeans.kernels.dense import ScoreFrame
        from polymeans.kernels.dense_lanes import pack_lane_panels

        frame = self.rows.frame
        longest, shortest = pack_lane_panels(codebook.centers, frame.shift, self.panels)
        error = lane_errors(self.rows.n_features, longest, shortest)
        return ScoreFrame(frame.shift, frame.shifted, _NO_NORMS, error)

    def assign(
        self, codebook: CentersTable, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        self.assign_with_gaps(codebook, previous, labels, np.empty(0, dtype=np.float32))

    def assign_with_gaps(
        self,
        codebook: CentersTable,
        previous: NDArray[np.int32],
        labels: NDArray[np.int32],
        gaps: NDArray[np.float32],
    ) -> None:
        """The same, and at least how much farther the next centroid is than the nearest."""
        from polymeans.kernels.dense_lanes import assign_lanes

        if self._tiles is not None:
            self._tiles.assign_with_gaps(codebook, previous, labels, gaps)
            return
        rows, book, frame = self.rows, codebook.book, self.pack(codebook)
        found = rows.each(
            lambda lo, hi: assign_lanes(
                rows.arrays,
                frame,
                book,
                self.panels,
                self.at_once,
                lo,
                hi,
                labels,
                gaps,
                self.buffers(lo, hi),
            )
        )
        self.n_extreme = sum(n_extreme for _, n_extreme in found)
        self.n_settled = sum(n_settled for n_settled, _ in found)
        self.note_undecided(self.n_settled, rows.n_samples)

    def assign_open(
        self,
        codebook: CentersTable,
        previous: NDArray[np.int32],
        labels: NDArray[np.int32],
        gaps: NDArray[np.float32],
        drift: NDArray[np.float64],
    ) -> int:
        """Labels and gaps of the rows whose gaps are used up by a drift; how many these are."""
        from polymeans.kernels.dense_lanes import assign_open_lanes

        rows, book, frame = self.rows, codebook.book, self.pack(codebook)
        gone = drift_of(drift)
        parts = rows.each(
            lambda lo, hi: assign_open_lanes(
                rows.arrays,
                frame,
                book,
                self.panels,
                self.at_once,
                gone,
                lo,
                hi,
                previous,
                labels,
                gaps,
                self.buffers(lo, hi),
            )
        )
        n_settled, n_looked_at = (sum(numbers) for numbers in zip(*parts))
        self.note_undecided(n_settled, max(n_looked_at, rows.n_samples // 16))
        return n_looked_at

    def note_undecided(self, n_settled: int, n_rows: int) -> None:
        """Leave it to tiles if float32 scores decided too few of the rows that were looked at."""
        if self.rows.dtype == np.float64 and n_settled > UNDECIDED * n_rows:
            self._tiles = self._in_place_of_lanes(self.rows, self.n_clusters)

    def buffers(self, lo: int, hi: int) -> "LaneBuffers":
        """Room for some of the rows lo:hi, the same one each time."""
        known = self._buffers.get((lo, hi))
        if known is None:
            known = self._buffers[lo, hi] = self._new_buffers(hi - lo)
        return known

    def _new_buffers(self, n_rows: int) -> "LaneBuffers":
        d = self.rows.n_features
        n_lines = min(max(_LEAST_LINES, _ROW_BYTES // (64 * max(1, d))), 16, -(-n_rows // 16))
        return lane_buffers(max(1, n_lines), d)


def lane_buffers(n_lines: int, d: int) -> "LaneBuffers":
    """Room for so many times sixteen rows of d features."""
    from polymeans.kernels.dense_lanes import LaneBuffers
    from polymeans.kernels.lane_scan import SCAN_WIDTHS
    from polymeans.kernels.lanes import lane_array

    lines = lane_array(n_lines * (d + 4), np.float32)
    best, second, lane, squares = lines[: 4 * n_lines].reshape(4, n_lines, 16)
    return LaneBuffers(
        queue=np.empty(16 * n_lines, dtype=np.int64),
        rows=lines[4 * n_lines :].reshape(n_lines, d, 16),
        best=best,
        second=second,
        lane=lane.view(np.int32),
        squares=squares,
        reach=np.empty(16 * n_lines),
        is_open=np.empty(16 * n_lines, dtype=bool),
        again=np.empty(d * max(SCAN_WIDTHS), dtype=np.float32),
        sums=np.empty(16 * max(SCAN_WIDTHS), dtype=np.float32),
    )


class LaneMargins(LaneLloyd):
    """Leaves rows alone whose nearest centroid cannot have changed (Hamerly's bound).

    One number is kept for each row: at least how much farther its second nearest centroid is than
    the nearest. It sinks by what the centroids move.

    Parameters
    ----------
    rows : DenseBlock
    n_clusters : int
    """

    _in_place_of_lanes = DenseLazy

    def __init__(self, rows: DenseBlock, n_clusters: int) -> None:
        super().__init__(rows, n_clusters)
        self._gaps: NDArray[np.float32] | None = None
        self._drift: NDArray[np.float64] | None = None
        # Starting points move far at first; gaps from before would be wasted.
        self._plain_calls = 1
        self._next_rest = 2

    def assign(
        self, codebook: CentersTable, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        if self._tiles is not None:
            self._gaps = None
            self._tiles.assign(codebook, previous, labels)
        elif self._plain_calls:
            self._plain_calls -= 1
            self._gaps = None
            super().assign(codebook, previous, labels)
        elif self._gaps is None or self._drift is None:
            self._gaps = np.empty(self.rows.n_samples, dtype=np.float32)
            self.assign_with_gaps(codebook, previous, labels, self._gaps)
        else:
            n_looked_at = self.assign_open(codebook, previous, labels, self._gaps, self._drift)
            if n_looked_at > _WASTED * self.rows.n_samples:
                # Nothing to gain now. Look at everything for a while, ever longer if it stays so.
                self._plain_calls, self._next_rest = self._next_rest, 2 * self._next_rest
        self._drift = None

    def follow(self, codebook: object, change: Change, drift: NDArray[np.float64]) -> None:
        """Gaps sink by what the centroids moved when rows are labeled the next time."""
        self._drift = drift
        if self._tiles is not None:
            self._tiles.follow(codebook, change, drift)

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Gaps of rows whose label was changed from outside say nothing any more."""
        if self._gaps is not None:
            self._gaps[moved_rows] = 0.0
        if self._tiles is not None:
            self._tiles.forget(moved_rows)


def lane_errors(n_features: int, longest: float, shortest: float) -> "ScoreError":
    """How far off scores of centroids of these norms can be, norms being found on the way."""
    from polymeans.kernels.tiles import tile_terms

    terms = tile_terms(n_features)
    error = score_error_of(n_features, terms, longest, shortest, np.float32)
    # Norms are off by one rounding for each feature.
    return error._replace(own=2.5 * (n_features + 8) * 2.0**-24)


def drift_of(drift: NDArray[np.float64]) -> "Drift":
    """What gaps sink by: own drifts, and the largest two."""
    from polymeans.kernels.dense_lanes import Drift

    farthest = int(np.argmax(drift))
    others = np.delete(drift, farthest)
    return Drift(drift, farthest, float(others.max()) if len(others) else 0.0)
