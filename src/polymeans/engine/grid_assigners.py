"""Assigners for centroids that are combinations of protocentroids."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.khatri_rao import (
    CHUNK,
    AdditiveCodebook,
    MultiplicativeCodebook,
    pair_table,
)
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.dense_assigners import DenseLloyd
from polymeans.engine.sparse_assigners import unwritten
from polymeans.engine.stateless import StatelessAssigner

if TYPE_CHECKING:
    from polymeans.kernels.additive_scan import ScanBuffers, ScanError, ScanTable
    from polymeans.kernels.dense import ScoreError, ScoreFrame


def halfway(sizes: tuple[int, ...]) -> int:
    """Where to cut the sets in two so that both parts have about as many combinations."""
    logs = np.log(np.asarray(sizes, dtype=np.float64))
    left = np.cumsum(logs)[:-1]
    return 1 + int(np.argmin(np.abs(2 * left - logs.sum())))


class _GridScan(StatelessAssigner):
    """What dense and sparse rows share: the table of the two halves of the sets, and buffers."""

    def __init__(self, rows: Block, codebook: AdditiveCodebook) -> None:
        self.rows = rows
        self.sizes = codebook.sizes
        self.n_clusters = codebook.n_clusters
        self.split = halfway(self.sizes)
        self.n_rows = int(np.prod(self.sizes[: self.split]))
        self.n_columns = self.n_clusters // self.n_rows
        self.starts = np.cumsum((0, *self.sizes)).astype(np.int64)

    def make_table(
        self, gram: NDArray[np.float64], far: float, length: int, roundings: float
    ) -> "ScanTable":
        """The table for protocentroids of this Gram matrix; the rest is for its errors."""
        from polymeans.kernels.additive_scan import ScanTable

        cross = pair_table(gram, self.sizes).reshape(self.n_rows, self.n_columns)
        cross = cross.astype(np.float32)
        error = self._error(gram, far, length, roundings)
        return ScanTable(cross, cross.min(axis=1), self.split, self.starts, error)

    def _error(
        self, gram: NDArray[np.float64], far: float, length: int, roundings: float
    ) -> "ScanError":
        """A bound on the error of scores.

        ``far`` is how far from zero members may add up, ``length`` the number of terms in an inner
        product, ``roundings`` how many roundings it takes at most.
        """
        from polymeans.kernels.additive_scan import ScanError

        reach = self._longest_sum(np.sqrt(np.maximum(np.diag(gram), 0.0)))
        unit = float(np.finfo(self.rows.dtype).eps) / 2
        single, double = 2.0**-24, 2.0**-53
        # Products in the rows' precision, everything after that in float32, and the exact score
        # itself; |score| and all partial sums are at most |x| reach + reach².
        if self.rows.is_sparse:
            unit = single
        terms = 1.25 * roundings * unit + (4 * len(self.sizes) + 16) * single
        exact = 1.25 * (length + 8) * 2 * double
        faint = 4 * (length + 8) * float(np.finfo(np.float32).tiny)
        # The exact score adds protocentroids where they are, far from the rows' mean perhaps.
        away = (len(self.sizes) + 1) * double * far
        return ScanError(
            by_norm=float((terms + 2 * exact) * reach + away),
            constant=float((terms + exact) * reach**2 + away * (reach + away) + faint),
            by_square=float(exact),
        )

    def _longest_sum(self, norms: NDArray[np.float64]) -> float:
        """Norm no combination of protocentroids of these norms exceeds."""
        return sum(float(part.max()) for part in np.split(norms, self.starts[1:-1]))

    def scan_buffers(self) -> "ScanBuffers":
        """Buffers for the scores of 64 rows."""
        from polymeans.kernels.additive_scan import SCAN_ROWS, ScanBuffers

        heights = (int(self.starts[-1]), self.n_rows, self.n_columns, self.n_rows, 1, 1, 1, 1)
        return ScanBuffers(*(np.zeros((h, SCAN_ROWS), dtype=np.float32) for h in heights))


class DenseSums(_GridScan):
    """Sums of protocentroids for dense rows: one product with each protocentroid, and a scan.

    Parameters
    ----------
    rows : DenseBlock
    codebook : AdditiveCodebook
    """

    rows: DenseBlock

    def __init__(self, rows: DenseBlock, codebook: AdditiveCodebook) -> None:
        super().__init__(rows, codebook)
        # Protocentroids are packed as free centroids would be.
        self.packer = DenseLloyd(rows, int(self.starts[-1]), even=False)

    def assign(
        self, codebook: AdditiveCodebook, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        from polymeans.kernels import dense
        from polymeans.kernels.additive_scan import SCAN_ROWS, assign_dense_sums
        from polymeans.kernels.tiles import tile_terms

        rows, packer, book = self.rows, self.packer, codebook.book
        shift = rows.frame.shift.astype(np.float64)
        theta = codebook.about(shift)
        dense.pack_panels(theta, np.zeros(rows.n_features), packer.panels, np.empty(len(theta)))
        roundings = tile_terms(rows.n_features)
        far = self._longest_sum(np.linalg.norm(codebook.rounded, axis=1))
        table = self.make_table(codebook.gram(shift), far, rows.n_features, roundings)
        # The table has the error of the scores; here the frame says where rows are measured from.
        frame = dense.ScoreFrame(
            rows.frame.shift, rows.frame.shifted, rows.norms, dense.ScoreError()
        )
        shape = (len(packer.lane_cluster), SCAN_ROWS, packer.width)
        rows.each(
            lambda lo, hi: assign_dense_sums(
                rows.arrays,
                frame,
                book,
                packer.panels,
                table,
                lo,
                hi,
                previous,
                labels,
                np.empty((SCAN_ROWS, rows.n_features), dtype=rows.dtype),
                np.zeros(shape, dtype=rows.dtype),
                self.scan_buffers(),
            )
        )


class SparseSums(_GridScan):
    """Sums of protocentroids for CSR rows: as many columns as protocentroids, and a scan.

    Parameters
    ----------
    rows : SparseBlock
    codebook : AdditiveCodebook
    """

    rows: SparseBlock

    def __init__(self, rows: SparseBlock, codebook: AdditiveCodebook) -> None:
        from polymeans.kernels.emit import LANES

        super().__init__(rows, codebook)
        n_columns = -(-int(self.starts[-1]) // LANES) * LANES
        self.table = np.zeros((codebook.n_features, n_columns), dtype=np.float32)
        self.written = unwritten(codebook.n_features, int(self.starts[-1]))

    def assign(
        self, codebook: AdditiveCodebook, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        from polymeans.kernels.additive_scan import ProtocentroidTable, assign_sparse_sums

        rows, book = self.rows, codebook.book
        gram = codebook.gram()
        self._fill_table(codebook)
        longest = int(rows.lengths.max(initial=0))
        table = self.make_table(gram, 0.0, longest, longest + 32.0)
        half_norms = (0.5 * np.diag(gram)).astype(np.float32)
        protocentroids = ProtocentroidTable(self.table, half_norms)
        rows.each(
            lambda lo, hi: assign_sparse_sums(
                rows.arrays,
                rows.values32,
                rows.norms,
                book,
                protocentroids,
                table,
                lo,
                hi,
                previous,
                labels,
                np.empty(self.table.shape[1], dtype=np.float32),
                self.scan_buffers(),
            )
        )

    def _fill_table(self, codebook: AdditiveCodebook) -> None:
        """Protocentroids feature by feature.

        In float32: halves, which serve free centroids well, leave so many rows to be settled
        exactly that reading half as much does not pay for it.
        """
        from polymeans.kernels import sparse

        columns = np.arange(self.starts[-1])
        ones, residue = np.ones(len(columns)), np.zeros(len(columns))
        threads = running_threads()
        threads.map(
            lambda r: sparse.fill_columns(
                codebook.protocentroids,
                ones,
                columns,
                *r,
                self.table,
                self.written,
                residue.copy(),
            ),
            threads.ranges(len(self.written), smallest=16),
        )


class StreamedProducts(StatelessAssigner):
    """Products of protocentroids for dense rows, built a few centroids at a time.

    Parameters
    ----------
    rows : DenseBlock
    n_clusters : int
    """

    def __init__(self, rows: DenseBlock, n_clusters: int) -> None:
        self.rows = rows
        #: Packs as many centroids as are built at a time.
        self.packer = DenseLloyd(rows, min(n_clusters, CHUNK))

    def assign(
        self,
        codebook: MultiplicativeCodebook,
        previous: NDArray[np.int32],
        labels: NDArray[np.int32],
    ) -> None:
        """Write every row's label."""
        from polymeans.kernels import centroid_chunks

        rows, book = self.rows, codebook.book
        best = np.full(rows.n_samples, np.inf, dtype=rows.dtype)
        second = np.full(rows.n_samples, np.inf, dtype=rows.dtype)
        nearest = np.zeros(rows.n_samples, dtype=np.int32)
        error: ScoreError | None = None
        for base, part, frame in self._parts(codebook):
            error = frame.error if error is None else _worse(error, frame.error)

            def score(
                a: int,
                b: int,
                base: int = base,
                part: DenseLloyd = part,
                frame: "ScoreFrame" = frame,
            ) -> None:
                centroid_chunks.score_chunk(
                    rows.arrays,
                    frame,
                    part.panels,
                    base,
                    a,
                    b,
                    best,
                    second,
                    nearest,
                    part.block_buffer(),
                    part.tile_buffer(),
                )

            rows.each(score)
        assert error is not None  # there is one part at least
        frame = frame._replace(error=error)
        limits = np.empty(rows.n_samples)
        rows.each(
            lambda a, b: centroid_chunks.decide_labels(
                frame, best, second, nearest, a, b, labels, limits
            )
        )
        unsettled = np.flatnonzero(labels < 0)
        if len(unsettled) == 0:
            return
        exact, rivals = np.full((2, len(unsettled)), np.inf)
        ranges = running_threads().ranges(len(unsettled))
        for base, part, frame in self._parts(codebook):

            def settle(
                r: tuple[int, int],
                base: int = base,
                part: DenseLloyd = part,
                frame: "ScoreFrame" = frame,
            ) -> None:
                centroid_chunks.settle_chunk(
                    rows.arrays,
                    frame,
                    book,
                    part.panels,
                    base,
                    unsettled[slice(*r)],
                    limits,
                    exact[slice(*r)],
                    rivals[slice(*r)],
                    labels,
                    np.empty((1, rows.n_features), dtype=rows.dtype),
                    part.tile_buffer(),
                )

            running_threads().map(settle, ranges)
        centroid_chunks.mark_contested(rows.arrays, book, unsettled, exact, rivals, labels)

    def _parts(
        self, codebook: MultiplicativeCodebook
    ) -> Iterator[tuple[int, DenseLloyd, "ScoreFrame"]]:
        """Centroids a few at a time: the first one's number, their panels, and the frame."""
        for lo in range(0, codebook.n_clusters, CHUNK):
            hi = min(lo + CHUNK, codebook.n_clusters)
            whole = hi - lo == self.packer.n_clusters
            part = self.packer if whole else DenseLloyd(self.rows, hi - lo)
            yield lo, part, part.pack_centers(codebook.some_centers(lo, hi))


def _worse(error: "ScoreError", other: "ScoreError") -> "ScoreError":
    """The error of scores of two parts together: their longest and their shortest centroid."""
    worst = dict(zip(error._fields, map(max, error, other)))
    return error._replace(**worst)._replace(
        shortest=min(error.shortest, other.shortest), certain=min(error.certain, other.certain)
    )
