"""Which assigner serves which rows and algorithm.

An assigner writes the label of every row for a codebook, and may remember what helps it next
time. ``follow`` tells it how the centroids moved, ``forget`` that labels were changed from
outside. All of them return the labels that exact scores define.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.sums import SumCodebook
from polymeans.engine.dense_assigners import DenseLazy, DenseLloyd
from polymeans.engine.elkan import Elkan
from polymeans.engine.rows import DenseRows, SparseRows
from polymeans.engine.sparse_assigners import SparseLazy, SparseLloyd
from polymeans.engine.statistics import Change
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
    centers: NDArray[Any] | None = None,
) -> DenseRows | SparseRows:
    """Rows of the container's kind; ``centers`` are given centroids they will meet."""
    kind = SparseRows if hasattr(X, "indptr") else DenseRows
    reach = 0.0
    if centers is not None and not spherical:
        reach = max(float(centers.max()), -float(centers.min()))
    return kind(X, weights, threads, spherical, reach)


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


def make_assigner(rows: Any, n_clusters: int, algorithm: str) -> Assigner:
    """The assigner for an algorithm; ``"auto"`` is the one measured to be fastest."""
    if algorithm == "auto":
        # Bounds cost a little in each iteration; with few centroids there is little to save.
        few = n_clusters < (4 if rows.is_sparse else 24)
        algorithm = "lloyd" if few else "lazy"
    if algorithm == "elkan":
        return Elkan(rows, n_clusters)
    if rows.is_sparse:
        return (SparseLazy if algorithm == "lazy" else SparseLloyd)(rows, n_clusters)
    return (DenseLazy if algorithm == "lazy" else DenseLloyd)(rows, n_clusters)
