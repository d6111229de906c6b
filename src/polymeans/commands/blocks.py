"""Mean and variance of rows in memory or in blocks."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.persistence.scaled_rows import Scaling, is_blocks


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
