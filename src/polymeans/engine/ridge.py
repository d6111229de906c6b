"""Solutions of ``(X' D X + rho I) z = s`` for several s, by conjugate gradients on the rows.

Nothing of size features x features or rows x rows is formed. The few largest eigenvalues are taken
out beforehand, which leaves a system so well conditioned that a handful of products with the rows
are enough.
"""

import numpy as np
from numpy.typing import NDArray

from polymeans.engine.products import ScatterProducts

#: Relative residual at which a solution is good enough to decide labels.
TOLERANCE = 1e-6

_MOST_STEPS = 500


class RidgeSolver:
    """Solves with the rows' scatter.

    Parameters
    ----------
    products : ScatterProducts
        The scatter of the rows; only a runner that has them can give it.
    rho : float
    directions : ndarray of shape (n_features, q)
        Orthonormal eigenvectors of the scatter, those of its largest eigenvalues.
    squares : ndarray of shape (q,)
        The eigenvalues.

    Attributes
    ----------
    settled : bool
        Whether all solutions so far were found to the wanted accuracy.
    """

    def __init__(
        self,
        products: ScatterProducts,
        rho: float,
        directions: NDArray[np.float64],
        squares: NDArray[np.float64],
    ) -> None:
        self.rho = rho
        self.products = products
        self.directions, self.squares = directions, squares
        n_left = max(1, products.rank - len(squares))
        # What the other eigenvalues are on average.
        self.tail = max(0.0, products.trace - float(squares.sum())) / n_left
        self.n_left = n_left
        self.settled = True

    def log_det_bound(self) -> float:
        """``log det(I + X' D X / rho)``, with equal eigenvalues behind the largest: never less."""
        known = np.log1p(self.squares / self.rho).sum()
        return float(known + self.n_left * np.log1p(self.tail / self.rho))

    def __call__(self, targets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Solutions for the rows of ``targets``, each to the same relative residual."""
        b = np.ascontiguousarray(targets.T)
        z = self._precondition(b)
        residual = b - self._apply(z)
        goal = TOLERANCE * np.sqrt(np.einsum("ij,ij->j", b, b))
        direction, slope = np.zeros_like(b), np.ones(b.shape[1])
        for _ in range(_MOST_STEPS):
            length = np.sqrt(np.einsum("ij,ij->j", residual, residual))
            active = length > goal
            if not active.any():
                break
            step = self._precondition(residual)
            new_slope = np.einsum("ij,ij->j", residual, step)
            direction = step + direction * _ratio(new_slope, slope, active)
            slope = new_slope
            image = self._apply(direction)
            stride = _ratio(slope, np.einsum("ij,ij->j", direction, image), active)
            z += stride * direction
            residual -= stride * image
        else:
            self.settled = False
        return np.ascontiguousarray(z.T)

    def _apply(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.products(v) + self.rho * v

    def _precondition(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        common = 1.0 / (self.rho + self.tail)
        inside = self.directions.T @ v
        inside *= (1.0 / (self.squares + self.rho) - common)[:, None]
        return common * v + self.directions @ inside


def _ratio(
    a: NDArray[np.float64], b: NDArray[np.float64], active: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """a / b for columns that are not solved yet; solved ones stand still."""
    return np.divide(a, b, out=np.zeros_like(a), where=active & (b > 0))
