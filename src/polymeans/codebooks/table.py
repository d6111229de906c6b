"""The base of structured centroids that the engine uses as a table.

Multiplied or added out, centroids are small beside the rows, and every assigner can use them.
Subclasses define what the table is made of and how it follows from cluster means.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.dense import longest_row, table_cost, table_inertia
from polymeans.core.frame import Frame
from polymeans.core.norms import row_lengths
from polymeans.core.statistics import CellStatistics

if TYPE_CHECKING:
    from polymeans.kernels.rows import Book


class TableCodebook(BaseCodebook[CellStatistics]):
    """k centroids in a table, for rows of either kind.

    Subclasses give ``refit`` and ``n_parameters``, and call :meth:`show` when centroids change.

    Parameters
    ----------
    frame : Frame
    shape : tuple of int
        Number of centroids and features.
    """

    entangled = True

    def __init__(self, frame: Frame, shape: tuple[int, int]) -> None:
        self._begin(frame.dtype, frame.rank, shape)

    def _begin(self, dtype: np.dtype[Any], rank: NDArray[np.int32], shape: tuple[int, int]) -> None:
        self.dtype = np.dtype(dtype)
        #: Where each of the user's features stands in the table (sparse rows), see ``Frame``.
        self.rank = rank
        self.n_clusters, self.n_features = shape
        self.centers = np.zeros(shape, dtype=dtype)
        self.denominators = np.ones(self.n_clusters)
        self.squared_norms = np.zeros(self.n_clusters)

    def show(self, centers: NDArray[Any]) -> NDArray[np.float64]:
        """Put centroids into the table; how far each one went."""
        step = centers.astype(np.float64) - self.centers
        self.centers = centers
        if len(self.rank):
            from polymeans.kernels.cluster_sums import divide_rows

            # In the order in which ``Frame.internal_sparse`` sums them for new rows.
            divide_rows(
                centers,
                self.denominators,
                0,
                self.n_clusters,
                self.rank,
                centers,
                self.squared_norms,
            )
        return row_lengths(step)

    @property
    def array(self) -> NDArray[Any]:
        """All centroids, for sparse rows."""
        return self.centers

    def longest(self, frame: Frame) -> float:
        """Norm that no centroid exceeds, measured from the frame's shift."""
        return longest_row(self.centers, frame)

    @property
    def book(self) -> "Book":
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import Book

        n_terms = max(len(self.rank), self.n_features)
        return Book(self.centers, self.denominators, 0.5 * self.squared_norms, n_terms)

    def means(self, statistics: CellStatistics) -> NDArray[np.float64]:
        """Means of the clusters; those without rows stay where they are."""
        mass = statistics.mass
        used = mass > 0
        means = self.centers.astype(np.float64)
        means[used] = statistics.sums[used] / mass[used, None] + statistics.frame.origin
        return means

    def cost(self, statistics: CellStatistics, centers: NDArray[Any] | None = None) -> float:
        """The objective for these centroids, without what does not depend on them."""
        return table_cost(self.centers if centers is None else centers, statistics)

    def inertia(self, statistics: CellStatistics) -> float:
        """Weighted squared distances under the statistics' labels, without a pass over rows."""
        return table_inertia(self.centers, statistics)

    def to_array(self, frame: Frame) -> NDArray[Any]:
        """Centroids in the user's coordinates."""
        return frame.external(self.centers)
