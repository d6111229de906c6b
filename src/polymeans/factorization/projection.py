"""The projection of the QuicK-means paper: a few entries in every row and in every column."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_integer
from polymeans.factorization._checks import check_matrix


def project_rows_and_columns(matrix: Any, per_row: int, per_column: int) -> NDArray[np.float64]:
    """Keep the largest entries of every row and the largest entries of every column.

    *Idea.* An entry stays if it is among the ``per_row`` largest of its row by size, or among the
    ``per_column`` largest of its column; all others become zero. Both are chosen from the matrix
    as it was given.

    *Use when* every row and every column must keep an entry, as in products of sparse factors: an
    empty row in one of them would remove directions from the product for good.

    *Do not use when* only the number of non-zeros counts: the largest entries wherever they stand
    are closer to the matrix. It is not the nearest point of any set, so methods built on it need
    not descend.

    *Cost.* O(m n log(per_row + per_column)).

    Parameters
    ----------
    matrix : array-like of shape (m, n)
        Not changed.
    per_row, per_column : int
        At least 0; as many as there are, or more, keep everything.

    Returns
    -------
    ndarray of shape (m, n)
        With between ``max(m per_row, n per_column)`` and ``m per_row + n per_column`` non-zeros,
        unless the matrix has too few of them. Among equals, the first are kept.

    See Also
    --------
    guaranteed_n_nonzeros : How many entries it leaves at least.
    palm4msa : Uses it in each step.

    Examples
    --------
    >>> from polymeans.factorization import project_rows_and_columns
    >>> project_rows_and_columns([[3, 2, 1], [5, 4, 0]], per_row=1, per_column=1)
    array([[3., 0., 1.],
           [5., 4., 0.]])
    """
    matrix = check_matrix("matrix", matrix)
    check_integer("per_row", per_row, 0)
    check_integer("per_column", per_column, 0)
    projection = Projection(matrix.shape, int(per_row), int(per_column))
    return np.where(projection.support(matrix), matrix, 0.0)


class Projection:
    """Finds supports for matrices of one shape, with buffers kept from call to call."""

    def __init__(self, shape: tuple[int, int], per_row: int, per_column: int) -> None:
        m, n = shape
        self.per_row, self.per_column = min(per_row, n), min(per_column, m)
        self._sizes = np.empty((m, n))
        self._equal = np.empty(m, np.intp), np.empty(n, np.intp)

    def support(self, matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which entries to keep."""
        from polymeans.kernels.factorization_steps import keep_largest

        sizes = np.abs(matrix, out=self._sizes)
        keep = np.empty(matrix.shape, np.bool_)
        rows, columns = _least(sizes, self.per_row), _least(sizes.T, self.per_column)
        keep_largest(sizes, rows, columns, self.per_row, self.per_column, keep, *self._equal)
        return keep


def _least(sizes: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """The k-th largest entry of every row."""
    m, n = sizes.shape
    if k == 0:
        return np.full(m, np.inf)
    if k == n:
        return np.zeros(m)  # all that are not zero
    sizes = sizes.copy(order="C")
    sizes.partition(n - k, axis=1)
    return sizes[:, n - k].copy()
