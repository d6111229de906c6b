"""Products within a chain of factors, computed from left and from right without repetition.

Around factor q stand L on its left and R on its right. What a step needs are ``L'L``, ``RR'`` and
``L' U R'``, all of them small. They grow by one factor at a time; factors that are mostly zero are
multiplied in sparse form.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.factorization.result import to_csr

#: Entries from which on, and share of non-zeros up to which, a factor is multiplied in CSR form. A
#: trade-off of time: a multiplication in CSR form takes several times as long as one in a dense
#: product, and small products take no noticeable time in either form.
_MIN_ENTRIES, _MAX_DENSITY = 128 * 128, 0.08

_Matrix = NDArray[np.float64]


def sparse_if_faster(matrix: _Matrix) -> Any:
    """A matrix in the form in which products take less time: CSR if large and mostly zero."""
    if matrix.size < _MIN_ENTRIES or np.count_nonzero(matrix) > _MAX_DENSITY * matrix.size:
        return matrix
    return to_csr(matrix)


def dense(matrix: Any) -> _Matrix:
    """A product of dense or sparse matrices as a C-ordered array."""
    return np.ascontiguousarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def from_left(factors: list[_Matrix]) -> tuple[list[_Matrix | None], list[_Matrix | None]]:
    """What stands left of each factor, and its Gram matrix ``L'L``; None for the identity."""
    left: list[_Matrix | None] = [None]
    grams: list[_Matrix | None] = [None]
    for whole in factors[:-1]:
        factor = sparse_if_faster(whole)
        if left[-1] is None:
            left.append(whole)
            grams.append(dense(factor.T @ factor))
        else:
            left.append(left[-1] @ factor)
            grams.append(dense(factor.T @ (grams[-1] @ factor)))
    return left, grams


class FromRight:
    """Products of all factors right of a position that moves from right to left.

    Attributes
    ----------
    gram : ndarray or None
        ``RR'``; None for the identity.
    cross : ndarray
        ``U R'``.
    """

    def __init__(self, target: _Matrix) -> None:
        self.gram: _Matrix | None = None
        self.cross = target

    def toward(self, left: _Matrix | None) -> _Matrix:
        """``L' U R'``."""
        return self.cross if left is None else left.T @ self.cross

    def pass_over(self, whole: _Matrix) -> None:
        """Move the position left by one factor."""
        factor = sparse_if_faster(whole)
        if self.gram is None:
            self.gram = dense(factor @ factor.T)
        else:
            self.gram = dense((factor @ self.gram) @ factor.T)
        self.cross = dense(self.cross @ factor.T)
