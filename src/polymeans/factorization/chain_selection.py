"""Supports of a chain of any length under one budget: entries are added, then pruned, in rounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_integer, check_real
from polymeans.core.threads import Threads
from polymeans.factorization._checks import check_factors, check_problem
from polymeans.factorization._products import from_left, sparse_if_faster
from polymeans.factorization.chain_refit import FixedSupports, support_of
from polymeans.factorization.result import Factorization

#: Share of the budget that is exchanged in the first and in the last round, along a cosine: from
#: many entries to single ones, as in the experiments; see docs/explanation/constants.rst.
FIRST_SHARE, LAST_SHARE = 0.30, 0.01

#: Rounds at most: how much is exchanged in each of them is planned before the first.
_MOST_ROUNDS = 10**6

_Matrix = NDArray[np.float64]


def prune_and_grow(
    target: Any,
    factors: Sequence[Any],
    n_nonzeros: int,
    *,
    weights: Any = None,
    n_rounds: int = 60,
    max_sweeps: int = 20,
    tol: float = 1e-5,
) -> Factorization:
    """Better supports for a chain of sparse factors, with one budget for all of them.

    *Idea.* Each round adds the entries with the largest estimated gain in the squared error,
    in whichever factor they are, refits the values, and drops the entries whose loss costs
    least until the budget is met. All gains and costs are in units of the error, so factors need
    no budgets of their own. Fewer entries are exchanged from round to round; the best factors met
    are kept and refitted.

    *Use when* you want a chain of three or more factors at its best: start from
    :func:`hierarchical_palm4msa`.

    *Do not use when* two factors are enough: :func:`factorize` ends lower.

    *Cost.* Two refits and the gradients of all factors per round, each O(Q (a^3 + a^2 d)).

    Parameters
    ----------
    target : array-like of shape (k, d)
        What the product is to approximate.
    factors : sequence of two or more matrices
        Where to start, from left to right. Stored entries are their supports.
    n_nonzeros : int
        Most entries all factors may have together.
    weights : array-like of shape (k,) or None, default=None
        Of the rows of the target in the error. Rows of weight 0 keep their row of the left factor
        as far as its entries remain.
    n_rounds : int, default=60
        Times entries are exchanged.
    max_sweeps, tol : int, default=20, and float, default=1e-5
        Of the refits before and after, see :func:`refit`.

    Returns
    -------
    Factorization
        Never worse than :func:`refit` of a start that meets the budget. Its errors are those of a
        refit, of the rounds, which may rise, and of another refit.

    See Also
    --------
    refit : Values for a given pattern.
    factorize : Uses both.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.factorization import palm4msa, prune_and_grow
    >>> target = np.random.default_rng(0).normal(size=(8, 12))
    >>> rough = palm4msa(target, n_factors=3, sparsity_level=2)
    >>> better = prune_and_grow(target, rough.factors, rough.nnz)
    >>> better.nnz <= rough.nnz, better.relative_error < rough.relative_error
    (True, True)
    """
    problem = check_problem(target, weights)
    check_integer("n_nonzeros", n_nonzeros, 1)
    check_integer("n_rounds", n_rounds, 0, largest=_MOST_ROUNDS)
    check_integer("max_sweeps", max_sweeps, 0)
    tol = check_real("tol", tol, 0)
    start = check_factors(factors, problem.target.shape)
    supports = [support_of(factor) for factor in factors]
    with Threads(1, one_blas_thread=True):
        chain = FixedSupports(problem, start, supports)
        n_nonzeros = min(int(n_nonzeros), sum(support.size for support in supports))
        if chain.n_nonzeros > n_nonzeros:
            prune(chain, n_nonzeros)
        errors = chain.refit(max_sweeps, tol)
        errors += _rounds(chain, n_nonzeros, n_rounds)
        errors += chain.refit(max_sweeps, tol)
        exported = chain.exported(start[0] * chain.supports[0])
        return Factorization.of_problem(exported, errors, n_rounds, problem)


def _rounds(chain: FixedSupports, budget: int, n_rounds: int) -> list[float]:
    """Exchange entries, and leave the chain at its best round. Errors after each round."""
    best = list(chain.factors), list(chain.supports)
    least = chain.error()
    errors = []
    for share in _shares(n_rounds):
        grow(chain, budget, max(1, int(share * budget)))
        chain.sweep()
        prune(chain, budget)
        chain.sweep()
        errors.append(chain.error())
        if errors[-1] < least:
            least, best = errors[-1], (list(chain.factors), list(chain.supports))
    chain.factors, chain.supports = best
    return errors


def _shares(n_rounds: int) -> _Matrix:
    """From the first share down to the last, along a cosine."""
    angle = np.linspace(0.0, np.pi, n_rounds) if n_rounds > 1 else np.zeros(n_rounds)
    return LAST_SHARE + (FIRST_SHARE - LAST_SHARE) * 0.5 * (1.0 + np.cos(angle))


def grow(chain: FixedSupports, budget: int, n_new: int) -> None:
    """Add the entries of largest gain, ``n_new`` more than fit the budget, with value zero.

    Moving one entry (a, b) alone to its best value gains ``g^2 / (|L_a|^2 |R_b|^2)``, g being
    the gradient there.
    """
    gains = []
    left, grams = from_left(chain.factors)
    right = _norms_from_right(chain.factors)
    cross = left[-1] @ sparse_if_faster(chain.factors[-1]) - chain.target
    for q in range(len(chain.factors) - 1, -1, -1):
        support = chain.supports[q]
        before = left[q]
        gradient = cross if before is None else before.T @ cross
        bend = np.outer(_norms(grams[q], len(support)), right[q])
        gain = np.divide(gradient**2, bend, out=np.zeros_like(bend), where=bend > 0)
        gain[support] = 0.0
        gains.append(gain)
        cross = cross @ sparse_if_faster(chain.factors[q]).T
    n_added = budget + n_new - chain.n_nonzeros
    added = _largest(gains[::-1], n_added)
    # Not in place: the supports of the best round may be these.
    chain.supports = [s | more for s, more in zip(chain.supports, added, strict=True)]


def prune(chain: FixedSupports, budget: int) -> None:
    """Keep the entries whose loss alone would cost most, ``s^2 |L_a|^2 |R_b|^2``."""
    costs = []
    _, grams = from_left(chain.factors)
    right = _norms_from_right(chain.factors)
    for q, factor in enumerate(chain.factors):
        costs.append(factor**2 * np.outer(_norms(grams[q], len(factor)), right[q]))
    chain.supports = _largest(costs, budget)
    chain.factors = [f * s for f, s in zip(chain.factors, chain.supports, strict=True)]


def _norms_from_right(factors: list[_Matrix]) -> list[_Matrix]:
    """Squared norms of the rows of what stands right of each factor."""
    _, grams = from_left([factor.T for factor in reversed(factors)])
    return [
        _norms(gram, factor.shape[1]) for gram, factor in zip(grams[::-1], factors, strict=True)
    ]


def _norms(gram: _Matrix | None, n: int) -> _Matrix:
    """Squared norms of the vectors of a Gram matrix; None is the identity."""
    return np.ones(n) if gram is None else gram.diagonal()


def _largest(scores: list[_Matrix], n: int) -> list[NDArray[np.bool_]]:
    """Marks at the n largest scores above zero of all matrices together."""
    flat = np.concatenate([score.ravel() for score in scores])
    marks = np.zeros(len(flat), np.bool_)
    n = min(n, int(np.count_nonzero(flat > 0)))
    if n > 0:
        least = np.partition(flat, len(flat) - n)[len(flat) - n]
        marks = flat > least
        # Among equals, the first.
        marks[np.flatnonzero(flat == least)[: n - int(marks.sum())]] = True
    ends = np.cumsum([score.size for score in scores])[:-1]
    return [
        part.reshape(score.shape) for part, score in zip(np.split(marks, ends), scores, strict=True)
    ]
