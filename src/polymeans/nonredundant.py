"""Several non-redundant clusterings of the same rows, each in a subspace of its own."""

import warnings
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from polymeans._base import CentroidEstimator, FitState, RowsInfo, is_name, logger
from polymeans._compat import HAS_CALLBACKS
from polymeans._validation import check_choice, check_integer, check_labels, check_real, check_rows
from polymeans.codebooks.aggregation import digits_of
from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.khatri_rao import sets_of
from polymeans.codebooks.orthogonal import (
    OrthogonalCodebook,
    basis_of,
    make_views,
    principal_directions,
)
from polymeans.core.frame import Frame
from polymeans.engine.assignment import make_codebook, make_grid
from polymeans.engine.lloyd import Run
from polymeans.engine.runners import LocalRunner
from polymeans.search.views.automatic import Outcome, automatic_start
from polymeans.search.views.portfolio import starting_vectors
from polymeans.search.views.sample import reduce_rows

INITS = ("search", "random")

#: Combinations of clusters that can be told apart.
_MOST_COMBINATIONS = 2**22


@dataclass
class ViewsState(FitState):
    """What a fit has chosen: the views, and the space they are looked for in."""

    sizes: tuple[int, ...] = ()  #: clusters of each view
    choice: Outcome | None = None  #: where they were chosen automatically
    whitened: tuple[Any, Any] = (None, None)  #: mean and matrix, where rows are whitened


