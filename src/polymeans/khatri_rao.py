"""k-means with few protocentroids and many centroids."""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from polymeans._base import logger
from polymeans._compat import HAS_CALLBACKS
from polymeans._distances import in_one_dtype
from polymeans._first_import import import_numba
from polymeans._fit_state import FitState
from polymeans._partial import BatchEstimator, weights_of_clusters
from polymeans._rows import RowsInfo, chunk_by_chunk, refuse_callable_start
from polymeans._validation import call_init, check_range, is_name
from polymeans.codebooks.aggregation import combine, digits_of, labels_per_set
from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.khatri_rao import sets_of
from polymeans.core.frame import Frame
from polymeans.engine.assignment import grid_codebook, make_grid
from polymeans.engine.lloyd import Run, descend
from polymeans.engine.new_rows import label_few_by_grid
from polymeans.engine.runners import BaseRunner
from polymeans.engine.seeding import METHODS, choose_rows, codebook_of_rows
from polymeans.parameters.khatri_rao import check_parameters, check_sets, sizes_of
from polymeans.parameters.streams import check_stream_parameters, refuse_change
from polymeans.search.grids import portfolio as search

#: Bytes of centroids and their sums above which products are built a few at a time: a gibibyte is a
#: modest part of the memory of most machines, and building them is slower.
_STORED_BYTES = 2**30


