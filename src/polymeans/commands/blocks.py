"""Rows with some of their columns, or scaled, in memory or block by block."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.blocks import Blocks

Scaling = tuple[NDArray[np.float64] | None, NDArray[np.float64]]


def is_blocks(rows: Any) -> bool:
    """Whether rows are not in memory."""
    return not sp.issparse(rows) and isinstance(rows, Blocks)


def mapped(rows: Any, columns: Sequence[int] | None = None, scaling: Scaling | None = None) -> Any:
    """Rows with these columns, less a mean, over a scale."""
    if is_blocks(rows):
        return _MappedBlocks(rows, columns, scaling)
    return _changed(rows, columns, scaling)


def _changed(rows: Any, columns: Sequence[int] | None, scaling: Scaling | None) -> Any:
    if columns is not None:
        rows = rows[:, list(columns)]
    if scaling is None:
        return np.ascontiguousarray(rows) if isinstance(rows, np.ndarray) else rows
    mean, scale = scaling
    if sp.issparse(rows):
        return sp.csr_array(rows @ sp.diags_array(1.0 / scale))
    rows = np.asarray(rows)
    dtype = rows.dtype if rows.dtype == np.float32 else np.float64
    return ((rows - (0.0 if mean is None else mean)) / scale).astype(dtype)


class _MappedBlocks:
    """Blocks that are changed when they are read."""

    def __init__(self, blocks: Any, columns: Sequence[int] | None, scaling: Scaling | None) -> None:
        self._blocks, self._columns, self._scaling = blocks, columns, scaling
        self.n_samples, self.sizes = blocks.n_samples, blocks.sizes
        self.n_features = blocks.n_features if columns is None else len(columns)
        self.dtype, self.is_sparse = blocks.dtype, blocks.is_sparse

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, i: int) -> Any:
        return _changed(self._blocks[i], self._columns, self._scaling)


def mean_and_scale(rows: Any) -> Scaling:
    """Mean and standard deviation of the columns; of sparse rows no mean, so that zeros stay.

    Columns that are constant have the scale 1.
    """
    n, total, squares, shift = 0, 0.0, 0.0, None
    for block in _each(rows):
        if sp.issparse(block):
            dense_mean = np.asarray(block.mean(axis=0)).ravel()
            variance = np.asarray(block.multiply(block).mean(axis=0)).ravel() - dense_mean**2
            return None, _scale(variance, np.asarray(abs(block).max(axis=0).todense()).ravel())
        block = np.asarray(block, dtype=np.float64)
        if shift is None:  # sums of squares about a row near the others lose fewer digits
            shift = block.mean(axis=0)
        apart = block - shift
        n += len(block)
        total = total + apart.sum(axis=0)
        squares = squares + np.square(apart).sum(axis=0)
    assert shift is not None
    offset = np.asarray(total) / n
    mean = shift + offset
    return mean, _scale(np.asarray(squares) / n - offset**2, np.abs(mean))


def _scale(variance: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviations; 1 where they are rounding of the columns' size."""
    deviation = np.sqrt(np.maximum(variance, 0.0))
    return np.where(deviation > 1e-12 * size, deviation, 1.0)


def _each(rows: Any) -> Any:
    return (rows[i] for i in range(len(rows))) if is_blocks(rows) else [rows]
