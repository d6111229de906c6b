"""Assigners for CSR rows and free centroids: everything, or what moved."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import NumeratorsTable
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import SparseBlock
from polymeans.engine.changes import Change

if TYPE_CHECKING:
    from polymeans.kernels.sparse import Columns, StreamedRows

#: Above this share of moved centroids, looking at all of them costs less than the bookkeeping.
_MOSTLY = 0.8

#: Largest relative error of rounding to a half.
_HALF = 2.0**-11

#: Writing one entry out of order costs about as much as this many in order.
_SCATTER = 12


class CentroidTable:
    """Centroids feature by feature, in halves where the processor converts them fast.

    Columns hold the codebook's numerators times a power of two that keeps them inside a half's
    range; ``slope`` undoes it together with the division. It knows no rows: one table serves all
    blocks of a pass.

    Parameters
    ----------
    codebook : NumeratorCodebook
    """

    def __init__(self, codebook: NumeratorsTable) -> None:
        from polymeans.kernels.halves import has_fast_halves

        self.halves = has_fast_halves()
        self.n_clusters = codebook.n_clusters
        self.n_columns = _padded(codebook.n_clusters)
        dtype = np.uint16 if self.halves else np.float32
        self.table = np.zeros((codebook.n_features, self.n_columns), dtype=dtype)
        self.written = unwritten(codebook.n_features, codebook.n_clusters)
        self.scale = np.ones(codebook.n_clusters)
        self.residue = np.zeros(codebook.n_clusters)
        self._fill(codebook, np.arange(codebook.n_clusters))
        self._describe(codebook)

    def _rescale(self, codebook: NumeratorsTable, clusters: NDArray[np.integer]) -> None:
        # No entry exceeds the norm, so scaling the norm to 2^14..2^15 excludes overflow, and
        # entries too small for a half are too small to matter.
        norms = np.sqrt(codebook.squared_norms[clusters]) * codebook.denominators[clusters]
        exponent = np.frexp(np.maximum(norms, 1e-300))[1]
        self.scale[clusters] = np.ldexp(1.0, np.clip(15 - exponent, -500, 500))

    def _fill(self, codebook: NumeratorsTable, clusters: NDArray[np.integer]) -> None:
        from polymeans.kernels import sparse

        if len(clusters) == 0:
            return
        self._rescale(codebook, clusters)
        threads = running_threads()

        def fill(r: tuple[int, int]) -> NDArray[np.float64]:
            residue = np.zeros(self.n_clusters)
            sparse.fill_columns(
                codebook.array, self.scale, clusters, *r, self.table, self.written, residue
            )
            return residue

        parts = threads.map(fill, threads.ranges(len(self.written), smallest=16))
        self.residue[clusters] = sum(parts, np.zeros(self.n_clusters))[clusters]

    def _describe(self, codebook: NumeratorsTable) -> None:
        from polymeans.kernels.sparse import Columns

        pad = self.n_columns - self.n_clusters
        norms = np.sqrt(codebook.squared_norms)
        half = codebook.book.half_norms
        lost = np.sqrt(self.residue) / (self.scale * codebook.denominators)
        spread = np.maximum(lost / _HALF, 0.2 * norms)
        self.columns = Columns(
            self.table,
            _pad(1.0 / (self.scale * codebook.denominators), pad, 0.0),
            _pad(half, pad, np.inf),
            _pad(spread * (1 + 2.0**-20), pad, 0.0),
            _pad(2.0**-21 * half + 1e-37, pad, 0.0),
            np.concatenate([np.arange(self.n_clusters), np.full(pad, -1)]).astype(np.int32),
        )

    def follow(self, codebook: NumeratorsTable, change: Change, rows: SparseBlock) -> None:
        """Bring the changed columns up to date; ``rows`` are those that moved among."""
        from polymeans.kernels import sparse
        from polymeans.kernels.groups import Groups

        norms = np.sqrt(codebook.squared_norms) * codebook.denominators * self.scale
        misfit = (norms > 2.0**15.5) | (norms < 2.0**8)
        touched = 2 * int(rows.lengths[change.moved].sum())
        if touched * _SCATTER > len(change.shifted) * codebook.n_features:
            self._fill(codebook, change.clusters)
        else:
            shifted = change.shifted[~misfit[change.shifted]]
            self._fill(
                codebook, np.concatenate([change.rewritten, change.shifted[misfit[change.shifted]]])
            )
            threads = running_threads()
            events = Groups(change.starts, change.events)
            threads.map(
                lambda share: sparse.touch_columns(
                    rows.arrays,
                    codebook.array,
                    self.scale,
                    shifted[slice(*share)],
                    events,
                    change.moved,
                    self.table,
                    self.written,
                    self.residue,
                ),
                threads.shares(np.diff(change.starts)[shifted]),
            )
        self._describe(codebook)

    def selection(self, clusters: NDArray[np.int32]) -> "Columns":
        """The columns of some clusters, side by side."""
        from polymeans.kernels import sparse

        n_columns = _padded(len(clusters))
        pad = n_columns - len(clusters)
        compact = np.empty((len(self.table), n_columns), dtype=self.table.dtype)
        compact[:, len(clusters) :] = 0
        threads = running_threads()
        threads.map(
            lambda r: sparse.gather_columns(self.table, clusters, *r, compact),
            threads.ranges(len(self.table), smallest=256),
        )
        _, slope, half_norms, spread, floor, _ = self.columns
        return sparse.Columns(
            compact,
            _pad(slope[clusters], pad, 0.0),
            _pad(half_norms[clusters], pad, np.inf),
            _pad(spread[clusters], pad, 0.0),
            _pad(floor[clusters], pad, 0.0),
            np.concatenate([clusters, np.full(pad, -1, dtype=np.int32)]),
        )


def _streamed(rows: SparseBlock) -> "StreamedRows":
    """Rows with what errors of their approximate scores are bounded by."""
    from polymeans.kernels.sparse import StreamedRows

    # An error of a product is at most |x| times what rounding took from the centroid, plus what
    # float32 arithmetic adds: (length + 24) units of |x||c|. The second is folded into the first by
    # never letting the first fall below a fifth of a half's worst case.
    relative = _HALF + 5 * 1.25 * (rows.lengths + 24) * 2.0**-24
    reaches = (rows.norms * relative).astype(np.float32) * np.float32(1 + 2.0**-20)
    return StreamedRows(rows.arrays, rows.values32, reaches)


class SparseLloyd:
    """Looks at every centroid for every row.

    Parameters
    ----------
    rows : SparseBlock
    n_clusters : int
    table : CentroidTable, default=None
        Of the codebook that comes first, if there is one already.
    """

    def __init__(
        self, rows: SparseBlock, n_clusters: int, table: CentroidTable | None = None
    ) -> None:
        self.rows = rows
        self.table, self._streamed = table, _streamed(rows)
        self.n_clusters = n_clusters
        #: Of each row, at most the score of its label, and at least those of all others.
        self.bounds = np.empty((2, rows.n_samples), dtype=np.float32)
        self.own_ceiling, self.others_floor = self.bounds

    def assign(
        self, codebook: NumeratorsTable, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        if self.table is None:
            self.table = CentroidTable(codebook)
        self.assign_full(codebook, labels, np.empty(0, dtype=np.int64))

    def assign_full(
        self, codebook: NumeratorsTable, labels: NDArray[np.int32], chosen: NDArray[np.int64]
    ) -> None:
        """Labels of the chosen rows (none: of all) from all centroids."""
        from polymeans.kernels import sparse

        table, rows, book = self.table, self._streamed, codebook.book
        assert table is not None
        threads = running_threads()
        threads.map(
            lambda r: sparse.assign_full(
                rows,
                book,
                table.columns,
                chosen,
                *r,
                labels,
                self.own_ceiling,
                self.others_floor,
                np.empty(table.n_columns, dtype=np.float32),
            ),
            threads.ranges(len(chosen) or self.rows.n_samples, smallest=64),
        )

    def follow(self, codebook: NumeratorsTable, change: Change, drift: NDArray[np.float64]) -> None:
        """Bring the table up to date."""
        assert self.table is not None
        self.table.follow(codebook, change, self.rows)

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Some labels were changed from outside; nothing to forget here."""

    def confirm(self, explicit: NumeratorsTable, labels: NDArray[np.int32]) -> None:
        """Correct labels for the codebook's explicit form.

        Dividing and rounding moves scores by a few units in the last place of float32 at most:
        rows whose label is clear by more than that need no second look.
        """
        longest = float(np.sqrt(explicit.squared_norms.max()))
        slack = (2.0**-21 * longest * (self.rows.norms + longest)).astype(np.float32)
        chosen = np.flatnonzero(self.others_floor <= self.own_ceiling + slack)
        if len(chosen):
            self.assign_full(explicit, labels, chosen)


