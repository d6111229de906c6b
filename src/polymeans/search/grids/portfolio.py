"""Good protocentroids for a fit to start from: a search on a summary of the data.

Plain descents from random rows end in poor optima. Few protocentroids make cheap passes and few
basins, so many starts pay; with many of them the passes are better spent on local search. The
constants were found by experiment on the data sets of the Khatri-Rao paper.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import combine, scale_later_sets, split
from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.khatri_rao import GridCodebook
from polymeans.codebooks.multiplicative import fit_multiplicative
from polymeans.core.threads import running_threads
from polymeans.engine.assignment import grid_codebook
from polymeans.engine.lloyd import descend
from polymeans.engine.runners import BaseRunner
from polymeans.search.grids.halving import State, distinct, improve, local_search, short_starts
from polymeans.search.grids.problem import SEARCHABLE, GridProblem, as_grid
from polymeans.search.summary import Summary, summarize

#: Candidates carried from the summary to the data, iterations they get in a first look at all its
#: columns, and on all rows: so many for each while so many are kept.
CARRIED = 5
LIFTED_ITERATIONS = 15
FINALS = ((4, 2), (12, 1))

MOVES = ("swap", "shake", "melt")


#: Moves tried on the data themselves in the end, where those are few enough: numbers in a table of
#: rows by features or centroids, and passes.
POLISHED, POLISH_PASSES = 2**24, 300

#: Multiplications all trials on the summary may cost at effort 1, some seconds on one core; and
#: what they may cost without anybody noticing, so that small problems are searched harder.
AFFORDABLE, CHEAP = 2.5e10, 2e9

#: Starts that must do where there are too many centroids to search for.
LIGHT_STARTS = 3


@dataclass(frozen=True)
class Plan:
    """How much to try."""

    n_starts: int
    n_kept: int
    budget: float  #: passes over the summary for local search


def make_plan(problem: GridProblem, effort: float) -> Plan:
    """The more protocentroids, the fewer starts, and no more of anything than is affordable."""
    total = sum(problem.sizes)
    few = float(np.clip(round(2000 / total**2), 4, 32))
    if problem.aggregator == "sum":
        kept = max(6, 2 * few / 3)
        starts, budget = max(48, 4 * kept), 1600
    else:
        kept = 2 * few
        starts, budget = max(80, 6 * kept), 4000
    # A short start takes about five passes.
    work = problem.pass_cost * (5 * starts + budget)
    effort *= min(float(np.clip(CHEAP / work, 1, 4)), AFFORDABLE / work)
    n_kept = max(1, round(effort * kept))
    return Plan(max(LIGHT_STARTS, n_kept, round(effort * starts)), n_kept, effort * budget)


class Ledger:
    """Adds up work on smaller problems in passes over all the rows.

    Parameters
    ----------
    runner : Runner
    """

    def __init__(self, runner: BaseRunner) -> None:
        self.size = max(1, runner.n_stored)
        self.passes = 0.0

    def add(self, problem: GridProblem) -> None:
        """Take note of all passes a problem has seen."""
        self.passes += problem.n_passes * problem.n_points * problem.n_features / self.size


def starting_vectors(
    runner: BaseRunner,
    sizes: Sequence[int],
    aggregator: str,
    method: str,
    effort: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], float]:
    """Protocentroids to descend from, in the rows' coordinates, and what they cost.

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
    ledger = Ledger(runner)
    vectors = _start_by(method, runner, sizes, aggregator, effort, rng, ledger)
    if aggregator == "product":
        scale_later_sets(split(vectors, sizes))
    return vectors, ledger.passes


def _start_by(
    method: str,
    runner: BaseRunner,
    sizes: Sequence[int],
    aggregator: str,
    effort: float,
    rng: np.random.Generator,
    ledger: "Ledger",
) -> NDArray[np.float64]:
    if method == "random":
        return random_rows(runner, sizes, aggregator, rng)
    if method == "search":
        candidates = search(runner, sizes, aggregator, effort, rng, ledger)
        return finalist(runner, candidates, sizes, aggregator, effort, rng, ledger)
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
    typical = np.sort(rng.choice(len(chance), size=1000, p=chance))
    sample = runner.rows_at(typical).astype(np.float64)
    return as_grid(runner.take(chosen).astype(np.float64), sample, sizes[0], aggregator)


