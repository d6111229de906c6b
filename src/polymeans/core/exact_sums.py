"""Sums whose bits do not depend on the order of their terms.

Two forms, both exact before they are rounded once:

- :class:`Ladder`: for many sums at a time (cluster sums, feature by feature). Each sum has a few
  float64 *rungs*; how many follows from the range of all terms, see :mod:`polymeans.kernels.exact`.
  Numbers of 24 bits within a moderate range, which most float32 data are, need a single rung: there
  plain addition is exact.
- :class:`ExactSum`: for single numbers of any magnitude.

Both can be added to each other in any order, so rows may be cut into blocks at will.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import frexp

import numpy as np
from numpy.typing import NDArray

from polymeans.core.threads import running_threads

#: A range that needs more rungs than this is looked at bit by bit: its middle may be empty.
_WIDE = 4

#: Numbers that a thread takes at a time, at least: less is done before it could be handed over.
_SHARE = 2**15


@dataclass(frozen=True)
class TermRange:
    """Between which powers of two the terms of some sums lie."""

    largest: float = 0.0  #: absolute value
    smallest: float = np.inf  #: the same, of terms other than zero
    narrow: bool = True  #: all terms are float32 numbers: 24 bits are enough for each

    def __add__(self, other: "TermRange") -> "TermRange":
        return TermRange(
            max(self.largest, other.largest),
            min(self.smallest, other.smallest),
            self.narrow and other.narrow,
        )

    @property
    def bits(self) -> tuple[int, int]:
        """Terms are multiples of two to the second number, and less than two to the first."""
        if self.largest == 0.0:
            return 1, 0
        lowest = frexp(self.smallest)[1] - (24 if self.narrow else 53)
        return frexp(self.largest)[1], max(lowest, -1074)


@dataclass(frozen=True)
class Ladder:
    """The rungs that sums of certain terms are kept on, the highest first.

    Parameters
    ----------
    units : tuple of float
        Powers of two; terms rounded to a multiple of the first, the rest to a multiple of the
        second, and so on, leave nothing behind the last.
    """

    units: tuple[float, ...]

    @property
    def n_rungs(self) -> int:
        """Numbers kept for each sum."""
        return len(self.units)

    @cached_property
    def magics(self) -> NDArray[np.float64]:
        """What is added and subtracted to round to each unit but the last; for kernels."""
        return 1.5 * 2.0**52 * np.array(self.units[:-1])

    @classmethod
    def for_terms(cls, terms: TermRange, n_terms: int) -> "Ladder":
        """The ladder for sums of at most ``n_terms`` terms within a range."""
        return cls.for_segments([terms.bits], n_terms)

    @classmethod
    def for_segments(cls, segments: list[tuple[int, int]], n_terms: int) -> "Ladder":
        """The same for terms whose bits lie in some segments, the highest first.

        A rung with unit u holds totals up to ``2**53 u``, that is ``2**b`` terms below
        ``2**(53 - b) u``.
        """
        room = 53 - max(2, (max(int(n_terms), 1) - 1).bit_length())
        units = []
        for top, bottom in segments:
            while True:
                unit = max(top - room, bottom)
                units.append(2.0**unit)
                if unit == bottom:
                    break
                top = unit - 1  # what rounding to a unit leaves is at most half of it
        return cls(tuple(units))

    @property
    def is_long(self) -> bool:
        """Whether the range is so wide that it pays to look for gaps in it."""
        return self.n_rungs > _WIDE


def segments_of(used: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Ranges of bits from the bins that terms have bits in (``kernels.exact.mark_bits``)."""
    from polymeans.kernels.exact import BIN_BITS, LOWEST

    marked = np.flatnonzero(used)
    if len(marked) == 0:
        return [(1, 0)]
    cuts = [0, *(np.flatnonzero(np.diff(marked) > 1) + 1), len(marked)]
    runs = [(marked[first], marked[last - 1]) for first, last in pairwise(cuts)]
    return [
        (LOWEST + BIN_BITS * (int(high) + 1), max(-1074, LOWEST + BIN_BITS * int(low)))
        for low, high in reversed(runs)
    ]


class ExactSum:
    """The exact sum of any float64 numbers; ``float(total)`` rounds it, once.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.core.exact_sums import ExactSum
    >>> float(ExactSum.of(np.array([1e300, 1.0, -1e300])))
    1.0
    """

    def __init__(self, bins: NDArray[np.int64] | None = None, infinite: bool = False) -> None:
        from polymeans.kernels.exact import N_BINS

        self.bins = np.zeros(N_BINS, dtype=np.int64) if bins is None else bins
        self.infinite = infinite  #: a term was out of range

    @classmethod
    def of(
        cls, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None
    ) -> "ExactSum":
        """Sum of ``values``, or of ``values * weights``, each product rounded once.

        Terms of weight zero count as zero whatever they are. A positive term that float64 cannot
        hold makes the sum infinite.
        """
        from polymeans.kernels.exact import N_BINS, add_products_to_bins

        if weights is None:
            weights = np.broadcast_to(np.float64(1.0), values.shape)

        def add(part: tuple[int, int]) -> tuple[NDArray[np.int64], bool]:
            bins = np.zeros(N_BINS, dtype=np.int64)
            return bins, add_products_to_bins(values, weights, *part, bins)

        threads = running_threads()
        parts = threads.map(add, threads.ranges(len(values), smallest=_SHARE))
        if len(parts) == 1:
            return cls(*parts[0])
        total = sum((bins for bins, _ in parts), np.zeros(N_BINS, dtype=np.int64))
        return cls(total, any(infinite for _, infinite in parts))

    @classmethod
    def of_integer(cls, value: int) -> "ExactSum":
        """A whole number of at most 62 bits."""
        from polymeans.kernels.exact import BIN_BITS, LOWEST

        total = cls()
        total.bins[-LOWEST // BIN_BITS] = value
        return total

    def __add__(self, other: "ExactSum") -> "ExactSum":
        # Carried first, so that bins cannot overflow however many sums are added.
        bins = _carried(self.bins) + _carried(other.bins)
        return ExactSum(bins, self.infinite or other.infinite)

    def __float__(self) -> float:
        from polymeans.kernels.exact import BIN_BITS, LOWEST

        if self.infinite:
            return np.inf
        total = 0
        for part in self.bins[::-1].tolist():
            total = (total << BIN_BITS) + part
        try:
            return total / (1 << -LOWEST)  # Python divides integers with a single, correct rounding
        except OverflowError:
            return np.inf if total > 0 else -np.inf


def _carried(bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same number with every bin but the last between 0 and 2**32."""
    from polymeans.kernels.exact import BIN_BITS

    out, carry = bins.copy(), 0
    for b in range(len(out) - 1):
        carry += int(bins[b])
        out[b] = carry & ((1 << BIN_BITS) - 1)
        carry >>= BIN_BITS
    out[-1] = int(bins[-1]) + carry
    return out
