"""How rows are seen: in which unit, from which point, and on which ladder they are added up.

A frame is made once, from a survey of *all* rows, and then shared by every block of them. Nothing
in it depends on how the rows are cut into blocks, so neither does anything computed through it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.core.exact_sums import Ladder
from polymeans.core.threads import running_threads

#: Squares of larger (smaller) numbers leave the range of float32; such rows are kept rescaled.
_LARGEST, _SMALLEST = 1e15, 1e-15

#: Share of the terms of a difference below which fewer than ten of the sixteen digits of float64
#: are left of it.
CANCELLED = 1e-6

#: Rows and centroids of larger norm are not scored by fast paths: squares of four times as much,
#: and sums of a few of these, must be float32 numbers, which some of the scores are for any rows.
LONGEST = 2.0**60

#: Where numbers begin, and how far they may go: sums of 2**40 of them, and twice their difference,
#: must still be float64 numbers.
LOWEST_BIT = {np.dtype(np.float32): -149, np.dtype(np.float64): -1074}
_HIGHEST_BIT = {np.dtype(np.float32): 126, np.dtype(np.float64): 960}


def is_ordinary(largest: float) -> bool:
    """Whether values up to this one need no rescaling."""
    return largest == 0 or _SMALLEST <= largest <= _LARGEST


def power_of_two_unit(largest: float) -> float:
    """Scale that brings extreme values near one, exactly; 1 for ordinary values."""
    if is_ordinary(largest):
        return 1.0
    return float(2.0 ** np.clip(np.floor(np.log2(largest)), -1000, 1000))


def lossless_unit(typical: float, bits: tuple[int, int], dtype: np.dtype[Any]) -> float:
    """Scale that brings typical values near one, if no value loses a bit or overflows by it.

    Parameters
    ----------
    typical : float
        Absolute value in the middle of all.
    bits : tuple of int
        Values are less than two to the first, and multiples of two to the second.
    dtype : dtype
        Of the values.

    Returns
    -------
    float
        A power of two. 1 where values reach too far for any other one; more only where the
        largest would otherwise be too large to be added up.
    """
    top, bottom = bits
    exponent = int(np.log2(power_of_two_unit(typical)))
    fits = top - exponent <= _HIGHEST_BIT[dtype] and bottom - exponent >= LOWEST_BIT[dtype]
    if not fits:
        exponent = max(0, top - _HIGHEST_BIT[dtype]) if dtype == np.float64 else 0
    return float(2.0**exponent)


@dataclass(frozen=True)
class Frame:
    """What is known about all rows, and how each of them is seen.

    The engine works in coordinates ``x / unit`` and with weights ``w / weight_unit``. Of sparse
    rows it keeps the features that occur, the most frequent first.
    """

    n_samples: int  #: all rows
    n_features: int  #: of the user's rows
    dtype: np.dtype[Any]
    is_sparse: bool
    spherical: bool  #: rows count by their direction only: they have length one
    zeros_count: bool  #: rows without a direction have weight, since there are no others
    unit: float
    weight_unit: float
    shift: NDArray[Any]  #: (n_used,) subtracted from rows and centroids for fast scores
    shifted: bool  #: whether that is not zero
    guarded: bool  #: some rows or centroids may be too long for fast scores
    hides: bool  #: rows without weight are zeros, and labeled when centroids are known
    order: NDArray[np.int64]  #: (n_used,) the user's number of each feature (sparse rows)
    rank: NDArray[np.int32]  #: (n_features,) the way back, -1: no row has it (sparse rows)

    @classmethod
    def of_dense(
        cls, n_samples: int, shift: NDArray[Any], shifted: bool, unit: float = 1.0
    ) -> "Frame":
        """For dense rows of the shift's type, of which no more is known."""
        return Frame(
            n_samples=n_samples,
            n_features=len(shift),
            dtype=shift.dtype,
            is_sparse=False,
            spherical=False,
            zeros_count=False,
            unit=unit,
            weight_unit=1.0,
            shift=shift,
            shifted=shifted,
            guarded=False,
            hides=False,
            order=np.empty(0, dtype=np.int64),
            rank=np.empty(0, dtype=np.int32),
        )

    @property
    def n_used(self) -> int:
        """Features the engine sees."""
        return len(self.shift)

    @property
    def origin(self) -> NDArray[np.float64]:
        """The shift in float64: where sums and inertia are measured from so as not to cancel."""
        return self.shift.astype(np.float64)

    def to_user(self, inertia: float) -> float:
        """Weighted squared distances in the user's units."""
        # Not a power of the unit, which would raise on overflow.
        return inertia * self.unit * self.unit * self.weight_unit

    def internal(self, centers: NDArray[Any]) -> NDArray[Any]:
        """The user's centroids in the coordinates the engine works in (dense rows)."""
        return np.ascontiguousarray(centers / self.unit, dtype=self.dtype)

    def internal_sparse(self, centers: NDArray[Any]) -> tuple[NDArray[np.float64], ...]:
        """The same for sparse rows: features that occur, by rank.

        Also their squared norms: of the part outside of these features, and of everything.
        """
        from polymeans.kernels import prepare

        out = np.zeros((len(centers), self.n_used))
        outside, total = np.empty(len(centers)), np.empty(len(centers))
        threads = running_threads()
        threads.map(
            lambda r: prepare.take_features(centers, self.rank, self.unit, *r, out, outside, total),
            threads.ranges(len(centers)),
        )
        return out, outside, total

    def external(self, centers: NDArray[Any]) -> NDArray[Any]:
        """The engine's centroids in the user's coordinates, features and dtype."""
        if not self.is_sparse:
            return np.ascontiguousarray(centers * self.unit, dtype=self.dtype)
        from polymeans.kernels import prepare

        out = np.zeros((len(centers), self.n_features), dtype=self.dtype)
        threads = running_threads()
        threads.map(
            lambda r: prepare.put_features(centers, self.order, self.unit, *r, out),
            threads.ranges(len(centers)),
        )
        return out

    def external_directions(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Directions in the engine's coordinates among the user's features."""
        if not self.is_sparse:
            return directions
        outer = np.zeros((len(directions), self.n_features))
        outer[:, self.order] = directions
        return outer


@dataclass(frozen=True)
class MeasuredFrame(Frame):
    """A frame that also holds what all rows add up to: what a fit needs, and labels alone do not.

    With weights w and rows x in the engine's coordinates, o the origin and W the total weight.
    """

    ladder: Ladder  #: for sums of ``w x``
    mass_ladder: Ladder  #: for sums of w
    mass: float  #: ``W = Σ w``
    mean: NDArray[np.float64]  #: (n_used,) ``Σ w x / W``
    total_square: float  #: ``Σ w |x - o|²``; infinite if that is out of range
    spread: float  #: ``Σ w |x - mean|² / reach²``
    reach: float  #: a power of two, 1 unless that sum is out of range without it
    n_stored: int  #: entries of all rows
    unweighted: bool  #: all weights are one
    n_directionless: int  #: rows of zeros where only directions count

    @property
    def mean_variance(self) -> float:
        """``(Σ w |x - mean|² / W) / n_features``, what ``tol`` is relative to."""
        return self.spread / self.mass / self.n_features * self.reach * self.reach

    def is_within(self, tol: float, drift: NDArray[np.float64]) -> bool:
        """Whether squared shifts add up to no more than ``tol`` times the mean variance."""
        shift, threshold = self.squared_shift(drift), self.shift_threshold(tol)
        # Squares of small shifts may be too small for float64.
        return shift <= threshold and not (threshold == 0 and drift.any())

    def squared_shift(self, drift: NDArray[np.float64]) -> float:
        """Squared shifts of all centroids, measured in ``reach``, added one after the other."""
        return float(np.cumsum((drift / self.reach) ** 2)[-1])

    def shift_threshold(self, tol: float) -> float:
        """``tol`` times the mean variance, in the same units."""
        return float(tol) * self.spread / self.mass / self.n_features

    def identity(self) -> dict[str, Any]:
        """What tells these rows from others, as far as totals do."""
        kind = "CSR" if self.is_sparse else "dense"
        return {
            "shape": (self.n_samples, self.n_features),
            "dtype": str(self.dtype),
            "container": kind,
            "total weight": self.mass * self.weight_unit,
            "mean": self.mean * self.unit,
            "sum of squares": self.total_square,
        }

    @property
    def cancels(self) -> bool:
        """Whether differences of squares about the origin leave too few digits of the spread.

        So it is for CSR rows far from zero, which cannot be measured from their mean.
        """
        return not (np.isfinite(self.total_square) and self.spread > CANCELLED * self.total_square)
