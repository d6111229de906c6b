"""Rows drawn at random, the same ones however the rows are cut into blocks.

Rows are drawn by whole numbers in proportion to their mass, which add up exactly, and random
numbers that belong to rows are found by the rows' global numbers. Nothing is read for it: what is
kept of the blocks is enough.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polymeans.core.exact_sums import ExactSum
from polymeans.core.rows import Rows, stacked
from polymeans.engine.blocks import Block
from polymeans.engine.placement import Kept, Placement, first_rows

#: Rows whose random numbers come from one generator, keyed by their place.
_KEYED_ROWS = 4096

#: Bits of a total of whole numbers that rows are drawn by.
_DRAWN_BITS = 61

#: Rounding of a row's chance, with room to spare: so much less than the limit is looked at again.
_DOUBT = 1e-9

#: In proportion to what rows are drawn: to w, or to ``w d²`` with d as :class:`Kept` has it.
Mass = Literal["weights", "potentials"]


def draw_rows(placement: Placement, mass: Mass, draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows drawn in proportion to their masses, for numbers between 0 and 1.

    Masses become whole numbers, of 61 bits in total, whose sums are exact: the block is found by
    the sums of the blocks, then the row inside it.

    Parameters
    ----------
    placement : Placement
    mass : {"weights", "potentials"}
    draws : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (m,)
        Numbers of rows, counted over all blocks. The last row of positive mass (or the last row)
        where nothing has any.
    """
    n_rows = placement.shape[0]
    largest = max(placement.recall(largest_mass, mass))
    if not largest > 0:
        return np.full(len(draws), n_rows - 1)
    bits = _DRAWN_BITS - int(np.ceil(np.log2(max(2, n_rows)))) - int(np.frexp(largest)[1])
    low, high = bits // 2, bits - bits // 2  # one factor could leave the range of numbers
    scales = 2.0**low, 2.0**high
    totals = placement.recall(mass_units, mass, scales)
    total = sum(totals)
    # The draw's 53 bits times a total of 61: in Python's integers nothing is rounded.
    wanted = [int(draw * 2**53) * total >> 53 for draw in draws.tolist()]
    order = np.argsort(draws, kind="stable")
    blocks, places, targets = [], [], []
    before, position = 0, 0
    for block, units in enumerate(totals):
        last = position
        while last < len(order) and wanted[order[last]] < before + units:
            last += 1
        if last > position:
            inside = order[position:last]
            blocks.append(block)
            places.append(inside)
            targets.append((np.array([wanted[i] - before for i in inside], dtype=np.int64),))
        before, position = before + units, last
    found = np.empty(len(draws), dtype=np.int64)
    firsts = first_rows(placement.sizes)
    rows = placement.recall(rows_of_mass, mass, scales, per_block=targets, only=blocks)
    for block, inside, own in zip(blocks, places, rows):
        found[inside] = firsts[block] + own
    return found


def masses_of(kept: Kept, mass: Mass) -> NDArray[np.float64]:
    """What a block's rows are drawn in proportion to."""
    if mass == "weights":
        return kept.all_weights()
    if kept.candidates is not None:
        return kept.candidates.potentials
    assert kept.closest is not None
    return kept.all_weights() * kept.closest


def largest_mass(kept: Kept, mass: Mass) -> float:
    """The largest mass of a block's rows."""
    return float(masses_of(kept, mass).max(initial=0.0))


def mass_units(kept: Kept, mass: Mass, scales: tuple[float, float]) -> int:
    """A block's mass in whole numbers."""
    from polymeans.kernels import seeding

    return int(seeding.total_units(masses_of(kept, mass), *scales))


def rows_of_mass(
    kept: Kept, targets: NDArray[np.int64], mass: Mass, scales: tuple[float, float]
) -> NDArray[np.int64]:
    """Rows inside a block that the targets, in whole numbers of mass, fall on."""
    from polymeans.kernels import seeding

    return seeding.rows_of_units(masses_of(kept, mass), *scales, targets)


def uniform_by_row(seed: int, first: int, n_rows: int) -> NDArray[np.float64]:
    """Random numbers of rows ``first : first + n_rows``, the same however rows are cut up."""
    parts = []
    for key in range(first // _KEYED_ROWS, -(-(first + n_rows) // _KEYED_ROWS)):
        generator = np.random.Generator(np.random.Philox(key=[seed, key]))
        parts.append(generator.random(_KEYED_ROWS))
    skipped = first % _KEYED_ROWS
    return np.concatenate(parts)[skipped : skipped + n_rows] if parts else np.empty(0)


@dataclass
class Lottery:
    """Rows that may be drawn, each by itself, with a chance in proportion to its mass.

    The chance of row i is ``expected * mass_i / total``, and ``total`` is known only when all rows
    were looked at. It is at least that of some of them, so most rows are out of the question
    before: what is left are about as many as will be drawn, and they come with their values, so
    that no row has to be read again.
    """

    expected: float  #: rows that will be drawn, on average
    total: ExactSum
    numbers: NDArray[np.int64]
    masses: NDArray[np.float64]
    uniform: NDArray[np.float64]
    rows: Rows
    norms: NDArray[np.float64]

    @classmethod
    def of(cls, block: Block, masses: NDArray[np.float64], expected: float, seed: int) -> "Lottery":
        """The rows of one block."""
        total = ExactSum.of(masses)
        uniform = uniform_by_row(seed, block.first, block.n_samples)
        chosen = np.flatnonzero(_possible(uniform, masses, expected, float(total)))
        return cls(
            expected,
            total,
            block.first + chosen,
            masses[chosen],
            uniform[chosen],
            block.rows_at(chosen),
            block.norms[chosen],
        )

    def __add__(self, other: "Lottery") -> "Lottery":
        total = self.total + other.total
        parts, limit = [], float(total)
        for part in (self, other):
            parts.append(part._some(_possible(part.uniform, part.masses, part.expected, limit)))
        one, two = parts
        return Lottery(
            self.expected,
            total,
            np.concatenate([one.numbers, two.numbers]),
            np.concatenate([one.masses, two.masses]),
            np.concatenate([one.uniform, two.uniform]),
            stacked([one.rows, two.rows]),
            np.concatenate([one.norms, two.norms]),
        )

    def drawn(self) -> "Lottery":
        """The rows that are drawn, by number; none if there is no mass."""
        total = float(self.total)
        if total <= 0:
            return self._some(np.zeros(len(self.numbers), dtype=bool))
        chances = self.expected * self.masses / total
        found = self._some(self.uniform < chances)
        return found._some(np.argsort(found.numbers))

    def _some(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> "Lottery":
        numbers = np.flatnonzero(which) if which.dtype == bool else which
        if len(numbers) == len(self.numbers) and which.dtype == bool:
            return self
        return Lottery(
            self.expected,
            self.total,
            self.numbers[numbers],
            self.masses[numbers],
            self.uniform[numbers],
            self.rows[numbers],
            self.norms[numbers],
        )


def _possible(
    uniform: NDArray[np.float64], masses: NDArray[np.float64], expected: float, total: float
) -> NDArray[np.bool_]:
    """Rows that can be drawn if the total is at least this."""
    return uniform * total < expected * masses * (1 + _DOUBT)
