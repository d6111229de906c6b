"""Free centroids, stored outright: the codebook for dense rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class DenseCodebook:
    """k centroids of the rows' own dtype.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_features)
        Kept, and changed by :meth:`refit`.
    spherical : bool
        Centroids are directions: refitted to length one.
    """

    def __init__(self, centers: NDArray[Any], spherical: bool = False) -> None:
        from polymeans.kernels.rows import Book

        self.centers = centers
        self.spherical = spherical
        self.n_clusters, self.n_features = centers.shape
        self.book = Book(centers, np.ones(self.n_clusters), np.zeros(self.n_clusters))

    #: A change of few clusters moves the others not at all.
    entangled = False
    #: The objective is a sum of distances, one for each row.
    by_rows = True
    #: Empty clusters are given rows.
    relocates = True

    @property
    def sizes(self) -> tuple[int]:
        """One set of as many vectors as there are centroids."""
        return (self.n_clusters,)

    @property
    def n_parameters(self) -> int:
        """Numbers stored."""
        return self.centers.size

    def numerators(self) -> NDArray[np.float64]:
        """What cluster sums start from."""
        return self.centers.astype(np.float64)

    def refit(self, statistics: Any, changed: NDArray[np.integer]) -> NDArray[np.float64]:
        """Move the changed clusters' centroids to their best place; how far each one went."""
        drift = np.zeros(self.n_clusters)
        mass = statistics.mass[changed]
        changed, mass = changed[mass > 0], mass[mass > 0]
        sums = statistics.sums[changed]
        if self.spherical:
            # Directions that cancel out leave no direction: the centroid is zero then.
            length = np.sqrt(np.einsum("ij,ij->i", sums, sums))
            best = sums / np.where(length > 0, length, 1.0)[:, None]
        else:
            best = sums / mass[:, None] + statistics.rows.arrays.origin
        best = best.astype(self.centers.dtype)
        step = best.astype(np.float64) - self.centers[changed]
        drift[changed] = np.sqrt(np.einsum("ij,ij->i", step, step))
        self.centers[changed] = best
        return drift

    def inertia(self, rows: Any, statistics: Any) -> float:
        """Weighted squared distances under the statistics' labels, without a pass over rows."""
        from polymeans.kernels import sums

        fit = sums.closed_form_inertia(
            self.centers, rows.arrays.origin, statistics.mass, statistics.sums
        )
        return max(0.0, statistics.total_square + fit)

    def explicit(self, rows: Any) -> "DenseCodebook":
        """The codebook as a user will see it, which dense centroids already are."""
        return self

    def to_array(self, rows: Any) -> NDArray[Any]:
        """Centroids in the user's coordinates."""
        return rows.external(self.centers)
