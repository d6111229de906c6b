"""Codebooks whose centroids are combinations of protocentroids.

What the engine asks of a codebook, they answer from ``h_1 + ... + h_p`` vectors. Sums never see
their centroids at all. Products keep them (``stored``) or build them a few at a time.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.additive import pair_masses, solve_additive
from polymeans.codebooks.aggregation import center_later_sets, digits_of, scale_later_sets, split
from polymeans.codebooks.multiplicative import feature_blocks, sweep_block

#: Centroids built at a time where they are not all kept.
CHUNK = 1024


class GridCodebook:
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
        Norms of all centroids will be asked for.
    """

    multiply = False
    #: A change of few clusters moves all centroids.
    entangled = True
    #: The objective is a sum of distances, one for each row.
    by_rows = True
    #: Empty clusters are given rows.
    relocates = True

    def __init__(
        self,
        protocentroids: NDArray[Any],
        sizes: Sequence[int],
        full: NDArray[np.float64] | None = None,
        for_sparse_rows: bool = False,
    ) -> None:
        self.protocentroids = protocentroids
        self.sizes = tuple(int(h) for h in sizes)
        self.n_features = protocentroids.shape[1]
        self.n_clusters = int(np.prod(self.sizes))
        self.full = full
        #: The protocentroids as fitted, and as they are seen: rounded to the rows' dtype.
        self.precise = protocentroids.astype(np.float64)
        self.seen = self.precise.copy()
        self.for_sparse_rows = for_sparse_rows
        #: Passes over the rows it took to find where to start.
        self.passes_before = 0.0

    @property
    def n_parameters(self) -> int:
        """Numbers stored."""
        return self.protocentroids.size

    @property
    def book(self) -> Any:
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import GridBook

        return GridBook(
            self.protocentroids,
            np.array(self.sizes, dtype=np.int64),
            self.half_norms if self.for_sparse_rows else np.empty(self.n_clusters),
            self.multiply,
        )

    def explicit(self, rows: Any) -> "GridCodebook":
        """The codebook as a user will see it, which it already is."""
        return self

    def to_sets(self, rows: Any) -> list[NDArray[Any]]:
        """Protocentroids in the user's coordinates."""
        # The rows' unit is common to all members of a sum, but is one factor of a product.
        outer = rows.external(self.protocentroids)
        if self.multiply:
            later = outer[self.sizes[0] :]
            later /= rows.unit
            if rows.is_sparse:  # features no row has: the first set is zero, the others neutral
                later[:, rows.rank < 0] = 1.0
        return [np.ascontiguousarray(part) for part in split(outer, self.sizes)]

    def _round(self) -> None:
        self.protocentroids = self.precise.astype(self.protocentroids.dtype)
        self.seen = self.protocentroids.astype(np.float64)
        self.full = None


class AdditiveCodebook(GridCodebook):
    """Centroids that are sums of protocentroids; see :mod:`polymeans.codebooks.additive`."""

    @property
    def half_norms(self) -> NDArray[np.float64]:
        """Half the squared norms of all centroids."""
        gram = self.gram()
        total = np.zeros(1)
        for q, h in enumerate(self.sizes):
            start = sum(self.sizes[:q])
            own = 0.5 * np.diag(gram)[start : start + h]
            total = (total[:, None] + own[None, :]).ravel()
        return total + pair_table(gram, self.sizes)

    def gram(self, origin: Any = 0.0) -> NDArray[np.float64]:
        """Inner products of the protocentroids, the first set measured from the origin."""
        theta = self.about(origin) if self.full is None else self.full
        return theta @ theta.T

    def about(self, origin: Any) -> NDArray[np.float64]:
        """The protocentroids as they are seen, the first set measured from the origin."""
        if not np.any(origin):
            return self.seen
        theta = self.seen.copy()
        theta[: self.sizes[0]] -= origin
        return theta

    def refit(self, statistics: Any, changed: NDArray[np.integer]) -> NDArray[np.float64]:
        """Move all protocentroids to their best place; how far the centroids went altogether."""
        before = self.seen
        theta = self.solve(statistics)
        theta[: self.sizes[0]] += statistics.origin
        self.precise = theta
        self._round()
        step = self.seen - before
        self.drifts = split(np.sqrt(np.einsum("ij,ij->i", step, step)), self.sizes)
        return np.array([np.sqrt(self._squared_travel(step))])

    def solve(self, statistics: Any) -> NDArray[np.float64]:
        """The best protocentroids for these statistics, measured from their origin."""
        system = pair_masses(statistics.masses, self.sizes)
        theta = self.precise
        theta[: self.sizes[0]] -= statistics.origin
        theta = solve_additive(system, statistics.sums, theta, self.sizes)
        center_later_sets(split(theta, self.sizes), split(np.diag(system).copy(), self.sizes))
        return theta

    def _squared_travel(self, step: NDArray[np.float64]) -> float:
        """Σ_c |Σ_q step of c's member of set q|², from the sets alone."""
        total = 0.0
        means = []
        for part, drift, h in zip(split(step, self.sizes), self.drifts, self.sizes):
            total += self.n_clusters / h * float(drift @ drift)
            means.append(part.mean(axis=0))
        for q, mean in enumerate(means):
            for other in means[:q]:
                total += 2 * self.n_clusters * float(mean @ other)
        return max(0.0, total)

    def inertia(self, rows: Any, statistics: Any) -> float:
        """Weighted squared distances under the statistics' labels, without a pass over rows.

        NaN where that cannot be told accurately.
        """
        theta = self.about(statistics.origin)
        system = pair_masses(statistics.masses, self.sizes)
        gram = theta @ theta.T
        squares = float(np.sum(system * gram))
        products = float(np.einsum("ij,ij->", theta, statistics.sums))
        inertia = statistics.total_square + squares - 2 * products
        # Vectors far out that cancel each other would leave nothing but rounding errors.
        terms = float(np.sum(np.diag(system) * np.diag(gram)))
        if inertia < 1e-6 * max(terms, abs(products)):
            return np.nan
        return max(0.0, inertia)


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


