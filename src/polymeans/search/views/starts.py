"""Where several clusterings of the same rows may begin.

Random subspaces rarely lead to the best set of clusterings, and never when there are many views.
Starts from independent components do; random ones fill the gaps: on correlated views, on many
clusters, on clusters that overlap.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from polymeans.search.views.gain import gain
from polymeans.search.views.independent import Tree, mutual_information, unmix
from polymeans.search.views.problem import Problem

#: Rows independent components are estimated from at most.
_UNMIXED = 2000


def independent_start(
    problem: Problem, number: int, n_starts: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Labels from groups of independent components, each matched with a number of clusters."""
    n_views = len(problem.sizes)
    most = problem.n_wanted
    fewest = min(most, max(n_views, -(-most // 2)))
    q = most - (most - fewest) * number // max(1, n_starts - 1)
    if q < n_views:  # fewer dimensions than views: nothing to take apart
        return random_start(problem, number, rng)
    white, weights = problem.white(q), problem.weights
    few: slice | NDArray[np.int64] = slice(None)
    if len(white) > _UNMIXED:
        few = rng.choice(len(white), _UNMIXED, replace=False)
    contrast = ("tanh", "gauss")[number % 2]
    components = white @ unmix(white[few], weights[few], contrast, rng).T
    tree = Tree(mutual_information(components[few], weights[few]))
    # Rows count as one each on average, whatever their weights add up to.
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
    for n_groups in range(n_views, min(n_views + 3, q) + 1):
        nodes = tree.cut(n_groups)
        gains = np.array([[fit(node, k)[0] for k in problem.sizes] for node in nodes])
        groups, views = linear_sum_assignment(np.maximum(gains, -1e300), maximize=True)
        if gains[groups, views].sum() > best or chosen is None:
            best = gains[groups, views].sum()
            chosen = {view: nodes[group] for group, view in zip(groups, views)}
    assert chosen is not None
    return np.stack([fit(chosen[s], k)[1] for s, k in enumerate(problem.sizes)])


def random_start(problem: Problem, number: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Labels in random subspaces of several kinds, in turn."""
    return _RANDOM_STARTS[number % len(_RANDOM_STARTS)](problem, rng)


def orthogonal_parts(
    problem: Problem, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int32]:
    """k-means in subspaces that are orthogonal, and as large as they may become."""
    q = points.shape[1]
    rooms = [max(1, min(k - 1, q)) for k in problem.sizes]
    if sum(rooms) > q:
        return _any_parts(problem, points, rng)
    turned = points @ np.linalg.qr(rng.standard_normal((q, q)))[0]
    parts = [turned[:, lo:hi] for lo, hi in pairwise(np.cumsum([0, *rooms]))]
    return np.stack([problem.cluster(part, k, rng) for part, k in zip(parts, problem.sizes)])


def _any_parts(
    problem: Problem, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int32]:
    """k-means in subspaces that have nothing to do with each other, of any size."""
    labels = []
    for k in problem.sizes:
        n_dims = int(rng.integers(1, max(1, min(k - 1, points.shape[1])) + 1))
        axes = np.linalg.qr(rng.standard_normal((points.shape[1], n_dims)))[0]
        labels.append(problem.cluster(points @ axes, k, rng))
    return np.stack(labels)


def _thin_parts(
    problem: Problem, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int32]:
    """k-means along few directions of much spread, each view orthogonal to those before.

    Where a few dimensions have nearly all of the scatter, the best views share them.
    """
    labels = np.zeros((len(problem.sizes), len(points)), dtype=np.int32)
    rest = points.copy()
    for s in rng.permutation(len(problem.sizes)):
        k = problem.sizes[s]
        n_dims = int(rng.integers(1, max(1, min(k - 1, 2)) + 1))
        # Random mixtures of rows point where the rows are spread.
        mixed = rng.standard_normal((n_dims, len(rest))) @ (problem.weights[:, None] * rest)
        axes = np.linalg.qr(mixed.T)[0]
        inside = rest @ axes
        labels[s] = problem.cluster(inside, k, rng)
        rest -= inside @ axes.T
    return labels


def _one_after_another(
    problem: Problem, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int32]:
    """k-means, then again in what is orthogonal to its means, and so on."""
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


#: In turn, for whitened and for plain components: each kind has its data.
_RANDOM_STARTS = (
    lambda problem, rng: orthogonal_parts(problem, problem.white(problem.n_wanted), rng),
    lambda problem, rng: _thin_parts(problem, problem.plain(problem.n_wanted), rng),
    lambda problem, rng: _any_parts(problem, problem.white(problem.n_wanted), rng),
    lambda problem, rng: orthogonal_parts(problem, problem.plain(problem.n_wanted), rng),
    lambda problem, rng: _one_after_another(problem, problem.white(problem.n_wanted), rng),
    lambda problem, rng: _thin_parts(problem, problem.plain(problem.n_wanted), rng),
    lambda problem, rng: _any_parts(problem, problem.plain(problem.n_wanted), rng),
    lambda problem, rng: _one_after_another(problem, problem.plain(problem.n_wanted), rng),
)
