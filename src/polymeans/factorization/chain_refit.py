"""The best values for a chain whose supports are given: least squares, one factor at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans._validation import check_integer, check_real
from polymeans.core.threads import Threads
from polymeans.factorization._checks import Problem, check_factors, check_problem
from polymeans.factorization._products import FromRight, from_left
from polymeans.factorization.result import Factorization, multiply, to_csr
from polymeans.factorization.supported_solves import solve_inner, solve_rows

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
        What the product of the factors should come to.
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

    See Also
    --------
    prune_and_grow : Changes the pattern.
    factorize : Uses both.

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
    tol = check_real("tol", tol, 0)
    start = check_factors(factors, problem.target.shape)
    supports = [support_of(factor) for factor in factors]
    with Threads(1, one_blas_thread=True):
        chain = FixedSupports(problem, start, supports)
        errors = chain.refit(max_sweeps, tol)
        return Factorization.of_problem(chain.exported(start[0]), errors, len(errors) - 1, problem)


def support_of(factor: Any) -> _Support:
    """Stored entries of a sparse matrix, entries other than zero of a dense one."""
    if not sp.issparse(factor):
        return np.asarray(factor) != 0
    entries = factor.tocoo()
    support = np.zeros(factor.shape, np.bool_)
    support[entries.row, entries.col] = True
    return support


def _norm(factor: _Matrix) -> float:
    """Frobenius norm, also where squares of entries would overflow or vanish."""
    _, exponent = np.frexp(np.abs(factor).max(initial=0.0))
    return float(np.ldexp(np.linalg.norm(np.ldexp(factor, -exponent)), exponent))


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

    def refit(self, max_sweeps: int, tol: float) -> list[float]:
        """Sweep until the error no longer falls; the error at first and after each sweep."""
        errors = [self.error()]
        for _ in range(max_sweeps):
            before = list(self.factors)
            self.sweep()
            error = self.error()
            # An error that is not lower is rounding: converged.
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
        norms = np.array([_norm(factor) for factor in self.factors])
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
            assert right is not None  # a chain has two factors at least
            # Weights scale whole rows here and do not matter, except where they are zero.
            found = solve_rows(right, toward, factor, support & self._used[:, None])
        elif right is None:
            found = solve_rows(left, toward.T, factor.T, support.T).T
        else:
            found = solve_inner(left, right, toward, factor, support)
        self.factors[q] = np.ascontiguousarray(found)
