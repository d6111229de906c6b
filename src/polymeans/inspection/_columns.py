"""Columns that clusters are compared with: names, and codes of their values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._rows import is_dask

#: Distinct values of a column above which a crosstab would not be read.
_MOST_VALUES = 200

MISSING = "missing"


class Column:
    """Codes of the values of a column, and how they are written.

    Parameters
    ----------
    name : str
    values : array-like of shape (n_samples,)
        Numbers, strings, booleans, dates; None and NaN are missing.
    n_samples : int
        How many there have to be.
    """

    def __init__(self, name: str, values: Any, n_samples: int) -> None:
        self.name = name
        given = values.compute() if is_dask(values) else values
        array = np.asarray(given, dtype=object)
        if array.shape != (n_samples,):
            raise ValueError(
                f"y must have one value for each of {n_samples} rows, got shape {array.shape} for "
                f"{name!r}. Pass the column of the same rows in the same order."
            )
        missing = np.array([_is_missing(value) for value in array], dtype=bool)
        texts = np.array([str(value) for value in array[~missing]], dtype=object)
        found, inverse = _sorted_values(array[~missing], texts)
        if len(found) > _MOST_VALUES:
            raise ValueError(
                f"y has {len(found)} distinct values in {name!r}, more than a crosstab of "
                f"{_MOST_VALUES} columns shows. Group them first, by pandas.qcut for example."
            )
        self.codes = np.full(n_samples, len(found), dtype=np.int64)
        self.codes[~missing] = inverse
        self.values = (*found, *([MISSING] if missing.any() else []))

    def count(
        self, labels: NDArray[np.int64], weights: NDArray[np.float64], first: int, k: int
    ) -> NDArray[np.float64]:
        """Weight of rows ``first``, ... of each cluster with each value."""
        codes = self.codes[first : first + len(labels)]
        width = len(self.values)
        counts = np.zeros((k, width))
        np.add.at(counts, (labels, codes), weights)
        return counts


def columns_of(y: Any, n_samples: int) -> list[Column]:
    """Columns of ``y``: a single one, or those of a frame, a dict or a two-dimensional array."""
    if y is None:
        return []
    if isinstance(y, dict):
        return [Column(str(name), values, n_samples) for name, values in y.items()]
    if hasattr(y, "columns"):
        return [Column(str(name), y[name], n_samples) for name in y.columns]
    shape = getattr(y, "shape", ())
    if len(shape) == 2:
        given = np.asarray(y, dtype=object)
        return [Column(f"y{j}", column, n_samples) for j, column in enumerate(given.T)]
    return [Column(str(getattr(y, "name", None) or "y"), y, n_samples)]


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def _sorted_values(
    values: NDArray[Any], texts: NDArray[Any]
) -> tuple[list[str], NDArray[np.int64]]:
    """Distinct values as text, in the order of the values where they have one."""
    distinct = dict(zip(texts, values))  # a value for each text
    try:
        found = sorted(distinct, key=lambda text: distinct[text])
    except TypeError:  # values of several kinds
        found = sorted(distinct)
    place = {text: number for number, text in enumerate(found)}
    return found, np.array([place[text] for text in texts], dtype=np.int64)
