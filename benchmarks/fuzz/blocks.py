"""Rows of a problem in blocks, as a user may bring them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


class CutRows:
    """Rows cut at random places, so that some blocks have a single row.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
    weights : ndarray of shape (n,) or None
    rng : Generator
    """

    def __init__(
        self, X: Any, weights: NDArray[np.float64] | None, rng: np.random.Generator
    ) -> None:
        self.X, self.weights = X, weights
        self.n_samples, self.n_features = X.shape
        self.dtype, self.is_sparse = X.dtype, sp.issparse(X)
        n_cuts = int(rng.integers(0, min(8, self.n_samples)))
        inside = rng.choice(np.arange(1, self.n_samples), n_cuts, replace=False) if n_cuts else []
        self.edges = [0, *sorted(int(cut) for cut in inside), self.n_samples]
        self.sizes = np.diff(self.edges).tolist()

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, number: int) -> Any:
        part = slice(self.edges[number], self.edges[number + 1])
        return self.X[part] if self.weights is None else (self.X[part], self.weights[part])