class MultiplicativeCodebook(GridCodebook):
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
        Norms of all centroids will be asked for.
    stored : bool, default=True
        Keep all centroids: faster, for k x d numbers.
    """

    multiply = True
    spherical = False

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
        for lo in range(0, self.n_clusters, CHUNK):
            hi = min(lo + CHUNK, self.n_clusters)
            part = self.some_centers(lo, hi)
            if self.stored:
                self.centers[lo:hi] = part
            if self.full is not None:
                part = self._products(self.full, lo, hi)
            self.squared_norms[lo:hi] = np.einsum("ij,ij->i", part, part, dtype=np.float64)

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
    def book(self) -> Any:
        """The centroids as kernels take them."""
        from polymeans.kernels.rows import Book

        if self.stored:
            return Book(self.centers, self.denominators, self.half_norms)
        return super().book

    def refit(self, statistics: Any, changed: NDArray[np.integer]) -> NDArray[np.float64]:
        """Move all protocentroids to their best place; how far each centroid went."""
        theta, threads = self.precise, statistics.rows.threads
        before = self.protocentroids
        old_centers = self.centers if self.stored else None

        def fit(block: tuple[int, int]) -> None:
            sums, base = statistics.block_sums(*block)
            origin = statistics.origin
            sweep_block(sums, statistics.mass, origin, self.sizes, block, theta, base)

        threads.map(fit, feature_blocks(self.n_features, self.n_clusters))
        scale_later_sets(split(theta, self.sizes))
        self._round()
        self._build()
        drift = np.empty(self.n_clusters)
        for lo in range(0, self.n_clusters, CHUNK):
            hi = min(lo + CHUNK, self.n_clusters)
            old = old_centers[lo:hi] if self.stored else self._products(before, lo, hi)
            new = self.centers[lo:hi] if self.stored else self.some_centers(lo, hi)
            step = new.astype(np.float64) - old.astype(new.dtype)
            drift[lo:hi] = np.sqrt(np.einsum("ij,ij->i", step, step))
        return drift

    def inertia(self, rows: Any, statistics: Any) -> float:
        """Weighted squared distances under the statistics' labels."""
        whole = [(0, self.n_features)]
        blocks = whole if self.stored else feature_blocks(self.n_features, self.n_clusters)
        parts = rows.threads.map(lambda block: self._block_inertia(statistics, *block), blocks)
        return max(0.0, statistics.total_square + sum(parts))

    def _block_inertia(self, statistics: Any, first: int, last: int) -> float:
        from polymeans.kernels import sums as kernels

        sums, _ = statistics.block_sums(first, last)
        if self.stored:
            centers = self.centers
        else:
            part = self.protocentroids[:, first:last]
            centers = self._products(part, 0, self.n_clusters).astype(part.dtype)
        origin = statistics.origin[first:last]
        return kernels.closed_form_inertia(centers, origin, statistics.mass, sums)
