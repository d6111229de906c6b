"""A small weighted problem: few rows, a grid of protocentroids, its starts, descents and moves."""

import queue
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import split

if TYPE_CHECKING:
    from polymeans.kernels.grid_descent import Workspace

#: More centroids than this are not searched for; the best of a few residual starts is taken. Moves
#: need a table of all rows and centroids for each thread: with 20 rows for each centroid, but 8000
#: at most, that is 32 MB for 1000 centroids.
SEARCHABLE = 1000

#: A trial descent ends after this many iterations, or when one gains less than this share: the
#: winner is descended further anyway. Found by experiment, see docs/explanation/constants.rst.
TRIAL_ITERATIONS, TRIAL_TOL = 60, 1e-4

#: Iterations of k-means for each set of a residual start: a descent of all sets follows.
RESIDUAL_ITERATIONS = 3

#: Rows whose mean, or root mean square, the protocentroids of a random start are relative to. It is
#: known to a share 1/√300 of their spread then, which is close enough for a start.
TYPICAL_ROWS = 300

#: Strengths of noise relative to the spread of a set, and temperatures that annealing begins with
#: relative to the mean distance, taken in turn: data differ in which of them helps, see
#: docs/explanation/constants.rst.
NOISES = (0.2, 0.4, 0.1, 0.8)
TEMPERATURES = (1.0, 2.0, 0.5, 4.0)

#: Kinds of moves. A swap replaces a protocentroid that is worth little, noise fades over a few
#: iterations, annealing softens the assignments for a few iterations.
MOVES = ("swap", "noise", "annealing")

