"""Assigners for dense rows and free centroids: everything, or what bounds cannot rule out."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import CentersTable
from polymeans.engine.assigner import Assigner
from polymeans.engine.blocks import DenseBlock
from polymeans.engine.changes import Change
from polymeans.engine.stateless import StatelessAssigner

if TYPE_CHECKING:
    from polymeans.kernels.dense import ScoreError, ScoreFrame, Tile
    from polymeans.kernels.dense_bounds import GroupBuffers

#: Room for group bounds: this, or half the size of the data if that is more (up to the limit).
_BOUND_BYTES, _BOUND_BYTES_LIMIT = 32 * 2**20, 256 * 2**20

#: Share of row-group pairs above which bounds cost more than they save, beside tiles.
_WASTED = 0.75


class DenseLloyd(StatelessAssigner):
    """Looks at every centroid for every row.

    Parameters
    ----------
    rows : DenseBlock
    n_clusters : int
    even : bool, default=True
        Fill panels evenly, so that every group of centroids is equally tight: 100 centroids make
        seven panels of 14 or 15, not six of 16 and one of 4.
    """

    def __init__(self, rows: DenseBlock, n_clusters: int, even: bool = True) -> None:
        from polymeans.kernels.tiles import panel_width

        self.rows = rows
        self.n_clusters = n_clusters
        self.width = panel_width(rows.dtype.itemsize)
        # A block of rows should stay in the second-level cache while panels stream past it.
        row_bytes = max(1, rows.n_features * rows.dtype.itemsize)
        self.block_rows = int(np.clip(2**18 // row_bytes, 16, 256)) // 8 * 8
        self.even = even
        self.set_order(np.arange(n_clusters))

    def set_order(self, order: NDArray[np.integer]) -> None:
        """Lay the centroids out in this order."""
        from polymeans.kernels.dense import Panels

        n_panels = -(-self.n_clusters // self.width)
        cuts = n_panels if self.even else np.arange(1, n_panels) * self.width
        self.lane_cluster = np.full((n_panels, self.width), -1, dtype=np.int32)
        for panel, members in enumerate(np.array_split(order, cuts)):
            self.lane_cluster[panel, : len(members)] = members
        self.cluster_lane = np.empty(self.n_clusters, dtype=np.int32)
        flat = self.lane_cluster.ravel()
        self.cluster_lane[flat[flat >= 0]] = np.flatnonzero(flat >= 0)
        dtype = self.rows.dtype
        self.panels = Panels(
            np.empty((n_panels, self.rows.n_features, self.width), dtype=dtype),
            np.empty((n_panels, self.width), dtype=dtype),
            self.lane_cluster,
        )

    def pack(self, codebook: CentersTable) -> "ScoreFrame":
        """Bring the centroids into panels; how their scores are to be read."""
        return self.pack_centers(codebook.centers)

    def pack_centers(self, centers: NDArray[Any]) -> "ScoreFrame":
        """The same for centroids that are at hand."""
        from polymeans.kernels.dense import ScoreFrame, pack_panels

        norms = np.empty(self.n_clusters)
        pack_panels(centers, self.rows.frame.shift, self.panels, norms)
        frame, error = self.rows.frame, score_errors(self.rows.n_features, norms, self.rows.dtype)
        return ScoreFrame(frame.shift, frame.shifted, self.rows.norms, error)

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
        from polymeans.kernels import dense

        rows, book = self.rows, codebook.book
        frame = self.pack(codebook)
        self.rows.each(
            lambda lo, hi: dense.assign_all(
                rows.arrays,
                frame,
                book,
                self.panels,
                lo,
                hi,
                labels,
                gaps,
                self.block_buffer(),
                np.empty(self.block_rows, dtype=rows.dtype),
                np.empty(self.block_rows, dtype=rows.dtype),
                np.empty(self.block_rows, dtype=np.int32),
                self.tile_buffer(),
            )
        )

    def block_buffer(self) -> NDArray[Any]:
        """A buffer for one block of shifted rows (untouched, hence free, if nothing is shifted)."""
        return np.empty((self.block_rows, self.rows.n_features), dtype=self.rows.dtype)

    def tile_buffer(self) -> "Tile":
        """Buffers for the scores of a few rows and one panel."""
        from polymeans.kernels.dense import tile_buffers

        return tile_buffers(self.rows.dtype)


class DenseLazy(DenseLloyd):
    """Looks only at groups of centroids that could have come nearer than the own one.

    Similar centroids form a group; each row keeps a lower bound on its distance to each group
    (Yinyang k-means). A bound sinks by the largest drift in its group; a row whose bounds all stay
    above its distance to its own centroid is not touched at all. Memory: 4 bytes for each row and
    group.

    Parameters
    ----------
    rows : DenseBlock
    n_clusters : int
    plain : assigner, default=None
        Looks at everything, in calls where bounds would be wasted. None: tiles do.
    wasted : float, default=0.75
        Share of row-group pairs looked at above which bounds cost more than they save. With 1 they
        are never given up.
    plain_calls : int, default=1
        Calls before bounds are set up. Starting points move far at first; bounds and groups from
        before would be wasted.
    """

    def __init__(
        self,
        rows: DenseBlock,
        n_clusters: int,
        plain: Assigner[CentersTable] | None = None,
        wasted: float = _WASTED,
        plain_calls: int = 1,
    ) -> None:
        super().__init__(rows, n_clusters)
        self._plain = plain
        self._wasted = wasted
        self.examined = 1.0  #: share of row-group pairs that the last call looked at
        n_panels = len(self.lane_cluster)
        budget = np.clip(rows.n_stored * rows.dtype.itemsize // 2, _BOUND_BYTES, _BOUND_BYTES_LIMIT)
        affordable = int(budget // (4 * rows.n_samples))
        affordable = max(1, affordable // 16 * 16 if affordable > 16 else affordable)
        self.panels_per_group = -(-n_panels // affordable)
        self.n_groups = -(-n_panels // self.panels_per_group)
        self.bounded = False
        self._plain_calls = plain_calls
        self._next_rest = 2

    def assign(
        self, codebook: CentersTable, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        if self._plain_calls:
            self._plain_calls -= 1
            self.bounded = False
            self.examined = 1.0
            look = super().assign if self._plain is None else self._plain.assign
            look(codebook, previous, labels)
            return
        fresh = not self.bounded
        if fresh:
            self._begin_bounds(codebook)
            # Everything is looked at anyway: the own centroid needs no treatment of its own.
            previous = np.full(self.rows.n_samples, -1, dtype=np.int32)
        n_examined = self._assign_bounded(codebook, previous, labels)
        self.examined = n_examined / (self.rows.n_samples * self.n_groups)
        if not fresh and self.examined > self._wasted:
            # Nothing to gain now. Look at everything for a while, ever longer if it stays so.
            self._plain_calls, self._next_rest = self._next_rest, 2 * self._next_rest

    def _begin_bounds(self, codebook: CentersTable) -> None:
        n_samples = self.rows.n_samples
        self.lower = np.empty((0, 0), dtype=np.float32)  # make room for the new ones first
        self.set_order(order_by_similarity(codebook.centers.astype(np.float64), self.width))
        # Sixteen groups are tested at a time.
        n_padded = -(-self.n_groups // 16) * 16
        self.upper = np.full(n_samples, np.inf, dtype=np.float32)
        self.lower = np.zeros((n_samples, n_padded), dtype=np.float32)
        self.drift = np.zeros(self.n_clusters, dtype=np.float32)
        self.travelled = np.zeros(n_padded, dtype=np.float32)
        self.bounded = True

    def _assign_bounded(
        self, codebook: CentersTable, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> int:
        """Labels by bounds; how many pairs of a row and a group were looked at."""
        from polymeans.kernels import dense_bounds

        rows = self.rows
        frame, book = self.pack(codebook), codebook.book
        bounds = dense_bounds.GroupBounds(
            self.cluster_lane,
            self.panels_per_group,
            self.drift,
            self.travelled,
            self.upper,
            self.lower,
        )
        parts = self.rows.each(
            lambda lo, hi: dense_bounds.assign_lazy(
                rows.arrays,
                frame,
                book,
                self.panels,
                bounds,
                lo,
                hi,
                previous,
                labels,
                self._group_buffers(),
            )
        )
        return sum(parts)

    def _group_buffers(self) -> "GroupBuffers":
        from polymeans.kernels.dense_bounds import GroupBuffers

        n, n_groups, dtype = self.block_rows, self.n_groups, self.rows.dtype
        return GroupBuffers(
            block=self.block_buffer(),
            queue=np.empty((n_groups, n), dtype=np.int32),
            queued=np.empty(n_groups, dtype=np.int32),
            first=np.empty((n, n_groups), dtype=dtype),
            runner_up=np.empty((n, n_groups), dtype=dtype),
            lane=np.empty((n, n_groups), dtype=np.int32),
            pending=np.empty(n, dtype=np.int32),
            own=np.empty(n),
            own_lane=np.empty(n, dtype=np.int32),
            masks=np.empty((n, len(self.travelled) // 16), dtype=np.uint32),
            tile=self.tile_buffer(),
        )

    def follow(self, codebook: object, change: Change, drift: NDArray[np.float64]) -> None:
        """Let the bounds sink by what the centroids moved."""
        if not self.bounded:
            return
        self.drift = round_up(drift)
        group = self.cluster_lane // self.width // self.panels_per_group
        farthest = np.zeros(len(self.travelled))
        np.maximum.at(farthest, group, self.drift.astype(np.float64))
        travelled = self.travelled.astype(np.float64) + farthest
        # Rounded up only where something moved: a group at rest keeps its bounds for good.
        rounded = (travelled * (1 + 2.0**-20)).astype(np.float32)
        self.travelled = np.where(farthest > 0, rounded, self.travelled)

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Bounds of rows whose label was changed from outside say nothing any more."""
        if self.bounded:
            self.upper[moved_rows] = np.inf
            self.lower[moved_rows] = -np.inf


