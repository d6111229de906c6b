"""k-means for dense and sparse rows."""

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._fit_state import FitState
from polymeans._partial import BatchEstimator, weights_of_clusters
from polymeans._rows import RowsInfo
from polymeans._seeded import SeededEstimator
from polymeans._validation import check_choice, is_name
from polymeans.codebooks.base import BaseCodebook
from polymeans.engine.assignment import ALGORITHMS
from polymeans.engine.lloyd import Run
from polymeans.parameters.streams import check_stream_parameters, refuse_change

METRICS = ("euclidean", "cosine")


class KMeans(BatchEstimator, SeededEstimator):
    """k-means, exact and fast on dense and sparse rows.

    **Idea.** Lloyd's algorithm: give each row to the nearest centroid, move each centroid to the
    mean of its rows, repeat. Shortcuts skip only work that cannot change the outcome, so all
    algorithms return the same labels. Sums are exact before they are rounded once, so results have
    the same bits for any number of threads and, from given centroids, for any order of the rows.

    **Use when** clusters are roughly round and of similar spread, or when you need a codebook
    (quantization, coarse search, landmarks). Sparse text: tf-idf rows with ``metric="cosine"``.

    **Do not use when** clusters are elongated, nested or of very different density, or when
    features have unlike scales: standardize first.

    **Cost.** An iteration takes at most ``n_samples * n_clusters * n_features`` multiplications
    (sparse rows: stored entries times clusters), late ones a fraction of that. Memory beyond the
    data: the centroids, and for each of their entries 8 bytes a rung of its exact sum (one rung for
    most float32 data, two or three for most float64 data), in each thread where the sums are
    small; dense rows, 4 bytes for each row and group of 16 centroids (8 for float64), groups
    growing so that this stays below half the size of the data or 32 MiB, whichever is more; sparse
    rows, 8 bytes for each stored entry and 10 for each centroid entry. Sparse rows are never made
    dense.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    metric : {"euclidean", "cosine"}, default="euclidean"
        With "cosine", rows count by their direction only and centroids have length one
        (spherical k-means). Rows of zeros have no direction: they get label 0 and count for
        nothing.
    init : {"auto", "k-means++", "k-means||", "afk-mc2", "random"}, array-like or callable, \
            default="auto"
        Where to begin. "k-means++": greedy, the best of ``2 + log(n_clusters)`` candidates each
        time, and the same choice as scikit-learn for the same ``random_state``. "k-means||": a few
        rounds of drawing many rows at once. "auto": the first of them, or the second for rows in
        :class:`~polymeans.blocks.Blocks`, which it reads four times. "afk-mc2": sampled by Markov
        chains, for thousands of clusters. "random": rows at random. An array of shape (n_clusters,
        n_features), or a callable ``init(X, n_clusters, random_state)`` that returns one.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is kept. "auto": 10 for "random" and callables, 1
        otherwise.
    max_iter : int, default=300
        Iterations of one start at most.
    tol : float, default=1e-4
        Stop when the squared shifts of all centroids add up to no more than this times the mean
        variance of the features, or when no label changes.
    algorithm : {"auto", "lazy", "lloyd", "elkan"}, default="auto"
        How labels are found; the result is the same. "lloyd" computes the distances to all
        centroids, "elkan" keeps a bound for each row and centroid, "lazy" one for each row and
        group of centroids (dense) or computes only distances to centroids that moved (sparse).
        "auto" is "lazy" unless there are few clusters.
    half_life : float or None, default=None
        For ``partial_fit``: weight of new rows (their number, without ``sample_weight``) after
        which what was seen before counts half. None: all batches count alike.
    warm_start : bool, default=False
        Whether ``fit`` begins with the centroids there are, from an earlier ``fit`` or from
        ``partial_fit``, instead of ``init``.
    random_state : int, RandomState instance or None, default=None
        Determines all random draws. An integer makes results repeatable.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. Resolved anew in each call. None: all
        cores, or one inside a joblib worker. -1: all cores.
    verbose : int, default=0
        1 logs each start, 2 each iteration, to the logger "polymeans" at level INFO.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids, in the dtype of the data.
    cluster_weights_ : ndarray of shape (n_clusters,)
        Total weight of the rows of each cluster; after ``partial_fit``, what ``half_life`` has
        left of it.
    labels_ : ndarray of shape (n_samples,), int32
        Nearest centroid of each row; the lowest index among equals.
    inertia_ : float
        Weighted sum of squared distances to the nearest centroid ("cosine": of cosine distances).
    n_iter_ : int
        Iterations of the best start.
    n_steps_ : int
        Batches seen by ``partial_fit`` since the last ``fit``, if there was one.
    n_parameters_ : int
        Numbers the centroids consist of.
    history_ : ndarray
        One record for each iteration of the best start: ``inertia`` before the centroids moved,
        ``n_moved`` rows that changed cluster, ``shift`` (sum of squared centroid shifts) and
        ``seconds``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where X has string names.

    See Also
    --------
    sklearn.cluster.KMeans : The same interface without sparse or thread-independent speed.
    polymeans.label_features : Rows for clustering the labels of a multi-label problem.

    Notes
    -----
    Empty clusters receive the rows that lie farthest from their centroids. If the data have fewer
    distinct rows than ``n_clusters``, some stay empty and a ``ConvergenceWarning`` is given. A row
    is moved as a whole: only then integer weights differ from repeated rows.

    Progress: with scikit-learn 1.9 or newer, ``KMeans(...).set_callbacks(ProgressBar())``.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]], dtype=float)
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> model.labels_
    array([1, 1, 1, 0, 0, 0], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([1, 0], dtype=int32)
    >>> model.cluster_centers_
    array([[10.,  2.],
           [ 1.,  2.]])
    """

    #: Means and projections onto a ball need no squares of rows.
    _unit_of = "typical"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "euclidean",
        init: Any = "auto",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        algorithm: str = "auto",
        half_life: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.algorithm = algorithm
        self.half_life = half_life
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def to_sklearn(self) -> Any:
        """The same model as scikit-learn's, for programs that know that class only.

        Its ``predict`` gives the labels of this model, except to rows that are equally near to two
        centroids up to rounding.

        Returns
        -------
        model : sklearn.cluster.KMeans
            Fitted, with copies of the centroids and labels.
        """
        from sklearn.cluster import KMeans as SklearnKMeans

        check_is_fitted(self)
        if self._spherical:
            raise ValueError(
                'metric="cosine" has no counterpart in scikit-learn, whose KMeans is Euclidean. '
                "Bring rows to length one (sklearn.preprocessing.normalize) and fit with "
                'metric="euclidean".'
            )
        model = SklearnKMeans(
            len(self.cluster_centers_), max_iter=self.max_iter, tol=float(self.tol), n_init=1
        )
        names = ("labels_", "inertia_", "n_iter_", "n_features_in_", "feature_names_in_")
        for name in ("cluster_centers_", *(name for name in names if hasattr(self, name))):
            setattr(model, name, deepcopy(getattr(self, name)))
        model._n_threads = 1
        model._n_features_out = len(self.cluster_centers_)
        return model

    def _fix_parameters(self) -> None:
        super()._fix_parameters()
        self._fixed_metric = self.metric

    @property
    def _spherical(self) -> bool:
        return is_name(getattr(self, "_fixed_metric", self.metric), "cosine")

    @property
    def _algorithm(self) -> str:
        return self.algorithm

    def _inertia_scale(self) -> float:
        # On the sphere |x - c|² = 2 (1 - cos): halve it into cosine distances.
        return 0.5 if self._spherical else 1.0

    def _check_own_parameters(self) -> None:
        super()._check_own_parameters()
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_choice("metric", self.metric, METRICS)
        check_stream_parameters(self)

    def _label_table(self) -> NDArray[Any] | None:
        return None if self._spherical else self.cluster_centers_

    def _check_unchanged(self) -> None:
        refuse_change("n_clusters", self.n_clusters, len(self.cluster_centers_))
        refuse_change("metric", self.metric, self._fixed_metric)

    def _check_start(self, info: RowsInfo) -> Any:
        start = super()._check_start(info)
        warm = self._warm_vectors(info)
        return start if warm is None else warm

    def _check_first_start(self, info: RowsInfo) -> Any:
        return self._check_init(info)

    def _start(self, state: FitState) -> BaseCodebook:
        return self._free_start(state)

    def _attributes(self, run: Run, state: FitState) -> dict[str, Any]:
        return {
            **self._labeled([run.codebook.to_array(state.frame)], run.labels),
            **weights_of_clusters(run, state),
            "inertia_": self._inertia_scale() * run.inertia,
            "n_iter_": run.n_iter,
            "n_steps_": 0,
            "history_": self._history(run),
        }

    def _labeled(self, vectors: list[NDArray[Any]], labels: NDArray[np.int32]) -> dict[str, Any]:
        return {
            "cluster_centers_": vectors[0],
            "labels_": labels,
            "n_parameters_": int(vectors[0].size),
        }
