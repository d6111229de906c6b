"""Crossover: a new state from two others, with views of both, or with centers of both in a view."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from polymeans.codebooks.orthogonal import basis_of
from polymeans.search.views.problem import MAX_ITERATIONS, Candidate, Problem

#: Iterations of k-means in the subspace of one view before all views descend together: enough to
#: give every center some rows.
_VIEW_ITERATIONS = 3


def cross(
    problem: Problem, first: Candidate, second: Candidate, rng: np.random.Generator
) -> Candidate:
    """Combine two states and descend."""
    labels = first.labels.copy()
    partners = _match_views(problem, first, second)
    mix = _mix_views if rng.random() < 0.5 else _mix_centers
    mix(problem, first, second, partners, labels, rng)
    views = first.views._replace(dims=first.views.dims.copy(), basis=first.views.basis.copy())
    return problem.descend(labels, MAX_ITERATIONS, views)


def _match_views(problem: Problem, first: Candidate, second: Candidate) -> NDArray[np.int64]:
    """For each view of the first state, the view of the second with the most similar subspace."""
    sizes = np.array(problem.sizes)
    partners = np.arange(len(sizes))
    for k in np.unique(sizes):
        alike = np.flatnonzero(sizes == k)
        overlaps = [[_overlap(first, int(s), second, int(t)) for t in alike] for s in alike]
        partners[alike] = alike[linear_sum_assignment(overlaps, maximize=True)[1]]
    return partners


def _overlap(first: Candidate, s: int, second: Candidate, t: int) -> float:
    """Dimensions that the subspaces of two views of different states have in common."""
    cosines = basis_of(first.views, s) @ basis_of(second.views, t).T
    return float(np.sum(cosines**2))


def _mix_views(
    problem: Problem,
    first: Candidate,
    second: Candidate,
    partners: NDArray[np.int64],
    labels: NDArray[np.int32],
    rng: np.random.Generator,
) -> None:
    """Some of the views, not all, get the labels of the second state."""
    n_views = len(problem.sizes)
    n_taken = int(rng.integers(1, n_views))
    for s in rng.permutation(n_views)[:n_taken]:
        labels[s] = second.labels[partners[s]]


def _mix_centers(
    problem: Problem,
    first: Candidate,
    second: Candidate,
    partners: NDArray[np.int64],
    labels: NDArray[np.int32],
    rng: np.random.Generator,
) -> None:
    """In one view, keep one of each two matched centers, at random."""
    from polymeans.kernels.small_kmeans import refine_centers, side_by_side

    s = problem.draw_view(rng)
    inside = basis_of(first.views, s) @ problem.points.T
    if len(inside) == 0:
        labels[s] = second.labels[partners[s]]
        return
    first_centers = problem.centers(inside, first.labels[s], problem.sizes[s])
    second_centers = problem.centers(inside, second.labels[partners[s]], problem.sizes[s])
    squares = np.sum((first_centers[:, None] - second_centers) ** 2, axis=2)
    second_centers = second_centers[linear_sum_assignment(squares)[1]]
    centers = np.where(rng.random(len(first_centers))[:, None] < 0.5, first_centers, second_centers)
    refine_centers(side_by_side(inside, problem.weights), centers, _VIEW_ITERATIONS, labels[s])
