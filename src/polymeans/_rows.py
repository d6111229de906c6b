"""Rows as estimators take them: in one piece in memory, or in blocks that are read in each pass."""

import functools
import logging
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import check_rows, check_weights, match_features, shown
from polymeans.blocks.aligned import aligned
from polymeans.blocks.checked import CheckedBlocks, check_blocks, refuse_one_shot
from polymeans.blocks.protocol import Blocks
from polymeans.blocks.read_ahead import read_ahead
from polymeans.core.rows import Rows, is_csr
from polymeans.engine.placement import Placement
from polymeans.engine.prepared import Source
from polymeans.engine.streamed import Streamed, refuse_two_weights

#: What a fit works on: rows and weights in memory, or wherever blocks are.
FitRows = Source | Placement

_Method = TypeVar("_Method", bound=Callable[..., Any])

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
            return cls(X.shape, X.dtype, X.nnz if is_csr(X) else X.size, True)
        n_stored = _UNKNOWN if rows.is_sparse else rows.shape[0] * rows.shape[1]
        return cls(rows.shape, rows.dtype, n_stored, False)


def is_dask(X: Any) -> bool:
    """Whether rows are a Dask collection, which functions of scikit-learn would load as a whole."""
    return hasattr(X, "__dask_graph__") and not isinstance(X, type)


def on_dask() -> Any:
    """The package for Dask collections, imported when the first of them is met."""
    try:
        return import_module("polymeans.distributed")
    except ImportError as error:
        raise ImportError(
            'Dask collections need dask and distributed: pip install "polymeans[distributed]"'
        ) from error


def chunk_by_chunk(method: _Method) -> _Method:
    """Of Dask collections, let a method of a fitted estimator see one chunk at a time, later."""

    @functools.wraps(method)
    def lazily(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **options)
        check_is_fitted(self)
        return on_dask().by_chunk(self, method.__name__, X, *args, **options)

    return cast(_Method, lazily)


def is_in_parts(X: Any) -> bool:
    """Whether rows are not in memory, or not in one piece."""
    return is_dask(X) or is_blocks(X)


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


def refuse_parts(X: Any) -> None:
    """Raise if rows are no single batch in memory, before anything of them is read."""
    if is_dask(X):
        raise TypeError(
            f"X is a Dask {type(X).__name__}, but partial_fit learns from one batch in memory. "
            "Write `for i in range(X.npartitions): model.partial_fit(X.partitions[i].compute())`, "
            "or use fit, which takes the whole collection."
        )
    if is_blocks(X):
        raise TypeError(
            f"X is in blocks, {shown(X)}, but partial_fit learns from one batch in memory. Write "
            "`for block in X: model.partial_fit(block)`; for blocks with weights `for rows, "
            "weights in X: model.partial_fit(rows, sample_weight=weights)`. Or use fit, which "
            "takes all blocks."
        )


@contextmanager
def rows_to_fit(estimator: Any, X: Any, sample_weight: Any) -> Iterator[FitRows]:
    """What a fit works on, let go of in the end."""
    rows = _rows_to_fit(estimator, X, sample_weight)
    try:
        yield rows
    finally:
        if is_dask(X):
            rows.close()  # type: ignore[union-attr]


def in_input_form(rows: FitRows, attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a fit, with labels in the kind of collection that the rows came in."""
    if isinstance(rows, tuple) or not hasattr(rows, "as_collections"):
        return attributes
    return rows.as_collections(attributes)


def _rows_to_fit(estimator: Any, X: Any, sample_weight: Any) -> FitRows:
    """What a fit works on, checked as far as it can be without reading blocks."""
    if is_dask(X):
        return on_dask().rows_to_fit(estimator, X, sample_weight)
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
) -> Generator[tuple[Rows, NDArray[np.float64]], None, None]:
    """Blocks of rows for a fitted estimator, and their weights, one after the other.

    They are checked against what was fitted at once, and read later.
    """
    blocks = _matching_blocks(estimator, X, reset=False)
    return with_weights(blocks, weights_beside(sample_weight, blocks))


def with_weights(
    blocks: CheckedBlocks, given: NDArray[np.float64] | None
) -> Generator[tuple[Rows, NDArray[np.float64]], None, None]:
    """Blocks one after the other, with their own weights, those given for all rows, or ones."""
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
    match_features(estimator, blocks.n_features, getattr(X, "feature_names", None), reset)
    return blocks
