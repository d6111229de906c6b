"""Checks of parameters and input, with errors that name the parameter, its value and a remedy."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from polymeans._frame_errors import about_values, errors_that_name_columns
from polymeans._not_rows import refuse_what_are_no_rows
from polymeans.core.sparse_structure import check_structure

#: Largest integer that numpy counts with.
_MOST = 2**63 - 1

#: Threads at most: more than any machine has cores, and few enough to be started.
_MOST_THREADS = 2**15

#: Largest ``effort``: a search of a second would take hours, and its starts much memory.
MOST_EFFORT = 1e4

#: Characters of a value that are repeated in an error.
_LONGEST_TEXT = 200

#: Types of rows that kernels take, in the byte order of this machine.
_NATIVE_FLOATS = _FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def check_integer(
    name: str, value: Any, smallest: int, remedy: str = "", largest: int = _MOST
) -> None:
    """Raise unless ``value`` is an integer from ``smallest`` to ``largest``."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if is_integer and smallest <= int(value) <= largest:
        return
    too_large = is_integer and int(value) > largest
    limits = f"from {smallest} to {largest}" if too_large else f"of at least {smallest}"
    _reject(name, value, f"an integer {limits}", remedy)


def check_real(
    name: str, value: Any, smallest: float, remedy: str = "", largest: float = np.inf
) -> float:
    """``value`` as a float; an error unless it is finite and within the limits.

    Calculate with what is returned: numpy takes neither fractions nor integers of any size.
    """
    number = as_float(value)
    if not (np.isfinite(number) and smallest <= number <= largest):
        wanted = f"a finite number of at least {smallest}"
        if np.isfinite(largest):
            wanted = f"a finite number from {smallest:g} to {largest:g}"
        _reject(name, value, wanted, remedy)
    return number


def check_positive(name: str, value: Any, remedy: str = "", largest: float = np.inf) -> float:
    """``value`` as a float; an error unless it is finite, above zero and at most ``largest``."""
    number = as_float(value)
    if not (np.isfinite(number) and 0 < number <= largest):
        wanted = "a finite number larger than 0"
        if np.isfinite(largest):
            wanted = f"a finite number larger than 0 and at most {largest:g}"
        _reject(name, value, wanted, remedy)
    return number


def as_float(value: Any) -> float:
    """A number as a float, infinite where none is large enough; NaN for what is no number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return np.nan
    try:
        return float(value)
    except OverflowError:  # integers and fractions can be larger than any float
        return np.inf


def check_boolean(name: str, value: Any) -> None:
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, bool | np.bool_):
        _reject(name, value, "True or False")


def check_verbose(value: Any) -> None:
    """Raise unless ``value`` is a boolean or an integer that is not negative."""
    if not isinstance(value, bool | np.bool_):
        check_integer("verbose", value, 0, "1 logs each start, 2 each iteration.")


def check_seed(value: Any) -> RandomState:
    """The random numbers that ``random_state`` stands for."""
    try:
        return check_random_state(value)
    except (ValueError, TypeError, OverflowError):
        _reject(
            "random_state",
            value,
            "None, an integer from 0 to 2**32 - 1, or a numpy.random.RandomState",
        )


def refuse_bad_seed(value: Any) -> None:
    """Raise unless ``random_state`` stands for random numbers; none are set up for it."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if value is not None and not (is_integer and 0 <= int(value) < 2**32):
        check_seed(value)


def is_flat_sequence(value: Any) -> bool:
    """Whether ``value`` is a sequence of single values: a tuple, list or array, but no text."""
    if isinstance(value, str | bytes | bytearray | memoryview):
        return False
    return isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1


def check_choice(name: str, value: Any, choices: tuple[str, ...], remedy: str = "") -> None:
    """Raise unless ``value`` is one of the given strings."""
    if not (isinstance(value, str) and value in choices):
        _reject(name, value, "one of " + ", ".join(repr(choice) for choice in choices), remedy)


def is_name(value: Any, name: str) -> bool:
    """Whether ``value`` is this string (arrays do not compare to strings)."""
    return isinstance(value, str) and value == name


