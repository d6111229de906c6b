"""Which columns of a frame an error is about: scikit-learn names a value, or nothing at all."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Columns that an error lists at most.
_MOST_LISTED = 8

#: Characters of a name that an error shows at most.
_LONGEST_NAME = 100

#: How errors about names and numbers of columns begin: they say what is wrong.
_CLEAR = ("The feature names", "Feature names", "X has ")

#: How types of dates, times and durations begin: in pandas, polars and pyarrow, in small letters.
_TIMES = ("date", "time", "duration")

#: What is wrong with a column.
_NO_NUMBERS, _MISSING, _INFINITE, _TOO_LARGE = "no numbers", "missing", "infinite", "too large"

_FILL_IN = "Drop these rows, or fill in the values, with sklearn.impute for example."
_FILL_IN_NA = "Drop these rows, with dropna(), or fill in the values, with fillna()."
_REPLACE = "Drop these rows, or replace the values, with numpy.clip for example."
_CONVERT = (
    "Leave them out, or make numbers of them, with sklearn.preprocessing.OneHotEncoder or "
    "X.astype({...: float}) for example."
)
_COUNT_TIME = (
    "Leave them out, or make numbers of them: the days, or seconds, since the first of them for "
    "example."
)


@contextmanager
def errors_that_name_columns(X: Any, what: str = "X") -> Iterator[None]:
    """Let errors about rows say which columns of a frame are the reason, and what to do.

    Parameters
    ----------
    X : object
        What a method of an estimator got. Of anything but a frame errors stay as they are.
    what : str, default="X"
        What to call it.
    """
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        message = _explained(X, what, error)
        if message is None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(message) from error


def column_names(X: Any) -> list[Any] | None:
    """Names of the columns of a frame or table; None of anything else.

    Parameters
    ----------
    X : object
        A frame of pandas or polars, a table or batch of pyarrow, or any other rows.
    """
    if getattr(X, "ndim", 2) != 2:
        return None
    names = getattr(X, "column_names", None)  # pyarrow's columns are arrays
    if names is None:
        names = getattr(X, "columns", None)
    return list(names) if isinstance(names, Iterable) else None


def refuse_times(X: Any) -> None:
    """Raise if a frame has dates, times or durations, of which numpy makes large numbers.

    Parameters
    ----------
    X : object
        What a method of an estimator got.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise TypeError(f"Values of type {X.dtype} in X are no numbers. {_COUNT_TIME}")
    columns = list(zip(column_names(X) or (), _kinds(X)))
    are_times = {kind: _is_time(kind) for kind in {kind for _, kind in columns}}
    times = [(name, kind) for name, kind in columns if are_times[kind]]
    if times:
        names, kinds = zip(*times)
        raise TypeError(_no_numbers(names, kinds, "", "X"))


