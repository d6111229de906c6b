"""The best set of clusterings of a sample: many starts, the best of them perturbed repeatedly.

All of it runs on a sample of the rows in a few principal components; the estimator then refines
the result on all rows.
"""

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeans.core.threads import running_threads
from polymeans.engine.runners import BaseRunner
from polymeans.search.views.islands import distinct_states, search_islands
from polymeans.search.views.perturbations import exchange_subspaces, perturb
from polymeans.search.views.problem import (
    MANY_CLUSTERS,
    MAX_ITERATIONS,
    MIN_IMPROVEMENT,
    SAME_OPTIMUM,
    START_ITERATIONS,
    Candidate,
    Problem,
    has_many_clusters,
)
from polymeans.search.views.sample import lift, make_problem, n_axes, reduce_rows
from polymeans.search.views.starts import independent_start, orthogonal_parts, random_start

if TYPE_CHECKING:
    from polymeans.kernels.subspaces import Views

#: Principal components computed at least, where the data have as many: data of up to 16 features
#: are searched in all of their dimensions. A round number.
_MIN_COMPONENTS = 16

#: Kinds of starts in a batch. Independent components find many views, random subspaces dependent
#: views and large numbers of clusters: neither kind does both; see docs/explanation/constants.rst.
_BATCH = ("independent", "independent", "random", "random")

#: Batches of starts, and perturbations in a row that may fail, at an effort of one: twice what was
#: measured to be enough (three starts of each kind, 20 failures); see
#: docs/explanation/constants.rst.
_BATCHES, _PATIENCE = 3, 40

#: Starts that end in the same best optimum, after which no further batch is made.
_AGREEING_STARTS = 3

#: Further failures that are allowed for each cluster beyond ``MANY_CLUSTERS``: a perturbation moves
#: one center, so the tries it takes to find the misplaced one grow with their number.
_PATIENCE_PER_CLUSTER = 20

#: Multiplications of an iteration below which the effort is multiplied, and by how much at most:
#: such problems take fractions of a second anyway.
_CHEAP_PASS, _MAX_BONUS = 2e5, 4.0

#: Multiplications of an iteration below which a trial takes less time than handing it to a thread.
_SINGLE_THREAD_PASS = 1e5

#: Multiplications that one iteration of all further failures may take together: a bound on time.
_AFFORDABLE = 4e8

#: States that are descended to the end before the best is perturbed. With many clusters the order
#: of unfinished states says less.
_FINALISTS, _FINALISTS_OF_MANY = 2, 4

#: Rows and columns up to which principal components are exact where there are many clusters: the
#: error of random projections is as large as the differences between good optima there.
_EXACT_COMPONENTS = 1024

#: Perturbations tried from the same state. A constant, so that results do not depend on the number
#: of threads.
_PERTURBATIONS = 4

#: Relative improvement after which exchanges of subspaces are tried again: optima that differ by
#: less differ in rows at borders only; see docs/explanation/constants.rst.
_EXCHANGE_AGAIN = 1e-3


