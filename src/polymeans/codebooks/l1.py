"""Centroids inside an l1 ball, which makes them sparse.

The sum of squared distances of a cluster's rows to a point ``c`` is that to their mean plus
``mass * |mean - c|²``, so the best ``c`` in the ball is the nearest one to the mean: the Euclidean
projection. Projecting after each update, as Sculley does, is therefore no heuristic but the exact
update, and the objective never rises. (He, and the paper on QuicK-means, project by bisection up
to a tolerance; here the projection is exact.)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.dense import DenseCodebook


def project_onto_l1_ball(
    vectors: NDArray[Any], radius: float, threads: Any = None
) -> NDArray[np.float64]:
    """Nearest point of the l1 ball to each row.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    radius : float
        0: everything becomes zero.
    threads : Threads, default=None

    Returns
    -------
    ndarray of shape (n, d), float64
    """
    from polymeans.kernels import l1

    if radius <= 0:
        return np.zeros(vectors.shape)
    out = np.empty(vectors.shape)

    def project(part: tuple[int, int]) -> None:
        l1.project_rows(vectors, float(radius), *part, out, np.empty(vectors.shape[1]))

    if threads is None:
        project((0, len(vectors)))
    else:
        threads.map(project, threads.ranges(len(vectors)))
    return out


def radius_for_budget(vectors: NDArray[np.float64], n_nonzeros: int) -> float:
    """Largest radius for which the projections of all rows together have so few non-zeros.

    Nothing is searched for. With entries sorted by size and ``g_j`` the gap of the j-th to the
    largest one, entry j of a row is above zero once the radius exceeds ``Σ_{i<j} (g_j - g_i)``; the
    budget is met up to the next such value, all rows taken together.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    n_nonzeros : int

    Returns
    -------
    float
        The largest l1 norm if the rows themselves are within the budget. 0 if ties among the
        largest entries leave no other choice.
    """
    sizes = np.abs(vectors)
    if np.count_nonzero(sizes) <= n_nonzeros:
        return float(sizes.sum(axis=1).max(initial=0.0))
    sizes = -np.sort(-sizes, axis=1)
    gaps = sizes[:, :1] - sizes
    before = np.cumsum(gaps, axis=1) - gaps
    enters = np.arange(gaps.shape[1]) * gaps - before
    enters[sizes == 0] = np.inf
    return float(np.partition(enters, n_nonzeros, axis=None)[n_nonzeros])


class L1Codebook(DenseCodebook):
    """k centroids in an l1 ball, for rows of either kind.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    means : ndarray of shape (n_clusters, n_features)
        Centroids to begin with, in the rows' coordinates, before they are projected.
    radius : float or None
        Of the ball, in the rows' unit.
    n_nonzeros : int or None
        Instead of a radius: non-zeros of all centroids together. Each update then takes the
        largest radius that leaves no more, the same for all centroids, and is made only if it
        lowers the objective, which a ball that shrinks could raise.
    offset : ndarray of shape (n_features,) or None
        Center of the ball, in the rows' coordinates; None: zero.
    """

    def __init__(
        self,
        rows: Any,
        means: NDArray[Any],
        radius: float | None,
        n_nonzeros: int | None = None,
        offset: NDArray[Any] | None = None,
    ) -> None:
        self.n_clusters, self.n_features = means.shape
        self.spherical = False
        self.radius = radius
        self.n_nonzeros = n_nonzeros
        self.offset = np.zeros(self.n_features) if offset is None else offset.astype(np.float64)
        #: Sparse rows follow the features of moved rows unless told that everything has changed.
        self.entangled = rows.is_sparse or n_nonzeros is not None
        self.denominators = np.ones(self.n_clusters)
        self.squared_norms = np.zeros(self.n_clusters)
        self._take(rows, *self._nearest(rows, means.astype(np.float64)))

    @property
    def array(self) -> NDArray[Any]:
        """All centroids, for sparse rows."""
        return self.centers

    @property
    def book(self) -> Any:
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import Book

        return Book(self.centers, self.denominators, 0.5 * self.squared_norms)

    @property
    def n_parameters(self) -> int:
        """Numbers that are not zero."""
        return int(np.count_nonzero(self.sparse))

    def numerators(self) -> NDArray[np.float64]:
        """What cluster sums start from."""
        return np.zeros(self.centers.shape)

    def refit(self, statistics: Any, changed: NDArray[np.integer]) -> NDArray[np.float64]:
        """Move centroids to the best places the ball has; how far each one went."""
        rows, mass = statistics.rows, statistics.mass
        if self.n_nonzeros is not None:
            changed = np.arange(self.n_clusters)
        changed = changed[mass[changed] > 0]
        # Who has no rows stays, and counts with the non-zeros it has.
        means = self.centers.astype(np.float64)
        means[changed] = statistics.sums[changed] / mass[changed, None] + statistics.origin
        sparse, radius = self._nearest(rows, means)
        if self.n_nonzeros is None:
            kept = np.ones(self.n_clusters, dtype=bool)
            kept[changed] = False
            sparse[kept] = self.sparse[kept]
        else:
            best = self._shifted(rows, sparse)
            if self._cost(best, statistics) > self._cost(self.centers, statistics):
                return np.zeros(self.n_clusters)
        before = self.centers
        self._take(rows, sparse, radius)
        step = self.centers.astype(np.float64) - before
        return np.sqrt(np.einsum("ij,ij->i", step, step))

    def _nearest(self, rows: Any, means: NDArray[np.float64]) -> tuple[NDArray[Any], float]:
        """Where in the ball the projections are, in the rows' dtype, and the radius."""
        means = np.ascontiguousarray(means - self.offset)
        if self.n_nonzeros is None:
            best = project_onto_l1_ball(means, self.radius, rows.threads)
            return best.astype(rows.dtype), self.radius
        radius, less = radius_for_budget(means, self.n_nonzeros), 2.0**-50
        while True:
            best = project_onto_l1_ball(means, radius, rows.threads).astype(rows.dtype)
            # An entry that is zero at this very radius may come out a rounding error above.
            if np.count_nonzero(best) <= self.n_nonzeros:
                return best, radius
            radius, less = max(0.0, radius * (1 - less)), min(1.0, 4 * less)

    def _shifted(self, rows: Any, sparse: NDArray[Any]) -> NDArray[Any]:
        return (sparse + self.offset).astype(rows.dtype) if self.offset.any() else sparse

    def _take(self, rows: Any, sparse: NDArray[Any], radius: float) -> None:
        self.sparse, self.radius = sparse, radius
        self.centers = self._shifted(rows, sparse)
        self._measure(rows)

    def _measure(self, rows: Any) -> None:
        """Squared norms, in the order in which whoever is given these centroids will sum them."""
        if rows.is_sparse:
            from polymeans.kernels import sums

            sums.divide_rows(
                self.centers,
                self.denominators,
                0,
                self.n_clusters,
                rows.rank,
                self.centers,
                self.squared_norms,
            )

    def _cost(self, centers: NDArray[Any], statistics: Any) -> float:
        from polymeans.kernels import sums

        return sums.closed_form_inertia(
            centers, statistics.origin, statistics.mass, statistics.sums
        )

    def inertia(self, rows: Any, statistics: Any) -> float:
        """Weighted squared distances under the statistics' labels, without a pass over rows."""
        return max(0.0, statistics.total_square + self._cost(self.centers, statistics))
