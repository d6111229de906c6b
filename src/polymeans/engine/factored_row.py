"""Exact labels of a few dense rows through a product of sparse factors.

What :class:`polymeans.engine.factored_assigner.FactoredScores` prepares for each call takes longer
than labeling a hundred rows. Here everything that follows from the factors is prepared once, and
nothing of it has the size of the table of centroids.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans._first_import import import_numba
from polymeans.codebooks.factored import multiplied_out
from polymeans.engine.factored_assigner import chain_error

#: Half a unit in the last place, and the least normal number, of float64.
_UNIT, _TINY = 2.0**-53, 2.0**-1022

#: Rows longer than this are left to others: squares of longer ones could overflow.
_LONGEST = 1e140

#: Centroids multiplied out at a time.
_BLOCK = 64


class FewRows:
    """Labels rows one after the other, without threads.

    Scores ``|t|² - 2 v·x`` of centroids t = offset + v (rounded to the dtype of the factors) are
    computed in float64. They come with a bound on what rounding did to them and to the table, and
    rows that it leaves open are not labeled.

    Parameters
    ----------
    factors : sequence of csr_array
        From left to right, float32 or float64.
    offset : ndarray of shape (n_features,)
    """

    def __init__(self, factors: Sequence[sp.csr_array], offset: NDArray[Any]) -> None:
        import_numba()
        from polymeans.kernels.factored_layout import balance, pack_flat
        from polymeans.kernels.factored_row import label_few

        self.offset = offset
        squares = _squares(factors, offset)
        balanced = balance(factors)
        spread, rounding, faint = chain_error(balanced, _UNIT, _TINY)
        n_features = len(offset)
        dtype = np.finfo(factors[0].dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            n_inner = sum(factor.shape[0] for factor in balanced[1:])
            # How far the product is from the table, which was summed in float64 and rounded.
            table = (n_inner + len(balanced) + 8) * _UNIT * spread
            table += float(dtype.eps) / 2 * np.sqrt(squares)
            table += np.sqrt(n_features) * float(dtype.tiny)
            slopes = 2.5 * (rounding + table + 2 * _UNIT * spread)
            floors = 2.5 * faint + 2 * (n_features + 16) * _UNIT * squares
            far = 1e300 / max(1.0, float(np.max(spread)))
            usable = np.isfinite(squares).all() and np.all(rounding <= 0.1 * spread)
        longest = min(_LONGEST, far) if usable else -1.0
        self._kernel = label_few
        self._flat = pack_flat(balanced, np.float64)
        self._bounds = (squares, slopes, floors, longest)

    def label(self, X: NDArray[Any]) -> NDArray[np.int32] | None:
        """Labels of C-ordered rows of float32 or float64; None if some row is left open.

        Rows with NaN or infinity are left open.
        """
        labels = np.empty(len(X), dtype=np.int32)
        return None if self._kernel(*self._flat, X, *self._bounds, labels) else labels


def _squares(factors: Sequence[sp.csr_array], offset: NDArray[Any]) -> NDArray[np.float64]:
    """Squared norms of the centroids, without having all of them at the same time."""
    first, *others = factors
    squares = np.empty(first.shape[0])
    for lo in range(0, len(squares), _BLOCK):
        block = multiplied_out([first[lo : lo + _BLOCK], *others], offset, first.dtype)
        wide = block.astype(np.float64)
        with np.errstate(over="ignore"):
            squares[lo : lo + _BLOCK] = np.einsum("ij,ij->i", wide, wide)
    return squares