class SparseLazy(SparseLloyd):
    """Looks only at centroids that moved.

    Bounds from distances say nothing about text, where all distances are alike. But late in a
    fit most centroids have not moved at all, and their scores are what they were: a row needs the
    moved ones, its own, and a floor under the rest. Rows whose floor no longer holds look at
    everything. Memory: 8 bytes for each row.

    Parameters
    ----------
    rows : SparseBlock
    n_clusters : int
    table : CentroidTable, default=None
        Of the codebook that comes first, if there is one already.
    """

    def __init__(
        self, rows: SparseBlock, n_clusters: int, table: CentroidTable | None = None
    ) -> None:
        super().__init__(rows, n_clusters, table)
        self._moved: NDArray[np.int64] | None = None

    def assign(
        self, codebook: NumeratorsTable, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        from polymeans.kernels import sparse

        if self._moved is None or len(self._moved) > _MOSTLY * self.n_clusters:
            super().assign(codebook, previous, labels)
            return
        table, rows, book = self.table, self._streamed, codebook.book
        assert table is not None
        clusters = self._moved.astype(np.int32)
        moved = table.selection(clusters)
        column_of = np.full(self.n_clusters, -1, dtype=np.int32)
        column_of[clusters] = np.arange(len(clusters))
        undecided = np.empty(self.rows.n_samples, dtype=bool)
        self.rows.each(
            lambda lo, hi: sparse.assign_moved(
                rows,
                book,
                table.columns,
                moved,
                column_of,
                lo,
                hi,
                previous,
                labels,
                self.own_ceiling,
                self.others_floor,
                undecided,
                np.empty(len(moved.slope), dtype=np.float32),
            )
        )
        chosen = np.flatnonzero(undecided)
        if len(chosen):
            self.assign_full(codebook, labels, chosen)

    def resume(self, bounds: NDArray[np.float32], moved: NDArray[np.int64]) -> None:
        """Go on from the bounds of an earlier assignment, after which some centroids moved."""
        self.bounds[:] = bounds
        self._moved = moved

    def follow(self, codebook: NumeratorsTable, change: Change, drift: NDArray[np.float64]) -> None:
        """Bring the table up to date and note which centroids moved."""
        super().follow(codebook, change, drift)
        self._moved = change.clusters

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Floors of rows whose label was changed from outside say nothing any more."""
        self.others_floor[moved_rows] = -np.inf


def unwritten(n_features: int, n_columns: int) -> NDArray[np.bool_]:
    """Marks of a table of zeros: stretches of features in which a column may be something else."""
    from polymeans.kernels.stretches import STRETCH

    return np.zeros((-(-n_features // STRETCH), n_columns), dtype=bool)


def _padded(n: int) -> int:
    return -(-n // 16) * 16


def _pad(values: NDArray[Any], pad: int, fill: float) -> NDArray[np.float32]:
    return np.concatenate([values, np.full(pad, fill)]).astype(np.float32)