def score_errors(n_features: int, norms: NDArray[np.float64], dtype: np.dtype[Any]) -> "ScoreError":
    """How far off scores of centroids of these norms can be, if they are formed in a dtype."""
    from polymeans.kernels.tiles import tile_terms

    longest, shortest = float(norms.max()), float(norms.min())
    return score_error_of(n_features, tile_terms(n_features), longest, shortest, dtype.type)


#: Half the distance between one and the next number, and the smallest of full precision.
_PRECISION: dict[type[np.floating], tuple[float, float]] = {
    kind: (float(np.finfo(kind).eps) / 2, float(np.finfo(kind).tiny))
    for kind in (np.float32, np.float64)
}


def score_error_of(
    n_features: int, n_roundings: float, longest: float, shortest: float, kind: type[np.floating]
) -> "ScoreError":
    """The same for the largest and the smallest norm, and so many roundings in a score."""
    from polymeans.kernels.dense import ScoreError

    unit, tiny = _PRECISION[kind]
    terms = 1.25 * n_roundings * unit
    exact = 1.25 * (n_features + 8) * 2.0**-52
    certain = math.sqrt(max(0.0, 1 - 16 * terms)) * (1 - 2.0**-20)
    return ScoreError(
        product=terms,
        score=terms + exact,
        # Products too small for their type vanish, whatever they are relative to.
        faint=4 * (n_features + 8) * tiny,
        # Distances are formed as |x|² + 2 score in that precision.
        own=4 * unit + exact,
        longest=longest,
        # The argument about long centroids needs errors well below their squared length.
        shortest=shortest if terms + exact < 0.02 else math.inf,
        certain=certain,
    )


