"""Centroids that are an offset plus a product of sparse factors.

What the engine sees is the table of centroids, multiplied out: it is small beside the rows, and
every assigner can use it. What is fitted, kept and applied to new rows are the factors. Given
labels the objective is, up to a constant, the weighted squared distance of the cluster means to
the centroids, so refitting is a weighted matrix factorization of the means.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: Improves factors of (target, weights, factors).
Update = Callable[[NDArray[np.float64], NDArray[np.float64], list[Any]], Sequence[Any]]


def multiplied_out(factors: Sequence[sp.csr_array], offset: NDArray[Any], dtype: Any) -> NDArray:
    """The table of centroids: the product and the offset in float64, rounded once.

    The same bits for any order of the features.
    """
    product = reduce(lambda left, right: left @ right, [f.astype(np.float64) for f in factors])
    return np.ascontiguousarray(product.toarray() + offset, dtype=dtype)


def measure_rows(rows: Any, centers: NDArray[Any], squared_norms: NDArray[np.float64]) -> None:
    """Squared norms, in the order in which whoever is given these centroids will sum them."""
    from polymeans.kernels import sums

    whole = np.ones(len(centers))
    sums.divide_rows(centers, whole, 0, len(centers), rows.rank, centers, squared_norms)


class FactoredCodebook:
    """k centroids ``offset + S_1 S_2 ... S_Q``.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    factors : sequence of csr_array
        From left to right, in the rows' coordinates; rounded to the rows' dtype.
    offset : ndarray of shape (n_features,)
        Common to all centroids, in the rows' coordinates.
    update : callable, default=None
        ``update(target, weights, factors)`` gives factors that fit better, or as well. None: they
        stay as they are.
    start_inertia : float, default=nan
        Of the free centroids these factors were found for.
    """

    #: A change of few clusters moves all centroids.
    entangled = True
    #: The objective is a sum of distances, one for each row.
    by_rows = True
    spherical = False
    #: A centroid cannot be put onto a row without the others, so the objective could rise.
    relocates = False

    def __init__(
        self,
        rows: Any,
        factors: Sequence[Any],
        offset: NDArray[Any],
        update: Update | None = None,
        start_inertia: float = np.nan,
    ) -> None:
        self.rows = rows
        self.start_inertia = start_inertia
        self.dtype = rows.dtype
        self.offset = offset.astype(rows.dtype).astype(np.float64)
        self.update = update
        self.n_clusters, self.n_features = factors[0].shape[0], factors[-1].shape[1]
        self.denominators = np.ones(self.n_clusters)
        self.squared_norms = np.zeros(self.n_clusters)
        factors = self._rounded(factors)
        self._take(factors, multiplied_out(factors, self.offset, self.dtype))

    @classmethod
    def given(
        cls, rows: Any, factors: Sequence[sp.csr_array], offset: NDArray[Any], table: NDArray[Any]
    ) -> "FactoredCodebook":
        """Factors, offset and their table in the user's coordinates, for new rows."""
        last = factors[-1] / rows.unit
        if rows.is_sparse:
            # Features that no row has count in the norms only.
            centers, _, squared_norms = rows.internal(table)
            codebook = cls(rows, [*factors[:-1], last[:, rows.order]], offset[rows.order])
            codebook.centers, codebook.squared_norms = centers.astype(rows.dtype), squared_norms
        else:
            codebook = cls(rows, [*factors[:-1], last], offset / rows.unit)
            codebook.centers = rows.internal(table)
        return codebook

    def _rounded(self, factors: Sequence[Any]) -> list[sp.csr_array]:
        rounded = [sp.csr_array(factor, dtype=self.dtype, copy=True) for factor in factors]
        for factor in rounded:
            factor.sort_indices()
            factor.eliminate_zeros()  # what rounding made zero
        return rounded

    def _take(self, factors: list[sp.csr_array], centers: NDArray[Any]) -> None:
        self.factors, self.centers = factors, centers
        if self.rows.is_sparse:
            measure_rows(self.rows, centers, self.squared_norms)

    @property
    def sizes(self) -> tuple[int]:
        """One set of as many vectors as there are centroids."""
        return (self.n_clusters,)

    @property
    def n_parameters(self) -> int:
        """Numbers stored."""
        return sum(factor.nnz for factor in self.factors)

    @property
    def array(self) -> NDArray[Any]:
        """All centroids, for sparse rows."""
        return self.centers

    @property
    def book(self) -> Any:
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import Book

        return Book(self.centers, self.denominators, 0.5 * self.squared_norms)

    def refit(self, statistics: Any, changed: NDArray[np.integer]) -> NDArray[np.float64]:
        """Fit the factors to the means, unless that would not help; how far centroids went."""
        drift = np.zeros(self.n_clusters)
        if self.update is None:
            return drift
        mass, used = statistics.mass, statistics.mass > 0
        target = self.centers.astype(np.float64)
        target[used] = statistics.sums[used] / mass[used, None] + statistics.origin
        # A cluster without rows stays where it is as far as that costs the others nothing.
        weights = np.where(used, mass, 1e-3 * mass[used].min())
        factors = self._rounded(self.update(target - self.offset, weights, self.factors))
        centers = multiplied_out(factors, self.offset, self.dtype)
        if not self._fit(statistics, centers) < self._fit(statistics, self.centers):
            return drift
        step = centers.astype(np.float64) - self.centers
        self._take(factors, centers)
        return np.sqrt(np.einsum("ij,ij->i", step, step))

    def _fit(self, statistics: Any, centers: NDArray[Any]) -> float:
        """The objective without what does not depend on the centroids."""
        from polymeans.kernels import sums

        return sums.closed_form_inertia(
            centers, statistics.origin, statistics.mass, statistics.sums
        )

    def inertia(self, rows: Any, statistics: Any) -> float:
        """Weighted squared distances under the statistics' labels, without a pass over rows."""
        return max(0.0, statistics.total_square + self._fit(statistics, self.centers))

    def explicit(self, rows: Any) -> "FactoredCodebook":
        """The codebook as a user will see it, which it is."""
        return self

    def to_factors(self, rows: Any) -> list[sp.csr_array]:
        """Factors in the user's coordinates."""
        last = self.factors[-1]
        if rows.is_sparse:
            indices = rows.order[last.indices].astype(last.indices.dtype)
            shape = (last.shape[0], rows.n_features)
            last = sp.csr_array((last.data, indices, last.indptr), shape=shape)
            last.sort_indices()
        return [*self.factors[:-1], (last * rows.unit).astype(self.dtype)]

    def to_array(self, rows: Any) -> NDArray[Any]:
        """Centroids in the user's coordinates."""
        return rows.external(self.centers)
