"""Labels as codes, and the contingency table of two labelings."""

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import entropy as shannon_entropy

from polymeans._validation import check_weights

#: Below this a share of information counts as rounding of sums in float64. Labels of n rows that
#: are not exactly independent share more than that unless n is in the millions.
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
    """Contingency table of two columns of codes.

    Only cells with weight are stored, so there are never more of them than rows. Without weights
    cells are counts, so that perfect scores are exact.
    """
    shape = (classes.max() + 1, clusters.max() + 1)
    table = sp.coo_array((weights, (classes, clusters)), shape=shape).tocsc()
    table.eliminate_zeros()
    return table


def row_weights(sample_weight: Any, rows: NDArray[Any]) -> NDArray[np.float64]:
    """The weights given, or ones."""
    return np.ones(len(rows)) if sample_weight is None else check_weights(sample_weight, rows)


def check_same_rows(names: tuple[str, str], first: NDArray[Any], second: NDArray[Any]) -> None:
    """Raise unless both have the same number of rows."""
    if len(first) != len(second):
        raise ValueError(
            f"{names[0]} and {names[1]} must have one label for each row, got {len(first)} and "
            f"{len(second)} labels. Pass labels of the same rows in the same order."
        )


def variation(table: sp.csc_array) -> float:
    """Variation of information, ``H(a|b) + H(b|a)``, in nats."""
    cells = table.tocoo()
    rows, columns = table.sum(axis=1)[cells.row], table.sum(axis=0)[cells.col]
    # Equal labelings fill one cell in each row and column: logarithms of exactly one.
    unknown = cells.data @ np.log(rows / cells.data) + cells.data @ np.log(columns / cells.data)
    return float(unknown / cells.data.sum())


def normalized_information(table: sp.csc_array) -> float:
    """Mutual information over the mean of both entropies, ``1 - variation / (H(a) + H(b))``.

    Computed from the variation it is exactly one for equal labelings; computed from sums of
    logarithms it would be off by rounding. As in scikit-learn, two labelings that both have a
    single label are equal.
    """
    entropies = shannon_entropy(table.sum(axis=1)) + shannon_entropy(table.sum(axis=0))
    if entropies == 0:
        return 1.0
    share = float(1 - variation(table) / entropies)
    return share if share > _ROUNDING else 0.0


def codes(name: str, labels: Any) -> NDArray[np.int64]:
    """Labels replaced by their positions among the sorted distinct labels."""
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


def code_both_tables(
    labels_true: Any, labels_pred: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of both tables of labels, which must have the same rows."""
    true, pred = code_columns("labels_true", labels_true), code_columns("labels_pred", labels_pred)
    check_same_rows(("labels_true", "labels_pred"), true, pred)
    return true, pred


def refine(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes of the joint labels: rows have the same one if they agree in both labelings."""
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
        # NumPy converts numbers in a list of strings to strings, and a missing one to "nan".
        return np.asarray(labels, dtype=object)
    return array


def _n_missing(labels: NDArray[Any]) -> int:
    if labels.dtype.kind in "fcmM":
        return int(np.count_nonzero(np.isnan(labels)))
    if labels.dtype.kind == "O":
        return sum(isinstance(label, Real) and label != label for label in labels)
    return 0
