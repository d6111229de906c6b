"""How the centroids of a fit are factorized: budget and offset, chosen once for all starts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core.threads import running_threads
from polymeans.factorization._checks import check_problem
from polymeans.factorization.factorize import budget_for, factorize, factorize_in_two
from polymeans.factorization.two_factors import trial_error
from polymeans.factorization.update import ChainUpdate, PairUpdate, PalmUpdate

#: Sweeps of palm4MSA in each iteration of the paper's scheme; the paper has as many.
_PALM_SWEEPS = 50


@dataclass(frozen=True)
class FactorPlan:
    """What all starts of a fit have in common."""

    method: str  #: "select" or "palm4msa"
    n_factors: Any  #: an integer or "auto"
    effort: float
    level: int  #: sparsity level, no larger than the shorter side of the centroids
    budget: int  #: non-zeros
    offset: NDArray[np.float64]  #: (d,) common to all centroids, not factorized

    def factorize(
        self,
        means: NDArray[np.float64],
        weights: NDArray[np.float64],
        rng: np.random.RandomState,
    ) -> tuple[sp.csr_array, ...]:
        """Factors of cluster means less the offset."""
        target = means - self.offset
        if self.method == "select" and not is_chain(self.n_factors):
            problem, threads = check_problem(target, weights), running_threads()
            return factorize_in_two(problem, self.budget, threads, rng, self.effort).factors
        return factorize(
            target,
            n_nonzeros=self.budget if self.method == "select" else None,
            sparsity_level=self.level,
            n_factors=self.n_factors,
            method=self.method,
            weights=weights,
        ).factors

    def update(self) -> Any:
        """The rule by which factors follow means that change."""
        if self.method == "palm4msa":
            return PalmUpdate(self.level, _PALM_SWEEPS)
        if is_chain(self.n_factors):
            return ChainUpdate(self.budget)
        return PairUpdate(self.budget)


def is_chain(n_factors: Any) -> bool:
    """Whether more than two factors are given."""
    return not isinstance(n_factors, str) and n_factors > 2


def choose_plan(
    means: NDArray[np.float64],
    weights: NDArray[np.float64],
    rng: np.random.RandomState,
    *,
    method: str,
    n_factors: Any,
    effort: float,
    level: int,
    n_nonzeros: int | None,
    offset: str,
    dtype: np.dtype[Any],
) -> FactorPlan:
    """The budget, and the offset with which the means of the first start factorize better.

    Parameters
    ----------
    means : ndarray of shape (k, d)
    weights : ndarray of shape (k,)
    rng : RandomState
        Draws the columns that offsets are compared on.
    method : {"select", "palm4msa"}
    n_factors : int or "auto"
    effort : float
    level : int
        Sparsity level.
    n_nonzeros : int or None
        Instead of the sparsity level.
    offset : {"auto", "zero", "median"}
    dtype : dtype
        Of the rows; the offset is rounded to it.

    Returns
    -------
    FactorPlan
    """
    budget = budget_for(means, n_nonzeros, level, int(n_factors) if is_chain(n_factors) else None)
    zero, median = np.zeros(means.shape[1]), np.median(means, axis=0)
    median = median.astype(dtype).astype(np.float64)
    chosen = median if offset == "median" else zero
    # The paper has no offset; and where the median is zero there is nothing to choose.
    if offset == "auto" and method == "select" and median.any():
        seed = rng.randint(2**31 - 1)  # the same columns are drawn for both
        problems = [check_problem(means - choice, weights) for choice in (zero, median)]
        errors = [
            problem.unit**2 * trial_error(problem.target, budget, running_threads(), seed)
            for problem in problems
        ]
        chosen = median if errors[1] < errors[0] else zero
    return FactorPlan(method, n_factors, effort, level, budget, chosen)