def search(
    problem: Problem,
    effort: float,
    rng: np.random.Generator,
    map_: Callable[..., list[Any]],
) -> list[Candidate]:
    """The best clusterings found, then the others that were descended to the end.

    Every start and every perturbation has random numbers of its own, and perturbations are tried
    in rounds of a fixed number, so the result does not depend on the number of threads.
    """
    if problem.pass_cost < _SINGLE_THREAD_PASS:
        map_ = _one_by_one
    effort *= float(np.clip(_CHEAP_PASS / problem.pass_cost, 1.0, _MAX_BONUS))
    n_batches = max(1, round(_BATCHES * effort))
    n_starts = 2 * n_batches

    def begin(job: tuple[int, str, np.random.Generator]) -> Candidate:
        number, kind, own = job
        if kind == "independent":
            labels = independent_start(problem, number, n_starts, own)
        else:
            labels = random_start(problem, number, own)
        return problem.descend(labels, START_ITERATIONS)

    states: list[Candidate] = []
    for batch in range(n_batches):
        jobs = [
            (2 * batch + position % 2, kind, own)
            for position, (kind, own) in enumerate(zip(_BATCH, rng.spawn(len(_BATCH))))
        ]
        states = sorted(states + map_(begin, jobs), key=lambda state: state.cost)
        n_same = sum(state.cost <= (1 + SAME_OPTIMUM) * states[0].cost for state in states)
        if n_same >= _AGREEING_STARTS:
            break
    if problem.has_many_clusters and n_same < _AGREEING_STARTS:
        states = search_islands(problem, states, effort, rng, map_)
    n_clusters = sum(problem.sizes)
    n_finalists = _FINALISTS_OF_MANY if n_clusters > MANY_CLUSTERS else _FINALISTS
    finalists = distinct_states(states, n_finalists, SAME_OPTIMUM)
    finalists = map_(lambda s: problem.descend(s.labels, MAX_ITERATIONS, s.views), finalists)
    finalists.sort(key=lambda state: state.cost)
    further = _PATIENCE_PER_CLUSTER * max(0, n_clusters - MANY_CLUSTERS)
    patience = _PATIENCE + min(further, _AFFORDABLE / problem.pass_cost)
    patience = max(1, round(patience * effort))
    best = improve(problem, finalists[0], patience, rng, map_)
    return [best, *(state for state in finalists if state.cost > (1 + SAME_OPTIMUM) * best.cost)]


def _one_by_one(function: Callable[..., Any], tasks: Iterable[Any]) -> list[Any]:
    return [function(task) for task in tasks]


def improve(
    problem: Problem,
    best: Candidate,
    patience: int,
    rng: np.random.Generator,
    map_: Callable[..., list[Candidate]],
) -> Candidate:
    """Perturb a state and keep what is better, until ``patience`` tries in a row have failed."""
    sizes = problem.sizes
    pairs = [(s, t) for s, t in combinations(range(len(sizes)), 2) if sizes[s] != sizes[t]]
    failed, n_tried, exchanged = 0, 0, False
    while failed < patience and n_tried < 10 * patience:
        if exchanged or not pairs:
            tasks = rng.spawn(_PERTURBATIONS)
            tried = map_(lambda own, best=best: perturb(problem, best, own), tasks)
            n_tried += _PERTURBATIONS
            failed += _PERTURBATIONS
        else:
            jobs = [(s, t, own) for (s, t), own in zip(pairs, rng.spawn(len(pairs)))]
            tried = map_(lambda job, best=best: exchange_subspaces(problem, best, *job), jobs)
            exchanged = True
        winner = min(tried, key=lambda state: state.cost)
        if winner.cost < best.cost - MIN_IMPROVEMENT * abs(best.cost):
            # After a large improvement another exchange may have become worthwhile.
            exchanged = exchanged and winner.cost > best.cost * (1 - _EXCHANGE_AGAIN)
            best, failed = winner, 0
    return best


def starting_vectors(
    runner: BaseRunner,
    sizes: tuple[int, ...],
    start: str,
    effort: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], "Views"]:
    """Stacked centers of all views, and their subspaces, in engine coordinates.

    Parameters
    ----------
    runner : Runner
    sizes : tuple of int
    start : {"search", "random"}
        "random": one start from random orthogonal subspaces.
    effort : float
    rng : Generator

    Returns
    -------
    theta : ndarray of shape (sum(sizes), n_features)
        Within the subspaces; those of the first view from the origin, the others from the mean.
    views : Views
    """
    n_components = max(n_axes(sizes), min(runner.frame.n_features, _MIN_COMPONENTS))
    exact = max(_EXACT_COMPONENTS, 4 * n_components) if has_many_clusters(sizes) else None
    reduced = reduce_rows(runner, n_components, rng, exact=exact)
    problem = make_problem(reduced, sizes)
    if start == "random":
        plain = problem.plain(problem.n_start_components)
        best = problem.descend(orthogonal_parts(problem, plain, rng), START_ITERATIONS)
    else:
        best = search(problem, effort, rng, running_threads().map)[0]
    return lift(problem, best, reduced)
