"""Small steps of sparse matrix factorization: entries to keep, the size of a step, products."""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel
def keep_largest(
    sizes,  # IN (m, n) absolute values
    row_least,  # IN (m,) the smallest size to keep in each row
    column_least,  # IN (n,) and in each column
    per_row,  # IN how many to keep
    per_column,  # IN
    keep,  # OUT (m, n) bool
    row_equal,  # BUFFER (m,) intp
    column_equal,  # BUFFER (n,) intp
):
    """Mark the largest entries of every row, and those of every column; zeros are never marked.

    If more entries have the smallest size than may be kept, the first of them are.
    """
    m, n = sizes.shape
    # How many entries of exactly the smallest size may be kept.
    for j in range(n):
        column_equal[j] = per_column
    for i in range(m):
        larger = 0
        for j in range(n):
            larger += sizes[i, j] > row_least[i]
            column_equal[j] -= sizes[i, j] > column_least[j]
        row_equal[i] = per_row - larger
    for i in range(m):
        for j in range(n):
            size = sizes[i, j]
            kept = (size > row_least[i]) | (size > column_least[j])
            if size == row_least[i] and row_equal[i] > 0:
                row_equal[i] -= 1
                kept = True
            if size == column_least[j] and column_equal[j] > 0:
                column_equal[j] -= 1
                kept = True
            keep[i, j] = kept & (size > 0.0)


@kernel(fastmath={"reassoc", "contract"})
def largest_eigenvalue(
    matrix,  # IN (n, n) symmetric, no negative eigenvalue
    vector,  # INOUT (n,) where to start; the eigenvector on return
    product,  # BUFFER (n,)
    max_iter,  # IN
    tol,  # IN relative change at which to stop
):
    """By power iteration; never too large, and too small by little more than ``tol`` of it."""
    n = matrix.shape[0]
    length = 0.0
    for i in range(n):
        length += vector[i] * vector[i]
    if not length > 0.0:
        return 0.0
    length = np.sqrt(length)
    for i in range(n):
        vector[i] /= length
    value = 0.0
    for _ in range(max_iter):
        total = 0.0
        for i in range(n):
            inner = 0.0
            for j in range(n):
                inner += matrix[i, j] * vector[j]
            product[i] = inner
            total += inner * inner
        length = np.sqrt(total)
        if not length > 0.0:
            return 0.0
        for i in range(n):
            vector[i] = product[i] / length
        if abs(length - value) <= tol * length:
            return length
        value = length
    return value


@kernel(fastmath={"reassoc", "contract"})
def spread_rows(
    right,  # IN (n, n)
    rows,  # IN (nnz,)
    columns,  # IN (nnz,)
    values,  # IN (nnz,)
    result,  # OUT (m, n)
):
    """``S right`` for a matrix S with the given entries."""
    result[:] = 0.0
    for t in range(values.shape[0]):
        source, value = right[columns[t]], values[t]
        row = result[rows[t]]
        for j in range(source.shape[0]):
            row[j] += value * source[j]


@kernel(fastmath={"reassoc", "contract"})
def dots_at(
    left,  # IN (m, n)
    right,  # IN (p, n)
    rows,  # IN (nnz,)
    columns,  # IN (nnz,)
    result,  # OUT (nnz,)
):
    """Entries of ``left right'`` at the given places."""
    for t in range(rows.shape[0]):
        one, other = left[rows[t]], right[columns[t]]
        total = 0.0
        for j in range(one.shape[0]):
            total += one[j] * other[j]
        result[t] = total
