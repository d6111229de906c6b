"""Where a trial may begin: sets one after another, or protocentroids far from each other."""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.moves import SAMPLED, potential, propose
from polymeans.kernels.search import accumulate, assign, decode, distance, draw, pack


@kernel
def join(problem, base, vector, i):
    """Squared distance of row i to what its members so far make together with ``vector``."""
    total = 0.0
    for t in range(vector.shape[0]):
        if problem.multiply:
            delta = problem.points[i, t] - base[i, t] * vector[t]
        else:
            delta = problem.points[i, t] - base[i, t] - vector[t]
        total += delta * delta
    return total


@kernel
def fitting_vector(problem, base, i, typical, out):
    """The vector that takes row i's members so far right onto the row, where there is one."""
    for t in range(out.shape[0]):
        if not problem.multiply:
            out[t] = problem.points[i, t] - base[i, t]
        elif abs(base[i, t]) > 0.05 * typical[t]:
            out[t] = problem.points[i, t] / base[i, t]
        else:
            out[t] = 1.0


@kernel
def add_set(problem, base, seed, n_iter, vectors):
    """One more set for rows whose members so far make up ``base``: k-means on what they leave.

    Greedy k-means++, then a few Lloyd iterations; ``base`` is brought up to date. On entry it is
    zero (or one, for products) if there are no members yet, which is plain k-means.
    """
    np.random.seed(seed)
    n, r = problem.points.shape
    h = vectors.shape[0]
    n_trials = 2 + int(np.log(h))
    typical = np.zeros(r)
    for i in range(n):
        for t in range(r):
            typical[t] += np.float64(base[i, t]) ** 2 / n
    typical[:] = np.sqrt(typical)
    ones = np.ones(n)
    cumulative = np.empty(n)
    accumulate(problem.weights, ones, cumulative)
    nearest = np.empty(n)
    nearest[:] = np.inf
    candidate = np.empty(r)
    distances = np.empty(n)
    kept = np.empty(n)
    for g in range(h):
        lowest = np.inf
        for _ in range(n_trials if g > 0 else 1):
            fitting_vector(problem, base, draw(cumulative), typical, candidate)
            value = 0.0
            for i in range(n):
                distances[i] = min(nearest[i], join(problem, base, candidate, i))
                value += problem.weights[i] * distances[i]
            if value < lowest:
                lowest = value
                vectors[g] = candidate
                kept[:] = distances
        nearest[:] = kept
        if not accumulate(problem.weights, nearest, cumulative) > 0.0:
            accumulate(problem.weights, ones, cumulative)
    labels = np.zeros(n, dtype=np.int64)
    numerators = np.empty((h, r))
    denominators = np.empty((h, r))
    for round_ in range(n_iter + 1):
        for i in range(n):
            lowest = np.inf
            for g in range(h):
                d = join(problem, base, vectors[g], i)
                if d < lowest:
                    lowest = d
                    labels[i] = g
        if round_ == n_iter:
            break
        numerators[:] = 0.0
        denominators[:] = 0.0
        for i in range(n):
            w = problem.weights[i]
            g = labels[i]
            for t in range(r):
                b = np.float64(base[i, t])
                if problem.multiply:
                    numerators[g, t] += w * b * problem.points[i, t]
                    denominators[g, t] += w * b * b
                else:
                    numerators[g, t] += w * (problem.points[i, t] - b)
                    denominators[g, t] += w
        for g in range(h):
            for t in range(r):
                if denominators[g, t] > 1e-200:
                    vectors[g, t] = numerators[g, t] / denominators[g, t]
    for i in range(n):
        for t in range(r):
            if problem.multiply:
                base[i, t] *= vectors[labels[i], t]
            else:
                base[i, t] += vectors[labels[i], t]


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
    k, r = desk.masses.shape[0], theta.shape[1]
    theta[:] = 1.0 if problem.multiply else 0.0
    after = np.ones(n)
    cumulative = np.empty(n)
    accumulate(problem.weights, after, cumulative)
    first = draw(cumulative)
    for g in range(problem.sizes[0]):
        for t in range(r):
            theta[g, t] = problem.points[first, t]
    sample = np.empty(min(n, SAMPLED), dtype=np.int64)
    for m in range(sample.shape[0]):
        sample[m] = m if n <= SAMPLED else np.random.randint(n)
    vector = np.empty(r)
    chosen = np.empty(r)
    digits = np.empty(n_sets, dtype=np.int64)
    largest = 0
    for q in range(n_sets):
        largest = max(largest, problem.sizes[q])
    for place in range(1, largest):
        start = 0
        for q in range(n_sets):
            if place < problem.sizes[q]:
                pack(theta, problem, desk)
                assign(problem, desk)
                for i in range(n):
                    after[i] = distance(problem, desk.best[i], i)
                total = accumulate(problem.weights, after, cumulative)
                lowest = np.inf
                for _ in range(2 + int(np.log(theta.shape[0]))):
                    i = draw(cumulative) if total > 0.0 else np.random.randint(n)
                    decode(np.random.randint(k), problem.sizes, digits)
                    vector[:] = theta[start]
                    propose(theta, problem, desk, q, i, digits, vector)
                    value = potential(theta, problem, desk, q, vector, after, sample)
                    if value < lowest:
                        lowest = value
                        chosen[:] = vector
                if lowest < np.inf:
                    theta[start + place] = chosen
            start += problem.sizes[q]
