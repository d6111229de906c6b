"""Weights that are given beside the rows: an array, or a file of them."""

import os
from typing import Any

import numpy as np

from polymeans.blocks.files import Stamp, file_of


class RowWeights:
    """One weight for each row of all blocks, sliced by the rows' global numbers.

    Parameters
    ----------
    weights : array-like of shape (n_samples,), or path
        A path names a ``.npy`` file, which is not loaded as a whole.
    """

    def __init__(self, weights: Any) -> None:
        self._stamp: Stamp | None = None
        self._weights: Any
        if isinstance(weights, str | os.PathLike):
            self._weights = file_of(weights)
            self._stamp = Stamp.of(self._weights)
        else:
            self._weights = np.asanyarray(weights)

    def check_length(self, n_samples: int) -> None:
        """Raise unless there is one weight for each row."""
        shape = self._array().shape
        if shape != (n_samples,):
            raise ValueError(
                f"weights has the shape {shape}, but there are {n_samples} rows. Give one weight "
                "for each row of all blocks, in their order."
            )

    def __getitem__(self, rows: slice) -> Any:
        if self._stamp is not None:
            self._stamp.check()
        return self._array()[rows]

    def _array(self) -> Any:
        if self._stamp is None:
            return self._weights
        try:
            return np.load(self._weights, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise ValueError(f"weights: {self._weights} is no .npy file: {error}") from error


def row_weights(weights: Any) -> RowWeights | None:
    """Weights given beside the rows, if there are any."""
    return None if weights is None else RowWeights(weights)
