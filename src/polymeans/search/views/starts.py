"""Labels that a search starts from: clusterings in independent or in random subspaces.

Random subspaces rarely lead to the best set of clusterings, and hardly ever with many views; starts
from independent components do. Random starts are for correlated views, many clusters, and clusters
that overlap.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from polymeans.search.views.dependence_tree import DependenceTree, mutual_information
from polymeans.search.views.gain import gain
from polymeans.search.views.independent_components import unmix
from polymeans.search.views.problem import Problem

#: Rows that independent components are estimated from at most, as in the experiments; a start only
#: has to be near an optimum.
_MAX_ICA_ROWS = 2000

#: Groups of components beyond the number of views that a cut may have; those without a view are
#: noise. With fewer, components of pure noise would have to join a view.
_SURPLUS_GROUPS = 3


def independent_start(
    problem: Problem, number: int, n_starts: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Labels from groups of independent components, each matched with a number of clusters."""
    n_views = len(problem.sizes)
    most = problem.n_start_components
    fewest = min(most, max(n_views, -(-most // 2)))
    q = most - (most - fewest) * number // max(1, n_starts - 1)
    if q < n_views:  # fewer dimensions than views: no group for each view
        return random_start(problem, number, rng)
    white, weights = problem.white(q), problem.weights
    few: slice | NDArray[np.int64] = slice(None)
    if len(white) > _MAX_ICA_ROWS:
        few = rng.choice(len(white), _MAX_ICA_ROWS, replace=False)
    contrast = ("tanh", "gauss")[number % 2]
    components = white @ unmix(white[few], weights[few], contrast, rng).T
    tree = DependenceTree(mutual_information(components[few], weights[few]))
    # The gain counts rows: weights are scaled to a mean of one.
    counted = weights * (len(weights) / weights.sum())
    known: dict[tuple[int, int], tuple[float, NDArray[np.int32]]] = {}

    def fit(node: int, k: int) -> tuple[float, NDArray[np.int32]]:
        if (node, k) not in known:
            group = components[:, tree.members[node]]
            labels = problem.cluster(group, k, rng, n_starts=3)
            known[node, k] = gain(group, counted, labels, k), labels
        return known[node, k]

    best = -np.inf
    chosen: dict[int, int] | None = None
    for n_groups in range(n_views, min(n_views + _SURPLUS_GROUPS, q) + 1):
        nodes = tree.cut(n_groups)
        gains = np.array([[fit(node, k)[0] for k in problem.sizes] for node in nodes])
        groups, views = linear_sum_assignment(np.maximum(gains, -1e300), maximize=True)
        if gains[groups, views].sum() > best or chosen is None:
            best = gains[groups, views].sum()
            chosen = {view: nodes[group] for group, view in zip(groups, views)}
    assert chosen is not None
    return np.stack([fit(chosen[s], k)[1] for s, k in enumerate(problem.sizes)])


def random_start(problem: Problem, number: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Labels in random subspaces; start ``number`` decides which kind of them."""
    return _RANDOM_STARTS[number % len(_RANDOM_STARTS)](problem, rng)


def orthogonal_parts(
    problem: Problem, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int32]:
    """k-means in random orthogonal subspaces, with the k - 1 dimensions a view can fill."""
    q = points.shape[1]
    dims = [max(1, min(k - 1, q)) for k in problem.sizes]
    if sum(dims) > q:
        return _unrelated_parts(problem, points, rng)
    turned = points @ np.linalg.qr(rng.standard_normal((q, q)))[0]
    parts = [turned[:, lo:hi] for lo, hi in pairwise(np.cumsum([0, *dims]))]
    return np.stack([problem.cluster(part, k, rng) for part, k in zip(parts, problem.sizes)])


def _unrelated_parts(
    problem: Problem, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int32]:
    """k-means in random subspaces, drawn independently for each view, of random dimension."""
    labels = []
    for k in problem.sizes:
        n_dims = int(rng.integers(1, max(1, min(k - 1, points.shape[1])) + 1))
        axes = np.linalg.qr(rng.standard_normal((points.shape[1], n_dims)))[0]
        labels.append(problem.cluster(points @ axes, k, rng))
    return np.stack(labels)


def _thin_parts(
    problem: Problem, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int32]:
    """k-means along one or two wide directions, each view orthogonal to those before.

    Where a few dimensions have nearly all of the scatter, the best views share these dimensions.
    """
    labels = np.zeros((len(problem.sizes), len(points)), dtype=np.int32)
    rest = points.copy()
    for s in rng.permutation(len(problem.sizes)):
        k = problem.sizes[s]
        n_dims = int(rng.integers(1, max(1, min(k - 1, 2)) + 1))
        # Random mixtures of rows are directions drawn in proportion to the scatter.
        mixed = rng.standard_normal((n_dims, len(rest))) @ (problem.weights[:, None] * rest)
        axes = np.linalg.qr(mixed.T)[0]
        inside = rest @ axes
        labels[s] = problem.cluster(inside, k, rng)
        rest -= inside @ axes.T
    return labels


def _sequential_parts(
    problem: Problem, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int32]:
    """k-means for one view after another, each orthogonal to the means of those before."""
    labels = np.zeros((len(problem.sizes), len(points)), dtype=np.int32)
    rest = points.copy()
    for s in rng.permutation(len(problem.sizes)):
        k = problem.sizes[s]
        labels[s] = problem.cluster(rest, k, rng)
        masses = np.bincount(labels[s], problem.weights, minlength=k)
        sums = np.zeros((k, rest.shape[1]))
        np.add.at(sums, labels[s], problem.weights[:, None] * rest)
        means = sums[masses > 0] / masses[masses > 0, None]
        _, lengths, axes = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
        axes = axes[lengths > 1e-9 * max(lengths.max(), 1e-300)]
        rest = rest - rest @ axes.T @ axes
    return labels


#: Kinds of random starts, taken in turn, in whitened and in plain components. Which kind is best
#: depends on the data, so all of them are tried.
_RANDOM_STARTS = (
    lambda problem, rng: orthogonal_parts(problem, problem.white(problem.n_start_components), rng),
    lambda problem, rng: _thin_parts(problem, problem.plain(problem.n_start_components), rng),
    lambda problem, rng: _unrelated_parts(problem, problem.white(problem.n_start_components), rng),
    lambda problem, rng: orthogonal_parts(problem, problem.plain(problem.n_start_components), rng),
    lambda problem, rng: _sequential_parts(problem, problem.white(problem.n_start_components), rng),
    lambda problem, rng: _thin_parts(problem, problem.plain(problem.n_start_components), rng),
    lambda problem, rng: _unrelated_parts(problem, problem.plain(problem.n_start_components), rng),
    lambda problem, rng: _sequential_parts(problem, problem.plain(problem.n_start_components), rng),
)
