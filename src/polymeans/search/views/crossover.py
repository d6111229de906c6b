"""A new set of clusterings from two others: some views of each, or one view out of both."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from polymeans.codebooks.orthogonal import basis_of
from polymeans.search.views.problem import Candidate, Problem

#: Iterations in the subspace of one view before all of them descend together, and then at most.
_SETTLE, _LONG = 3, 300


def cross(
    problem: Problem, first: Candidate, second: Candidate, rng: np.random.Generator
) -> Candidate:
    """Mix two states and descend."""
    labels = first.labels.copy()
    partners = _match_views(problem, first, second)
    mix = _mix_views if rng.random() < 0.5 else _mix_centers
    mix(problem, first, second, partners, labels, rng)
    views = first.views._replace(dims=first.views.dims.copy(), basis=first.views.basis.copy())
    return problem.descend(labels, _LONG, views)


def _match_views(problem: Problem, first: Candidate, second: Candidate) -> NDArray[np.int64]:
    """For each view of the first state, the one of the second in about the same subspace."""
    sizes = np.array(problem.sizes)
    partners = np.arange(len(sizes))
    for k in np.unique(sizes):
        alike = np.flatnonzero(sizes == k)
        overlaps = [[_overlap(first, int(s), second, int(t)) for t in alike] for s in alike]
        partners[alike] = alike[linear_sum_assignment(overlaps, maximize=True)[1]]
    return partners


def _overlap(first: Candidate, s: int, second: Candidate, t: int) -> float:
    """How much of a view's subspace is in that of a view of another state: dimensions."""
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
    """Some of the views, not all, are those of the second state."""
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
    """In one view, of each two centers that match, one at random."""
    from polymeans.kernels.small_kmeans import settle_centers, side_by_side

    s = problem.draw_view(rng)
    inside = basis_of(first.views, s) @ problem.points.T
    if len(inside) == 0:
        labels[s] = second.labels[partners[s]]
        return
    ours = problem.centers(inside, first.labels[s], problem.sizes[s])
    theirs = problem.centers(inside, second.labels[partners[s]], problem.sizes[s])
    squares = np.sum((ours[:, None] - theirs) ** 2, axis=2)
    theirs = theirs[linear_sum_assignment(squares)[1]]
    centers = np.where(rng.random(len(ours))[:, None] < 0.5, ours, theirs)
    settle_centers(side_by_side(inside, problem.weights), centers, _SETTLE, labels[s])
