"""Rows as estimators take them: in one piece in memory, or in blocks that are read in each pass."""

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_rows, check_weights, shown
from polymeans.blocks.aligned import aligned
from polymeans.blocks.checked import CheckedBlocks, check_blocks, refuse_one_shot
from polymeans.blocks.protocol import Blocks
from polymeans.blocks.read_ahead import read_ahead
from polymeans.core.contracts import Rows
from polymeans.engine.placement import Placement
from polymeans.engine.prepared import Source
from polymeans.engine.streamed import Streamed, refuse_two_weights

#: What a fit works on: rows and weights in memory, or wherever blocks are.
FitRows = Source | Placement

#: Entries of sparse blocks that were not read yet: many.
_UNKNOWN = 2**62


@dataclass(frozen=True)
class RowsInfo:
    """What is known about rows without a pass over them."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    n_stored: int
    in_memory: bool

    @classmethod
    def of(cls, rows: FitRows) -> "RowsInfo":
        """Of all rows together."""
        if isinstance(rows, tuple):
            X = rows[0]
            return cls(X.shape, X.dtype, getattr(X, "nnz", X.size), True)
        n_stored = _UNKNOWN if rows.is_sparse else rows.shape[0] * rows.shape[1]
        return cls(rows.shape, rows.dtype, n_stored, False)


def is_blocks(X: Any) -> bool:
    """Whether rows are blocks, which no function of scikit-learn may see."""
    if isinstance(X, np.ndarray):
        return False
    refuse_one_shot(X, "X")
    return isinstance(X, Blocks)


def refuse_callable_start(init: Any) -> None:
    """Raise if a start needs all rows at the same time, which blocks never are."""
    if callable(init):
        raise ValueError(
            f"init={shown(init)} is called with all rows, but rows that are read in blocks are "
            "never in memory at the same time. Give an array, or the name of a method."
        )


def rows_to_fit(estimator: Any, X: Any, sample_weight: Any) -> FitRows:
    """What a fit works on, checked as far as it can be without reading blocks."""
    if not is_blocks(X):
        rows = check_rows(estimator, X, reset=True)
        return rows, check_weights(sample_weight, rows)
    blocks = aligned(_matching_blocks(estimator, X, reset=True), estimator._block_multiple)
    verbose = int(estimator.verbose) > 1
    return Streamed(
        blocks,
        weights_beside(sample_weight, blocks),
        logging.INFO if verbose else logging.DEBUG,
    )


def checked_blocks(
    estimator: Any, X: Any, sample_weight: Any = None
) -> Iterator[tuple[Rows, NDArray[np.float64]]]:
    """Blocks of rows for a fitted estimator, and their weights, one after the other.

    They are checked against what was fitted at once, and read later.
    """
    blocks = _matching_blocks(estimator, X, reset=False)
    return _with_weights(blocks, weights_beside(sample_weight, blocks))


def _with_weights(
    blocks: CheckedBlocks, given: NDArray[np.float64] | None
) -> Iterator[tuple[Rows, NDArray[np.float64]]]:
    first = 0
    with closing(read_ahead(blocks)) as ahead:
        for block in ahead:
            rows, weights = block if isinstance(block, tuple) else (block, None)
            if weights is not None and given is not None:
                refuse_two_weights()
            n_rows = rows.shape[0]
            if given is not None:
                weights = given[first : first + n_rows]
            first += n_rows
            yield rows, np.ones(n_rows) if weights is None else weights


def weights_beside(sample_weight: Any, blocks: CheckedBlocks) -> NDArray[np.float64] | None:
    """Weights given as an argument, checked; None if there are none."""
    if sample_weight is None:
        return None
    if blocks.brings_weights:
        refuse_two_weights()
    shape = blocks.n_samples, blocks.n_features
    return check_weights(sample_weight, RowsInfo(shape, blocks.dtype, 0, False))


def _matching_blocks(estimator: Any, X: Any, reset: bool) -> CheckedBlocks:
    """Blocks with the features that an estimator knows, or gets to know."""
    blocks = check_blocks(X)
    names = getattr(X, "feature_names", None)
    known = getattr(estimator, "feature_names_in_", None)
    if reset:
        estimator.n_features_in_ = blocks.n_features
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        elif known is not None:
            del estimator.feature_names_in_
        return blocks
    if blocks.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {blocks.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    if names is not None and known is not None and list(names) != list(known):
        raise ValueError(
            "The feature names should match those that were passed during fit: the blocks have "
            f"{list(names)[:5]}, the fit had {list(known)[:5]} (at most five are shown)."
        )
    return blocks
