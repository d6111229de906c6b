"""Rows and weights in the engine's units, before they have a frame.

Values whose squares would leave the range of the types that scores are computed in are divided by a
power of two, which loses nothing; rows that count by their direction are brought to length one.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polymeans.core.exact_sums import TermRange
from polymeans.core.frame import (
    LONGEST,
    LOWEST_BIT,
    is_ordinary,
    lossless_unit,
    power_of_two_unit,
)
from polymeans.core.rows import Rows, is_csr
from polymeans.core.threads import running_threads

#: Rows of an array or CSR matrix, and their weights.
Source = tuple[Rows, NDArray[np.float64]]

#: Entries looked at in one piece: enough for a thread to be worth its start.
PIECE = 2**16

#: Which entries extreme rows are measured in.
UnitOf = Literal["typical", "largest"]


@dataclass(frozen=True)
class Scaling:
    """What has to be done to rows and weights, the same for all blocks."""

    unit: float = 1.0  #: values are divided by it
    weight_unit: float = 1.0
    spherical: bool = False  #: rows are brought to length one
    zeros_count: bool = False  #: rows of zeros keep their weight where only directions count
    guarded: bool = False  #: some values may be too large for fast scores
    hides: bool = False  #: rows without weight are zeros, and labeled when centroids are known


@dataclass
class PreparedRows:
    """Rows in the engine's coordinates, before they have a frame."""

    indptr: NDArray[np.int64]  #: (n + 1,) where each row begins
    indices: NDArray[Any] | None  #: features as the user numbers them (sparse rows)
    values: NDArray[Any]  #: flat
    shape: tuple[int, int]
    weights: NDArray[np.float64]
    directionless: NDArray[np.int64] | None = None
    known_range: tuple[float, float] | None = None

    @property
    def n_samples(self) -> int:
        return self.shape[0]

    def range(self) -> tuple[float, float]:
        """Largest and smallest absolute value other than zero."""
        if self.known_range is None:
            self.known_range = range_of_values(self.values)
        return self.known_range


class RawBlock:
    """Rows and weights as a user gives them.

    Parameters
    ----------
    rows : ndarray or CSR of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,) or None
        None: all are one.
    keeps : bool, default=False
        Stays until it is seen through a frame, so what was computed from it is worth keeping.
    """

    def __init__(
        self, rows: Rows, weights: NDArray[np.float64] | None, keeps: bool = False
    ) -> None:
        self.rows, self.weights, self.keeps = rows, weights, keeps
        #: Of the rows, in the coordinates of the last preparation; None: not known.
        self.norms: NDArray[np.float64] | None = None
        self._last: tuple[Scaling, PreparedRows] | None = None

    def prepared(self, scaling: Scaling) -> PreparedRows:
        """The rows in the engine's units."""
        if self._last is not None and self._last[0] == scaling:
            return self._last[1]
        n = self.rows.shape[0]
        part = _flat(self.rows, np.ones(n) if self.weights is None else self.weights)
        if scaling.weight_unit != 1.0:
            part.weights = part.weights / scaling.weight_unit
        if scaling.hides:
            hidden = np.repeat(part.weights == 0, np.diff(part.indptr))
            part.values = np.where(hidden, part.values.dtype.type(0), part.values)
        if scaling.spherical:
            _make_unit_length(part, scaling.zeros_count)
        elif scaling.unit != 1.0:
            part.values = (part.values / scaling.unit).astype(part.values.dtype, copy=False)
        if self.keeps:
            self._last = scaling, part
        return part


