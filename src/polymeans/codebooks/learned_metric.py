"""Centers measured in a metric that the clusters themselves determine.

The best metric for given labels is the inverse of ``B = W + rho I``, W being the scatter within
clusters, and what is left to minimize is ``log det B``. With the scatter of all rows ``T`` and the
weighted means ``S`` (row c: the sum of cluster c over the root of its mass), ``B = T + rho I -
S'S``, so all that is needed are the k solutions ``Z`` of ``(T + rho I) Z' = S'`` and the k x k
matrix ``L = I - S Z'``:

- ``log det B = log det(T + rho I) + log det L``
- ``B^-1 m_c`` is row c of ``L^-1 Z``, over the root of the mass
- ``m_c' B^-1 m_c = ((L^-1)_cc - 1) / mass_c``

Rows that were divided by the roots of ``T + rho I`` beforehand have ``Z = S``. The label of a row
is then the largest of k linear functions of it: assigning costs as much as in plain k-means.
"""

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook, State
from polymeans.core.frame import Frame
from polymeans.core.statistics import CellStatistics

#: Least share of the scatter along a direction that is left within clusters: below it there is
#: nothing but rounding of float64 (some fifty units).
_NOTHING = 1e-14


#: Differences of means, beside their largest number, that are nothing but rounding.
_ROUNDING = 2.0**-48


def _first_of_equals(
    means: NDArray[np.float64], used: NDArray[np.bool_], origin: float
) -> NDArray[np.bool_]:
    """Clusters to which rows are assigned: those that have rows, the lowest among equal means.

    Slopes of equal means differ by their rounding, so that a comparison of scores would not give
    the lowest, and ``predict`` might not give what ``fit`` gave. Means of equal rows of different
    weights differ by their rounding, too. Clusters without rows get some by relocation only.

    Parameters
    ----------
    means : ndarray of shape (k, d)
    used : ndarray of shape (k,), bool
        Clusters that have rows.
    origin : float
        Largest number that was added to means.

    Returns
    -------
    ndarray of shape (k,), bool
    """
    first = used.copy()
    clusters = np.flatnonzero(used)
    if len(clusters) < 2:
        return first
    chosen = means[clusters]
    widest = int(np.argmax(chosen.max(axis=0) - chosen.min(axis=0)))
    clusters = clusters[np.argsort(chosen[:, widest], kind="stable")]
    near = _ROUNDING * (np.abs(means[clusters]).max(axis=1) + origin)
    apart = np.diff(means[clusters, widest]) > np.maximum(near[1:], near[:-1])
    if apart.all():
        return first
    tolerance = dict(zip(clusters.tolist(), near.tolist()))
    for together in np.split(clusters, np.flatnonzero(apart) + 1):
        ordered = np.sort(together)
        for place, c in enumerate(ordered[:-1]):
            others = ordered[place + 1 :]
            if first[c]:
                equal = np.abs(means[others] - means[c]).max(axis=1) <= tolerance[int(c)]
                first[others[equal]] = False
    return first


#: Weighted means S, their solutions Z, and S Z'.
_Reduced = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


