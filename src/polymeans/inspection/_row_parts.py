"""Rows of every kind, part by part, as the last step of a model sees them."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._not_rows import refuse_loaders
from polymeans._rows import (
    checked_blocks,
    is_blocks,
    is_dask,
    on_dask,
    weights_beside,
    with_weights,
)
from polymeans._validation import check_rows, check_weights
from polymeans.blocks.checked import check_blocks
from polymeans.core.rows import stacked
from polymeans.core.sparse_structure import checked_matrix


@dataclass(frozen=True)
class Part:
    """Some consecutive rows."""

    first: int  #: number of the first one among all rows
    rows: Any  #: as the last step clusters them: checked, an array or CSR
    described: Any  #: the same rows in the features that are described
    weights: NDArray[np.float64]


def last_step(model: Any) -> Any:
    """The fitted clustering: the model itself, or the last step of a Pipeline."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if not hasattr(last, "fit") or isinstance(last, type):
        raise TypeError(
            f"model must be a fitted clustering or a Pipeline that ends in one, got {model!r}. "
            "Call fit first and pass the estimator."
        )
    check_is_fitted(last)
    return getattr(last, "best_estimator_", last)  # what a selector has chosen


class RowParts:
    """Rows for a fitted model, read once from first to last.

    Parameters
    ----------
    model : estimator
        A fitted clustering, or a Pipeline that ends in one.
    X : array-like, CSR, frame, Blocks, Dask collection, or whatever the Pipeline takes
    feature_names : sequence of str or None
        Names of the described features. None: those of the rows, of the Pipeline or of the fit,
        else numbers.
    sample_weight : array-like or None
    """

    def __init__(
        self, model: Any, X: Any, feature_names: Sequence[Any] | None, sample_weight: Any
    ) -> None:
        self.last = last_step(model)
        refuse_loaders(X)
        self._front = None
        if hasattr(model, "steps") and len(model.steps) > 1:
            self._front = model[:-1]
        if is_dask(X):
            X, sample_weight = on_dask().as_blocks(X), _in_memory(sample_weight)
        self.in_blocks = is_blocks(X)
        self.frame_library = _library_of(X)
        #: Index of a pandas frame, if it says more than the position.
        self.index = _index_of(X)
        #: Whether features are those that were given, although a Pipeline changes them.
        self.as_given = self._front is None
        self._X, self._sample_weight = X, sample_weight
        if self.in_blocks:
            blocks = check_blocks(X)
            self.n_samples, self.dtype = blocks.n_samples, blocks.dtype
            self.is_sparse = blocks.is_sparse
            n_described = blocks.n_features
            self.as_given = True
        else:
            self._rows = self._in_front(X)
            self.n_samples, self.dtype = self._rows.shape[0], self._rows.dtype
            self._described = self._given_numbers(X)
            self.is_sparse = sp.issparse(self._described)
            n_described = self._described.shape[1]
            self._weights = check_weights(sample_weight, self._rows)
        #: Whether a Pipeline changes the described features before they are clustered.
        self.in_other_units = self._front is not None and self.as_given
        self.n_described = n_described
        self.named = True  #: whether features have names; else they are numbered
        self.names = self._names(feature_names, n_described)

    def _in_front(self, X: Any) -> Any:
        """Rows of memory after the steps before the last one, checked."""
        if self._front is not None:
            X = self._front.transform(X)
        return check_rows(self.last, X, reset=False) if _is_ours(self.last) else _plain(X)

    def _given_numbers(self, X: Any) -> Any:
        """The features as they were given, if all are numbers; else those of the last step."""
        if self._front is None:
            return self._rows
        try:
            given = _plain(X)
        except (TypeError, ValueError):
            return self._rows
        self.as_given = True
        return given

    def _names(self, given: Sequence[Any] | None, n_features: int) -> list[str]:
        if given is not None:
            names = [str(name) for name in given]
            if len(names) != n_features:
                raise ValueError(
                    f"feature_names must have one entry for each of {n_features} features, got "
                    f"{len(names)}. Name the columns of X in their order."
                )
            return names
        for names in (self._names_of_rows(), self._names_of_front(), self._names_of_fit()):
            if names is not None and len(names) == n_features:
                return [str(name) for name in names]
        self.named = False
        return [f"feature {j}" for j in range(n_features)]

    def _names_of_rows(self) -> Any:
        names = getattr(self._X, "feature_names", None)  # blocks
        return getattr(self._X, "columns", names) if self.as_given else None

    def _names_of_front(self) -> Any:
        if self._front is None or self.as_given:
            return None
        try:
            return self._front.get_feature_names_out()
        except (AttributeError, ValueError):  # a step that does not name its features
            return None

    def _names_of_fit(self) -> Any:
        return getattr(self.last, "feature_names_in_", None) if self._front is None else None

    def __iter__(self) -> Generator[Part, None, None]:
        if not self.in_blocks:
            yield Part(0, self._rows, self._described, self._weights)
        else:
            first = 0
            with closing(self._blocks()) as blocks:
                for raw, weights in blocks:
                    rows = raw if self._front is None else self._in_front(raw)
                    yield Part(first, rows, raw, weights)
                    first += raw.shape[0]

    def _blocks(self) -> Generator[Any, None, None]:
        """Blocks and weights, checked against the fit, or as they are for a Pipeline."""
        if self._front is None and _is_ours(self.last):
            return checked_blocks(self.last, self._X, self._sample_weight)
        blocks = check_blocks(self._X)
        return with_weights(blocks, weights_beside(self._sample_weight, blocks))

    def take(self, numbers: NDArray[np.int64]) -> Any:
        """Described rows by number, in the order of ``numbers``; blocks are read again."""
        if not self.in_blocks:
            return self._described[numbers]
        blocks = check_blocks(self._X)
        edges = np.concatenate([[0], np.cumsum(blocks.sizes)])
        owners = np.searchsorted(edges, numbers, side="right") - 1
        order, found = [], []
        for owner in np.unique(owners):
            block = blocks[int(owner)]
            rows = block[0] if isinstance(block, tuple) else block
            mine = np.flatnonzero(owners == owner)
            order.append(mine)
            found.append(rows[numbers[mine] - edges[owner]])
        back = np.argsort(np.concatenate(order))
        return stacked(found)[back]


def _is_ours(model: Any) -> bool:
    return hasattr(model, "_predict")


def _plain(X: Any) -> Any:
    """Numbers of a frame or array as float64 or float32, or CSR; an error if they are not."""
    return checked_matrix(X)


def _in_memory(values: Any) -> Any:
    """Weights or labels as an array, also those of a Dask collection."""
    if values is None:
        return None
    return np.asarray(values.compute() if is_dask(values) else values)


def _library_of(X: Any) -> str | None:
    """The library of a frame."""
    top = type(X).__module__.partition(".")[0]
    return top if top in ("pandas", "polars") else None


def _index_of(X: Any) -> Any:
    """Index of a pandas frame; None if it counts rows from zero, and for other rows."""
    if _library_of(X) != "pandas" or not hasattr(X, "index"):
        return None
    return None if X.index.equals(import_module("pandas").RangeIndex(len(X))) else X.index
