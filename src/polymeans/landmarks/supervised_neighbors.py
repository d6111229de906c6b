"""Classes and targets of queries from those of their nearest neighbors."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from polymeans._validation import check_choice, check_rows
from polymeans.landmarks.neighbors import ClusterNeighbors

WEIGHTS = ("uniform", "distance")


class _WeightedNeighbors(ClusterNeighbors):
    """Neighbors with equal weights, or with weights by their distance."""

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


class ClusterKNeighborsClassifier(ClassifierMixin, _WeightedNeighbors):
    """Classes by a vote of the nearest neighbors, searched for in few clusters.

    **Idea.** :class:`ClusterNeighbors` finds neighbors, their classes are counted.

    **Use when** you would use :class:`sklearn.neighbors.KNeighborsClassifier`, but there are too
    many rows to compare with.

    **Do not use when** there are few rows, or few dimensions: see :class:`ClusterNeighbors`.

    **Cost.** That of :class:`ClusterNeighbors`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbors of a query.
    n_probe : int or "exact", default=1
        Clusters to search. If they have fewer rows than neighbors are requested, further clusters
        are searched, nearest first, until there are enough. "exact": all clusters that may hold one
        of the nearest rows. May be changed after ``fit``.
    weights : {"uniform", "distance"}, default="uniform"
        Neighbors count equally, or by the inverse of the distance; if there are neighbors at
        distance 0, only these count.
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

    See Also
    --------
    ClusterKNeighborsRegressor : Numbers instead of classes.
    ClusterNeighbors : The neighbors themselves.
    sklearn.neighbors.KNeighborsClassifier : Exact neighbors by brute force or trees.

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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows and store their classes.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows. float32 stays float32; anything else becomes float64.
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
            Rows. float32 stays float32; anything else becomes float64.

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
            Rows. float32 stays float32; anything else becomes float64.

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


class ClusterKNeighborsRegressor(RegressorMixin, _WeightedNeighbors):
    """Mean target of the nearest neighbors, searched for in few clusters.

    **Idea.** :class:`ClusterNeighbors` finds neighbors, their targets are averaged.

    **Use when** you would use :class:`sklearn.neighbors.KNeighborsRegressor`, but there are too
    many rows to compare with.

    **Do not use when** there are few rows, or few dimensions: see :class:`ClusterNeighbors`.

    **Cost.** That of :class:`ClusterNeighbors`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbors of a query.
    n_probe : int or "exact", default=1
        Clusters to search. If they have fewer rows than neighbors are requested, further clusters
        are searched, nearest first, until there are enough. "exact": all clusters that may hold one
        of the nearest rows. May be changed after ``fit``.
    weights : {"uniform", "distance"}, default="uniform"
        Neighbors count equally, or by the inverse of the distance; if there are neighbors at
        distance 0, only these count.
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
    ClusterKNeighborsClassifier : Classes instead of numbers.
    ClusterNeighbors : The neighbors themselves.
    sklearn.neighbors.KNeighborsRegressor : Exact neighbors by brute force or trees.

    Examples
    --------
    >>> from polymeans import KMeans
    >>> from polymeans.neighbors import ClusterKNeighborsRegressor
    >>> X, y = [[0.0], [1.0], [9.0], [10.0]], [0.0, 2.0, 5.0, 7.0]
    >>> model = ClusterKNeighborsRegressor(2, clusterer=KMeans(2, random_state=0)).fit(X, y)
    >>> model.predict([[0.6], [9.5]])
    array([1., 6.])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows and store their targets.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows. float32 stays float32; anything else becomes float64.
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
        """Mean target of the neighbors.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_queries, n_features)
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        targets : ndarray of shape (n_queries,) or (n_queries, n_targets)
            Means over the neighbors.
        """
        check_is_fitted(self)
        distances, indices = self.kneighbors(X)
        return np.einsum("ij,ij...->i...", _shares(distances, self.weights), self._targets[indices])

    def __sklearn_tags__(self) -> Any:
        """Tags: several targets are accepted."""
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
    """Weight of each neighbor; rows add up to one."""
    if weights == "uniform":
        return np.full(distances.shape, 1.0 / distances.shape[1])
    # Relative to the nearest: inverses neither overflow nor vanish.
    nearest = distances[:, :1]
    at_zero = (nearest == 0) | ~np.isfinite(nearest)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(at_zero, distances == nearest, nearest / distances)
    return shares / shares.sum(axis=1, keepdims=True)
