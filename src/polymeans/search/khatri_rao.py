"""Good protocentroids for a fit to start from: a search on a summary of the data.

Plain descents from random rows end in poor optima. Few protocentroids make cheap passes and few
basins, so many starts pay; with many of them the passes are better spent on local search. The
constants were found by experiment on the data sets of the Khatri-Rao paper.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import combine, split
from polymeans.codebooks.multiplicative import fit_multiplicative
from polymeans.engine.assignment import grid_codebook
from polymeans.engine.lloyd import descend
from polymeans.search.halving import distinct, local_search, short_starts
from polymeans.search.problem import GridProblem, neutral_later_sets
from polymeans.search.summary import Summary, summarize

#: Candidates carried from the summary to the data.
CARRIED = 3

MOVES = ("swap", "shake", "melt")


@dataclass(frozen=True)
class Plan:
    """How much to try."""

    n_starts: int
    n_kept: int
    budget: float  #: passes over the summary for local search


def make_plan(sizes: Sequence[int], aggregator: str, effort: float) -> Plan:
    """The more protocentroids, the fewer starts; twice the effort where passes are cheap."""
    total = sum(sizes)
    few = float(np.clip(round(2000 / total**2), 4, 32))
    if aggregator == "product" or total <= 8:
        effort = 2 * effort
    if aggregator == "sum":
        kept = max(3, few / 3)
        starts, budget = max(24, 4 * kept), 800
    else:
        kept = few
        starts, budget = max(40, 6 * kept), 2000
    n_kept = max(1, round(effort * kept))
    return Plan(max(n_kept, round(effort * starts)), n_kept, effort * budget)


def starting_vectors(
    rows: Any,
    sizes: Sequence[int],
    aggregator: str,
    method: str,
    effort: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Protocentroids to descend from, in the rows' coordinates, all sets on top of each other.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    sizes : tuple of int
    aggregator : {"sum", "product"}
    method : {"search", "residual", "k-means++", "random"}
    effort : float
        For "search".
    rng : Generator

    Returns
    -------
    ndarray of shape (h_1 + ... + h_p, n_features)
    """
    if method == "random":
        return random_rows(rows, sizes, aggregator, rng)
    if method == "search":
        candidates, _ = search(rows, sizes, aggregator, effort, rng)
        return finalist(rows, candidates, sizes, aggregator, rng)
    summary = summarize(rows, int(np.prod(sizes)), aggregator, rng)
    problem = GridProblem(summary.reduced, summary.weights, sizes, aggregator)
    if method == "k-means++":
        vectors = problem.spread_start(rng)
    else:
        # The larger sets first: they leave less to the others.
        order = np.argsort([-h for h in sizes], kind="stable")
        vectors = problem.residual_start(rng, order)
    return lift(vectors, problem, summary)


def random_rows(
    rows: Any, sizes: Sequence[int], aggregator: str, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Every protocentroid a row; later sets less the mean, or over the root mean square."""
    sample = rng.choice(rows.n_samples, size=min(rows.n_samples, 1000), replace=False)
    chance = rows.weights / rows.weights.sum()
    chosen = rng.choice(rows.n_samples, size=sum(sizes), p=chance)
    vectors = rows.take(chosen).astype(np.float64)
    typical = rows.take(np.sort(sample)).astype(np.float64)
    return neutral_later_sets(vectors, typical, None, sizes[0], aggregator)


def finalist(
    rows: Any,
    candidates: list[NDArray[np.float64]],
    sizes: Sequence[int],
    aggregator: str,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """The best of the candidates after a few iterations on the data."""
    if len(candidates) == 1:
        return candidates[0]
    runs = [
        descend(rows, grid_codebook(rows, vectors, sizes, aggregator), max_iter=15, tol=1e-5)
        for vectors in candidates
    ]
    best = min(runs, key=lambda run: run.inertia)
    return best.codebook.precise


def search(
    rows: Any, sizes: Sequence[int], aggregator: str, effort: float, rng: np.random.Generator
) -> tuple[list[NDArray[np.float64]], int]:
    """Candidates to descend from on the data, in engine coordinates, and the passes they took.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    sizes : tuple of int
        Number of protocentroids in each set.
    aggregator : {"sum", "product"}
    effort : float
        Multiplies starts, survivors and budget.
    rng : Generator

    Returns
    -------
    candidates : list of ndarray of shape (h_1 + ... + h_p, n_features)
        Best first.
    passes : float
        Passes over the summary.
    """
    n_clusters = int(np.prod(sizes))
    summary = summarize(rows, n_clusters, aggregator, rng)
    problem = GridProblem(summary.reduced, summary.weights, sizes, aggregator, summary.offset)
    plan = make_plan(sizes, aggregator, effort)
    map_ = rows.threads.map
    states, passes = short_starts(
        problem, start_makers(problem), plan.n_starts, plan.n_kept, rng, map_
    )
    states, more = local_search(problem, states, MOVES, plan.budget, map_)
    lifted = [lift(state.vectors, problem, summary) for state in distinct(states, CARRIED)]
    return lifted, passes + more


def start_makers(problem: GridProblem) -> list[Callable[[np.random.Generator], Any]]:
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
    """The same protocentroids in all columns, descended on the summary's rows."""
    sizes, first = problem.sizes, problem.sizes[0]
    if problem.aggregator == "sum":
        lifted = vectors if summary.basis is None else vectors @ summary.basis
        lifted = lifted.copy()
        lifted[:first] += summary.mean
    elif vectors.shape[1] == summary.points.shape[1]:
        lifted = vectors.copy()
    else:
        lifted = lift_products(problem.labels(vectors), summary, sizes)
    if vectors.shape[1] < summary.points.shape[1]:
        # About the mean, where float32 scores are at their best.
        points = summary.points - summary.mean
        full = GridProblem(points, summary.weights, sizes, problem.aggregator)
        lifted[:first] -= summary.mean
        full.descend(lifted, 60, 1e-4)
        lifted[:first] += summary.mean
    return lifted


def lift_products(
    labels: NDArray[np.int64], summary: Summary, sizes: Sequence[int]
) -> NDArray[np.float64]:
    """Products in all columns for given labels: several fits, the best for each feature."""
    n_clusters, n_features = int(np.prod(sizes)), summary.points.shape[1]
    masses = np.bincount(labels, summary.weights, minlength=n_clusters)
    sums = np.zeros((n_clusters, n_features))
    np.add.at(sums, labels, summary.weights[:, None] * summary.points)
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
