"""Factors that follow a target which changes little by little, as cluster means do in Lloyd's loop.

Each class is called with the target, the weights of its rows and the present factors, and returns
factors that fit at least as well. They know how many non-zeros there may be.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.core.threads import running_threads
from polymeans.factorization.result import to_csr
from polymeans.factorization.selection import Pair, polish, select

#: Least-squares sweeps of each call.
_SWEEPS = 2

#: Calls after which supports are selected anew, for so many rounds that try such shares of them.
_RESELECT_EVERY, _ROUNDS, _SHARES = 3, 3, (0.08, 0.04)


class PairUpdate:
    """Two factors under one budget: least squares, and now and then other supports.

    Parameters
    ----------
    n_nonzeros : int
    """

    def __init__(self, n_nonzeros: int) -> None:
        self.n_nonzeros = n_nonzeros
        self.n_calls = 0

    def __call__(
        self, target: NDArray[np.float64], weights: NDArray[np.float64], factors: Sequence[Any]
    ) -> list[Any]:
        """Better factors."""
        threads = running_threads()
        roots = np.sqrt(weights)[:, None]
        goal = roots * target
        left, right = (factor.toarray().astype(np.float64) for factor in factors)
        pair = Pair(left * roots, np.ascontiguousarray(right.T))
        error = polish(pair, goal, threads, max_sweeps=_SWEEPS)
        if self.n_calls % _RESELECT_EVERY == 0 and error > 0:
            pair, _ = select(pair, goal, self.n_nonzeros, threads, n_rounds=_ROUNDS, shares=_SHARES)
            polish(pair, goal, threads, max_sweeps=_SWEEPS)
        self.n_calls += 1
        return [to_csr(pair.left / roots), to_csr(pair.right.T)]


class ChainUpdate:
    """A chain of factors under one budget: least squares, and now and then other supports.

    Parameters
    ----------
    n_nonzeros : int
    """

    def __init__(self, n_nonzeros: int) -> None:
        self.n_nonzeros = n_nonzeros
        self.n_calls = 0

    def __call__(
        self, target: NDArray[np.float64], weights: NDArray[np.float64], factors: Sequence[Any]
    ) -> list[Any]:
        """Better factors."""
        from polymeans.factorization.chains import prune_and_grow
        from polymeans.factorization.refit import refit

        fitted = refit(target, factors, weights=weights, max_sweeps=_SWEEPS)
        if self.n_calls % _RESELECT_EVERY == 0 and fitted.errors[-1] > 0:
            fitted = prune_and_grow(
                target, fitted.factors, self.n_nonzeros, weights=weights, n_rounds=_ROUNDS
            )
        self.n_calls += 1
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
        self, target: NDArray[np.float64], weights: NDArray[np.float64], factors: Sequence[Any]
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
