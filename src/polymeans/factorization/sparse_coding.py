"""Sparse codes in a dictionary: which entries to keep, and their values by least squares.

With a dictionary fixed, every row of the codes is a small problem of its own: combine few atoms to
approximate one target. Entries are valued by what dropping them costs in the squared error
(:mod:`polymeans.kernels.atom_selection`), so that values of different rows are comparable.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: Entries of one row that are searched for at most. It must exceed the entries that rows keep: with
#: 96 atoms, 64 were measured to be too few; see docs/explanation/constants.rst.
_MAX_DEPTH = 128

#: Share of the n-th best gain of single entries below which a pursuit ends. A wide margin: it only
#: saves time, and only entries that small could be missed.
_NEGLIGIBLE = 1e-4


class SparseCoding:
    """Sparse codes of some targets in a dictionary: one side of a pair, the other one fixed.

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

    def pursuit_values(self, n_entries: int) -> NDArray[np.float64]:
        """Values of the entries that orthogonal least squares adds first, from no entries."""
        from polymeans.kernels import atom_selection

        n, r = self.shape
        depth = int(min(r, _MAX_DEPTH, max(8, 4 * n_entries // max(1, n) + 8)))
        values = np.empty(self.shape)
        # Entries that save far less than the n-th best single one cannot be among the n best.
        single = self.right**2 / np.maximum(np.diag(self.gram), np.finfo(float).tiny)
        last = single.size - min(max(1, n_entries), single.size)
        floor = _NEGLIGIBLE * float(np.partition(single, last, axis=None)[last])
        self._each(
            lambda lo, hi: atom_selection.pursue(
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

    def elimination_values(
        self, allowed: NDArray[np.bool_], patience: float
    ) -> NDArray[np.float64]:
        """Values of the allowed entries: what dropping them one by one costs.

        Values above ``patience`` are not told apart.
        """
        from polymeans.kernels import atom_selection

        r = self.shape[1]
        values = np.empty(self.shape)
        most = int(allowed.sum(axis=1).max(initial=1))
        self._each(
            lambda lo, hi: atom_selection.eliminate(
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

    def candidate_support(
        self, codes: NDArray[np.float64], share: float, pursue: bool
    ) -> NDArray[np.bool_]:
        """The entries in use, and a share of new ones with the largest gain of one step."""
        allowed = codes != 0
        n_used = int(np.count_nonzero(allowed))
        slope = self.right - codes @ self.gram
        diagonal = np.diag(self.gram)
        gain = np.where(allowed | (diagonal == 0), 0.0, slope**2)
        gain /= np.where(diagonal > 0, diagonal, 1.0)
        proposed = np.flatnonzero(largest(gain, int(share * n_used) + 1))
        # Few in one row: all of them reduce the same residual, and one often removes the others'
        # gain.
        rows = proposed // self.shape[1]
        order = np.lexsort((proposed, -gain.flat[proposed], rows))
        proposed, rows = proposed[order], rows[order]
        rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
        limit = 2 + allowed.sum(axis=1) // 3
        allowed.flat[proposed[rank < limit[rows]]] = True
        if pursue:
            allowed |= largest(self.pursuit_values(n_used), n_used)
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
        # Rows take very different amounts of time, so threads get many small pieces.
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
