"""Start of a fit whose views are chosen automatically: subspaces and centers of these views.

Proposed sets of views are compared by how well they describe the rows
(:mod:`polymeans.search.views.choice`); from the best one the cost is only descended.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.orthogonal import basis_of
from polymeans.core.threads import running_threads
from polymeans.engine.runners import BaseRunner
from polymeans.search.views.choice import MAX_COMPONENTS, Choice, choose_views
from polymeans.search.views.gain import gain, scatters
from polymeans.search.views.problem import MAX_ITERATIONS, Candidate, Problem, cluster
from polymeans.search.views.sample import Reduced, lift, make_problem, reduce_rows

if TYPE_CHECKING:
    from polymeans.kernels.subspaces import Views

#: Clusters from which on fewer of them are tried in the final subspace of a view. With two or three
#: the choice was made by the same gain, so hardly anything is left to try.
_SHRINKABLE = 4


@dataclass
class Outcome:
    """What the estimator keeps of a choice."""

    sizes: tuple[int, ...]
    table: list[dict[str, Any]]
    has_tails: bool


def automatic_start(
    runner: BaseRunner, resolution: float, rng: np.random.Generator, verbose: int = 0
) -> tuple[NDArray[np.float64], "Views | None", Outcome]:
    """Centers and subspaces of the chosen views, in engine coordinates, and the choice.

    The cost is only descended from there, not searched: its lowest optimum often gives the
    dimensions with the most scatter to several views, which would lose the chosen ones.
    """
    map_ = running_threads().map
    reduced = reduce_rows(runner, 2 * MAX_COMPONENTS, rng)
    choice = choose_views(reduced.points, reduced.weights, resolution, rng, map_, verbose)
    outcome = Outcome((), [p.as_row() for p in choice.proposals], False)
    if not choice.sizes:
        return reduced.mean[None, :], None, outcome
    outcome.has_tails = any(p.has_tails for p in choice.proposals if p.chosen)
    _sort_views(choice, reduced)
    while True:
        problem = make_problem(reduced, choice.sizes)
        best = problem.descend(choice.labels.copy(), MAX_ITERATIONS)
        if not _shrink(choice, problem, best, resolution, rng):
            outcome.sizes = choice.sizes
            return *lift(problem, best, reduced), outcome


def _sort_views(choice: Choice, reduced: Reduced) -> None:
    """Sort views by how much of the scatter they explain, the largest share first."""
    state = make_problem(reduced, choice.sizes).descend(choice.labels.copy(), 1)
    explained = []
    for s, k in enumerate(choice.sizes):
        inside = reduced.points[:, : state.views.basis.shape[1]] @ basis_of(state.views, s).T
        total, within, _ = scatters(inside, reduced.weights, choice.labels[s], k)
        explained.append(np.trace(total - within))
    order = np.argsort(-np.array(explained), kind="stable")
    choice.labels = np.ascontiguousarray(choice.labels[order])
    choice.sizes = tuple(choice.sizes[s] for s in order)


def _shrink(
    choice: Choice,
    problem: Problem,
    state: Candidate,
    resolution: float,
    rng: np.random.Generator,
) -> bool:
    """Give views fewer clusters where that gains in their final subspace; whether any did."""
    weights = problem.weights * (len(problem.weights) / problem.weights.sum())
    q = problem.points.shape[1]
    sizes, labels = list(choice.sizes), state.labels.copy()
    for s, k in enumerate(choice.sizes):
        inside = np.ascontiguousarray(problem.points @ basis_of(state.views, s).T)
        floor = resolution**2 * problem.spread[0] ** 2 * np.eye(inside.shape[1])
        best = gain(inside, weights, labels[s], k, q, floor)
        for fewer in range(2, k if k >= _SHRINKABLE else 2):
            trial = cluster(inside, weights, fewer, rng, n_starts=3, max_iter=20)
            value = gain(inside, weights, trial, fewer, q, floor)
            if value > best:
                best, sizes[s], labels[s] = value, fewer, trial
    changed = tuple(sizes) != choice.sizes
    choice.sizes, choice.labels = tuple(sizes), labels
    return changed
