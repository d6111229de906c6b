"""Where optima are many and deep: tribes of states that are crossed with each other.

Many clusters in one view and few in others lock each other: the large view is soon right but for
its subspace, and no kick of a few views gets from there to a better set of them. Which optimum a
tribe ends in is decided early and by chance. So there are several, none is followed for long, and
the best of all of them are then crossed with each other.
"""

from collections.abc import Callable

import numpy as np

from polymeans.search.views.crossover import cross
from polymeans.search.views.kicks import kick
from polymeans.search.views.problem import Candidate, Problem
from polymeans.search.views.starts import random_start

#: Tribes at the effort of one, and multiplications of an iteration that all of them may take.
_TRIBES, _AFFORDABLE = 18, 3.6e7

#: Starts of a tribe, iterations of each, and states that go on from it.
_STARTS, _SHORT, _DELEGATES = 8, 30, 3

#: States of a tribe, and of all tribes together once they have met.
_MEMBERS, _ALL_MEMBERS = 8, 12

#: Children of the same parents' generation. Independent of the number of threads.
_CHILDREN = 4

#: Children without a better best state after which a tribe, and all together, are done.
_TRIBE_PATIENCE, _PATIENCE = 24, 180

#: Children of a tribe at most.
_TRIBE_CHILDREN = 60

#: Kicks in a row that may fail before a child is grown up.
_YOUTH = 8

#: States of a tribe differ by this share of the cost, lest all of them become the same one.
_APART = 1e-4

#: Costs closer than this share are the same optimum; an improvement must exceed the other share.
_SAME, _BETTER, _NOTICEABLE = 1e-5, 1e-6, 1e-5


def search_population(
    problem: Problem,
    states: list[Candidate],
    effort: float,
    rng: np.random.Generator,
    map_: Callable[..., list[Candidate]],
) -> list[Candidate]:
    """The best states of several tribes, the first of which begins with the given ones."""
    n_tribes = max(1, round(effort * min(_TRIBES, _AFFORDABLE / problem.pass_cost)))
    delegates: list[Candidate] = []
    leaders: list[float] = []
    for tribe in range(n_tribes):
        if tribe > 0:
            states = map_(lambda job: _begin(problem, *job), enumerate(rng.spawn(_STARTS)))
        states = apart(states, _MEMBERS)
        states = _evolve(problem, states, _MEMBERS, _TRIBE_PATIENCE, _TRIBE_CHILDREN, rng, map_)
        delegates += states[:_DELEGATES]
        # What two tribes find on their own needs no third one.
        known = any(abs(states[0].cost - cost) <= _SAME * abs(cost) for cost in leaders)
        if known and states[0].cost <= (1 + _SAME) * min(leaders):
            break
        leaders.append(states[0].cost)
    delegates = apart(delegates, len(delegates))
    patience = max(_CHILDREN, round(_PATIENCE * effort))
    return _evolve(problem, delegates, _ALL_MEMBERS, patience, 5 * patience, rng, map_)


def apart(states: list[Candidate], n: int, share: float = _APART) -> list[Candidate]:
    """The best states whose costs differ by a share, at most n of them."""
    kept: list[Candidate] = []
    for state in sorted(states, key=lambda state: state.cost):
        if len(kept) < n and (not kept or state.cost > (1 + share) * kept[-1].cost):
            kept.append(state)
    return kept


def _begin(problem: Problem, number: int, rng: np.random.Generator) -> Candidate:
    return problem.descend(random_start(problem, number, rng), _SHORT)


def _evolve(
    problem: Problem,
    states: list[Candidate],
    n_members: int,
    patience: int,
    most: int,
    rng: np.random.Generator,
    map_: Callable[..., list[Candidate]],
) -> list[Candidate]:
    """Cross states with each other until the best one has not become better for long enough."""
    n_children, failed = 0, 0
    while failed < patience and n_children < most:
        lowest = states[0].cost
        tasks = rng.spawn(_CHILDREN)
        children = map_(lambda own, states=states: _child(problem, states, own), tasks)
        states = apart(states + children, n_members)
        n_children += _CHILDREN
        better = states[0].cost < lowest - _NOTICEABLE * abs(lowest)
        failed = 0 if better else failed + _CHILDREN
    return states


def _child(problem: Problem, states: list[Candidate], rng: np.random.Generator) -> Candidate:
    """Two states crossed, and kicked for a while."""
    if len(states) == 1:
        return _grow(problem, states[0], rng)
    # Of two drawn at random, the better one.
    first = int(rng.integers(len(states), size=2).min())
    others = [i for i in range(len(states)) if i != first]
    second = others[int(rng.integers(len(others), size=2).min())]
    return _grow(problem, cross(problem, states[first], states[second], rng), rng)


def _grow(problem: Problem, best: Candidate, rng: np.random.Generator) -> Candidate:
    failed = 0
    while failed < _YOUTH:
        trial = kick(problem, best, rng)
        failed += 1
        if trial.cost < best.cost - _BETTER * abs(best.cost):
            best, failed = trial, 0
    return best
