"""Which way of looking at every centroid serves which dense rows."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import CentersTable
from polymeans.engine.blocks import DenseBlock
from polymeans.engine.byte_assigners import ByteLloyd
from polymeans.engine.dense_assigners import DenseLloyd
from polymeans.engine.lane_assigners import LaneLloyd
from polymeans.engine.stateless import StatelessAssigner

#: Rows that tell what to expect of all rows.
_N_SAMPLED = 128

#: Rows from which on a sample of them costs little beside them.
MANY_ROWS = 32 * _N_SAMPLED

#: Share of rows that bytes may leave undecided; such rows take several times as long as by scores.
_UNDECIDED = 1 / 8


class BytesOrScores(StatelessAssigner):
    """Looks at every centroid for every row: by bytes if these decide about a sample of the rows.

    Bytes do not tell centroids apart that are about equally far from a row, as starting points of a
    fit often are.

    Parameters
    ----------
    rows : DenseBlock
    n_clusters : int
    """

    def __init__(self, rows: DenseBlock, n_clusters: int) -> None:
        self._bytes = ByteLloyd(rows, n_clusters)
        self._scores = by_scores(rows, n_clusters)
        self._sampled = sampled(rows)
        self._sample = sample_of(rows, self._sampled)

    @staticmethod
    def serves(rows: DenseBlock, n_clusters: int) -> bool:
        """Whether this is the faster way for such rows."""
        return rows.n_samples >= MANY_ROWS and ByteLloyd.serves(rows, n_clusters)

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
        self.chosen(codebook, previous).assign_with_gaps(codebook, previous, labels, gaps)

    def chosen(
        self, codebook: CentersTable, previous: NDArray[np.int32]
    ) -> ByteLloyd | LaneLloyd | DenseLloyd:
        """What is to look at the rows."""
        likely = previous[self._sampled]
        trial = ByteLloyd(self._sample, self._bytes.n_clusters)
        trial.assign(codebook, likely, np.empty_like(likely))
        return self._bytes if trial.n_settled <= _UNDECIDED * len(likely) else self._scores


def plain_assigner(rows: DenseBlock, n_clusters: int) -> BytesOrScores | LaneLloyd | DenseLloyd:
    """One that looks at every centroid for every row."""
    if BytesOrScores.serves(rows, n_clusters):
        return BytesOrScores(rows, n_clusters)
    return by_scores(rows, n_clusters)


def by_scores(rows: DenseBlock, n_clusters: int) -> LaneLloyd | DenseLloyd:
    """One that forms floating-point scores of all of them."""
    return (LaneLloyd if LaneLloyd.serves(rows) else DenseLloyd)(rows, n_clusters)


def sampled(rows: DenseBlock) -> NDArray[np.int64]:
    """Numbers of some rows, the same ones each time, evenly spread over all of them."""
    return np.arange(_N_SAMPLED) * rows.n_samples // _N_SAMPLED


def sample_of(rows: DenseBlock, some: NDArray[np.int64]) -> DenseBlock:
    """A block of these rows, to be labeled: their weights are not known."""
    return DenseBlock(rows.rows_at(some), np.empty(0), rows.frame)
