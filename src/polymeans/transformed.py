"""k-means in a metric that is learned together with the clusters."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from polymeans._base import CentroidEstimator
from polymeans._compat import HAS_CALLBACKS
from polymeans._distances import distances_between
from polymeans._fit_state import FitState, warn_of_missing_clusters
from polymeans._rows import RowsInfo, chunk_by_chunk
from polymeans._validation import is_name
from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.learned_metric import LearnedMetricCodebook
from polymeans.core import threads as core_threads
from polymeans.core.exact_sums import ExactSum
from polymeans.core.frame import Frame
from polymeans.engine.labeling import n_multiplications
from polymeans.engine.linear_assigner import linear_labels
from polymeans.engine.lloyd import Run, descend
from polymeans.engine.measured import Measured
from polymeans.engine.runners import LocalRunner
from polymeans.parameters.transformed import (
    check_blocks_suffice,
    check_parameters,
    check_start,
    space_of,
    unsettled,
)
from polymeans.spaces.beginning import begin
from polymeans.spaces.embedding import prepared
from polymeans.spaces.fitting import Fitting, Ridge
from polymeans.spaces.learned_metric import exchange_rows
from polymeans.spaces.learned_vectors import learned_vectors
from polymeans.spaces.state import put_together, taken_apart


@dataclass
class TransformedState(FitState):
    """The space of the fit, and how the metric is found in it."""

    fitting: Fitting = field(init=False)


class TransformedKMeans(CentroidEstimator):
    """Clusters and the metric in which they are compact, learned together.

    **Idea.** Transform the rows so that clusters become as round and tight as they can, cluster,
    and repeat. Everything but the labels can be eliminated exactly: what is minimized is
    ``log det(W + rho I)``, W being the scatter within clusters, by steps of k-means in the metric
    of its inverse. Large ``rho`` is plain k-means; small ``rho`` is indifferent to the scale of the
    features and to any linear map of them.

    **Use when** rows are documents (tf-idf): for those the default clusters a normalized-cut
    embedding of twice as many dimensions as clusters, where the metric helps most. Or when clusters
    share an elongated shape or features have unlike scales: tables of few features are whitened,
    so that neither units nor correlations of the features change the result.

    **Do not use when** there are hundreds of dimensions left and few rows (``embedding=None`` on
    wide data): every partition looks compact in some metric then, and only k-means' own solutions
    are compared. For round clusters plain :class:`KMeans` is the same and faster.

    **Cost.** The embedding: some dozens of products with the rows. A start: k-means in it, and
    about ten steps of ``n_samples * n_components * n_clusters`` multiplications. Sparse rows are
    never made dense, and nothing larger than ``n_samples * n_components`` is formed beside them
    (all pairs of rows with a kernel).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    rho : float or "auto", default="auto"
        Scatter added in every direction, larger than 0. A scatter is a sum over rows: it grows
        with their number and with the square of the coordinates' unit. "auto" depends on no unit: a
        hundredth of the scatter of whitened coordinates, a tenth of the mean scatter of a
        coordinate of another embedding, with ``embedding=None`` the scatter of a row. Directions
        with less scatter than this count little.
    lam : float, default=None
        The weight of the published objective instead of ``rho``, which is ``lam (1 + mu) / mu``.
    mu : float, default=1.0
        The other weight of the published objective. Without ``lam`` it changes ``objective_`` only.
    embedding : {"auto", "cut", "white", "svd"} or None, default="auto"
        Which space to cluster in. "svd": the main directions (centered, unless for "cosine").
        "cut": those of the normalized cut of the rows' products, for rows without negative
        entries; rows count by direction. "white": all directions, with variance one in each.
        None: all of it, as published. "auto": "cut" for directions without negative entries,
        and for kernels without negative values that are the same for each row with itself (such
        as "rbf"). For other rows of at most 100 features, four of them for each cluster and
        feature, "white", unless ``rho``, ``lam`` or ``n_components`` is a number. Otherwise "svd".
    n_components : int or "auto", default="auto"
        Dimensions of the embedding. "auto": ``2 * n_clusters``; all with ``embedding="white"`` or
        None, where a number means to truncate (see ``discarded_``).
    metric : {"auto", "euclidean", "cosine"}, default="auto"
        What is compared before a metric is learned. "cosine": only directions, as of
        :class:`KMeans`: rows are brought to length one, before and after the embedding, and rows of
        zeros do not count. "auto": "cosine" for rows that look like text, without negative entries
        and at most a tenth of them above zero; otherwise "euclidean".
    kernel : None, str, callable or "precomputed", default=None
        Cluster in the space of a kernel: any name of
        :func:`sklearn.metrics.pairwise.pairwise_kernels`, a function of two sets of rows that
        returns the matrix of values, or "precomputed", where X is that matrix (for new rows: their
        values with the rows of the fit). Needs memory for all pairs of rows.
    kernel_params : dict, default=None
        Further arguments of the kernel, such as ``{"gamma": 0.1}``.
    algorithm : {"profile", "alternating"}, default="profile"
        "profile": the best metric for the labels, in closed form. "alternating": found step by
        step as published, for comparison; it ends at the same labels, much later.
    solver : {"auto", "exact", "lanczos", "randomized", "cg"}, default="auto"
        How the directions are found. "cg", for ``embedding=None`` only, needs none: conjugate
        gradients with the rows; there is no ``transform`` then. "auto": exact where rows or
        features are few, otherwise Lanczos, and "cg" for the full space of more than 1000 rows and
        features. Kernels choose by the number of rows.
    init : {"auto", "k-means", "k-means++", "mixed"} or array-like of shape (n_samples,), \
            default="auto"
        Labels to begin with. "k-means": its solution in the same space, or for whitened rows among
        standardized features. "k-means++": its starting centroids only. "mixed": every second
        start is k-means in the whitened space, for strongly elongated clusters. "auto": "mixed"
        for whitened rows, ten of them for each cluster and dimension; otherwise "k-means".
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is kept. "auto": 10, or 1 for given labels.
    refine : None or "exchange", default=None
        "exchange": afterwards move single rows as long as that lowers the objective. Labels of
        documents were not better for it.
    max_iter : int, default=300
        Iterations of one start at most.
    tol : float, default=0.0
        Stop when the squared shifts of all centroids add up to no more than this times the mean
        variance of the features, or when no label changes.
    random_state : int, RandomState instance or None, default=None
        Determines all random draws. An integer makes results repeatable.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. Resolved anew in each call. None: all
        cores, or one inside a joblib worker. -1: all cores.
    verbose : int, default=0
        1 logs each start, 2 each iteration, to the logger "polymeans" at level INFO.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features) or None
        Means of the clusters' rows (of length one for "cosine"). None with a kernel.
    centroids_in_space_ : ndarray of shape (n_clusters, n_components_) or None
        Centers among the rows of ``transform``: the nearest one is a row's label. None for
        ``solver="cg"``.
    inertia_ : float
        ``rho log det(I + W / rho)``: the inertia of plain k-means for large ``rho``. It is no sum
        over rows, so :meth:`score` is something else.
    log_det_ : float
        ``log det(W + rho I)``. With ``solver="cg"`` this, ``inertia_`` and ``objective_`` are too
        large by a constant that does not depend on the labels.
    objective_ : float
        The published objective at its best transform.
    rho_ : float
        The scatter added.
    lam_ : float
        The weight of the transform in the published objective.
    mu_ : float
        The weight of the scatter within clusters in it.
    embedding_ : {"cut", "white", "svd"} or None
        The embedding used.
    metric_ : {"euclidean", "cosine"}
        Whether rows count by direction.
    n_components_ : int
        Dimensions of the space.
    discarded_ : float
        Share of the rows' squared norm (of their scatter, if centered) that the space leaves out.
    n_iter_ : int
        Steps of the best start, without those of the k-means before it.
    n_parameters_ : int
        Numbers that decide the label of a row in the space.
    history_ : ndarray
        One record for each step of the best start: ``inertia``, ``n_moved`` rows, ``shift`` of the
        centers (in whitened coordinates) and ``seconds``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where X has string names.

    See Also
    --------
    KMeans : The same in the given metric; ``metric="cosine"`` for documents.
    NonRedundantKMeans : Several clusterings, each in a subspace of its own.

    References
    ----------
    .. [1] "Transformed K-means clustering". The update of the transform is printed there with two
       factors exchanged; see the explanation in the documentation.

    Examples
    --------
    Two parallel streaks of rows, which plain k-means would divide along their length:

    >>> import numpy as np
    >>> from polymeans import KMeans, TransformedKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) * [10, 0.1]
    >>> X[100:, 1] += 1
    >>> model = TransformedKMeans(2, random_state=0).fit(X)
    >>> np.bincount(model.labels_[:100]).max(), np.bincount(model.labels_[100:]).max()
    (np.int64(100), np.int64(100))
    >>> model.embedding_, bool(np.all(model.labels_ == model.fit(X * [1e-3, 1e3]).labels_))
    ('white', True)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        rho: Any = "auto",
        lam: float | None = None,
        mu: float = 1.0,
        embedding: str | None = "auto",
        n_components: Any = "auto",
        metric: str = "auto",
        kernel: Any = None,
        kernel_params: dict[str, Any] | None = None,
        algorithm: str = "profile",
        solver: str = "auto",
        init: Any = "auto",
        n_init: Any = "auto",
        refine: str | None = None,
        max_iter: int = 300,
        tol: float = 0.0,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.rho = rho
        self.lam = lam
        self.mu = mu
        self.embedding = embedding
        self.n_components = n_components
        self.metric = metric
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.algorithm = algorithm
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.refine = refine
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    @chunk_by_chunk
    def transform(self, X: Any) -> NDArray[Any] | Iterator[NDArray[Any]]:
        """Rows in the learned space, where the learned metric is Euclidean: no distances.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        transformed : ndarray of shape (n_samples, n_components_)
            Measured from the mean of the fitted rows.
        """
        return super().transform(X)

    def _transform(self, X: Any) -> NDArray[Any]:
        with np.errstate(over="ignore"):
            found = self._inside(X, "transform") * self._space.length
            return found.astype(X.dtype, copy=False)

    def _inside(self, X: Any, method: str) -> NDArray[np.float64]:
        """Rows in the learned space, in units of its length: no number of them is too large."""
        self._check_has_space(method)
        with self._threads(n_multiplications(X, self._n_centroids)):
            return self._learned_metric.transform(self._space.coordinates(X))

    def _centroids_inside(self) -> NDArray[np.float64]:
        largest = np.finfo(np.float64).max
        return np.clip(self.centroids_in_space_, -largest, largest) / self._space.length

    def _distances(self, X: Any) -> NDArray[Any]:
        inside = self._inside(X, "distances")
        found = distances_between(inside, self._centroids_inside(), inside.dtype)
        with np.errstate(over="ignore"):
            return (found * self._space.length).astype(X.dtype, copy=False)

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Find the clusters and return the rows in the learned space.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts. None: all alike.

        Returns
        -------
        transformed : ndarray of shape (n_samples, n_components_)
            Measured from the mean.
        """
        return super().fit_transform(X, y, sample_weight)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the squared distances of rows to their centers, in the learned metric.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts. None: all alike.

        Returns
        -------
        score : float
            The metric is ``rho (W + rho I)^-1``: Euclid's for large ``rho``. Not minus
            ``inertia_``, which is a log-determinant and no sum over rows.
        """
        return super().score(X, y, sample_weight)

    def _measured(self, X: Any, weights: NDArray[np.float64]) -> ExactSum:
        inside = self._inside(X, "score")
        own = self._centroids_inside()[self._label(X, weights)[0]]
        with np.errstate(over="ignore"):
            squares = np.sum(((inside - own) * self._space.length) ** 2, axis=1)
        return ExactSum.of(np.array([2.0 * float(weights @ squares)]))

    @property
    def components_(self) -> NDArray[np.float64]:
        """The learned transform as a matrix, formed at each access.

        Unless ``metric_`` is "cosine" it applies to centered rows themselves, ``transform(X) =
        (X - X.mean(axis=0)) @ components_.T``, and has one column for each feature. Rows brought to
        length one in the embedding are transformed after that: it has as many columns as the
        embedding then.
        """
        check_is_fitted(self)
        self._check_has_space("components_", AttributeError)
        if self.cluster_centers_ is None:
            kernel = self._space.map.kernel
            raise AttributeError(
                f"components_ would be infinitely long for kernel={kernel!r}. Use transform, which "
                "maps rows into the learned space without them."
            )
        return self._space.for_features(self._learned_metric.matrix())

    def _check_has_space(self, name: str, error: type[Exception] = NotImplementedError) -> None:
        if self._space is None:
            raise error(
                f'{name} needs the directions that solver="cg" avoids to compute. Use '
                'n_components=500, or solver="exact" where rows or features are few.'
            )

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        """Tags: X may be kernel values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_name(self.kernel, "precomputed")
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return taken_apart(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(put_together(state))

    # --- parameters and starts ---------------------------------------------------------------

    _uses_blas = True
    _state_class = TransformedState

    @property
    def _n_requested(self) -> int:
        return self.n_clusters

    @property
    def _n_centroids(self) -> int:
        return len(self._offsets)

    def _passes(self) -> int:
        # Ten starts of k-means and about ten steps each, in fewer dimensions than the rows have.
        return 20

    def _check_own_parameters(self) -> None:
        check_parameters(self)

    def _check_blocks_suffice(self) -> None:
        check_blocks_suffice(self)

    @property
    def _block_multiple(self) -> int:
        return core_threads.PRODUCT_ROWS

    def _check_start(self, info: RowsInfo) -> Any:
        return check_start(self, info)

    def _largest_center(self, vectors: Any) -> float:
        return 0.0  # a start consists of labels, not of coordinates

    def _n_runs(self, start: Any) -> int:
        if not isinstance(start, str):
            return self._runs_from_given()
        return 10 if is_name(self.n_init, "auto") else int(self.n_init)

    # --- the space, starts and steps ---------------------------------------------------------

    def _find_space(self, state: TransformedState) -> None:
        generator = np.random.default_rng(state.rng.randint(2**31, size=4))
        ridge = Ridge.of(self.rho, self.lam, float(self.mu))
        # What is clustered has few coordinates for each row: it is kept in one piece.
        state.rows, state.fitting = begin(
            state.rows, partial(space_of, self), ridge, self.n_clusters, generator
        )

    def _start(self, state: TransformedState) -> BaseCodebook:
        labels, fitting = state.start, state.fitting
        assert isinstance(state.runner, LocalRunner)  # rows in few coordinates are in memory
        if isinstance(labels, str):
            labels = fitting.first_labels(
                state.runner, labels, self.n_clusters, self.max_iter, state.rng
            )
        return fitting.codebook_of(labels, state.runner, self.n_clusters, self.algorithm)

    def _refined(self, run: Run, state: TransformedState) -> Run:
        if self.refine is None:
            return run
        assert isinstance(state.runner, LocalRunner)
        labels = exchange_rows(state.runner, run.labels, self.n_clusters)
        if (labels == run.labels).all():
            return run
        codebook = state.fitting.codebook_of(labels, state.runner, self.n_clusters, self.algorithm)
        again = descend(state.runner, codebook, max_iter=self.max_iter, tol=self._shift_tol)
        again.steps = run.steps + again.steps
        return again if again.inertia < run.inertia else run

    def _fitted_vectors(self) -> list[NDArray[Any]]:
        return [self._slopes]

    def _codebook(self, frame: Frame, vectors: list[NDArray[Any]]) -> BaseCodebook:
        raise TypeError("The learned metric labels rows by linear functions, see _label.")

    def _label(
        self, X: Any, weights: NDArray[np.float64], measure: bool = False
    ) -> tuple[NDArray[np.int32], Measured]:
        nothing = Measured(ExactSum(), (np.nan,))
        with self._threads(n_multiplications(X, self._n_centroids)), np.errstate(all="ignore"):
            if self._space is not None:
                inside = self._space.coordinates(X) / self._learned_metric.scale
            else:
                inside = prepared(X, self._unit, self.metric_ == "cosine")
                inside = inside if self._origin is None else inside - self._origin
            return linear_labels(inside, self._slopes, self._offsets), nothing

    # --- what a fit leaves -------------------------------------------------------------------

    def _vectors(self, codebook: LearnedMetricCodebook, state: TransformedState) -> dict[str, Any]:
        return self._learned(codebook, state.runner.labels(), state)

    def _learned(
        self, codebook: LearnedMetricCodebook, labels: NDArray[np.int32], state: TransformedState
    ) -> dict[str, Any]:
        """The metric, and the centroids of clusters of these labels."""
        vectors = learned_vectors(state.fitting, codebook, state.frame)
        if self.kernel is None:
            vectors["cluster_centers_"] = state.fitting.input_means(
                labels, state.runner.weights, self.n_clusters
            )
        return vectors

    def _attributes(self, run: Run, state: TransformedState) -> dict[str, Any]:
        fitting, space = state.fitting, state.fitting.space
        vectors = self._learned(run.codebook, run.labels, state)
        history = self._history(run)
        history["inertia"] = fitting.external(history["inertia"])
        return (
            vectors
            | fitting.objective_values(run.inertia)
            | {
                "labels_": run.labels,
                "embedding_": None if space is None else space.kind,
                "discarded_": 0.0 if space is None else space.discarded,
                "n_iter_": run.n_iter,
                "n_parameters_": int(run.codebook.n_parameters),
                "history_": history,
            }
        )

    def _warn(self, run: Run) -> None:
        warn_of_missing_clusters(run.labels, self.n_clusters)
        for message in unsettled(run.codebook):
            warnings.warn(message, ConvergenceWarning, stacklevel=3 + HAS_CALLBACKS)
