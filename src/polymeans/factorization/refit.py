"""The best values for factors whose supports are given: least squares, one factor after the other.

With everything but factor q fixed, the product ``L S R`` is linear in S, and the squared error is
a quadratic whose matrix has the entries ``(L'L)[a, a'] (RR')[b, b']`` for entries (a, b) and
(a', b') of the support. Rows of the left factor and columns of the right one decouple into many
small problems; inner factors are one problem each.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans._validation import check_integer, check_real
from polymeans.core.threads import Threads
from polymeans.factorization._checks import Problem, check_factors, check_problem
from polymeans.factorization._products import FromRight, from_left
from polymeans.factorization.result import Factorization, multiply, to_csr

#: Unknowns up to which the matrix of an inner factor's problem is decomposed; beyond, conjugate
#: gradients take less time for the same chain of factors.
MOST_UNKNOWNS = 500

#: Steps of conjugate gradients: each of them lowers the error, so a few are enough.
CG_STEPS = 30

_RIDGE, _NOTHING = 1e-12, 1e-60
_Matrix = NDArray[np.float64]
_Support = NDArray[np.bool_]


def refit(
    target: Any,
    factors: Sequence[Any],
    *,
    weights: Any = None,
    max_sweeps: int = 20,
    tol: float = 1e-5,
) -> Factorization:
    """Best values for the stored entries of given sparse factors.

    *Idea.* With all factors but one fixed, the best values of its entries solve a linear
    least-squares problem. Solving for one after the other never increases the error; supports
    stay as they are.

    *Use when* a method chose supports by something cheaper than least squares, or the target
    changed a little.

    *Do not use when* the supports are poor: that is where most of the error of :func:`palm4msa`
    comes from (see :func:`prune_and_grow`, :func:`factorize`).

    *Cost.* Per sweep O(sum of m^3) over the problems of m entries, one for each row of the left
    factor, each column of the right one, and each inner factor (which take conjugate gradients
    beyond 500 entries).

    Parameters
    ----------
    target : array-like of shape (k, d)
    factors : sequence of two or more matrices
        From left to right. Stored entries of sparse ones are their support, also where they are
        zero; of dense ones, entries other than zero.
    weights : array-like of shape (k,) or None, default=None
        Of the rows of the target in the error. Rows of weight 0 keep their row of the left factor.
    max_sweeps : int, default=20
        Times every factor is refitted.
    tol : float, default=1e-5
        Stop when a sweep lowers the squared error by less than this share of it.

    Returns
    -------
    Factorization
        Its errors begin with that of the factors given, and never rise.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.factorization import palm4msa, refit
    >>> target = np.random.default_rng(0).normal(size=(6, 8))
    >>> rough = palm4msa(target, n_factors=2, sparsity_level=2, max_iter=5)
    >>> refit(target, rough.factors).relative_error < rough.relative_error
    True
    """
    problem = check_problem(target, weights)
    check_integer("max_sweeps", max_sweeps, 0)
    check_real("tol", tol, 0)
    start = check_factors(factors, problem.target.shape)
    supports = [support_of(factor) for factor in factors]
    with Threads(1, one_blas_thread=True):
        chain = FixedSupports(problem, start, supports)
        errors = chain.settle(max_sweeps, tol)
        return Factorization(
            chain.exported(start[0]),
            np.array(errors) * problem.unit**2,
            len(errors) - 1,
            problem.norm,
        )


def support_of(factor: Any) -> _Support:
    """Stored entries of a sparse matrix, entries other than zero of a dense one."""
    if not sp.issparse(factor):
        return np.asarray(factor) != 0
    entries = factor.tocoo()
    support = np.zeros(factor.shape, np.bool_)
    support[entries.row, entries.col] = True
    return support


class FixedSupports:
    """A chain of factors and their supports, for the weighted and scaled target.

    Parameters
    ----------
    problem : Problem
    factors : list of ndarray
        Of the target as it was given.
    supports : list of ndarray of bool
    """

    def __init__(
        self, problem: Problem, factors: Sequence[_Matrix], supports: Sequence[_Support]
    ) -> None:
        self.problem, self.target = problem, problem.target
        self.supports = list(supports)
        # Rows of weight 0 do not count; their row of the left factor is put back at the end.
        left = factors[0] * (problem.roots / problem.unit)[:, None]
        self.factors = [left, *(np.array(factor) for factor in factors[1:])]
        self._used = problem.roots > 0
        self.balance()

    def exported(self, left: _Matrix) -> tuple[sp.csr_array, ...]:
        """Factors of the target as it was given; rows of weight 0 are those of ``left``."""
        roots, used = self.problem.roots, self._used
        first = left.copy()
        first[used] = self.factors[0][used] * (self.problem.unit / roots[used])[:, None]
        kept = [to_csr(f, s) for f, s in zip(self.factors, self.supports, strict=True)]
        return (to_csr(first, self.supports[0]), *kept[1:])

    @property
    def n_nonzeros(self) -> int:
        """Entries of all supports."""
        return int(sum(np.count_nonzero(support) for support in self.supports))

    def error(self) -> float:
        """Squared error, without cancellation."""
        return float(np.sum((self.target - multiply(self.factors)) ** 2))

    def settle(self, max_sweeps: int, tol: float) -> list[float]:
        """Sweep until nothing is gained; the error at first and after each sweep."""
        errors = [self.error()]
        for _ in range(max_sweeps):
            before = list(self.factors)
            self.sweep()
            error = self.error()
            # "Not lower" is rounding, and the end.
            if not error < errors[-1]:
                self.factors = before
                break
            errors.append(error)
            if errors[-2] - error <= tol * errors[-2]:
                break
        return errors

    def sweep(self) -> None:
        """Refit all factors, from right to left."""
        left, grams = from_left(self.factors)
        right = FromRight(self.target)
        for q in range(len(self.factors) - 1, -1, -1):
            self.refit_one(q, grams[q], right.gram, right.toward(left[q]))
            if q:
                right.pass_over(self.factors[q])
        self.balance()

    def balance(self) -> None:
        """Give all factors the same norm; their product stays."""
        norms = np.array([np.linalg.norm(factor) for factor in self.factors])
        if not (norms > 0).all():
            return
        common = np.exp(np.log(norms).mean())
        self.factors = [f * (common / n) for f, n in zip(self.factors, norms, strict=True)]

    def refit_one(
        self, q: int, left: _Matrix | None, right: _Matrix | None, toward: _Matrix
    ) -> None:
        """Replace factor q by the best one on its support, given L'L, RR' and L'UR'."""
        factor, support = self.factors[q], self.supports[q]
        if left is None:
            # Weights scale whole rows here, so they do not matter, unless there are none.
            found = _solve_rows(right, toward, factor, support & self._used[:, None])
        elif right is None:
            found = _solve_rows(left, toward.T, factor.T, support.T).T
        else:
            found = _solve_inner(left, right, toward, factor, support)
        self.factors[q] = np.ascontiguousarray(found)


def _solve_rows(gram: _Matrix, right: _Matrix, factor: _Matrix, support: _Support) -> _Matrix:
    """The factor with each row x on its support minimising ``x' gram x - 2 right x``."""
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


