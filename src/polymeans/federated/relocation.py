"""A new place for vectors that have no rows, found from sums alone.

The vector whose rows scatter most is split: the one without rows is put one standard deviation away
from it, along the direction in which its rows spread most. Two sums over these rows find that
direction (power iteration), so no row is ever looked at by itself.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.khatri_rao import GridCodebook
from polymeans.codebooks.numerators import NumeratorCodebook
from polymeans.core.frame import MeasuredFrame
from polymeans.federated.coordinator import Coordinator
from polymeans.federated.messages import Message
from polymeans.federated.totals import Layout, marginal

#: How often a descent may move vectors: afterwards they are left where they are.
_MOST = 5

#: Multiplications with the scatter: with fewer the direction is half random, more cost a round
#: each.
_POWER_STEPS = 2

#: Sums of squares are sent as multiples of this share of all rows' squares.
_RESOLUTION = 2.0**-44


class Relocation:
    """Moves vectors without rows, a few times in a descent.

    Parameters
    ----------
    coordinator : Coordinator
    frame : MeasuredFrame
    """

    def __init__(self, coordinator: Coordinator, frame: MeasuredFrame) -> None:
        self.coordinator, self.frame, self._n_left = coordinator, frame, _MOST

    def move(
        self,
        codebook: BaseCodebook,
        layout: Layout,
        sent: Message,
        members: NDArray[np.int64],
    ) -> bool:
        """Move vectors without rows in a codebook; whether it has changed.

        Parameters
        ----------
        codebook : codebook
            Changed in place.
        layout : Layout
        sent : dict
            The codebook as sites have it.
        members : ndarray of shape (n_vectors,)
            Rows of each vector.
        """
        movable = isinstance(codebook, DenseCodebook | NumeratorCodebook | GridCodebook)
        if not movable or self._n_left == 0:
            return False
        sizes = codebook.sizes
        if len(sizes) > 1 and layout.needs == "cells":  # products: cells may well be empty
            members = marginal(members.reshape(sizes))
        vacant = np.flatnonzero(members == 0).tolist()
        if not vacant:
            return False
        self._n_left -= 1
        square = self.frame.total_square
        if not 0 < square < np.inf:
            return False
        unit = float(2.0 ** np.ceil(np.log2(square))) * _RESOLUTION
        asked: Message = {"codebook": sent, "unit": unit}
        shapes: dict[str, tuple[int, ...]] = {"scatter": (sum(sizes),)}
        answers = self.coordinator.ask("scatter", asked, shapes, frame=True)
        scatter = answers.totals["scatter"].astype(np.float64) * unit
        pairs = _donors(sizes, vacant, scatter, members)
        if not pairs:
            return False
        donors = np.array([donor for _, donor in pairs])
        rng = np.random.default_rng(len(pairs))
        directions = rng.choice([-1.0, 1.0], (len(pairs), self.frame.n_used))
        lengths = np.zeros(len(pairs))
        for _ in range(_POWER_STEPS):
            directions /= np.maximum(np.linalg.norm(directions, axis=1), 1e-300)[:, None]
            asked |= {"donors": donors, "directions": directions}
            shapes = {"spread": directions.shape}
            spread = self.coordinator.ask("scatter", asked, shapes, frame=True).totals["spread"]
            directions = spread * unit
            lengths = np.linalg.norm(directions, axis=1)
        for (vacancy, donor), direction, length in zip(pairs, directions, lengths):
            if length > 0:
                deviation = np.sqrt(length / members[donor])
                _put(codebook, vacancy, donor, deviation * direction / length)
        return bool((lengths > 0).any())


def _donors(
    sizes: tuple[int, ...],
    vacant: list[int],
    scatter: NDArray[np.float64],
    members: NDArray[np.int64],
) -> list[tuple[int, int]]:
    """For each vacancy the vector of the same set whose rows scatter most, each only once."""
    starts = np.cumsum([0, *sizes])
    left, pairs = np.where(members > 1, scatter, 0.0), []
    for vacancy in vacant:
        q = int(np.searchsorted(starts, vacancy, side="right")) - 1
        own = left[starts[q] : starts[q + 1]]
        donor = int(starts[q] + np.argmax(own))
        if left[donor] <= 0:
            continue
        left[donor] = 0.0
        pairs.append((vacancy, donor))
    return pairs


def _put(codebook: Any, vacancy: int, donor: int, away: NDArray[np.float64]) -> None:
    """Put one vector beside another."""
    if isinstance(codebook, DenseCodebook):
        placed = codebook.centers[donor].astype(np.float64) + away
        if codebook.spherical:
            placed /= max(float(np.linalg.norm(placed)), 1e-300)
        codebook.centers[vacancy] = placed
    elif isinstance(codebook, NumeratorCodebook):
        placed = codebook.array[donor] / codebook.denominators[donor] + away
        codebook.place(vacancy, placed)
    else:
        codebook.place(vacancy, codebook.precise[donor] + away / _other_factors(codebook, vacancy))


def _other_factors(codebook: Any, vector: int) -> NDArray[np.float64] | float:
    """Size of what a protocentroid is multiplied with: sets after the first are near one."""
    first = codebook.sizes[0]
    if not codebook.multiply or vector < first:
        return 1.0
    sizes = np.sqrt(np.mean(codebook.precise[:first] ** 2, axis=0))
    return np.where(sizes > 0, sizes, 1.0)
