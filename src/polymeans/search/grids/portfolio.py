"""Good protocentroids for a fit to start from: a search on a summary of the data.

Plain descents from random rows end in poor optima. Few protocentroids make cheap passes and few
basins, so many starts pay; with many of them the passes are better spent on local search. The
constants were found by experiment on the data sets of the Khatri-Rao paper, see
docs/explanation/constants.rst.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import scale_later_sets, split
from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.khatri_rao import GridCodebook
from polymeans.core.threads import running_threads
from polymeans.engine.assignment import grid_codebook
from polymeans.engine.lloyd import descend
from polymeans.engine.runners import BaseRunner
from polymeans.search.grids.halving import (
    SHORT_ITERATIONS,
    State,
    distinct,
    improve,
    local_search,
    short_starts,
)
from polymeans.search.grids.lift import lift
from polymeans.search.grids.problem import MOVES, SEARCHABLE, GridProblem, as_grid
from polymeans.search.summary import summarize

#: Candidates carried from the summary to the data: the summary does not rank the best ones as the
#: data do. On all rows they get a few iterations in rounds; each round gives the number of
#: iterations, and how many candidates go on to the next.
CARRIED = 5
FINAL_ROUNDS = ((4, 2), (12, 1))

#: A candidate ends its iterations of a round when one gains less than this share: the fit itself
#: goes on from there.
FINAL_TOL = 1e-5

#: Moves are tried on the data themselves in the end if a table of rows by features or centroids has
#: at most so many numbers (64 MB in float32), for so many passes at effort 1.
POLISH_NUMBERS, POLISH_PASSES = 2**24, 300

#: Iterations before the moves on the data, and the gain at which they end.
POLISH_ITERATIONS, POLISH_TOL = 30, 1e-4

#: Multiplications that all trials on the summary may cost at effort 1, some seconds on one core;
#: and up to which a search takes a fraction of a second, so that small problems get more trials.
AFFORDABLE, CHEAP = 2.5e10, 2e9

#: Small problems get up to this many times the starts and passes: beyond, fits of tiny data would
#: take longer for hardly better optima.
MOST_EXTRA = 4

#: Starts that are compared on the data where there are too many centroids to search for: each costs
#: a few iterations there.
LIGHT_STARTS = 3

#: Rows whose mean, or root mean square, the protocentroids of a random start are relative to: it is
#: known to 3 % of their spread (1/√1000) then.
TYPICAL_ROWS = 1000

#: Orders of the sets that residual starts take in turn, about so many at most: p sets have p! of
#: them, and every order should get several of the starts.
N_ORDERS = 4


@dataclass(frozen=True)
class Plan:
    """How much to try."""

    n_starts: int
    n_kept: int
    budget: float  #: passes over the summary for local search


def make_plan(problem: GridProblem, effort: float) -> Plan:
    """The more protocentroids, the fewer starts, and no more of anything than is affordable.

    The number of candidates to improve falls with the squared number of protocentroids, and
    products, whose optima differ by signs, get more of everything than sums. The numbers were found
    by experiment, see docs/explanation/constants.rst.
    """
    total = sum(problem.sizes)
    few = float(np.clip(round(2000 / total**2), 4, 32))
    if problem.aggregator == "sum":
        kept = max(6, 2 * few / 3)
        starts, budget = max(48, 4 * kept), 1600
    else:
        kept = 2 * few
        starts, budget = max(80, 6 * kept), 4000
    work = problem.pass_cost * (SHORT_ITERATIONS * starts + budget)
    effort *= min(float(np.clip(CHEAP / work, 1, MOST_EXTRA)), AFFORDABLE / work)
    n_kept = max(1, round(effort * kept))
    return Plan(max(LIGHT_STARTS, n_kept, round(effort * starts)), n_kept, effort * budget)


class PassCounter:
    """Adds up work on smaller problems in passes over all the rows.

    Parameters
    ----------
    runner : Runner
    """

    def __init__(self, runner: BaseRunner) -> None:
        self.size = max(1, runner.n_stored)
        self.passes = 0.0

    def add(self, problem: GridProblem) -> None:
        """Add all passes over a problem's rows so far."""
        self.passes += problem.n_passes * problem.n_points * problem.n_features / self.size


def starting_vectors(
    runner: BaseRunner,
    sizes: Sequence[int],
    aggregator: str,
    method: str,
    effort: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], float]:
    """Protocentroids to descend from, in the rows' coordinates, and the work it took to find them.

    Parameters
    ----------
    runner : Runner
    sizes : tuple of int
    aggregator : {"sum", "product"}
    method : {"search", "residual", "k-means++", "random"}
    effort : float
        For "search".
    rng : Generator

    Returns
    -------
    vectors : ndarray of shape (h_1 + ... + h_p, n_features)
        All sets on top of each other.
    passes : float
        Work done, in passes over all rows.
    """
    counter = PassCounter(runner)
    vectors = _start_by(method, runner, sizes, aggregator, effort, rng, counter)
    if aggregator == "product":
        scale_later_sets(split(vectors, sizes))
    return vectors, counter.passes


def _start_by(
    method: str,
    runner: BaseRunner,
    sizes: Sequence[int],
    aggregator: str,
    effort: float,
    rng: np.random.Generator,
    counter: PassCounter,
) -> NDArray[np.float64]:
    if method == "random":
        return random_rows(runner, sizes, aggregator, rng)
    if method == "search":
        candidates = search(runner, sizes, aggregator, effort, rng, counter)
        return best_on_data(runner, candidates, sizes, aggregator, effort, rng, counter)
    summary = summarize(runner, sizes, aggregator, rng)
    problem = GridProblem(summary.reduced, summary.weights, sizes, aggregator)
    if method == "k-means++" and problem.n_clusters <= SEARCHABLE:
        vectors = problem.spread_start(rng)
    else:
        vectors = problem.residual_start(rng, larger_first(sizes))
    return lift(vectors, problem, summary)