class LearnedMetricCodebook(BaseCodebook[CellStatistics]):
    """k centers, and the metric in which they are most compact.

    Parameters
    ----------
    n_clusters : int
    n_features : int
    rho : float
    log_det_total : float
        ``log det(I + T / rho)``.
    solve : callable, default=None
        Gives ``Z`` for ``S``; None: the rows were divided beforehand.
    """

    kind = "linear"
    entangled = True
    by_rows = False

    def __init__(
        self,
        n_clusters: int,
        n_features: int,
        rho: float,
        log_det_total: float,
        solve: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
    ) -> None:
        self.n_clusters, self.n_features = n_clusters, n_features
        self.rho = rho
        self.log_det_total = log_det_total
        self.solve = solve
        if solve is not None:
            self.requires = frozenset({"products"})
        self.means = np.zeros((n_clusters, n_features))
        self.slopes = np.zeros((n_clusters, n_features))
        self.offsets = np.zeros(n_clusters)
        self.weighted = np.zeros((n_clusters, n_features))
        self._gain = np.zeros((n_clusters, n_clusters))
        #: Version of the statistics that were last reduced, and the result.
        self._reduced: tuple[object, _Reduced] | None = None
        self._known = (self.weighted, self.weighted)

    @property
    def n_parameters(self) -> int:
        """Numbers that decide labels."""
        return self.slopes.size + self.offsets.size

    def refit(self, statistics: CellStatistics) -> NDArray[np.float64]:
        """Move the centers to the means and find their metric; how far each center went."""
        weighted, solved, explained = self._reduce(statistics)
        mass = statistics.mass
        used = mass > 0
        means = self.means.copy()
        means[used] = statistics.sums[used] / mass[used, None] + statistics.frame.origin
        origin = float(np.max(np.abs(statistics.frame.origin), initial=0.0))
        shares, vectors = np.linalg.eigh(explained)
        left = np.maximum(1.0 - shares, _NOTHING)
        # L^-1 - I, from its eigenvalues: a difference would lose small ones.
        gain = (vectors * (shares / left)) @ vectors.T
        self.weighted, self._gain = weighted, gain
        roots = np.where(used, np.sqrt(mass), 1.0)
        self.slopes = (solved + gain @ solved) / roots[:, None]
        self.offsets = np.where(
            _first_of_equals(means, used, origin), np.diag(gain) / roots**2, np.inf
        )
        step = means - self.means
        self.means = means
        return np.sqrt(np.einsum("ij,ij->i", step, step))

    def inertia(self, statistics: CellStatistics) -> float:
        """``rho log det(I + W / rho)`` for the statistics' labels and their best metric.

        For large rho this is the scatter within clusters, the inertia of plain k-means.
        """
        shares = np.linalg.eigvalsh(self._reduce(statistics)[2])
        log_det = float(np.sum(np.log1p(-np.minimum(shares, 1.0 - _NOTHING))))
        return self.rho * max(0.0, self.log_det_total + log_det)

    def _reduce(self, statistics: CellStatistics) -> _Reduced:
        """Weighted means S, their solutions Z, and S Z'."""
        if self._reduced is not None and self._reduced[0] is statistics.version:
            return self._reduced[1]
        mass = statistics.mass
        roots = np.sqrt(np.where(mass > 0, mass, 1.0))
        sums = statistics.sums + mass[:, None] * statistics.frame.origin
        weighted = np.where((mass > 0)[:, None], sums / roots[:, None], 0.0)
        solved = weighted if self.solve is None else self._solve_changed(weighted)
        explained = weighted @ solved.T
        self._reduced = statistics.version, (weighted, solved, (explained + explained.T) / 2)
        return self._reduced[1]

    def _solve_changed(self, weighted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Solutions for all clusters; those that gained and lost no row keep theirs."""
        before, solved = self._known
        assert self.solve is not None
        changed = np.flatnonzero((before != weighted).any(axis=1))
        if len(changed):
            solved = solved.copy()
            solved[changed] = self.solve(weighted[changed])
        self._known = weighted, solved
        return solved

    def spread_of(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the clusters add to the squared length of rows whose products with
        :attr:`solved` are given."""
        return np.einsum("ij,ij->i", onto + onto @ self._gain, onto)

    @property
    def solved(self) -> NDArray[np.float64]:
        """Solutions for the weighted means of the last refit."""
        return self.weighted if self.solve is None else self._solve_changed(self.weighted)

    @property
    def scale(self) -> float:
        """Factor from squared lengths in the metric to the rows' units."""
        return 1.0 if self.solve is None else self.rho

    def to_array(self, frame: Frame) -> NDArray[np.float64]:
        """Means in the user's coordinates."""
        return frame.external(self.means)

    def state(self) -> State:
        """Means, the linear functions that decide labels, and the metric they come from."""
        return {
            "rho": self.rho,
            "log_det_total": self.log_det_total,
            "means": self.means,
            "slopes": self.slopes,
            "offsets": self.offsets,
            "weighted": self.weighted,
            "gain": self._gain,
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The codebook a state was taken from, for rows that were divided beforehand."""
        k, d = state["means"].shape
        codebook = cls(k, d, float(state["rho"]), float(state["log_det_total"]))
        codebook.means, codebook.slopes = state["means"], state["slopes"]
        codebook.offsets, codebook.weighted = state["offsets"], state["weighted"]
        codebook._gain = state["gain"]
        return codebook