def finalist(
    runner: BaseRunner,
    candidates: list[NDArray[np.float64]],
    sizes: Sequence[int],
    aggregator: str,
    effort: float,
    rng: np.random.Generator,
    ledger: Ledger,
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
        for max_iter, n_kept in FINALS:
            runs = [descend(runner, book, max_iter=max_iter, tol=1e-5) for book in codebooks]
            runs.sort(key=lambda run: run.inertia)
            codebooks = [run.codebook for run in runs[:n_kept]]
            ledger.passes += sum(run.n_iter for run in runs)
        best = codebooks[0]
        assert isinstance(best, GridCodebook)
        vectors = best.precise
    n_clusters = int(np.prod(sizes))
    if n_clusters > SEARCHABLE or frame.n_samples * max(frame.n_features, n_clusters) > POLISHED:
        return vectors
    return polish(runner, vectors, sizes, aggregator, effort, rng, ledger)


def polish(
    runner: BaseRunner,
    vectors: NDArray[np.float64],
    sizes: Sequence[int],
    aggregator: str,
    effort: float,
    rng: np.random.Generator,
    ledger: Ledger,
) -> NDArray[np.float64]:
    """Some moves on all rows."""
    points = runner.take(np.arange(runner.frame.n_samples))
    weights = runner.weights
    mean = weights @ points / weights.sum() if aggregator == "sum" else 0.0
    problem = GridProblem(points - mean, weights, sizes, aggregator)
    start = vectors.copy()
    start[: sizes[0]] -= mean
    budget = min(POLISH_PASSES * effort, effort * CHEAP / problem.pass_cost)
    value, _ = problem.descend(start, 30, 1e-4)
    state = State(start, value, rng)
    improve(problem, state, MOVES, budget)
    ledger.add(problem)
    state.vectors[: sizes[0]] += mean
    return state.vectors


def search(
    runner: BaseRunner,
    sizes: Sequence[int],
    aggregator: str,
    effort: float,
    rng: np.random.Generator,
    ledger: Ledger,
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
    ledger : Ledger

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
    ledger.add(problem)
    return map_(lambda state: lift(state.vectors, problem, summary), distinct(states, CARRIED))


def larger_first(sizes: Sequence[int]) -> list[int]:
    """Sets by falling size: the larger ones leave less to the others."""
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
    # Of many orders a few, the natural one first.
    orders = orders[:: max(1, len(orders) // 4)]
    residual = [lambda rng, order=order: problem.residual_start(rng, order) for order in orders]
    return [*residual, problem.random_start]


def lift(
    vectors: NDArray[np.float64], problem: GridProblem, summary: Summary
) -> NDArray[np.float64]:
    """The same protocentroids in all columns; dense ones are descended on the summary's rows."""
    sizes, first = problem.sizes, problem.sizes[0]
    lifted = vectors.copy()
    if problem.aggregator == "sum":
        mean = summary.mean
        if summary.basis is not None:
            lifted = lifted @ summary.basis
            if len(mean) == len(summary.basis):
                mean = mean @ summary.basis
        lifted[:first] += mean
    elif not summary.has_all_columns:
        lifted = lift_products(problem.labels(vectors), summary, sizes)
    small = problem.n_clusters <= SEARCHABLE and not sp.issparse(summary.sources)
    if small and not summary.has_all_columns:
        # About the mean, where float32 scores are at their best.
        points = summary.sources - summary.mean
        full = GridProblem(points, summary.source_weights, sizes, problem.aggregator)
        lifted[:first] -= summary.mean
        full.descend(lifted, LIFTED_ITERATIONS, 1e-3)
        lifted[:first] += summary.mean
    return lifted


def lift_products(
    labels: NDArray[np.int64], summary: Summary, sizes: Sequence[int]
) -> NDArray[np.float64]:
    """Products in all columns for given labels: several fits, the best for each feature."""
    n_clusters, n_features = int(np.prod(sizes)), summary.sources.shape[1]
    if summary.membership is not None:
        labels = labels[summary.membership]
    weights = summary.source_weights
    masses = np.asarray(np.bincount(labels, weights, minlength=n_clusters), dtype=np.float64)
    member = sp.csr_array(
        (weights, (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels))
    )
    sums = member @ summary.sources
    sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums)
    means = sums / np.where(masses > 0, masses, 1.0)[:, None]
    starts = [np.ones((sum(sizes), n_features))]
    grid = means.reshape(*sizes, n_features)
    for g in range(sizes[0]):
        # One member of the first set, as if it were one: the others' cell means are the rest.
        start = np.ones((sum(sizes), n_features))
        start[sizes[0] : sizes[0] + sizes[1]] = grid[g].reshape(sizes[1], -1, n_features)[:, 0]
        starts.append(start)
    best = np.zeros((sum(sizes), n_features))
    lowest = np.full(n_features, np.inf)
    for start in starts:
        fitted = np.concatenate(fit_multiplicative(sums, masses, split(start, sizes), sweeps=8))
        value = _feature_costs(fitted, sums, masses, sizes)
        better = value < lowest
        best[:, better] = fitted[:, better]
        lowest[better] = value[better]
    return best


def _feature_costs(
    stacked: NDArray[np.float64],
    sums: NDArray[np.float64],
    masses: NDArray[np.float64],
    sizes: Sequence[int],
) -> NDArray[np.float64]:
    products = combine(split(stacked, sizes), "product")
    return np.sum(products * (masses[:, None] * products - 2 * sums), axis=0)
