"""Greedy k-means++: one centroid after the other, each the best of a few rows."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans.core.threads import running_threads
from polymeans.engine.blocks import Block, DenseBlock
from polymeans.engine.candidates import CandidateDistances, Candidates, is_careful
from polymeans.engine.dense_assigners import DenseLloyd, score_errors
from polymeans.engine.drawing import draw_rows, largest_mass
from polymeans.engine.placement import Kept
from polymeans.engine.runners import BaseRunner

#: Multiplications for one centroid below which a second thread does not pay, and beyond which
#: Python should be able to be interrupted in between.
_SMALL, _ONE_CALL = 2**20, 2**24


def plus_plus(
    runner: BaseRunner, n_clusters: int, rng: RandomState, n_trials: int | None = None
) -> NDArray[np.int64]:
    """Greedy k-means++: each next row is the best of a few drawn by their squared distance.

    Passes over rows that are not in memory: two for each centroid.

    Parameters
    ----------
    runner : Runner
    n_clusters : int
    rng : RandomState
    n_trials : int, default=None
        Candidates for each centroid; None: ``2 + int(log(n_clusters))``.

    Returns
    -------
    ndarray of shape (n_clusters,)
        Row numbers.
    """
    if n_trials is None:
        n_trials = 2 + int(np.log(n_clusters))
    placement, frame = runner.placement, runner.frame
    block = getattr(runner, "block", None)
    if isinstance(block, DenseBlock) and _is_small(block, n_trials):
        return _in_one_call(block, n_clusters, rng, n_trials)
    placement.recall(forget_distances)
    chosen = np.empty(n_clusters, dtype=np.int64)
    for c in range(n_clusters):
        if c == 0:
            drawn, best = draw_rows(placement, "weights", rng.random_sample(1)), 0
        else:
            drawn = draw_rows(placement, "potentials", rng.uniform(size=n_trials))
        rows, norms = runner.rows_and_norms(drawn)
        if c > 0:
            tried = Candidates.of(frame, rows, norms)
            rungs = placement.reduce(try_candidates, tried, n_trials, _magics(runner))
            best = int(np.argmin(rungs.sum(axis=1)))
        accepted, one = None, slice(best, best + 1)
        if c == 0 or not placement.keeps_blocks:  # otherwise its distances are in the buffers
            accepted = Candidates.of(frame, rows[one], norms[one])
        buffered = n_trials if placement.keeps_blocks else 0
        placement.map(accept_candidate, accepted, best, buffered)
        chosen[c] = drawn[best]
    placement.recall(forget_distances)
    return chosen


def _is_small(block: DenseBlock, n_trials: int) -> bool:
    """Whether calls for each centroid would take longer than what they compute."""
    work = block.n_stored * n_trials
    one_thread = running_threads().n_threads == 1 or work < _SMALL
    return one_thread and work < _ONE_CALL and not is_careful(block.measured)


def _in_one_call(
    block: DenseBlock, n_clusters: int, rng: RandomState, n_trials: int
) -> NDArray[np.int64]:
    """The same rows, all computed by one thread."""
    from polymeans.kernels.dense import ScoreFrame
    from polymeans.kernels.rows import Book
    from polymeans.kernels.small_seeding import greedy_plus_plus

    tiles, frame = DenseLloyd(block, n_trials), block.frame
    candidates = np.empty((n_trials, block.n_features), dtype=block.dtype)
    error = score_errors(block.n_features, np.ones(1), block.dtype)
    n_bits = int(np.ceil(np.log2(max(2, block.n_samples))))
    chosen = np.empty(n_clusters, dtype=np.int64)
    greedy_plus_plus(
        block.arrays,
        block.weights,
        ScoreFrame(frame.shift, frame.shifted, block.norms, error),
        Book(candidates, np.ones(n_trials), np.zeros(n_trials), 0),
        rng.random_sample(1 + (n_clusters - 1) * n_trials),
        n_bits,
        max(2, n_bits),
        candidates,
        tiles.panels,
        tiles.block_buffer(),
        tiles.tile_buffer(),
        chosen,
    )
    return chosen


def _magics(runner: BaseRunner) -> tuple[float, float]:
    """Two rungs for sums of potentials, below the largest term of all.

    With n <= 2**b rows, what rounds away of a term is less than 2**(2 b - 106) of the largest, for
    any order of the rows.
    """
    # No candidate makes a row's potential larger than it is.
    largest = max(runner.placement.recall(largest_mass, "potentials"))
    n_bits = max(2, int(np.ceil(np.log2(runner.frame.n_samples))))
    upper = max(int(np.frexp(largest)[1]) + n_bits - 53, -900)
    return 1.5 * 2.0 ** (52 + upper), 1.5 * 2.0 ** (52 + upper + n_bits - 53)


def forget_distances(kept: Kept) -> None:
    """Nothing is chosen yet, or everything."""
    kept.closest = kept.nearest = kept.candidates = None


def try_candidates(
    block: Block, kept: Kept, tried: Candidates, n_tried: int, magics: tuple[float, float]
) -> NDArray[np.float64]:
    """Rungs of ``Σ w min(closest, d²)`` if each candidate were accepted, (m, 2)."""
    distances = kept.candidates or CandidateDistances(block, n_tried, kept.closest)
    distances.measure(tried)
    return distances.totals(n_tried, magics)


def accept_candidate(
    block: Block, kept: Kept, candidate: Candidates | None, position: int, buffered: int
) -> None:
    """Make a candidate a centroid.

    ``buffered`` is how many candidates buffers are kept for; 0: blocks do not stay, and its
    distances are computed again.
    """
    distances = kept.candidates
    if distances is None:
        assert candidate is not None
        closest = None if kept.closest is None else kept.closest.copy()
        distances = CandidateDistances(block, max(1, buffered), closest)
        distances.measure(candidate)
        position = 0
    if buffered:
        kept.candidates = distances
    distances.accept(position)
    kept.closest = distances.closest
