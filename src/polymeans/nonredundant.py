"""Several non-redundant clusterings of the same rows, each in a subspace of its own."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from polymeans._base import CentroidEstimator, logger
from polymeans._compat import HAS_CALLBACKS
from polymeans._fit_state import FitState
from polymeans._rows import RowsInfo, chunk_by_chunk
from polymeans._validation import check_range, is_name
from polymeans._view_coordinates import ViewCoordinates, column_of
from polymeans.codebooks.aggregation import digits_of, labels_per_set
from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.khatri_rao import sets_of
from polymeans.codebooks.orthogonal import OrthogonalCodebook
from polymeans.codebooks.subspaces import completed_rotation, describe_subspaces, n_numbers
from polymeans.core import threads as core_threads
from polymeans.core.frame import Frame
from polymeans.engine.assignment import make_codebook, make_grid
from polymeans.engine.lloyd import Run
from polymeans.parameters.nonredundant import (
    check_parameters,
    check_start,
    sizes_of,
)
from polymeans.search.views.automatic import Outcome, automatic_start
from polymeans.search.views.given_labels import codebook_of_labels
from polymeans.search.views.portfolio import starting_vectors
from polymeans.search.views.summary import SummaryOfViews
from polymeans.search.views.whitening import Whitening, into, project, whitened

#: Clusters that a fit is taken to have before views are chosen, to decide about threads.
_AUTO_CLUSTERS = 16


@dataclass
class ViewsState(FitState):
    """What a fit has chosen: the views, and the space they are searched for in."""

    sizes: tuple[int, ...] = ()  #: clusters of each view
    choice: Outcome | None = None  #: where they were chosen automatically
    whitening: Whitening | None = None


class NonRedundantKMeans(ViewCoordinates, SummaryOfViews, CentroidEstimator):
    """Several clusterings of the same rows that have no direction in common.

    **Idea.** Rows can be grouped in more than one way: images of letters by letter, by color and
    by the position of a mark. Each grouping is a *view*: k-means in a subspace of its own,
    orthogonal to those of all other views; dimensions without clusters of any view are noise. Views
    and subspaces are found together, so that as much as possible of the rows' scatter is explained
    [1]_.

    **Use when** you expect several independent groupings, or when the one that plain k-means finds
    is the one you already know. **Do not use when** one grouping is a refinement of the other (it
    needs the same directions), or when features have unlike scales: standardize first, or see
    ``whiten``.

    **Cost.** The search runs on a sample of at most 3000 rows in about ``2 * sum(n_clusters)``
    principal components. With more than 18 clusters in several views it may take up to a minute;
    ``effort=0.2`` gives a first result. After it, an iteration on the data costs
    ``n_samples * n_features * sum(n_clusters)`` multiplications and no matrix of
    ``n_features * n_features`` is ever formed: only ``sum(n_clusters)`` vectors. Sparse rows stay
    sparse.

    Parameters
    ----------
    n_clusters : tuple of int, int or "auto", default=(3, 3)
        Clusters of each view. An integer: one view, and noise. "auto": number of views and of
        clusters are chosen by what they explain beyond a single Gaussian, see ``resolution``;
        there may be none. ``effort`` has no influence then.
    noise_space : bool, default=True
        Dimensions in which no view has clusters belong to no view. False: they are added to the
        last view, so that ``rotation_`` is a whole rotation. Labels and cost are the same.
    whiten : bool or int, default=False
        Cluster in the first principal components, all scaled to the same variance; an integer
        says how many, True takes one more than views can need, ``1 + sum(k - 1)`` (16 for
        "auto"). For views that are hidden because another has nearly all of the variance; which
        are found depends on the number of components.
    init : {"auto", "search", "random"} or array-like of shape (n_samples, n_views), default="auto"
        Where to begin. "search", which is what "auto" means: starts in independent and in random
        subspaces of a sample, and perturbations of the best of them; see ``effort``. "random":
        k-means in random orthogonal subspaces. An array: labels in each view.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is kept. "auto": 1, or 10 for "random". Views chosen by
        ``n_clusters="auto"`` are one start in any case.
    effort : float, default=1.0
        Multiple of the usual work that goes into finding a start: 0.25 is quick, 4 is thorough.
    resolution : float, default=0.1
        For "auto": structure smaller than this share of the data's largest standard deviation (that
        of the first principal component) is ignored. Smaller values find finer views.
    max_iter : int, default=300
        Iterations of one start at most.
    tol : float, default=0
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
        the direction along which its clusters differ most comes first. (``whiten``: in the whitened
        coordinates, ``n_features`` being their number.)
    n_dims_ : tuple of int
        Dimensions of each view.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows, where the subspaces meet.
    centroids_per_view_ : list of ndarray of shape (k, n_features)
        Centers of each view: they differ only within its subspace and are at the mean otherwise,
        so a row's label in the view is the nearest of them (in whitened coordinates, if
        ``whiten``). ``cluster_centers_`` are those of the view of ``labels_``.
    explained_variance_ratio_ : ndarray of shape (n_views,)
        Share of the rows' scatter that lies between the centers of each view.
    inertia_ : float
        Weighted squared distances to the nearest centers within each view's subspace, plus the
        scatter outside of all of them.
    whitening_ : ndarray of shape (n_features, n_components) or None
        Takes rows less their mean to whitened coordinates.
    table_ : ndarray
        For "auto": one record for each set of views that was found, the largest ``gain`` (nats over
        one Gaussian, for the rows of the sample) first, with ``n_clusters``, ``redundancy`` (share
        of information that views have in common), the ``information`` (nats) of all labels
        together, the number of principal components and the contrast they were found with, and
        whether they were ``chosen``. ``pandas.DataFrame(table_)`` works. Otherwise no records.
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
    KhatriRaoKMeans : Sums of protocentroids whose sets need not be orthogonal.
    polymeans.metrics.pair_scores : How well several labelings are found.

    Notes
    -----
    An empty cluster receives the row that is farthest from its centers. A view has the labels of
    another one only if no other clustering would explain more.

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
        init: Any = "auto",
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
        check_is_fitted(self, "centroids_per_view_")
        return self.centroids_per_view_[self.main_view_] if self.n_views_ else self.mean_[None, :]

    @chunk_by_chunk
    def predict(self, X: Any) -> NDArray[np.int32]:
        """Label of each row in the view that explains most.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the nearest center of that view.
        """
        return column_of(self.predict_views(X), self.main_view_)

    @chunk_by_chunk
    def predict_views(self, X: Any) -> NDArray[np.int32]:
        """Label of each row in every view.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        labels : ndarray of shape (n_samples, n_views)
            Index of the nearest center in each view.
        """
        return labels_per_set(super().predict(X), self.n_clusters_)

    @chunk_by_chunk
    def transform(self, X: Any) -> NDArray[Any] | Iterator[NDArray[Any]]:
        """Rows in the subspaces of all views, one after another: coordinates, not distances.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, sum(n_dims_))
            Measured from the mean.
        """
        return super().transform(X)

    def _transform(self, X: Any) -> NDArray[Any]:
        if self.whitening_ is None:
            return project(X, self.mean_, self.rotation_)
        return project(X, self.mean_, self.whitening_ @ self.rotation_)

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Find the clusterings and return the rows in the coordinates of all views.

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
        coordinates : ndarray of shape (n_samples, sum(n_dims_))
            Measured from the mean.
        """
        return super().fit_transform(X, y, sample_weight)

    _uses_blas = True
    _state_class = ViewsState

    @property
    def _n_requested(self) -> int:
        sizes = sizes_of(self.n_clusters)
        return _AUTO_CLUSTERS if sizes is None else int(np.prod(sizes))

    def _passes(self) -> int:
        # The search on a sample is taken for a hundred passes over all rows.
        return 100 if is_name(self.init, "auto") or is_name(self.init, "search") else 1

    def _check_own_parameters(self) -> None:
        check_parameters(self)

    @property
    def _block_multiple(self) -> int:
        return core_threads.PRODUCT_ROWS if self.whiten else 1

    def _check_start(self, info: RowsInfo) -> Any:
        return check_start(self, info)

    def _n_runs(self, start: Any) -> int:
        if not isinstance(start, str):
            return self._runs_from_given()
        if isinstance(self.n_clusters, str):
            return 1  # further starts would look for low cost, not for the views that were chosen
        if is_name(self.n_init, "auto"):
            return 10 if start == "random" else 1
        return int(self.n_init)

    def _largest_center(self, vectors: Any) -> float:
        # A start given as an array consists of labels, not of coordinates.
        return super()._largest_center(vectors) if isinstance(vectors, list) else 0.0

    def _start(self, state: ViewsState) -> BaseCodebook:
        runner, start, frame = state.runner, state.start, state.frame
        sizes = sizes_of(self.n_clusters)
        if not isinstance(start, str):
            assert sizes is not None  # "auto" takes no labels
            state.sizes = sizes
            return codebook_of_labels(runner, start, sizes)
        generator = np.random.default_rng(state.rng.randint(2**31, size=4))
        if sizes is None:
            given = float(self.resolution), generator, int(self.verbose)
            theta, views, state.choice = automatic_start(runner, *given)
            state.sizes = state.choice.sizes or (1,)
            if self.verbose:
                logger.info("views of %s clusters chosen", state.choice.sizes or "no")
        else:
            state.sizes = sizes
            theta, views = starting_vectors(runner, sizes, start, float(self.effort), generator)
        if len(state.sizes) == 1:
            return make_codebook(frame, frame.external(theta))
        assert views is not None  # several views have subspaces
        return OrthogonalCodebook(
            theta.astype(frame.dtype), state.sizes, views, None, frame.is_sparse
        )

    def _find_space(self, state: ViewsState) -> None:
        if not self.whiten:
            return
        state.whitening, state.rows = whitened(
            state.rows, self.whiten, sizes_of(self.n_clusters), state.rng
        )

    def _into_space(self, X: Any) -> Any:
        return X if self.whitening_ is None else into(X, self.mean_, self.whitening_)

    def _vectors(self, codebook: BaseCodebook, state: ViewsState) -> dict[str, Any]:
        return self._views(codebook, state.runner.labels(), state)

    def _views(
        self, codebook: BaseCodebook, labels: NDArray[np.int32], state: ViewsState
    ) -> dict[str, Any]:
        """Where the views are, and what they explain under these labels."""
        sizes, frame, whitening = state.sizes, state.frame, state.whitening
        n_views = len(sizes) if sum(sizes) > len(sizes) else 0  # one cluster is no view
        sets = sets_of(codebook, frame)
        check_range("Centers of the views", sets)  # decompositions of infinities may never end
        mean = frame.external(frame.mean[None])[0]
        shares = [
            state.runner.masses(digits, sizes[s]) / frame.mass
            for s, digits in enumerate(digits_of(labels, sizes)[:n_views])
        ]
        rotation, dims, ratio = describe_subspaces(codebook, sets, shares, frame)
        if not self.noise_space and n_views:
            rotation = completed_rotation(rotation)
            dims = (*dims[:-1], rotation.shape[1] - sum(dims[:-1]))
        centers = [sets[0], *(part + mean for part in sets[1:])][:n_views]
        if whitening is not None:
            back, away = np.linalg.pinv(whitening.matrix), whitening.mean
            centers = [(away + (part - mean) @ back).astype(part.dtype) for part in centers]
        return {
            "_protocentroids": sets,
            "n_views_": n_views,
            "n_clusters_": sizes[:n_views],
            "main_view_": int(np.argmax(ratio)) if n_views else 0,
            "rotation_": rotation,
            "n_dims_": dims,
            "mean_": mean if whitening is None else whitening.mean,
            "whitening_": None if whitening is None else whitening.matrix,
            "centroids_per_view_": centers,
            "explained_variance_ratio_": ratio,
        }

    def _fitted_vectors(self) -> list[NDArray[Any]]:
        return self._protocentroids

    def _codebook(self, frame: Frame, vectors: list[NDArray[Any]]) -> BaseCodebook:
        return make_grid(frame, vectors, "sum")

    def _attributes(self, run: Run, state: ViewsState) -> dict[str, Any]:
        attributes = self._views(run.codebook, run.labels, state)
        labels = labels_per_set(run.labels, attributes["n_clusters_"])
        attributes |= {
            "labels_": column_of(labels, attributes["main_view_"]),
            "labels_per_view_": labels,
            "inertia_": run.inertia,
            "n_iter_": run.n_iter,
            "n_parameters_": n_numbers(attributes),
            "_candidates": state.choice.table if state.choice else [],
            "history_": self._history(run),
        }
        run.notes |= {"sizes": state.sizes, "choice": state.choice}
        return attributes

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
