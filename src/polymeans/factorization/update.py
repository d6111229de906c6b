"""Updates of factors whose target changes little by little, as cluster means do in Lloyd's loop.

Each class is called with the target, the weights of its rows, the present factors and the number of
calls before, and returns factors that fit at least as well within its budget of non-zeros. It keeps
nothing between calls: who calls it counts them, so that a fit that goes on from a checkpoint takes
the turn that an uninterrupted one takes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.core.threads import running_threads
from polymeans.factorization.pair import Pair, refit_pair
from polymeans.factorization.pair_selection import select_supports
from polymeans.factorization.result import to_csr

#: Least-squares sweeps of each call. More would converge to means that the next iteration changes.
_SWEEPS = 2

#: Calls after which supports are selected anew, rounds of that, and the shares of new entries in
#: them. Without it, less than half of what Lloyd's loop can gain is reached; few entries change,
#: because supports are good already. See docs/explanation/constants.rst.
_RESELECT_EVERY, _ROUNDS, _SHARES = 3, 3, (0.08, 0.04)


class PairUpdate:
    """Two factors under one budget: least squares, and every third call other supports.

    Parameters
    ----------
    n_nonzeros : int
    """

    def __init__(self, n_nonzeros: int) -> None:
        self.n_nonzeros = n_nonzeros

    def __call__(
        self,
        target: NDArray[np.float64],
        weights: NDArray[np.float64],
        factors: Sequence[Any],
        n_calls: int,
    ) -> list[Any]:
        """Better factors."""
        threads = running_threads()
        roots = np.sqrt(weights)[:, None]
        goal = roots * target
        left, right = (factor.toarray().astype(np.float64) for factor in factors)
        pair = Pair(left * roots, np.ascontiguousarray(right.T))
        error = refit_pair(pair, goal, threads, max_sweeps=_SWEEPS)
        if n_calls % _RESELECT_EVERY == 0 and error > 0:
            pair, _ = select_supports(
                pair, goal, self.n_nonzeros, threads, n_rounds=_ROUNDS, shares=_SHARES
            )
            refit_pair(pair, goal, threads, max_sweeps=_SWEEPS)
        return [to_csr(pair.left / roots), to_csr(pair.right.T)]


class ChainUpdate:
    """A chain of factors under one budget: least squares, and every third call other supports.

    Parameters
    ----------
    n_nonzeros : int
    """

    def __init__(self, n_nonzeros: int) -> None:
        self.n_nonzeros = n_nonzeros

    def __call__(
        self,
        target: NDArray[np.float64],
        weights: NDArray[np.float64],
        factors: Sequence[Any],
        n_calls: int,
    ) -> list[Any]:
        """Better factors."""
        from polymeans.factorization.chain_refit import refit
        from polymeans.factorization.chain_selection import prune_and_grow

        fitted = refit(target, factors, weights=weights, max_sweeps=_SWEEPS)
        if n_calls % _RESELECT_EVERY == 0 and fitted.errors[-1] > 0:
            fitted = prune_and_grow(
                target, fitted.factors, self.n_nonzeros, weights=weights, n_rounds=_ROUNDS
            )
        return list(fitted.factors)


class PalmUpdate:
    """The paper's update: palm4MSA from where the factors are.

    Parameters
    ----------
    sparsity_level : int
    max_iter : int
        Sweeps of each call at most.
    """

    def __init__(self, sparsity_level: int, max_iter: int) -> None:
        self.sparsity_level = sparsity_level
        self.max_iter = max_iter

    def __call__(
        self,
        target: NDArray[np.float64],
        weights: NDArray[np.float64],
        factors: Sequence[Any],
        n_calls: int,
    ) -> list[Any]:
        """Better factors."""
        from polymeans.factorization.palm4msa import palm4msa

        fitted = palm4msa(
            target,
            factors=factors,
            sparsity_level=self.sparsity_level,
            weights=weights,
            max_iter=self.max_iter,
        )
        return list(fitted.factors)
