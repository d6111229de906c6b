"""Rows kept by cluster, and the search for the nearest of them in few clusters."""

import itertools
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core.threads import Threads
from polymeans.landmarks.landmarks import Landmarks, squared_norms

#: Queries of one task, and rows compared with them at a time: their products stay in cache.
_QUERIES, _ROWS = 512, 1024

#: Scores of queries and clusters held at a time.
_SCORES = 2**22


class InvertedFile:
    """Rows by cluster, and the search among them.

    Parameters
    ----------
    X : ndarray or CSR matrix or array of shape (n, d)
    labels : ndarray of shape (n,)
    clusterer : estimator
        Fitted.
    """

    def __init__(self, X: Any, labels: NDArray[np.int32], clusterer: Any) -> None:
        self.landmarks = Landmarks(clusterer)
        n_clusters = len(self.landmarks.centers)
        self.numbers = np.argsort(labels, kind="stable").astype(np.int64)
        self.labels = labels[self.numbers]
        self.starts = np.searchsorted(self.labels, np.arange(n_clusters + 1))
        self.sizes = np.diff(self.starts)
        if sp.issparse(X):
            X = _sorted_rows(X)
        self.rows = X[self.numbers]
        self.squares = squared_norms(self.rows)

    @cached_property
    def bounds(self) -> "Bounds":
        """What an exact search knows about the clusters."""
        return Bounds(self)

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again."""
        return {name: value for name, value in self.__dict__.items() if name != "bounds"}

    def search(
        self,
        queries: Any,
        own: NDArray[np.int64],
        labels: NDArray[np.int32] | None,
        n_neighbors: int,
        n_probe: Any,
        n_threads: int | None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Squared distances and row numbers of the nearest rows.

        Parameters
        ----------
        queries : ndarray or CSR matrix or array of shape (m, d)
        own : ndarray of shape (m,)
            Row that each query is, and that does not count; -1: none.
        labels : ndarray of shape (m,) or None
            Nearest cluster of each query, if it is known.
        n_neighbors : int
        n_probe : int or "exact"
        n_threads : int or None

        Returns
        -------
        distances, indices : ndarray of shape (m, n_neighbors)
        """
        compare = Comparison(self, queries, own, n_neighbors)
        look = self._look_where_needed if n_probe == "exact" else self._look_near
        n_wanted = n_neighbors + bool((own >= 0).any())
        look(compare, queries, labels, n_wanted, n_probe, n_threads)
        return compare.distances, compare.indices

    def _look_near(
        self,
        compare: "Comparison",
        queries: Any,
        labels: NDArray[np.int32] | None,
        n_wanted: int,
        n_probe: int,
        n_threads: int | None,
    ) -> None:
        """Into the nearest clusters."""
        who, clusters = self._probes(queries, labels, n_wanted, n_probe, n_threads)
        # Queries of the same nearest cluster share most of the others: they are served together,
        # and by one thread, because two must not write to the same query.
        home = np.empty(queries.shape[0], dtype=np.int64)
        home[who[::-1]] = clusters[::-1]
        place = np.empty(len(home), dtype=np.int64)
        place[np.argsort(home, kind="stable")] = np.arange(len(home)) // _QUERIES
        order = np.lexsort((who, clusters, place[who]))
        who, clusters, task = who[order], clusters[order], place[who[order]]
        edges = np.flatnonzero(np.diff(clusters, prepend=-1) | np.diff(task, prepend=-1))
        ends = np.append(edges[1:], len(who))
        firsts = np.flatnonzero(np.diff(task[edges], prepend=-1, append=-1))

        def look(groups: tuple[int, int]) -> None:
            for g in range(*groups):
                compare(who[edges[g] : ends[g]], clusters[edges[g]])

        with Threads(n_threads, one_blas_thread=True) as threads:
            threads.map(look, itertools.pairwise(firsts))

    def _look_where_needed(
        self,
        compare: "Comparison",
        queries: Any,
        labels: NDArray[np.int32] | None,
        n_wanted: int,
        n_probe: str,
        n_threads: int | None,
    ) -> None:
        """Into all clusters that may have one of the nearest rows."""
        if labels is None:
            _, labels = self._probes(queries, None, 0, 1, n_threads)
        together = np.argsort(labels, kind="stable")
        bounds = self.bounds

        def look(lo: int) -> None:
            chosen = together[lo : lo + _QUERIES]
            home = labels[chosen]
            # The nearest cluster first: what is found there leaves little to look for elsewhere.
            for c in np.unique(home):
                compare(chosen[home == c], c)
            least = bounds.least(queries[chosen])
            for c in np.argsort(least.min(axis=0), kind="stable"):
                # At an equal distance a lower row number may still come first.
                possible = ~(least[:, c] > compare.distances[chosen, -1]) & (home != c)
                if self.sizes[c] and possible.any():
                    compare(chosen[possible], c)

        with Threads(n_threads, one_blas_thread=True) as threads:
            threads.map(look, range(0, len(together), _QUERIES))

    def _probes(
        self,
        queries: Any,
        labels: NDArray[np.int32] | None,
        n_wanted: int,
        n_probe: int,
        n_threads: int | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a query and a cluster to look into: enough of them to have n_wanted rows.

        Queries in ascending order, and the clusters of each one nearest first.
        """
        m, n_clusters = queries.shape[0], len(self.sizes)
        n_probe = min(n_probe, n_clusters)
        if n_probe == 1 and labels is not None:
            short = np.flatnonzero(self.sizes[labels] < n_wanted)
            enough = np.setdiff1d(np.arange(m), short, assume_unique=True)
            pairs = [(enough, labels[enough].astype(np.int64))]
        else:
            short, pairs = np.arange(m), []
        step = max(1, _SCORES // n_clusters)
        for lo in range(0, len(short), step):
            some = short[lo : lo + step]
            part = queries if len(some) == m else queries[some]
            with np.errstate(over="ignore", invalid="ignore"):
                scores = self.landmarks.squares - 2 * self.landmarks.products(part, n_threads)
            if n_probe == 1 and labels is not None:
                scores[np.arange(len(some)), labels[some]] = -np.inf  # the query's own comes first
            pairs += self._nearest(some, scores, n_wanted, n_probe)
        who, clusters = (np.concatenate(part) for part in zip(*pairs))
        order = np.argsort(who, kind="stable")
        return who[order], clusters[order]

    def _nearest(
        self, some: NDArray[np.int64], scores: NDArray[Any], n_wanted: int, n_probe: int
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Pairs of these queries: the nearest clusters, and more where they have too few rows."""
        nearest = np.argpartition(scores, n_probe - 1, axis=1)[:, :n_probe]
        by_score = np.argsort(np.take_along_axis(scores, nearest, axis=1), axis=1, kind="stable")
        nearest = np.take_along_axis(nearest, by_score, axis=1)
        enough = self.sizes[nearest].sum(axis=1) >= n_wanted
        pairs = [(np.repeat(some[enough], n_probe), nearest[enough].ravel())]
        if not enough.all():
            order = np.argsort(scores[~enough], axis=1, kind="stable")
            reached = np.cumsum(self.sizes[order], axis=1) >= n_wanted
            opened = np.arange(order.shape[1]) <= reached.argmax(axis=1)[:, None]
            pairs.append((np.repeat(some[~enough], opened.sum(axis=1)), order[opened]))
        return pairs


class Bounds:
    """Least distance of a query to the rows of each cluster, by the triangle inequality.

    Everything is in float64, and errors of rounding are taken off.
    """

    def __init__(self, index: InvertedFile) -> None:
        self.centers = index.landmarks.centers.astype(np.float64)
        self.squares = squared_norms(self.centers)
        self.error = 8 * (self.centers.shape[1] + 8) * np.finfo(np.float64).eps
        self.radii = np.zeros(len(self.centers))
        for c in np.flatnonzero(index.sizes):
            members = index.rows[index.starts[c] : index.starts[c + 1]]
            _, most = self._squared(members, slice(c, c + 1))
            self.radii[c] = np.sqrt(most.max())

    def _squared(self, X: Any, clusters: slice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Between which values squared distances to the centers are."""
        X = X.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = squared_norms(X)[:, None] + self.squares[clusters]
            distances = squares - 2 * np.asarray(X @ self.centers[clusters].T)
            error = self.error * squares
            least, most = np.maximum(distances - error, 0.0), np.maximum(distances + error, 0.0)
        # Where numbers have overflowed, nothing is known.
        known = np.isfinite(squares) & np.isfinite(distances)
        return np.where(known, least, 0.0), np.where(known, most, np.inf)

    def least(self, X: Any) -> NDArray[np.float64]:
        """Squared, of each row and cluster."""
        least, _ = self._squared(X, slice(None))
        gap = np.maximum(np.sqrt(least) * (1 - 1e-15) - self.radii * (1 + 1e-15), 0.0)
        return gap * gap * (1 - 1e-12)


class Comparison:
    """Queries against the rows of a cluster; the nearest so far.

    Parameters
    ----------
    index : InvertedFile
    queries : ndarray or CSR matrix or array of shape (m, d)
    own : ndarray of shape (m,)
    n_neighbors : int
    """

    def __init__(
        self, index: InvertedFile, queries: Any, own: NDArray[np.int64], n_neighbors: int
    ) -> None:
        rows = index.rows
        dtype = np.result_type(rows.dtype, queries.dtype)
        self.is_sparse = sp.issparse(rows)
        if self.is_sparse or sp.issparse(queries):
            queries = sp.csr_array(queries)
            queries = _sorted_rows(queries) if self.is_sparse else queries.toarray()
        self.index, self.own = index, own
        self.queries = queries.astype(dtype, copy=False)
        self.rows = rows.astype(dtype, copy=False)
        self.squares = squared_norms(self.queries)
        terms = (rows.shape[1] + 8) * np.finfo(np.float64 if self.is_sparse else dtype).eps
        self.relative = 1.25 * terms
        self.absolute = 4 * (rows.shape[1] + 8) * float(np.finfo(dtype).tiny)
        self.distances = np.full((queries.shape[0], n_neighbors), np.inf)
        self.indices = np.full((queries.shape[0], n_neighbors), rows.shape[0], dtype=np.int64)

    def __call__(self, chosen: NDArray[np.int64], cluster: int) -> None:
        """Offer the rows of a cluster to some queries."""
        first, end = self.index.starts[cluster], self.index.starts[cluster + 1]
        (self._offer_sparse if self.is_sparse else self._offer_dense)(chosen, first, end)

    def _offer_dense(self, chosen: NDArray[np.int64], first: int, end: int) -> None:
        from polymeans.kernels import neighbors

        some = self.queries[chosen]
        for lo in range(first, end, _ROWS):
            hi = min(lo + _ROWS, end)
            with np.errstate(over="ignore", invalid="ignore"):
                products = some @ self.rows[lo:hi].T
            neighbors.offer_dense(
                self.queries,
                self.squares,
                chosen,
                products,
                self.rows,
                self.index.squares,
                lo,
                self.index.numbers,
                self.own,
                self.relative,
                self.absolute,
                self.distances,
                self.indices,
            )

    def _offer_sparse(self, chosen: NDArray[np.int64], first: int, end: int) -> None:
        from polymeans.kernels import neighbors

        neighbors.offer_sparse(
            self.queries.indptr,
            self.queries.indices,
            self.queries.data,
            self.squares,
            chosen,
            self.rows.indptr,
            self.rows.indices,
            self.rows.data,
            self.index.squares,
            first,
            end,
            self.index.numbers,
            self.own,
            self.relative,
            self.absolute,
            self.distances,
            self.indices,
            np.zeros(self.rows.shape[1]),
        )


def _sorted_rows(X: Any) -> Any:
    """CSR rows with sorted indices and no duplicates; a copy if they have to be brought there."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