def random_rows(
    runner: BaseRunner, sizes: Sequence[int], aggregator: str, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Every protocentroid a row, such that combinations are of the size of a row."""
    chance = runner.weights / runner.weights.sum()
    chosen = rng.choice(len(chance), size=sum(sizes), p=chance)
    typical = np.sort(rng.choice(len(chance), size=TYPICAL_ROWS, p=chance))
    sample = runner.rows_at(typical).astype(np.float64)
    return as_grid(runner.take(chosen).astype(np.float64), sample, sizes[0], aggregator)


def best_on_data(
    runner: BaseRunner,
    candidates: list[NDArray[np.float64]],
    sizes: Sequence[int],
    aggregator: str,
    effort: float,
    rng: np.random.Generator,
    counter: PassCounter,
) -> NDArray[np.float64]:
    """The best of the candidates after a few iterations on the data, and a few moves there."""
    if aggregator == "product":  # before it is cast to the rows' dtype
        for candidate in candidates:
            scale_later_sets(split(candidate, sizes))
    frame, vectors = runner.frame, candidates[0]
    if len(candidates) > 1:
        codebooks: list[BaseCodebook] = [
            grid_codebook(frame, start, sizes, aggregator) for start in candidates
        ]
        for max_iter, n_kept in FINAL_ROUNDS:
            runs = [descend(runner, book, max_iter=max_iter, tol=FINAL_TOL) for book in codebooks]
            runs.sort(key=lambda run: run.inertia)
            codebooks = [run.codebook for run in runs[:n_kept]]
            counter.passes += sum(run.n_iter for run in runs)
        best = codebooks[0]
        assert isinstance(best, GridCodebook)
        vectors = best.precise
    n_clusters = int(np.prod(sizes))
    n_numbers = frame.n_samples * max(frame.n_features, n_clusters)
    if n_clusters > SEARCHABLE or n_numbers > POLISH_NUMBERS:
        return vectors
    return polish(runner, vectors, sizes, aggregator, effort, rng, counter)


def polish(
    runner: BaseRunner,
    vectors: NDArray[np.float64],
    sizes: Sequence[int],
    aggregator: str,
    effort: float,
    rng: np.random.Generator,
    counter: PassCounter,
) -> NDArray[np.float64]:
    """Some moves on all rows."""
    points = runner.take(np.arange(runner.frame.n_samples))
    # Rows that do not count may be so far out that distances to them are infinite.
    counted = runner.weights > 0
    points, weights = points[counted], runner.weights[counted]
    mean = weights @ points / weights.sum() if aggregator == "sum" else 0.0
    problem = GridProblem(points - mean, weights, sizes, aggregator)
    start = vectors.copy()
    start[: sizes[0]] -= mean
    budget = min(POLISH_PASSES * effort, effort * CHEAP / problem.pass_cost)
    value, _ = problem.descend(start, POLISH_ITERATIONS, POLISH_TOL)
    state = State(start, value, rng)
    improve(problem, state, MOVES, budget)
    counter.add(problem)
    state.vectors[: sizes[0]] += mean
    return state.vectors


def search(
    runner: BaseRunner,
    sizes: Sequence[int],
    aggregator: str,
    effort: float,
    rng: np.random.Generator,
    counter: PassCounter,
) -> list[NDArray[np.float64]]:
    """Candidates to descend from on the data, in engine coordinates, best first.

    Parameters
    ----------
    runner : Runner
    sizes : tuple of int
        Number of protocentroids in each set.
    aggregator : {"sum", "product"}
    effort : float
        Multiplies starts, survivors and budget.
    rng : Generator
    counter : PassCounter

    Returns
    -------
    list of ndarray of shape (h_1 + ... + h_p, n_features)
    """
    summary = summarize(runner, sizes, aggregator, rng)
    problem = GridProblem(summary.reduced, summary.weights, sizes, aggregator, summary.offset)
    map_ = running_threads().map
    if problem.n_clusters > SEARCHABLE:
        order = larger_first(sizes)
        starts = map_(lambda own: problem.residual_start(own, order), rng.spawn(LIGHT_STARTS))
        return [lift(vectors, problem, summary) for vectors in starts]
    plan = make_plan(problem, effort)
    states = short_starts(problem, start_makers(problem), plan.n_starts, plan.n_kept, rng, map_)
    states = local_search(problem, states, MOVES, plan.budget, map_)
    counter.add(problem)
    return map_(lambda state: lift(state.vectors, problem, summary), distinct(states, CARRIED))


def larger_first(sizes: Sequence[int]) -> list[int]:
    """Sets by falling size: the larger ones explain more of the rows."""
    return sorted(range(len(sizes)), key=lambda q: -sizes[q])


def start_makers(
    problem: GridProblem,
) -> list[Callable[[np.random.Generator], NDArray[np.float64]]]:
    """Ways to begin, taken in turn.

    Sums: residual in several orders, and random. Products: random only, since their basins differ
    by sign patterns, of which residual starts would all have the same.
    """
    if problem.aggregator == "product":
        return [problem.random_start]
    orders = list(permutations(range(len(problem.sizes))))
    # Of many orders a few, that of the sets first.
    orders = orders[:: max(1, len(orders) // N_ORDERS)]
    residual = [lambda rng, order=order: problem.residual_start(rng, order) for order in orders]
    return [*residual, problem.random_start]
