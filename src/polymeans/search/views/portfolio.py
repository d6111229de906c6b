"""The best set of clusterings among many starts, kicked until nothing better turns up.

All of it runs on a sample of the rows in a few principal components; the winner is then refined on
everything.
"""

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeans.core.threads import running_threads
from polymeans.engine.runners import BaseRunner
from polymeans.search.views.kicks import exchange, kick
from polymeans.search.views.population import search_population
from polymeans.search.views.problem import CROWDED, Candidate, Problem, is_crowded
from polymeans.search.views.sample import lift, make_problem, n_axes, reduce_rows
from polymeans.search.views.starts import independent_start, orthogonal_parts, random_start

if TYPE_CHECKING:
    from polymeans.kernels.subspaces import Views

#: Principal components computed in any case, for data that have few.
_ALL = 16

#: Starts of a batch: independent components, and random.
_BATCH = ("independent", "independent", "random", "random")

#: Batches, and kicks in a row that may fail, at the effort of one.
_BATCHES, _PATIENCE = 3, 40

#: Further failures allowed for each cluster in a crowd: more of them can be in a wrong place.
_CLUSTER_PATIENCE = 20

#: Multiplications of a pass below which a search does more than it has to.
_SMALL = 2e5

#: And below which it is done in one thread.
_TINY = 1e5

#: Multiplications in one iteration of each of those further failures, at most.
_AFFORDABLE = 4e8

#: States that are looked at more closely in a crowd.
_FINALISTS = 4

#: Rows and columns up to which principal components are exact in a crowd. What random projections
#: miss of them is as much as good optima differ by.
_EXACT = 1024

#: Kicks tried from the same state. Independent of the number of threads.
_KICKS = 4

#: Iterations of a start before the best of them go on.
_SHORT, _LONG = 30, 300

#: Costs closer than this share are the same optimum; an improvement must exceed the other share.
_SAME, _BETTER = 1e-5, 1e-6

#: An improvement by this share makes exchanging views worth trying again.
_AFRESH = 1e-3


def search(
    problem: Problem,
    effort: float,
    rng: np.random.Generator,
    map_: Callable[..., list[Any]],
) -> list[Candidate]:
    """The best clusterings found, and the runner-up.

    Every start and every kick has random numbers of its own, and kicks come in batches of a fixed
    number, so the outcome does not depend on the number of threads.
    """
    if problem.pass_cost < _TINY:
        # Handing a trial to another thread would take longer than the trial.
        map_ = _one_by_one
    # Where a trial takes no time to speak of, a few times as many of them.
    effort *= float(np.clip(_SMALL / problem.pass_cost, 1.0, 4.0))
    n_batches = max(1, round(_BATCHES * effort))
    n_starts = 2 * n_batches

    def begin(job: tuple[int, str, np.random.Generator]) -> Candidate:
        number, kind, own = job
        if kind == "independent":
            labels = independent_start(problem, number, n_starts, own)
        else:
            labels = random_start(problem, number, own)
        return problem.descend(labels, _SHORT)

    states: list[Candidate] = []
    for batch in range(n_batches):
        jobs = [
            (2 * batch + position % 2, kind, own)
            for position, (kind, own) in enumerate(zip(_BATCH, rng.spawn(len(_BATCH))))
        ]
        states = sorted(states + map_(begin, jobs), key=lambda state: state.cost)
        # An optimum that so many starts find needs no further ones.
        n_same = sum(state.cost <= (1 + _SAME) * states[0].cost for state in states)
        if n_same >= 3:
            break
    if problem.is_crowded and n_same < 3:
        states = search_population(problem, states, effort, rng, map_)
    finalists = _distinct(states, _FINALISTS if sum(problem.sizes) > CROWDED else 2)
    finalists = map_(lambda s: problem.descend(s.labels, _LONG, s.views), finalists)
    finalists.sort(key=lambda state: state.cost)
    further = _CLUSTER_PATIENCE * max(0, sum(problem.sizes) - CROWDED)
    patience = _PATIENCE + min(further, _AFFORDABLE / problem.pass_cost)
    patience = max(1, round(patience * effort))
    best = improve(problem, finalists[0], patience, rng, map_)
    return [best, *(state for state in finalists if state.cost > (1 + _SAME) * best.cost)]


def _one_by_one(function: Callable[..., Any], tasks: Iterable[Any]) -> list[Any]:
    return [function(task) for task in tasks]


def improve(
    problem: Problem,
    best: Candidate,
    patience: int,
    rng: np.random.Generator,
    map_: Callable[..., list[Candidate]],
) -> Candidate:
    """Kick the best state until that has failed often enough."""
    sizes = problem.sizes
    pairs = [(s, t) for s, t in combinations(range(len(sizes)), 2) if sizes[s] != sizes[t]]
    failed, n_kicks, exchanged = 0, 0, False
    while failed < patience and n_kicks < 10 * patience:
        if exchanged or not pairs:
            tried = map_(lambda own, best=best: kick(problem, best, own), rng.spawn(_KICKS))
            n_kicks += _KICKS
            failed += _KICKS
        else:
            jobs = [(s, t, own) for (s, t), own in zip(pairs, rng.spawn(len(pairs)))]
            tried = map_(lambda job, best=best: exchange(problem, best, *job), jobs)
            exchanged = True
        winner = min(tried, key=lambda state: state.cost)
        if winner.cost < best.cost - _BETTER * abs(best.cost):
            # Far enough from before that other views may be better off elsewhere.
            exchanged = exchanged and winner.cost > best.cost * (1 - _AFRESH)
            best, failed = winner, 0
    return best


def _distinct(states: list[Candidate], n: int) -> list[Candidate]:
    kept: list[Candidate] = []
    for state in states:
        if len(kept) < n and all(state.cost > (1 + _SAME) * other.cost for other in kept):
            kept.append(state)
    return kept


def starting_vectors(
    runner: BaseRunner,
    sizes: tuple[int, ...],
    start: str,
    effort: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], "Views"]:
    """Centers of all views on top of each other, and their subspaces, in engine coordinates.

    Parameters
    ----------
    runner : Runner
    sizes : tuple of int
    start : {"search", "random"}
        How to begin.
    effort : float
    rng : Generator

    Returns
    -------
    theta : ndarray of shape (sum(sizes), n_features)
        Within the subspaces; those of the first view from the origin, the others from the mean.
    views : Views
    """
    n_components = max(n_axes(sizes), min(runner.frame.n_features, _ALL))
    exact = max(_EXACT, 4 * n_components) if is_crowded(sizes) else None
    reduced = reduce_rows(runner, n_components, rng, exact=exact)
    problem = make_problem(reduced, sizes)
    if start == "random":
        plain = problem.plain(problem.n_wanted)
        best = problem.descend(orthogonal_parts(problem, plain, rng), _SHORT)
    else:
        best = search(problem, effort, rng, running_threads().map)[0]
    return lift(problem, best, reduced)
