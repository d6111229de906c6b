"""Supports of two sparse factors under one budget of non-zeros, in rounds.

``Z ~ P X'``. With P fixed the rows of X are sparse codes of the columns of Z, and with X fixed the
rows of P are sparse codes of the rows of Z (:mod:`polymeans.factorization.sparse_coding`). In each
round both sides get some more entries than they may keep, all entries are valued by what dropping
them costs, and the most valuable ones of both sides together are kept.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.factorization.pair import Pair
from polymeans.factorization.sparse_coding import SparseCoding, largest

#: Share of a side's entries that are new in the first and in the last round, along a cosine: many
#: while supports are poor, few at the end; see docs/explanation/constants.rst.
SHARES = (0.30, 0.02)

#: Share of the budget that may move from one side to the other in a round. Values of one side hold
#: while the other side stays as it is, so larger steps would rest on values that no longer hold.
_MAX_TRANSFER = 0.05

#: Rounds after which supports found from scratch are added to the candidates. Every first to every
#: fifth round gave the same error, none at all a larger one; see docs/explanation/constants.rst.
_PURSUIT_EVERY = 3

#: Multiple of the last threshold above which values are not told apart in the next round. It saves
#: time where the threshold changes by less than this factor from round to round.
_PATIENCE = 8.0


def select_supports(
    pair: Pair,
    target: NDArray[np.float64],
    n_nonzeros: int,
    threads: Any,
    *,
    n_rounds: int = 12,
    shares: tuple[float, float] = SHARES,
    goal: float = 0.0,
    on_round: Callable[[float], Any] | None = None,
) -> tuple[Pair, float]:
    """Improve the supports of a pair, which may have more entries than the budget at first.

    Parameters
    ----------
    pair : Pair
        Where to start; not changed.
    target : ndarray of shape (k, d)
    n_nonzeros : int
        Entries both sides may have together.
    threads : Threads
    n_rounds : int
        Rounds; they are not monotone, and the best one is kept.
    shares : tuple of float
        Share of the entries proposed anew in the first and in the last round.
    goal : float
        An error low enough to stop.
    on_round : callable, default=None
        Called with each round's error.

    Returns
    -------
    pair : Pair
        The best one within the budget.
    error : float
        Its squared error.
    """
    best, lowest = None, np.inf
    within = pair.nnz <= n_nonzeros
    if within:
        best, lowest = pair.copy(), pair.error(target)
    pair = pair.copy()
    n_right = min(int(np.count_nonzero(pair.right)), n_nonzeros)
    patience = np.inf
    for number in range(n_rounds):
        phase = 0.5 * (1 + np.cos(np.pi * number / max(1, n_rounds - 1)))
        share = shares[1] + (shares[0] - shares[1]) * phase
        pursue = number % _PURSUIT_EVERY == _PURSUIT_EVERY - 1
        side = SparseCoding(target.T, pair.left, threads)
        allowed = side.candidate_support(pair.right, share, pursue)
        values = side.elimination_values(allowed, patience)
        other = SparseCoding(target, pair.right, threads)
        other_allowed = other.candidate_support(pair.left, share, pursue)
        other_values = other.elimination_values(other_allowed, patience)
        # The budget goes to the most valuable entries of both sides; transfers are limited.
        pooled = np.concatenate([values[allowed], other_values[other_allowed]])
        last = len(pooled) - n_nonzeros
        threshold = float(np.partition(pooled, last)[last]) if last > 0 else 0.0
        n_kept = int(np.count_nonzero(values[allowed] >= threshold))
        if number or within:
            limit = int(_MAX_TRANSFER * n_nonzeros) + 1
            n_kept = int(np.clip(n_kept, n_right - limit, n_right + limit))
        pair.right = side.solve(pair.right, largest(values, min(n_kept, n_nonzeros - 1)))
        n_right = int(np.count_nonzero(pair.right))
        other = SparseCoding(target, pair.right, threads)
        other_values = other.elimination_values(other_allowed, patience)
        pair.left = other.solve(pair.left, largest(other_values, n_nonzeros - n_right))
        pair.right = SparseCoding(target.T, pair.left, threads).solve(pair.right, pair.right != 0)
        pair.balance()
        patience = _PATIENCE * threshold if threshold > 0 else np.inf
        error = pair.error(target)
        if on_round is not None:
            on_round(error)
        if error < lowest:
            best, lowest = pair.copy(), error
        if lowest <= goal:
            break
    assert best is not None  # a first round always lowers an infinite error
    return best, lowest