def round_up(drift: NDArray[np.float64]) -> NDArray[np.float32]:
    """Drifts in float32, never understated; a centroid at rest stays exactly at rest."""
    return np.where(drift > 0, drift * (1 + 2.0**-20) + 1e-37, 0.0).astype(np.float32)


def order_by_similarity(centers: NDArray[np.float64], leaf: int) -> NDArray[np.int64]:
    """Order in which every run of ``leaf`` centroids is close together.

    Recursive halving along the direction of largest spread, halves being multiples of ``leaf``.

    Parameters
    ----------
    centers : ndarray of shape (n, d)
    leaf : int
        Length of the runs.

    Returns
    -------
    ndarray of shape (n,)
        A permutation of ``range(n)``.
    """
    n_leaves = -(-len(centers) // leaf)
    if n_leaves < 2:
        return np.arange(len(centers))
    centered = centers - centers.mean(axis=0)
    axis = centered[np.argmax(np.einsum("ij,ij->i", centered, centered))]
    for _ in range(5):  # power iteration; the direction need not be exact
        axis = centered.T @ (centered @ axis)
        length = np.linalg.norm(axis)
        if length == 0:
            return np.arange(len(centers))
        axis = axis / length
    along = np.argsort(centered @ axis, kind="stable")
    # Even panels (see set_order): split where whole panels end.
    sizes = np.array([len(part) for part in np.array_split(along, n_leaves)])
    cut = int(sizes[: n_leaves // 2].sum())
    left, right = along[:cut], along[cut:]
    return np.concatenate(
        [
            left[order_by_similarity(centers[left], leaf)],
            right[order_by_similarity(centers[right], leaf)],
        ]
    )
