"""What is collected about clusters in one pass over the rows."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: Entries of dense rows that are converted to float64 at a time.
_ENTRIES = 2**21


class FeatureSums:
    """Sums of features over all rows, and over the rows of each cluster of several clusterings.

    Parameters
    ----------
    n_features : int
    sizes : list of int
        Clusters of each clustering.
    is_sparse : bool
        Whether rows are CSR; sums of clusters are CSR then, too.
    """

    def __init__(self, n_features: int, sizes: list[int], is_sparse: bool) -> None:
        self._is_sparse = is_sparse
        zeros = sp.csr_array if is_sparse else np.zeros
        self._sums: list[Any] = [zeros((k, n_features)) for k in sizes]
        self._masses = [np.zeros(k) for k in sizes]
        self._origin: NDArray[np.float64] | None = None
        self._unit = 1.0
        self._total, self._squares = np.zeros(n_features), np.zeros(n_features)

    def add(self, rows: Any, weights: NDArray[np.float64], labels: list[NDArray[np.int64]]) -> None:
        """Count rows in; ``labels`` has those of each clustering."""
        n, d = rows.shape
        step = n if self._is_sparse else max(1, _ENTRIES // d)
        for lo in range(0, n, step):
            here = slice(lo, lo + step)
            few = [part[here] for part in labels]
            self._add_few(self._shifted(rows[here]), weights[here], few)

    def _shifted(self, rows: Any) -> Any:
        """Rows in float64; dense ones less the mean of the first, so that squares keep digits."""
        if self._origin is None:
            values = rows.data if self._is_sparse else rows
            largest = float(np.abs(values).max(initial=0.0))
            if largest > 2.0**300 or 0 < largest < 2.0**-300:
                self._unit = float(2.0 ** np.floor(np.log2(largest)))
            self._origin = np.zeros(rows.shape[1])
            if not self._is_sparse:
                self._origin = np.mean(rows / self._unit, axis=0, dtype=np.float64)
        if self._is_sparse:
            return sp.csr_array(rows, dtype=np.float64) * (1.0 / self._unit)
        return np.asarray(rows, dtype=np.float64) / self._unit - self._origin

    def _add_few(
        self, rows: Any, weights: NDArray[np.float64], labels: list[NDArray[np.int64]]
    ) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            self._total += weights @ rows
            self._squares += weights @ (rows.power(2) if self._is_sparse else rows * rows)
            for number, own in enumerate(labels):
                k, n = len(self._masses[number]), len(own)
                members = sp.csr_array((weights, (own, np.arange(n))), shape=(k, n))
                self._sums[number] = self._sums[number] + members @ rows
                self._masses[number] += np.bincount(own, weights, minlength=k)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Of each feature, over all rows."""
        assert self._origin is not None
        with np.errstate(over="ignore"):
            return (self._total / self._masses[0].sum() + self._origin) * self._unit

    def cluster_means(
        self, number: int, merged: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Means of the rows of each cluster, or group of clusters; of all rows if it has none."""
        assert self._origin is not None
        sums, masses = self._joined(number, merged)
        dense = sums.toarray() if self._is_sparse else sums
        means = dense / np.where(masses > 0, masses, 1.0)[:, None] + self._origin
        with np.errstate(over="ignore"):
            return np.where((masses > 0)[:, None], means * self._unit, self.mean)

    def _deviation(self) -> NDArray[np.float64]:
        """Standard deviation of each feature in the unit; 0 where there is only rounding."""
        total = self._masses[0].sum()
        mean, square = self._total / total, self._squares / total
        variance = square - mean**2
        noise = 1e-13 * np.abs(square)
        return np.sqrt(np.where(variance > noise, variance, 0.0))

    def top(self, number: int, n: int, merged: NDArray[np.int64] | None = None) -> "TopFeatures":
        """The features that set each cluster of a clustering apart.

        Parameters
        ----------
        number : int
            Which clustering.
        n : int
            Features of a cluster.
        merged : ndarray of shape (n_clusters,), default=None
            Number of the group that each cluster belongs to; groups are described then.

        Returns
        -------
        TopFeatures
        """
        sums, masses = self._joined(number, merged)
        overall, deviation = self._total / self._masses[0].sum(), self._deviation()
        found = TopFeatures([], [], [], [])
        for c, mass in enumerate(masses):
            own = sums[c : c + 1].toarray()[0] if self._is_sparse else sums[c]
            self._append(found, own, mass, overall, deviation, n)
        return found

    def _joined(
        self, number: int, merged: NDArray[np.int64] | None
    ) -> tuple[Any, NDArray[np.float64]]:
        """Sums and masses of clusters, added up by group where there are groups."""
        sums, masses = self._sums[number], self._masses[number]
        if merged is None:
            return sums, masses
        k, groups = len(masses), int(merged.max()) + 1
        join = sp.csr_array((np.ones(k), (merged, np.arange(k))), shape=(groups, k))
        return join @ sums, join @ masses

    def _append(
        self,
        found: "TopFeatures",
        own: NDArray[np.float64],
        mass: float,
        overall: NDArray[np.float64],
        deviation: NDArray[np.float64],
        n: int,
    ) -> None:
        assert self._origin is not None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            away = np.nan_to_num(own / mass - overall) if mass else np.zeros(len(overall))
            scaled = np.where(deviation > 0, away / deviation, 0.0)
        # Of sparse rows, terms that are frequent here: a rare one differs by many deviations.
        rank = away if self._is_sparse else np.abs(scaled)
        best = np.argpartition(-rank, min(n, len(rank) - 1))[:n]
        best = best[np.lexsort((best, -rank[best]))]
        best = best[rank[best] > 0]
        found.index.append(best)
        found.difference.append(scaled[best])
        with np.errstate(over="ignore"):
            mean = overall[best] + self._origin[best]
            found.mean.append((mean + away[best]) * self._unit)
            found.overall.append(mean * self._unit)


class TopFeatures:
    """For each cluster, the features that set it apart, the most distinctive first.

    Parameters
    ----------
    index, difference, mean, overall : lists of ndarray
        One array for each cluster: numbers of features, mean of the cluster less that of all rows
        in standard deviations, mean of the cluster, and mean of all rows.
    """

    def __init__(
        self,
        index: list[NDArray[np.int64]],
        difference: list[NDArray[np.float64]],
        mean: list[NDArray[np.float64]],
        overall: list[NDArray[np.float64]],
    ) -> None:
        self.index, self.difference, self.mean, self.overall = index, difference, mean, overall


class Extremes:
    """The rows nearest to and farthest from their centroids, of each cluster.

    Parameters
    ----------
    n_clusters : int
    n_rows : int
        How many of each.
    """

    def __init__(self, n_clusters: int, n_rows: int) -> None:
        self._k, self._n = n_clusters, n_rows
        self.nearest = _Kept.none()
        self.farthest = _Kept.none()

    def add(self, first: int, labels: NDArray[np.int64], own: NDArray[np.float64]) -> None:
        """Count in rows ``first``, ``first + 1``, ..."""
        rows = np.arange(first, first + len(labels))
        self.nearest = self.nearest.joined(labels, rows, own, self._n)
        self.farthest = self.farthest.joined(labels, rows, -own, self._n)

    def rows_of(self, merged: NDArray[np.int64] | None = None) -> tuple["Chosen", "Chosen"]:
        """Nearest and farthest rows of each cluster, or of each group of clusters."""
        return self._list(self.nearest, merged, 1.0), self._list(self.farthest, merged, -1.0)

    def _list(self, kept: "_Kept", merged: NDArray[np.int64] | None, sign: float) -> "Chosen":
        labels, k = kept.labels, self._k
        if merged is not None:
            labels, k = merged[labels], int(merged.max()) + 1
        kept = _Kept.none().joined(labels, kept.rows, kept.keys, self._n)
        edges = np.searchsorted(kept.labels, np.arange(k + 1))
        return [(kept.rows[lo:hi], sign * kept.keys[lo:hi]) for lo, hi in pairwise(edges)]


#: For each cluster, numbers of rows and their distances.
Chosen = list[tuple[NDArray[np.int64], NDArray[np.float64]]]


class _Kept:
    """Rows with the smallest keys of each cluster, sorted by cluster and key."""

    def __init__(
        self, labels: NDArray[np.int64], rows: NDArray[np.int64], keys: NDArray[np.float64]
    ) -> None:
        self.labels, self.rows, self.keys = labels, rows, keys

    @classmethod
    def none(cls) -> "_Kept":
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

    def joined(
        self,
        labels: NDArray[np.int64],
        rows: NDArray[np.int64],
        keys: NDArray[np.float64],
        n: int,
    ) -> "_Kept":
        labels = np.concatenate([self.labels, labels])
        rows, keys = np.concatenate([self.rows, rows]), np.concatenate([self.keys, keys])
        order = np.lexsort((rows, keys, labels))
        labels = labels[order]
        starts = np.searchsorted(labels, labels, side="left")
        first = np.arange(len(labels)) - starts < n
        return _Kept(labels[first], rows[order][first], keys[order][first])


class Sample:
    """Some rows, drawn before the pass and kept with their places in every clustering.

    Parameters
    ----------
    n_samples : int
        Rows of all parts.
    n_rows : int
        How many to keep; all, if there are no more.
    seed : int
    """

    def __init__(self, n_samples: int, n_rows: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        drawn = rng.choice(n_samples, min(n_rows, n_samples), replace=False)
        self.numbers = np.sort(drawn)
        self._places: list[list[Any]] = []
        self._labels: list[list[NDArray[np.int64]]] = []
        self._own: list[list[NDArray[np.float64]]] = []

    def add(
        self,
        first: int,
        n: int,
        located: list[tuple[Any, NDArray[np.int64]]],
        own: list[NDArray[np.float64]],
    ) -> None:
        """Keep what is drawn of rows ``first`` to ``first + n``."""
        lo, hi = np.searchsorted(self.numbers, [first, first + n])
        here = self.numbers[lo:hi] - first
        if not self._places:
            self._places = [[] for _ in located]
            self._labels, self._own = [[] for _ in located], [[] for _ in located]
        for number, ((places, labels), distances) in enumerate(zip(located, own)):
            self._places[number].append(places[here])
            self._labels[number].append(labels[here])
            self._own[number].append(distances[here])

    def places(self, number: int) -> Any:
        """Coordinates in a clustering."""
        parts = self._places[number]
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)

    def labels(self, number: int) -> NDArray[np.int64]:
        """Labels in a clustering."""
        return np.concatenate(self._labels[number])

    def own(self, number: int) -> NDArray[np.float64]:
        """Distances to the own centroids."""
        return np.concatenate(self._own[number])
