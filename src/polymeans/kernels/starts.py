"""Where a trial may begin: protocentroids far from each other."""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.draws import accumulate, draw, n_candidates
from polymeans.kernels.moves import place_vector
from polymeans.kernels.search import assign, distance, pack


@kernel
def spread_out(theta, problem, desk, seed):
    """Protocentroids one after another, each putting a centroid onto a row far from all so far.

    k-means++ for grids: rows are drawn in proportion to their squared distance from the grid of
    those already there. The newcomer takes the next free place, sets in turn, and makes the row a
    centroid together with some member of each other set; of several, the one that leaves least to
    the others is taken. Places not taken yet repeat the first of their set.
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
    for place in range(1, problem.sizes.max()):
        start = 0
        for q in range(n_sets):
            if place < problem.sizes[q]:
                pack(theta, problem, desk)
                assign(problem, desk)
                for i in range(n):
                    after[i] = distance(problem, desk.best[i], i)
                accumulate(problem.weights, after, cumulative)
                n_rows = n_candidates(theta.shape[0])
                place_vector(theta, problem, desk, q, start + place, after, cumulative, n_rows, 1)
            start += problem.sizes[q]
