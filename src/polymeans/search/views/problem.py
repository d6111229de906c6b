"""The search problem: several clusterings of a sample of the rows, and one descent to them."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.orthogonal import make_views

if TYPE_CHECKING:
    from polymeans.kernels.subspaces import Views

#: Clusters of all views together above which starts and perturbations alone rarely reach the best
#: optimum. The largest problems they were measured to solve have 18 clusters, CMU faces with 30
#: they do not; see docs/explanation/constants.rst.
MANY_CLUSTERS = 18

#: Components with at least this share of another one's standard deviation count as equally wide.
#: Covers the sampling error of a standard deviation, 1 / sqrt(2 n): 1.3 % for 3000 rows.
EQUAL_SPREAD = 0.95

#: Iterations of a start before the best starts continue: enough to rank them, not to converge.
START_ITERATIONS = 30

#: Iterations of any other descent at most. Descents end after far fewer; this only bounds time.
MAX_ITERATIONS = 300

#: Costs that differ by less than this share count as the same optimum. Strict: in samples of more
#: than 500 rows even optima that differ by single rows at borders are then told apart.
SAME_OPTIMUM = 1e-5

#: Share of the cost by which a state must be lower to replace another: above rounding errors.
MIN_IMPROVEMENT = 1e-6


def has_many_clusters(sizes: tuple[int, ...]) -> bool:
    """Whether several views have so many clusters that the best start rarely ends best."""
    return len(sizes) > 1 and sum(sizes) > MANY_CLUSTERS


def cluster(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    k: int,
    rng: np.random.Generator,
    n_starts: int,
    max_iter: int,
) -> NDArray[np.int32]:
    """Labels of the best of a few runs of k-means."""
    from polymeans.kernels.small_kmeans import side_by_side, small_kmeans

    labels = np.zeros(len(points), dtype=np.int32)
    centers = np.empty((k, points.shape[1]))
    lines = side_by_side(points.T, weights)
    small_kmeans(lines, n_starts, max_iter, int(rng.integers(2**31)), centers, labels)
    return labels


@dataclass
class Candidate:
    """Labels in all views, their subspaces, and the cost."""

    labels: NDArray[np.int32]  #: (S, n)
    views: "Views"
    cost: float


class Problem:
    """A sample of the rows in principal components, and the clusterings to find.

    Parameters
    ----------
    points : ndarray of shape (n, q)
        Rows about their mean, in principal components, the largest first.
    weights : ndarray of shape (n,)
    sizes : tuple of int
        Clusters of each view.
    unseen : float, default=0
        Scatter outside of the components.
    """

    def __init__(
        self,
        points: NDArray[np.float64],
        weights: NDArray[np.float64],
        sizes: tuple[int, ...],
        unseen: float = 0.0,
    ) -> None:
        from polymeans.kernels.view_descent import Sample

        self.sample = Sample(np.ascontiguousarray(points), weights)
        self.points, self.weights, self.sizes = self.sample.points, weights, sizes
        self.total = unseen + float(weights @ np.einsum("ij,ij->i", points, points))

    @cached_property
    def pass_cost(self) -> float:
        """Multiplications of an iteration, about: scores of all rows, and steps of all pairs."""
        q, k = self.points.shape[1], sum(self.sizes)
        pairs = [s + t for s, t in combinations(self.sizes, 2)]
        return self.points.size * k + sum(4 * both * k * q + 10 * both**3 for both in pairs)

    @cached_property
    def n_start_components(self) -> int:
        """Components that starts use: as many as views can fill, and those as wide as the last.

        Whitened rows are equally wide in all components, and then all of them are used.
        """
        q = min(max(1, sum(self.sizes) - len(self.sizes)), self.points.shape[1])
        return int(np.count_nonzero(self.spread >= EQUAL_SPREAD * self.spread[q - 1]))

    @cached_property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviation of each component."""
        squares = self.weights @ self.points**2 / self.weights.sum()
        return np.sqrt(np.maximum(squares, 1e-300))

    def white(self, q: int) -> NDArray[np.float64]:
        """The first components, all with the same spread."""
        return self.points[:, :q] / self.spread[:q]

    def plain(self, q: int) -> NDArray[np.float64]:
        """The first components as they are."""
        return self.points[:, :q]

    def empty_views(self) -> "Views":
        """Views that have no subspace yet."""
        return make_views(self.sizes, self.points.shape[1])

    def descend(
        self,
        labels: NDArray[np.int32],
        max_iter: int,
        views: "Views | None" = None,
        rival: float = np.inf,
    ) -> Candidate:
        """Alternate means, subspaces and labels; end early where ``rival`` stays out of reach."""
        from polymeans.kernels.view_descent import descend_views

        views = views or self.empty_views()
        explained, _ = descend_views(self.sample, labels, views, max_iter, self.total - rival)
        return Candidate(labels, views, self.total - explained)

    def cluster(
        self, points: NDArray[np.float64], k: int, rng: np.random.Generator, n_starts: int = 1
    ) -> NDArray[np.int32]:
        """Labels of plain k-means in some coordinates."""
        return cluster(points, self.weights, k, rng, n_starts, 10 if n_starts == 1 else 20)

    @property
    def has_many_clusters(self) -> bool:
        """Whether one descent and its perturbations rarely reach the best optimum."""
        return has_many_clusters(self.sizes)

    def centers(
        self, inside: NDArray[np.float64], labels: NDArray[np.int32], k: int
    ) -> NDArray[np.float64]:
        """Means of the clusters of one view, where ``inside`` has a row for each coordinate."""
        masses = np.bincount(labels, self.weights, minlength=k)
        sums = [np.bincount(labels, self.weights * line, minlength=k) for line in inside]
        return np.stack(sums, axis=1) / np.maximum(masses, 1e-300)[:, None]

    def draw_view(self, rng: np.random.Generator) -> int:
        """A view at random, in proportion to its clusters but one: each can be misplaced."""
        chances = np.array(self.sizes) - 1.0
        return int(rng.choice(len(chances), p=chances / chances.sum())) if chances.any() else 0
