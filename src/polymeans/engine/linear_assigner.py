"""Labels by the largest of k linear functions: nearest centers in a metric other than Euclid's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.engine.statistics import Change
from polymeans.engine.threads import reduction_blocks


class LinearScores:
    """Computes every score of every row.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    """

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.matrix = rows.matrix()

    def assign(self, codebook: Any, previous: NDArray[np.int32], labels: NDArray[np.int32]) -> None:
        """Write every row's label."""
        slopes, offsets = np.ascontiguousarray(codebook.slopes.T), codebook.offsets

        def label(block: tuple[int, int]) -> None:
            part = slice(*block)
            labels[part] = nearest(self.matrix[part], slopes, offsets)

        self.rows.threads.map(label, reduction_blocks(self.rows.n_samples))

    def follow(self, codebook: Any, change: Change, drift: NDArray[np.float64]) -> None:
        """Learn how the centers moved; nothing to remember here."""

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Some labels were changed from outside; nothing to forget here."""

    def confirm(self, explicit: Any, labels: NDArray[np.int32]) -> None:
        """Correct labels for the codebook's explicit form, which is the one they are for."""


def nearest(X: Any, slopes: NDArray[np.float64], offsets: NDArray[np.float64]) -> NDArray[np.int32]:
    """The c with the smallest ``offsets[c] - 2 x @ slopes[:, c]``, the lowest among equals."""
    return np.argmin(offsets - 2.0 * np.asarray(X @ slopes), axis=1).astype(np.int32)
