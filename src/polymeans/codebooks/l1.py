"""Centroids inside an l1 ball, which makes them sparse.

The sum of squared distances of a cluster's rows to a point ``c`` is that to their mean plus
``mass * |mean - c|²``, so the best ``c`` in the ball is the nearest one to the mean: the Euclidean
projection. Projecting after each update, as Sculley does, is therefore the exact update, and the
objective never rises. (Sculley and the paper on QuicK-means project by bisection up to a tolerance;
here the projection is exact.)
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import State
from polymeans.codebooks.table import TableCodebook
from polymeans.core.frame import Frame
from polymeans.core.statistics import CellStatistics
from polymeans.core.threads import running_threads

#: Share by which a radius is reduced first if rounding leaves an entry too many: some units of
#: rounding; four times as much after each attempt.
_LESS_RADIUS = 2.0**-50


def project_onto_l1_ball(vectors: NDArray[Any], radius: float) -> NDArray[np.float64]:
    """Nearest point of the l1 ball to each row.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    radius : float
        0: everything becomes zero.

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

    threads = running_threads()
    threads.map(project, threads.ranges(len(vectors)))
    return out


def radius_for_budget(vectors: NDArray[np.float64], n_nonzeros: int) -> float:
    """Largest radius for which the projections of all rows together have so few non-zeros.

    It has a closed form. With entries sorted by size and ``g_j`` the gap of the j-th to the
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


class L1Codebook(TableCodebook):
    """k centroids in an l1 ball, for rows of either kind.

    Parameters
    ----------
    frame : Frame
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
        frame: Frame,
        means: NDArray[Any],
        radius: float | None,
        n_nonzeros: int | None = None,
        offset: NDArray[Any] | None = None,
    ) -> None:
        super().__init__(frame, means.shape)
        self.radius = radius
        self.n_nonzeros = n_nonzeros
        self.offset = np.zeros(self.n_features) if offset is None else offset.astype(np.float64)
        #: Assigners of sparse rows follow only features of moved rows unless this is set.
        self.entangled = frame.is_sparse or n_nonzeros is not None
        #: Under one budget a centroid cannot be put onto a row without the others.
        self.relocates = n_nonzeros is None
        self._take(*self._nearest(means.astype(np.float64)))

    @property
    def n_parameters(self) -> int:
        """Numbers that are not zero."""
        return int(np.count_nonzero(self.sparse))

    def refit(self, statistics: CellStatistics) -> NDArray[np.float64]:
        """Move centroids to the best points of the ball; how far each one went."""
        changed = statistics.changed
        if self.n_nonzeros is not None:
            changed = np.arange(self.n_clusters)
        changed = changed[statistics.mass[changed] > 0]
        # A centroid without rows stays, and counts with the non-zeros it has.
        sparse, radius = self._nearest(self.means(statistics))
        if self.n_nonzeros is None:
            kept = np.ones(self.n_clusters, dtype=bool)
            kept[changed] = False
            sparse[kept] = self.sparse[kept]
        elif self.cost(statistics, self._shifted(sparse)) > self.cost(statistics):
            return np.zeros(self.n_clusters)
        return self._take(sparse, radius)

    def _nearest(self, means: NDArray[np.float64]) -> tuple[NDArray[Any], float]:
        """Projections onto the ball less its center, in the rows' dtype, and the radius."""
        means = np.ascontiguousarray(means - self.offset)
        if self.n_nonzeros is None:
            assert self.radius is not None
            best = project_onto_l1_ball(means, self.radius)
            return best.astype(self.dtype), self.radius
        radius, less = radius_for_budget(means, self.n_nonzeros), _LESS_RADIUS
        while True:
            best = project_onto_l1_ball(means, radius).astype(self.dtype)
            # An entry that is zero at exactly this radius may be a rounding error above zero.
            if np.count_nonzero(best) <= self.n_nonzeros:
                return best, radius
            radius, less = max(0.0, radius * (1 - less)), min(1.0, 4 * less)

    def _shifted(self, sparse: NDArray[Any]) -> NDArray[Any]:
        return (sparse + self.offset).astype(self.dtype) if self.offset.any() else sparse

    def _take(self, sparse: NDArray[Any], radius: float | None) -> NDArray[np.float64]:
        self.sparse, self.radius = sparse, radius
        return self.show(self._shifted(sparse))

    def state(self) -> State:
        """Centroids less the offset, the ball, and the order of features."""
        return {
            "sparse": self.sparse,
            "offset": self.offset,
            "radius": np.nan if self.radius is None else float(self.radius),
            "n_nonzeros": -1 if self.n_nonzeros is None else int(self.n_nonzeros),
            "rank": self.rank,
            "entangled": self.entangled,
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The codebook a state was taken from."""
        codebook = cls.__new__(cls)
        codebook._begin(state["sparse"].dtype, state["rank"], state["sparse"].shape)
        budget = int(state["n_nonzeros"])
        codebook.n_nonzeros = None if budget < 0 else budget
        codebook.relocates = codebook.n_nonzeros is None
        codebook.entangled = bool(state["entangled"])
        codebook.offset = state["offset"]
        radius = float(state["radius"])
        codebook._take(state["sparse"], None if np.isnan(radius) else radius)
        return codebook
