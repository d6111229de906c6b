"""Sums of protocentroids whose sets lie in orthogonal subspaces: one clustering for each set.

With ``θ_sc`` inside a subspace V_s of its own, and m the mean of all rows,

    |x - m - Σ_s θ_sc|² = Σ_s |V_s'(x - m) - V_s'θ_sc|² + |what is outside of all V_s|²

so the nearest combination is the nearest protocentroid of each set on its own: several clusterings
of the same rows that do not share a direction. For given labels, protocentroids are the cluster
means within their subspace, and the subspaces follow from the means alone
(:mod:`polymeans.kernels.subspaces`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.additive import pair_masses
from polymeans.codebooks.base import State
from polymeans.codebooks.khatri_rao import AdditiveCodebook
from polymeans.core.statistics import MarginalStatistics

if TYPE_CHECKING:
    from polymeans.kernels.subspaces import Views

#: Rounds over the pairs of views in a refit at most, and the relative gain below which they end:
#: a few rounds suffice, and beyond twelve digits the gain is rounding.
_SWEEPS, _SETTLED = 50, 1e-12


class OrthogonalCodebook(AdditiveCodebook):
    """Centroids that are sums, each set in its own subspace orthogonal to all others.

    Parameters
    ----------
    protocentroids : ndarray of shape (k_1 + ... + k_S, n_features)
        All sets on top of each other, in the rows' dtype and coordinates; the first holds the mean
        of the rows.
    sizes : tuple of int
    views : Views
        The subspaces to begin with, see :mod:`polymeans.kernels.subspaces`.
    full, for_sparse_rows
        See :class:`polymeans.codebooks.khatri_rao.GridCodebook`.
    """

    def __init__(
        self,
        protocentroids: NDArray[Any],
        sizes: Sequence[int],
        views: "Views",
        full: NDArray[np.float64] | None = None,
        for_sparse_rows: bool = False,
    ) -> None:
        super().__init__(protocentroids, sizes, full, for_sparse_rows)
        self.views = views

    def solve(self, statistics: MarginalStatistics) -> NDArray[np.float64]:
        """Cluster means within the subspaces that suit them best; rotates the subspaces."""
        from polymeans.kernels.subspaces import flatten_means, rotate

        masses = np.diag(pair_masses(statistics.mass, self.sizes)).copy()
        sums = statistics.sums
        first = self.sizes[0]
        mean = sums[:first].sum(axis=0) / masses[:first].sum()
        roots = np.sqrt(masses)[:, None]
        weighted = np.divide(sums, roots, out=np.zeros_like(sums), where=roots > 0) - roots * mean
        rotate(weighted, self.views, _SWEEPS, _SETTLED)
        theta = np.empty_like(weighted)
        flatten_means(weighted, masses, self.views, theta)
        theta[:first] += mean
        return theta

    def state(self) -> State:
        """Protocentroids and the subspaces of their sets."""
        views = {f"views_{name}": part for name, part in self.views._asdict().items()}
        return super().state() | views

    @staticmethod
    def _arguments(state: State) -> dict[str, Any]:
        from polymeans.kernels.subspaces import Views

        views = Views(*(state[f"views_{name}"] for name in Views._fields))
        return AdditiveCodebook._arguments(state) | {"views": views}


def make_views(sizes: Sequence[int], n_features: int) -> "Views":
    """Subspaces of dimension zero for clusterings of these sizes, with memory for k - 1 each."""
    from polymeans.kernels.subspaces import Views

    most_dims = np.asarray(sizes, dtype=np.int64) - 1
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.concatenate([[0], np.cumsum(most_dims)]).astype(np.int64)
    basis = np.zeros((int(places[-1]), n_features))
    return Views(starts, places, np.zeros(len(most_dims), dtype=np.int64), basis)


def basis_of(views: "Views", s: int) -> NDArray[np.float64]:
    """Orthonormal rows that span a view's subspace."""
    return views.basis[views.places[s] : views.places[s] + views.dims[s]]
