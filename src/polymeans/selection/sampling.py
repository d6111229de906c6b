"""Rows as selections take them: checked, and a sample of them in memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polymeans._rows import is_blocks, is_dask
from polymeans._validation import check_rows, errors_that_name, match_features
from polymeans.blocks.checked import check_blocks
from polymeans.blocks.read_ahead import read_ahead
from polymeans.core.rows import stacked


class InputNames(BaseEstimator):
    """Stands for an estimator where rows are checked before there is one: knows features' names."""

    def hand_on(self, model: Any) -> None:
        """Let a model that was fitted to the checked rows know the names of their features."""
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def check_input(X: Any) -> tuple[Any, InputNames]:
    """Rows as an array or CSR matrix of floats, or blocks; an error for Dask collections."""
    if is_dask(X):
        raise TypeError(
            "X must be an array, a CSR matrix, a dataframe or Blocks, got a Dask collection. Draw "
            "some rows with X[chosen].compute(), or pass Blocks."
        )
    names = InputNames()
    if not is_blocks(X):
        with errors_that_name("X"):
            return check_rows(names, X, reset=True), names
    blocks = check_blocks(X)
    match_features(names, blocks.n_features, getattr(X, "feature_names", None), reset=True)
    return blocks, names


def n_rows_of(rows: Any) -> int:
    """Number of rows, in memory or not."""
    return int(rows.shape[0] if hasattr(rows, "shape") else rows.n_samples)


def draw_rows(rows: Any, size: int, rng: np.random.Generator) -> Any:
    """Some rows in memory, without repetition and in their order; all if there are not more."""
    n_rows = n_rows_of(rows)
    if not hasattr(rows, "shape"):
        return _taken(rows, draw_numbers(n_rows, size, rng))
    return rows if n_rows <= size else rows[draw_numbers(n_rows, size, rng)]


def draw_numbers(n_rows: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of some rows, without repetition and rising; all if there are not more."""
    if n_rows <= size:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, size, replace=False))


def _taken(blocks: Any, chosen: NDArray[np.int64]) -> Any:
    """Rows of blocks by number, in one pass."""
    first, parts = 0, []
    for block in read_ahead(blocks):
        rows = block[0] if isinstance(block, tuple) else block
        last = first + rows.shape[0]
        lo, hi = np.searchsorted(chosen, [first, last])
        parts.append(rows[chosen[lo:hi] - first])
        first = last
    return stacked(parts)
