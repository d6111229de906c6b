"""An assigner for dense rows that rules out most centroids by products of bytes."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import CentersTable
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import DenseBlock
from polymeans.engine.stateless import StatelessAssigner

if TYPE_CHECKING:
    from polymeans.kernels.byte_scores import ByteBuffers
    from polymeans.kernels.dense import ScoreFrame

#: Features, centroids, and products of the two numbers, from which on bytes are faster than float32
#: scores, as measured.
_LEAST_FEATURES, _LEAST_CLUSTERS, _LEAST_NUMBERS = 64, 64, 2**16

#: Numbers of centroids that are worth a task of their own.
_PACKED_TOGETHER = 2**16

#: Bytes of rows that are compared with a panel together: they stay in the first-level cache.
_ROW_BYTES = 2**14


class ByteLloyd(StatelessAssigner):
    """Looks at every centroid for every row, but only at a few of them with full precision.

    Parameters
    ----------
    rows : DenseBlock
    n_clusters : int
    """

    def __init__(self, rows: DenseBlock, n_clusters: int) -> None:
        from polymeans.kernels.byte_scores import BytePanels

        self.rows = rows
        self.n_clusters = n_clusters
        self.n_quarters = -(-rows.n_features // 4)
        self.padded = -(-rows.n_features // 16) * 16  #: features that are rounded together
        n_panels = -(-n_clusters // 16)
        self.panels = BytePanels(
            np.empty((n_panels, self.n_quarters, 16), dtype=np.int32),
            np.empty((n_panels, 4, 16), dtype=np.float32),
        )
        self.n_settled = 0  #: rows that needed exact scores
        self.n_extreme = 0  #: rows that were too long for float32 scores, or not finite

    @staticmethod
    def serves(block: DenseBlock, n_clusters: int) -> bool:
        """Whether this is the faster way for such rows."""
        from polymeans.kernels.byte_tiles import MOST_FEATURES, is_fast

        return (
            n_clusters >= _LEAST_CLUSTERS
            and n_clusters * block.n_features >= _LEAST_NUMBERS
            and _LEAST_FEATURES <= block.n_features <= MOST_FEATURES
            and is_fast()
        )

    def pack(self, codebook: CentersTable) -> "ScoreFrame":
        """Bring the centroids into panels; how rows are to be read."""
        from polymeans.kernels.byte_scores import pack_byte_panels
        from polymeans.kernels.dense import ScoreError, ScoreFrame

        frame, panels, threads = self.rows.frame, self.panels, running_threads()
        smallest = max(1, _PACKED_TOGETHER // (64 * self.n_quarters))
        threads.map(
            lambda some: pack_byte_panels(
                codebook.centers,
                frame.shift,
                *some,
                panels,
                np.zeros(self.padded, dtype=np.float32),
                np.empty(self.padded // 4, dtype=np.int32),
            ),
            threads.ranges(len(panels.values), smallest),
        )
        return ScoreFrame(frame.shift, frame.shifted, np.empty(0), ScoreError())

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
        from polymeans.kernels.byte_scores import assign_by_bytes

        rows, book, frame = self.rows, codebook.book, self.pack(codebook)
        found = rows.each(
            lambda lo, hi: assign_by_bytes(
                rows.arrays,
                frame,
                book,
                self.panels,
                lo,
                hi,
                previous,
                labels,
                gaps,
                self.buffers(),
            )
        )
        self.n_settled = sum(n_settled for n_settled, _ in found)
        self.n_extreme = sum(n_extreme for _, n_extreme in found)

    def buffers(self) -> "ByteBuffers":
        """Room for the rows of a thread."""
        from polymeans.kernels.byte_scores import MOST_CANDIDATES, ByteBuffers
        from polymeans.kernels.byte_tiles import BYTE_ROWS

        width = 4 * self.n_quarters
        n = BYTE_ROWS * int(np.clip(_ROW_BYTES // width // BYTE_ROWS, 1, 8))
        return ByteBuffers(
            queue=np.empty(n, dtype=np.int64),
            flat=np.zeros(self.padded, dtype=np.float32),
            bytes=np.zeros(n * width + 16, dtype=np.int8)[: n * width].reshape(n, width),
            factors=np.zeros((n, 3), dtype=np.float32),
            sums=np.zeros(n, dtype=np.int32),
            limits=np.empty(n, dtype=np.float32),
            likely=np.empty(n, dtype=np.int32),
            own=np.empty(n),
            rest=np.empty((n, 16), dtype=np.float32),
            low=np.empty((BYTE_ROWS, 16), dtype=np.float32),
            masks=np.empty(BYTE_ROWS, dtype=np.int32),
            n_candidates=np.empty(n, dtype=np.int32),
            candidates=np.empty((n, MOST_CANDIDATES), dtype=np.int32),
            bounds=np.empty((n, MOST_CANDIDATES), dtype=np.float32),
            nears=np.empty((n, MOST_CANDIDATES)),
        )
