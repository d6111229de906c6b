"""Mini-batch averaging with old counts, as NVFlare's k-means is described to work.

Sites label all their rows and send means with counts; the server moves each centroid to the average
of its old place, weighted by all rows it has ever been given, and the new means. Old counts are
never forgotten, so every round moves centroids less than the one before.
"""

from dataclasses import dataclass, field

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin


@dataclass
class Averaged:
    """Centroids after some rounds, and what they took."""

    centers: np.ndarray
    bytes_down: int = 0
    bytes_up: int = 0
    inertias: list[float] = field(default_factory=list)


def average(sites: list[np.ndarray], k: int, rounds: int, seed: int) -> Averaged:
    """Run the rule from the k-means of all sites' k-means++ seeds."""
    rng = np.random.RandomState(seed)
    seeds = [kmeans_plusplus(X, min(k, len(X)), random_state=rng)[0] for X in sites]
    start = KMeans(k, n_init=1, random_state=rng).fit(np.concatenate(seeds))
    run = Averaged(start.cluster_centers_.astype(np.float32))
    run.bytes_up += sum(part.nbytes for part in seeds)
    counts = np.zeros(k)
    for _ in range(rounds):
        new, sums = np.zeros(k), np.zeros(run.centers.shape)
        for X in sites:
            labels = pairwise_distances_argmin(X, run.centers)
            own = np.bincount(labels, minlength=k)
            new += own
            np.add.at(sums, labels, X)
            run.bytes_down += run.centers.nbytes
            run.bytes_up += run.centers.nbytes + own.nbytes
        total = counts + new
        # Where nothing was ever assigned, the rule as described divides by zero: it stays here.
        moved = (run.centers * counts[:, None] + sums) / np.maximum(total, 1)[:, None]
        run.centers = np.where(total[:, None] > 0, moved, run.centers).astype(np.float32)
        counts = total
    return run