def about_values(error: Exception, names: Sequence[Any], X: NDArray[Any]) -> str | None:
    """An error about NaN or infinity, with the names of the columns that have them.

    Parameters
    ----------
    error : Exception
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
    fault = _fault_named(error)
    is_bad = (np.isnan if fault == _MISSING else np.isinf)(X).any(axis=0)
    return _with_columns(error, [name for name, bad in zip(names, is_bad) if bad], fault, "X")


def _explained(X: Any, what: str, error: Exception) -> str | None:
    """What an error is about; None if that is not known, also where looking for it fails."""
    try:
        return _about_columns(X, what, error)
    except Exception:  # of a library for frames: the first error is the one to be seen
        return None


def _about_columns(X: Any, what: str, error: Exception) -> str | None:
    names = column_names(X)
    if names is None or str(error).startswith(_CLEAR):
        return None
    if len(set(names)) < len(names):
        return _about_duplicates(names, what, error)
    faults = {name: _fault(X[name]) for name in names}  # no more than one column as numbers
    texts = [name for name, fault in faults.items() if fault == _NO_NUMBERS]
    if texts:
        reason = _first_line(error).rstrip(".")
        why = f" ({reason:.100})" if isinstance(error, ValueError) else ""  # others are about types
        return _no_numbers(texts, [_kind(X[name]) for name in texts], why, what)
    wanted = _fault_named(error)
    bad = [name for name, fault in faults.items() if fault is not None and fault == wanted]
    return _with_columns(error, bad, wanted, what)


def _about_duplicates(names: list[Any], what: str, error: Exception) -> str | None:
    if "nique column names" not in str(error):
        return None
    most = max(names, key=Counter(names).__getitem__)
    return (
        f"{what} has more than one column {_cut(most)}. Names must be different: rename columns, "
        "or leave some of them out."
    )


def _fault_named(error: Exception) -> str | None:
    """The fault of values that an error is about; None if it is about something else."""
    text = _first_line(error)
    if "NaN" in text or "NAType" in text:
        return _MISSING
    if "infinity" in text:
        return _INFINITE
    return _TOO_LARGE if isinstance(error, OverflowError) else None


def _with_columns(error: Exception, bad: list[Any], fault: str | None, what: str) -> str | None:
    if not bad or fault is None:
        return None
    if fault == _TOO_LARGE:
        return (
            f"Numbers in {_listed(bad, what)} exceed the largest float64 number "
            f"({_first_line(error)}). Divide them by their largest value, or leave them out."
        )
    if "NAType" in str(error):
        return f"Values in {_listed(bad, what)} are missing, pd.NA. {_FILL_IN_NA}"
    remedy = _FILL_IN if fault == _MISSING else _REPLACE
    sentence = _first_line(error).rstrip(".")
    return f"{sentence}. Such values are in {_listed(bad, what)}. {remedy}"


def _no_numbers(names: Sequence[Any], kinds: Sequence[Any], why: str, what: str) -> str:
    texts = dict.fromkeys(f"{kind!s:.80}" for kind in kinds)
    are_times = all(map(_is_time, texts))
    return (
        f"Values of type {', '.join(texts)} in {_listed(names, what)} are no numbers{why}. "
        f"{_COUNT_TIME if are_times else _CONVERT}"
    )


def _fault(column: Any) -> str | None:
    """What is wrong with a column; missing values count more than infinite ones."""
    is_missing = False
    if hasattr(column, "isna"):  # pandas has missing values of other types, which numpy refuses
        is_missing = bool(column.isna().any())
        column = column.dropna() if is_missing else column
    array = np.asarray(column)
    if array.ndim != 1 or array.dtype.kind in "mMc":  # numpy makes numbers of dates
        return _NO_NUMBERS
    try:
        numbers = array.astype(np.float64)
    except OverflowError:
        return _TOO_LARGE
    except (ValueError, TypeError):
        return _NO_NUMBERS
    if is_missing or np.isnan(numbers).any():
        return _MISSING
    return _INFINITE if np.isinf(numbers).any() else None


def _kinds(X: Any) -> Iterable[Any]:
    """Types of all columns; none if they are not known."""
    kinds = getattr(X, "dtypes", None)
    if kinds is None:
        kinds = getattr(getattr(X, "schema", None), "types", None)
    return kinds if isinstance(kinds, Iterable) else ()


def _is_time(kind: Any) -> bool:
    """Whether values of a type are dates, times or durations."""
    return str(kind).lower().startswith(_TIMES)


def _kind(column: Any) -> Any:
    """The type of a column's values, which pyarrow calls otherwise."""
    return getattr(column, "dtype", getattr(column, "type", type(column).__name__))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _cut(name: Any) -> str:
    """A name as errors show it."""
    text = repr(name)
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}..."


def _listed(names: Sequence[Any], what: str) -> str:
    listed = [_cut(name) for name in names]
    if len(listed) > _MOST_LISTED:
        listed[_MOST_LISTED - 1 :] = [f"{len(listed) - _MOST_LISTED + 1} more"]
    return f"column{'s' * (len(names) > 1)} {', '.join(listed)} of {what}"
