"""The learned metric found as published: the transform T and its targets Z are alternated.

Z enters the next T through ``X Z'`` alone, and with ``Z = T X (I - nu K)`` that is
``(total - nu W) T'``: no pass over rows. For fixed labels the alternation converges to what
:class:`~polymeans.codebooks.learned_metric.LearnedMetricCodebook` has in closed form.
"""

from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from polymeans.codebooks.base import State
from polymeans.codebooks.learned_metric import LearnedMetricCodebook
from polymeans.core.statistics import CellStatistics

#: Alternations at most: small ``rho`` takes thousands of them.
_MOST_ALTERNATIONS = 5000

#: Relative change of T below which alternations end: some thousand units of rounding.
_SETTLED = 1e-12


class AlternatingCodebook(LearnedMetricCodebook):
    """k centers in a metric found step by step.

    Parameters
    ----------
    n_clusters : int
    squares : ndarray of shape (r,)
        Scatter of all rows along each coordinate; the rows were divided by the roots of
        ``squares + rho``.
    lam, mu : float
        Weights of the penalty on T and of the scatter of Z within clusters.
    """

    def __init__(
        self, n_clusters: int, squares: NDArray[np.float64], lam: float, mu: float
    ) -> None:
        rho = lam * (1 + mu) / mu
        super().__init__(n_clusters, len(squares), rho, float(np.sum(np.log1p(squares / rho))))
        self.squares = squares
        self.lam, self.nu = lam, mu / (1 + mu)
        self.transform = np.sqrt(0.5) * np.eye(len(squares))
        self.settled = True
        self._settled_for: object = None  #: version of the statistics the transform is for

    def inertia(self, statistics: CellStatistics) -> float:
        """The paper's objective, in the units of a scatter."""
        within = self._settle(statistics)
        T, lam, r = self.transform, self.lam, self.n_features
        log_det = np.linalg.slogdet(T)[1]
        value = self.nu * float(np.sum((T @ within) * T)) + lam * float(np.sum(T * T) - log_det)
        return self.rho * (2 * value / lam - r + r * np.log(lam / 2) - r * np.log(lam))

    def _settle(self, statistics: CellStatistics) -> NDArray[np.float64]:
        """Find the transform for these statistics, once, and return the scatter within clusters."""
        weighted = self._reduce(statistics)[0] * np.sqrt(self.squares + self.rho)
        within = np.diag(self.squares) - weighted.T @ weighted
        if self._settled_for is not statistics.version:
            self.transform, self.settled = settle(
                self.transform, self.squares, within, self.lam, self.nu
            )
            self._settled_for = statistics.version
        return within

    def refit(self, statistics: CellStatistics) -> NDArray[np.float64]:
        """Move the centers to the means and take over the transform found for them."""
        self._settle(statistics)
        drift = super().refit(statistics)
        scale = np.sqrt(self.squares + self.rho)
        moved = self.means * scale @ self.transform.T
        self.slopes = 2 / self.rho * moved @ self.transform * scale
        lengths = 2 / self.rho * np.einsum("ij,ij->i", moved, moved)
        self.offsets = np.where(np.isfinite(self.offsets), lengths, np.inf)
        return drift

    def state(self) -> State:
        """What the metric's state has, and the transform."""
        own = {"squares": self.squares, "lam": self.lam, "nu": self.nu, "transform": self.transform}
        return super().state() | own

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The codebook a state was taken from."""
        nu = float(state["nu"])
        k = len(state["means"])
        codebook = cls(k, state["squares"], float(state["lam"]), nu / (1 - nu))
        for name in ("means", "slopes", "offsets", "weighted", "transform"):
            setattr(codebook, name, state[name])
        codebook._gain = state["gain"]
        codebook.rho, codebook.nu = float(state["rho"]), nu
        codebook.log_det_total = float(state["log_det_total"])
        return codebook


def settle(
    T: NDArray[np.float64],
    squares: NDArray[np.float64],
    within: NDArray[np.float64],
    lam: float,
    nu: float,
) -> tuple[NDArray[np.float64], bool]:
    """Alternate transform and targets until the transform does not change, and whether it did."""
    total = np.diag(squares)
    pulled = total - nu * within
    roots = np.sqrt(squares + lam)
    for _ in range(_MOST_ALTERNATIONS):
        previous, T = T, transform_step(pulled @ T.T, roots, lam)
        if np.abs(T - previous).max() <= _SETTLED * np.abs(T).max():
            return T, True
    return T, False


def transform_step(
    products: NDArray[np.float64], roots: NDArray[np.float64], lam: float
) -> NDArray[np.float64]:
    """The best transform for given targets Z.

    Parameters
    ----------
    products : ndarray of shape (r, r)
        ``X Z'``.
    roots : ndarray of shape (r,)
        Diagonal Cholesky factor of ``X X' + lam I``.
    lam : float

    Returns
    -------
    ndarray of shape (r, r)
        ``V (S + (S^2 + 2 lam I)^(1/2)) U' L^-1 / 2`` for ``L^-1 X Z' = U S V'``. (In print U and V
        are exchanged, which is not the minimum.)
    """
    left, lengths, right = scipy.linalg.svd(products / roots[:, None], check_finite=False)
    middle = 0.5 * (lengths + np.sqrt(lengths**2 + 2 * lam))
    return (right.T * middle) @ left.T / roots
