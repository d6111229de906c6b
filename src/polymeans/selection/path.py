"""k-means for rising numbers of clusters, each from the one before."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from polymeans.selection.points import Clustering, Points, Split

#: Exchanges at most after each split: one cluster is divided, two others are merged. Paths of the
#: experiments needed three or fewer.
_EXCHANGES = 8

#: Share of the inertia by which an exchange has to lower it.
_LEAST_GAIN = 1e-6


def nested_path(points: Points, values: Sequence[int], seed: int) -> Iterator[Clustering]:
    """Clusterings of rows for rising numbers of clusters.

    **Idea.** Divide the cluster whose division lowers the inertia most, then run k-means. A start
    of this kind may have two centroids in one group of rows and one in two groups, so the two
    clusters that cost least to merge are exchanged for a division elsewhere as long as that lowers
    the inertia. Divisions are remembered: a cluster that did not change is not divided again.

    Parameters
    ----------
    points : Points
    values : sequence of int
        Numbers of clusters, rising.
    seed : int

    Yields
    ------
    Clustering
        One for each value, until rows cannot be divided further.
    """
    splits = _Splits(points, seed)
    current = points.start()
    for k in values:
        while len(current.centers) < k:
            grown = _grown(points, current, splits, k)
            if grown is None:
                return
            current = grown
        current = _exchanged(points, current, splits)
        yield current


def _grown(points: Points, current: Clustering, splits: "_Splits", k: int) -> Clustering | None:
    """More clusters, at most k: several are divided at the same time if there is far to go."""
    found = [(split.gain, c, split) for c, split in enumerate(splits.of(current)) if split]
    if not found:
        return None
    # Not more than half of the clusters at once: the gains of the others would be out of date.
    n_more = min(k - len(current.centers), max(1, len(found) // 2))
    chosen = sorted(found, key=lambda one: (-one[0], one[1]))[:n_more]
    kept = np.delete(current.centers, [c for _, c, _ in chosen], axis=0)
    grown = points.descend(np.vstack([kept, *(split.centers for _, _, split in chosen)]))
    return _without_empty(points, grown, len(current.centers))


def _without_empty(points: Points, found: Clustering, n_before: int) -> Clustering | None:
    """The same without clusters that have lost all of their rows; None if none were gained."""
    used = found.sizes > 0
    if used.all():
        return found
    return points.descend(found.centers[used]) if used.sum() > n_before else None


def _exchanged(points: Points, current: Clustering, splits: "_Splits") -> Clustering:
    """As many clusters with less inertia, by merging two and dividing another one."""
    for _ in range(_EXCHANGES):
        proposal = _proposal(current, splits.of(current), 0.5 if points.cosine else 1.0)
        if proposal is None:
            return current
        trial = points.descend(proposal)
        if trial.inertia >= (1.0 - _LEAST_GAIN) * current.inertia or np.any(trial.sizes == 0):
            return current
        current = trial
    return current


def _proposal(
    current: Clustering, found: list[Split | None], scale: float
) -> NDArray[np.float64] | None:
    """Centroids after the exchange that seems to lower the inertia most; None if none does.

    Between directions, cosine distances are half of squared ones: that is the scale.
    """
    k, centers, sizes = len(current.centers), current.centers, current.sizes.astype(float)
    if k < 3:
        return None
    squares = np.einsum("ij,ij->i", centers, centers)
    apart = np.maximum(squares[:, None] + squares - 2.0 * (centers @ centers.T), 0.0)
    cost = scale * apart * np.outer(sizes, sizes) / np.maximum(sizes[:, None] + sizes, 1.0)
    cost[np.diag_indices(k)] = np.inf
    i, j = divmod(int(np.argmin(cost)), k)
    gains = np.array([0.0 if split is None else split.gain for split in found])
    gains[[i, j]] = 0.0
    best = int(np.argmax(gains))
    split = found[best]
    if split is None or gains[best] <= cost[i, j]:
        return None
    merged = (sizes[i] * centers[i] + sizes[j] * centers[j]) / (sizes[i] + sizes[j])
    return np.vstack([np.delete(centers, [i, j, best], axis=0), merged[None], split.centers])


class _Splits:
    """Divisions of clusters, computed once for each set of rows."""

    def __init__(self, points: Points, seed: int) -> None:
        self.points, self.seed = points, seed
        self._known: dict[bytes, Split | None] = {}

    def of(self, clustering: Clustering) -> list[Split | None]:
        """The division of each cluster; None where there is none."""
        order = np.argsort(clustering.labels, kind="stable")
        parts = np.split(order, np.cumsum(clustering.sizes)[:-1])
        found = []
        known = {}
        for members in parts:
            key = members.tobytes()
            if key in self._known:
                known[key] = self._known[key]
            elif key not in known:
                known[key] = self.points.split(members, self.seed)
            found.append(known[key])
        self._known = known  # clusters that are gone do not return
        return found
