"""A small weighted problem: few rows, a grid of protocentroids, and what may be tried with it."""

import queue
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import split

if TYPE_CHECKING:
    from polymeans.kernels.search import Desk

#: More centroids than this are not searched for: the best of a few residual starts must do.
SEARCHABLE = 1000

#: A trial descent ends after this many iterations, or when one gains less than this share.
TRIAL_ITERATIONS, TRIAL_TOL = 60, 1e-4

#: Iterations of k-means for each set of a residual start.
RESIDUAL_ITERATIONS = 3

#: Strengths of noise, and temperatures to melt from, taken in turn.
NOISES = (0.2, 0.4, 0.1, 0.8)
TEMPERATURES = (1.0, 2.0, 0.5, 4.0)


def as_grid(
    vectors: NDArray[np.float64],
    sample: NDArray[np.float64] | sp.csr_array,
    first: int,
    aggregator: str,
) -> NDArray[np.float64]:
    """Rows as protocentroids, in place, such that their combinations are of the size of a row.

    All after the ``first`` are taken less the mean of a sample of rows, or over its root mean
    square.
    """
    if aggregator == "sum":
        vectors[first:] -= sample.mean(axis=0)
    else:
        rms = np.sqrt((sample * sample).mean(axis=0))
        vectors[first:] /= np.where(rms > 0, rms, 1.0)
    return vectors


