"""The transform that belongs to given clusters, and exchanges of single rows between them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeans.core.rows import is_csr
from polymeans.engine.runners import LocalRunner

#: Least share of the scatter along a direction that is left within clusters: below it there is
#: nothing but rounding of float64 (some fifty units), and the metric stretches no further.
_NOTHING = 1e-14

#: Sweeps of exchanges between two exact inverses: rank-one updates of the inverse lose digits with
#: each move.
_SWEEPS = 5

#: Rounds of such sweeps, a bound only: exchanges ended after 8 to 18 sweeps on documents.
_ROUNDS = 100


@dataclass(frozen=True)
class LearnedMetric:
    """``T'T = (rho / 2) (W + rho I)^-1`` in coordinates where all rows' scatter is diagonal.

    Once coordinates are divided by ``scale``, T is the identity except along the directions of the
    centers; only :meth:`matrix` forms it.
    """

    scale: NDArray[np.float64]  #: (r,) roots of the total scatter plus rho
    weighted: NDArray[np.float64]  #: (k, r) sums over roots of masses, after that division
    rho: float

    def transform(self, inside: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of the space after T."""
        axes, stretch = _stretched(self.weighted)
        white = inside / self.scale
        return np.sqrt(self.rho / 2) * (white + (white @ axes.T * (np.sqrt(stretch) - 1)) @ axes)

    def matrix(self) -> NDArray[np.float64]:
        """T itself."""
        return self.transform(np.eye(len(self.scale))).T


def _stretched(weighted: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Directions the centers span, and by how much the metric stretches (squared) lengths there."""
    _, lengths, axes = np.linalg.svd(weighted, full_matrices=False)
    return axes, 1.0 / np.maximum(1.0 - lengths**2, _NOTHING)


def exchange_rows(
    runner: LocalRunner, labels: NDArray[np.int32], n_clusters: int
) -> NDArray[np.int32]:
    """Labels after moving single rows as long as that lowers ``log det(W + rho I)``.

    Parameters
    ----------
    runner : Runner
        Of rows divided by the roots of the total scatter plus rho.
    labels : ndarray of shape (n_samples,)
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    from polymeans.kernels.exchange import exchange

    points, weights = runner.matrix(), runner.weights
    assert not is_csr(points)
    labels, best, lowest = labels.copy(), labels, np.inf
    for _ in range(_ROUNDS):
        masses = np.bincount(labels, weights, minlength=n_clusters)
        sizes = np.bincount(labels[weights > 0], minlength=n_clusters)
        sums = np.zeros((n_clusters, points.shape[1]))
        np.add.at(sums, labels, weights[:, None] * points)
        some = np.where(masses > 0, masses, 1.0)[:, None]
        axes, stretch = _stretched(sums / np.sqrt(some))
        log_det = -float(np.log(stretch).sum())
        if log_det >= lowest:  # rounding moves rows in circles
            return best
        best, lowest = labels.copy(), log_det
        inverse = np.eye(points.shape[1]) + (axes.T * (stretch - 1)) @ axes
        n_moved = exchange(points, weights, sums / some, masses, sizes, inverse, labels, _SWEEPS)
        if n_moved == 0:
            break
    return best
