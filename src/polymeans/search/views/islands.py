"""Island search: small populations of states, evolved apart by crossover and then together.

With many clusters in one view and few in others, a descent fits the large view first. Its subspace
then keeps the small views from theirs, and a perturbation of one or two views does not lead to a
better set of views. Which optimum a population ends in is decided in its first generations and
depends on its starts. So there are several populations (islands), each is evolved briefly, and the
best states of all of them form the last population.
"""

from collections.abc import Callable

import numpy as np

from polymeans.search.views.crossover import cross
from polymeans.search.views.perturbations import perturb
from polymeans.search.views.problem import (
    MIN_IMPROVEMENT,
    SAME_OPTIMUM,
    START_ITERATIONS,
    Candidate,
    Problem,
)
from polymeans.search.views.starts import random_start

# These constants were set on CMU faces, (20, 4, 4, 2) clusters, where states of four populations
# without crossover ended 0.2 to 0.6 % above the best in nine of ten fits; see
# docs/explanation/constants.rst.

#: Islands at an effort of one, and multiplications that one iteration on all of them may take.
_ISLANDS, _AFFORDABLE = 18, 3.6e7

#: Starts of an island, and states of it that join the last population.
_STARTS, _MIGRANTS = 8, 3

#: States of an island, and of the last population.
_ISLAND_SIZE, _LAST_SIZE = 8, 12

#: Offspring of a generation. A constant, so that results do not depend on the number of threads.
_OFFSPRING = 4

#: Offspring without a better best state after which an island, and the last population, end.
_ISLAND_PATIENCE, _LAST_PATIENCE = 24, 180

#: Offspring of an island at most.
_MAX_ISLAND_OFFSPRING = 60

#: Perturbations in a row that may fail before an offspring is complete.
_OFFSPRING_PATIENCE = 8

#: States of a population differ by at least this share of the cost, so that they do not become
#: copies of one state. Ten times the difference at which costs count as one optimum.
_MIN_COST_DIFFERENCE = 1e-4

#: Share of the cost by which the best state must fall for a generation to count as a success.
_NOTICEABLE = 1e-5


def search_islands(
    problem: Problem,
    states: list[Candidate],
    effort: float,
    rng: np.random.Generator,
    map_: Callable[..., list[Candidate]],
) -> list[Candidate]:
    """The best states of several islands, the first of which starts with the given states."""
    n_islands = max(1, round(effort * min(_ISLANDS, _AFFORDABLE / problem.pass_cost)))
    migrants: list[Candidate] = []
    lowest: list[float] = []
    for island in range(n_islands):
        if island > 0:
            states = map_(lambda job: _begin(problem, *job), enumerate(rng.spawn(_STARTS)))
        states = distinct_states(states, _ISLAND_SIZE)
        states = _evolve(
            problem, states, _ISLAND_SIZE, _ISLAND_PATIENCE, _MAX_ISLAND_OFFSPRING, rng, map_
        )
        migrants += states[:_MIGRANTS]
        # Two islands that end in the same best optimum make further ones unnecessary.
        known = any(abs(states[0].cost - cost) <= SAME_OPTIMUM * abs(cost) for cost in lowest)
        if known and states[0].cost <= (1 + SAME_OPTIMUM) * min(lowest):
            break
        lowest.append(states[0].cost)
    migrants = distinct_states(migrants, len(migrants))
    patience = max(_OFFSPRING, round(_LAST_PATIENCE * effort))
    return _evolve(problem, migrants, _LAST_SIZE, patience, 5 * patience, rng, map_)


def distinct_states(
    states: list[Candidate], n: int, share: float = _MIN_COST_DIFFERENCE
) -> list[Candidate]:
    """The best states whose costs differ by at least this share, at most n of them."""
    kept: list[Candidate] = []
    for state in sorted(states, key=lambda state: state.cost):
        if len(kept) < n and (not kept or state.cost > (1 + share) * kept[-1].cost):
            kept.append(state)
    return kept


def _begin(problem: Problem, number: int, rng: np.random.Generator) -> Candidate:
    return problem.descend(random_start(problem, number, rng), START_ITERATIONS)


def _evolve(
    problem: Problem,
    states: list[Candidate],
    size: int,
    patience: int,
    most: int,
    rng: np.random.Generator,
    map_: Callable[..., list[Candidate]],
) -> list[Candidate]:
    """Add offspring until ``patience`` of them in a row have not improved the best state."""
    n_offspring, failed = 0, 0
    while failed < patience and n_offspring < most:
        lowest = states[0].cost
        tasks = rng.spawn(_OFFSPRING)
        offspring = map_(lambda own, states=states: _breed(problem, states, own), tasks)
        states = distinct_states(states + offspring, size)
        n_offspring += _OFFSPRING
        better = states[0].cost < lowest - _NOTICEABLE * abs(lowest)
        failed = 0 if better else failed + _OFFSPRING
    return states


def _breed(problem: Problem, states: list[Candidate], rng: np.random.Generator) -> Candidate:
    """The crossover of two states, improved by perturbations."""
    if len(states) == 1:
        return _improve(problem, states[0], rng)
    # Tournament selection: of two states drawn at random, the better one.
    first = int(rng.integers(len(states), size=2).min())
    others = [i for i in range(len(states)) if i != first]
    second = others[int(rng.integers(len(others), size=2).min())]
    return _improve(problem, cross(problem, states[first], states[second], rng), rng)


def _improve(problem: Problem, best: Candidate, rng: np.random.Generator) -> Candidate:
    """Perturb a state until several perturbations in a row have failed."""
    failed = 0
    while failed < _OFFSPRING_PATIENCE:
        trial = perturb(problem, best, rng)
        failed += 1
        if trial.cost < best.cost - MIN_IMPROVEMENT * abs(best.cost):
            best, failed = trial, 0
    return best