def _solve_inner(
    left: _Matrix, right: _Matrix, toward: _Matrix, factor: _Matrix, support: _Support
) -> _Matrix:
    """The factor S on its support minimising ``<left S right, S> - 2 <toward, S>``, or better."""
    a, b = np.nonzero(support)
    if len(a) == 0:
        return factor
    apply = _Applied(left, right, a, b)
    wanted, values, found = toward[a, b], factor[a, b], None
    size = left[a, a] * right[b, b]
    # Entries on which the product hardly depends stay small, instead of overflowing.
    size = np.maximum(size, _NOTHING * size.max())
    if not size.max() > 0.0:
        return factor
    if len(a) <= MOST_UNKNOWNS:
        found = _by_cholesky(left[np.ix_(a, a)] * right[np.ix_(b, b)], size, wanted)
    if found is None:
        found = _by_conjugate_gradients(apply, size, wanted, values)
    before, after = (float((apply(x) - 2.0 * wanted) @ x) for x in (values, found))
    # Not "after > before": what is not finite must not pass either.
    if not after <= before:
        return factor
    result = factor.copy()
    result[a, b] = found
    return result


class _Applied:
    """The matrix of an inner factor's problem, applied to values x of its entries (a, b)."""

    def __init__(
        self, left: _Matrix, right: _Matrix, a: NDArray[np.intp], b: NDArray[np.intp]
    ) -> None:
        self.left, self.right, self.a, self.b = left, right, a, b
        self._spread = np.empty((len(left), len(right)))

    def __call__(self, x: _Matrix) -> _Matrix:
        from polymeans.kernels.factorization import dots_at, spread_rows

        spread_rows(self.right, self.a, self.b, x, self._spread)
        result = np.empty(len(x))
        dots_at(self.left, np.ascontiguousarray(self._spread.T), self.a, self.b, result)
        return result


def _by_cholesky(matrix: _Matrix, size: _Matrix, wanted: _Matrix) -> _Matrix | None:
    """Solution of a system with this diagonal, None if rounding makes it indefinite."""
    matrix.flat[:: len(matrix) + 1] = size * (1.0 + _RIDGE)
    try:
        factor = scipy.linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return None
    return scipy.linalg.cho_solve(factor, wanted, check_finite=False)


def _by_conjugate_gradients(
    apply: _Applied, size: _Matrix, wanted: _Matrix, values: _Matrix
) -> _Matrix:
    """A few preconditioned steps from the present values; the quadratic falls with each."""
    x = values.copy()
    residual = wanted - apply(x)
    scaled = residual / size
    direction, energy = scaled, float(residual @ scaled)
    enough = 1e-20 * energy
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
