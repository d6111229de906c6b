"""Perturbations of a state: change the labels of one or two views and descend again."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.orthogonal import basis_of
from polymeans.search.views.problem import MAX_ITERATIONS, Candidate, Problem

#: Iterations of k-means in the subspace of one view after one of its centers moved: enough for the
#: rows around both of its places.
_VIEW_ITERATIONS = 3

#: Rows drawn as new places of a center, of which the best is taken: between 1 and this many, at
#: random. A round number; one draw explores, several are greedy, as in greedy k-means++.
_MAX_PLACES = 4


def perturb(problem: Problem, state: Candidate, rng: np.random.Generator) -> Candidate:
    """Perturb a state at random and descend again."""
    labels = state.labels.copy()
    kinds, chances = _KINDS_FOR_MANY_CLUSTERS if problem.has_many_clusters else _KINDS
    which = rng.choice(len(kinds), p=chances)
    kinds[0 if len(problem.sizes) == 1 else which](problem, state, labels, rng)
    return _descend_from(problem, state, labels)


def exchange_subspaces(
    problem: Problem, state: Candidate, s: int, t: int, rng: np.random.Generator
) -> Candidate:
    """Exchange the subspaces of two views, cluster both anew there, and descend again.

    No sequence of small steps changes which number of clusters belongs to which subspace.
    """
    labels = state.labels.copy()
    for view, other in ((s, t), (t, s)):
        inside = problem.points @ basis_of(state.views, other).T
        labels[view] = problem.cluster(inside, problem.sizes[view], rng, n_starts=3)
    return _descend_from(problem, state, labels)


def _descend_from(problem: Problem, state: Candidate, labels: NDArray[np.int32]) -> Candidate:
    views = state.views._replace(dims=state.views.dims.copy(), basis=state.views.basis.copy())
    return problem.descend(labels, MAX_ITERATIONS, views, state.cost)


def _relocate_center(
    problem: Problem, state: Candidate, labels: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """Move a center that explains little to a row that is far from all centers of its view."""
    from polymeans.kernels.small_kmeans import refine_centers, side_by_side, swap_center

    s = problem.draw_view(rng)
    inside = basis_of(state.views, s) @ problem.points.T
    if len(inside) == 0:
        return _restart_in_random_subspace(problem, state, labels, rng)
    centers = problem.centers(inside, labels[s], problem.sizes[s])
    lines = side_by_side(inside, problem.weights)
    swap_center(lines, centers, 1 + int(rng.integers(_MAX_PLACES)), rng.integers(2**31))
    refine_centers(lines, centers, _VIEW_ITERATIONS, labels[s])
    return None


def _restart_in_complement(
    problem: Problem, state: Candidate, labels: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """Cluster a view anew in the complement of all other views."""
    s = int(rng.integers(len(problem.sizes)))
    rest = problem.points
    for t in range(len(problem.sizes)):
        if t != s:
            others = basis_of(state.views, t)
            rest = rest - rest @ others.T @ others
    labels[s] = problem.cluster(rest, problem.sizes[s], rng)


def _restart_in_random_subspace(
    problem: Problem, state: Candidate, labels: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """Cluster a view anew in a random subspace that is orthogonal to all other views."""
    s = int(rng.integers(len(problem.sizes)))
    k, q = problem.sizes[s], problem.n_start_components
    n_dims = int(rng.integers(1, max(1, min(k - 1, q)) + 1))
    directions = np.zeros((n_dims, problem.points.shape[1]))
    # Directions are drawn among whitened components, components as they are, or their squares.
    power = int(rng.integers(-1, 2))
    directions[:, :q] = rng.standard_normal((n_dims, q)) * problem.spread[:q] ** power
    for t in range(len(problem.sizes)):
        if t != s:
            others = basis_of(state.views, t)
            directions -= directions @ others.T @ others
    labels[s] = problem.cluster(problem.points @ directions.T, k, rng)


def _split_pair_anew(
    problem: Problem, state: Candidate, labels: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """Join the subspaces of two views, split them at random, and cluster both views anew."""
    s, t = rng.choice(len(problem.sizes), 2, replace=False)
    both = np.concatenate([basis_of(state.views, s), basis_of(state.views, t)])
    if len(both) < 2:
        return _restart_in_random_subspace(problem, state, labels, rng)
    turned = np.linalg.qr(rng.standard_normal((len(both), len(both))))[0] @ both
    n_first = min(max(1, int(state.views.dims[s])), len(both) - 1)
    labels[s] = problem.cluster(problem.points @ turned[:n_first].T, problem.sizes[s], rng)
    labels[t] = problem.cluster(problem.points @ turned[n_first:].T, problem.sizes[t], rng)
    return None


def _restart_in_larger_view(
    problem: Problem, state: Candidate, labels: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """Cluster a view anew in directions of a view with more clusters, which keeps its labels.

    A view of many clusters often occupies directions that a smaller view would explain better. All
    other perturbations restart a view outside of the others, so they never test that.
    """
    s, t = rng.choice(len(problem.sizes), 2, replace=False)
    if problem.sizes[s] > problem.sizes[t]:
        s, t = t, s
    larger = basis_of(state.views, t)
    if len(larger) == 0:
        return _restart_in_random_subspace(problem, state, labels, rng)
    k = problem.sizes[s]
    n_dims = int(rng.integers(1, max(1, min(k - 1, len(larger))) + 1))
    inside = larger @ problem.points.T
    # Directions are drawn in proportion to their spread, or uniformly.
    spread = np.sqrt(problem.weights @ (inside * inside).T / problem.weights.sum())
    mixture = rng.standard_normal((n_dims, len(larger))) * spread ** int(rng.integers(0, 2))
    if rng.random() < 0.5:  # also directions that the view has already
        own = basis_of(state.views, s) @ problem.points.T
        inside = np.concatenate([inside, own])
        mixture = np.concatenate([mixture, rng.standard_normal((n_dims, len(own)))], axis=1)
    labels[s] = problem.cluster((mixture @ inside).T, k, rng)
    return None


#: Kinds of perturbations, and the probability of each. In the experiments half of them moved a
#: center, 30 % restarted a view and 20 % split a pair; the order of these shares is kept. Results
#: depend on having all kinds, not on the exact shares; see docs/explanation/constants.rst.
_KINDS = (
    (_relocate_center, _restart_in_complement, _restart_in_random_subspace, _split_pair_anew),
    (0.4, 0.25, 0.2, 0.15),
)
_KINDS_FOR_MANY_CLUSTERS = ((*_KINDS[0], _restart_in_larger_view), (0.35, 0.15, 0.15, 0.15, 0.2))
