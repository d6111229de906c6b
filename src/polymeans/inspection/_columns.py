"""Columns that clusters are compared with: values to count, or numbers to average."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._rows import is_dask
from polymeans._validation import shown
from polymeans.inspection.compared_columns import ColumnMeans, Crosstab

#: Distinct values of a column above which a crosstab would not be read.
_MOST_VALUES = 200

#: Distinct numbers of a column that are counted, as codes of classes are. More are averaged.
_MOST_NUMBERS = 30

MISSING = "missing"


class Counted:
    """Codes of the values of a column, and how they are written.

    Parameters
    ----------
    name : str
    array : ndarray of shape (n_samples,) of object
        Strings, booleans, dates, few numbers.
    missing : ndarray of bool of shape (n_samples,)
        Where there is no value.
    """

    def __init__(self, name: str, array: NDArray[Any], missing: NDArray[np.bool_]) -> None:
        self.name = name
        texts = np.array([str(value) for value in array[~missing]], dtype=object)
        found, inverse = _sorted_values(array[~missing], texts)
        if len(found) > _MOST_VALUES:
            raise ValueError(
                f"y has {len(found)} distinct values in {name!r}, more than a crosstab of "
                f"{_MOST_VALUES} columns shows. Group them first, by pandas.qcut for example, or "
                "pass numbers, which are averaged."
            )
        self.codes = np.full(len(array), len(found), dtype=np.int64)
        self.codes[~missing] = inverse
        self.values = (*found, *([MISSING] if missing.any() else []))
        self.width = len(self.values)

    def count(
        self, labels: NDArray[np.int64], weights: NDArray[np.float64], first: int, k: int
    ) -> NDArray[np.float64]:
        """Weight of rows ``first``, ... of each cluster with each value."""
        codes = self.codes[first : first + len(labels)]
        counts = np.zeros((k, self.width))
        np.add.at(counts, (labels, codes), weights)
        return counts

    def result(self, clustering: str, sums: NDArray[np.float64]) -> Crosstab:
        """What is said about the column, from the sum of all counts."""
        return Crosstab(clustering, self.name, self.values, sums)


class Averaged:
    """Numbers of a column, measured from their mean so that squares keep digits.

    Parameters
    ----------
    name : str
    values : ndarray of shape (n_samples,)
        NaN where there is no number.
    """

    width = 4

    def __init__(self, name: str, values: NDArray[np.float64]) -> None:
        self.name = name
        known = np.isfinite(values)
        self._unit = float(np.abs(values[known]).max(initial=0.0)) or 1.0
        scaled = np.where(known, values, 0.0) / self._unit
        self._origin = float(scaled[known].mean()) if known.any() else 0.0
        away = np.where(known, scaled - self._origin, 0.0)
        self._terms = np.column_stack([known, away, away**2, ~known]).astype(np.float64)

    def count(
        self, labels: NDArray[np.int64], weights: NDArray[np.float64], first: int, k: int
    ) -> NDArray[np.float64]:
        """Of rows ``first``, ...: weight, sums, squares, and weight without a number."""
        terms = self._terms[first : first + len(labels)] * weights[:, None]
        sums = np.zeros((k, self.width))
        np.add.at(sums, labels, terms)
        return sums

    def result(self, clustering: str, sums: NDArray[np.float64]) -> ColumnMeans:
        """What is said about the column, from the sum of all counts."""
        means, deviations = zip(*map(self._moments, sums))
        overall_mean, overall_deviation = self._moments(sums.sum(axis=0))
        return ColumnMeans(
            clustering,
            self.name,
            means,
            deviations,
            tuple(sums[:, 3].tolist()),
            0.0 if overall_mean is None else overall_mean,
            0.0 if overall_deviation is None else overall_deviation,
        )

    def _moments(self, sums: NDArray[np.float64]) -> tuple[float | None, float | None]:
        weight, total, squares, _ = sums.tolist()
        if weight <= 0:
            return None, None
        mean = total / weight
        variance = max(squares / weight - mean**2, 0.0)
        return (mean + self._origin) * self._unit, float(np.sqrt(variance)) * self._unit


Column = Counted | Averaged


def make_column(name: str, values: Any, n_samples: int) -> Column:
    """A column of numbers, strings, booleans or dates; None and NaN are missing.

    Parameters
    ----------
    name : str
    values : array-like of shape (n_samples,)
    n_samples : int
        How many there have to be.

    Returns
    -------
    Counted or Averaged
        Averaged if there are more than 30 different numbers.
    """
    given = values.compute() if is_dask(values) else values
    array = np.asarray(given, dtype=object)
    if array.shape != (n_samples,):
        raise ValueError(
            f"y must have one value for each of {n_samples} rows, got shape {array.shape} for "
            f"{name!r}. Pass the column of the same rows in the same order."
        )
    missing = np.array([_is_missing(value) for value in array], dtype=bool)
    known = array[~missing]
    if all(map(_is_number, known)) and len(set(known.tolist())) > _MOST_NUMBERS:
        numbers = np.full(n_samples, np.nan)
        numbers[~missing] = [_as_float(value) for value in known]
        return Averaged(name, numbers)
    return Counted(name, array, missing)


def columns_of(y: Any, n_samples: int) -> list[Column]:
    """Columns of ``y``: a single one, or those of a frame, a dict or a two-dimensional array."""
    if y is None:
        return []
    if isinstance(y, str | bytes):
        raise TypeError(
            f"y takes values, one for each row, got {shown(y)}. A name stands for a column of X "
            "only where X is a frame that has it: pass the values of the column."
        )
    if isinstance(y, dict):
        return [make_column(str(name), values, n_samples) for name, values in y.items()]
    if hasattr(y, "columns"):
        return [make_column(str(name), y[name], n_samples) for name in y.columns]
    shape = getattr(y, "shape", ())
    if len(shape) == 2:
        given = np.asarray(y, dtype=object)
        return [make_column(f"y{j}", column, n_samples) for j, column in enumerate(given.T)]
    return [make_column(str(getattr(y, "name", None) or "y"), y, n_samples)]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _as_float(value: Any) -> float:
    """A number; infinity for an integer that is too large."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")


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