def check_n_threads(value: Any) -> None:
    """Raise unless ``value`` is None or a non-zero integer."""
    if value is None:
        return
    if isinstance(value, Integral) and not isinstance(value, bool):
        if value != 0 and abs(int(value)) <= _MOST_THREADS:
            return
    _reject(
        "n_threads",
        value,
        f"None, an integer from 1 to {_MOST_THREADS}, or a negative one counted from the cores",
    )


def _reject(name: str, value: Any, wanted: str, remedy: str = "") -> NoReturn:
    kind = ValueError if isinstance(value, Real | str) else TypeError
    # scikit-learn's tools expect ValueError for values of the right kind, TypeError otherwise.
    message = f"{name} must be {wanted}, got {shown(value)}."
    raise kind(f"{message} {remedy}".strip())


@contextmanager
def errors_that_name(name: str) -> Iterator[None]:
    """Put the name of a parameter in front of errors that other libraries raise about it."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        if name in str(error):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} cannot be used: {error}") from error


def shown(value: Any) -> str:
    """``repr(value)`` for an error, cut where it is longer than anyone would read."""
    try:
        text = repr(value)
    except Exception:  # Python writes no integers of more than 4300 digits
        text = f"an object of type {type(value).__name__} that cannot be written"
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


def refuse_unfitted(estimator: Any) -> None:
    """Raise scikit-learn's error unless the estimator is fitted.

    Its own check looks at all attributes and makes the tags first, which takes a fifth of the time
    of labeling a row.
    """
    if "n_features_in_" not in vars(estimator) or hasattr(estimator, "__sklearn_is_fitted__"):
        check_is_fitted(estimator)


def check_rows(estimator: Any, X: Any, *, reset: bool, finite: bool = True) -> Any:
    """Rows as a C-ordered native array, or a CSR matrix or array, of float32 or float64.

    Accepts what scikit-learn accepts; the input is copied only where it has to be converted. With
    ``finite=False`` the caller checks for NaN and infinity.
    """
    if is_plain(estimator, X, reset=reset) and (not finite or is_surely_finite(X)):
        if reset:
            match_features(estimator, X.shape[1], None, reset)
        return np.ascontiguousarray(X)
    refuse_what_are_no_rows(X)
    if sp.issparse(X) and X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got a sparse array of shape {X.shape} instead. "
            "Reshape it to one row for each sample."
        )
    if sp.issparse(X):
        check_structure(X, "X")
    narrow = _is_float32_frame(X)
    # Whether all is finite is first judged by a sum, which large values of both signs overflow.
    with np.errstate(over="ignore", invalid="ignore"), errors_that_name_columns(X):
        X = validate_data(
            estimator,
            _in_native_order(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            accept_large_sparse=True,
            ensure_all_finite=finite,
            reset=reset,
        )
    if sp.issparse(X):
        return X
    return np.ascontiguousarray(X, dtype=np.float32 if narrow else None)


def one_row(estimator: Any, x: Any) -> NDArray[Any]:
    """``x`` as a contiguous array of float32 or float64 with one number for each feature.

    Plain rows cost a fraction of a microsecond.
    """
    try:
        plain = x.dtype is _FLOAT64 or x.dtype is _FLOAT32
        if plain and x.shape == (estimator.n_features_in_,) and x.flags.c_contiguous:
            return x
    except AttributeError:  # no array, or no fit
        pass
    refuse_unfitted(estimator)
    with errors_that_name("x"):
        row = np.asarray(x)
        if np.iscomplexobj(row):
            raise ValueError("x is complex. Give real numbers, such as x.real.")
        if row.shape != (estimator.n_features_in_,):
            raise ValueError(
                "x must be one row with a number for each feature, of shape "
                f"{(estimator.n_features_in_,)}, got {type(x).__name__} of shape {np.shape(x)}. "
                "Give X[i] of dense rows; predict takes several rows, and sparse ones."
            )
        is_narrow = row.dtype.kind == "f" and row.dtype.itemsize == 4
        return np.ascontiguousarray(row, dtype=np.float32 if is_narrow else np.float64)


def is_plain(estimator: Any, X: Any, *, reset: bool) -> bool:
    """Whether rows are an array of a type that kernels take, of which there is nothing to say.

    Nothing is left to check but NaN and infinity. scikit-learn finds out the same, in more time
    than labels of a few rows take. False also if rows are to be compared with those of a fit
    (``reset=False``) and the estimator is not fitted.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in _NATIVE_FLOATS or not X.size:
        return False
    if reset:
        return True
    known = vars(estimator)
    # Rows without the names of a fit are warned about.
    return known.get("n_features_in_") == X.shape[1] and "feature_names_in_" not in known


