"""Where the selection of two factors starts, and how many starts it gets.

The dictionary of a start is the identity and some columns of the target itself (of the shorter
side, brought to length one). Columns say what many others have in common; the identity writes down
what is particular to one. How many columns are worth their price depends on the data, so a few
sizes are tried for some rounds, and the best goes on.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.factorization.selection import Pair, Side, largest, polish, select

#: Dictionary columns that are tried, as shares of what the budget could pay for in full.
_SIZES = (1.0, 0.5, 0.25)

#: Columns at most, in multiples of the shorter side.
_MOST_COLUMNS = 2.0

#: Sides that differ by less than this factor may take each other's part.
_NEARLY_SQUARE = 1.5

#: Rounds of each start, and of the best one afterwards with the shares of its entries it tries.
_TRIAL_ROUNDS, _FINAL_ROUNDS, _FINAL_SHARES = 6, 18, (0.12, 0.01)

#: Entries of the larger factor, zeros included, for which there are as many rounds as said. Small
#: problems get more starts, up to this multiple, large ones fewer rounds, but not less than these.
_USUAL, _MOST, _FEWEST = 2**18, 3.0, 4

#: Error, relative to the target, that counts as none.
_EXACT = 1e-13


def two_factors(
    target: NDArray[np.float64],
    n_nonzeros: int,
    threads: Any,
    rng: np.random.RandomState,
    *,
    effort: float = 1.0,
    on_round: Callable[[float], Any] | None = None,
) -> tuple[Pair, float]:
    """Two factors with at most so many non-zeros, and a free inner size.

    Parameters
    ----------
    target : ndarray of shape (k, d)
        Rows that count more are longer here.
    n_nonzeros : int
        At least 2.
    threads : Threads
    rng : RandomState
        Draws the columns.
    effort : float, default=1
        Multiple of the usual number of rounds. Below 0.3 only one size is tried.
    on_round : callable, default=None
        Called with the error of each round.

    Returns
    -------
    pair : Pair
    error : float
        Its squared error.
    """
    power = float(np.einsum("ij,ij->", target, target))
    if power == 0:
        return Pair(np.zeros((target.shape[0], 1)), np.zeros((target.shape[1], 1))), 0.0
    # Rows and columns of zeros need no entries, and must not decide which side is the shorter.
    rows, columns = target.any(axis=1), target.any(axis=0)
    core = np.ascontiguousarray(target[rows][:, columns])
    if n_nonzeros >= np.count_nonzero(core) + min(core.shape):
        # Room for everything: the matrix itself, and the identity.
        small, large = np.eye(min(core.shape)), core if core.shape[0] > core.shape[1] else core.T
        left, right = (small, large) if core.shape[0] <= core.shape[1] else (large, small)
        return Pair(_put_back(left, rows), _put_back(right, columns)), 0.0
    goal = _EXACT * power
    starts = _starts(core.shape, n_nonzeros)
    work = max(core.shape) * (min(core.shape) + starts[0][0])
    pace = effort * min(_MOST, np.sqrt(_USUAL / work))
    n_trial = max(_FEWEST, round(_TRIAL_ROUNDS * min(1.0, pace)))
    # Other columns help small problems more than further rounds of the same ones.
    starts = starts[:1] if pace < 0.3 else starts * max(1, int(pace))
    best, lowest = None, np.inf
    for size, upright in starts:
        pair = begin(core, size, n_nonzeros, threads, rng, upright)
        pair, error = select(
            pair, core, n_nonzeros, threads, n_rounds=n_trial, goal=goal, on_round=on_round
        )
        if error < lowest:
            best, lowest = pair, error
        if lowest <= goal:
            break
    n_final = max(_FEWEST, round(_FINAL_ROUNDS * pace)) if lowest > goal else 0
    best, lowest = select(
        best,
        core,
        n_nonzeros,
        threads,
        n_rounds=n_final,
        shares=_FINAL_SHARES,
        goal=goal,
        on_round=on_round,
    )
    lowest = polish(best, core, threads)
    if on_round is not None:
        on_round(lowest)
    return Pair(_put_back(best.left, rows), _put_back(best.right, columns)), lowest


def _put_back(side: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.float64]:
    whole = np.zeros((len(present), side.shape[1]))
    whole[present] = side
    return whole


def _starts(shape: tuple[int, int], n_nonzeros: int) -> list[tuple[int, bool]]:
    """Numbers of columns to try, the largest first, and whether they are those of the matrix.

    Atoms belong to the shorter side; of a matrix that is nearly square both sides are tried.
    """
    upright = shape[0] <= shape[1]
    starts = [(size, upright) for size in _sizes(shape, n_nonzeros)]
    if max(shape) < _NEARLY_SQUARE * min(shape):
        starts.append((starts[-1][0], not upright))
        starts.append((starts[0][0], not upright))
    return starts


def _sizes(shape: tuple[int, int], n_nonzeros: int) -> list[int]:
    """Numbers of columns to try, the largest first."""
    short = min(shape)
    affordable = min(n_nonzeros / short, _MOST_COLUMNS * short, max(shape))
    return sorted({int(affordable * share) for share in _SIZES}, reverse=True)


def begin(
    target: NDArray[np.float64],
    n_columns: int,
    n_nonzeros: int,
    threads: Any,
    rng: np.random.RandomState,
    upright: bool,
) -> Pair:
    """Identity and columns (or rows) as one side, half the budget of codes as the other."""
    short = target if upright else target.T
    square = np.einsum("ij,ij->j", short, short)
    # Columns that are next to nothing are not worth an atom.
    worth = rng.permutation(np.flatnonzero(square > 1e-4 * square.max()))[:n_columns]
    columns = short[:, worth] / np.sqrt(square[worth])
    atoms = np.ascontiguousarray(np.hstack([np.eye(len(short)), columns]))
    side = Side(short.T, atoms, threads)
    n_codes = max(1, n_nonzeros // 2)
    codes = side.solve(np.zeros(side.shape), largest(side.pursued(n_codes), n_codes))
    return Pair(atoms, codes) if upright else Pair(codes, atoms)


def trial_error(
    target: NDArray[np.float64], n_nonzeros: int, threads: Any, seed: int, n_rounds: int = 5
) -> float:
    """Squared error after a few rounds from one start, to compare targets by."""
    if n_nonzeros >= np.count_nonzero(target) + min(target.shape):
        return 0.0
    size, upright = _starts(target.shape, n_nonzeros)[-1]
    rng = np.random.RandomState(seed)
    pair = begin(target, size, n_nonzeros, threads, rng, upright)
    return select(pair, target, n_nonzeros, threads, n_rounds=n_rounds)[1]
