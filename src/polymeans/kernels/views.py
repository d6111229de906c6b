"""Small problems of several clusterings, solved hundreds of times: the trials of a search.

The rows are few (a sample) and have few coordinates (principal components). A trial is one call:
means, subspaces, labels, until nothing changes. Near ties do not matter here, since whatever wins
is refined on the data by the exact engine.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.search import accumulate, draw
from polymeans.kernels.subspaces import dot, flatten_means, rotate
from polymeans.kernels.vacancies import count_members, fill_vacant

#: Rounds over the pairs of views in one iteration; the next one goes on where it stopped.
_SWEEPS = 1


class Sample(NamedTuple):
    """Weighted rows about their mean, in principal components."""

    points: np.ndarray  # (n, q) float64
    weights: np.ndarray  # (n,) float64


@kernel
def weighted_means(sample, labels, starts, means, masses):
    """Means of all clusters of all views times the roots of their masses."""
    points, weights = sample
    means[:] = 0.0
    masses[:] = 0.0
    for s in range(labels.shape[0]):
        first = starts[s]
        for i in range(points.shape[0]):
            c = first + labels[s, i]
            w = weights[i]
            masses[c] += w
            for t in range(points.shape[1]):
                means[c, t] += w * points[i, t]
    for c in range(means.shape[0]):
        if masses[c] > 0.0:
            means[c] /= np.sqrt(masses[c])


@kernel
def label(sample, centers, masses, starts, labels):
    """Nearest center of each row in each view; how many labels changed."""
    n = sample.points.shape[0]
    half = np.empty(centers.shape[0])
    for c in range(centers.shape[0]):
        # A cluster without rows has no place: nobody goes there until it is filled.
        half[c] = 0.5 * dot(centers[c], centers[c]) if masses[c] > 0.0 else np.inf
    scores = np.dot(sample.points, centers.T)
    n_moved = 0
    for s in range(labels.shape[0]):
        first, last = starts[s], starts[s + 1]
        for i in range(n):
            best, nearest = np.inf, 0
            for c in range(first, last):
                score = half[c] - scores[i, c]
                if score < best:
                    best, nearest = score, c - first
            if labels[s, i] != nearest:
                labels[s, i] = nearest
                n_moved += 1
    return n_moved


@kernel
def fill_empty(sample, centers, views, labels):
    """Empty clusters take the farthest row of their view that can be spared; how many did."""
    n = sample.points.shape[0]
    n_filled = 0
    for s in range(labels.shape[0]):
        counts = np.empty(views.starts[s + 1] - views.starts[s], dtype=np.int64)
        if count_members(labels[s], sample.weights, 1, counts) == 0:
            continue
        distances = np.zeros(n)
        for i in range(n):
            if sample.weights[i] > 0.0:
                own = centers[views.starts[s] + labels[s, i]]
                for b in range(views.places[s], views.places[s] + views.dims[s]):
                    step = dot(sample.points[i], views.basis[b]) - dot(own, views.basis[b])
                    distances[i] += step * step
        n_filled += fill_vacant(labels[s], 1, counts, distances)
    return n_filled


@kernel
def descend_views(sample, labels, views, max_iter, rival):
    """Alternate means, subspaces and labels, all in place; explained scatter and iterations.

    The value is that of the labels the subspaces were found for; it never falls on the way. Gives
    up early where it will hardly exceed ``rival``.
    """
    n_centers = views.starts[-1]
    means = np.empty((n_centers, sample.points.shape[1]))
    centers = np.empty_like(means)
    masses = np.empty(n_centers)
    value = 0.0
    iteration = 0
    while True:
        before = value
        weighted_means(sample, labels, views.starts, means, masses)
        value = rotate(means, views, _SWEEPS, 1e-9)
        iteration += 1
        # Most of what a descent gains, it gains at once.
        if iteration >= max_iter or value + (value - before) * 10 / iteration < rival:
            break
        flatten_means(means, masses, views, centers)
        n_moved = label(sample, centers, masses, views.starts, labels)
        n_moved += fill_empty(sample, centers, views, labels)
        if n_moved == 0:
            break
    return value, iteration


# --- plain k-means in few dimensions ------------------------------------------------------------
#
# Rows stand side by side here: a coordinate of all of them is one line of ``columns``, so that a
# loop over rows is what vectorises.

#: Rows dealt with at a time, few enough to stay in the first-level cache.
_BLOCK = 256


@kernel
def squares_to(columns, center, lo, hi, out):
    """Squared distances of rows lo:hi to a point."""
    size = hi - lo
    for i in range(size):
        out[i] = 0.0
    for t in range(columns.shape[0]):
        line, place = columns[t], center[t]
        for i in range(size):
            step = line[lo + i] - place
            out[i] += step * step


@kernel
def spread_centers(columns, weights, centers):
    """k-means++, greedy: of a few rows drawn by their distance, the one that helps most."""
    n, k = columns.shape[1], centers.shape[0]
    cumulative = np.empty(n)
    nearest = np.full(n, np.inf)
    trial = np.empty(n)
    kept = np.empty(n)
    accumulate(weights, np.ones(n), cumulative)
    n_trials = 2 + int(np.log(k))
    for g in range(k):
        lowest = np.inf
        for _ in range(n_trials if g > 0 else 1):
            row = columns[:, draw(cumulative)].copy()
            squares_to(columns, row, 0, n, trial)
            total = 0.0
            for j in range(n):
                trial[j] = min(nearest[j], trial[j])
                total += weights[j] * trial[j]
            if total < lowest:
                lowest = total
                centers[g] = row
                kept[:] = trial
        nearest[:] = kept
        if not accumulate(weights, nearest, cumulative) > 0.0:
            accumulate(weights, np.ones(n), cumulative)


@kernel
def nearest_centers(columns, centers, labels, first, second):
    """Nearest center of each row, and squared distances to it and to the next; how many moved."""
    n, k = columns.shape[1], centers.shape[0]
    squares = np.empty(_BLOCK)
    owner = np.empty(_BLOCK, dtype=np.int32)
    n_moved = 0
    for lo in range(0, n, _BLOCK):
        hi = min(lo + _BLOCK, n)
        for i in range(hi - lo):
            first[lo + i] = np.inf
            second[lo + i] = np.inf
            owner[i] = 0
        for c in range(k):
            squares_to(columns, centers[c], lo, hi, squares)
            for i in range(hi - lo):
                here, best = squares[i], first[lo + i]
                closer = here < best
                second[lo + i] = best if closer else min(here, second[lo + i])
                first[lo + i] = here if closer else best
                owner[i] = c if closer else owner[i]
        for i in range(hi - lo):
            n_moved += labels[lo + i] != owner[i]
            labels[lo + i] = owner[i]
    return n_moved


@kernel
def settle_centers(columns, weights, centers, max_iter, labels):
    """Lloyd's iterations from these centers, in place; the scatter within clusters."""
    m, n = columns.shape
    k = centers.shape[0]
    masses = np.empty(k)
    sums = np.empty((k, m))
    first, second = np.empty(n), np.empty(n)
    for iteration in range(max_iter + 1):
        n_moved = nearest_centers(columns, centers, labels, first, second)
        if iteration == max_iter or n_moved == 0:
            break
        sums[:] = 0.0
        masses[:] = 0.0
        for i in range(n):
            masses[labels[i]] += weights[i]
        for t in range(m):
            line = columns[t]
            for i in range(n):
                sums[labels[i], t] += weights[i] * line[i]
        for c in range(k):
            if masses[c] > 0.0:
                centers[c] = sums[c] / masses[c]
    return dot(weights, first)


