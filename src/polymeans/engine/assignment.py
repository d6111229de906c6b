"""Which codebook, statistics and assigner serve which rows and algorithm.

An assigner writes the label of every row for a codebook, and may remember what helps it next
time. ``follow`` tells it how the centroids moved, ``forget`` that labels were changed from
outside. All of them return the labels that exact scores define.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.khatri_rao import AdditiveCodebook, MultiplicativeCodebook
from polymeans.codebooks.metric import MetricCodebook
from polymeans.codebooks.sums import SumCodebook
from polymeans.codebooks.table import TableCodebook
from polymeans.engine.dense_assigners import DenseLazy, DenseLloyd
from polymeans.engine.elkan import Elkan
from polymeans.engine.grid_assigners import DenseSums, SparseSums, StreamedProducts
from polymeans.engine.linear_assigner import LinearScores
from polymeans.engine.marginals import DeferredStatistics, MarginalStatistics
from polymeans.engine.rows import DenseRows, SparseRows
from polymeans.engine.sparse_assigners import SparseLazy, SparseLloyd
from polymeans.engine.statistics import Change, ClusterStatistics
from polymeans.engine.threads import Threads

ALGORITHMS = ("auto", "lloyd", "elkan", "lazy")


class Assigner(Protocol):
    """What the loop asks of an assigner."""

    def assign(self, codebook: Any, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> None:
        """Write every row's label, given those of the last call (-1: none)."""

    def follow(self, codebook: Any, change: Change, drift: NDArray[np.float64]) -> None:
        """Take note that the codebook was refitted."""

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Take note that these rows' labels were changed."""

    def confirm(self, explicit: Any, labels: NDArray[np.int32]) -> None:
        """Correct labels just assigned for the explicit form of the same codebook."""


def make_rows(
    X: Any,
    weights: NDArray[np.float64],
    threads: Threads,
    spherical: bool,
    reach: float = 0.0,
) -> DenseRows | SparseRows:
    """Rows of the container's kind; ``reach`` is the largest coordinate of given centroids."""
    kind = SparseRows if hasattr(X, "indptr") else DenseRows
    return kind(X, weights, threads, spherical, 0.0 if spherical else reach)


def make_codebook(rows: Any, centers: NDArray[Any]) -> DenseCodebook | SumCodebook:
    """Free centroids, given in the user's coordinates, for rows of either kind."""
    if rows.spherical:
        lengths = np.sqrt(np.einsum("ij,ij->i", centers, centers, dtype=np.float64))
        # Centroids of an earlier fit are of length one as far as their dtype allows: leave them.
        off = (lengths > 0) & (np.abs(lengths - 1) > 8 * np.finfo(rows.dtype).eps)
        if off.any():
            centers = centers / np.where(off, lengths, 1.0)[:, None]
    if not rows.is_sparse:
        return DenseCodebook(rows.internal(centers), rows.spherical)
    numerators, outside, total = rows.internal(centers)
    return SumCodebook(numerators, total, centers, outside, rows.spherical)


def make_grid(
    rows: Any, protocentroids: Sequence[NDArray[Any]], aggregator: str, stored: bool = True
) -> Any:
    """Centroids combined from protocentroids, given in the user's coordinates.

    One set is nothing but free centroids. ``stored`` says whether products are all kept.
    """
    if len(protocentroids) == 1:
        return make_codebook(rows, protocentroids[0])
    sizes = [len(theta) for theta in protocentroids]
    stacked = np.ascontiguousarray(np.concatenate(protocentroids), dtype=rows.dtype)
    full = None
    # The rows' unit is common to all members of a sum, but is one factor of a product.
    measured = len(stacked) if aggregator == "sum" else sizes[0]
    if rows.is_sparse:
        inside, outside, _ = rows.internal(stacked)
        if outside.any():
            full = stacked.astype(np.float64)
            full[:measured] /= rows.unit
        inside[measured:] *= rows.unit
        stacked = inside.astype(rows.dtype)
    else:
        stacked[:measured] = rows.internal(stacked[:measured])
    return grid_codebook(rows, stacked, sizes, aggregator, full, stored)


def grid_codebook(
    rows: Any,
    stacked: NDArray[Any],
    sizes: Sequence[int],
    aggregator: str,
    full: NDArray[np.float64] | None = None,
    stored: bool = True,
) -> AdditiveCodebook | MultiplicativeCodebook:
    """The same from protocentroids in the rows' coordinates, all sets on top of each other."""
    stacked = np.ascontiguousarray(stacked, dtype=rows.dtype)
    if aggregator == "sum":
        return AdditiveCodebook(stacked, sizes, full, rows.is_sparse)
    return MultiplicativeCodebook(stacked, sizes, full, rows.is_sparse, stored or rows.is_sparse)


def make_statistics(rows: Any, codebook: Any) -> Any:
    """What a codebook needs the rows to be summed into."""
    if isinstance(codebook, AdditiveCodebook):
        return MarginalStatistics(rows, codebook.sizes)
    if isinstance(codebook, MultiplicativeCodebook):
        if not codebook.stored:
            return DeferredStatistics(rows, codebook.n_clusters)
        return tabled_statistics(rows, codebook)
    if isinstance(codebook, TableCodebook):
        return tabled_statistics(rows, codebook)
    # A metric's centers are no sums to be followed feature by feature.
    track = False if isinstance(codebook, MetricCodebook) else None
    return ClusterStatistics(rows, codebook.numerators(), track)


def tabled_statistics(rows: Any, codebook: Any) -> ClusterStatistics:
    """Sums of all clusters, where centroids are not sums themselves but kept in a table."""
    sums = np.zeros((codebook.n_clusters, codebook.n_features))
    return ClusterStatistics(rows, sums, track=False)


def make_assigner(rows: Any, codebook: Any, algorithm: str) -> Assigner:
    """The assigner for a codebook and an algorithm; ``"auto"`` is the fastest as measured."""
    if isinstance(codebook, AdditiveCodebook):
        return (SparseSums if rows.is_sparse else DenseSums)(rows, codebook)
    if isinstance(codebook, MultiplicativeCodebook) and not codebook.stored:
        return StreamedProducts(rows, codebook.n_clusters)
    if isinstance(codebook, MetricCodebook):
        return LinearScores(rows)
    n_clusters = codebook.n_clusters
    if algorithm == "auto":
        # Bounds cost a little in each iteration; with few centroids there is little to save.
        few = n_clusters < (4 if rows.is_sparse else 24)
        algorithm = "lloyd" if few else "lazy"
    if algorithm == "elkan":
        return Elkan(rows, n_clusters)
    if rows.is_sparse:
        return (SparseLazy if algorithm == "lazy" else SparseLloyd)(rows, n_clusters)
    return (DenseLazy if algorithm == "lazy" else DenseLloyd)(rows, n_clusters)
