"""Which centroid belongs into which cell: fits and matchings in turn, then trades of pairs."""

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from polymeans.grids.arrangement import Arrangement, GridFit
from polymeans.grids.arrangement_starts import (
    MOST_FOR_CORNERS,
    from_corners,
    from_random,
    from_residuals,
)
from polymeans.grids.matching import squared_distances

#: Centroids up to which trades are tried: each round compares all pairs of centroids.
_MOST_FOR_TRADES = 400

#: Trades tried, in order of their forecast gain, before a start is done.
_TRIED_TRADES = 24

#: Relative gain that counts as one, and the share of the variance that counts as nothing.
_GAIN, _NOTHING = 1e-10, 1e-22


def fit_cells(problem: GridFit, cells: NDArray[np.int64], max_iter: int) -> Arrangement:
    fitted, error = problem.fit(cells, problem.start(cells), anew=True)
    history = [error]
    while problem.aggregator == "product" and len(history) < max_iter:
        again, error = problem.fit(cells, fitted)
        if not error < history[-1] * (1 - _GAIN):
            break
        fitted = again
        history.append(error)
    return Arrangement(fitted, cells, history[-1], history)


def try_all(problem: GridFit, max_iter: int) -> Arrangement:
    best, least = None, np.inf
    for following in permutations(range(1, problem.n_cells), len(problem.centers) - 1):
        cells = np.array([0, *following])
        fitted, error = problem.fit(cells, problem.start(cells), anew=True)
        if best is None or error < least:
            best, least = (fitted, cells), error
    assert best is not None
    return _descend(problem, *best, [], max_iter)


def search_cells(
    problem: GridFit, n_init: int, max_iter: int, rng: np.random.RandomState
) -> Arrangement:
    k = len(problem.centers)
    starts: tuple[Callable[..., NDArray[np.int64]], ...] = (from_residuals, from_random)
    if k <= MOST_FOR_CORNERS:
        starts = (from_corners, from_residuals, from_corners, from_random)
    best: Arrangement | None = None
    reached: list[float] = []
    for number in range(n_init):
        cells = starts[number % len(starts)](problem, rng)
        state = _descend(problem, problem.start(cells), cells, [], max_iter)
        if np.isclose(state.error, reached, rtol=1e-9, atol=0.0).any():
            continue  # where it leads is known
        reached.append(state.error)
        if k <= _MOST_FOR_TRADES:
            state = _trade(problem, state, max_iter)
            reached.append(state.error)
        if best is None or state.error < best.error:
            best = state
        if best.error <= _NOTHING * problem.variance:
            break
    assert best is not None
    return best


def _descend(
    problem: GridFit,
    protocentroids: Sequence[NDArray[np.float64]],
    cells: NDArray[np.int64],
    history: list[float],
    max_iter: int,
) -> Arrangement:
    """Fit and match in turn until neither helps."""
    fitted, error = problem.fit(cells, protocentroids, anew=True)
    state = Arrangement(fitted, cells, error, [*history, error])
    while len(state.history) < max_iter and state.error > _NOTHING * problem.variance:
        cells = problem.match(state.protocentroids, state.cells)
        fitted, error = problem.fit(cells, state.protocentroids)
        if not error < state.error * (1 - _GAIN):
            break
        state = Arrangement(fitted, cells, error, [*state.history, error])
    return state


def _trade(problem: GridFit, state: Arrangement, max_iter: int) -> Arrangement:
    """Let pairs of centroids trade places while that lowers the error after a new fit.

    A matching sees only the present protocentroids; what a trade gains once they follow is known
    in closed form for a sum of equally weighted centroids. It serves as a forecast elsewhere.
    """
    while len(state.history) < max_iter and state.error > _NOTHING * problem.variance:
        gains = _forecast(problem, state.cells)
        first, second = np.triu_indices(len(gains), 1)
        gains = gains[first, second]
        for trade in np.argsort(-gains, kind="stable")[:_TRIED_TRADES]:
            if gains[trade] <= 0 and problem.forecast_is_exact:
                return state
            a, b = first[trade], second[trade]
            cells = state.cells.copy()
            cells[[a, b]] = cells[[b, a]]
            fitted, error = problem.fit(cells, state.protocentroids, anew=True)
            if error < state.error * (1 - _GAIN):
                state = _descend(problem, fitted, cells, state.history, max_iter)
                break
        else:
            return state
    return state


def _forecast(problem: GridFit, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """Gain of each trade: a sum keeps ``Σ_q Σ_i |R_qi|² h_q / Πh``, R the sums of its slices.

    With ``δ = u_b - u_a``, trading a in slice i for b in slice j of set q adds
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
