"""The graph of nearest neighbors of the rows, and how assignments are averaged over it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from polymeans.kmeans import KMeans
from polymeans.neighbors import ClusterNeighbors

#: Neighbors of a row, and the one whose distance is the row's unit of length.
N_NEIGHBORS, _UNIT_NEIGHBOR = 10, 7

#: Smallest weight of an edge: without it near-duplicates fall apart into components.
_LEAST_WEIGHT = 0.1

#: Rows above which neighbors are searched for in few clusters only, and in how many of them.
_EXACT_ROWS, _PROBED = 30_000, 8


@dataclass(frozen=True)
class Neighborhood:
    """A symmetric weighted graph of the rows.

    Parameters
    ----------
    weights : CSR array of shape (n, n)
    """

    weights: Any

    @cached_property
    def _shares(self) -> Any:
        """Shares of rows and their neighbors in an average; each row of it adds up to one."""
        own = self.weights + sp.eye_array(self.weights.shape[0], format="csr")
        return sp.diags_array(1.0 / own.sum(axis=1)) @ own

    def averaged(self, assignments: NDArray[Any]) -> NDArray[Any]:
        """Assignments, averaged twice over each row and its neighbors."""
        return np.asarray(self._shares @ (self._shares @ assignments))


def find_neighborhood(X: NDArray[Any], rng: RandomState) -> Neighborhood:
    """The graph of the ten nearest neighbors of each row.

    An edge weighs ``exp(-d² / (s_i s_j))`` with the distances s of the seventh neighbors, at least
    half their median, and 0.1 at least.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    rng : RandomState
        For the approximate search among many rows.
    """
    n = len(X)
    n_neighbors = min(N_NEIGHBORS, n - 1)
    if n_neighbors < 1:
        return Neighborhood(sp.csr_array((n, n), dtype=np.float64))
    if n <= _EXACT_ROWS:
        search: Any = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(X)
    else:
        clusters = KMeans(int(np.sqrt(n)), max_iter=10, random_state=rng)
        search = ClusterNeighbors(
            n_neighbors, n_probe=_PROBED, clusterer=clusters, random_state=rng
        ).fit(X)
    distances, indices = search.kneighbors()
    distances = distances.astype(np.float64)
    unit = distances[:, min(_UNIT_NEIGHBOR, n_neighbors) - 1]
    unit = np.maximum(unit, 0.5 * np.median(unit))
    unit = np.maximum(unit, np.finfo(np.float64).tiny ** 0.25)
    close = np.exp(-(distances / unit[:, None]) * (distances / unit[indices]))
    weights = np.maximum(close, _LEAST_WEIGHT).ravel()
    rows = np.repeat(np.arange(n), n_neighbors)
    graph = sp.csr_array((weights, (rows, indices.ravel())), shape=(n, n))
    return Neighborhood(graph.maximum(graph.T).tocsr())
