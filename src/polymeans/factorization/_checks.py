"""Checks of targets, weights and factors, and the form in which all methods take them."""

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from polymeans._validation import check_integer, errors_that_name, shown
from polymeans.core.sparse_structure import check_structure


class Problem(NamedTuple):
    """A matrix to approximate; rows are multiplied by the roots of their weights, and scaled."""

    #: Rows times ``roots``, over ``unit``.
    target: NDArray[np.float64]
    #: Root of each row's weight.
    roots: NDArray[np.float64]
    #: A power of two, so that squares neither overflow nor vanish.
    unit: float
    #: Weighted Frobenius norm of the target as it was given.
    norm: float


def check_problem(target: Any, weights: Any) -> Problem:
    """Check a target and the weights of its rows (None: all alike)."""
    target = check_matrix("target", target)
    n_rows = len(target)
    roots = np.ones(n_rows)
    if weights is not None:
        roots = np.sqrt(check_row_weights(weights, n_rows))
    with np.errstate(over="ignore"):
        weighted = target * roots[:, None]
        largest = float(np.abs(weighted).max())
        if not np.isfinite(largest**2 * weighted.size if largest < 1e154 else np.inf):
            raise ValueError(
                "Squares of target, times weights, overflow (largest entry: "
                f"{np.abs(target).max():g}). Divide target by its largest entry."
            )
    unit = float(2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0
    target = weighted / unit
    norm = unit * float(np.linalg.norm(target))
    return Problem(target, roots, unit, norm)


def check_matrix(name: str, matrix: Any) -> NDArray[np.float64]:
    """A finite dense float64 matrix of at least one row and column."""
    if sp.issparse(matrix):
        check_structure(matrix, name)
        matrix = matrix.toarray()
    with errors_that_name(name):
        return np.ascontiguousarray(check_array(matrix, dtype=np.float64, input_name=name))


def check_row_weights(weights: Any, n_rows: int) -> NDArray[np.float64]:
    """One finite weight for each row, none below zero."""
    with errors_that_name("weights"):
        weights = check_array(weights, dtype=np.float64, ensure_2d=False, input_name="weights")
    if weights.shape != (n_rows,):
        raise ValueError(
            f"weights must have one entry for each of the {n_rows} rows of target, got shape "
            f"{weights.shape}."
        )
    if weights.min() < 0:
        raise ValueError(
            f"weights must not be negative, got {weights.min():g}. Use 0 for rows that are not to "
            "count."
        )
    return weights


def check_factors(factors: Sequence[Any], shape: tuple[int, int]) -> list[NDArray[np.float64]]:
    """Dense copies of factors whose product has the given shape."""
    # An array of three dimensions is a sequence of matrices, one of two is a single matrix.
    is_sequence = isinstance(factors, Sequence) or getattr(factors, "ndim", 0) == 3
    if not is_sequence or isinstance(factors, str | bytes):
        raise TypeError(
            "factors must be a list of two or more matrices, from left to right, got "
            f"{shown(factors)}."
        )
    factors = [check_matrix(f"factors[{q}]", factor) for q, factor in enumerate(factors)]
    if len(factors) < 2:
        raise ValueError(f"factors must be two or more matrices, got {len(factors)}.")
    shapes = [factor.shape for factor in factors]
    fit = all(a[1] == b[0] for a, b in pairwise(shapes))
    if not fit or (shapes[0][0], shapes[-1][1]) != shape:
        raise ValueError(
            f"factors of shapes {shapes} have no product of the shape {shape} of target. Each "
            "needs as many columns as the next has rows, the first as many rows as target, the "
            "last as many columns."
        )
    return factors


#: Factors at most, many times ``log2`` of the side of any matrix that fits in memory: further ones
#: could only repeat what the others pass on.
_MOST_FACTORS = 1024

#: The sparsity level where none is given: that of Table 3 in the QuicK-means paper.
DEFAULT_LEVEL = 5


def check_sparsity(sparsity_level: Any, shape: tuple[int, int], stacklevel: int = 3) -> int:
    """The sparsity level, at most what a dense factor has, with a warning if it was more.

    There is no warning for the default level, which the caller did not choose.
    """
    check_integer("sparsity_level", sparsity_level, 1)
    most = min(shape)
    if sparsity_level > most and sparsity_level != DEFAULT_LEVEL:
        warnings.warn(
            f"sparsity_level={sparsity_level} is more than the smaller side {most} of target: "
            "factors become dense.",
            UserWarning,
            stacklevel=stacklevel,
        )
    return min(int(sparsity_level), most)


def check_n_factors(n_factors: Any) -> None:
    """Raise unless there are at least two factors, and not absurdly many."""
    check_integer(
        "n_factors",
        n_factors,
        2,
        'One factor is the matrix itself; "auto" leaves it to the method.',
        _MOST_FACTORS,
    )
