"""Labels decided without rounding: of rows that scores leave contested, or of a few rows."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Points
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import Block

if TYPE_CHECKING:
    from polymeans.kernels.nearest import Outer

_ALL = np.empty(0, dtype=np.int64)

#: Centroids with which comparing one row is worth a task of its own.
_MANY = 64


def label_exactly(
    block: Block,
    codebook: Points,
    labels: NDArray[np.int32],
    chosen: NDArray[np.int64] | None = None,
) -> None:
    """Write the nearest centroid of some rows (None: of all), the lowest index among equals.

    Parameters
    ----------
    block : Block
    codebook : codebook
        Its centroids are points, in a table or combined from protocentroids.
    labels : ndarray of shape (n_samples,)
        Where to write.
    chosen : ndarray of int, default=None
        Numbers of the rows inside the block.
    """
    from polymeans.kernels import nearest

    rows = _ALL if chosen is None else chosen
    book, outer, threads = codebook.book, outer_entries(block, codebook), running_threads()
    # A row is compared with all centroids: if these are many, few rows keep several threads busy.
    smallest = 16 if codebook.n_clusters < _MANY else 1
    threads.map(
        lambda r: nearest.label_exactly(block.arrays, block.norms, book, outer, rows, *r, labels),
        threads.ranges(block.n_samples if chosen is None else len(chosen), smallest),
    )


def outer_entries(block: Block, codebook: Points) -> "Outer":
    """What centroids have at features that no row of a (CSR) block has."""
    from polymeans.kernels.nearest import Outer

    whole = codebook.whole if block.is_sparse else None
    if whole is None:
        return Outer(np.empty((0, 0)), np.empty(0, dtype=bool), 1.0, block.frame.rank)
    unit = block.frame.unit if whole.in_user_units else 1.0
    return Outer(whole.entries, whole.present, unit, block.frame.rank)


def decide_contested(
    block: Block, codebook: Points, labels: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Decide the labels that an assigner marked as contested; the numbers of these rows.

    Rows without a direction are as far from every centroid where only directions count: they get
    label 0, and no arithmetic is spent on them.
    """
    labels[block.directionless] = 0
    contested = np.flatnonzero(labels < 0)
    if len(contested):
        label_exactly(block, codebook, labels, contested)
    return np.concatenate([contested, block.directionless])
