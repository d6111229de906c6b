"""Nearest neighbors, searched for in few clusters."""

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import (
    check_choice,
    check_integer,
    check_n_threads,
    check_rows,
    check_seed,
    is_name,
)
from polymeans.landmarks.inverted_file import InvertedFile
from polymeans.landmarks.landmarks import fitted_clusterer


class ClusterNeighbors(BaseEstimator):
    """Nearest neighbors by an inverted file: search only the nearest clusters.

    **Idea.** Rows are grouped by cluster. A query is compared with the centroids, then with the
    rows of its ``n_probe`` nearest clusters only. :class:`polymeans.QuickKMeans` makes the
    comparison with the centroids cheap, which every query needs. With ``n_probe="exact"`` a
    cluster is left out only if, by the triangle inequality, none of its rows can be among the
    nearest: the neighbors are then those of a comparison with all rows.

    **Use when** there are many rows, many queries, and a neighbor that is nearly the nearest
    is enough; or for an exact search where clusters are compact.

    **Do not use when** there are few rows: compare with all of them. In few dimensions a tree is
    faster (:class:`sklearn.neighbors.KDTree`). Exact search in hundreds of dimensions searches most
    clusters, because distances differ little there.

    **Cost.** Fitting: one clustering with about ``sqrt(n)`` centroids, and a copy of the rows. A
    query: the centroids, and ``n_probe / n_clusters`` of the rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbors of a query.
    n_probe : int or "exact", default=1
        Clusters to search. If they have fewer rows than neighbors are requested, further clusters
        are searched, nearest first, until there are enough. "exact": all clusters that may hold one
        of the nearest rows. May be changed after ``fit``.
    clusterer : estimator or None, default=None
        With ``predict`` and ``cluster_centers_``. One that is fitted is used as it is, one that is
        not is cloned and fitted. None: a :class:`polymeans.QuickKMeans` with ``sqrt(n_samples)``
        clusters.
    random_state : int, RandomState instance or None, default=None
        Determines all random draws. An integer makes results repeatable.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. Resolved anew in each call. None: all
        cores, or one inside a joblib worker. -1: all cores.

    Attributes
    ----------
    clusterer_ : estimator
        The fitted clusterer.
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row.
    n_samples_fit_ : int
        Number of rows.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where X has string names.

    See Also
    --------
    ClusterKNeighborsClassifier : Classification by these neighbors.
    sklearn.neighbors.NearestNeighbors : Exact search by trees or brute force, many metrics.

    Notes
    -----
    Inner products, which BLAS computes fast, select the rows that may be near. Distances of these
    are computed again from differences, in float64: equal rows are at distance 0, ties go to the
    lowest row number, and results are the same bits for any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.neighbors import ClusterNeighbors
    >>> X = np.array([[0.0], [1.0], [2.5], [10.0], [11.0]])
    >>> index = ClusterNeighbors(n_neighbors=2, clusterer=KMeans(2, random_state=0)).fit(X)
    >>> distances, indices = index.kneighbors([[10.4]])
    >>> indices
    array([[3, 4]])
    >>> index.kneighbors([[7.0]], 4)[1]  # more than the nearest cluster has
    array([[3, 4, 2, 1]])
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        n_probe: Any = 1,
        clusterer: Any = None,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_probe = n_probe
        self.clusterer = clusterer
        self.random_state = random_state
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows and keep them by cluster.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows. float32 stays float32; anything else becomes float64.
        y : Ignored
            Present by convention.

        Returns
        -------
        self : estimator
            Fitted estimator.
        """
        self._check_parameters()
        X = check_rows(self, X, reset=True)
        self._build(X)
        return self

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Nearest rows of each query.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_queries, n_features), default=None
            Rows. None: those of the fit, none of which counts as its own neighbor.
        n_neighbors : int, default=None
            Number of neighbors of a query. None: the parameter of the estimator.
        return_distance : bool, default=True
            Return distances, too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float64
            Euclidean distances, ascending. Only if ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors), int64
            Row numbers; the lowest first among equal distances.
        """
        check_is_fitted(self)
        self._check_parameters()
        n_neighbors = self.n_neighbors if n_neighbors is None else n_neighbors
        check_integer("n_neighbors", n_neighbors, 1)
        n_others = self.n_samples_fit_ - (X is None)
        if n_neighbors > n_others:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {n_neighbors}, "
                f"n_samples_fit = {self.n_samples_fit_}"
                f"{' (a row is not its own neighbor)' if X is None else ''}. Ask for fewer."
            )
        index: InvertedFile = self._index
        if X is None:
            found = index.search(
                index.rows, index.numbers, index.labels, n_neighbors, self.n_probe, self.n_threads
            )
            distances, indices = (np.empty_like(part) for part in found)
            distances[index.numbers], indices[index.numbers] = found
        else:
            X = check_rows(self, X, reset=False)
            own = np.full(X.shape[0], -1, dtype=np.int64)
            labels = None if self.n_probe != 1 else self.clusterer_.predict(X)
            distances, indices = index.search(
                X, own, labels, n_neighbors, self.n_probe, self.n_threads
            )
        return (np.sqrt(distances), indices) if return_distance else indices

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sp.csr_array:
        """Queries and their neighbors as a sparse matrix.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_queries, n_features), default=None
            Rows. None: those of the fit, none of which counts as its own neighbor.
        n_neighbors : int, default=None
            Number of neighbors of a query. None: the parameter of the estimator.
        mode : {"connectivity", "distance"}, default="connectivity"
            Entries: ones, or distances.

        Returns
        -------
        graph : scipy.sparse.csr_array of shape (n_queries, n_samples_fit)
            Entry (i, j) is there if row j is a neighbor of query i.
        """
        check_choice("mode", mode, ("connectivity", "distance"))
        distances, indices = self.kneighbors(X, n_neighbors)
        values = np.ones_like(distances) if mode == "connectivity" else distances
        starts = np.arange(0, indices.size + 1, indices.shape[1])
        shape = (len(indices), self.n_samples_fit_)
        return sp.csr_array((values.ravel(), indices.ravel(), starts), shape=shape)

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        index = state.pop("_index", None)
        # The index sorts rows; in their own order they are what it was made of.
        return state if index is None else {**state, "_rows": index.rows[np.argsort(index.numbers)]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = state.get("_rows")
        super().__setstate__({name: part for name, part in state.items() if name != "_rows"})
        if rows is not None:
            self._index = InvertedFile(rows, self.labels_, self.clusterer_)

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, 1)
        if not is_name(self.n_probe, "exact"):
            check_integer("n_probe", self.n_probe, 1, 'Use "exact" for the true neighbors.')
        check_seed(self.random_state)
        check_n_threads(self.n_threads)

    def _build(self, X: Any) -> None:
        with warnings.catch_warnings():
            # Fewer distinct rows than clusters is no problem here: equal rows share a cluster.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.clusterer_ = fitted_clusterer(self.clusterer, lambda: self._default(X), X)
        self.labels_ = np.asarray(self.clusterer_.predict(X), dtype=np.int32)
        self.n_samples_fit_ = X.shape[0]
        self._index = InvertedFile(X, self.labels_, self.clusterer_)

    def _default(self, X: Any) -> Any:
        from polymeans.quick import QuickKMeans

        n_clusters = max(1, int(np.sqrt(X.shape[0])))
        return QuickKMeans(n_clusters, random_state=self.random_state, n_threads=self.n_threads)
