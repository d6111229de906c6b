"""Rows and weights in the engine's units, before they have a frame.

Values whose squares would leave the range of the types that scores are computed in are divided by a
power of two, which loses nothing; rows that count by their direction are brought to length one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polymeans.core.contracts import Rows
from polymeans.core.exact_sums import TermRange
from polymeans.core.frame import (
    LONGEST,
    LOWEST_BIT,
    is_ordinary,
    lossless_unit,
    power_of_two_unit,
)
from polymeans.core.threads import running_threads

#: Rows of an array or CSR matrix, and their weights.
Source = tuple[Rows, NDArray[np.float64]]

#: Entries looked at in one piece: enough for a thread to be worth its start.
PIECE = 2**16


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

    def replace_values(self, values: NDArray[Any]) -> None:
        """Other values at the same places."""
        self.values, self.known_range = values, None

    def range(self) -> tuple[float, float]:
        """Largest and smallest absolute value other than zero."""
        if self.known_range is None:
            self.known_range = range_of_values(self.values)
        return self.known_range


def prepare_rows(
    sources: Sequence[Source],
    spherical: bool,
    largest_center: float,
    exact_only: bool = False,
    unit_of: Literal["typical", "largest"] = "typical",
    hide_weightless: bool = False,
) -> tuple[list[PreparedRows], float, float, bool]:
    """Rows and weights in the engine's units, the units, and whether fast scores need a guard.

    With ``hide_weightless`` rows without weight are zeros where they would decide on the unit: the
    guard is up then, and they are labelled when the centroids are known.
    """
    parts = [_flat(X, weights) for X, weights in sources]
    heaviest = max(float(part.weights.max(initial=0.0)) for part in parts)
    weight_unit = power_of_two_unit(heaviest)
    if weight_unit != 1.0:
        for part in parts:
            part.weights = part.weights / weight_unit
    if spherical:
        _make_unit_length(parts)
        return parts, 1.0, weight_unit, False
    if exact_only:  # real arithmetic needs no unit
        return parts, 1.0, weight_unit, False
    largest = max(largest_center, *(part.range()[0] for part in parts))
    if is_ordinary(largest):
        return parts, 1.0, weight_unit, False
    hidden = hide_weightless and _hide_weightless(parts)
    if hidden:
        largest = max(largest_center, *(part.range()[0] for part in parts))
        if is_ordinary(largest):
            return parts, 1.0, weight_unit, True
    dtype = parts[0].values.dtype
    smallest = min(part.range()[1] for part in parts)
    bits = TermRange(largest, smallest, dtype == np.float32).bits
    typical, counted = _magnitudes(parts, largest_center)
    unit = lossless_unit(typical, bits, dtype)
    if unit_of == "largest":
        unit = power_of_two_unit(max(counted, largest_center))
        if bits[1] - np.log2(unit) < LOWEST_BIT[dtype]:
            raise ValueError(
                f"Values of X (and of a given start) range from {smallest:g} to {largest:g}: in "
                "squares of the largest, which this structure is searched in, nothing would be "
                "left of the smallest. Set these to zero, or leave out the rows of the largest."
            )
    if unit != 1.0:
        for part in parts:
            part.replace_values((part.values / unit).astype(dtype, copy=False))
    # Long enough to fit any number of features, however large their entries are.
    longest = largest / unit * np.sqrt(parts[0].shape[1])
    return parts, unit, weight_unit, hidden or not longest <= LONGEST


def _hide_weightless(parts: list[PreparedRows]) -> bool:
    """Put zeros in place of rows without weight, which no result of a fit depends on."""
    found = False
    for part in parts:
        weightless = part.weights == 0
        if weightless.any():
            hidden = np.repeat(weightless, np.diff(part.indptr))
            part.replace_values(np.where(hidden, part.values.dtype.type(0), part.values))
            found = True
    return found


def _magnitudes(parts: list[PreparedRows], otherwise: float) -> tuple[float, float]:
    """Powers of two not above an entry in the middle, and the largest, of rows that count."""
    from polymeans.kernels import exact

    counts = np.zeros(exact.N_EXPONENTS, dtype=np.int64)
    for part in parts:
        exact.count_exponents(part.indptr, part.values, part.weights, counts)
    if not counts.any():
        return otherwise, otherwise
    middle = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    top = int(np.flatnonzero(counts)[-1])
    return 2.0 ** (middle + exact.LOWEST - 1), 2.0 ** (top + exact.LOWEST - 1)


def _flat(X: Rows, weights: NDArray[np.float64]) -> PreparedRows:
    if not hasattr(X, "indptr"):
        n, d = X.shape
        return PreparedRows(np.arange(n + 1) * d, None, X.reshape(-1), X.shape, weights)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return PreparedRows(X.indptr.astype(np.int64), X.indices, X.data, X.shape, weights)


def _make_unit_length(parts: list[PreparedRows]) -> None:
    """Rows become directions. Rows of zeros count for nothing, unless there is nothing else."""
    from polymeans.kernels import prepare

    threads = running_threads()
    remaining = []
    for part in parts:
        out, lengths = np.empty_like(part.values), np.empty(part.n_samples)
        threads.map(
            lambda r, part=part, out=out, lengths=lengths: prepare.unit_rows(
                part.indptr, part.values, *r, out, lengths
            ),
            threads.ranges(part.n_samples, smallest=64),
        )
        part.replace_values(out)
        part.directionless = np.flatnonzero(lengths == 0)
        remaining.append(np.where(lengths > 0, part.weights, 0.0))
    if any(weights.any() for weights in remaining):
        for part, weights in zip(parts, remaining):
            part.weights = weights


def range_of_values(values: NDArray[Any]) -> tuple[float, float]:
    from polymeans.kernels import exact

    threads = running_threads()
    found = threads.map(
        lambda r: exact.range_of(values, *r), threads.ranges(len(values), smallest=PIECE)
    )
    tops, bottoms = zip(*found) if found else ([0.0], [np.inf])
    return max(tops), min(bottoms)
