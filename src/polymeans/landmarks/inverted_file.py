"""An inverted file: rows sorted by cluster, and the search for neighbors in few clusters."""

import itertools
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core.norms import squared_norms
from polymeans.core.threads import Threads
from polymeans.landmarks.landmarks import Landmarks

#: Queries of one task, and rows compared with them at a time. Their products take 2 MiB in float32,
#: which stays in a second-level cache; smaller pieces would make the calls of BLAS less efficient.
_QUERIES, _ROWS = 512, 1024

#: Scores of queries and clusters held at a time: limits them to 32 MiB in float64.
_SCORES = 2**22


class InvertedFile:
    """Rows sorted by cluster, and the search among them.

    Parameters
    ----------
    X : ndarray or CSR matrix or array of shape (n, d)
    labels : ndarray of shape (n,)
    clusterer : estimator
        Fitted.

    Attributes
    ----------
    rows : ndarray or CSR matrix or array of shape (n, d)
        Copies of the rows, sorted by cluster.
    numbers, labels : ndarray of shape (n,)
        Number in X and cluster of each of them.
    starts, sizes : ndarray
        Where the rows of each cluster begin (and the last end), and how many they are.
    squares : ndarray of shape (n,)
        Squared norms.
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
    def bounds(self) -> "ClusterBounds":
        """Bounds for an exact search; computed when first needed."""
        return ClusterBounds(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the bounds, which can be computed again."""
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
            Number of the row that each query is a copy of, which is left out; -1: none.
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
        search = self._search_exactly if n_probe == "exact" else self._search_nearest_clusters
        n_wanted = n_neighbors + bool((own >= 0).any())
        search(compare, queries, labels, n_wanted, n_probe, n_threads)
        return compare.distances, compare.indices

    def _search_nearest_clusters(
        self,
        compare: "Comparison",
        queries: Any,
        labels: NDArray[np.int32] | None,
        n_wanted: int,
        n_probe: int,
        n_threads: int | None,
    ) -> None:
        """Compare queries with the rows of their nearest clusters."""
        who, clusters = self._probes(queries, labels, n_wanted, n_probe, n_threads)
        # Queries with the same nearest cluster have most other clusters in common, so they are put
        # into one task. Each query is in one task only: two threads must not write to its results.
        home = np.empty(queries.shape[0], dtype=np.int64)
        home[who[::-1]] = clusters[::-1]
        place = np.empty(len(home), dtype=np.int64)
        place[np.argsort(home, kind="stable")] = np.arange(len(home)) // _QUERIES
        order = np.lexsort((who, clusters, place[who]))
        who, clusters, task = who[order], clusters[order], place[who[order]]
        edges = np.flatnonzero(np.diff(clusters, prepend=-1) | np.diff(task, prepend=-1))
        ends = np.append(edges[1:], len(who))
        firsts = np.flatnonzero(np.diff(task[edges], prepend=-1, append=-1))

        def run_task(groups: tuple[int, int]) -> None:
            for g in range(*groups):
                compare(who[edges[g] : ends[g]], clusters[edges[g]])

        with Threads(n_threads, one_blas_thread=True) as threads:
            threads.map(run_task, itertools.pairwise(firsts.tolist()))

    def _search_exactly(
        self,
        compare: "Comparison",
        queries: Any,
        labels: NDArray[np.int32] | None,
        n_wanted: int,
        n_probe: str,
        n_threads: int | None,
    ) -> None:
        """Compare queries with the rows of all clusters that may hold one of the nearest rows."""
        own: NDArray[Any] = (
            self._probes(queries, None, 0, 1, n_threads)[1] if labels is None else labels
        )
        together = np.argsort(own, kind="stable")
        bounds = self.bounds

        def run_task(lo: int) -> None:
            chosen = together[lo : lo + _QUERIES]
            home = own[chosen]
            # The nearest cluster first: distances found there exclude most other clusters.
            for c in np.unique(home):
                compare(chosen[home == c], c)
            least = bounds.least(queries[chosen])
            for c in np.argsort(least.min(axis=0), kind="stable"):
                # At an equal distance a lower row number may still come first.
                possible = ~(least[:, c] > compare.distances[chosen, -1]) & (home != c)
                if self.sizes[c] and possible.any():
                    compare(chosen[possible], c)

        with Threads(n_threads, one_blas_thread=True) as threads:
            threads.map(run_task, range(0, len(together), _QUERIES))

    def _probes(
        self,
        queries: Any,
        labels: NDArray[np.int32] | None,
        n_wanted: int,
        n_probe: int,
        n_threads: int | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a query and a cluster to search: enough of them for n_wanted rows each.

        Queries are in ascending order, and the clusters of each one nearest first.
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


class ClusterBounds:
    """Lower bounds on the distance of a query to the rows of each cluster (triangle inequality).

    Everything is computed in float64, and bounds are lowered by the largest rounding error.
    """

    def __init__(self, index: InvertedFile) -> None:
        self.centers = index.landmarks.centers.astype(np.float64)
        self.squares = squared_norms(self.centers)
        # Relative to |x|² + |c|². The squared norms together, and twice the product, are each off
        # by at most d / 2 units of rounding (eps); 8 (d + 8) is a wide margin for what follows.
        self.error = 8 * (self.centers.shape[1] + 8) * np.finfo(np.float64).eps
        self.radii = np.zeros(len(self.centers))
        for c in np.flatnonzero(index.sizes):
            members = index.rows[index.starts[c] : index.starts[c + 1]]
            _, most = self._squared(members, slice(c, c + 1))
            self.radii[c] = np.sqrt(most.max())

    def _squared(self, X: Any, clusters: slice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper bounds on squared distances to the centers."""
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
        """Lower bound on the squared distance of each row of X to the rows of each cluster."""
        least, _ = self._squared(X, slice(None))
        # The small factors cover the rounding of roots, of the difference and of the square.
        gap = np.maximum(np.sqrt(least) * (1 - 1e-15) - self.radii * (1 + 1e-15), 0.0)
        return gap * gap * (1 - 1e-12)


class Comparison:
    """Comparison of queries with the rows of clusters, and the nearest rows found so far.

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
        # Error of |q|² + |x|² - 2 q·x: relative to the squared norms, and for products too small
        # for the type. Rows that are nearer than the present ones by less are measured exactly.
        terms = (rows.shape[1] + 8) * np.finfo(np.float64 if self.is_sparse else dtype).eps
        self.relative = 1.25 * terms
        self.absolute = 4 * (rows.shape[1] + 8) * float(np.finfo(dtype).tiny)
        self.distances = np.full((queries.shape[0], n_neighbors), np.inf)
        self.indices = np.full((queries.shape[0], n_neighbors), rows.shape[0], dtype=np.int64)

    def __call__(self, chosen: NDArray[np.int64], cluster: int) -> None:
        """Compare some queries with the rows of a cluster."""
        first, end = self.index.starts[cluster], self.index.starts[cluster + 1]
        (self._compare_sparse if self.is_sparse else self._compare_dense)(chosen, first, end)

    def _compare_dense(self, chosen: NDArray[np.int64], first: int, end: int) -> None:
        from polymeans.kernels import neighbors

        some = self.queries[chosen]
        for lo in range(first, end, _ROWS):
            hi = min(lo + _ROWS, end)
            with np.errstate(over="ignore", invalid="ignore"):
                products = some @ self.rows[lo:hi].T
            neighbors.compare_dense(
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

    def _compare_sparse(self, chosen: NDArray[np.int64], first: int, end: int) -> None:
        from polymeans.kernels import neighbors
        from polymeans.kernels.rows import SparseArrays

        queries, rows = self.queries, self.rows
        neighbors.compare_sparse(
            SparseArrays(queries.indptr, queries.indices, queries.data),
            self.squares,
            chosen,
            SparseArrays(rows.indptr, rows.indices, rows.data),
            self.index.squares,
            first,
            end,
            self.index.numbers,
            self.own,
            self.relative,
            self.absolute,
            self.distances,
            self.indices,
            np.zeros(rows.shape[1]),
        )


def _sorted_rows(X: Any) -> Any:
    """CSR rows with sorted indices and no duplicates; a copy unless X has that form."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
