"""Labels as codes, and the table of the rows two labelings share: what all measures count."""

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import entropy as shannon_entropy

from polymeans._validation import check_weights

#: Below this a share of information is rounding: labels that are not exactly independent share
#: more unless they have millions of rows.
_ROUNDING = 1e-14


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


def variation(table: sp.csc_array) -> float:
    """What either labeling leaves open about the other, ``H(a|b) + H(b|a)``, in nats."""
    cells = table.tocoo()
    rows, columns = table.sum(axis=1)[cells.row], table.sum(axis=0)[cells.col]
    # Equal labelings fill one cell in each row and column: logarithms of exactly one.
    unknown = cells.data @ np.log(rows / cells.data) + cells.data @ np.log(columns / cells.data)
    return float(unknown / cells.data.sum())


def normalized_information(table: sp.csc_array) -> float:
    """Mutual information over the mean of both entropies, ``1 - variation / (H(a) + H(b))``.

    Written with the variation it is exactly one for equal labelings, which sums of logarithms are
    not. As in scikit-learn, two labelings that both have a single label are equal.
    """
    entropies = shannon_entropy(table.sum(axis=1)) + shannon_entropy(table.sum(axis=0))
    if entropies == 0:
        return 1.0
    share = float(1 - variation(table) / entropies)
    return share if share > _ROUNDING else 0.0


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


def as_columns(name: str, labels: Any) -> NDArray[Any]:
    """Labels as a table with one column for each labeling; a single labeling is one column."""
    labels = _as_array(name, labels)
    if labels.ndim == 1:
        return labels[:, np.newaxis]
    if labels.ndim != 2 or not labels.shape[1]:
        raise ValueError(
            f"{name} must have one column for each labeling, got shape {labels.shape}. "
            "Pass an array of shape (n_samples,) or (n_samples, n_labelings)."
        )
    return labels


def code_columns(name: str, labels: Any) -> NDArray[np.int64]:
    """Each column of labels replaced by codes."""
    return np.column_stack([codes(name, column) for column in as_columns(name, labels).T])


def refine(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes of the joint labels: rows are together if they are together in both."""
    # Codes are below the number of all rows, so their product does not overflow.
    return np.unique(first * (second.max() + 1) + second, return_inverse=True)[1]


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
