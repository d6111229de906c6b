"""Nearest neighbours, looked for in few clusters instead of everywhere."""

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from polymeans._base import is_name
from polymeans._validation import check_choice, check_integer, check_n_threads, check_rows
from polymeans.landmarks.inverted_file import InvertedFile
from polymeans.landmarks.landmarks import fitted_clusterer

WEIGHTS = ("uniform", "distance")


class ClusterNeighbors(BaseEstimator):
    """Nearest neighbours by an inverted file: look only into the nearest clusters.

    **Idea.** Rows are grouped by cluster. A query is compared with the centroids, then with the
    rows of its ``n_probe`` nearest clusters only. Comparing with the centroids is what remains for
    every query, and what :class:`polymeans.QuickKMeans` makes cheap. With ``n_probe="exact"`` a
    cluster is left out only if, by the triangle inequality, none of its rows can be among the
    nearest: the neighbours are then those of a comparison with all rows.

    **Use when** there are many rows, many queries, and a neighbour that is nearly the nearest
    will do; or when clusters are compact and an exact search should not look at everything.

    **Do not use when** there are few rows: compare with all of them. In few dimensions a tree is
    faster (:class:`sklearn.neighbors.KDTree`). Exact search in hundreds of dimensions looks at most
    clusters, because distances are all alike.

    **Cost.** Fitting: one clustering with about ``sqrt(n)`` centroids, and a copy of the rows. A
    query: the centroids, and ``n_probe / n_clusters`` of the rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours to look for, unless a call says otherwise.
    n_probe : int or "exact", default=1
        Clusters to look into. If they have fewer rows than neighbours are asked for, further ones
        are opened, nearest first, until there are enough. "exact": as many as it takes to be sure.
        May be changed after ``fit``.
    clusterer : estimator or None, default=None
        With ``predict`` and ``cluster_centers_``. One that is fitted is used as it is, one that is
        not is cloned and fitted. None: a :class:`polymeans.QuickKMeans` with ``sqrt(n_samples)``
        clusters.
    random_state : int, RandomState instance or None, default=None
        Of the default clusterer.
    n_threads : int or None, default=None
        Threads to use; resolved anew in each call. None: all cores, or one inside a joblib worker.
        -1: all cores.

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
    ClusterKNeighborsClassifier : Classification by these neighbours.
    sklearn.neighbors.NearestNeighbors : Exact search by trees or brute force, many metrics.

    Notes
    -----
    Inner products, which BLAS computes fast, only say which rows may be near. Distances of these
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
            Rows to find later. float32 stays float32; anything else becomes float64.
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
            Queries. None: the rows of the fit, none of which counts as its own neighbour.
        n_neighbors : int, default=None
            None: the parameter of the estimator.
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
                f"{' (a row is not its own neighbour)' if X is None else ''}. Ask for fewer."
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
        """Queries and their neighbours as a sparse matrix.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_queries, n_features), default=None
            Queries. None: the rows of the fit, none of which counts as its own neighbour.
        n_neighbors : int, default=None
            None: the parameter of the estimator.
        mode : {"connectivity", "distance"}, default="connectivity"
            Entries: ones, or distances.

        Returns
        -------
        graph : scipy.sparse.csr_array of shape (n_queries, n_samples_fit)
            Entry (i, j) is there if row j is a neighbour of query i.
        """
        check_choice("mode", mode, ("connectivity", "distance"))
        distances, indices = self.kneighbors(X, n_neighbors)
        values = np.ones_like(distances) if mode == "connectivity" else distances
        starts = np.arange(0, indices.size + 1, indices.shape[1])
        shape = (len(indices), self.n_samples_fit_)
        return sp.csr_array((values.ravel(), indices.ravel(), starts), shape=shape)

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, 1)
        if not is_name(self.n_probe, "exact"):
            check_integer("n_probe", self.n_probe, 1, 'Use "exact" for certainty.')
        check_n_threads(self.n_threads)

    def _build(self, X: Any) -> None:
        with warnings.catch_warnings():
            # Equal rows in one cluster are as they should be.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.clusterer_ = fitted_clusterer(self.clusterer, lambda: self._default(X), X)
        self.labels_ = np.asarray(self.clusterer_.predict(X), dtype=np.int32)
        self.n_samples_fit_ = X.shape[0]
        self._index = InvertedFile(X, self.labels_, self.clusterer_)

    def _default(self, X: Any) -> Any:
        from polymeans.quick import QuickKMeans

        n_clusters = max(1, int(np.sqrt(X.shape[0])))
        return QuickKMeans(n_clusters, random_state=self.random_state, n_threads=self.n_threads)


class _WeighedNeighbors(ClusterNeighbors):
    """Neighbours that count alike, or by their distance."""

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        n_probe: Any = 1,
        weights: str = "uniform",
        clusterer: Any = None,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_probe = n_probe
        self.weights = weights
        self.clusterer = clusterer
        self.random_state = random_state
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("weights", self.weights, WEIGHTS)


class ClusterKNeighborsClassifier(ClassifierMixin, _WeighedNeighbors):
    """Classes by a vote of the nearest neighbours, looked for in few clusters.

    **Idea.** :class:`ClusterNeighbors` finds neighbours, their classes are counted.

    **Use when** you would use :class:`sklearn.neighbors.KNeighborsClassifier`, but there are too
    many rows to compare with.

    **Do not use when** there are few rows, or few dimensions: see :class:`ClusterNeighbors`.

    **Cost.** That of :class:`ClusterNeighbors`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that vote.
    n_probe : int or "exact", default=1
        Clusters to look into, see :class:`ClusterNeighbors`.
    weights : {"uniform", "distance"}, default="uniform"
        Votes count alike, or by the inverse of the distance; neighbours at distance 0 outvote all
        others then.
    clusterer : estimator or None, default=None
        See :class:`ClusterNeighbors`.
    random_state : int, RandomState instance or None, default=None
        Of the default clusterer.
    n_threads : int or None, default=None
        Threads to use; resolved anew in each call.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    clusterer_ : estimator
        The fitted clusterer.
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row (not its class).
    n_samples_fit_ : int
        Number of rows.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where X has string names.

    Examples
    --------
    >>> from polymeans import KMeans
    >>> from polymeans.neighbors import ClusterKNeighborsClassifier
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ClusterKNeighborsClassifier(1, n_probe=2, clusterer=KMeans(40, random_state=0))
    >>> model = model.fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.9
    True
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Cluster the rows and remember their classes.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : estimator
            Fitted estimator.
        """
        self._check_parameters()
        X = check_rows(self, X, reset=True)
        y = column_or_1d(_required(self, y), warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_, self._codes = np.unique(y, return_inverse=True)
        self._build(X)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the most votes, the first among equals.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        classes : ndarray of shape (n_queries,)
            The class with the largest share of votes, the first among equals.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Share of the votes for each class.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        shares : ndarray of shape (n_queries, n_classes)
            In the order of ``classes_``; rows add up to one.
        """
        check_is_fitted(self)
        distances, indices = self.kneighbors(X)
        shares = _shares(distances, self.weights)
        votes = np.zeros((len(indices), len(self.classes_)))
        np.add.at(votes, (np.arange(len(indices))[:, None], self._codes[indices]), shares)
        return votes