class KhatriRaoKMeans(BatchEstimator):
    """k-means whose centroids are combinations of a few protocentroids.

    **Idea.** ``h_1 + ... + h_p`` vectors in p sets stand for ``h_1 · ... · h_p`` centroids: each is
    the sum, or the elementwise product, of one *protocentroid* from every set. Ten vectors in two
    sets of five make 25 centroids. Lloyd's algorithm as usual, except that the refit finds the best
    protocentroids for the labels; since plain descents end in poor optima, a search over a summary
    of the data finds where to start.

    **Use when** clusters come from independent factors (pose and lighting, product and season,
    base level and pattern), when many centroids must fit into little memory, or when you want to
    know the factors. Sums suit effects that add up, products (on data with a meaningful zero)
    effects that scale.

    **Do not use when** clusters have nothing in common: check with
    :func:`polymeans.diagnose_structure`. Products are not invariant to shifts of the data, so
    centering or standardizing changes the model; sums are.

    **Cost.** Sums: an iteration takes ``n_samples * n_features * Σh`` multiplications and a scan
    that skips most of ``n_samples * Πh`` additions; memory is ``Σh * n_features``. Products: as
    :class:`~polymeans.KMeans` with ``Πh`` clusters. The search costs some hundred passes over a
    summary whose size does not grow with ``n_samples``.

    Parameters
    ----------
    n_protocentroids : tuple of int, default=(2, 3)
        Number of protocentroids in each set. One set is plain k-means.
    aggregator : {"sum", "product"}, default="sum"
        How protocentroids combine.
    init : {"auto", "search", "residual", "k-means++", "random", "naive"}, list of arrays or \
            callable, default="auto"
        Where to begin. "search", which is what "auto" means: many short starts on a summary of the
        data, improved by swaps, noise and soft annealing, the best carried over; see ``effort``.
        "residual": the sets one after another, each by k-means on what the others leave.
        "k-means++": rows far from all centroids so far become centroids one by one. "random": rows.
        "naive": k-means, whose centroids are then decomposed
        (:func:`~polymeans.decompose_centroids`). A list of p arrays of shapes (h_q, n_features), or
        a callable ``init(X, n_protocentroids, random_state)`` that returns one; both make the fit
        one plain descent.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is kept. "auto": 10 for "random" and callables, 1
        otherwise.
    effort : float, default=1.0
        Multiple of the usual work that goes into finding a start: 0.25 is quick, 4 is thorough.
    max_iter : int, default=300
        Iterations of one start at most.
    tol : float, default=1e-4
        Stop when the squared shifts of all centroids add up to no more than this times the mean
        variance of the features, or when no label changes.
    store_centroids : "auto" or bool, default="auto"
        Products on dense rows: whether to keep all centroids and their sums (``16 * Πh *
        n_features`` bytes or so) or to build them a few at a time, which is slower. The labels are
        the same, the rest up to rounding. "auto" keeps them up to 1 GiB. Products on sparse rows
        are always kept.
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
    protocentroids_ : list of p ndarray of shape (h_q, n_features)
        The vectors all centroids are made of, in the dtype of the data. What could be shifted from
        set to set is fixed: for sums, all sets but the first have mean zero (weighted by their
        rows); for products, they have unit root mean square in each feature and a non-negative
        sum.
    cluster_weights_ : ndarray of shape (n_clusters_,)
        Total weight of the rows of each cluster; after ``partial_fit``, what ``half_life`` has
        left of it.
    labels_ : ndarray of shape (n_samples,), int32
        Nearest centroid of each row, numbered in C order: ``numpy.ravel_multi_index`` of its
        protolabels. Numbers of combinations without rows are missing.
    protolabels_ : ndarray of shape (n_samples, p), int32
        The protocentroid of each set a row's centroid is made of.
    inertia_ : float
        Weighted sum of squared distances to the nearest centroid.
    n_iter_ : int
        Iterations of the best start on the data.
    n_passes_ : float
        Work of the best start in passes over all rows, the search's trials and moves included
        (not the summary, nor the k-means of "naive").
    n_steps_ : int
        Batches seen by ``partial_fit`` since the last ``fit``, if there was one.
    n_clusters_ : int
        Number of centroids, ``Πh``.
    n_parameters_ : int
        Numbers stored, ``Σh * n_features``.
    compression_ : float
        How many times more free centroids would take, ``Πh / Σh``.
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
    KMeans : Free centroids.
    polymeans.balanced_sizes : Sizes of sets for a given number of clusters.
    polymeans.KhatriRaoSelector : Finds the sizes.

    Notes
    -----
    A protocentroid without rows is moved to the row that is farthest from its centroid, if the data
    allow it. With fewer rows than centroids some centroids have no rows, and a
    ``ConvergenceWarning`` is given.

    References
    ----------
    .. [1] "Khatri-Rao Clustering for Data Summarization".

    Examples
    --------
    >>> from polymeans import KhatriRaoKMeans
    >>> from polymeans.datasets import make_stick_figures
    >>> images, poses = make_stick_figures(300, random_state=0)
    >>> model = KhatriRaoKMeans((3, 3), random_state=0).fit(images)
    >>> [part.shape for part in model.protocentroids_], model.cluster_centers_.shape
    ([(3, 400), (3, 400)], (9, 400))
    >>> model.compression_
    1.5
    """

    def __init__(
        self,
        n_protocentroids: Any = (2, 3),
        *,
        aggregator: str = "sum",
        init: Any = "auto",
        n_init: Any = "auto",
        effort: float = 1.0,
        max_iter: int = 300,
        tol: float = 1e-4,
        store_centroids: Any = "auto",
        half_life: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_protocentroids = n_protocentroids
        self.aggregator = aggregator
        self.init = init
        self.n_init = n_init
        self.effort = effort
        self.max_iter = max_iter
        self.tol = tol
        self.store_centroids = store_centroids
        self.half_life = half_life
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    @property
    def cluster_centers_(self) -> NDArray[Any]:
        """All centroids, in C order; formed at each access."""
        check_is_fitted(self, "protocentroids_")
        dtype = self.protocentroids_[0].dtype
        wide = [part.astype(np.float64) for part in self.protocentroids_]
        largest = np.finfo(dtype).max  # which sums may exceed
        with np.errstate(over="ignore"):
            centers = combine(wide, self._aggregator)
        return np.clip(centers, -largest, largest).astype(dtype)

    @chunk_by_chunk
    def predict_protolabels(self, X: Any) -> NDArray[np.int32]:
        """Protocentroids of each row's nearest centroid.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        protolabels : ndarray of shape (n_samples, p)
            Index into each set.
        """
        return labels_per_set(self.predict(X), self._fitted_sizes)

    def _predict(self, X: Any) -> NDArray[np.int32]:
        labels = None
        if isinstance(X, np.ndarray):
            dense, *sets = in_one_dtype(X, *self.protocentroids_)
            with np.errstate(all="ignore"):
                largest = self._largest_center(sets)
                import_numba()
                labels = label_few_by_grid(dense, sets, self._aggregator, largest)
        return super()._predict(X) if labels is None else labels

    # --- parameters and starts ---------------------------------------------------------------

    _uses_blas = True

    @property
    def _sizes(self) -> tuple[int, ...]:
        """Sizes of the sets, by the parameters."""
        return sizes_of(self.n_protocentroids)

    @property
    def _fitted_sizes(self) -> tuple[int, ...]:
        """Sizes of the fitted sets; the parameter may have changed since."""
        return tuple(len(part) for part in self.protocentroids_)

    @property
    def _n_requested(self) -> int:
        return math.prod(self._sizes)

    def _fix_parameters(self) -> None:
        super()._fix_parameters()
        self._fixed_aggregator = self.aggregator

    @property
    def _aggregator(self) -> str:
        """How fitted protocentroids combine; the parameter may have changed since."""
        return getattr(self, "_fixed_aggregator", self.aggregator)

    def _passes(self) -> int:
        # The search costs some hundred passes over a summary of the rows.
        return 100 if is_name(self.init, "auto") or is_name(self.init, "search") else 1

    def _check_own_parameters(self) -> None:
        check_parameters(self)
        check_stream_parameters(self)

    def _check_unchanged(self) -> None:
        refuse_change("n_protocentroids", self._sizes, self._fitted_sizes)
        refuse_change("aggregator", self.aggregator, self._aggregator)

    @property
    def _combined_by(self) -> str:
        return self._aggregator

    def _check_blocks_suffice(self) -> None:
        refuse_callable_start(self.init)

    def _check_start(self, info: RowsInfo) -> Any:
        warm = self._warm_vectors(info)
        if warm is not None:
            return warm
        if is_name(self.init, "auto"):
            return "search"
        if isinstance(self.init, str) or callable(self.init):
            return self.init
        sets = check_sets(self.init, self._sizes, info.shape[1], info.dtype)
        with np.errstate(over="ignore"):
            largest = self._largest_center(sets)
        limits = np.finfo(info.dtype)
        vanish = largest < limits.tiny and all(part.any() for part in sets)
        if vanish or not largest <= limits.max:
            raise ValueError(
                f"init has protocentroids whose largest {self.aggregator} is {largest:g}, which is "
                f"no normal {info.dtype} number. Divide them by their largest entry."
            )
        return sets

    def _n_runs(self, start: Any) -> int:
        if not isinstance(start, str) and not callable(start):
            return self._runs_from_given()
        if is_name(self.n_init, "auto"):
            return 10 if callable(start) or start == "random" else 1
        return int(self.n_init)

    def _start(self, state: FitState) -> BaseCodebook:
        runner, start, rng = state.runner, state.start, state.rng
        frame = runner.frame
        sizes, stored = self._sizes, self._stores(frame, self._n_requested)
        if callable(start):
            given = call_init(start, state.all_rows(), self.n_protocentroids, rng)
            start = check_sets(given, sizes, frame.n_features, frame.dtype)
        if not isinstance(start, str):
            return make_grid(frame, start, self.aggregator, stored)
        if len(sizes) == 1:
            quick_to_read = "k-means++" if state.in_memory else "k-means||"
            method = start if start in METHODS else quick_to_read
            return codebook_of_rows(runner, choose_rows(runner, method, sizes[0], rng))
        if start == "naive":
            return make_grid(frame, self._decomposed_kmeans(runner, rng), self.aggregator, stored)
        generator = np.random.default_rng(rng.randint(2**31, size=4))
        vectors, passes = search.starting_vectors(
            runner, sizes, self.aggregator, start, float(self.effort), generator
        )
        if self.verbose:
            logger.info("start found by %r, worth %.1f passes over the rows", start, passes)
        state.notes["passes"] = passes
        return grid_codebook(frame, vectors, sizes, self.aggregator, stored=stored)

    def _decomposed_kmeans(self, runner: BaseRunner, rng: Any) -> list[NDArray[Any]]:
        """Protocentroids of the centroids of plain k-means, clusters weighted by their mass."""
        from polymeans.grids.decomposition import decompose_centroids

        n_clusters = min(self._n_requested, int(np.count_nonzero(runner.weights)))
        start = codebook_of_rows(runner, choose_rows(runner, "k-means++", n_clusters, rng))
        run = descend(runner, start, max_iter=self.max_iter, tol=self._shift_tol)
        masses = runner.masses(run.labels, n_clusters)
        used = masses > 0
        return decompose_centroids(
            run.codebook.to_array(runner.frame)[used].astype(np.float64),
            self._sizes,
            aggregator=self.aggregator,
            weights=masses[used],
            random_state=rng,
        ).protocentroids

    def _stores(self, frame: Frame, n_clusters: int) -> bool:
        if not is_name(self.store_centroids, "auto"):
            return bool(self.store_centroids)
        itemsize = frame.dtype.itemsize + 8
        return n_clusters * frame.n_features * itemsize <= _STORED_BYTES

    def _largest_center(self, vectors: list[NDArray[Any]]) -> float:
        if self._aggregator == "sum":
            return super()._largest_center(vectors)
        # All combinations occur: a feature's largest product is that of its largest entries.
        largest = [np.abs(part).max(axis=0).astype(np.float64) for part in vectors]
        with np.errstate(over="ignore"):
            return float(np.prod(largest, axis=0).max())

    def _vectors(self, codebook: BaseCodebook, state: FitState) -> dict[str, Any]:
        return {"protocentroids_": sets_of(codebook, state.frame)}

    def _fitted_vectors(self) -> list[NDArray[Any]]:
        return self.protocentroids_

    def _codebook(self, frame: Frame, vectors: list[NDArray[Any]]) -> BaseCodebook:
        return make_grid(frame, vectors, self._aggregator, self._stores(frame, self._n_centroids))

    def _attributes(self, run: Run, state: FitState) -> dict[str, Any]:
        sets = sets_of(run.codebook, state.frame)
        # Sums are at most p times as large as their members; products of two may be out of range.
        largest = self._largest_center(sets) if self.aggregator == "product" else 0.0
        check_range("Protocentroids (or their products)", sets, largest)
        return {
            **self._labeled(sets, run.labels),
            **weights_of_clusters(run, state),
            "inertia_": run.inertia,
            "n_iter_": run.n_iter,
            "n_steps_": 0,
            "n_passes_": run.n_iter + run.notes.get("passes", 0.0),
            "history_": self._history(run),
        }

    def _labeled(self, vectors: list[NDArray[Any]], labels: NDArray[np.int32]) -> dict[str, Any]:
        return {
            "protocentroids_": vectors,
            "labels_": labels,
            "protolabels_": labels_per_set(labels, self._sizes),
            "n_clusters_": self._n_requested,
            "n_parameters_": int(sum(part.size for part in vectors)),
            "compression_": self._n_requested / sum(self._sizes),
        }

    def _warn(self, run: Run) -> None:
        n_rows, n_clusters = len(run.labels), self._n_requested
        digits = digits_of(run.labels, self._sizes)
        unused = [
            f"{h - len(np.unique(digit))} of {h} in set {q}"
            for q, (h, digit) in enumerate(zip(self._sizes, digits))
            if len(np.unique(digit)) < h
        ]
        if n_clusters > n_rows:
            message = (
                f"n_protocentroids={self._sizes} make {n_clusters} centroids for {n_rows} rows, so "
                "some have none. Use smaller or fewer sets."
            )
        elif unused:
            message = (
                f"Some protocentroids serve no row ({'; '.join(unused)}). Possibly due to "
                "duplicate points in X; use smaller sets."
            )
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=3 + HAS_CALLBACKS)
