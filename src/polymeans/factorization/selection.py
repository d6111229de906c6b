"""Two sparse factors under one budget of non-zeros, their supports found by selection.

``Z ~ P X'``. With P fixed every row of X is a small problem of its own: write a column of Z with
few columns of P. With X fixed every row of P is one too. So each side in turn is given some more
entries than it may keep, the least valuable ones are dropped one after the other
(:mod:`polymeans.kernels.selection`), and values follow by exact least squares. Values are
squared errors, so that both sides compete for one budget.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: Share of a side's entries proposed anew in the first and last of the rounds.
SHARES = (0.30, 0.02)

#: How much of the budget may change sides in one round.
_EXCHANGE = 0.05

#: Rounds after which supports are searched from scratch, as further candidates.
_PURSUIT_EVERY = 3

#: Entries of one row that are searched for at most.
_DEEPEST = 128


@dataclass
class Pair:
    """Two dense arrays, mostly zeros, with ``Z ~ left @ right.T``.

    ``left`` has a row for each row of Z, ``right`` one for each column; both have a column for each
    inner index.
    """

    left: NDArray[np.float64]
    right: NDArray[np.float64]

    @property
    def nnz(self) -> int:
        """Entries that are not zero."""
        return int(np.count_nonzero(self.left) + np.count_nonzero(self.right))

    def error(self, target: NDArray[np.float64]) -> float:
        """Squared error."""
        residual = target - self.left @ self.right.T
        return float(np.einsum("ij,ij->", residual, residual))

    def balance(self) -> None:
        """Give both sides of every inner index the same length; leave out unused ones."""
        a = np.sqrt(np.einsum("ij,ij->j", self.left, self.left))
        b = np.sqrt(np.einsum("ij,ij->j", self.right, self.right))
        used = (a > 0) & (b > 0)
        if not used.any():  # nothing is left: one inner index of zeros
            self.left, self.right = np.zeros((len(self.left), 1)), np.zeros((len(self.right), 1))
            return
        scale = np.sqrt(b[used] / a[used])
        self.left = np.ascontiguousarray(self.left[:, used] * scale)
        self.right = np.ascontiguousarray(self.right[:, used] / scale)

    def copy(self) -> "Pair":
        """An independent copy."""
        return Pair(self.left.copy(), self.right.copy())


class Side:
    """Codes of some targets in a dictionary: one step of the alternation.

    Parameters
    ----------
    target : ndarray of shape (n, m)
        A row for each target.
    dictionary : ndarray of shape (m, r)
        A column for each atom.
    threads : Threads
    """

    def __init__(
        self, target: NDArray[np.float64], dictionary: NDArray[np.float64], threads: Any
    ) -> None:
        self.threads = threads
        self.gram = dictionary.T @ dictionary
        self.right = np.ascontiguousarray(target @ dictionary)
        self.shape = self.right.shape

    def pursued(self, n_entries: int) -> NDArray[np.float64]:
        """Value of the entries that a search from scratch adds first."""
        from polymeans.kernels import selection

        n, r = self.shape
        depth = int(min(r, _DEEPEST, max(8, 4 * n_entries // max(1, n) + 8)))
        values = np.empty(self.shape)
        # Whoever saves far less than the n-th best single entry will not be among the n best.
        single = self.right**2 / np.maximum(np.diag(self.gram), np.finfo(float).tiny)
        last = single.size - min(max(1, n_entries), single.size)
        floor = 1e-4 * float(np.partition(single, last, axis=None)[last])
        self._each(
            lambda lo, hi: selection.pursue(
                self.gram,
                self.right,
                depth,
                floor,
                lo,
                hi,
                values,
                np.empty((depth, r)),
                np.empty(r),
                np.empty(r),
            )
        )
        return values

    def eliminated(self, allowed: NDArray[np.bool_], patience: float) -> NDArray[np.float64]:
        """Value of the allowed entries when they are dropped one by one."""
        from polymeans.kernels import selection

        r = self.shape[1]
        values = np.empty(self.shape)
        most = int(allowed.sum(axis=1).max(initial=1))
        self._each(
            lambda lo, hi: selection.eliminate(
                self.gram,
                self.right,
                allowed,
                patience,
                lo,
                hi,
                values,
                np.empty((most, most)),
                np.empty((most, most)),
                np.empty(r, dtype=np.int64),
                np.empty(r),
            )
        )
        return values

    def candidates(
        self, codes: NDArray[np.float64], share: float, pursue: bool
    ) -> NDArray[np.bool_]:
        """The entries in use, and some whose gradient is steep."""
        allowed = codes != 0
        n_used = int(np.count_nonzero(allowed))
        slope = self.right - codes @ self.gram
        diagonal = np.diag(self.gram)
        gain = np.where(allowed | (diagonal == 0), 0.0, slope**2)
        gain /= np.where(diagonal > 0, diagonal, 1.0)
        proposed = np.flatnonzero(largest(gain, int(share * n_used) + 1))
        # Not too many in one row: they all propose themselves for the same reason.
        rows = proposed // self.shape[1]
        order = np.lexsort((proposed, -gain.flat[proposed], rows))
        proposed, rows = proposed[order], rows[order]
        rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
        room = 2 + allowed.sum(axis=1) // 3
        allowed.flat[proposed[rank < room[rows]]] = True
        if pursue:
            allowed |= largest(self.pursued(n_used), n_used)
        return allowed

    def solve(self, codes: NDArray[np.float64], support: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Least squares on a support, never worse than the codes that are already there."""
        from polymeans.kernels import least_squares

        pattern = sp.csr_array(support)
        values = codes[support]
        most = int(np.diff(pattern.indptr).max(initial=1))
        self._each(
            lambda lo, hi: least_squares.solve_supported(
                self.gram,
                self.right,
                pattern.indptr,
                pattern.indices,
                values,
                lo,
                hi,
                np.empty((most, most)),
                np.empty(most),
            )
        )
        solved = np.zeros(self.shape)
        solved[support] = values
        return solved

    def _each(self, function: Callable[[int, int], Any]) -> None:
        # Rows cost very different amounts: many small pieces.
        n = self.shape[0]
        pieces = min(n, 16 * self.threads.n_threads)
        edges = [n * piece // pieces for piece in range(pieces + 1)]
        self.threads.map(lambda r: function(*r), itertools.pairwise(edges))


def largest(values: NDArray[np.float64], n_entries: int) -> NDArray[np.bool_]:
    """The n largest entries above zero; the first ones among equals."""
    if n_entries <= 0:
        return np.zeros(values.shape, dtype=bool)
    positive = values[values > 0]
    if len(positive) <= n_entries:
        return values > 0
    threshold = np.partition(positive, -n_entries)[-n_entries]
    support = values >= threshold
    surplus = int(np.count_nonzero(support)) - n_entries
    if surplus:
        support.flat[np.flatnonzero(values == threshold)[-surplus:]] = False
    return support


def sweep(pair: Pair, target: NDArray[np.float64], threads: Any) -> None:
    """Least squares of both sides in turn, on the supports they have."""
    side = Side(target.T, pair.left, threads)
    pair.right = side.solve(pair.right, pair.right != 0)
    side = Side(target, pair.right, threads)
    pair.left = side.solve(pair.left, pair.left != 0)


def polish(
    pair: Pair, target: NDArray[np.float64], threads: Any, max_sweeps: int = 20, tol: float = 1e-5
) -> float:
    """Sweep until the error falls by less than ``tol`` of itself; returns the error."""
    error = pair.error(target)
    for _ in range(max_sweeps):
        before = error
        sweep(pair, target, threads)
        error = pair.error(target)
        if not error < before * (1 - tol):
            break
    pair.balance()
    return error


def select(
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
        side = Side(target.T, pair.left, threads)
        allowed = side.candidates(pair.right, share, pursue)
        values = side.eliminated(allowed, patience)
        other = Side(target, pair.right, threads)
        other_allowed = other.candidates(pair.left, share, pursue)
        other_values = other.eliminated(other_allowed, patience)
        # Both sides compete for the budget, but neither loses much of its own at once.
        pooled = np.concatenate([values[allowed], other_values[other_allowed]])
        last = len(pooled) - n_nonzeros
        threshold = float(np.partition(pooled, last)[last]) if last > 0 else 0.0
        wanted = int(np.count_nonzero(values[allowed] >= threshold))
        if number or within:
            limit = int(_EXCHANGE * n_nonzeros) + 1
            wanted = int(np.clip(wanted, n_right - limit, n_right + limit))
        pair.right = side.solve(pair.right, largest(values, min(wanted, n_nonzeros - 1)))
        n_right = int(np.count_nonzero(pair.right))
        other = Side(target, pair.right, threads)
        other_values = other.eliminated(other_allowed, patience)
        pair.left = other.solve(pair.left, largest(other_values, n_nonzeros - n_right))
        pair.right = Side(target.T, pair.left, threads).solve(pair.right, pair.right != 0)
        pair.balance()
        # Entries worth far more than the threshold need not be told apart.
        patience = 8.0 * threshold if threshold > 0 else np.inf
        error = pair.error(target)
        if on_round is not None:
            on_round(error)
        if error < lowest:
            best, lowest = pair.copy(), error
        if lowest <= goal:
            break
    return best, lowest
