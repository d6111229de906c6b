"""Labels as codes, and the table of the rows two labelings share: what all measures count."""

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans._validation import check_weights


def contingency(
    y_true: Any,
    y_pred: Any,
    sample_weight: Any = None,
    names: tuple[str, str] = ("y_true", "y_pred"),
) -> sp.csc_array:
    """Weight of the rows of each class (table row) in each cluster (table column)."""
    classes, clusters = codes(names[0], y_true), codes(names[1], y_pred)
    check_same_rows(names, classes, clusters)
    return tabulate(classes, clusters, row_weights(sample_weight, classes))


def tabulate(
    classes: NDArray[np.int64], clusters: NDArray[np.int64], weights: NDArray[np.float64]
) -> sp.csc_array:
    """The table of two columns of codes.

    Only cells that have weight are stored, so the table never has more of them than there are
    rows. Without weights it holds counts, which makes perfect scores exact.
    """
    shape = (classes.max() + 1, clusters.max() + 1)
    table = sp.coo_array((weights, (classes, clusters)), shape=shape).tocsc()
    table.eliminate_zeros()
    return table


def row_weights(sample_weight: Any, rows: NDArray[Any]) -> NDArray[np.float64]:
    """The weights given, or ones."""
    return np.ones(len(rows)) if sample_weight is None else check_weights(sample_weight, rows)


def check_same_rows(names: tuple[str, str], first: NDArray[Any], second: NDArray[Any]) -> None:
    """Raise unless both have as many rows."""
    if len(first) != len(second):
        raise ValueError(
            f"{names[0]} and {names[1]} must have one label for each row, got {len(first)} and "
            f"{len(second)} labels. Pass labels of the same rows in the same order."
        )


def codes(name: str, labels: Any) -> NDArray[np.int64]:
    """Labels replaced by their places among the sorted different ones."""
    labels = _as_array(name, labels)
    if labels.ndim != 1:
        raise ValueError(
            f"{name} must have one dimension, got shape {labels.shape}. "
            "Pass one label for each row; of several columns of labels, pass one at a time."
        )
    if not len(labels):
        raise ValueError(f"{name} must have at least one label, got none. Pass one for each row.")
    n_missing = _n_missing(labels)
    if n_missing:
        raise ValueError(
            f"{name} must not have missing labels, got {n_missing} NaN. "
            "Drop these rows from both label arrays or give them a label of their own."
        )
    try:
        return np.unique(labels, return_inverse=True)[1]
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        raise TypeError(
            f"{name} must have labels that can be sorted, got a mixture of {', '.join(kinds)}. "
            "Convert all of them to strings or to integers."
        ) from error


def _as_array(name: str, labels: Any) -> NDArray[Any]:
    try:
        array = np.asarray(labels)
    except ValueError as error:
        raise ValueError(
            f"{name} must have equally many labels in each row, got rows of different lengths. "
            "Pass an array of shape (n_samples,) or (n_samples, n_labelings)."
        ) from error
    if array.dtype.kind in "SU" and not isinstance(labels, np.ndarray):
        # In a list of words NumPy makes words of numbers too, and the word "nan" of a missing one.
        return np.asarray(labels, dtype=object)
    return array


def _n_missing(labels: NDArray[Any]) -> int:
    if labels.dtype.kind in "fcmM":
        return np.count_nonzero(np.isnan(labels))
    if labels.dtype.kind == "O":
        return sum(isinstance(label, Real) and label != label for label in labels)
    return 0
