"""Leading eigenvectors of a regularized, normalized graph, and its normalized cuts."""

import warnings
from typing import Any

import numpy as np
import scipy.linalg
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lobpcg

#: Share of the mean degree that is spread over all pairs of rows: it keeps small components from
#: being clusters of their own.
_REGULARIZATION = 0.1

#: Rows up to which all eigenvalues are computed. Above, a block method: methods that build on one
#: vector miss eigenvalues that occur several times, as those of separate components do.
_DENSE_ROWS = 1500
_POWER_STEPS, _TOLERANCE = 15, 1e-3

#: Steps of LOBPCG times vectors at most, and steps at least: a step with many vectors takes long,
#: and clusters that nearly touch need many steps.
_LOBPCG_WORK, _LEAST_STEPS = 4000, 20


class RegularizedGraph:
    """``D^-1/2 (W + tau/n 11ᵀ) D^-1/2`` of a symmetric graph.

    Parameters
    ----------
    weights : CSR array of shape (n, n)
    """

    def __init__(self, weights: Any) -> None:
        self.weights, self.n = weights, weights.shape[0]
        degrees = np.asarray(weights.sum(axis=1)).ravel()
        self.tau = _REGULARIZATION * float(degrees.mean())
        if self.tau == 0.0:
            self.tau = 1.0  # no edges at all
        self.degrees = degrees + self.tau
        self.roots = 1.0 / np.sqrt(self.degrees)

    def apply(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """The matrix times vectors, one in each column."""
        vectors = vectors.reshape(self.n, -1)
        scaled = self.roots[:, None] * vectors
        mixed = self.weights @ scaled + (self.tau / self.n) * scaled.sum(axis=0)
        return self.roots[:, None] * mixed

    def leading(
        self, n_vectors: int, rng: RandomState
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Largest eigenvalues in descending order, and their eigenvectors."""
        n_vectors = min(n_vectors, self.n)
        if self.n <= max(_DENSE_ROWS, 5 * n_vectors):
            matrix = self.apply(np.eye(self.n))
            last = [self.n - n_vectors, self.n - 1]
            values, vectors = scipy.linalg.eigh(
                (matrix + matrix.T) / 2, subset_by_index=last, check_finite=False
            )
            return values[::-1], vectors[:, ::-1]
        start = rng.standard_normal((self.n, n_vectors))
        for _ in range(_POWER_STEPS):
            # Shifted, so that negative eigenvalues do not lead.
            start = np.linalg.qr(self.apply(start) + start)[0]
        operator = LinearOperator(
            (self.n, self.n), matvec=self.apply, matmat=self.apply, dtype=np.float64
        )
        with np.errstate(all="ignore"):
            values, vectors = _quiet_lobpcg(operator, start)
        order = np.argsort(-values)
        return values[order], vectors[:, order]

    def row_cuts(self, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Share of each row in the normalized cut.

        The normalized cut is the sum over clusters of the weight of their edges to others, over
        that of all their edges.
        """
        n_clusters = int(labels.max()) + 1
        members = np.zeros((self.n, n_clusters))
        members[np.arange(self.n), labels] = 1.0
        inside = np.einsum("nk,nk->n", members, self.weights @ members)
        inside += self.tau / self.n * members.sum(axis=0)[labels]
        volume = members.T @ self.degrees
        return (self.degrees - inside) / volume[labels]


def _quiet_lobpcg(operator: Any, start: NDArray[np.float64]) -> tuple[Any, Any]:
    """LOBPCG; that a tolerance was not reached is expected and no news for users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        n_steps = max(_LEAST_STEPS, _LOBPCG_WORK // start.shape[1])
        return lobpcg(operator, start, tol=_TOLERANCE, maxiter=n_steps, largest=True)
