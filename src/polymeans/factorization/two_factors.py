"""Two factors from several starts: which dictionaries to start from, and rounds for each.

The dictionary of a start is the identity and some columns of the target itself (of the shorter
side, brought to length one). Columns are patterns that many others share; an atom of the identity
encodes a single entry of the target. How many columns are best depends on the data, so a few
numbers of them are tried for some rounds, and the best pair is improved further.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.factorization.pair import Pair, refit_pair
from polymeans.factorization.pair_selection import select_supports
from polymeans.factorization.sparse_coding import SparseCoding, largest

# For all of these see docs/explanation/constants.rst.

#: Numbers of dictionary columns that are tried, as shares of the columns that the budget could pay
#: for in full.
_SIZES = (1.0, 0.5, 0.25)

#: Columns at most, in multiples of the shorter side: errors were lowest at about this number.
_MAX_COLUMNS = 2.0

#: Ratio of the sides below which atoms of the longer side are tried as well.
_NEARLY_SQUARE = 1.5

#: Rounds of each start, and of the best one afterwards: after 8 rounds nine tenths of what many
#: rounds gain was reached.
_TRIAL_ROUNDS, _FINAL_ROUNDS = 6, 18

#: Shares of new entries in the first and the last of the final rounds: lower than for starts, whose
#: supports are still poor.
_FINAL_SHARES = (0.12, 0.01)

#: Entries of the larger factor, zeros included, for which there are as many rounds as stated above
#: (about 256 x 1024). Rounds fall with the root of the size above, starts are repeated below, up to
#: this multiple.
_USUAL_ENTRIES, _MAX_REPEATS = 2**18, 3.0

#: Rounds at least, however large the target is.
_MIN_ROUNDS = 4

#: Pace below which only one start is tried.
_ONE_START = 0.3

#: Squared norm of a column, relative to the largest, below which it is not used as an atom.
_MIN_COLUMN = 1e-4

#: Squared error, relative to that of the target, that counts as zero: rounding.
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
        Multiple of the usual number of rounds. Below 0.3 only one start is tried.
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
    rows, columns = (np.asarray(target.any(axis=axis)) for axis in (1, 0))
    core = np.ascontiguousarray(target[rows][:, columns])
    if n_nonzeros >= np.count_nonzero(core) + min(core.shape):
        # The budget covers the matrix itself and the identity.
        small, large = np.eye(min(core.shape)), core if core.shape[0] > core.shape[1] else core.T
        left, right = (small, large) if core.shape[0] <= core.shape[1] else (large, small)
        return Pair(_put_back(left, rows), _put_back(right, columns)), 0.0
    goal = _EXACT * power
    starts = _starts(core.shape, n_nonzeros)
    work = max(core.shape) * (min(core.shape) + starts[0][0])
    pace = effort * min(_MAX_REPEATS, np.sqrt(_USUAL_ENTRIES / work))
    n_trial = max(_MIN_ROUNDS, round(_TRIAL_ROUNDS * min(1.0, pace)))
    # For small targets, other columns gain more than further rounds with the same ones.
    starts = starts[:1] if pace < _ONE_START else starts * max(1, int(pace))
    best, lowest = None, np.inf
    for size, upright in starts:
        pair = start_pair(core, size, n_nonzeros, threads, rng, upright)
        pair, error = select_supports(
            pair, core, n_nonzeros, threads, n_rounds=n_trial, goal=goal, on_round=on_round
        )
        if error < lowest:
            best, lowest = pair, error
        if lowest <= goal:
            break
    assert best is not None  # there is one start at least
    n_final = max(_MIN_ROUNDS, round(_FINAL_ROUNDS * pace)) if lowest > goal else 0
    best, lowest = select_supports(
        best,
        core,
        n_nonzeros,
        threads,
        n_rounds=n_final,
        shares=_FINAL_SHARES,
        goal=goal,
        on_round=on_round,
    )
    lowest = refit_pair(best, core, threads)
    if on_round is not None:
        on_round(lowest)
    return Pair(_put_back(best.left, rows), _put_back(best.right, columns)), lowest


def _put_back(side: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.float64]:
    whole = np.zeros((len(present), side.shape[1]))
    whole[present] = side
    return whole


def _starts(shape: tuple[int, int], n_nonzeros: int) -> list[tuple[int, bool]]:
    """Numbers of columns to try, the largest first, and whether atoms are columns of the matrix.

    Atoms are vectors along the shorter side; of a nearly square matrix both sides are tried.
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
    affordable = min(n_nonzeros / short, _MAX_COLUMNS * short, max(shape))
    return sorted({int(affordable * share) for share in _SIZES}, reverse=True)


def start_pair(
    target: NDArray[np.float64],
    n_columns: int,
    n_nonzeros: int,
    threads: Any,
    rng: np.random.RandomState,
    upright: bool,
) -> Pair:
    """Identity and columns (or rows) of the target as atoms, and codes with half the budget."""
    short = target if upright else target.T
    square = np.einsum("ij,ij->j", short, short)
    drawn = rng.permutation(np.flatnonzero(square > _MIN_COLUMN * square.max()))[:n_columns]
    columns = short[:, drawn] / np.sqrt(square[drawn])
    atoms = np.ascontiguousarray(np.hstack([np.eye(len(short)), columns]))
    side = SparseCoding(short.T, atoms, threads)
    n_codes = max(1, n_nonzeros // 2)
    codes = side.solve(np.zeros(side.shape), largest(side.pursuit_values(n_codes), n_codes))
    return Pair(atoms, codes) if upright else Pair(codes, atoms)


def trial_error(
    target: NDArray[np.float64], n_nonzeros: int, threads: Any, seed: int, n_rounds: int = 5
) -> float:
    """Squared error after a few rounds from one start, to compare targets by."""
    if n_nonzeros >= np.count_nonzero(target) + min(target.shape):
        return 0.0
    size, upright = _starts(target.shape, n_nonzeros)[-1]
    rng = np.random.RandomState(seed)
    pair = start_pair(target, size, n_nonzeros, threads, rng, upright)
    return select_supports(pair, target, n_nonzeros, threads, n_rounds=n_rounds)[1]
