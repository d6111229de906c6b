"""Centroids that are an offset plus a product of sparse factors.

The engine uses the table of centroids, multiplied out: it is small beside the rows, and every
assigner can use it. The factors are fitted, kept, and applied to new rows. Given labels the
objective is, up to a constant, the weighted squared distance of the cluster means to the centroids,
so refitting is a weighted matrix factorization of the means.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from polymeans.codebooks.base import State, WholeCentroids
from polymeans.codebooks.table import TableCodebook
from polymeans.core.frame import Frame
from polymeans.core.statistics import CellStatistics

#: Weight of a cluster without rows, as a share of the least weight of those with rows: negligible
#: beside any of them.
_EMPTY_WEIGHT = 1e-3

#: Least weight, as a share of the largest: with less, the rounding errors of heavy rows (1e-16 of
#: their squares) would come near to a light row's own squares and determine its entries.
_LEAST_WEIGHT = 1e-12

#: Function of (target, weights, factors, calls before) that returns better factors.
Update = Callable[
    [NDArray[np.float64], NDArray[np.float64], list[sp.csr_array], int], Sequence[sp.csr_array]
]


def multiplied_out(
    factors: Sequence[sp.csr_array], offset: NDArray[Any], dtype: DTypeLike
) -> NDArray[Any]:
    """The table of centroids: the product and the offset in float64, rounded once.

    The same bits for any order of the features.
    """
    product = reduce(lambda left, right: left @ right, [f.astype(np.float64) for f in factors])
    return np.ascontiguousarray(product.toarray() + offset, dtype=dtype)


def balanced_weights(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of means for a factorization, relative to the largest.

    Clusters without rows have a small weight, so that their centroids stay where they are if that
    costs the others next to nothing. No weight is so small that rounding would determine the row.
    """
    weights = mass / mass.max()
    least = _EMPTY_WEIGHT * weights[mass > 0].min()
    return np.maximum(np.where(mass > 0, weights, least), _LEAST_WEIGHT)


class FactoredCodebook(TableCodebook):
    """k centroids ``offset + S_1 S_2 ... S_Q``.

    Parameters
    ----------
    frame : Frame
    factors : sequence of csr_array
        From left to right, in the rows' coordinates; rounded to the rows' dtype.
    offset : ndarray of shape (n_features,)
        Common to all centroids, in the rows' coordinates.
    update : callable, default=None
        ``update(target, weights, factors, n_updates)`` gives factors that fit better, or as well.
        None: they stay as they are.
    centers : ndarray of shape (n_clusters, n_features), default=None
        The table, if it is at hand, in the rows' coordinates and dtype.
    n_updates : int, default=0
        Calls of ``update`` so far.
    """

    #: A centroid cannot be put onto a row without the others, so the objective could rise.
    relocates = False
    #: The table in the user's coordinates, for rows that lack some of its features.
    table: NDArray[Any] | None = None

    def __init__(
        self,
        frame: Frame,
        factors: Sequence[sp.csr_array],
        offset: NDArray[Any],
        update: Update | None = None,
        centers: NDArray[Any] | None = None,
        n_updates: int = 0,
    ) -> None:
        super().__init__(frame, (factors[0].shape[0], factors[-1].shape[1]))
        self.offset = offset.astype(frame.dtype).astype(np.float64)
        self.update, self.n_updates = update, n_updates
        self.factors = self._rounded(factors)
        if centers is None:
            centers = multiplied_out(self.factors, self.offset, self.dtype)
        self.show(centers)

    @classmethod
    def given(
        cls,
        frame: Frame,
        factors: Sequence[sp.csr_array],
        offset: NDArray[Any],
        table: NDArray[Any],
    ) -> "FactoredCodebook":
        """Factors, offset and their table in the user's coordinates, for new rows."""
        last = factors[-1] / frame.unit
        if not frame.is_sparse:
            centers = frame.internal(table)
            return cls(frame, [*factors[:-1], last], offset / frame.unit, centers=centers)
        centers, _, squared_norms = frame.internal_sparse(table)
        factors = [*factors[:-1], last[:, frame.order]]
        offset = offset[frame.order] / frame.unit
        codebook = cls(frame, factors, offset, centers=centers.astype(frame.dtype))
        codebook.squared_norms = squared_norms  # with the features that no row has
        codebook.table = table
        return codebook

    def _rounded(self, factors: Sequence[sp.csr_array]) -> list[sp.csr_array]:
        rounded = [sp.csr_array(factor, dtype=self.dtype, copy=True) for factor in factors]
        for factor in rounded:
            factor.sort_indices()
            factor.eliminate_zeros()  # what rounding made zero
        return rounded

    @property
    def whole(self) -> WholeCentroids | None:
        """The table as the user has it."""
        if self.table is None:
            return None
        every = np.ones(self.n_clusters, dtype=bool)
        return WholeCentroids(self.table, every, in_user_units=True)

    @property
    def n_parameters(self) -> int:
        """Numbers stored."""
        return sum(factor.nnz for factor in self.factors)

    def refit(self, statistics: CellStatistics) -> NDArray[np.float64]:
        """Fit the factors to the means if that lowers the objective; how far centroids went."""
        if self.update is None:
            return np.zeros(self.n_clusters)
        weights = balanced_weights(statistics.mass)
        target = self.means(statistics) - self.offset
        factors = self._rounded(self.update(target, weights, self.factors, self.n_updates))
        self.n_updates += 1
        centers = multiplied_out(factors, self.offset, self.dtype)
        if not self.cost(statistics, centers) < self.cost(statistics):
            return np.zeros(self.n_clusters)
        self.factors = factors
        return self.show(centers)

    def to_factors(self, frame: Frame) -> list[sp.csr_array]:
        """Factors in the user's coordinates."""
        last = self.factors[-1]
        if frame.is_sparse:
            indices = frame.order[last.indices].astype(last.indices.dtype)
            shape = (last.shape[0], frame.n_features)
            # A copy: sorting would otherwise change the order of the codebook's own entries.
            last = sp.csr_array((last.data, indices, last.indptr), shape=shape, copy=True)
            last.sort_indices()
        return [*self.factors[:-1], (last * frame.unit).astype(self.dtype)]

    def state(self) -> State:
        """Factors, offset and table; of how factors follow the means only how often they did."""
        state: State = {
            "n_factors": len(self.factors),
            "n_updates": self.n_updates,
            "offset": self.offset,
            "centers": self.centers,
            "squared_norms": self.squared_norms,
            "rank": self.rank,
        }
        for q, factor in enumerate(self.factors):
            state |= {
                f"data{q}": factor.data,
                f"indices{q}": factor.indices,
                f"indptr{q}": factor.indptr,
                f"shape{q}": np.array(factor.shape),
            }
        return state

    @classmethod
    def from_state(cls, state: State, update: Update | None = None) -> Self:
        """The codebook a state was taken from; ``update`` makes it follow means again."""
        codebook = cls.__new__(cls)
        codebook._begin(state["centers"].dtype, state["rank"], state["centers"].shape)
        codebook.offset, codebook.update = state["offset"], update
        codebook.n_updates = int(state["n_updates"])
        codebook.factors = [
            sp.csr_array(
                (state[f"data{q}"], state[f"indices{q}"], state[f"indptr{q}"]),
                shape=tuple(state[f"shape{q}"]),
            )
            for q in range(int(state["n_factors"]))
        ]
        codebook.show(state["centers"])
        codebook.squared_norms = state["squared_norms"]
        return codebook

    def restored(self, state: State) -> Self:
        """A codebook of this state that follows means as this one does."""
        return type(self).from_state(state, self.update)
