"""palm4MSA: products of sparse factors by projected gradient steps, one factor after the other.

With everything but factor q fixed, the product is ``L T R``, where ``T = scale S_q``, L is what
stands left of it and R what stands right. The gradient of half the squared error is

    L' (L T R - U) R'  =  (L'L) T (RR') - L' U R'

whose parts are small and change little from one factor to the next. Factors are updated from right
to left; no product of the size of the target is ever formed but with the rightmost factor.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_choice, check_integer, check_real
from polymeans.core.threads import Threads
from polymeans.factorization._checks import (
    Problem,
    check_factors,
    check_n_factors,
    check_problem,
    check_sparsity,
)
from polymeans.factorization._products import FromRight, dense, from_left, thin
from polymeans.factorization.budget import chain_limits, chain_shapes, published_n_factors
from polymeans.factorization.projection import Projection
from polymeans.factorization.result import Factorization, multiply, to_csr

#: A step is this much shorter than the gradient's Lipschitz constant allows, as published.
_CAUTION = 1.001

# As elsewhere; few iterations are enough, since norms change little between sweeps.
_POWER_ITERATIONS, _POWER_TOL = 100, 1e-6

#: Errors below this share of the target's squared norm are rounding.
_ROUNDING = 1e-15

_Matrix = NDArray[np.float64]


def palm4msa(
    target: Any,
    *,
    factors: Sequence[Any] | None = None,
    n_factors: int | None = None,
    sparsity_level: int = 5,
    weights: Any = None,
    max_iter: int = 300,
    tol: float = 1e-6,
    step: str = "line_search",
) -> Factorization:
    """Approximate a matrix by a product of sparse factors: palm4MSA.

    *Idea.* One factor after the other, from right to left, takes a gradient step of the squared
    error and then keeps only the largest entries of each row and of each column
    (:func:`project_rows_and_columns`). [1]_ restores fast transforms this way; [2]_ makes
    centroids of k-means fast operators.

    *Use when* you want the published method, or to go on from factors that are nearly right.

    *Do not use when* the number of non-zeros is what counts: :func:`factorize` reaches a fraction
    of the error with as many. From the default start, :func:`hierarchical_palm4msa` ends far lower.

    *Cost.* O(a^2 d + Q a^3) per iteration for a k x d target with k = a <= d.

    Parameters
    ----------
    target : array-like of shape (k, d)
        What the product is to approximate.
    factors : sequence of matrices or None, default=None
        Where to start, from left to right. None: the rightmost is zero, the others are ones on
        the diagonal, as published.
    n_factors : int or None, default=None
        At least 2. None: as many as ``factors``, or as in the paper,
        ``int(log2(max(k, d)))``.
    sparsity_level : int, default=5
        Entries per row of the left factor, per row and column of inner ones, per column of the
        right one; see :func:`guaranteed_n_nonzeros`.
    weights : array-like of shape (k,) or None, default=None
        Of the rows of the target in the error. Rows of weight 0 keep their row of the left factor.
    max_iter : int, default=300
    tol : float, default=1e-6
        Stop when the squared error changes by less than this share of itself.
    step : {"line_search", "lipschitz"}, default="line_search"
        "lipschitz" is the published step: as long as is safe for every direction. "line_search"
        goes to the lowest point along the gradient on the present support, and takes shorter steps
        while new supports do not lower the error, down to the published one.

    Returns
    -------
    Factorization
        Factors of Frobenius norm 1 but the left one, which has the scale.

    References
    ----------
    .. [1] L. Le Magoarou, R. Gribonval: Flexible multilayer sparse approximations of matrices and
       applications. IEEE Journal of Selected Topics in Signal Processing 10 (2016).
    .. [2] L. Giffon, V. Emiya, H. Kadri, L. Ralaivola: QuicK-means: accelerating inference for
       K-means by learning fast transforms. Machine Learning 110 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.factorization import palm4msa
    >>> found = palm4msa(np.diag([4.0, 3.0, 2.0, 1.0]), n_factors=2, sparsity_level=1)
    >>> found.nnz, round(found.relative_error, 6)
    (8, 0.0)
    """
    problem = check_problem(target, weights)
    check_integer("max_iter", max_iter, 1)
    check_real("tol", tol, 0)
    check_choice("step", step, ("line_search", "lipschitz"))
    shape = problem.target.shape
    if factors is not None:
        start = check_factors(factors, shape)
        if n_factors is not None and n_factors != len(start):
            raise ValueError(
                f"n_factors={n_factors!r} is not the number of factors given ({len(start)}). "
                "Leave it out."
            )
        level = check_sparsity(sparsity_level, shape)
        chain = normalized(weigh(start, problem))
    else:
        n_factors = published_n_factors(shape) if n_factors is None else n_factors
        check_n_factors(n_factors)
        level = check_sparsity(sparsity_level, shape)
        start = None
        chain = default_chain(problem.target, chain_shapes(shape, n_factors))
    limits = chain_limits([factor.shape for factor in chain.factors], level)
    with Threads(1, one_blas_thread=True):
        chain, errors = descend(problem.target, chain, limits, max_iter, tol, step)
        return as_factorization(problem, chain, errors, start)


class Chain(NamedTuple):
    """Factors of Frobenius norm 1 (or 0), and the scale of their product."""

    factors: list[_Matrix]
    scale: float


def default_chain(target: _Matrix, shapes: list[tuple[int, int]]) -> Chain:
    """The published start: zero for the factor that is updated first, ones on the diagonal.

    A tall left factor has its ones in the first rows of the target that are not zero: others would
    give the right factor nothing to begin with, ever.
    """
    factors = [np.eye(*shape) / np.sqrt(min(shape)) for shape in shapes[:-1]]
    n_rows, n_columns = shapes[0]
    if n_rows > n_columns:
        order = np.argsort(~target.any(axis=1), kind="stable")
        factors[0] = factors[0][np.argsort(order, kind="stable")]
    return Chain([*factors, np.zeros(shapes[-1])], 1.0)


def normalized(factors: list[_Matrix]) -> Chain:
    """Factors divided by their norms; the scale is the product of those that are not zero."""
    unit, scale = [], 1.0
    for factor in factors:
        norm = float(np.linalg.norm(factor))
        unit.append(factor / norm if norm > 0 else factor)
        scale *= norm if norm > 0 else 1.0
    return Chain(unit, scale)


def weigh(factors: list[_Matrix], problem: Problem) -> list[_Matrix]:
    """Factors of the weighted target: the left one has the roots of the weights in its rows."""
    return [factors[0] * (problem.roots / problem.unit)[:, None], *factors[1:]]


def as_factorization(
    problem: Problem, chain: Chain, errors: list[float], start: list[_Matrix] | None
) -> Factorization:
    """Factors of the target as it was given; rows of weight 0 as they were in the start."""
    weighted = chain.factors[0] * chain.scale
    # Errors along the way are differences of large numbers, the last one is not; and it is that
    # of the factors returned, which need not be those of the last iteration.
    final = float(np.sum((problem.target - multiply([weighted, *chain.factors[1:]])) ** 2))
    roots = problem.roots
    used = roots > 0
    left = np.zeros_like(weighted) if start is None else start[0].copy()
    left[used] = weighted[used] * (problem.unit / roots[used])[:, None]
    return Factorization(
        tuple(to_csr(factor) for factor in [left, *chain.factors[1:]]),
        np.array([*errors, final]) * problem.unit**2,
        len(errors),
        problem.norm,
    )


def descend(
    target: _Matrix,
    chain: Chain,
    limits: list[tuple[int, int]],
    max_iter: int,
    tol: float,
    step: str,
) -> tuple[Chain, list[float]]:
    """Sweeps over all factors until the error stands still.

    Returns
    -------
    Chain
        After the sweep with the lowest error.
    list of float
        Errors after each sweep.
    """
    descent = Descent(target, chain, limits, step)
    errors: list[float] = []
    best, least = chain, np.inf
    for _ in range(max_iter):
        errors.append(descent.sweep())
        if errors[-1] < least:
            # Factors are replaced, never changed in place.
            best, least = Chain(list(descent.factors), descent.scale), errors[-1]
        if errors[-1] <= _ROUNDING * descent.total:
            break
        if len(errors) > 1 and abs(errors[-2] - errors[-1]) < tol * errors[-2]:
            break
    return best, errors


class Descent:
    """Factors on their way down.

    Parameters
    ----------
    target : ndarray of shape (k, d)
    chain : Chain
    limits : list of (int, int)
        Entries to keep per row and per column of each factor.
    step : {"line_search", "lipschitz"}
    """

    def __init__(
        self, target: _Matrix, chain: Chain, limits: list[tuple[int, int]], step: str
    ) -> None:
        self.target, self.total = target, float(np.sum(target**2))
        self.factors, self.scale = list(chain.factors), chain.scale
        self.supports = [factor != 0 for factor in self.factors]
        self.line_search = step == "line_search"
        self.projections = [
            Projection(factor.shape, *limit)
            for factor, limit in zip(self.factors, limits, strict=True)
        ]
        self._norms = [(_Norm(), _Norm()) for _ in self.factors]

    def sweep(self) -> float:
        """Update all factors from right to left, then the scale; the squared error."""
        left, grams = from_left(self.factors)
        right = FromRight(self.target)
        for q in range(len(self.factors) - 1, -1, -1):
            self._update(q, grams[q], right.gram, right.toward(left[q]))
            if q:
                right.pass_over(self.factors[q])
        # <U, V> and <V, V> for the product V of the unit factors.
        first = self.factors[0]
        agreement = float(np.vdot(first, right.cross))
        size = float(np.vdot(thin(first) @ right.gram, first))
        if size > 0:
            self.scale = agreement / size
        error = self.total - self.scale * (2.0 * agreement - self.scale * size)
        return max(error, 0.0)

    def _update(self, q: int, left: _Matrix | None, right: _Matrix | None, toward: _Matrix) -> None:
        """One step of factor q, given L'L, RR' and L'UR'."""
        present = self.scale * self.factors[q]
        gradient = thin(present) if left is None else left @ thin(present)
        gradient = dense(gradient if right is None else gradient @ right) - toward
        norms = self._norms[q]
        curvature = norms[0].squared(left) * norms[1].squared(right)
        if not curvature > 0.0:
            return  # the product does not depend on this factor
        if self.line_search:
            found = self._search(q, left, right, present, gradient, curvature)
        else:
            found = present - gradient / (_CAUTION * curvature)
            keep = self.projections[q].support(found)
            found, self.supports[q] = np.where(keep, found, 0.0), keep
        norm = float(np.linalg.norm(found))
        if not norm > 0.0:
            self.factors[q] = found
            return
        if self.line_search:
            self.scale = norm
        elif self.scale < 0.0:
            norm = -norm
        self.factors[q] = found / norm

    def _search(
        self,
        q: int,
        left: _Matrix | None,
        right: _Matrix | None,
        present: _Matrix,
        gradient: _Matrix,
        curvature: float,
    ) -> _Matrix:
        """Where the step leads that is best on the present support, or a shorter one."""
        projection, support = self.projections[q], self.supports[q]
        if not support.any():
            support = projection.support(gradient)
        along = np.where(support, gradient, 0.0)
        bend = _bend(left, along, right)
        shortest = 1.0 / (_CAUTION * curvature)
        length = float(np.vdot(along, along)) / bend if bend > 0.0 else shortest
        length = max(length, shortest)
        while True:
            found = present - length * gradient
            keep = projection.support(found)
            found = np.where(keep, found, 0.0)
            if np.array_equal(keep, support):
                break
            move = found - present
            slope = float(np.vdot(gradient, move))
            if slope + 0.5 * _bend(left, move, right) <= 0.0:
                break
            if length <= shortest:
                # The projection is none onto a convex set, so even this step may lead up. Going
                # there is what leaves poor supports behind; `descend` remembers the best factors.
                break
            length = max(0.25 * length, shortest)
        self.supports[q] = keep
        return found


def _bend(left: _Matrix | None, matrix: _Matrix, right: _Matrix | None) -> float:
    """``<left M right, M>`` as ``<left M, M right>``: no product without M in it."""
    factor = thin(matrix)
    one = matrix if left is None else left @ factor
    other = matrix if right is None else factor @ right
    return float(np.vdot(one, other))


class _Norm:
    """Squared spectral norm from a Gram matrix, by power iteration from where it last ended."""

    def __init__(self) -> None:
        self._vector: _Matrix | None = None

    def squared(self, gram: _Matrix | None) -> float:
        """Largest eigenvalue of a Gram matrix; None is the identity."""
        from polymeans.kernels.factorization import largest_eigenvalue

        if gram is None:
            return 1.0
        if self._vector is None:
            # No structure, so that it is orthogonal to no eigenvector but by accident.
            self._vector = 1.0 + 0.5 * np.cos(np.arange(len(gram)) ** 2.0)
            self._product = np.empty(len(gram))
        return largest_eigenvalue(gram, self._vector, self._product, _POWER_ITERATIONS, _POWER_TOL)