@kernel
def swap_center(columns, weights, centers, n_draws, seed):
    """Move a center that is hardly missed to where one is missing most.

    Of several rows drawn by their distance, the one that helps most; of half of the centers, the
    one whose rows are served almost as well by others.
    """
    np.random.seed(seed)
    n, k = columns.shape[1], centers.shape[0]
    labels = np.zeros(n, dtype=np.int32)
    nearest, second = np.empty(n), np.empty(n)
    nearest_centers(columns, centers, labels, nearest, second)
    cumulative = np.empty(n)
    if not accumulate(weights, nearest, cumulative) > 0.0:
        return
    missed = np.zeros(k)
    for i in range(n):
        missed[labels[i]] += weights[i] * (second[i] - nearest[i])
    squares = np.empty(n)
    best, chosen = -1.0, columns[:, 0].copy()
    for _ in range(n_draws):
        row = columns[:, draw(cumulative)].copy()
        squares_to(columns, row, 0, n, squares)
        saved = 0.0
        for j in range(n):
            saved += weights[j] * max(0.0, nearest[j] - squares[j])
        if saved > best:
            best = saved
            chosen[:] = row
    lowest, leaving = np.inf, np.random.randint(k)
    for c in range(k):
        if missed[c] < lowest and np.random.random() < 0.5:
            lowest, leaving = missed[c], c
    centers[leaving] = chosen


@kernel
def small_kmeans(columns, weights, k, n_starts, max_iter, seed, labels):
    """The best of a few runs of k-means; its labels, and the scatter within clusters."""
    np.random.seed(seed)
    lowest = np.inf
    centers = np.empty((k, columns.shape[0]))
    trial = np.empty_like(labels)
    for _ in range(n_starts):
        spread_centers(columns, weights, centers)
        trial[:] = -1
        total = settle_centers(columns, weights, centers, max_iter, trial)
        if total < lowest:
            lowest = total
            labels[:] = trial
    return lowest
