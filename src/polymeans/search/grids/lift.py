"""Protocentroids found on a summary, brought back to all columns of the data."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import combine, split
from polymeans.codebooks.multiplicative import fit_multiplicative
from polymeans.search.grids.problem import SEARCHABLE, GridProblem
from polymeans.search.summary import Summary

#: Iterations in all columns of the summary's rows, and the gain at which they end: what the search
#: found is close to an optimum there, and iterations on the data follow.
LIFTED_ITERATIONS, LIFTED_TOL = 15, 1e-3

#: Sweeps over the sets for each start of a product in all columns: labels are fixed, so sweeps only
#: have to tell the starts apart, and iterations follow.
LIFTED_SWEEPS = 8


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
        # About the mean, where float32 scores lose least.
        points = summary.sources - summary.mean
        full = GridProblem(points, summary.source_weights, sizes, problem.aggregator)
        lifted[:first] -= summary.mean
        full.descend(lifted, LIFTED_ITERATIONS, LIFTED_TOL)
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
        # With ones as the g-th member of the first set, its cell means are the second set.
        start = np.ones((sum(sizes), n_features))
        start[sizes[0] : sizes[0] + sizes[1]] = grid[g].reshape(sizes[1], -1, n_features)[:, 0]
        starts.append(start)
    best = np.zeros((sum(sizes), n_features))
    lowest = np.full(n_features, np.inf)
    for start in starts:
        fitted = np.concatenate(
            fit_multiplicative(sums, masses, split(start, sizes), sweeps=LIFTED_SWEEPS)
        )
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
