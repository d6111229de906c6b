"""Which columns of a frame an error is about: scikit-learn names a value, or nothing at all."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Columns that an error lists at most.
_MOST_LISTED = 8

#: How errors about names and numbers of columns begin: they say what is wrong.
_CLEAR = ("The feature names", "Feature names", "X has ")


@contextmanager
def errors_that_name_columns(X: Any) -> Iterator[None]:
    """Let errors about rows say which columns of a frame are the reason, and what to do.

    Parameters
    ----------
    X : object
        What a method of an estimator got. Of anything but a frame errors stay as they are.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        message = _about_columns(X, error)
        if message is None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(message) from error


def about_values(error: ValueError, names: Sequence[Any], X: NDArray[Any]) -> str | None:
    """An error about NaN or infinity, with the names of the columns that have them.

    Parameters
    ----------
    error : ValueError
        Of scikit-learn.
    names : sequence
        Of all columns.
    X : ndarray
        Their values.

    Returns
    -------
    message : str or None
        None if no column has such values.
    """
    bad = [name for name, is_bad in zip(names, ~np.isfinite(X).all(axis=0)) if is_bad]
    if not bad:
        return None
    first = str(error).partition("\n")[0]
    return (
        f"{first} Such values are in {_listed(bad)}. Drop these rows, or fill in the values, with "
        "sklearn.impute for example."
    )


def _about_columns(X: Any, error: Exception) -> str | None:
    columns = getattr(X, "columns", None)
    if columns is None or getattr(X, "ndim", 2) != 2 or len(set(columns)) < len(columns):
        return None
    if str(error).startswith(_CLEAR):
        return None
    values = {name: _numbers(X[name]) for name in columns}
    texts = [name for name, found in values.items() if found is None]
    if texts:
        kinds = dict.fromkeys(str(X[name].dtype) for name in texts)
        reason = str(error).partition("\n")[0]
        why = f" ({reason:.100})" if isinstance(error, ValueError) else ""  # others are about types
        return (
            f"Values of type {', '.join(kinds)} in {_listed(texts)} are no numbers{why}. Leave "
            "them out, or make numbers of them, with sklearn.preprocessing.OneHotEncoder or "
            "X.astype({...: float}) for example."
        )
    numbers = [found for found in values.values() if found is not None]
    if not (isinstance(error, ValueError) and numbers):
        return None
    return about_values(error, list(values), np.column_stack(numbers))


def _numbers(column: Any) -> NDArray[np.float64] | None:
    """A column as numbers; None if it has none."""
    if hasattr(column, "isna") and column.dtype.kind in "biuf":  # pandas has missing integers
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    array = np.asarray(column)
    if array.dtype.kind in "mMc":  # numpy makes numbers of dates
        return None
    try:
        return array.astype(np.float64)
    except (ValueError, TypeError):
        return None


def _listed(names: Sequence[Any]) -> str:
    listed = [repr(name) for name in names]
    if len(listed) > _MOST_LISTED:
        listed[_MOST_LISTED - 1 :] = [f"{len(listed) - _MOST_LISTED + 1} more"]
    return f"column{'s' * (len(names) > 1)} {', '.join(listed)} of X"
