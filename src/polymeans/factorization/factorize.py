"""A matrix as a product of sparse factors: the choice of method, budget and number of factors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import (
    MOST_EFFORT,
    check_choice,
    check_integer,
    check_n_threads,
    check_positive,
    check_seed,
)
from polymeans.core.threads import Threads
from polymeans.factorization._checks import (
    DEFAULT_LEVEL,
    Problem,
    check_n_factors,
    check_problem,
    check_sparsity,
)
from polymeans.factorization.budget import guaranteed_n_nonzeros
from polymeans.factorization.hierarchical import hierarchical_palm4msa
from polymeans.factorization.result import Factorization, to_csr
from polymeans.factorization.two_factors import two_factors

METHODS = ("select", "palm4msa")

#: Sweeps of each step of the hierarchical method where selection of supports follows; 50 as in the
#: experiments, see docs/explanation/constants.rst.
_START_SWEEPS = 50


def factorize(
    target: Any,
    *,
    n_nonzeros: int | None = None,
    sparsity_level: int = DEFAULT_LEVEL,
    n_factors: Any = "auto",
    method: str = "select",
    weights: Any = None,
    effort: float = 1.0,
    random_state: Any = None,
    n_threads: int | None = None,
) -> Factorization:
    """Sparse factors whose product approximates a matrix.

    *Idea.* Two factors with a free inner size share one budget of non-zeros. With one of them
    fixed, every row of the other is a small problem of its own; entries are added where the
    error falls steepest, dropped one after the other where that costs least, and their values are
    exact least squares. Entries of both factors compete for the budget.

    *Use when* a matrix is to be stored or applied with few multiplications: centroids,
    dictionaries, layers. At equal numbers of non-zeros the error is a small fraction of palm4MSA's.

    *Do not use when* the matrix is a fast transform (Hadamard, Fourier) with a known number of
    stages: :func:`hierarchical_palm4msa` recovers it exactly, two factors cannot.

    *Cost.* Seconds for 64 x 784 or 256 x 118. A round takes O(k d r) multiplications, and the
    cube of its number of entries for each row of both factors; r is between min(k, d) and three
    times that. Memory: about ten dense arrays of max(k, d) x r.

    Parameters
    ----------
    target : array-like of shape (k, d)
        What the product is to approximate.
    n_nonzeros : int or None, default=None
        Entries of all factors together, at most. None: ``sparsity_level`` decides.
    sparsity_level : int, default=5
        As in the QuicK-means paper: stands for as many non-zeros as its projection leaves at the
        least, :func:`guaranteed_n_nonzeros`.
    n_factors : int or "auto", default="auto"
        "auto": two; with method="palm4msa" as in the paper, ``int(log2(max(k, d)))``.
    method : {"select", "palm4msa"}, default="select"
        "palm4msa" is the paper's, :func:`hierarchical_palm4msa`. "select" with more than two
        factors begins there and goes on with :func:`prune_and_grow`.
    weights : array-like of shape (k,) or None, default=None
        How much the error of each row counts.
    effort : float, default=1.0
        Multiple of the usual number of rounds (two factors). 0.2 is a quick look.
    random_state : int, RandomState instance or None, default=None
        Determines the starts (two factors).
    n_threads : int or None, default=None
        The result does not depend on it.

    Returns
    -------
    Factorization
        ``factors`` from left to right, ``errors``, ``operator``.

    See Also
    --------
    polymeans.QuickKMeans : Fits factors to rows instead of a matrix.
    palm4msa : The published method.
    Factorization : What it returns.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.factorization import factorize
    >>> rng = np.random.default_rng(0)
    >>> parts = rng.random((3, 40)) * (rng.random((3, 40)) < 0.3)
    >>> target = rng.integers(0, 2, (20, 3)) @ parts
    >>> found = factorize(target, n_nonzeros=100, random_state=0)
    >>> found.operator.shape, found.nnz <= 100, found.relative_error < 0.05
    ((20, 40), True, True)
    """
    problem = check_problem(target, weights)
    check_choice("method", method, METHODS)
    check_n_threads(n_threads)
    effort = check_positive("effort", effort, largest=MOST_EFFORT)
    rng = check_seed(random_state)
    auto = isinstance(n_factors, str) and n_factors == "auto"
    if not auto:
        check_n_factors(n_factors)
    if n_nonzeros is not None:
        check_integer("n_nonzeros", n_nonzeros, 2, "Each factor needs an entry.")
        if method == "palm4msa":
            raise ValueError(
                f'n_nonzeros={n_nonzeros} was given, but method="palm4msa" counts entries of rows '
                'and columns. Use sparsity_level, or method="select".'
            )
    if method == "palm4msa":
        return hierarchical_palm4msa(
            target,
            n_factors=None if auto else n_factors,
            sparsity_level=sparsity_level,
            weights=weights,
        )
    two = auto or n_factors == 2
    level = sparsity_level
    if n_nonzeros is None or not two:
        level = check_sparsity(sparsity_level, problem.target.shape)
    budget = budget_for(problem.target, n_nonzeros, level, None if two else n_factors)
    if two:
        with Threads(n_threads, one_blas_thread=True) as threads:
            return factorize_in_two(problem, budget, threads, rng, effort)
    from polymeans.factorization.chain_selection import prune_and_grow

    start = hierarchical_palm4msa(
        target,
        n_factors=n_factors,
        sparsity_level=level,
        weights=weights,
        max_iter=_START_SWEEPS,
    )
    return prune_and_grow(target, start.factors, budget, weights=weights)


def budget_for(
    target: NDArray[np.float64],
    n_nonzeros: int | None,
    sparsity_level: int,
    n_factors: int | None = None,
) -> int:
    """Non-zeros as given or as the sparsity level implies, at most those of an exact product."""
    # An exact product of two factors: the identity and the matrix itself.
    dense = target.size + min(target.shape)
    if n_nonzeros is not None:
        return min(int(n_nonzeros), dense)
    # Two factors (None) get what the paper's chain would have.
    guaranteed = guaranteed_n_nonzeros(target, sparsity_level, n_factors)
    return max(2, guaranteed) if guaranteed < target.size else dense


def factorize_in_two(
    problem: Problem, n_nonzeros: int, threads: Any, rng: np.random.RandomState, effort: float
) -> Factorization:
    """Two factors of a checked problem; threads are the caller's."""
    errors: list[float] = []
    pair, error = two_factors(
        problem.target, n_nonzeros, threads, rng, effort=effort, on_round=errors.append
    )
    roots = np.where(problem.roots > 0, problem.roots, 1.0)[:, None]
    factors = to_csr(pair.left / roots), to_csr(pair.right.T * problem.unit)
    return Factorization.of_problem(factors, [*errors, error], len(errors), problem)