def value_scaling(
    scaling: Scaling,
    values: TermRange,
    exponents: NDArray[np.int64],
    n_features: int,
    dtype: np.dtype[Any],
    largest_center: float,
    unit_of: UnitOf,
) -> Scaling:
    """The scaling for values that are not ordinary, from the range of all of them.

    Parameters
    ----------
    scaling : Scaling
        Of weights.
    values : TermRange
        Of the values of all rows, centroids from outside included.
    exponents : ndarray of shape (N_EXPONENTS,)
        How many entries of rows that count have which binary exponent.
    n_features : int
    dtype : dtype
    largest_center : float
        Largest coordinate of centroids from outside.
    unit_of : {"typical", "largest"}

    Returns
    -------
    Scaling
    """
    typical, counted = _magnitudes(exponents, largest_center)
    unit = lossless_unit(typical, values.bits, dtype)
    if unit_of == "largest":
        unit = power_of_two_unit(max(counted, largest_center))
        if values.bits[1] - np.log2(unit) < LOWEST_BIT[dtype]:
            raise ValueError(
                f"Values of X (and of a given start) range from {values.smallest:g} to "
                f"{values.largest:g}: in squares of the largest, which this structure is searched "
                "in, nothing would be left of the smallest. Set these to zero, or leave out the "
                "rows of the largest."
            )
    # Long enough to fit any number of features, however large their entries are.
    longest = values.largest / unit * np.sqrt(n_features)
    return replace(scaling, unit=unit, guarded=scaling.guarded or not longest <= LONGEST)


def scaling_of(
    raw: RawBlock, spherical: bool, largest_center: float, exact_only: bool = False
) -> Scaling:
    """The scaling for rows that are all in one block."""
    heaviest = 1.0 if raw.weights is None else float(raw.weights.max(initial=0.0))
    scaling = Scaling(weight_unit=power_of_two_unit(heaviest), spherical=spherical)
    if spherical:
        if raw.prepared(scaling).weights.any():
            return scaling
        return Scaling(weight_unit=scaling.weight_unit, spherical=True, zeros_count=True)
    if exact_only:  # real arithmetic needs no unit
        return scaling
    part = raw.prepared(scaling)
    largest, smallest = part.range()
    largest = max(largest, largest_center)
    if is_ordinary(largest):
        return scaling
    dtype = part.values.dtype
    values = TermRange(largest, smallest, dtype == np.float32)
    exponents = exponents_of(part)
    return value_scaling(
        scaling, values, exponents, part.shape[1], dtype, largest_center, "typical"
    )


def exponents_of(part: PreparedRows) -> NDArray[np.int64]:
    """How many entries of rows that count have which binary exponent."""
    from polymeans.kernels import exact

    counts = np.zeros(exact.N_EXPONENTS, dtype=np.int64)
    exact.count_exponents(part.indptr, part.values, part.weights, counts)
    return counts


def _magnitudes(exponents: NDArray[np.int64], otherwise: float) -> tuple[float, float]:
    """Powers of two not above an entry in the middle, and the largest, of rows that count."""
    from polymeans.kernels import exact

    if not exponents.any():
        return otherwise, otherwise
    middle = int(np.searchsorted(np.cumsum(exponents), exponents.sum() / 2))
    top = int(np.flatnonzero(exponents)[-1])
    return 2.0 ** (middle + exact.LOWEST - 1), 2.0 ** (top + exact.LOWEST - 1)


def _flat(X: Rows, weights: NDArray[np.float64]) -> PreparedRows:
    if not is_csr(X):
        n, d = X.shape
        return PreparedRows(np.arange(n + 1) * d, None, X.reshape(-1), X.shape, weights)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return PreparedRows(X.indptr.astype(np.int64), X.indices, X.data, X.shape, weights)


def _make_unit_length(part: PreparedRows, zeros_count: bool) -> None:
    """Rows become directions. Rows of zeros count for nothing, unless there is nothing else."""
    from polymeans.kernels import prepare

    threads = running_threads()
    out, lengths = np.empty_like(part.values), np.empty(part.n_samples)
    threads.map(
        lambda r: prepare.unit_rows(part.indptr, part.values, *r, out, lengths),
        threads.ranges(part.n_samples, smallest=64),
    )
    part.values = out
    part.directionless = np.flatnonzero(lengths == 0)
    if not zeros_count and len(part.directionless):
        part.weights = np.where(lengths > 0, part.weights, 0.0)


def range_of_values(values: NDArray[Any]) -> tuple[float, float]:
    """Largest and smallest absolute value other than zero."""
    from polymeans.kernels import exact

    threads = running_threads()
    found = threads.map(
        lambda r: exact.range_of(values, *r), threads.ranges(len(values), smallest=PIECE)
    )
    tops, bottoms = zip(*found) if found else ([0.0], [np.inf])
    return max(tops), min(bottoms)