#: What a swap costs, in passes: a table of all distances, and six candidates on sampled rows.
_SWAP_PASSES = 2


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
    """Weighted rows that sums or products of protocentroids are fitted to.

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
        What the rows cost with any centroids, on top of their distances to them.
    """

    def __init__(
        self,
        points: NDArray[Any],
        weights: NDArray[np.float64],
        sizes: Sequence[int],
        aggregator: str,
        offset: float = 0.0,
    ) -> None:
        from polymeans.kernels.grid_descent import ProductProblem, SumProblem

        points = np.ascontiguousarray(points, dtype=np.float32)
        squares = np.einsum("ij,ij->i", points, points, dtype=np.float64)
        # Only ratios of weights matter; squares of extreme ones would underflow.
        scale = float(np.max(weights))
        weights = np.ascontiguousarray(weights / scale, dtype=np.float64)
        self.sizes = tuple(int(h) for h in sizes)
        self.n_points, self.n_features = points.shape
        self.n_clusters = int(np.prod(self.sizes))
        self.aggregator = aggregator
        self.offset = offset / scale
        self.mass = float(weights.sum())
        kind = ProductProblem if aggregator == "product" else SumProblem
        self.data = kind(
            points,
            squares,
            weights,
            float(weights @ squares),
            np.array(self.sizes, dtype=np.int64),
        )
        self._workspaces: queue.SimpleQueue[Workspace] = queue.SimpleQueue()
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
        self,
        vectors: NDArray[np.float64],
        max_iter: int,
        tol: float,
        rival: float = np.inf,
        *,
        noise: float = 0.0,
        seed: int = 0,
        hottest: float = 0.0,
    ) -> tuple[float, int]:
        """Lloyd in place: the objective and the passes it took. Ends early where it cannot win.

        Noise, or soft assignments from the ``hottest`` temperature on, perturb the first iterations
        of a trial against a rival.
        """
        from polymeans.kernels.grid_trials import lloyd_descent

        mean_distance = (rival + self.offset) / self.mass if hottest > 0.0 else 0.0
        value, passes = self._run(
            lloyd_descent, vectors, noise, seed, hottest, mean_distance, max_iter, tol, rival
        )
        self._passes.append(passes)
        return value, passes

    def move(
        self, kind: str, turn: int, vectors: NDArray[np.float64], value: float, seed: int
    ) -> tuple[float, int]:
        """Perturb in place and descend: the objective and the passes it took.

        ``kind`` is one of MOVES, ``turn`` counts how often it was tried since it last helped.
        """
        if self.n_clusters > SEARCHABLE:  # the workspace has no table of all distances
            raise ValueError(f"{self.n_clusters} centroids are too many for moves.")

        extra, noise, hottest = 0, 0.0, 0.0
        if kind == "swap":
            from polymeans.kernels.grid_moves import swap_protocentroid

            self._run(swap_protocentroid, vectors, turn, seed)
            extra = _SWAP_PASSES
            self._passes.append(extra)
        elif kind == "noise":
            noise = NOISES[turn % len(NOISES)]
        else:
            hottest = TEMPERATURES[turn % len(TEMPERATURES)]
        found, passes = self.descend(
            vectors,
            TRIAL_ITERATIONS,
            TRIAL_TOL,
            value,
            noise=noise,
            seed=seed,
            hottest=hottest,
        )
        return found, passes + extra

    def labels(self, vectors: NDArray[np.float64]) -> NDArray[np.int64]:
        """Nearest centroid of each row."""
        from polymeans.kernels.grid_descent import assign_nearest, pack_centroids

        workspace = self._take_workspace()
        pack_centroids(vectors, self.data, workspace)
        assign_nearest(self.data, workspace)
        labels = workspace.labels.copy()
        self._workspaces.put(workspace)
        return labels

    # --- starts --------------------------------------------------------------------------------

    def random_start(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Every protocentroid a row; later sets less the mean, or over the root mean square."""
        points, weights = self.data.points, self.data.weights
        chance = weights / weights.sum()
        chosen = rng.choice(self.n_points, size=sum(self.sizes), p=chance)
        vectors = points[chosen].astype(np.float64)
        sample = points[rng.choice(self.n_points, size=TYPICAL_ROWS, p=chance)].astype(np.float64)
        return as_grid(vectors, sample, self.sizes[0], self.aggregator)

    def residual_start(self, rng: np.random.Generator, order: Sequence[int]) -> NDArray[np.float64]:
        """Sets one after another, each by k-means on what the ones before leave of the rows."""
        from polymeans.kernels.small_kmeans import side_by_side, small_kmeans

        points = np.ascontiguousarray(self.data.points.T, dtype=np.float64)
        multiply = self.aggregator == "product"
        # What the members so far make of each row's centroid.
        made = np.full(points.shape, 1.0 if multiply else 0.0)
        vectors = np.empty((sum(self.sizes), self.n_features))
        sets = split(vectors, self.sizes)
        labels = np.empty(self.n_points, dtype=np.int32)
        for q in order:
            if multiply:
                lines = side_by_side(points, self.data.weights, made)
            else:
                lines = side_by_side(points - made, self.data.weights)
            seed = int(rng.integers(2**31))
            small_kmeans(lines, 1, RESIDUAL_ITERATIONS, seed, sets[q], labels)
            members = np.take(sets[q].T, labels, axis=1)
            made = made * members if multiply else made + members
        return vectors

    def spread_start(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """k-means++ for grids: each protocentroid makes a centroid of a row far from all so far."""
        from polymeans.kernels.grid_starts import spread_out

        vectors = np.empty((sum(self.sizes), self.n_features))
        self._run(spread_out, vectors, int(rng.integers(2**31)))
        return vectors

    # --- workspaces ----------------------------------------------------------------------------

    def _run(
        self, kernel: Callable[..., Any], vectors: NDArray[np.float64], *arguments: Any
    ) -> Any:
        workspace = self._take_workspace()
        try:
            return kernel(vectors, self.data, workspace, *arguments)
        finally:
            self._workspaces.put(workspace)

    def _take_workspace(self) -> "Workspace":
        try:
            return self._workspaces.get_nowait()
        except queue.Empty:
            return self._make_workspace()

    def _make_workspace(self) -> "Workspace":
        from polymeans.kernels.dense import tile_buffers
        from polymeans.kernels.emit import LANES
        from polymeans.kernels.grid_descent import Workspace
        from polymeans.kernels.multiplicative import SweepBuffers
        from polymeans.kernels.tiles import TILE_ROWS

        n, r, k = self.n_points, self.n_features, self.n_clusters
        n_panels, H, largest = -(-k // LANES), sum(self.sizes), max(self.sizes)
        # Only moves fill the table, and they are for grids that can be searched.
        n_padded = n + TILE_ROWS - 1 if k <= SEARCHABLE else 0
        return Workspace(
            panels=np.empty((n_panels, r, LANES), dtype=np.float32),
            starts=np.empty((n_panels, LANES), dtype=np.float32),
            table=np.empty((n_panels, n_padded, LANES), dtype=np.float32),
            labels=np.empty(n, dtype=np.int64),
            best=np.empty(n, dtype=np.float32),
            masses=np.empty(k),
            sums=np.empty((k, r)),
            pair=np.empty((H, H)),
            right=np.empty((H, r)),
            sweep=SweepBuffers(np.empty((largest, r)), np.empty((largest, r)), np.empty(r)),
            row=np.empty(r),
            digits=np.empty(len(self.sizes), dtype=np.int64),
            tile=tile_buffers(np.dtype(np.float32)),
        )
