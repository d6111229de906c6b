"""Free centroids kept as cluster sums over masses: the codebook for sparse rows.

Dividing is left to the scores. A row that changes cluster then touches the entries of its own
features in two sums and nothing else, where dividing would rewrite two whole centroids.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class SumCodebook:
    """k centroids ``numerators[j] / denominators[j]``.

    Parameters
    ----------
    numerators : ndarray of shape (n_clusters, n_used_features)
        Centroids at first, later the statistics' own array of sums.
    squared_norms : ndarray of shape (n_clusters,)
        Squared norms of the centroids.
    given : ndarray of shape (n_clusters, n_features), default=None
        The user's centroids these are, in case they reach into features no row uses.
    outside : ndarray of shape (n_clusters,), default=None
        The part of the squared norms that comes from such features; None: nothing.
    spherical : bool
        Centroids are directions: sums are divided by their length, not their mass.
    """

    def __init__(
        self,
        numerators: NDArray[Any],
        squared_norms: NDArray[np.float64],
        given: NDArray[Any] | None = None,
        outside: NDArray[np.float64] | None = None,
        spherical: bool = False,
    ) -> None:
        self.spherical = spherical
        self.n_clusters, self.n_features = numerators.shape
        self.array = numerators
        self.denominators = np.ones(self.n_clusters)
        self.squared_norms = squared_norms.astype(np.float64)
        self.outside = np.zeros(self.n_clusters) if outside is None else outside
        self.given = given if self.outside.any() else None

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
        return self.array.size

    @property
    def book(self) -> Any:
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import Book

        return Book(self.array, self.denominators, 0.5 * self.squared_norms)

    def numerators(self) -> NDArray[np.float64]:
        """What cluster sums start from; shared with them from then on."""
        self.array = np.ascontiguousarray(self.array, dtype=np.float64)
        return self.array

    def refit(self, statistics: Any, changed: NDArray[np.integer]) -> NDArray[np.float64]:
        """Take over the changed clusters' sums; how far each centroid went."""
        drift = np.zeros(self.n_clusters)
        changed = changed[statistics.mass[changed] > 0]
        squares = statistics.squares[changed]
        if self.spherical:
            # Directions that cancel out leave no direction: the centroid is zero then.
            denominators = np.where(squares > 0, np.sqrt(squares), 1.0)
        else:
            denominators = statistics.mass[changed]
        # |S'/n' - S/n|² from inner products alone. What rounding leaves of a difference of equals
        # is added, so that a drift is never understated.
        norms = squares / denominators**2
        product = statistics.cross[changed] / (denominators * self.denominators[changed])
        step = norms - 2 * product + self.squared_norms[changed]
        noise = 2.0**-44 * (norms + self.squared_norms[changed])
        drift[changed] = np.sqrt(np.maximum(step, 0.0) + noise)
        self.denominators[changed] = denominators
        self.squared_norms[changed] = norms
        self.outside[changed] = 0.0
        return drift

    def inertia(self, rows: Any, statistics: Any) -> float:
        """Weighted squared distances under the statistics' labels, without a pass over rows."""
        own = statistics.mass > 0
        product = (statistics.cross / self.denominators)[own]
        squares = (statistics.mass * self.squared_norms)[own]
        return max(0.0, float(statistics.total_square - 2 * product.sum() + squares.sum()))

    def explicit(self, rows: Any) -> "SumCodebook":
        """The codebook as a user will see it: divided, and rounded to the rows' dtype.

        Takes the sums' place to save memory: statistics and this codebook end here.
        """
        from polymeans.kernels import sums

        if self.array.dtype == rows.dtype:
            centers = self.array
        else:
            centers = np.empty(self.array.shape, dtype=rows.dtype)
        squares = np.empty(self.n_clusters)
        rows.threads.map(
            lambda r: sums.divide_rows(
                self.array, self.denominators, *r, rows.rank, centers, squares
            ),
            rows.threads.ranges(self.n_clusters),
        )
        # Who still reaches outside was never refitted.
        squares = np.where(self.outside > 0, self.squared_norms, squares)
        return SumCodebook(centers, squares, self.given, self.outside, self.spherical)

    def to_array(self, rows: Any) -> NDArray[Any]:
        """Centroids in the user's features."""
        divided = self.array
        if (self.denominators != 1.0).any():
            divided = self.array / self.denominators[:, None]
        out = rows.external(divided)
        if self.given is not None:
            out[self.outside > 0] = self.given[self.outside > 0]
        return out
