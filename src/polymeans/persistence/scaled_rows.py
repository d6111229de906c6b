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
        if mean is not None:
            raise ValueError(
                "Rows are sparse, but the model was fitted to dense rows less their mean. Give "
                "dense rows."
            )
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
        block = self._blocks[i]
        if isinstance(block, tuple):  # with weights
            return _changed(block[0], self._columns, self._scaling), *block[1:]
        return _changed(block, self._columns, self._scaling)
