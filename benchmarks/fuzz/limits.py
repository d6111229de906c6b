"""What the page of guarantees names as exceptions: counted apart, not as failures."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.fuzz.case import Case


@dataclass(frozen=True)
class Limit:
    """Problems for which a promise is not made; an empty field stands for anything.

    Parameters
    ----------
    why : str
        What the documentation says.
    promises : tuple of str
    area : str
    trait : str
        One of the problem's traits.
    """

    why: str
    promises: tuple[str, ...]
    area: str = ""
    trait: str = ""
    when: Callable[[Case], bool] = lambda case: True


def _has_no_direction(case: Case) -> bool:
    """Whether all rows that count are zeros."""
    counted = slice(None) if case.weights is None else case.weights > 0
    return not np.any(case.X[counted])


def _is_wide_float32(case: Case) -> bool:
    return case.X.dtype == np.float32 and float(np.abs(case.X).max()) > 1e15


def _is_tiny_float32(case: Case) -> bool:
    return case.X.dtype == np.float32 and float(np.abs(case.X).max()) < 1e-28


def _has_squares_out_of_range(case: Case) -> bool:
    """Whether CSR values are so far apart that squares leave the range of float64."""
    values = np.abs(case.X[case.X != 0].astype(np.longdouble))
    return case.is_sparse and len(values) > 0 and bool(values.max() / values.min() > 1e150)


def _has_rows_far_apart(case: Case) -> bool:
    """Whether rows differ by about as much as float64 has digits."""
    lengths = np.abs(case.X.astype(np.longdouble)).max(axis=1)
    return bool(lengths[lengths > 0].min(initial=np.inf) < 1e-14 * lengths.max())


#: Labels and inertia belong to the centroids before these are rounded to the grid of subnormal
#: numbers, which no unit can refine.
_DIGITS = (
    "distances are accurate",
    "inertia agrees",
    "labels are nearest",
    "lowest index among equal centroids",
    "predict gives labels_",
    "score is minus inertia",
    "a label depends on its row alone",
    "a huge row changes no other label",
    "fast labels are those of few rows",
    "sparse inertia agrees to the last digit",
    "sparse labels are nearest to the last digit",
    "weights are repetitions",
    "rows without weight change nothing",
    "pickles are equal",
)

LIMITS: tuple[Limit, ...] = (
    Limit("subnormal numbers are rounded after labels were found", _DIGITS, trait="denormal"),
    Limit(
        "differences of protocentroids are subnormal numbers",
        _DIGITS,
        area="KhatriRao sum",
        when=_is_tiny_float32,
    ),
    Limit(
        "tol is not used where squares of CSR rows leave the range of float64",
        ("weights are repetitions",),
        when=_has_squares_out_of_range,
    ),
    Limit(
        "float32 products 1e38 times smaller than the largest value are zero beside it",
        ("predict gives labels_", "labels are nearest", "lowest index among equal centroids"),
        area="KhatriRao product",
        when=_is_wide_float32,
    ),
    Limit(
        "rounding decides near ties in a learned metric",
        ("a label depends on its row alone",),
        area="Transformed",
    ),
    Limit(
        "rounding decides near ties in a learned metric",
        ("a label depends on its row alone", "a huge row changes no other label"),
        area="Transformed kernel",
    ),
    Limit(
        "a metric learned from weights further apart than float64 has digits is rounded",
        ("labels are nearest", "predict gives labels_"),
        area="Transformed",
        trait="wide weights",
    ),
    Limit(
        "a metric learned from rows further apart than float64 has digits is rounded",
        ("predict gives labels_",),
        area="Transformed",
        when=_has_rows_far_apart,
    ),
    Limit(
        "a metric learned from weights further apart than float64 has digits is rounded",
        ("labels are nearest", "predict gives labels_"),
        area="Transformed kernel",
        trait="wide weights",
    ),
    Limit(
        "a metric learned from rows further apart than float64 has digits is rounded",
        ("predict gives labels_",),
        area="Transformed kernel",
        when=_has_rows_far_apart,
    ),
    Limit(
        "rows of zeros have no direction, so no cosine distance",
        ("inertia agrees", "score is minus inertia"),
        area="KMeans cosine",
        when=_has_no_direction,
    ),
)


def is_beyond(case: Case, promise: str) -> bool:
    """Whether a promise is not made for a problem."""
    return any(
        promise in limit.promises
        and limit.area in ("", case.area)
        and (not limit.trait or limit.trait in case.traits)
        and limit.when(case)
        for limit in LIMITS
    )
