"""Blocks of prepared rows: what a frame makes of rows as they are read."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.core.frame import Frame
from polymeans.core.rows import Rows, is_csr
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.prepared import PreparedRows, RawBlock, Scaling


def scaling_in(frame: Frame) -> Scaling:
    """How rows were scaled for a frame."""
    return Scaling(**{field.name: getattr(frame, field.name) for field in fields(Scaling)})


def block_of(
    raw: RawBlock,
    frame: Frame,
    first: int,
    weights: NDArray[np.float64],
    directionless: NDArray[np.int64] | None,
) -> Block:
    """Rows seen through a frame.

    Parameters
    ----------
    raw : RawBlock
    frame : Frame
    first : int
        Number of the first row among the rows of all blocks.
    weights : ndarray of shape (n_samples,)
        In the engine's unit.
    directionless : ndarray of int or None
        Rows of zeros where only directions count.

    Returns
    -------
    Block
    """
    part = raw.prepared(scaling_in(frame))
    if part.indices is not None:
        indices = renumbered(part, frame.rank)
        rows = part.indptr, indices, part.values
        return SparseBlock(*rows, weights, frame, first, directionless, raw.norms)
    # Norms from the first look are about zero.
    norms = None if frame.shifted else raw.norms
    return DenseBlock(part.values.reshape(part.shape), weights, frame, first, directionless, norms)


def block_of_some(
    rows: Rows,
    weights: NDArray[np.float64],
    frame: Frame,
    norms: NDArray[np.float64] | None = None,
) -> Block:
    """A block of rows that are in the engine's coordinates already."""
    if is_csr(rows):
        indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
        return SparseBlock(indptr, indices, rows.data, weights, frame, norms=norms)
    return DenseBlock(rows, weights, frame, norms=norms)


def renumbered(part: PreparedRows, rank: NDArray[np.int32]) -> NDArray[Any]:
    """The features of sparse rows by rank."""
    from polymeans.kernels import prepare

    assert part.indices is not None
    threads, indices = running_threads(), np.empty(len(part.indices), dtype=np.int32)
    threads.map(
        lambda r: prepare.renumber(part.indices, rank, *r, indices),
        threads.ranges(len(indices)),
    )
    return indices