class ClusterKNeighborsRegressor(RegressorMixin, _WeighedNeighbors):
    """Mean target of the nearest neighbours, looked for in few clusters.

    **Idea.** :class:`ClusterNeighbors` finds neighbours, their targets are averaged.

    **Use when** you would use :class:`sklearn.neighbors.KNeighborsRegressor`, but there are too
    many rows to compare with.

    **Do not use when** there are few rows, or few dimensions: see :class:`ClusterNeighbors`.

    **Cost.** That of :class:`ClusterNeighbors`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours to average.
    n_probe : int or "exact", default=1
        Clusters to look into, see :class:`ClusterNeighbors`.
    weights : {"uniform", "distance"}, default="uniform"
        Neighbours count alike, or by the inverse of the distance; those at distance 0 are all that
        counts then.
    clusterer : estimator or None, default=None
        See :class:`ClusterNeighbors`.
    random_state : int, RandomState instance or None, default=None
        Of the default clusterer.
    n_threads : int or None, default=None
        Threads to use; resolved anew in each call.

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

    Examples
    --------
    >>> from polymeans import KMeans
    >>> from polymeans.neighbors import ClusterKNeighborsRegressor
    >>> X, y = [[0.0], [1.0], [9.0], [10.0]], [0.0, 2.0, 5.0, 7.0]
    >>> model = ClusterKNeighborsRegressor(2, clusterer=KMeans(2, random_state=0)).fit(X, y)
    >>> model.predict([[0.6], [9.5]])
    array([1., 6.])
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Cluster the rows and remember their targets.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.

        Returns
        -------
        self : estimator
            Fitted estimator.
        """
        self._check_parameters()
        X = check_rows(self, X, reset=True)
        y = check_array(_required(self, y), ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        self._targets = column_or_1d(y, warn=True) if y.ndim == 1 or y.shape[1] == 1 else y
        self._build(X)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Mean target of the neighbours.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        targets : ndarray of shape (n_queries,) or (n_queries, n_targets)
            Means over the neighbours.
        """
        check_is_fitted(self)
        distances, indices = self.kneighbors(X)
        return np.einsum("ij,ij...->i...", _shares(distances, self.weights), self._targets[indices])

    def __sklearn_tags__(self) -> Any:
        """Tags: several targets are welcome."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _required(estimator: Any, y: Any) -> Any:
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    return y


def _shares(distances: NDArray[np.float64], weights: str) -> NDArray[np.float64]:
    """How much each neighbour counts; rows add up to one."""
    if weights == "uniform":
        return np.full(distances.shape, 1.0 / distances.shape[1])
    # Relative to the nearest: inverses neither overflow nor vanish.
    nearest = distances[:, :1]
    at_zero = (nearest == 0) | ~np.isfinite(nearest)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(at_zero, distances == nearest, nearest / distances)
    return shares / shares.sum(axis=1, keepdims=True)