def is_surely_finite(X: NDArray[Any]) -> bool:
    """Whether no entry is NaN or infinite, unless the sum of large ones is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()))


def check_finite(estimator: Any, X: Any) -> None:
    """Raise if rows, which are otherwise checked, have NaN or infinity."""
    with np.errstate(over="ignore", invalid="ignore"):  # it begins with a sum of all entries
        try:
            assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
        except ValueError as error:
            names = getattr(estimator, "feature_names_in_", None)
            if names is None or sp.issparse(X):
                raise
            raise ValueError(about_values(error, names, X) or str(error)) from error


def _is_float32_frame(X: Any) -> bool:
    """Whether X is a polars frame of float32 columns, which scikit-learn makes float64."""
    kinds = getattr(X, "dtypes", None)
    return isinstance(kinds, list) and len(kinds) > 0 and all(str(k) == "Float32" for k in kinds)


def _in_native_order(X: Any) -> Any:
    """The same rows in the byte order of this machine; a copy where they have another.

    scikit-learn takes float32 of another byte order for a type that has to become float64.
    """
    if not (isinstance(X, np.ndarray) or sp.issparse(X)) or X.dtype.isnative:
        return X
    return X.astype(X.dtype.newbyteorder("="))


#: Weights further apart could not be squared side by side.
_WIDEST_WEIGHTS = 2.0**200


def check_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    """Weights as float64, ones if there are none; an error if any is negative or all are zero."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    with errors_that_name("sample_weight"):
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    smallest = weights.min()
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed to `sample_weight` (smallest: {smallest:g}). "
            "Drop the rows or set their weight to zero."
        )
    least = float(weights[weights > 0].min(initial=np.inf))
    check_weight_range(least, float(weights.max()), float(weights.sum()))
    return weights


def check_weight_range(smallest: float, largest: float, total: float) -> None:
    """Raise if weights are all zero, or so far apart that some would be lost.

    Parameters
    ----------
    smallest, largest : float
        Of the positive ones; infinite and 0 if there are none.
    total : float
        Of all of them.
    """
    if not np.isfinite(total):
        raise ValueError(
            f"The sum of sample_weight overflows (largest: {largest:g}). Divide the weights "
            "by their largest value; only their ratios matter for the clusters."
        )
    if largest / _WIDEST_WEIGHTS > smallest:
        raise ValueError(
            f"sample_weight ranges from {smallest:g} to {largest:g}; "
            f"beyond a factor of {_WIDEST_WEIGHTS:.0e} the smaller ones are lost in rounding. Set "
            "them to zero, or leave their rows out."
        )
    if largest == 0:
        raise ValueError(
            "Sample weights must contain at least one non-zero number, got only zeros. "
            "Leave sample_weight out to count all rows alike."
        )


def check_initial_centers(
    name: str, value: Any, shape: tuple[int, ...], meaning: str, choices: str, dtype: Any
) -> NDArray[Any]:
    """``value`` as a finite array of this shape.

    Parameters
    ----------
    name : str
        The parameter it was given as.
    value : array-like
    shape : tuple of int
    meaning : str
        The shape in terms of parameters, for the error.
    choices : str
        Everything the parameter can be, for the error.
    dtype : dtype

    Returns
    -------
    ndarray
    """
    if sp.issparse(value):
        value = value.toarray()
    try:
        if np.iscomplexobj(value):
            raise ValueError("it is complex")
        array = np.asarray(value, dtype=dtype, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be {choices}, got {type(value).__name__}: {error}."
        ) from None
    if array.shape != shape:
        raise ValueError(
            f"The shape of the initial centers, {name}: {array.shape}, does not match "
            f"{meaning} = {shape}. Give one row for each of them."
        )
    if not np.isfinite(array).all():
        with np.errstate(over="ignore", invalid="ignore"):  # it begins with a sum of all entries
            assert_all_finite(array, input_name=name)
    return array


