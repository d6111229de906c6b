"""The number of clusters in given coordinates: many at first, merged while that gains."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeans.search.views.gain import WITHIN_FLOOR, gain, parameter_penalty, scatters
from polymeans.search.views.problem import cluster

#: Clusters before merging: several times the two to six that views of the experiments had, so that
#: their number is found by merging.
_MANY = 16

#: Numbers of clusters, 2 to this, that are also tried directly where merging leaves as many or
#: more: k-means with few clusters may end in another optimum than merged ones; see
#: docs/explanation/constants.rst.
_TRIED_DIRECTLY = 8

#: Rows for each cluster before merging, on average and at least: the gain needs two in each.
_ROWS_PER_CLUSTER = 4

#: Starts and iterations of each k-means, and iterations after merging.
_STARTS, _ITERATIONS = 2, 20


@dataclass
class View:
    """A clustering in some of the independent components."""

    gain: float
    k: int
    labels: NDArray[np.int32]


def best_clustering(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_searched: int,
    floor: NDArray[np.float64],
    rng: np.random.Generator,
) -> View:
    """The number of clusters with the largest gain, and those clusters."""
    n = len(points)
    k = min(_MANY, n // _ROWS_PER_CLUSTER)
    best = View(-np.inf, 1, np.zeros(n, dtype=np.int32))
    if k < 2:
        return best
    labels = cluster(points, weights, k, rng, n_starts=_STARTS, max_iter=_ITERATIONS)
    best = _merged(points, weights, labels, k, n_searched, floor)
    tried = range(2, _TRIED_DIRECTLY + 1) if best.k >= _TRIED_DIRECTLY else ()
    for k in tried:
        labels = cluster(points, weights, k, rng, n_starts=_STARTS, max_iter=_ITERATIONS)
        value = gain(points, weights, labels, k, n_searched, floor)
        if value > best.gain:
            best = View(value, k, labels)
    return best


def _merged(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    labels: NDArray[np.int32],
    k: int,
    n_searched: int,
    floor: NDArray[np.float64],
) -> View:
    """Merge clusters to the number of largest gain, then let k-means converge from there."""
    from polymeans.kernels.merging import merge_clusters
    from polymeans.kernels.small_kmeans import refine_centers, side_by_side

    total, within, shares = scatters(points, weights, labels, k)
    n, m = float(weights.sum()), points.shape[1]
    used = np.flatnonzero(shares > 0)
    labels = (np.cumsum(shares > 0) - 1)[labels].astype(np.int32)
    k = len(used)
    masses = shares[used] * n
    sums = np.stack([np.bincount(labels, weights * y, minlength=k) for y in points.T], axis=1)
    gains, joined = np.empty(k), np.zeros((k, 2), dtype=np.int64)
    inverse = np.linalg.pinv(within + WITHIN_FLOOR * total + floor)
    each = parameter_penalty(n, m, 2) - parameter_penalty(n, m, 1)
    merge_clusters(sums / masses[:, None], masses.copy(), inverse, each, gains, joined)
    # The gain of one cluster is zero by definition; of two and more, the largest counts.
    best_k = 2 + int(np.argmax(gains[1:])) if k > 1 else 1
    owner = np.arange(k)
    for left in range(k - 1, best_k - 1, -1):
        owner[owner == joined[left - 1, 1]] = joined[left - 1, 0]
    _, numbers = np.unique(owner[labels], return_inverse=True)
    labels = numbers.astype(np.int32)
    masses = np.asarray(np.bincount(labels, weights, minlength=best_k), dtype=np.float64)
    sums = np.stack([np.bincount(labels, weights * y, minlength=best_k) for y in points.T], axis=1)
    before = View(gain(points, weights, labels, best_k, n_searched, floor), best_k, labels)
    settled = labels.copy()
    refine_centers(side_by_side(points.T, weights), sums / masses[:, None], _ITERATIONS, settled)
    if len(np.unique(settled)) < best_k:
        return before
    value = gain(points, weights, settled, best_k, n_searched, floor)
    return View(value, best_k, settled) if value > before.gain else before
