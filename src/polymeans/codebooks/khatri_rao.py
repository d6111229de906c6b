"""Codebooks whose centroids are combinations of protocentroids.

They are represented by ``h_1 + ... + h_p`` vectors. Sums never form their centroids. Products keep
them (``stored``) or form them a few at a time.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.additive import solve_additive
from polymeans.codebooks.aggregation import (
    center_later_sets,
    combine,
    digits_of,
    scale_later_sets,
    split,
)
from polymeans.codebooks.base import (
    BaseCodebook,
    Centroids,
    State,
    Totals,
    WholeCentroids,
    not_finite,
)
from polymeans.codebooks.dense import table_inertia
from polymeans.codebooks.multiplicative import feature_blocks, sweep_block
from polymeans.core.frame import CANCELLED, Frame
from polymeans.core.norms import row_lengths
from polymeans.core.statistics import (
    CellStatistics,
    DeferredStatistics,
    MarginalStatistics,
    certain_inertia,
)
from polymeans.core.threads import running_threads
from polymeans.core.workers import Result

if TYPE_CHECKING:
    from polymeans.kernels.rows import Book, GridBook

#: Centroids formed at a time where they are not all kept: some megabytes for a thousand features,
#: and enough for the overhead of a call to be small.
CHUNK = 1024


class GridCodebook(BaseCodebook[Totals]):
    """Centroids made of one protocentroid from each set; how they combine is up to subclasses.

    Those give ``refit``, ``inertia`` and ``half_norms``, half the squared norms of all centroids.

    Parameters
    ----------
    protocentroids : ndarray of shape (h_1 + ... + h_p, n_features)
        All sets on top of each other, in the rows' dtype and coordinates.
    sizes : tuple of int
        ``(h_1, ..., h_p)``.
    full : ndarray of shape (h_1 + ... + h_p, n_all_features), default=None
        The same with features no (sparse) row uses, if they are not zero there.
    for_sparse_rows : bool, default=False
        Norms of all centroids are part of :attr:`book`.
    """

    multiply = False
    entangled = True

    def __init__(
        self,
        protocentroids: NDArray[Any],
        sizes: Sequence[int],
        full: NDArray[np.float64] | None = None,
        for_sparse_rows: bool = False,
    ) -> None:
        if not np.isfinite(protocentroids).all():  # starts may be beyond the rows' dtype
            raise not_finite(type(self).__name__)
        self.protocentroids = protocentroids
        self._sizes = tuple(int(h) for h in sizes)
        self.n_features = protocentroids.shape[1]
        self.n_clusters = int(np.prod(self.sizes))
        self.full = full
        #: The protocentroids as fitted, and rounded to the rows' dtype.
        self.precise = protocentroids.astype(np.float64)
        self.rounded = self.precise.copy()
        self.for_sparse_rows = for_sparse_rows

    @property
    def sizes(self) -> tuple[int, ...]:
        """Protocentroids in each set."""
        return self._sizes

    @property
    def n_parameters(self) -> int:
        """Numbers stored."""
        return self.protocentroids.size

    @property
    def book(self) -> "Book | GridBook":
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import GridBook

        return GridBook(
            self.protocentroids,
            np.array(self.sizes, dtype=np.int64),
            self.half_norms if self.for_sparse_rows else np.empty(self.n_clusters),
            self.multiply,
            self._longest() if self.for_sparse_rows else 0.0,
            self.n_features if self.full is None else self.full.shape[1],
        )

    def longest(self, frame: Frame) -> float:
        """Norm that no combination of protocentroids exceeds, measured from the frame's shift."""
        return self._longest() + float(np.linalg.norm(frame.shift.astype(np.float64)))

    def _norms(self) -> NDArray[np.float64]:
        """Of the protocentroids."""
        return np.linalg.norm(self.rounded if self.full is None else self.full, axis=1)

    def _longest(self) -> float:
        """Norm that no combination of protocentroids exceeds."""
        norms = self._norms()
        parts = [float(part.max()) for part in split(norms, self.sizes)]
        return float(np.prod(parts)) if self.multiply else sum(parts)

    @property
    @abstractmethod
    def half_norms(self) -> NDArray[np.float64]:
        """Half the squared norms of all centroids."""

    def to_sets(self, frame: Frame) -> list[NDArray[Any]]:
        """Protocentroids in the user's coordinates."""
        # The rows' unit is common to all members of a sum, but is one factor of a product.
        outer = frame.external(self.protocentroids)
        if self.multiply:
            later = outer[self.sizes[0] :]
            later /= frame.unit
            if frame.is_sparse:  # features no row has: the first set is zero, the others neutral
                later[:, frame.rank < 0] = 1.0
        return [np.ascontiguousarray(part) for part in split(outer, self.sizes)]

    def to_array(self, frame: Frame) -> NDArray[Any]:
        """All centroids in the user's coordinates."""
        sets = [part.astype(np.float64) for part in self.to_sets(frame)]
        return combine(sets, "product" if self.multiply else "sum").astype(frame.dtype)

    def state(self) -> State:
        """Protocentroids as fitted and rounded, and their sets."""
        return {
            "protocentroids": self.protocentroids,
            "precise": self.precise,
            "sizes": np.array(self.sizes),
            "full": np.empty((0, 0)) if self.full is None else self.full,
            "for_sparse_rows": self.for_sparse_rows,
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The codebook a state was taken from."""
        codebook = cls(**cls._arguments(state))
        codebook.precise = state["precise"]
        return codebook

    @staticmethod
    def _arguments(state: State) -> dict[str, Any]:
        return {
            "protocentroids": state["protocentroids"],
            "sizes": tuple(int(h) for h in state["sizes"]),
            "full": state["full"] if state["full"].size else None,
            "for_sparse_rows": bool(state["for_sparse_rows"]),
        }

    def place(self, number: int, vector: NDArray[np.float64]) -> None:
        """Replace one protocentroid, numbered through all sets."""
        self.precise = self.precise.copy()
        self.precise[number] = vector
        self._round()

    def _round(self) -> None:
        # Of float64 rows all three are the same array; a refit replaces it and never writes to it.
        self.protocentroids = self.precise.astype(self.protocentroids.dtype, copy=False)
        self.rounded = self.protocentroids.astype(np.float64, copy=False)
        self.full = None


class AdditiveCodebook(GridCodebook[MarginalStatistics]):
    """Centroids that are sums of protocentroids; see :mod:`polymeans.codebooks.additive`."""

    needs = "marginals"
    kind = "sum_grid"

    @property
    def whole(self) -> WholeCentroids | None:
        """The protocentroids with features that no row has."""
        if self.full is None:
            return None
        every = np.ones(len(self.full), dtype=bool)
        return WholeCentroids(self.full, every, in_user_units=False)

    #: Inner products of the rounded protocentroids, and what they are of.
    _known_gram: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @property
    def half_norms(self) -> NDArray[np.float64]:
        """Half the squared norms of all centroids."""
        return combined_half_norms(self.gram(), self.sizes)

    def _norms(self) -> NDArray[np.float64]:
        """Of the protocentroids, from inner products that are needed anyway."""
        return np.sqrt(np.diag(self.gram()))

    def gram(self, origin: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
        """Inner products of the protocentroids, the first set measured from the origin."""
        theta = self.about(origin) if self.full is None else self.full
        if self._known_gram is None or self._known_gram[0] is not theta:
            self._known_gram = theta, theta @ theta.T
        return self._known_gram[1]

    def about(self, origin: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """The rounded protocentroids, the first set measured from the origin."""
        if not np.any(origin):
            return self.rounded
        theta = self.rounded.copy()
        theta[: self.sizes[0]] -= origin
        return theta

    def refit(self, statistics: MarginalStatistics) -> NDArray[np.float64]:
        """Move all protocentroids to their best place; how far each centroid went."""
        before = self.rounded
        theta = self.solve(statistics)
        theta[: self.sizes[0]] += statistics.frame.origin
        self.precise = theta
        self._round()
        step = self.rounded - before
        # |Σ_q step of c's member of set q|² from inner products of the steps alone.
        squares = 2 * combined_half_norms(step @ step.T, self.sizes)
        return np.sqrt(np.maximum(squares, 0.0))

    def solve(self, statistics: MarginalStatistics) -> NDArray[np.float64]:
        """The best protocentroids for these statistics, measured from the frame's origin."""
        system = statistics.pair_masses()
        theta = self.precise.copy()
        theta[: self.sizes[0]] -= statistics.frame.origin
        theta = solve_additive(system, statistics.sums, theta, self.sizes)
        center_later_sets(split(theta, self.sizes), split(np.diag(system).copy(), self.sizes))
        return theta

    def inertia(self, statistics: MarginalStatistics) -> float:
        """Weighted squared distances under the statistics' labels, without a pass over rows.

        NaN where that is not accurate.
        """
        theta = self.about(statistics.frame.origin)
        system = statistics.pair_masses()
        gram = self.gram() if theta is self.rounded and self.full is None else theta @ theta.T
        squares = float(np.sum(system * gram))
        products = float(np.einsum("ij,ij->", theta, statistics.sums))
        inertia = statistics.total_square + squares - 2 * products
        # Long protocentroids of different sets that cancel each other would leave rounding errors.
        terms = float(np.sum(np.diag(system) * np.diag(gram)))
        if inertia < CANCELLED * max(terms, abs(products)):
            return np.nan
        return certain_inertia(inertia, statistics.total_square)


def sets_of(codebook: Centroids, frame: Frame) -> list[NDArray[Any]]:
    """Protocentroids in the user's coordinates; free centroids are a single set."""
    if isinstance(codebook, GridCodebook):
        return codebook.to_sets(frame)
    return [codebook.to_array(frame)]


def combined_half_norms(gram: NDArray[np.float64], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Half the squared norms of all sums of vectors with this Gram matrix: shape (k,)."""
    total = np.zeros(1)
    for q, h in enumerate(sizes):
        start = sum(sizes[:q])
        own = 0.5 * np.diag(gram)[start : start + h]
        total = (total[:, None] + own[None, :]).ravel()
    return total + pair_table(gram, sizes)


def pair_table(gram: NDArray[np.float64], sizes: Sequence[int]) -> NDArray[np.float64]:
    """For each centroid, the inner products of its members, two by two, summed: shape (k,)."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    shape = tuple(sizes)
    total = np.zeros(shape)
    for q in range(len(sizes)):
        for r in range(q):
            block = gram[starts[r] : starts[r + 1], starts[q] : starts[q + 1]]
            axes = [1] * len(sizes)
            axes[r], axes[q] = sizes[r], sizes[q]
            total += block.reshape(axes)
    return total.ravel()


class MultiplicativeCodebook(GridCodebook[CellStatistics | DeferredStatistics]):
    """Centroids that are products; see :mod:`polymeans.codebooks.multiplicative`.

    Parameters
    ----------
    protocentroids : ndarray of shape (h_1 + ... + h_p, n_features)
        All sets on top of each other.
    sizes : tuple of int
        ``(h_1, ..., h_p)``.
    full : ndarray of shape (h_1 + ... + h_p, n_all_features), default=None
        The same with features no (sparse) row uses, if they are not zero there.
    for_sparse_rows : bool, default=False
        Norms of all centroids are part of :attr:`book`.
    stored : bool, default=True
        Keep all centroids: faster, but k x d numbers.
    """

    multiply = True

    def __init__(
        self,
        protocentroids: NDArray[Any],
        sizes: Sequence[int],
        full: NDArray[np.float64] | None = None,
        for_sparse_rows: bool = False,
        stored: bool = True,
    ) -> None:
        super().__init__(protocentroids, sizes, full, for_sparse_rows)
        self.stored = stored
        if not stored:
            self.needs, self.kind = "deferred", "product_grid"
            self.requires = frozenset({"feature_sums"})
        self.denominators = np.ones(self.n_clusters)
        self.squared_norms = np.zeros(self.n_clusters)
        self._build()

    @property
    def half_norms(self) -> NDArray[np.float64]:
        """Half the squared norms of all centroids."""
        return 0.5 * self.squared_norms

    def _build(self) -> None:
        """Centroids where they are kept, and their squared norms."""
        if self.stored:
            self.centers = np.empty(
                (self.n_clusters, self.n_features), dtype=self.protocentroids.dtype
            )
        self._whole = np.empty((0, 0), dtype=self.protocentroids.dtype)
        if self.full is not None:
            shape = (self.n_clusters, self.full.shape[1])
            self._whole = np.empty(shape, dtype=self.protocentroids.dtype)
        for lo in range(0, self.n_clusters, CHUNK):
            hi = min(lo + CHUNK, self.n_clusters)
            part = self.some_centers(lo, hi)
            if self.stored:
                self.centers[lo:hi] = part
            if self.full is not None:
                part = self._products(self.full, lo, hi).astype(self.protocentroids.dtype)
                self._whole[lo:hi] = part
            self.squared_norms[lo:hi] = np.einsum("ij,ij->i", part, part, dtype=np.float64)

    def place(self, number: int, vector: NDArray[np.float64]) -> None:
        """Replace one protocentroid, numbered through all sets."""
        super().place(number, vector)
        self._build()

    def _products(self, stacked: NDArray[Any], lo: int, hi: int) -> NDArray[np.float64]:
        digits = digits_of(np.arange(lo, hi), self.sizes)
        product = np.ones((hi - lo, stacked.shape[1]))
        for theta, digit in zip(split(stacked, self.sizes), digits):
            product *= theta[digit]
        return product

    def some_centers(self, lo: int, hi: int) -> NDArray[Any]:
        """Centroids lo:hi."""
        return self._products(self.protocentroids, lo, hi).astype(self.protocentroids.dtype)

    @property
    def array(self) -> NDArray[Any]:
        """All centroids, for sparse rows."""
        return self.centers

    @property
    def book(self) -> "Book | GridBook":
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import Book

        if self.stored:
            n_terms = max(self.n_features, self._whole.shape[1])
            return Book(self.centers, self.denominators, self.half_norms, n_terms)
        return super().book

    @property
    def whole(self) -> WholeCentroids | None:
        """All centroids with features that no row has."""
        if self.full is None:
            return None
        every = np.ones(self.n_clusters, dtype=bool)
        return WholeCentroids(self._whole, every, in_user_units=False)

    def state(self) -> State:
        """Protocentroids as fitted and rounded, and their sets."""
        return super().state() | {"stored": self.stored}

    @staticmethod
    def _arguments(state: State) -> dict[str, Any]:
        return GridCodebook._arguments(state) | {"stored": bool(state["stored"])}

    def refit(self, statistics: CellStatistics | DeferredStatistics) -> NDArray[np.float64]:
        """Move all protocentroids to their best place; how far each centroid went."""
        theta = self.precise.copy()
        before = self.protocentroids
        old_centers = self.centers if self.stored else np.empty((0, 0))
        mass, origin = statistics.mass, statistics.frame.origin
        known = statistics.sums if isinstance(statistics, CellStatistics) else np.empty((0, 0))

        def fit(block: tuple[int, int]) -> None:
            if isinstance(statistics, DeferredStatistics):
                sums = statistics.feature_sums(*block)
                sweep_block(sums, mass, origin, self.sizes, block, theta, base=block[0])
            else:
                sweep_block(known, mass, origin, self.sizes, block, theta)

        self._each_block(fit)
        scale_later_sets(split(theta, self.sizes))
        self.precise = theta
        self._round()
        self._build()
        drift = np.empty(self.n_clusters)
        for lo in range(0, self.n_clusters, CHUNK):
            hi = min(lo + CHUNK, self.n_clusters)
            old = old_centers[lo:hi] if self.stored else self._products(before, lo, hi)
            new = self.centers[lo:hi] if self.stored else self.some_centers(lo, hi)
            step = new.astype(np.float64) - old.astype(new.dtype)
            drift[lo:hi] = row_lengths(step)
        return drift

    def inertia(self, statistics: CellStatistics | DeferredStatistics) -> float:
        """Weighted squared distances under the statistics' labels."""
        if isinstance(statistics, CellStatistics):
            return table_inertia(self.centers, statistics)
        parts = self._each_block(lambda block: self._block_cost(statistics, *block))
        return certain_inertia(statistics.total_square + sum(parts), statistics.total_square)

    def _each_block(self, function: Callable[[tuple[int, int]], Result]) -> list[Result]:
        """Results for blocks of features."""
        blocks = feature_blocks(self.n_features, self.n_clusters)
        return running_threads().map(function, blocks)

    def _block_cost(self, statistics: DeferredStatistics, first: int, last: int) -> float:
        from polymeans.kernels.cluster_sums import closed_form_inertia

        sums = statistics.feature_sums(first, last)
        part = self.protocentroids[:, first:last]
        centers = self._products(part, 0, self.n_clusters).astype(part.dtype)
        origin = statistics.frame.origin[first:last]
        return closed_form_inertia(centers, origin, statistics.mass, sums)