def check_labels(
    name: str, labels: Any, n_samples: int, sizes: tuple[int, ...]
) -> NDArray[np.int32]:
    """Labels of each row in each of some clusterings, one clustering a row of the result.

    Parameters
    ----------
    name : str
        The parameter they were given as.
    labels : array-like of shape (n_samples, len(sizes)), or (n_samples,) for one clustering
    n_samples : int
    sizes : tuple of int
        Clusters of each.

    Returns
    -------
    ndarray of shape (len(sizes), n_samples)
    """
    if not sp.issparse(labels):
        _check_are_labels(name, labels)
    labels = check_array(labels, dtype=np.float64, ensure_2d=False, input_name=name)
    labels = labels.reshape(len(labels), -1)
    if labels.shape != (n_samples, len(sizes)):
        raise ValueError(
            f"{name} has labels of shape {labels.shape}, but rows and clusterings make "
            f"{(n_samples, len(sizes))}. Give one column for each clustering."
        )
    inside = (labels >= 0) & (labels < np.array(sizes)) & (labels == np.floor(labels))
    if not inside.all():
        raise ValueError(
            f"{name} must have labels from 0 to n_clusters - 1 in each column, got values from "
            f"{labels.min():g} to {labels.max():g} for n_clusters={sizes}."
        )
    return np.ascontiguousarray(labels.T.astype(np.int32))


def _check_are_labels(name: str, labels: Any) -> None:
    """Raise unless ``labels`` are an array of numbers."""
    try:
        array = np.asarray(labels)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    if array.ndim == 0 or array.size == 0:
        raise TypeError(
            f"{name} must be the name of a method or labels, one for each row and clustering, got "
            f"{shown(labels)}."
        )
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must have integers as labels, from 0 to n_clusters - 1.")


def check_range(what: str, parts: Sequence[NDArray[Any]], largest: float = 0.0) -> None:
    """Raise if something fitted to rows near the largest number is beyond it.

    Parameters
    ----------
    what : str
        Begins the message.
    parts : sequence of ndarray
        In the user's units.
    largest : float, default=0
        Largest value that will be made of them.
    """
    dtype = parts[0].dtype
    if all(np.isfinite(part).all() for part in parts) and largest <= np.finfo(dtype).max:
        return
    raise ValueError(
        f"{what} of these rows exceed the largest {dtype} number. Divide X by its largest value."
    )


def call_init(init: Callable[..., Any], X: Any, size: Any, rng: RandomState) -> Any:
    """What a callable ``init`` returns; an error that names it if it cannot be called so."""
    try:
        inspect.signature(init).bind(X, size, random_state=rng)
    except ValueError:
        pass  # some builtins have no signature
    except TypeError as error:
        raise TypeError(
            f"init={shown(init)} cannot be called as init(X, {shown(size)}, random_state=...): "
            f"{error}. Give a function of these three arguments."
        ) from error
    return init(X, size, random_state=rng)


def match_features(
    estimator: Any, n_features: int, names: Sequence[str] | None, reset: bool
) -> None:
    """Compare features with those that an estimator knows, or let it get to know them."""
    known = getattr(estimator, "feature_names_in_", None)
    if reset:
        estimator.n_features_in_ = n_features
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        elif known is not None:
            del estimator.feature_names_in_
        return
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    if names is not None and known is not None and list(names) != list(known):
        raise ValueError(
            "The feature names should match those that were passed during fit: X has "
            f"{list(names)[:5]}, the fit had {list(known)[:5]} (at most five are shown)."
        )
