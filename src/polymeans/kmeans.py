"""k-means for dense and sparse rows."""

import logging
import warnings
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import cosine_distances, euclidean_distances
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import check_is_fitted

from polymeans._compat import HAS_CALLBACKS, CallbackSupportMixin, FitProgress, with_callbacks
from polymeans._validation import (
    check_choice,
    check_integer,
    check_n_threads,
    check_real,
    check_rows,
    check_weights,
)
from polymeans.engine.assignment import ALGORITHMS, make_assigner, make_codebook, make_rows
from polymeans.engine.lloyd import Run, descend
from polymeans.engine.relocation import own_distances
from polymeans.engine.seeding import METHODS, codebook_of_rows
from polymeans.engine.threads import Threads

logger = logging.getLogger("polymeans")

METRICS = ("euclidean", "cosine")

#: Multiplications of one pass below which a pool of threads costs more than it saves, and below
#: which bringing centroids into panels does.
_POOLED, _SMALL = 2**24, 2**21


class KMeans(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """k-means, exact and fast on dense and sparse rows.

    **Idea.** Lloyd's algorithm: give each row to the nearest centroid, move each centroid to the
    mean of its rows, repeat. Shortcuts skip only work that cannot change the outcome, so all
    algorithms return the same labels, and the same bits for any number of threads.

    **Use when** clusters are roughly round and of similar spread, or when you need a codebook
    (quantization, coarse search, landmarks). Sparse text: tf-idf rows with ``metric="cosine"``.

    **Do not use when** clusters are elongated, nested or of very different density, or when
    features have unlike scales: standardize first.

    **Cost.** An iteration takes at most ``n_samples * n_clusters * n_features`` multiplications
    (sparse rows: stored entries times clusters), late ones a fraction of that. Memory beyond the
    data: the centroids and twice as much again for their sums (in float64); dense rows, 4 bytes for
    each row and group of 16 centroids (8 for float64), groups growing so that this stays below
    half the size of the data or 32 MiB, whichever is more; sparse rows, 8 bytes for each stored
    entry and 2 for each centroid entry. Sparse rows are never made dense.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centroids.
    metric : {"euclidean", "cosine"}, default="euclidean"
        With "cosine", rows count by their direction only and centroids have length one
        (spherical k-means). Rows of zeros have no direction: they get label 0 and count for
        nothing.
    init : {"k-means++", "k-means||", "afk-mc2", "random"}, array-like or callable, \
            default="k-means++"
        Where to begin. "k-means++": greedy, the best of ``2 + log(n_clusters)`` candidates each
        time, and the same choice as scikit-learn for the same ``random_state``. "k-means||": a
        few rounds of drawing many rows at once. "afk-mc2": sampled by Markov chains, for thousands
        of clusters. "random": rows at random. An array of shape (n_clusters, n_features), or a
        callable ``init(X, n_clusters, random_state)`` that returns one.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is kept. "auto": 1 for the careful methods and for
        arrays, 10 for "random" and callables.
    max_iter : int, default=300
        Iterations of one start at most.
    tol : float, default=1e-4
        Stop when the squared shifts of all centroids add up to no more than this times the mean
        variance of the features. Unchanged labels always stop.
    algorithm : {"auto", "lazy", "lloyd", "elkan"}, default="auto"
        How labels are found; the result is the same. "lloyd" looks at all centroids, "elkan" keeps
        a bound for each row and centroid, "lazy" one for each row and group of centroids (dense)
        or looks only at centroids that moved (sparse). "auto" is "lazy" unless there are few
        clusters.
    random_state : int, RandomState instance or None, default=None
        Determines the starts.
    n_threads : int or None, default=None
        Threads to use; resolved anew in each call. None: all cores, or one inside a joblib worker.
        -1: all cores.
    verbose : int, default=0
        1 logs each start, 2 each iteration, to the logger "polymeans" at level INFO.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids, in the dtype of the data.
    labels_ : ndarray of shape (n_samples,), int32
        Nearest centroid of each row; the lowest index among equals.
    inertia_ : float
        Weighted sum of squared distances to the nearest centroid ("cosine": of cosine distances).
    n_iter_ : int
        Iterations of the best start.
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
    distinct rows than ``n_clusters``, some stay empty and a ``ConvergenceWarning`` says so.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "euclidean",
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        algorithm: str = "auto",
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
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> "KMeans":
        """Find the clusters.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to cluster. float32 stays float32; anything else becomes float64.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts, in seeding, centroids, inertia and stopping.

        Returns
        -------
        self : KMeans
            Fitted estimator.
        """
        self._check_parameters()
        X = check_rows(self, X, reset=True)
        weights = check_weights(sample_weight, X)
        if X.shape[0] < self.n_clusters:
            raise ValueError(
                f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}. "
                "Ask for fewer clusters or give more rows."
            )
        init = self._check_init(X)
        n_runs = self._n_runs(init)
        rng = check_random_state(self.random_state)
        progress = FitProgress(
            self, n_runs, self.max_iter, {"X": X, "metadata": {"sample_weight": sample_weight}}
        )
        best: Run | None = None
        with self._threads(X) as threads:
            given = init if isinstance(init, np.ndarray) else None
            rows = make_rows(X, weights, threads, self.metric == "cosine", given)
            for number in range(n_runs):
                progress.begin_run()
                codebook = self._start(X, rows, init, rng)
                if number == n_runs - 1:
                    rows.release()
                run = descend(
                    rows,
                    codebook,
                    algorithm=self.algorithm,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    on_step=lambda step, book: self._report(step, progress, book, rows),
                )
                if self.verbose:
                    logger.info(
                        "start %d of %d: inertia %.6g after %d iterations",
                        number + 1,
                        n_runs,
                        run.inertia,
                        run.n_iter,
                    )
                if best is None or _is_better(run, best):
                    best = run
                if progress.end_run(lambda run=run: self._attributes(run, rows)):
                    break
            attributes = self._attributes(best, rows)
        for name, value in attributes.items():
            setattr(self, name, value)
        progress.end(lambda: attributes)
        self._warn(best)
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.int32]:
        """Find the clusters and return the label of each row.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to cluster.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Nearest centroid of each row.
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Find the clusters and return the distances to their centroids.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to cluster.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distance of each row to each centroid.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Nearest centroid of each row.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the nearest centroid, the lowest among equals.
        """
        check_is_fitted(self)
        X, centers = self._alike(check_rows(self, X, reset=False))
        return self._label(X, centers, np.ones(X.shape[0]))[0]

    def transform(self, X: Any) -> NDArray[Any]:
        """Distance of each row to each centroid.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to measure.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Euclidean distances, or cosine distances with ``metric="cosine"``.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        measure = cosine_distances if self.metric == "cosine" else euclidean_distances
        return measure(X, self.cluster_centers_.astype(X.dtype, copy=False))

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the inertia of the rows: the larger, the better they are represented.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to measure.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts.

        Returns
        -------
        score : float
            Minus the weighted sum of squared ("cosine": of cosine) distances.
        """
        check_is_fitted(self)
        X, centers = self._alike(check_rows(self, X, reset=False))
        weights = check_weights(sample_weight, X)
        _, inertia = self._label(X, centers, weights, measure=True)
        return -inertia

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _alike(self, X: Any) -> tuple[Any, NDArray[Any]]:
        """Rows and centroids of one dtype; labels are defined for centroids as they are fitted."""
        centers = self.cluster_centers_
        if X.dtype != centers.dtype:
            X, centers = (part.astype(np.float64, copy=False) for part in (X, centers))
        return X, centers

    # --- the parts of a fit ------------------------------------------------------------------

    def _threads(self, X: Any) -> Threads:
        # The result does not depend on it, and a pool takes longer to start than little work.
        return Threads(1 if _work(X, self.n_clusters) < _POOLED else self.n_threads)

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1)
        check_choice("metric", self.metric, METRICS)
        if self.n_init != "auto":
            check_integer("n_init", self.n_init, 1, 'Use "auto" if unsure.')
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0.0, "Use 0 to run until no label changes.")
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_n_threads(self.n_threads)
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, 0, "1 logs each start, 2 each iteration.")
        if isinstance(self.init, str):
            check_choice("init", self.init, tuple(METHODS), "Or give an array or a callable.")

    def _check_init(self, X: Any) -> Any:
        if isinstance(self.init, str) or callable(self.init):
            return self.init
        return self._check_centers(self.init, X)

    def _check_centers(self, centers: Any, X: Any) -> NDArray[Any]:
        if sp.issparse(centers):
            centers = centers.toarray()
        if np.iscomplexobj(centers):
            raise ValueError("init is complex; initial centers must be real numbers.")
        try:
            centers = np.asarray(centers, dtype=X.dtype, order="C")
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"init must be one of {', '.join(map(repr, METHODS))}, a callable, or an array of "
                f"shape (n_clusters, n_features), got {type(centers).__name__}: {error}."
            ) from None
        if centers.shape != (self.n_clusters, X.shape[1]):
            raise ValueError(
                f"The shape of the initial centers, init: {centers.shape}, does not match "
                f"(n_clusters, n_features) = {(self.n_clusters, X.shape[1])}. Give one row for "
                "each cluster."
            )
        assert_all_finite(centers, input_name="init")
        return centers

    def _n_runs(self, init: Any) -> int:
        given = not isinstance(init, str) and not callable(init)
        if self.n_init == "auto":
            return 10 if callable(init) or init_is(init, "random") else 1
        if given and self.n_init != 1:
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=3 + HAS_CALLBACKS,
            )
            return 1
        return int(self.n_init)

    def _start(self, X: Any, rows: Any, init: Any, rng: Any) -> Any:
        if isinstance(init, str):
            return codebook_of_rows(rows, METHODS[init](rows, self.n_clusters, rng))
        if callable(init):
            init = self._check_centers(init(X, self.n_clusters, random_state=rng), X)
        return make_codebook(rows, init)

    def _report(self, step: Any, progress: FitProgress, codebook: Any, rows: Any) -> bool:
        if isinstance(self.verbose, Integral) and self.verbose > 1:
            logger.info("inertia %.6g, %d rows moved", step.inertia, step.n_moved)
        return progress.step(lambda: {"cluster_centers_": codebook.to_array(rows)})

    def _attributes(self, run: Run, rows: Any) -> dict[str, Any]:
        # On the sphere |x - c|² = 2 (1 - cos): halve it into cosine distances.
        factor = 0.5 if self.metric == "cosine" else 1.0
        history = np.array(
            [(factor * s.inertia, s.n_moved, s.shift, s.seconds) for s in run.steps],
            dtype=[("inertia", "f8"), ("n_moved", "i8"), ("shift", "f8"), ("seconds", "f8")],
        )
        centers = run.codebook.to_array(rows)
        return {
            "cluster_centers_": centers,
            "labels_": run.labels,
            "inertia_": factor * run.inertia,
            "n_iter_": run.n_iter,
            "n_parameters_": int(centers.size),
            "history_": history,
        }

    def _warn(self, run: Run) -> None:
        n_found = len(np.unique(run.labels))
        if n_found < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X; ask for fewer "
                "clusters.",
                ConvergenceWarning,
                stacklevel=3 + HAS_CALLBACKS,
            )

    def _label(
        self,
        X: Any,
        centers: NDArray[Any],
        weights: NDArray[np.float64],
        measure: bool = False,
    ) -> tuple[NDArray[np.int32], float]:
        """Labels for given centroids, and the inertia if wanted."""
        labels = np.empty(X.shape[0], dtype=np.int32)
        with self._threads(X) as threads:
            rows = make_rows(X, weights, threads, self.metric == "cosine", centers)
            codebook = make_codebook(rows, centers)
            if _work(X, len(centers)) < _SMALL:
                from polymeans.kernels import sums

                sums.assign_exact(rows.arrays, codebook.book, 0, rows.n_samples, labels)
            else:
                make_assigner(rows, len(centers), "lloyd").assign(codebook, labels, labels)
            labels[rows.directionless] = 0
            inertia = np.nan
            if measure:
                distances = own_distances(rows, codebook, labels)
                inertia = float(np.sum(distances * rows.weights)) * rows.unit * rows.unit
        return labels, inertia * (0.5 if self.metric == "cosine" else 1.0)


def _work(X: Any, n_clusters: int) -> int:
    """Multiplications of one pass over the rows."""
    return (X.nnz if sp.issparse(X) else X.size) * n_clusters


def init_is(init: Any, name: str) -> bool:
    """Whether ``init`` is the method of that name (arrays do not compare to strings)."""
    return isinstance(init, str) and init == name


def _is_better(run: Run, best: Run) -> bool:
    """Lower inertia, and not merely the same clusters summed in another order."""
    if run.inertia >= best.inertia:
        return False
    if run.inertia < best.inertia * (1 - 1e-6):
        return True
    forward = np.full(run.codebook.n_clusters, -1)
    forward[run.labels] = best.labels
    return bool((forward[run.labels] != best.labels).any())
