"""What has to be known about rows before the space is chosen in which they are clustered."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_weight_range
from polymeans.core.rows import Rows, is_csr
from polymeans.engine.placement import Kept, Placement
from polymeans.engine.prepared import RawBlock


@dataclass(frozen=True)
class Glimpse:
    """Ranges and counts of all rows; those of parts add up."""

    shape: tuple[int, int]
    is_sparse: bool
    smallest: float  #: value; zero where only some are stored
    n_nonzeros: int
    largest: float  #: absolute value
    largest_counted: float  #: the same, of rows of positive weight

    @classmethod
    def of(cls, X: Rows, weights: NDArray[np.float64]) -> "Glimpse":
        """Of rows in canonical format."""
        values = X.data if is_csr(X) else X
        largest = counted = _largest(X)
        if not weights.all():
            counted = _largest(X[np.flatnonzero(weights)])
        return cls(
            X.shape,
            is_csr(X),
            float(values.min(initial=0)),
            int(np.count_nonzero(values)),
            largest,
            counted,
        )

    def __add__(self, other: "Glimpse") -> "Glimpse":
        return Glimpse(
            (self.shape[0] + other.shape[0], self.shape[1]),
            self.is_sparse,
            min(self.smallest, other.smallest),
            self.n_nonzeros + other.n_nonzeros,
            max(self.largest, other.largest),
            max(self.largest_counted, other.largest_counted),
        )


def glimpse(placement: Placement) -> tuple[Glimpse, NDArray[np.float64], NDArray[np.bool_]]:
    """Of rows in blocks; and their weights, and which rows have an entry other than zero."""
    found = placement.map(glimpse_of_block)
    parts, some = zip(*found)
    weights = np.concatenate(placement.recall(user_weights))
    positive = weights[weights > 0]
    check_weight_range(
        float(positive.min(initial=np.inf)), float(weights.max()), float(weights.sum())
    )
    return sum(parts[1:], parts[0]), weights, np.concatenate(some)


def glimpse_of_block(raw: RawBlock, kept: Kept) -> tuple[Glimpse, NDArray[np.bool_]]:
    """Of one block; keeps its weights."""
    X = raw.rows
    kept.weights = raw.weights
    return Glimpse.of(X, kept.all_weights()), has_entries(X)


def user_weights(kept: Kept) -> NDArray[np.float64]:
    """Weights as they were given."""
    return kept.all_weights()


def has_entries(X: Rows) -> NDArray[np.bool_]:
    """Which rows have an entry other than zero."""
    if is_csr(X):
        owner = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(owner, X.data != 0, minlength=X.shape[0]) > 0
    return np.any(X != 0, axis=1)


def _largest(X: Rows) -> float:
    values = X.data if is_csr(X) else X
    return max(float(values.max(initial=0)), -float(values.min(initial=0)))
