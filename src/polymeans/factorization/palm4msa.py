"""palm4MSA: products of sparse factors by projected gradient steps, one factor after the other."""

from collections.abc import Sequence
from typing import Any

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
from polymeans.factorization.budget import chain_limits, chain_shapes, published_n_factors
from polymeans.factorization.palm_steps import Chain, PalmSteps
from polymeans.factorization.result import Factorization, multiply, to_csr

#: Errors below this share of the target's squared norm are rounding: the error is a difference of
#: sums of squares, each known to about 1e-16 of itself.
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

    See Also
    --------
    hierarchical_palm4msa : Splits off one factor after the other.
    factorize : Our default, with smaller errors.

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
    tol = check_real("tol", tol, 0)
    check_choice("step", step, ("line_search", "lipschitz"))
    shape = problem.target.shape
    if n_factors is not None:
        check_n_factors(n_factors)
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
        level = check_sparsity(sparsity_level, shape)
        start = None
        chain = default_chain(problem.target, chain_shapes(shape, n_factors))
    limits = chain_limits([factor.shape for factor in chain.factors], level)
    with Threads(1, one_blas_thread=True):
        chain, errors = descend(problem.target, chain, limits, max_iter, tol, step)
        return as_factorization(problem, chain, errors, start)


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
    factors = [to_csr(factor) for factor in [left, *chain.factors[1:]]]
    return Factorization.of_problem(factors, [*errors, final], len(errors), problem)


def descend(
    target: _Matrix,
    chain: Chain,
    limits: list[tuple[int, int]],
    max_iter: int,
    tol: float,
    step: str,
) -> tuple[Chain, list[float]]:
    """Sweep over all factors until the error no longer changes.

    Returns
    -------
    Chain
        After the sweep with the lowest error.
    list of float
        Errors after each sweep.
    """
    steps = PalmSteps(target, chain, limits, step)
    errors: list[float] = []
    best, least = chain, np.inf
    for _ in range(max_iter):
        errors.append(steps.sweep())
        if errors[-1] < least:
            # Factors are replaced, never changed in place.
            best, least = Chain(list(steps.factors), steps.scale), errors[-1]
        if errors[-1] <= _ROUNDING * steps.total:
            break
        if len(errors) > 1 and abs(errors[-2] - errors[-1]) < tol * errors[-2]:
            break
    return best, errors