class NonRedundantKMeans(CentroidEstimator):
    """Several clusterings of the same rows that have no direction in common.

    **Idea.** Rows can be grouped in more than one way: images of letters by letter, by color and
    by where a mark is. Each way is a *view*: k-means in a subspace of its own, orthogonal to those
    of all other views; dimensions that help none of them are noise. Views and subspaces are found
    together, so that as much as possible of the rows' scatter is explained [1]_.

    **Use when** you expect several independent groupings, or when the one that plain k-means finds
    is the one you already know. **Do not use when** one grouping is a refinement of the other (it
    needs the same directions), or when features have unlike scales: standardize first, or look at
    ``whiten``.

    **Cost.** The search runs on a sample of at most 3000 rows in about
    ``2 * sum(n_clusters)`` principal components. After it, an iteration on the data costs
    ``n_samples * n_features * sum(n_clusters)`` multiplications and no matrix of
    ``n_features * n_features`` is ever formed: only ``sum(n_clusters)`` vectors. Sparse rows stay
    sparse.

    Parameters
    ----------
    n_clusters : tuple of int, int or "auto", default=(3, 3)
        Clusters of each view. An integer: one view, and noise. "auto": number of views and of
        clusters are chosen by what they explain beyond a single Gaussian, see ``resolution``;
        finding nothing is an answer.
    noise_space : bool, default=True
        Leave dimensions in which no view has clusters to nobody. False: they are added to the
        last view, so that ``rotation_`` is a whole rotation. Labels and cost are the same.
    whiten : bool or int, default=False
        Cluster in the first principal components, all scaled to the same variance; an integer
        says how many, True takes one more than views can need, ``1 + sum(k - 1)`` (16 for
        "auto"). For views that are hidden because another has nearly all of the variance; which
        are found depends on the number of components.
    init : {"search", "random"} or array-like of shape (n_samples, n_views), default="search"
        Where to begin. "search": independent subspaces, random ones, and kicks, on a sample.
        "random": k-means in random orthogonal subspaces. An array: labels in each view.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is kept. "auto": 1, or 10 for "random". Views chosen by
        ``n_clusters="auto"`` are one start in any case.
    effort : float, default=1.0
        How long "search" looks for given numbers of clusters. 4 is thorough. With more than 18
        clusters in several views the default may take up to a minute, and 0.2 is a first look.
    resolution : float, default=0.1
        For "auto": structure smaller than this share of the data's largest standard deviation (that
        of the first principal component) is ignored. Smaller values find finer views.
    max_iter : int, default=300
        Iterations of one start on the data at most.
    tol : float, default=0
        Stop when the squared shifts of all centers add up to no more than this times the mean
        variance of the features. 0: when no label changes.
    random_state : int, RandomState instance or None, default=None
        Determines the starts.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. None: all cores, or one inside a joblib
        worker. -1: all cores.
    verbose : int, default=0
        1 logs each start, 2 each iteration, to the logger "polymeans" at level INFO.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Labels in the view that explains most of the scatter.
    labels_per_view_ : ndarray of shape (n_samples, n_views), int32
        Labels in every view, in the order of ``n_clusters``.
    n_views_ : int
        Number of views; 0 if "auto" found none.
    n_clusters_ : tuple of int
        Clusters of each view.
    main_view_ : int
        The view of ``labels_``.
    rotation_ : ndarray of shape (n_features, n_dims)
        Orthonormal columns: the subspace of view 0, then that of view 1, and so on; within a view,
        the direction that tells its clusters apart best comes first. (``whiten``: in the whitened
        coordinates, ``n_features`` being their number.)
    n_dims_ : tuple of int
        Dimensions of each view.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows, where the subspaces meet.
    centers_per_view_ : list of ndarray of shape (k, n_features)
        Centers of each view: they differ only within its subspace and are at the mean otherwise,
        so a row's label in the view is simply the nearest of them (in whitened coordinates, if
        ``whiten``). ``cluster_centers_`` are those of the view of ``labels_``.
    explained_variance_ratio_ : ndarray of shape (n_views,)
        Share of the rows' scatter that lies between the centers of each view.
    inertia_ : float
        Weighted squared distances to the nearest centers within each view's subspace, plus the
        scatter outside of all of them.
    whitening_ : ndarray of shape (n_features, n_components) or None
        Takes rows less their mean to whitened coordinates.
    candidates_ : list of dict
        For "auto": all sets of views that were found, the largest ``gain`` (nats over one Gaussian,
        for the rows of the sample) first, with their ``n_clusters``, their ``redundancy`` (share
        of information that views have in common), the ``information`` (nats) of all labels
        together, the number of principal components and the contrast they were found with, and
        whether they were ``chosen``. A table of it: ``pandas.DataFrame(model.candidates_)``.
    n_iter_ : int
        Iterations of the best start on the data.
    n_parameters_ : int
        Numbers that views consist of: rotation, centers within it, mean.
    history_ : ndarray
        One record for each iteration of the best start: ``inertia`` before the centers moved,
        ``n_moved`` rows that changed any label, ``shift`` and ``seconds``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where X has string names.

    See Also
    --------
    KhatriRaoKMeans : Sums of protocentroids without subspaces: this is the same with orthogonal
        sets.
    polymeans.metrics.pair_scores : How well several labelings are found.

    Notes
    -----
    An empty cluster receives the row that is served worst. Views whose labels would be the same as
    another's share its directions only if nothing better is left.

    References
    ----------
    .. [1] D. Mautz, W. Ye, C. Plant, C. Böhm, "Discovering Non-Redundant K-means Clusterings in
       Optimal Subspaces", KDD 2018.

    Examples
    --------
    >>> from polymeans import NonRedundantKMeans
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.metrics import labelings_confusion
    >>> images, poses = make_stick_figures(300, random_state=0)
    >>> model = NonRedundantKMeans((3, 3), random_state=0).fit(images)
    >>> model.labels_per_view_.shape, model.n_dims_
    ((300, 2), (2, 2))
    >>> model.transform(images).shape, list(model.get_feature_names_out())
    ((300, 4), ['view0_dim0', 'view0_dim1', 'view1_dim0', 'view1_dim1'])
    """

    def __init__(
        self,
        n_clusters: Any = (3, 3),
        *,
        noise_space: bool = True,
        whiten: Any = False,
        init: Any = "search",
        n_init: Any = "auto",
        effort: float = 1.0,
        resolution: float = 0.1,
        max_iter: int = 300,
        tol: float = 0.0,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.noise_space = noise_space
        self.whiten = whiten
        self.init = init
        self.n_init = n_init
        self.effort = effort
        self.resolution = resolution
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    @property
    def cluster_centers_(self) -> NDArray[Any]:
        """Centers of the view that explains most."""
        check_is_fitted(self, "centers_per_view_")
        return self.centers_per_view_[self.main_view_] if self.n_views_ else self.mean_[None, :]

    # --- labels and coordinates of rows ------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Label of each row in the view that explains most.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the nearest center of that view.
        """
        return _column(self.predict_views(X), self.main_view_)

    def predict_views(self, X: Any) -> NDArray[np.int32]:
        """Label of each row in every view.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        labels : ndarray of shape (n_samples, n_views)
            Index of the nearest center in each view.
        """
        return _per_view(super().predict(X), self.n_clusters_)

    def transform(self, X: Any) -> NDArray[Any]:
        """Rows in the coordinates of all views, one after another.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to rotate.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, sum(n_dims_))
            Measured from the mean.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        if self.whitening_ is None:
            return _project(X, self.mean_, self.rotation_)
        return _project(X, self.mean_, self.whitening_ @ self.rotation_)

    def transform_view(self, X: Any, view: int) -> NDArray[Any]:
        """Rows in the coordinates of one view.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to rotate.
        view : int
            Which one, from 0; negative numbers count from the end.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, n_dims_[view])
            Measured from the mean.
        """
        check_is_fitted(self)
        if self.n_views_ == 0:
            raise ValueError(f"view={view!r} cannot be shown: no views were found.")
        if not isinstance(view, Integral) or not -self.n_views_ <= view < self.n_views_:
            raise ValueError(
                f"view must be an integer from 0 to {self.n_views_ - 1}, got {view!r}: "
                f"{self.n_views_} views were found."
            )
        edges = np.cumsum((0, *self.n_dims_))
        view = int(view) % self.n_views_
        return np.asarray(self.transform(X))[:, edges[view] : edges[view + 1]]

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Find the clusterings and return the rows in the coordinates of all views.

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
        coordinates : ndarray of shape (n_samples, sum(n_dims_))
            Measured from the mean.
        """
        return super().fit_transform(X, y, sample_weight)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of ``transform``: ``view0_dim0``, ``view0_dim1``, ...

        Parameters
        ----------
        input_features : Ignored
            Present by convention.

        Returns
        -------
        names : ndarray of str
            One for each dimension of each view.
        """
        check_is_fitted(self)
        names = [f"view{s}_dim{i}" for s, m in enumerate(self.n_dims_) for i in range(m)]
        return np.array(names, dtype=object)

    @property
    def _n_features_out(self) -> int:
        return sum(self.n_dims_)

    # --- what the base asks ------------------------------------------------------------------

    _uses_blas = True

    _state_class = ViewsState

    @property
    def _asked_sizes(self) -> tuple[int, ...] | None:
        """Clusters of each view that are asked for; None: they are to be chosen."""
        if isinstance(self.n_clusters, str):
            return None
        if isinstance(self.n_clusters, Integral):
            return (int(self.n_clusters),)
        return tuple(int(k) for k in self.n_clusters)

    @property
    def _n_centroids(self) -> int:
        return 16 if self._asked_sizes is None else int(np.prod(self._asked_sizes))

    def _passes(self) -> int:
        return 100 if is_name(self.init, "search") else 1

    def _check_own_parameters(self) -> None:
        if isinstance(self.n_clusters, str):
            if self.n_clusters != "auto":
                raise ValueError(
                    'n_clusters must be "auto", an integer, or a tuple of integers such as (3, 4), '
                    f"got {self.n_clusters!r}."
                )
        else:
            self._check_sizes()
        check_real("effort", self.effort, 0.01, "1 is the default, 4 is thorough.")
        check_real("resolution", self.resolution, 0.0, "0.1 is the default.")
        if not isinstance(self.noise_space, bool | np.bool_):
            raise TypeError(f"noise_space must be True or False, got {self.noise_space!r}.")
        if not isinstance(self.whiten, bool | np.bool_):
            check_integer("whiten", self.whiten, 1, "Or use True or False.")
        if isinstance(self.init, str):
            check_choice("init", self.init, INITS, "Or give labels, one column for each view.")

    def _check_sizes(self) -> None:
        sizes = self.n_clusters
        if isinstance(sizes, Integral) and not isinstance(sizes, bool):
            check_integer("n_clusters", sizes, 1)
            return
        flat = isinstance(sizes, tuple | list) or getattr(sizes, "ndim", 0) == 1
        if not flat or len(sizes) == 0:
            raise TypeError(
                "n_clusters must be a tuple of integers, one for each view, such as (3, 4), an "
                f'integer, or "auto", got {sizes!r}.'
            )
        for s, k in enumerate(sizes):
            check_integer(
                f"n_clusters[{s}]",
                k,
                2,
                "A view needs two clusters; dimensions for noise are set aside without being asked "
                "for.",
            )
        if np.prod([float(k) for k in sizes]) > _MOST_COMBINATIONS:
            raise ValueError(
                f"n_clusters={tuple(sizes)} make more than {_MOST_COMBINATIONS} combinations, more "
                "than can be counted. Use fewer views or fewer clusters."
            )

    def _check_start(self, info: RowsInfo) -> Any:
        n_samples, n_features = info.shape
        sizes = self._asked_sizes
        if sizes is not None:
            if n_samples < max(sizes):
                raise ValueError(
                    f"n_samples={n_samples} should be >= every number of clusters, "
                    f"n_clusters={self.n_clusters}. Ask for fewer clusters or give more rows."
                )
            if len(sizes) > n_features:
                raise ValueError(
                    f"n_clusters={self.n_clusters} has {len(sizes)} views for "
                    f"n_features={n_features}: each view needs a direction of its own. Ask for "
                    "fewer views."
                )
        if isinstance(self.n_clusters, str) and not is_name(self.init, "search"):
            raise ValueError(
                'init must be "search" where n_clusters="auto" chooses the views, got '
                f"{self.init!r}. Give the numbers of clusters too."
            )
        if isinstance(self.init, str):
            return self.init
        return check_labels("init", self.init, n_samples, sizes)

    def _n_runs(self, start: Any) -> int:
        if not isinstance(start, str):
            return self._runs_from_given()
        if isinstance(self.n_clusters, str):
            return 1  # further starts would look for low cost, not for the views that were chosen
        if is_name(self.n_init, "auto"):
            return 10 if start == "random" else 1
        return int(self.n_init)

    def _reach(self, vectors: Any) -> float:
        # Labels to begin with are no coordinates.
        return super()._reach(vectors) if isinstance(vectors, list) else 0.0

    def _start(self, state: ViewsState) -> BaseCodebook:
        runner, start, frame = state.runner, state.start, state.frame
        if not isinstance(start, str):
            return self._from_labels(state, start)
        generator = np.random.default_rng(state.rng.randint(2**31, size=4))
        if self._asked_sizes is None:
            theta, views, state.choice = automatic_start(runner, self.resolution, generator)
            state.sizes = state.choice.sizes or (1,)
            if self.verbose:
                logger.info("views of %s clusters chosen", state.choice.sizes or "no")
        else:
            state.sizes = self._asked_sizes
            theta, views = starting_vectors(runner, state.sizes, start, self.effort, generator)
        if len(state.sizes) == 1:
            return make_codebook(frame, frame.external(theta))
        return OrthogonalCodebook(
            theta.astype(frame.dtype), state.sizes, views, None, frame.is_sparse
        )

    def _from_labels(self, state: ViewsState, labels: NDArray[np.int32]) -> BaseCodebook:
        """The best centers for given labels."""
        frame = state.frame
        sizes = state.sizes = self._asked_sizes
        codes = np.ravel_multi_index(tuple(labels), sizes).astype(np.int32)
        if len(sizes) == 1:
            nowhere = DenseCodebook(np.zeros((sizes[0], frame.n_used)))
            statistics = state.runner.statistics_of(codes, nowhere)
            masses = np.where(statistics.mass > 0, statistics.mass, 1.0)[:, None]
            return make_codebook(frame, frame.external(statistics.sums / masses + frame.origin))
        theta = np.zeros((sum(sizes), frame.n_used), dtype=frame.dtype)
        views = make_views(sizes, frame.n_used)
        codebook = OrthogonalCodebook(theta, sizes, views, None, frame.is_sparse)
        codebook.refit(state.runner.statistics_of(codes, codebook))
        return codebook

    def _find_space(self, state: ViewsState) -> None:
        if not self.whiten:
            return
        sizes = self._asked_sizes or ()
        n_axes = self.whiten
        if isinstance(self.whiten, bool | np.bool_):
            n_axes = 1 + sum(sizes) - len(sizes) if sizes else 16
        X = state.all_rows()
        weights = np.concatenate([weights for _, weights in state.sources])
        runner = LocalRunner(X, weights)
        generator = np.random.default_rng(state.rng.randint(2**31))
        reduced = reduce_rows(runner, n_axes, generator, len(weights), exact=2048)
        spread = np.sqrt(reduced.weights @ reduced.points**2 / reduced.weights.sum())
        if len(spread) < len(sizes):
            raise ValueError(
                f"whiten={self.whiten} leaves {len(spread)} components for {len(sizes)} views: "
                "each view needs a direction of its own. Ask for fewer views, or for more "
                "components if the rows have more."
            )
        # Rows that do not differ but by rounding have nothing to be scaled.
        frame = runner.frame
        nothing = np.finfo(X.dtype).eps * np.linalg.norm(reduced.mean)
        spread = np.where(spread > nothing, spread * frame.unit, 1.0)
        mean = frame.external(reduced.mean[None])[0]
        with np.errstate(over="ignore", divide="ignore"):
            whitening = frame.external_directions(reduced.axes).T / spread
            if not np.isfinite(whitening.astype(X.dtype)).all():
                raise ValueError(
                    f"whiten={self.whiten} cannot bring deviations as small as {spread.min():g} to "
                    "one. Multiply X by a large number first."
                )
        state.whitened = (mean, whitening)
        inside = _project(X, mean, whitening)
        edges = np.cumsum([0, *(len(weights) for _, weights in state.sources)])
        state.sources = [
            (inside[lo:hi], weights)
            for (_, weights), (lo, hi) in zip(state.sources, pairwise(edges))
        ]

    def _into_space(self, X: Any) -> Any:
        return X if self.whitening_ is None else _project(X, self.mean_, self.whitening_)

    def _vectors(self, codebook: BaseCodebook, state: ViewsState) -> dict[str, Any]:
        sizes = state.sizes
        n_views = len(sizes) if sum(sizes) > len(sizes) else 0  # one cluster is no view
        mean, whitening = state.whitened
        return {
            "_protocentroids": sets_of(codebook, state.frame),
            "n_views_": n_views,
            "n_clusters_": sizes[:n_views],
            "main_view_": 0,
            "mean_": mean,
            "whitening_": whitening,
        }

    def _fitted_vectors(self) -> list[NDArray[Any]]:
        return self._protocentroids

    def _codebook(self, frame: Frame, vectors: list[NDArray[Any]]) -> BaseCodebook:
        return make_grid(frame, vectors, "sum")

    def _attributes(self, run: Run, state: ViewsState) -> dict[str, Any]:
        sizes, frame, runner = state.sizes, state.frame, state.runner
        attributes = self._vectors(run.codebook, state)
        sets, n_views = attributes["_protocentroids"], attributes["n_views_"]
        mean = frame.external(frame.mean[None])[0]
        spaces, variances = [], []
        for s, digits in enumerate(digits_of(run.labels, sizes)[:n_views]):
            masses = runner.masses(digits, sizes[s]) / frame.mass
            directions, variance = self._subspace(s, sets[s], masses, mean, run.codebook, state)
            spaces.append(directions)
            variances.append(variance)
        total = frame.mean_variance * frame.n_features
        ratio = np.array(variances) / (total if total > 0 else 1.0)
        rotation = np.concatenate([np.empty((0, frame.n_features)), *spaces]).T
        dims = tuple(len(space) for space in spaces)
        if not self.noise_space and n_views:
            rotation = _completed(rotation)
            dims = (*dims[:-1], rotation.shape[1] - sum(dims[:-1]))
        labels = _per_view(run.labels, sizes[:n_views])
        main = int(np.argmax(ratio)) if n_views else 0
        numbers = rotation.size + mean.size + sum(k * m for k, m in zip(sizes, dims))
        centers = [sets[0], *(part + mean for part in sets[1:])][:n_views]
        if state.whitened[1] is not None:
            origin, whitening = state.whitened
            back = np.linalg.pinv(whitening)
            centers = [(origin + (part - mean) @ back).astype(part.dtype) for part in centers]
            mean = origin
            numbers += whitening.size + mean.size
        attributes |= {
            "labels_": _column(labels, main),
            "labels_per_view_": labels,
            "main_view_": main,
            "rotation_": rotation,
            "n_dims_": dims,
            "mean_": mean,
            "centers_per_view_": centers,
            "explained_variance_ratio_": ratio,
            "inertia_": run.inertia,
            "n_iter_": run.n_iter,
            "n_parameters_": int(numbers),
            "candidates_": state.choice.table if state.choice else [],
            "history_": self._history(run),
        }
        run.notes |= {"sizes": sizes, "choice": state.choice}
        return attributes

    def _subspace(
        self,
        s: int,
        part: NDArray[Any],
        masses: NDArray[np.float64],
        mean: NDArray[Any],
        codebook: BaseCodebook,
        state: ViewsState,
    ) -> tuple[NDArray[np.float64], float]:
        """Directions of a view, the strongest first, and the variance along them (engine units)."""
        frame = state.frame
        deviations = part.astype(np.float64) / frame.unit
        if not isinstance(codebook, OrthogonalCodebook):
            # What the mean of equal centers is off by is no deviation.
            floor = 4 * np.finfo(part.dtype).eps * float(np.linalg.norm(deviations, axis=1).max())
            return principal_directions(deviations - masses @ deviations, masses, None, floor)
        if s == 0:
            deviations -= mean.astype(np.float64) / frame.unit
        basis = frame.external_directions(basis_of(codebook.views, s))
        return principal_directions(deviations, masses, basis)

    def _warn(self, run: Run) -> None:
        choice, sizes = run.notes["choice"], run.notes["sizes"]
        if choice and choice.has_tails:
            warnings.warn(
                "A view has one large cluster and several small ones: it may be the tails of a "
                "skewed or heavy-tailed distribution. Look at it, or transform such features first "
                "(logarithm, sklearn.preprocessing.QuantileTransformer).",
                UserWarning,
                stacklevel=3 + HAS_CALLBACKS,
            )
        found = [len(np.unique(digit)) for digit in digits_of(run.labels, sizes)]
        short = [f"{n} of {k} in view {s}" for s, (n, k) in enumerate(zip(found, sizes)) if n < k]
        if short:
            warnings.warn(
                f"Fewer distinct clusters found than n_clusters asks for ({'; '.join(short)}). "
                "Possibly due to duplicate points in X; ask for fewer clusters.",
                ConvergenceWarning,
                stacklevel=3 + HAS_CALLBACKS,
            )


