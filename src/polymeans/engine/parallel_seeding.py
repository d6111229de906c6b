"""k-means‖: many rows at once, in a few passes over the data."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.numerators import NumeratorCodebook
from polymeans.core.frame import Frame
from polymeans.core.rows import Rows, stacked
from polymeans.core.statistics import rounded_mass
from polymeans.engine.accumulate import MassTotals, mass_statistics
from polymeans.engine.blocks import Block
from polymeans.engine.candidates import codebook_of, nearest_of
from polymeans.engine.drawing import Lottery, draw_rows, masses_of
from polymeans.engine.placement import Kept
from polymeans.engine.plus_plus import forget_distances, plus_plus
from polymeans.engine.runners import BaseRunner, KnownRows, LocalRunner
from polymeans.engine.visits import joined

FreeCentroids = DenseCodebook | NumeratorCodebook


def parallel(
    runner: BaseRunner,
    n_clusters: int,
    rng: RandomState,
    *,
    oversampling: float = 2.0,
    n_rounds: int = 3,
) -> NDArray[np.int64]:
    """k-means‖: a few rounds of drawing many rows at once, then k-means++ among those.

    A round draws each row with probability ``oversampling * n_clusters * w d² / Σ w d²``. The
    drawn rows, weighted by how much of the data is nearest to each, are thinned by
    :func:`plus_plus`. Passes over the data: ``n_rounds + 1``, instead of ``n_clusters``. Each of
    them looks only at the rows drawn in the round before, and brings along those that are drawn
    next. Memory: 12 bytes a row.

    Parameters
    ----------
    runner : Runner
    n_clusters : int
    rng : RandomState
    oversampling : float
        Expected draws in a round, as a multiple of ``n_clusters``.
    n_rounds : int
        Rounds of drawing.

    Returns
    -------
    ndarray of shape (n_clusters,)
        Row numbers.
    """
    placement, expected = runner.placement, oversampling * n_clusters
    placement.recall(forget_distances)
    chosen = _Chosen()
    first = draw_rows(placement, "weights", rng.random_sample(1))
    chosen.add(first, *runner.rows_and_norms(first))
    for _ in range(n_rounds):
        seed = int(rng.randint(2**31))
        lottery: Lottery = placement.reduce(draw_next, *chosen.last(runner.frame), expected, seed)
        drawn = lottery.drawn()
        chosen.add(drawn.numbers, drawn.rows, drawn.norms)
        if float(lottery.total) <= 0:
            break
    totals: MassTotals = placement.reduce(gather, *chosen.last(runner.frame))
    if chosen.n_distinct < n_clusters:
        n_missing = n_clusters - chosen.n_distinct
        found = placement.recall(heaviest, n_missing, np.concatenate(chosen.numbers))
        rows, masses = (joined(list(parts)) for parts in zip(*found))
        rows = rows[np.lexsort((rows, -masses))[:n_missing]]
        chosen.add(rows, *runner.rows_and_norms(rows))
        totals = placement.reduce(gather, *chosen.last(runner.frame))
    placement.recall(forget_distances)
    known, rungs = chosen.sorted(totals.rungs)
    runner.remember(known)
    few = LocalRunner(known.rows, rounded_mass(rungs))
    return known.numbers[plus_plus(few, n_clusters, rng)]


class _Chosen:
    """The rows chosen so far, in the order in which they were."""

    def __init__(self) -> None:
        self.numbers: list[NDArray[np.int64]] = []
        self._rows: list[Rows] = []
        self._norms: list[NDArray[np.float64]] = []

    def add(self, numbers: NDArray[np.int64], rows: Rows, norms: NDArray[np.float64]) -> None:
        """Rows of one round."""
        self.numbers.append(numbers)
        self._rows.append(rows)
        self._norms.append(norms)

    @property
    def n_distinct(self) -> int:
        return len(np.unique(np.concatenate(self.numbers)))

    def last(self, frame: Frame) -> tuple[FreeCentroids | None, int]:
        """The rows of the last round as centroids, if there are any, and how many came before."""
        n_before = sum(len(part) for part in self.numbers[:-1])
        if len(self.numbers[-1]) == 0:
            return None, n_before
        return codebook_of(frame, self._rows[-1], self._norms[-1]), n_before

    def sorted(self, rungs: NDArray[np.float64]) -> tuple[KnownRows, NDArray[np.float64]]:
        """All rows by number, each once, and what was gathered by each."""
        numbers = np.concatenate(self.numbers)
        distinct, places, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        gathered = np.zeros((len(distinct), rungs.shape[1]))
        np.add.at(gathered, inverse[: len(rungs)], rungs)
        rows = stacked([part for part in self._rows if part.shape[0]])
        return KnownRows(distinct, rows[places], np.concatenate(self._norms)[places]), gathered


def approach(block: Block, kept: Kept, codebook: FreeCentroids | None, n_before: int) -> None:
    """Take further candidates into account in the distances to the closest ones.

    Of equal distances the one that came first counts.
    """
    if codebook is None:
        return
    distances, labels = nearest_of(block, codebook)
    labels += np.int32(n_before)
    if kept.closest is None or kept.nearest is None:
        kept.closest, kept.nearest = distances, labels
        return
    nearer = distances < kept.closest
    kept.closest = np.where(nearer, distances, kept.closest)
    kept.nearest = np.where(nearer, labels, kept.nearest)


def draw_next(
    block: Block,
    kept: Kept,
    codebook: FreeCentroids | None,
    n_before: int,
    expected: float,
    seed: int,
) -> Lottery:
    """The rows that may be drawn in the next round."""
    approach(block, kept, codebook, n_before)
    return Lottery.of(block, masses_of(kept, "potentials"), expected, seed)


def gather(block: Block, kept: Kept, codebook: FreeCentroids | None, n_before: int) -> MassTotals:
    """How much of the data is nearest to each candidate."""
    approach(block, kept, codebook, n_before)
    assert kept.nearest is not None
    n_candidates = n_before + (0 if codebook is None else codebook.n_clusters)
    return mass_statistics(block.weights, block.measured.mass_ladder, kept.nearest, n_candidates)


def heaviest(
    kept: Kept, n_rows: int, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows that count most among those not chosen: numbers and ``w d²``."""
    masses = masses_of(kept, "potentials")
    others = np.setdiff1d(np.arange(kept.n_samples), chosen - kept.first)
    best = others[np.argsort(-masses[others], kind="stable")[:n_rows]]
    return kept.first + best, masses[best]
