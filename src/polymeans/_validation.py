"""Checks of parameters and input, with errors that name the parameter, its value and a remedy."""

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.validation import _check_sample_weight, validate_data


def check_integer(name: str, value: Any, smallest: int, remedy: str = "") -> None:
    """Raise unless ``value`` is an integer of at least ``smallest``."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= smallest:
        return
    _reject(name, value, f"an integer of at least {smallest}", remedy)


def check_real(name: str, value: Any, smallest: float, remedy: str = "") -> None:
    """Raise unless ``value`` is a finite number of at least ``smallest``."""
    if isinstance(value, Real) and not isinstance(value, bool):
        if np.isfinite(float(value)) and float(value) >= smallest:
            return
    _reject(name, value, f"a finite number of at least {smallest}", remedy)


def check_positive(name: str, value: Any, remedy: str = "") -> None:
    """Raise unless ``value`` is a finite number above zero."""
    if isinstance(value, Real) and not isinstance(value, bool):
        if np.isfinite(float(value)) and float(value) > 0:
            return
    _reject(name, value, "a finite number larger than 0", remedy)


def check_choice(name: str, value: Any, choices: tuple[str, ...], remedy: str = "") -> None:
    """Raise unless ``value`` is one of the given strings."""
    if not (isinstance(value, str) and value in choices):
        _reject(name, value, "one of " + ", ".join(repr(choice) for choice in choices), remedy)


def is_name(value: Any, name: str) -> bool:
    """Whether ``value`` is this string (arrays do not compare to strings)."""
    return isinstance(value, str) and value == name


def check_n_threads(value: Any) -> None:
    """Raise unless ``value`` is None or a non-zero integer."""
    if value is None or (
        isinstance(value, Integral) and not isinstance(value, bool) and value != 0
    ):
        return
    _reject(
        "n_threads", value, "None, a positive integer, or a negative one counted from the cores"
    )


def _reject(name: str, value: Any, wanted: str, remedy: str = "") -> None:
    kind = ValueError if isinstance(value, Real | str) else TypeError
    # scikit-learn's tools expect ValueError for values of the right kind, TypeError otherwise.
    message = f"{name} must be {wanted}, got {value!r}."
    raise kind(f"{message} {remedy}".strip())


def check_rows(estimator: Any, X: Any, *, reset: bool, finite: bool = True) -> Any:
    """Rows as a C-ordered native array, or a CSR matrix or array, of float32 or float64.

    Accepts what scikit-learn accepts; the input is copied only where it has to be converted. With
    ``finite=False`` the caller checks for NaN and infinity.
    """
    if sp.issparse(X) and X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got a sparse array of shape {X.shape} instead. "
            "Reshape it to one row for each sample."
        )
    # Whether all is finite is first judged by a sum, which large values of both signs overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        X = validate_data(
            estimator,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            accept_large_sparse=True,
            ensure_all_finite=finite,
            reset=reset,
        )
    if sp.issparse(X):
        if not X.data.dtype.isnative:
            X = X.astype(X.dtype.newbyteorder("="))
        return X
    return np.ascontiguousarray(X, dtype=X.dtype.newbyteorder("="))


def check_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    """Weights as float64, ones if there are none; an error if any is negative or all are zero."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    smallest = weights.min()
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed to `sample_weight` (smallest: {smallest:g}). "
            "Drop the rows or set their weight to zero."
        )
    if not np.isfinite(weights.sum()):
        raise ValueError(
            f"The sum of sample_weight overflows (largest: {weights.max():g}). Divide the weights "
            "by their largest value; only their ratios matter for the clusters."
        )
    if not weights.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number, got only zeros. "
            "Leave sample_weight out to count all rows alike."
        )
    return weights


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
    if np.iscomplexobj(value):
        raise ValueError(f"{name} is complex; initial centers must be real numbers.")
    try:
        array = np.asarray(value, dtype=dtype, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be {choices}, got {type(value).__name__}: {error}."
        ) from None
    if array.shape != shape:
        raise ValueError(
            f"The shape of the initial centers, {name}: {array.shape}, does not match "
            f"{meaning} = {shape}. Give one row for each of them."
        )
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
    if not hasattr(labels, "__len__") or isinstance(labels, dict):
        raise TypeError(
            f"{name} must be the name of a method or labels, one for each row and clustering, got "
            f"{labels!r}."
        )
    if not sp.issparse(labels) and np.asarray(labels).dtype.kind not in "biuf":
        raise TypeError(f"{name} must have integers as labels, from 0 to n_clusters - 1.")
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
