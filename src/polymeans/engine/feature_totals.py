"""Exact sums of features over rows whose range is known only block by block."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeans.core.exact_sums import Ladder, TermRange, segments_of

#: Ranges of bits, the highest first: terms are less than two to the first number of one of them,
#: and multiples of two to its second.
Segments = tuple[tuple[int, int], ...]


@dataclass
class FeatureTotals:
    """Rungs of ``Σ w x``, on the ladder that the rows so far need.

    Sums of two parts that need different ladders are brought onto one that serves both. Nothing is
    rounded by that, so one pass can find the range of all rows and add them up.
    """

    segments: Segments
    n_terms: int  #: rows of all parts that will ever be added
    rungs: NDArray[np.float64]  #: (n_rungs, d)

    @property
    def ladder(self) -> Ladder:
        """The ladder of the rungs."""
        return Ladder.for_segments(list(self.segments), self.n_terms)

    @property
    def whole(self) -> tuple[int, int]:
        """One range of bits that has all of them."""
        return max(top for top, _ in self.segments), min(low for _, low in self.segments)

    def __add__(self, other: "FeatureTotals") -> "FeatureTotals":
        if self.segments == other.segments:
            return FeatureTotals(self.segments, self.n_terms, self.rungs + other.rungs)
        segments = _joined(self.segments + other.segments, self.n_terms)
        ladder = Ladder.for_segments(list(segments), self.n_terms)
        rungs = on_ladder(self.rungs, self.ladder, ladder)
        rungs += on_ladder(other.rungs, other.ladder, ladder)
        return FeatureTotals(segments, self.n_terms, rungs)

    def rounded(self, ladder: Ladder) -> NDArray[np.float64]:
        """The sums, rounded once. The ladder decides the last bit where it has many rungs."""
        from polymeans.kernels import exact

        rungs = on_ladder(self.rungs, self.ladder, ladder)
        if ladder.n_rungs > 2:
            _carry(rungs, ladder)
        out = np.empty((1, rungs.shape[1]))
        exact.round_clusters(rungs[None], np.arange(1), out)
        return out[0]


def segments_for(terms: TermRange, n_terms: int, used: NDArray[np.bool_] | None) -> Segments:
    """Where the terms of some rows have bits, by their range or bin by bin."""
    if used is None or not Ladder.for_terms(terms, n_terms).is_long:
        return (terms.bits,)
    return tuple(segments_of(used))


def on_ladder(rungs: NDArray[np.float64], old: Ladder, new: Ladder) -> NDArray[np.float64]:
    """The same sums on another ladder, which must reach as high and as low."""
    if old.units == new.units:
        return rungs.copy()
    out = np.zeros((new.n_rungs, rungs.shape[1]))
    for rung in rungs:
        rest = rung.copy()
        for r, unit in enumerate(new.units[:-1]):
            part = np.floor(rest / unit) * unit
            out[r] += part
            rest -= part
        out[-1] += rest
    return out


def _carry(rungs: NDArray[np.float64], ladder: Ladder) -> None:
    """Bring the same sums into the one form in which every lower rung is less than a unit above.

    Rungs that were filled by single terms and by totals are then equal, and are rounded alike.
    """
    for r in range(ladder.n_rungs - 1, 0, -1):
        above = np.floor(rungs[r] / ladder.units[r - 1]) * ladder.units[r - 1]
        rungs[r - 1] += above
        rungs[r] -= above


def _joined(segments: Segments, n_terms: int) -> Segments:
    """Segments that overlap become one; all of them if one ladder for all is short."""
    whole = max(top for top, _ in segments), min(bottom for _, bottom in segments)
    if not Ladder.for_segments([whole], n_terms).is_long:
        return (whole,)
    joined: list[tuple[int, int]] = []
    for top, bottom in sorted(segments, reverse=True):
        if joined and top >= joined[-1][1]:
            joined[-1] = joined[-1][0], min(joined[-1][1], bottom)
        else:
            joined.append((top, bottom))
    return tuple(joined)
