"""Free centroids, stored outright: the codebook for dense rows."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook, State
from polymeans.core.frame import Frame
from polymeans.core.statistics import CellStatistics, certain_inertia
from polymeans.core.threads import running_threads

if TYPE_CHECKING:
    from polymeans.kernels.rows import Book


class DenseCodebook(BaseCodebook[CellStatistics]):
    """k centroids of the rows' own dtype.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_features)
        Kept, and changed by :meth:`refit`.
    spherical : bool
        Centroids are directions: refitted to length one.
    """

    def __init__(self, centers: NDArray[Any], spherical: bool = False) -> None:
        self.centers = centers
        self.spherical = spherical
        self.n_clusters, self.n_features = centers.shape

    def longest(self, frame: Frame) -> float:
        """Norm that no centroid exceeds, measured from the frame's shift."""
        return longest_row(self.centers, frame)

    @property
    def book(self) -> "Book":
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import Book

        return Book(self.centers, np.ones(self.n_clusters), np.zeros(self.n_clusters), 0)

    @property
    def n_parameters(self) -> int:
        """Numbers stored."""
        return self.centers.size

    def refit(self, statistics: CellStatistics) -> NDArray[np.float64]:
        """Move the changed clusters' centroids to their means; how far each one went."""
        from polymeans.kernels.cluster_sums import move_to_means

        drift = np.zeros(self.n_clusters)
        sums, mass, origin = statistics.sums, statistics.mass, statistics.frame.origin
        changed, threads = statistics.changed, running_threads()
        threads.map(
            lambda r: move_to_means(
                sums, mass, origin, changed[slice(*r)], self.spherical, self.centers, drift
            ),
            threads.ranges(len(changed), smallest=max(1, 2**15 // max(1, self.n_features))),
        )
        return drift

    def inertia(self, statistics: CellStatistics) -> float:
        """Weighted squared distances under the statistics' labels, without a pass over rows."""
        return table_inertia(self.centers, statistics)

    def to_array(self, frame: Frame) -> NDArray[Any]:
        """Centroids in the user's coordinates."""
        return frame.external(self.centers)

    def state(self) -> State:
        """Centroids, and whether they are directions."""
        return {"centers": self.centers, "spherical": self.spherical}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The codebook a state was taken from."""
        return cls(state["centers"], bool(state["spherical"]))


def longest_row(centers: NDArray[Any], frame: Frame) -> float:
    """The largest norm of some centroids, measured from the frame's shift."""
    away = np.abs(centers.astype(np.float64) - frame.shift)
    scale = float(away.max(initial=0.0))
    if not 0 < scale < np.inf:
        return scale
    away /= scale
    return scale * float(np.sqrt(np.einsum("ij,ij->i", away, away).max()))


def table_inertia(centers: NDArray[Any], statistics: CellStatistics) -> float:
    """``Σ w |x - c|²`` from statistics, for centroids in a table."""
    inertia = statistics.total_square + table_cost(centers, statistics)
    return certain_inertia(inertia, statistics.total_square)


def table_cost(centers: NDArray[Any], statistics: CellStatistics) -> float:
    """The same without ``Σ w |x|²``, which does not depend on the centroids."""
    from polymeans.kernels.cluster_sums import closed_form_inertia

    return closed_form_inertia(centers, statistics.frame.origin, statistics.mass, statistics.sums)