def _per_view(codes: NDArray[np.int32], sizes: tuple[int, ...]) -> NDArray[np.int32]:
    """Labels in each view from numbers of combinations."""
    if len(sizes) == 0:
        return np.empty((len(codes), 0), dtype=np.int32)
    return np.ascontiguousarray(digits_of(codes, sizes).T.astype(np.int32))


def _column(labels: NDArray[np.int32], view: int) -> NDArray[np.int32]:
    """Labels in one view; all the same if there is none."""
    if labels.shape[1] == 0:
        return np.zeros(len(labels), dtype=np.int32)
    return np.ascontiguousarray(labels[:, view])


def _project(X: Any, mean: NDArray[Any], matrix: NDArray[np.float64]) -> NDArray[Any]:
    """Rows less the mean, times a matrix, in the rows' dtype."""
    matrix, mean = matrix.astype(X.dtype, copy=False), mean.astype(X.dtype, copy=False)
    if sp.issparse(X):
        return np.ascontiguousarray(X @ matrix - mean @ matrix)
    return (X - mean) @ matrix


def _completed(columns: NDArray[Any]) -> NDArray[Any]:
    """An orthogonal matrix that begins with these orthonormal columns."""
    wide = np.linalg.qr(columns, mode="complete")[0]
    return np.concatenate([columns, wide[:, columns.shape[1] :]], axis=1)
