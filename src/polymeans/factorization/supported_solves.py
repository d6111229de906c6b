"""Least squares for one factor of a chain on its support, with all other factors fixed.

With everything but factor q fixed, the product ``L S R`` is linear in S, and the squared error is
a quadratic whose matrix has the entries ``(L'L)[a, a'] (RR')[b, b']`` for entries (a, b) and
(a', b') of the support. Rows of the left factor and columns of the right one decouple into many
small problems; inner factors are one problem each.
"""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

#: Unknowns up to which the matrix of an inner factor's problem is decomposed; beyond, conjugate
#: gradients take less time for the same chain of factors. Time only: both lower the error.
MAX_DIRECT_UNKNOWNS = 500

#: Steps of conjugate gradients at most. Each of them lowers the error, and the next sweep goes on
#: from there; 20 to 30 were used in the experiments (see docs/explanation/constants.rst).
CG_STEPS = 30

#: Share of the first squared residual at which conjugate gradients end: rounding.
_CG_TOL = 1e-20

_Matrix = NDArray[np.float64]
_Support = NDArray[np.bool_]


def solve_rows(gram: _Matrix, right: _Matrix, factor: _Matrix, support: _Support) -> _Matrix:
    """The factor with each row x on its support minimizing ``x' gram x - 2 right x``."""
    from polymeans.kernels.least_squares import solve_supported

    rows, columns = np.nonzero(support)
    counts = np.bincount(rows, minlength=len(factor))
    indptr = np.zeros(len(factor) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    most = int(counts.max())
    values = factor[rows, columns]
    solve_supported(
        gram,
        np.ascontiguousarray(right),
        indptr,
        columns,
        values,
        0,
        len(factor),
        np.empty((most, most)),
        np.empty(most),
    )
    found = np.array(factor, order="C")
    found[rows, columns] = values
    return found


def solve_inner(
    left: _Matrix, right: _Matrix, toward: _Matrix, factor: _Matrix, support: _Support
) -> _Matrix:
    """The factor S on its support minimizing ``<left S right, S> - 2 <toward, S>``, or better."""
    from polymeans.kernels.least_squares import NEGLIGIBLE

    a, b = np.nonzero(support)
    if len(a) == 0:
        return factor
    apply = _NormalMatrix(left, right, a, b)
    wanted, values, found = toward[a, b], factor[a, b], None
    size = left[a, a] * right[b, b]
    # Without a floor, entries on which the product hardly depends would overflow.
    size = np.maximum(size, NEGLIGIBLE * size.max())
    if not size.max() > 0.0:
        return factor
    if len(a) <= MAX_DIRECT_UNKNOWNS:
        found = _by_cholesky(left[np.ix_(a, a)] * right[np.ix_(b, b)], size, wanted)
    if found is None:
        found = _by_conjugate_gradients(apply, size, wanted, values)
    before, after = (float((apply(x) - 2.0 * wanted) @ x) for x in (values, found))
    # Written this way, the factor is also kept where a value is not finite.
    if not after <= before:
        return factor
    result = factor.copy()
    result[a, b] = found
    return result


class _NormalMatrix:
    """The matrix of an inner factor's problem, applied to values x of its entries (a, b)."""

    def __init__(
        self, left: _Matrix, right: _Matrix, a: NDArray[np.intp], b: NDArray[np.intp]
    ) -> None:
        self.left, self.right, self.a, self.b = left, right, a, b
        self._spread = np.empty((len(left), len(right)))

    def __call__(self, x: _Matrix) -> _Matrix:
        from polymeans.kernels.factorization_steps import dots_at, spread_rows

        spread_rows(self.right, self.a, self.b, x, self._spread)
        result = np.empty(len(x))
        dots_at(self.left, np.ascontiguousarray(self._spread.T), self.a, self.b, result)
        return result


def _by_cholesky(matrix: _Matrix, size: _Matrix, wanted: _Matrix) -> _Matrix | None:
    """Solution of a system with this diagonal, None if rounding makes it indefinite."""
    from polymeans.kernels.least_squares import RIDGE

    matrix.flat[:: len(matrix) + 1] = size * (1.0 + RIDGE)
    try:
        factor = scipy.linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None
    return scipy.linalg.cho_solve(factor, wanted, check_finite=False)


def _by_conjugate_gradients(
    apply: _NormalMatrix, size: _Matrix, wanted: _Matrix, values: _Matrix
) -> _Matrix:
    """A few preconditioned steps from the present values; the quadratic falls with each."""
    x = values.copy()
    residual = wanted - apply(x)
    scaled = residual / size
    direction, energy = scaled, float(residual @ scaled)
    enough = _CG_TOL * energy
    for _ in range(CG_STEPS):
        applied = apply(direction)
        bend = float(direction @ applied)
        if not bend > 0.0:
            break
        length = energy / bend
        x = x + length * direction
        residual = residual - length * applied
        scaled = residual / size
        energy, before = float(residual @ scaled), energy
        if not energy > enough:
            break
        direction = scaled + (energy / before) * direction
    return x
