"""Two sparse factors with an inner size of their own, and their best values on fixed supports."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.factorization.sparse_coding import SparseCoding


@dataclass
class Pair:
    """Two dense arrays, mostly zeros, with ``Z ~ left @ right.T``.

    ``left`` has a row for each row of Z, ``right`` one for each column; both have a column for each
    inner index.
    """

    left: NDArray[np.float64]
    right: NDArray[np.float64]

    @property
    def nnz(self) -> int:
        """Entries that are not zero."""
        return int(np.count_nonzero(self.left) + np.count_nonzero(self.right))

    def error(self, target: NDArray[np.float64]) -> float:
        """Squared error."""
        residual = target - self.left @ self.right.T
        return float(np.einsum("ij,ij->", residual, residual))

    def balance(self) -> None:
        """Give both sides of every inner index the same length; leave out unused ones."""
        a = np.sqrt(np.einsum("ij,ij->j", self.left, self.left))
        b = np.sqrt(np.einsum("ij,ij->j", self.right, self.right))
        used = (a > 0) & (b > 0)
        if not used.any():  # no product is left: one inner index of zeros
            self.left, self.right = np.zeros((len(self.left), 1)), np.zeros((len(self.right), 1))
            return
        scale = np.sqrt(b[used] / a[used])
        self.left = np.ascontiguousarray(self.left[:, used] * scale)
        self.right = np.ascontiguousarray(self.right[:, used] / scale)

    def copy(self) -> "Pair":
        """An independent copy."""
        return Pair(self.left.copy(), self.right.copy())


def _sweep(pair: Pair, target: NDArray[np.float64], threads: Any) -> None:
    """Least squares of the right side, then of the left one, on their present supports."""
    side = SparseCoding(target.T, pair.left, threads)
    pair.right = side.solve(pair.right, pair.right != 0)
    side = SparseCoding(target, pair.right, threads)
    pair.left = side.solve(pair.left, pair.left != 0)


def refit_pair(
    pair: Pair, target: NDArray[np.float64], threads: Any, max_sweeps: int = 20, tol: float = 1e-5
) -> float:
    """Sweep until the error falls by less than ``tol`` of itself; returns the error."""
    error = pair.error(target)
    for _ in range(max_sweeps):
        before = error
        _sweep(pair, target, threads)
        error = pair.error(target)
        if not error < before * (1 - tol):
            break
    pair.balance()
    return error
