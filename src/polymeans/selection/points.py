"""Rows in memory, as the search over numbers of clusters needs them: descend, and split."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.kmeans import KMeans

#: Dense rows with at most this many features are clustered by small kernels that have no overhead
#: for each call; above, the engine skips distances by bounds, which saves more.
_FEW_FEATURES = 64

#: Iterations of a descent, of splitting one cluster, and runs of the latter.
_DESCENT, _SPLIT, _SPLIT_RUNS = 60, 15, 6

#: Rows of a cluster that are enough to see how it splits.
_SPLIT_ROWS = 2000


@dataclass
class Clustering:
    """Free centroids, the label of each row, and the squared distances between them."""

    centers: NDArray[np.float64]
    labels: NDArray[np.int32]
    inertia: float

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each cluster."""
        return np.bincount(self.labels, minlength=len(self.centers))


@dataclass
class Split:
    """The two halves of a cluster, and by how much they lower the inertia."""

    gain: float
    centers: NDArray[np.float64]  #: (2, n_features)


class Points:
    """Rows that are clustered many times, with more and more clusters.

    Parameters
    ----------
    rows : ndarray or CSR matrix or array of shape (n_samples, n_features)
    cosine : bool
        Whether rows count by their direction only.
    n_threads : int or None
    """

    def __init__(self, rows: Any, cosine: bool, n_threads: int | None) -> None:
        self.rows, self.cosine, self.n_threads = rows, cosine, n_threads
        self.n_samples = rows.shape[0]
        self._small = not (cosine or sp.issparse(rows) or rows.shape[1] > _FEW_FEATURES)
        if self._small:
            # Far from zero, squares of differences that are summed up would lose digits.
            self.shift = rows.mean(axis=0, dtype=np.float64)
            self._columns = np.ascontiguousarray((rows - self.shift).T, dtype=np.float64)

    def start(self) -> Clustering:
        """One cluster of all rows."""
        return self.descend(np.zeros((1, self.rows.shape[1])))

    def descend(self, centers: NDArray[np.float64]) -> Clustering:
        """k-means from these centroids."""
        if self._small:
            return self._descend_small(centers)
        if len(centers) == 1:  # a mean of zero would have no direction
            centers = np.asarray(
                self.rows[:1].toarray() if sp.issparse(self.rows) else self.rows[:1]
            )
        model = KMeans(
            len(centers),
            metric="cosine" if self.cosine else "euclidean",
            init=centers,
            max_iter=_DESCENT,
            n_threads=self.n_threads,
        ).fit(self.rows)
        return Clustering(model.cluster_centers_, model.labels_, float(model.inertia_))

    def _descend_small(self, centers: NDArray[np.float64]) -> Clustering:
        from polymeans.kernels.small_kmeans import refine_centers, side_by_side

        lines = side_by_side(self._columns, np.ones(self.n_samples))
        labels = np.full(self.n_samples, -1, dtype=np.int32)
        moved = np.ascontiguousarray(centers - self.shift)
        inertia = refine_centers(lines, moved, _DESCENT, labels)
        return Clustering(moved + self.shift, labels, float(inertia))

    def split(self, members: NDArray[np.int64], seed: int) -> Split | None:
        """The cluster of these rows in two; None if all of them are equal, or there is one."""
        if len(members) < 2:
            return None
        share = 1.0
        if len(members) > _SPLIT_ROWS:
            drawn = np.random.default_rng(seed).choice(len(members), _SPLIT_ROWS, replace=False)
            share = len(members) / _SPLIT_ROWS
            members = members[np.sort(drawn)]
        before, after = self._halve(members, seed)
        gain = (before - after.inertia) * share
        if not gain > 1e-12 * before * share or np.any(after.sizes == 0):
            return None
        return Split(float(gain), after.centers)

    def _halve(self, members: NDArray[np.int64], seed: int) -> tuple[float, Clustering]:
        """Inertia of some rows as one cluster, and as the best two that a few runs find."""
        if not self._small:
            rows = self.rows[members]
            model = KMeans(
                2,
                metric="cosine" if self.cosine else "euclidean",
                n_init=_SPLIT_RUNS,
                max_iter=_SPLIT,
                random_state=seed,
                n_threads=self.n_threads,
            ).fit(rows)
            whole = Points(rows, self.cosine, self.n_threads).start().inertia
            return whole, Clustering(model.cluster_centers_, model.labels_, float(model.inertia_))
        from polymeans.kernels.small_kmeans import side_by_side, small_kmeans

        columns = np.ascontiguousarray(self._columns[:, members])
        labels = np.zeros(len(members), dtype=np.int32)
        centers = np.empty((2, len(columns)))
        inertia = small_kmeans(
            side_by_side(columns, np.ones(len(members))),
            _SPLIT_RUNS,
            _SPLIT,
            seed,
            centers,
            labels,
        )
        spread = columns - columns.mean(axis=1, keepdims=True)
        whole = float(np.einsum("ij,ij->", spread, spread))
        return whole, Clustering(centers + self.shift, labels, float(inertia))
