"""Descents of several clusterings in subspaces of their own, run hundreds of times by a search.

The rows are few (a sample) and have few coordinates (principal components). A trial is one call:
means, subspaces, labels, until nothing changes. Near ties do not matter here, since the winner is
refined on the data by the exact engine.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.subspaces import dot, flatten_means, rotate
from polymeans.kernels.vacancies import count_members, fill_vacant

#: Rounds over the pairs of views in one iteration, and the gain at which they end: the next
#: iteration goes on where this one stopped, so one round is enough.
_SWEEPS, _SWEEP_TOL = 1, 1e-9

#: A descent is given up if this many times the last gain, divided by the iterations so far, would
#: not reach its rival. Most of what a descent gains it gains at once, so gains fall faster than
#: that.
_GAINS_AHEAD = 10


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
            root = np.sqrt(masses[c])
            for t in range(means.shape[1]):
                means[c, t] /= root


@kernel(allocates=True)
def label_views(sample, centers, masses, starts, labels):
    """Nearest center of each row in each view; how many labels changed."""
    n = sample.points.shape[0]
    half = np.empty(centers.shape[0])
    for c in range(centers.shape[0]):
        # A cluster without rows has no center and gets no rows until it is filled.
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


@kernel(allocates=True)
def fill_empty_clusters(sample, centers, views, labels):
    """Give empty clusters the farthest rows whose clusters have others; how many were filled."""
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


@kernel(allocates=True)
def descend_views(sample, labels, views, max_iter, rival):
    """Alternate means, subspaces and labels, all in place; explained scatter and iterations.

    The value is that of the labels the subspaces were found for; it never falls on the way. Ends
    early where it will hardly exceed ``rival``.
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
        value = rotate(means, views, np.int64(_SWEEPS), _SWEEP_TOL)
        iteration += 1
        if iteration >= max_iter or value + (value - before) * _GAINS_AHEAD / iteration < rival:
            break
        flatten_means(means, masses, views, centers)
        n_moved = label_views(sample, centers, masses, views.starts, labels)
        n_moved += fill_empty_clusters(sample, centers, views, labels)
        if n_moved == 0:
            break
    return value, iteration
