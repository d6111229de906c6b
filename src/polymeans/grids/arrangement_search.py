"""Search for the cell of each centroid: fits and matchings in turn, then swaps of pairs."""

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from polymeans.grids.arrangement import Arrangement, DecompositionProblem
from polymeans.grids.arrangement_starts import (
    MOST_FOR_CORNERS,
    from_corners,
    from_random,
    from_residuals,
)
from polymeans.grids.matching import squared_distances

#: Centroids up to which swaps are tried: each round predicts the gain of all pairs, which takes
#: ``k² (n_features + p)`` operations, and there are up to ``max_iter`` rounds for each start.
_MOST_FOR_SWAPS = 400

#: Swaps tried, in order of predicted gain, before a start ends. Each takes a fit; predictions are
#: exact for full grids of sums, where the first one decides.
_TRIED_SWAPS = 24

#: Relative gain below which an error counts as unchanged: above the rounding of sums in float64.
_LEAST_GAIN = 1e-10

#: Share of the variance below which an error counts as zero: differences of centroids that are
#: equal up to rounding, about 1e-16 of their size, have squares of 1e-32; 1e-22 allows for sums.
_NO_ERROR = 1e-22

#: Relative difference of errors below which two starts have reached the same arrangement.
_SAME_ERROR = 1e-9


def fit_cells(
    problem: DecompositionProblem, cells: NDArray[np.int64], max_iter: int
) -> Arrangement:
    """Fit protocentroids to centroids whose cells are given.

    Parameters
    ----------
    problem : DecompositionProblem
    cells : ndarray of shape (k,)
    max_iter : int
        Fits of a product at most; sums need one.

    Returns
    -------
    Arrangement
    """
    fitted, error = problem.fit(cells, problem.start(cells), more_starts=True)
    history = [error]
    while problem.aggregator == "product" and len(history) < max_iter:
        again, error = problem.fit(cells, fitted)
        if not error < history[-1] * (1 - _LEAST_GAIN):
            break
        fitted = again
        history.append(error)
    return Arrangement(fitted, cells, history[-1], history)


def try_all_cells(problem: DecompositionProblem, max_iter: int) -> Arrangement:
    """Fit protocentroids to every assignment of centroids to cells, and keep the best.

    The first centroid is always in cell 0: exchanging the members of a set changes nothing.

    Parameters
    ----------
    problem : DecompositionProblem
        With few cells; there are up to ``(n_cells - 1)!`` assignments.
    max_iter : int
        Further steps from the best assignment at most.

    Returns
    -------
    Arrangement
    """
    best, least = None, np.inf
    for following in permutations(range(1, problem.n_cells), len(problem.centers) - 1):
        cells = np.array([0, *following])
        fitted, error = problem.fit(cells, problem.start(cells), more_starts=True)
        if best is None or error < least:
            best, least = (fitted, cells), error
    assert best is not None
    return _descend(problem, *best, [], max_iter)


def search_cells(
    problem: DecompositionProblem, n_init: int, max_iter: int, rng: np.random.RandomState
) -> Arrangement:
    """Search for good cells from several starts, and keep the best.

    Parameters
    ----------
    problem : DecompositionProblem
    n_init : int
        Number of starts; no further ones are made once the error is zero.
    max_iter : int
        Steps of each start at most.
    rng : RandomState
        Determines the starts.

    Returns
    -------
    Arrangement
    """
    k = len(problem.centers)
    starts: tuple[Callable[..., NDArray[np.int64]], ...] = (from_residuals, from_random)
    if k <= MOST_FOR_CORNERS:
        starts = (from_corners, from_residuals, from_corners, from_random)
    best: Arrangement | None = None
    reached: list[float] = []
    for number in range(n_init):
        cells = starts[number % len(starts)](problem, rng)
        state = _descend(problem, problem.start(cells), cells, [], max_iter)
        if np.isclose(state.error, reached, rtol=_SAME_ERROR, atol=0.0).any():
            continue  # an earlier start was here; swaps would repeat what was done then
        reached.append(state.error)
        if k <= _MOST_FOR_SWAPS:
            state = _swap_pairs(problem, state, max_iter)
            reached.append(state.error)
        if best is None or state.error < best.error:
            best = state
        if best.error <= _NO_ERROR * problem.variance:
            break
    assert best is not None
    return best


def _descend(
    problem: DecompositionProblem,
    protocentroids: Sequence[NDArray[np.float64]],
    cells: NDArray[np.int64],
    history: list[float],
    max_iter: int,
) -> Arrangement:
    """Fit protocentroids and match centroids with cells in turn until the error stops falling."""
    fitted, error = problem.fit(cells, protocentroids, more_starts=True)
    state = Arrangement(fitted, cells, error, [*history, error])
    while len(state.history) < max_iter and state.error > _NO_ERROR * problem.variance:
        cells = problem.match(state.protocentroids, state.cells)
        fitted, error = problem.fit(cells, state.protocentroids)
        if not error < state.error * (1 - _LEAST_GAIN):
            break
        state = Arrangement(fitted, cells, error, [*state.history, error])
    return state


def _swap_pairs(problem: DecompositionProblem, state: Arrangement, max_iter: int) -> Arrangement:
    """Swap the cells of pairs of centroids while that lowers the error after a new fit.

    A matching takes protocentroids as fixed. The gain of a swap after a new fit has a closed form
    for full grids of sums with equal weights; elsewhere it is an estimate that orders the swaps.
    """
    while len(state.history) < max_iter and state.error > _NO_ERROR * problem.variance:
        gains = _swap_gains(problem, state.cells)
        first, second = np.triu_indices(len(gains), 1)
        gains = gains[first, second]
        for swap in np.argsort(-gains, kind="stable")[:_TRIED_SWAPS]:
            if gains[swap] <= 0 and problem.predicts_gains:
                return state
            a, b = first[swap], second[swap]
            cells = state.cells.copy()
            cells[[a, b]] = cells[[b, a]]
            fitted, error = problem.fit(cells, state.protocentroids, more_starts=True)
            if error < state.error * (1 - _LEAST_GAIN):
                state = _descend(problem, fitted, cells, state.history, max_iter)
                break
        else:
            return state
    return state


def _swap_gains(problem: DecompositionProblem, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """Predicted gain of swapping each pair of centroids, up to a constant factor.

    The fit of a sum explains ``Σ_q Σ_i |R_qi|² h_q / Πh``, R being the sums of the slices of the
    grid. With ``δ = u_b - u_a``, swapping a in slice i with b in slice j of set q adds
    ``2 δ · (R_qi - R_qj) + 2 |δ|²`` to the squares.
    """
    effects = problem.effects
    gaps = squared_distances(effects, effects)
    gains = np.zeros_like(gaps)
    for index, size in zip(np.unravel_index(cells, problem.sizes), problem.sizes):
        slices = np.zeros((size, effects.shape[1]))
        np.add.at(slices, index, effects)
        along = (effects @ slices.T)[:, index]  # u_a · R of the slice of b
        own = np.diag(along)
        gain = along + along.T - own[:, None] - own + gaps
        gains += np.where(index[:, None] != index, 2 * size * gain, 0.0)
    return gains
