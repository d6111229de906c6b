"""An assigner around another one, for blocks that have rows too long for fast scores."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids
from polymeans.core.frame import LONGEST
from polymeans.engine.assigner import Assigner
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.changes import Change
from polymeans.engine.nearest import label_exactly


class Guarded:
    """Labels long rows without rounding, and hides them from the assigner of the others.

    Fast scores of a row whose squares leave the range of its type would be infinite or NaN. Where a
    centroid is as long, all rows are labeled without rounding, which takes several times as long.

    Parameters
    ----------
    block : Block
    make : callable
        Makes the assigner for a block of rows that are not too long.
    """

    def __init__(self, block: Block, make: Callable[[Block], Assigner[Centroids]]) -> None:
        self.block, self.make = block, make
        self.long_rows = np.flatnonzero(~(block.norms <= LONGEST))
        self.others = without_rows(block, self.long_rows) if len(self.long_rows) else block
        self.inner: Assigner[Centroids] | None = None
        #: Labels that the inner assigner gave to the rows that are zeros for it.
        self.hidden = np.full(len(self.long_rows), -1, dtype=np.int32)

    def assign(
        self, codebook: Centroids, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label."""
        if self._is_long(codebook):
            self.inner = None  # what it knows would be out of date
            label_exactly(self.block, codebook, labels)
            return
        if self.inner is None:
            self.inner = self.make(self.others)
            self.hidden[:] = -1
        before = previous.copy()
        before[self.long_rows] = self.hidden
        self.inner.assign(codebook, before, labels)
        given = labels[self.long_rows]
        self.hidden = np.where(given < 0, -2 - given, given)
        label_exactly(self.block, codebook, labels, self.long_rows)

    def _is_long(self, codebook: Centroids) -> bool:
        return not codebook.longest(self.block.frame) <= LONGEST

    def follow(self, codebook: Centroids, change: Change, drift: NDArray[np.float64]) -> None:
        """Pass on that the codebook was refitted."""
        if self.inner is not None:
            self.inner.follow(codebook, change, drift)

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Pass on that labels were changed."""
        if self.inner is not None:
            self.inner.forget(moved_rows)

    def confirm(self, explicit: Centroids, labels: NDArray[np.int32]) -> None:
        """Correct labels for the codebook's explicit form."""
        if self.inner is None or self._is_long(explicit):
            label_exactly(self.block, explicit, labels)
            return
        self.inner.confirm(explicit, labels)
        label_exactly(self.block, explicit, labels, self.long_rows)


def without_rows(block: Block, hidden: NDArray[np.int64]) -> Block:
    """The block with zeros in place of some rows."""
    norms = block.norms.copy()
    norms[hidden] = 0.0
    if isinstance(block, DenseBlock):
        values = block.arrays.values.copy()
        values[hidden] = block.frame.shift
        return DenseBlock(
            values, block.weights, block.frame, block.first, block.directionless, norms
        )
    indptr, indices, values = block.arrays
    kept = values.copy()
    for row in hidden:
        kept[indptr[row] : indptr[row + 1]] = 0
    return SparseBlock(
        indptr, indices, kept, block.weights, block.frame, block.first, block.directionless
    )
