"""Hierarchical palm4MSA: split off one factor at a time, then improve all factors together."""

from typing import Any

import numpy as np

from polymeans._validation import check_choice, check_integer, check_real
from polymeans.core.threads import Threads
from polymeans.factorization._checks import check_n_factors, check_problem, check_sparsity
from polymeans.factorization.budget import chain_limits, chain_shapes, published_n_factors, spread
from polymeans.factorization.palm4msa import as_factorization, default_chain, descend
from polymeans.factorization.palm_steps import Chain
from polymeans.factorization.result import Factorization


def hierarchical_palm4msa(
    target: Any,
    *,
    n_factors: int | None = None,
    sparsity_level: int = 5,
    weights: Any = None,
    max_iter: int = 50,
    tol: float = 1e-6,
    step: str = "line_search",
) -> Factorization:
    """Approximate a matrix by a product of sparse factors, one more factor at a time.

    *Idea.* The matrix is split into a sparse factor and a residual that may have half as many
    entries as before; then all factors found so far are improved together (both by
    :func:`palm4msa`), and the residual is split next. A chain of many factors, which is hard to
    find at once, becomes a sequence of problems with two factors each.

    *Use when* you want the published chain of many factors at its best, or to restore a fast
    transform: the Hadamard matrix is recovered exactly.

    *Do not use when* the number of non-zeros is what counts: :func:`factorize` reaches a fraction
    of the error with as many, in less time.

    *Cost.* ``2 (Q - 1)`` times that of :func:`palm4msa`.

    Parameters
    ----------
    target : array-like of shape (k, d)
        What the product is to approximate.
    n_factors : int or None, default=None
        At least 2. None: as in the paper, ``int(log2(max(k, d)))``.
    sparsity_level : int, default=5
        Entries per row of the left factor, per row and column of inner ones, per column of the
        right one; see :func:`guaranteed_n_nonzeros`.
    weights : array-like of shape (k,) or None, default=None
        Of the rows of the target in the error. Rows of weight 0 come out as zero.
    max_iter : int, default=50
        Of each split, and of each improvement of all factors. More take longer and lower the error
        little; the paper has 300.
    tol : float, default=1e-6
        They stop when the squared error changes by less than this share of itself.
    step : {"line_search", "lipschitz"}, default="line_search"
        See :func:`palm4msa`.

    Returns
    -------
    Factorization
        Its errors are those of the iterations in which all factors were improved last.

    See Also
    --------
    palm4msa : All factors at a time.
    factorize : Our default, with smaller errors.

    Examples
    --------
    >>> from scipy.linalg import hadamard
    >>> from polymeans.factorization import hierarchical_palm4msa
    >>> found = hierarchical_palm4msa(hadamard(16), n_factors=4, sparsity_level=2)
    >>> found.nnz, round(found.relative_error, 6)
    (128, 0.0)
    """
    problem = check_problem(target, weights)
    check_integer("max_iter", max_iter, 1)
    tol = check_real("tol", tol, 0)
    check_choice("step", step, ("line_search", "lipschitz"))
    shape = problem.target.shape
    n_factors = published_n_factors(shape) if n_factors is None else n_factors
    check_n_factors(n_factors)
    level = check_sparsity(sparsity_level, shape)
    with Threads(1, one_blas_thread=True):
        chain, errors = _split(problem.target, n_factors, level, (max_iter, tol, step))
        return as_factorization(problem, chain, errors, None)


def _split(
    target: np.ndarray, n_factors: int, level: int, options: tuple[int, float, str]
) -> tuple[Chain, list[float]]:
    """Factors and errors; the residual stays at the longer side of the target."""
    k, d = target.shape
    inner = min(k, d)
    at_right = d >= k
    shapes = chain_shapes((k, d), n_factors)
    final = chain_limits(shapes, level)
    chain = Chain([target], 1.0)
    errors: list[float] = []
    for n_split in range(1, n_factors):
        if n_split < n_factors - 1:
            rest_shape = shapes[-1] if at_right else shapes[0]
            n_rest = max(level * max(k, d), inner * max(k, d) // 2**n_split)
            rest = spread(n_rest, rest_shape)
        else:
            rest_shape, rest = (shapes[-1], final[-1]) if at_right else (shapes[0], final[0])
        if at_right:
            *others, residual = chain.factors
            sides, pair_limits = [shapes[n_split - 1], rest_shape], [final[n_split - 1], rest]
            limits = [*final[:n_split], rest]
        else:
            residual, *others = chain.factors
            sides, pair_limits = [rest_shape, shapes[-n_split]], [rest, final[-n_split]]
            limits = [rest, *final[n_factors - n_split :]]
        pair, _ = descend(residual, default_chain(residual, sides), pair_limits, *options)
        scale = chain.scale * pair.scale
        factors = [*others, *pair.factors] if at_right else [*pair.factors, *others]
        chain, errors = descend(target, Chain(factors, scale), limits, *options)
    return chain, errors
