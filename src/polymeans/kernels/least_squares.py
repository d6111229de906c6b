"""Many small least-squares problems that share one Gram matrix, each on a support of its own.

With one factor of ``P X`` fixed, the columns of the other decouple: column j of X minimises
``x' G x - 2 b_j' x`` over its support, with ``G = P' P`` and ``b_j`` column j of ``P' Z``. The
rows of P are the columns of P'. Weights belong into ``G`` and ``b``.
"""

import numpy as np

from polymeans.kernels.compile import kernel

#: Added to the diagonal, relative to each entry of it, so that dependent columns share what they
#: explain: far above rounding (1e-16), far below what changes a fit.
RIDGE = 1e-12

#: Pivots below this share of their entry are what cancellation leaves of a dependent column: less
#: than the ridge, and some hundred roundings.
DEPENDENT = 1e-14

#: Diagonal entries below this share of the largest are taken for zero: values, and their squares,
#: would overflow.
NEGLIGIBLE = 1e-60

# Sums in any order; nothing here decides a tie.
_SUMS = {"reassoc", "contract"}


@kernel(fastmath=_SUMS, inner=True)
def cholesky(matrix, m, least):
    """Lower triangle of ``matrix[:m, :m]`` becomes its Cholesky factor L, with 1 / diagonal.

    Variables whose pivot is lost in rounding, or not above ``least``, are left out: the reciprocal
    stands at 0, so that ``solve_cholesky`` gives them the value 0.
    """
    for i in range(m):
        full = matrix[i, i] * (1.0 + RIDGE)
        for j in range(i):
            total = matrix[i, j]
            for t in range(j):
                total -= matrix[i, t] * matrix[j, t]
            matrix[i, j] = total * matrix[j, j]
        pivot = full
        for t in range(i):
            pivot -= matrix[i, t] * matrix[i, t]
        kept = pivot > max(DEPENDENT * full, least)
        matrix[i, i] = 1.0 / np.sqrt(pivot) if kept else 0.0


@kernel(fastmath=_SUMS, inner=True)
def solve_cholesky(matrix, m, solution):
    """Solve in place with the factor that ``cholesky`` has made."""
    for i in range(m):
        total = solution[i]
        for t in range(i):
            total -= matrix[i, t] * solution[t]
        solution[i] = total * matrix[i, i]
    for i in range(m - 1, -1, -1):
        value = solution[i] * matrix[i, i]
        solution[i] = value
        for t in range(i):
            solution[t] -= value * matrix[i, t]


@kernel(fastmath=_SUMS, inner=True)
def quadratic(gram, right, support, x):
    """``x' G x - 2 b' x`` for values x on a support; right is b in full length."""
    total = 0.0
    for i in range(support.shape[0]):
        row = gram[support[i]]
        product = 0.0
        for j in range(support.shape[0]):
            product += row[support[j]] * x[j]
        total += x[i] * (product - 2.0 * right[support[i]])
    return total


@kernel
def solve_supported(
    gram,  # IN (r, r) G, symmetric
    right,  # IN (n, r) row j is b_j
    indptr,  # IN (n + 1,) support of problem j is indices[indptr[j]:indptr[j + 1]]
    indices,  # IN (nnz,)
    values,  # INOUT (nnz,) float64, the x_j one after another
    lo,  # IN first problem
    hi,  # IN one past the last problem
    matrix,  # BUFFER (m, m) float64, m: most entries of a support
    solution,  # BUFFER (m,) float64
):
    """Solve problems lo:hi exactly; keep the old values where the new ones are not better.

    The new values of a problem are taken only if its ``x' G x - 2 b' x`` is not larger and
    everything is finite, so an objective that is the sum of them never rises, however badly
    conditioned G is. Ranges of problems may be solved at the same time with buffers of their own;
    the result does not depend on how they were cut.

    A CSR matrix holds the rows of a left factor in this form, a CSC matrix the columns of a right
    one.

    Returns
    -------
    float
        Sum of the quadratics of problems lo:hi after the update. With ``P X ~ Z`` the squared
        error is this plus ``|Z|^2``, up to cancellation.
    """
    total, largest = 0.0, 0.0
    for i in range(gram.shape[0]):
        largest = max(largest, gram[i, i])
    for j in range(lo, hi):
        first, last = indptr[j], indptr[j + 1]
        m = last - first
        if m == 0:
            continue
        support, x, b = indices[first:last], values[first:last], right[j]
        for i in range(m):
            row = gram[support[i]]
            for t in range(i + 1):
                matrix[i, t] = row[support[t]]
            solution[i] = b[support[i]]
        cholesky(matrix, m, NEGLIGIBLE * largest)
        solve_cholesky(matrix, m, solution)
        before = quadratic(gram, b, support, x)
        after = quadratic(gram, b, support, solution[:m])
        # Not "after > before": values that are not finite must be rejected, too.
        if after <= before:
            for i in range(m):
                x[i] = solution[i]
            total += after
        else:
            total += before
    return total
