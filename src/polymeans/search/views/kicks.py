"""How to leave a poor optimum: disturb some of the views and descend again."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.orthogonal import basis_of
from polymeans.search.views.problem import Candidate, Problem

#: Iterations after a kick at most.
_LONG = 300


def kick(problem: Problem, state: Candidate, rng: np.random.Generator) -> Candidate:
    """Disturb a state at random and descend again."""
    labels = state.labels.copy()
    kinds, chances = _CROWDED_KICKS if problem.is_crowded else _KICKS
    which = rng.choice(len(kinds), p=chances)
    kinds[0 if len(problem.sizes) == 1 else which](problem, state, labels, rng)
    return _descend_from(problem, state, labels)


def exchange(
    problem: Problem, state: Candidate, s: int, t: int, rng: np.random.Generator
) -> Candidate:
    """Two views take each other's subspace, start anew there, and descend again.

    Which number of clusters belongs to which subspace is not settled by small steps.
    """
    labels = state.labels.copy()
    for view, other in ((s, t), (t, s)):
        inside = problem.points @ basis_of(state.views, other).T
        labels[view] = problem.cluster(inside, problem.sizes[view], rng, n_starts=3)
    return _descend_from(problem, state, labels)


def _descend_from(problem: Problem, state: Candidate, labels: NDArray[np.int32]) -> Candidate:
    views = state.views._replace(dims=state.views.dims.copy(), basis=state.views.basis.copy())
    return problem.descend(labels, _LONG, views, state.cost)


def _move_center(
    problem: Problem, state: Candidate, labels: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """A center of some view goes to where it is needed more."""
    from polymeans.kernels.small_kmeans import settle_centers, side_by_side, swap_center

    s = problem.draw_view(rng)
    inside = basis_of(state.views, s) @ problem.points.T
    if len(inside) == 0:
        return _relabel_view(problem, state, labels, rng)
    centers = problem.centers(inside, labels[s], problem.sizes[s])
    lines = side_by_side(inside, problem.weights)
    swap_center(lines, centers, 1 + int(rng.integers(4)), rng.integers(2**31))
    settle_centers(lines, centers, 3, labels[s])
    return None


def _restart_view(
    problem: Problem, state: Candidate, labels: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """A view starts anew in all that the others leave."""
    s = int(rng.integers(len(problem.sizes)))
    rest = problem.points
    for t in range(len(problem.sizes)):
        if t != s:
            others = basis_of(state.views, t)
            rest = rest - rest @ others.T @ others
    labels[s] = problem.cluster(rest, problem.sizes[s], rng)


def _relabel_view(
    problem: Problem, state: Candidate, labels: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """A view starts anew in a random subspace apart from the others."""
    s = int(rng.integers(len(problem.sizes)))
    k, q = problem.sizes[s], problem.n_wanted
    n_dims = int(rng.integers(1, max(1, min(k - 1, q)) + 1))
    directions = np.zeros((n_dims, problem.points.shape[1]))
    # Components count alike, by their spread, or all the more by it.
    power = int(rng.integers(-1, 2))
    directions[:, :q] = rng.standard_normal((n_dims, q)) * problem.spread[:q] ** power
    for t in range(len(problem.sizes)):
        if t != s:
            others = basis_of(state.views, t)
            directions -= directions @ others.T @ others
    labels[s] = problem.cluster(problem.points @ directions.T, k, rng)


def _turn_pair(
    problem: Problem, state: Candidate, labels: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """Two views mix their subspaces, part them at random, and start anew there."""
    s, t = rng.choice(len(problem.sizes), 2, replace=False)
    both = np.concatenate([basis_of(state.views, s), basis_of(state.views, t)])
    if len(both) < 2:
        return _relabel_view(problem, state, labels, rng)
    turned = np.linalg.qr(rng.standard_normal((len(both), len(both))))[0] @ both
    n_first = min(max(1, int(state.views.dims[s])), len(both) - 1)
    labels[s] = problem.cluster(problem.points @ turned[:n_first].T, problem.sizes[s], rng)
    labels[t] = problem.cluster(problem.points @ turned[n_first:].T, problem.sizes[t], rng)
    return None


def _steal_directions(
    problem: Problem, state: Candidate, labels: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """A view starts anew in directions of another one, which keeps its labels.

    A view of many clusters easily holds what a smaller one would use better, and a smaller one that
    looks only at what others leave never finds out.
    """
    s, t = rng.choice(len(problem.sizes), 2, replace=False)
    if problem.sizes[s] > problem.sizes[t]:
        s, t = t, s
    theirs = basis_of(state.views, t)
    if len(theirs) == 0:
        return _relabel_view(problem, state, labels, rng)
    k = problem.sizes[s]
    n_dims = int(rng.integers(1, max(1, min(k - 1, len(theirs))) + 1))
    inside = theirs @ problem.points.T
    # Directions by the spread they have, or all alike.
    spread = np.sqrt(problem.weights @ (inside * inside).T / problem.weights.sum())
    mixture = rng.standard_normal((n_dims, len(theirs))) * spread ** int(rng.integers(0, 2))
    if rng.random() < 0.5:  # some of it may have been its own
        own = basis_of(state.views, s) @ problem.points.T
        inside = np.concatenate([inside, own])
        mixture = np.concatenate([mixture, rng.standard_normal((n_dims, len(own)))], axis=1)
    labels[s] = problem.cluster((mixture @ inside).T, k, rng)
    return None


#: Kinds of kicks, and how often each.
_KICKS = (
    (_move_center, _restart_view, _relabel_view, _turn_pair),
    (0.4, 0.25, 0.2, 0.15),
)
_CROWDED_KICKS = ((*_KICKS[0], _steal_directions), (0.35, 0.15, 0.15, 0.15, 0.2))
