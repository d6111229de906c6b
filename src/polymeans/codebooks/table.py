"""Centroids with a structure of their own that the engine sees as a table.

Multiplied or added out, centroids are small beside the rows, and every assigner can use them. What
is behind the table, and how it follows from cluster means, is up to subclasses.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class TableCodebook:
    """k centroids in a table, for rows of either kind.

    Subclasses give ``refit`` and ``n_parameters``, and call :meth:`show` when centroids change.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    shape : tuple of int
        Number of centroids and features.
    """

    #: A change of few clusters moves all centroids.
    entangled = True
    #: The objective is a sum of distances, one for each row.
    by_rows = True
    #: Empty clusters are given rows.
    relocates = True
    spherical = False

    def __init__(self, rows: Any, shape: tuple[int, int]) -> None:
        self.rows = rows
        self.dtype = rows.dtype
        self.n_clusters, self.n_features = shape
        self.centers = np.zeros(shape, dtype=rows.dtype)
        self.denominators = np.ones(self.n_clusters)
        self.squared_norms = np.zeros(self.n_clusters)
        #: Of the free centroids these were found for, where they were.
        self.start_inertia = np.nan

    def show(self, centers: NDArray[Any]) -> NDArray[np.float64]:
        """Put centroids into the table; how far each one went."""
        step = centers.astype(np.float64) - self.centers
        self.centers = centers
        if self.rows.is_sparse:
            from polymeans.kernels import sums

            # In the order in which whoever is given these centroids will sum them.
            sums.divide_rows(
                centers,
                self.denominators,
                0,
                self.n_clusters,
                self.rows.rank,
                centers,
                self.squared_norms,
            )
        return np.sqrt(np.einsum("ij,ij->i", step, step))

    @property
    def sizes(self) -> tuple[int]:
        """One set of as many vectors as there are centroids."""
        return (self.n_clusters,)

    @property
    def array(self) -> NDArray[Any]:
        """All centroids, for sparse rows."""
        return self.centers

    @property
    def book(self) -> Any:
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import Book

        return Book(self.centers, self.denominators, 0.5 * self.squared_norms)

    def means(self, statistics: Any) -> NDArray[np.float64]:
        """Means of the clusters; who has no rows stays where it is."""
        used = statistics.mass > 0
        means = self.centers.astype(np.float64)
        means[used] = statistics.sums[used] / statistics.mass[used, None] + statistics.origin
        return means

    def cost(self, statistics: Any, centers: NDArray[Any] | None = None) -> float:
        """The objective for these centroids, without what does not depend on them."""
        from polymeans.kernels import sums

        centers = self.centers if centers is None else centers
        return sums.closed_form_inertia(
            centers, statistics.origin, statistics.mass, statistics.sums
        )

    def inertia(self, rows: Any, statistics: Any) -> float:
        """Weighted squared distances under the statistics' labels, without a pass over rows."""
        return max(0.0, statistics.total_square + self.cost(statistics))

    def explicit(self, rows: Any) -> "TableCodebook":
        """The codebook as a user will see it, which it is."""
        return self

    def to_array(self, rows: Any) -> NDArray[Any]:
        """Centroids in the user's coordinates."""
        return rows.external(self.centers)
