"""Free centroids kept as numerators and denominators: the codebook for sparse rows.

Numerators are the sums of clusters, and scores divide by the denominators. A row that changes
cluster then changes the entries of its own features in two sums and nothing else, where divided
centroids would have to be rewritten as a whole.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook, State, WholeCentroids
from polymeans.core.frame import Frame
from polymeans.core.statistics import CellStatistics, GroupedStatistics, KnownSums
from polymeans.core.threads import running_threads

if TYPE_CHECKING:
    from polymeans.kernels.rows import Book


#: Rounding of a squared drift, as a share of the two squared norms it is the difference of: 512
#: units of float64, more than the inner products of sums can be off by.
_DRIFT_ROUNDING = 2.0**-44

#: Sums of all clusters, or of one at a time.
Totals = CellStatistics | GroupedStatistics


class NumeratorCodebook(BaseCodebook[Totals]):
    """k centroids ``numerators[j] / denominators[j]``.

    Parameters
    ----------
    numerators : ndarray of shape (n_clusters, n_used_features)
        Centroids at first, cluster sums after a refit.
    squared_norms : ndarray of shape (n_clusters,)
        Squared norms of the centroids.
    given : ndarray of shape (n_clusters, n_features), default=None
        The same centroids as given by the user, with features no row uses.
    outside : ndarray of shape (n_clusters,), default=None
        The part of the squared norms that such features contribute; None: zero.
    spherical : bool
        Centroids are directions: sums are divided by their length, not their mass.
    """

    cluster_by_cluster = True

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
        #: The numerators as sums, once they have been compared with others.
        self._known: KnownSums | None = None

    @property
    def n_parameters(self) -> int:
        """Numbers stored."""
        return self.array.size

    def longest(self, frame: Frame) -> float:
        """Norm that no centroid exceeds."""
        return float(np.sqrt(self.squared_norms.max()))

    @property
    def book(self) -> "Book":
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import Book

        n_terms = self.n_features if self.given is None else self.given.shape[1]
        return Book(self.array, self.denominators, 0.5 * self.squared_norms, n_terms)

    @property
    def whole(self) -> WholeCentroids | None:
        """Given centroids that have not been refitted."""
        if self.given is None:
            return None
        return WholeCentroids(self.given, self.outside > 0, in_user_units=True)

    def refit(self, statistics: Totals) -> NDArray[np.float64]:
        """Take over the changed clusters' sums; how far each centroid went."""
        return self.advance(statistics, lambda: np.nan)[1]

    def advance(
        self, statistics: Totals, measure: Callable[[], float]
    ) -> tuple[float, NDArray[np.float64]]:
        """The inertia of the present centroids, and the refit, in one pass over the sums."""
        # Before sums change: afterwards there would be nothing to measure from.
        measured = measure() if statistics.frame.cancels else np.nan
        squares, cross = self._compare(statistics, take=True)
        inertia = self._inertia(statistics, cross) if np.isnan(measured) else measured
        drift = np.zeros(self.n_clusters)
        changed = statistics.changed
        mass = statistics.mass[changed]
        changed, mass = changed[mass > 0], mass[mass > 0]
        squares, cross = squares[changed], cross[changed]
        denominators = mass
        if self.spherical:
            # Directions that cancel out leave no direction: the centroid is zero then.
            denominators = np.where(squares > 0, np.sqrt(squares), 1.0)
        # |S'/n' - S/n|² from inner products alone. The largest error that rounding can make is
        # added, so that a drift is never understated.
        norms = squares / denominators**2
        product = cross / (denominators * self.denominators[changed])
        step = norms - 2 * product + self.squared_norms[changed]
        noise = _DRIFT_ROUNDING * (norms + self.squared_norms[changed])
        # Squares that are out of range say nothing: as far as can be.
        drift[changed] = np.nan_to_num(np.sqrt(np.maximum(step, 0.0) + noise), nan=np.inf)
        self.denominators[changed] = denominators
        self.squared_norms[changed] = norms
        self.outside[changed] = 0.0
        return inertia, drift

    def place(self, number: int, vector: NDArray[np.float64]) -> None:
        """Replace one centroid."""
        from polymeans.kernels.numerators import FEATURE_BLOCK

        if self._known is None:
            self._known = KnownSums.unmeasured(self.array)
            self.array = self._known.array
        self.array[number] = vector
        self.denominators[number] = 1.0
        self.outside[number] = 0.0
        self.squared_norms[number] = float(vector @ vector)
        edges = np.arange(0, len(vector), FEATURE_BLOCK)
        self._known.partials[number, : len(edges)] = np.add.reduceat(vector * vector, edges)
        self._known.filled[number] = True

    def inertia(self, statistics: Totals) -> float:
        """Weighted squared distances under the statistics' labels, without a pass over rows."""
        if statistics.frame.cancels:
            return np.nan
        return self._inertia(statistics, self._compare(statistics, take=False)[1])

    def _inertia(self, statistics: Totals, cross: NDArray[np.float64]) -> float:
        mass = statistics.mass
        own = mass > 0
        product = (cross / self.denominators)[own]
        squares = (mass * self.squared_norms)[own]
        return max(0.0, float(statistics.total_square - 2 * product.sum() + squares.sum()))

    def _compare(
        self, statistics: Totals, take: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Squared norms of the clusters' sums, and their products with the numerators.

        Then, if ``take``, the sums of clusters that have rows become the numerators.
        """
        if self._known is None:
            self._known = KnownSums.unmeasured(self.array)
            self.array = self._known.array
        # Of clusters that kept their rows the sums are the numerators.
        squares = self.squared_norms * self.denominators**2
        cross = squares.copy()
        changed = statistics.changed[statistics.mass[statistics.changed] > 0]
        statistics.compare(self._known, changed, take, squares, cross)
        return squares, cross

    def explicit(self, frame: Frame) -> Self:
        """The codebook a user receives: divided, and rounded to the rows' dtype.

        Its centroids overwrite the numerators to save memory: this codebook cannot be used again.
        """
        from polymeans.kernels.cluster_sums import divide_rows

        if self.array.dtype == frame.dtype:
            centers = self.array
        else:
            centers = np.zeros(self.array.shape, dtype=frame.dtype)
        squares = np.empty(self.n_clusters)
        threads = running_threads()
        threads.map(
            lambda r: divide_rows(self.array, self.denominators, *r, frame.rank, centers, squares),
            threads.ranges(self.n_clusters),
        )
        # Those with features that no row has were never refitted.
        squares = np.where(self.outside > 0, self.squared_norms, squares)
        return type(self)(centers, squares, self.given, self.outside, self.spherical)

    def to_array(self, frame: Frame) -> NDArray[Any]:
        """Centroids in the user's features."""
        divided = self.array
        if (self.denominators != 1.0).any():
            divided = self.array / self.denominators[:, None]
        out = frame.external(divided)
        if self.given is not None:
            out[self.outside > 0] = self.given[self.outside > 0]
        return out

    def state(self) -> State:
        """Numerators, denominators, norms, and given centroids with features that no row has."""
        given = np.empty((0, 0)) if self.given is None else self.given
        return {
            "numerators": self.array,
            "denominators": self.denominators,
            "squared_norms": self.squared_norms,
            "given": given,
            "outside": self.outside,
            "spherical": self.spherical,
            "partials": np.empty((0, 0)) if self._known is None else self._known.partials,
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The codebook a state was taken from."""
        given = state["given"] if state["given"].size else None
        codebook = cls(
            state["numerators"],
            state["squared_norms"],
            given,
            state["outside"],
            bool(state["spherical"]),
        )
        codebook.denominators = state["denominators"]
        if state["partials"].size:
            codebook._known = KnownSums.unmeasured(codebook.array)
            codebook.array, codebook._known.partials = codebook._known.array, state["partials"]
        return codebook