class GridProblem:
    """Weighted rows to be served by sums or products of protocentroids.

    Vectors are arrays of shape (h_1 + ... + h_p, n_features), all sets on top of each other. Calls
    from several threads at once are fine.

    Parameters
    ----------
    points : ndarray of shape (n, n_features)
    weights : ndarray of shape (n,)
    sizes : tuple of int
        Number of protocentroids in each set.
    aggregator : {"sum", "product"}
    offset : float, default=0
        What the rows cost in any case, on top of their distances to centroids.
    """

    def __init__(
        self,
        points: NDArray[Any],
        weights: NDArray[np.float64],
        sizes: Sequence[int],
        aggregator: str,
        offset: float = 0.0,
    ) -> None:
        from polymeans.kernels.search import Problem

        points = np.ascontiguousarray(points, dtype=np.float32)
        squares = np.einsum("ij,ij->i", points, points, dtype=np.float64)
        # Only ratios of weights matter; of extreme ones squares would vanish.
        scale = float(np.max(weights))
        weights = np.ascontiguousarray(weights / scale, dtype=np.float64)
        self.sizes = tuple(int(h) for h in sizes)
        self.n_points, self.n_features = points.shape
        self.n_clusters = int(np.prod(self.sizes))
        self.aggregator = aggregator
        self.offset = offset / scale
        self.mass = float(weights.sum())
        self.problem = Problem(
            points,
            squares,
            weights,
            float(weights @ squares),
            np.array(self.sizes, dtype=np.int64),
            aggregator == "product",
        )
        self._desks: queue.SimpleQueue[Desk] = queue.SimpleQueue()
        self._passes: list[int] = []

    @property
    def pass_cost(self) -> float:
        """About how many multiplications one pass over the rows takes."""
        return float(self.n_points) * self.n_clusters * (self.n_features + 8)

    @property
    def n_passes(self) -> int:
        """Passes over the rows so far."""
        return sum(self._passes)

    # --- trials --------------------------------------------------------------------------------

    def descend(
        self, vectors: NDArray[np.float64], max_iter: int, tol: float, rival: float = np.inf
    ) -> tuple[float, int]:
        """Lloyd in place: the objective and the passes it took. Gives up on what cannot win."""
        from polymeans.kernels.search import lloyd

        value, passes = self._run(lloyd, vectors, max_iter, tol, rival)
        self._passes.append(passes)
        return value, passes

    def move(
        self, kind: str, turn: int, vectors: NDArray[np.float64], value: float, seed: int
    ) -> tuple[float, int]:
        """Perturb in place and descend: the objective and the passes it took.

        ``turn`` counts how often this kind was tried since it last helped.
        """
        from polymeans.kernels.moves import MELTS, SHAKES, melt, shake, swap

        if self.n_clusters > SEARCHABLE:  # there is no room for a table of all distances
            raise ValueError(f"{self.n_clusters} centroids are too many for moves.")

        if kind == "swap":
            self._run(swap, vectors, turn, seed)
            extra = 2
        elif kind == "shake":
            self._run(shake, vectors, NOISES[turn % len(NOISES)], seed)
            extra = SHAKES
        else:
            mean_distance = (value + self.offset) / self.mass
            hottest = TEMPERATURES[turn % len(TEMPERATURES)]
            self._run(melt, vectors, hottest, mean_distance)
            extra = MELTS
        self._passes.append(extra)
        value, passes = self.descend(vectors, TRIAL_ITERATIONS, TRIAL_TOL, value)
        return value, passes + extra

    def labels(self, vectors: NDArray[np.float64]) -> NDArray[np.int64]:
        """Nearest centroid of each row."""
        from polymeans.kernels import search

        desk = self._take_desk()
        search.pack(vectors, self.problem, desk)
        search.assign(self.problem, desk)
        labels = desk.labels.copy()
        self._desks.put(desk)
        return labels

    # --- starts --------------------------------------------------------------------------------

    def random_start(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Every protocentroid a row; later sets less the mean, or over the root mean square."""
        points, weights = self.problem.points, self.problem.weights
        chance = weights / weights.sum()
        chosen = rng.choice(self.n_points, size=sum(self.sizes), p=chance)
        vectors = points[chosen].astype(np.float64)
        sample = points[rng.choice(self.n_points, size=300, p=chance)].astype(np.float64)
        return as_grid(vectors, sample, self.sizes[0], self.aggregator)

    def residual_start(self, rng: np.random.Generator, order: Sequence[int]) -> NDArray[np.float64]:
        """Sets one after another, each by k-means on what the ones before leave of the rows."""
        from polymeans.kernels.small_kmeans import side_by_side, small_kmeans

        points = np.ascontiguousarray(self.problem.points.T, dtype=np.float64)
        multiply = self.aggregator == "product"
        # What the members so far make of each row's centroid.
        made = np.full(points.shape, 1.0 if multiply else 0.0)
        vectors = np.empty((sum(self.sizes), self.n_features))
        sets = split(vectors, self.sizes)
        labels = np.empty(self.n_points, dtype=np.int32)
        for q in order:
            if multiply:
                lines = side_by_side(points, self.problem.weights, made)
            else:
                lines = side_by_side(points - made, self.problem.weights)
            seed = int(rng.integers(2**31))
            small_kmeans(lines, 1, RESIDUAL_ITERATIONS, seed, sets[q], labels)
            members = np.take(sets[q].T, labels, axis=1)
            made = made * members if multiply else made + members
        return vectors

    def spread_start(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """k-means++ for grids: each newcomer puts a centroid onto a row far from all so far."""
        from polymeans.kernels.starts import spread_out

        vectors = np.empty((sum(self.sizes), self.n_features))
        self._run(spread_out, vectors, int(rng.integers(2**31)))
        return vectors

    # --- machinery -----------------------------------------------------------------------------

    def _run(
        self, kernel: Callable[..., Any], vectors: NDArray[np.float64], *arguments: Any
    ) -> Any:
        desk = self._take_desk()
        try:
            return kernel(vectors, self.problem, desk, *arguments)
        finally:
            self._desks.put(desk)

    def _take_desk(self) -> "Desk":
        try:
            return self._desks.get_nowait()
        except queue.Empty:
            return self._make_desk()

    def _make_desk(self) -> "Desk":
        from polymeans.kernels.search import Desk
        from polymeans.kernels.vector import LANES

        n, r, k = self.n_points, self.n_features, self.n_clusters
        n_panels, H, largest = -(-k // LANES), sum(self.sizes), max(self.sizes)
        return Desk(
            np.empty((n_panels, r, LANES), dtype=np.float32),
            np.empty((n_panels, LANES), dtype=np.float32),
            # Only moves fill it, and they are for grids that can be searched.
            np.empty((n_panels, n + 3 if k <= SEARCHABLE else 0, LANES), dtype=np.float32),
            np.empty(n, dtype=np.int64),
            np.empty(n, dtype=np.float32),
            np.empty(k),
            np.empty((k, r)),
            np.empty((H, H)),
            np.empty((H, r)),
            np.empty((largest, r)),
            np.empty((largest, r)),
            np.empty(r),
            np.empty(len(self.sizes), dtype=np.int64),
            np.empty(4, dtype=np.int32),
            np.empty(4, dtype=np.float32),
            np.empty(4, dtype=np.float32),
            np.empty(4, dtype=np.int32),
        )
