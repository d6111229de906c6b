"""Labels of new dense rows: one pass over the rows, and no survey.

A fit measures all rows first, because it adds them up. New rows are only compared with centroids:
the bound on the error of a score needs the norm of that row alone, which is found on the way, and a
row that is too long for fast scores is labeled by exact ones. So the label of a row depends on
that row and the centroids, whatever other rows there are.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import combine
from polymeans.codebooks.dense import DenseCodebook
from polymeans.core.frame import LONGEST, Frame, is_ordinary
from polymeans.engine.blocks import DenseBlock
from polymeans.engine.byte_assigners import ByteLloyd
from polymeans.engine.dense_assigners import DenseLloyd
from polymeans.engine.lane_assigners import LaneLloyd
from polymeans.engine.nearest import decide_contested
from polymeans.engine.plain_assigners import BytesOrScores

#: Rows up to which exact scores take less time than bringing centroids into groups.
_FEW_ROWS = 8

#: Features up to which rows side by side are faster than tiles, which need the norms of the rows
#: beforehand, as measured.
_MOST_FEATURES = 1024

#: Numbers in a table of combinations that is made for one call: a mebibyte takes a tenth of a
#: millisecond, less than what it saves.
_SMALL_TABLE = 2**17

_NOTHING = np.empty(0)


def label_new_rows(X: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.int32] | None:
    """The nearest centroid of each row, the lowest index among equals.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        C-ordered, float32 or float64. Need not be finite.
    centers : ndarray of shape (n_clusters, n_features)
        Of the same dtype, finite.

    Returns
    -------
    ndarray of shape (n_samples,) or None
        None if rows are not finite, or if centroids or rows are too long or too short for scores in
        their own unit.
    """
    if len(X) <= _FEW_ROWS:
        return _label_few(X, centers) if np.isfinite(X).all() else None
    if not is_ordinary(float(np.abs(centers).max())):
        return None
    block = block_near(X, centers)
    codebook = DenseCodebook(centers)
    labels = np.full(len(X), -1, dtype=np.int32)
    looker = _looker(block, codebook, labels)
    if isinstance(looker, DenseLloyd):
        if not block.norms.max() < LONGEST:  # not if one is NaN
            return None
        looker.assign(codebook, labels, labels)
    else:
        looker.assign(codebook, labels, labels)
        # Long rows have exact labels already, but a row that is not finite looks long too.
        if looker.n_extreme and not np.isfinite(X).all():
            return None
        if looker.n_settled == 0:
            return labels
    decide_contested(block, codebook, labels)
    return labels


def _looker(
    block: DenseBlock, codebook: DenseCodebook, likely: NDArray[np.int32]
) -> ByteLloyd | LaneLloyd | DenseLloyd:
    """What looks at all centroids for such rows."""
    n_clusters = codebook.n_clusters
    if BytesOrScores.serves(block, n_clusters):
        chosen = BytesOrScores(block, n_clusters).chosen(codebook, likely)
        if isinstance(chosen, ByteLloyd):
            return chosen
    return (LaneLloyd if block.n_features <= _MOST_FEATURES else DenseLloyd)(block, n_clusters)


def label_few_by_grid(
    X: NDArray[Any], sets: Sequence[NDArray[Any]], aggregator: str, largest: float
) -> NDArray[np.int32] | None:
    """The nearest combination of protocentroids for a few rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        C-ordered, float32 or float64. Need not be finite.
    sets : sequence of ndarray
        Protocentroids of the same dtype.
    aggregator : {"sum", "product"}
    largest : float
        No coordinate of a combination is larger.

    Returns
    -------
    ndarray of shape (n_samples,) or None
        None if rows or combinations are many, if rows are not finite, or if one of both is too long
        or too short for scores in its own unit.
    """
    n_clusters = math.prod(len(part) for part in sets)
    if not 0 < len(X) <= _FEW_ROWS or n_clusters * X.shape[1] > _SMALL_TABLE:
        return None
    if not (is_ordinary(largest) and is_ordinary(max(float(X.max()), -float(X.min())))):
        return None
    # Combinations are float64; products, not sums, are then rounded to the dtype of the rows.
    table = combine([part.astype(np.float64) for part in sets], aggregator)
    if aggregator == "product":
        return _label_few(X, table.astype(X.dtype, copy=False))
    return _label_few(X.astype(np.float64, copy=False), table)


def block_near(X: NDArray[Any], centers: NDArray[Any]) -> DenseBlock:
    """Dense rows of which nothing is known, measured from the middle of some centroids."""
    from polymeans.kernels.dense_lanes import middle_of

    shift = np.empty(X.shape[1], dtype=X.dtype)
    shifted = middle_of(centers, shift)
    return DenseBlock(X, _NOTHING, Frame.of_dense(len(X), shift, shifted))


def _label_few(X: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.int32]:
    """The same by exact scores, which need no other numbers, of any finite rows."""
    from polymeans.kernels import nearest
    from polymeans.kernels.rows import Book, DenseArrays

    labels = np.empty(len(X), dtype=np.int32)
    k = len(centers)
    book = Book(centers, np.ones(k), np.zeros(k), 0)
    outer = nearest.Outer(np.empty((0, 0)), np.empty(0, dtype=bool), 1.0, np.empty(0, np.int32))
    every = np.empty(0, dtype=np.int64)
    nearest.label_exactly(DenseArrays(X), _NOTHING, book, outer, every, 0, len(X), labels)
    return labels
