"""A start for descents of grids: protocentroids whose centroids are far from each other."""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.draws import accumulate, draw, n_candidates
from polymeans.kernels.grid_descent import assign_nearest, distance_of_score, pack_centroids
from polymeans.kernels.grid_moves import place_vector


@kernel(allocates=True)
def spread_out(theta, problem, workspace, seed):
    """Protocentroids one after another, each making a centroid of a row far from all so far.

    k-means++ for grids: rows are drawn in proportion to their squared distance from the grid of
    the protocentroids so far. A new one takes the next free place, sets in turn, and makes the row
    a centroid together with some member of each other set; of several candidates, the one with the
    smallest potential is taken. Places not taken yet repeat the first of their set.
    """
    np.random.seed(seed)
    n, n_sets = problem.points.shape[0], problem.sizes.shape[0]
    theta[:] = 1.0 if problem.multiply else 0.0
    after = np.zeros(n)
    cumulative = np.empty(n)
    accumulate(problem.weights, after, cumulative)
    first = draw(cumulative)
    for g in range(problem.sizes[0]):
        for t in range(theta.shape[1]):
            theta[g, t] = problem.points[first, t]
    largest = 0
    for q in range(n_sets):
        largest = max(largest, problem.sizes[q])
    for place in range(1, largest):
        start = 0
        for q in range(n_sets):
            if place < problem.sizes[q]:
                pack_centroids(theta, problem, workspace)
                assign_nearest(problem, workspace)
                for i in range(n):
                    after[i] = distance_of_score(problem, workspace.best[i], i)
                accumulate(problem.weights, after, cumulative)
                n_rows = n_candidates(theta.shape[0])
                place_vector(
                    theta, problem, workspace, q, start + place, after, cumulative, n_rows, 1
                )
            start += problem.sizes[q]
