"""Elkan's assigner: a lower bound for every row and centroid, dense or sparse rows alike."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from polymeans.codebooks.base import NumeratorsTable
from polymeans.engine.blocks import Block, SparseBlock
from polymeans.engine.changes import Change
from polymeans.engine.dense_assigners import round_up
from polymeans.engine.sparse_assigners import SparseLloyd


class Elkan:
    """Looks at a centroid only where the triangle inequality allows it to be nearer.

    Memory: 4 bytes for each row and centroid.

    Parameters
    ----------
    rows : Block
    n_clusters : int
    """

    def __init__(self, rows: Block, n_clusters: int) -> None:
        self.rows = rows
        self.lower = np.zeros((rows.n_samples, n_clusters), dtype=np.float32)
        self.drift = np.zeros(n_clusters, dtype=np.float32)
        self.block_rows = 256

    def assign(
        self, codebook: NumeratorsTable, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        from polymeans.kernels import elkan

        rows, book = self.rows, codebook.book
        centers = book.numerators / book.denominators[:, None]
        if rows.is_sparse:
            # Given centroids may reach outside the used features; gaps inside are smaller: safe.
            squares = codebook.squared_norms
        else:
            centers = centers - rows.frame.shift
            squares = np.einsum("ij,ij->i", centers, centers)
        longest_one = int(np.argmax(squares))
        longest = float(np.sqrt(squares[longest_one]))
        gaps = euclidean_distances(centers.astype(np.float64))
        slack = 1e-7 * longest
        half_gaps = (0.5 * np.maximum(gaps - slack, 0.0) * (1 - 2.0**-20)).astype(np.float32)
        bounds = elkan.CentroidBounds(longest, longest_one, half_gaps, self.drift, self.lower)
        self.rows.each(
            lambda lo, hi: elkan.assign_elkan(
                rows.arrays,
                book,
                rows.norms,
                bounds,
                lo,
                hi,
                previous,
                labels,
                np.empty(self.block_rows),
                np.empty(self.block_rows),
                np.empty(self.block_rows, dtype=np.float32),
            )
        )

    def follow(self, codebook: object, change: Change, drift: NDArray[np.float64]) -> None:
        """Bounds sink by what the centroids moved."""
        self.drift = round_up(drift)

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Bounds hold whatever the labels are."""

    def confirm(self, explicit: NumeratorsTable, labels: NDArray[np.int32]) -> None:
        """Correct labels for the codebook's explicit form."""
        if isinstance(self.rows, SparseBlock):
            SparseLloyd(self.rows, explicit.n_clusters).assign(explicit, labels, labels)
