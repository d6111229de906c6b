"""What every estimator here shares: checks, restarts, progress, and labels for new rows.

An estimator says what its codebook is and where it starts; the rest is the same for all.
"""

import logging
import warnings
from numbers import Integral
from typing import Any, Self

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
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import check_is_fitted

from polymeans._compat import HAS_CALLBACKS, CallbackSupportMixin, FitProgress, with_callbacks
from polymeans._validation import (
    check_integer,
    check_n_threads,
    check_real,
    check_rows,
    check_weights,
)
from polymeans.engine.assignment import make_assigner, make_rows
from polymeans.engine.lloyd import Run, descend
from polymeans.engine.relocation import own_distances
from polymeans.engine.threads import Threads

logger = logging.getLogger("polymeans")

#: Multiplications of one pass below which a pool of threads costs more than it saves, and below
#: which bringing centroids into panels does.
_POOLED, SMALL_WORK = 2**24, 2**21


class CentroidEstimator(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Base of estimators that run Lloyd's loop over some codebook.

    Subclasses give ``_n_centroids``, ``_check_own_parameters``, ``_check_start``, ``_n_runs``,
    ``_start``, ``_fitted_vectors``, ``_codebook``, ``_attributes`` and ``_warn``.
    """

    #: Rows count by their direction only.
    _spherical = False
    #: Small matrices are solved along the way.
    _uses_blas = False
    #: How labels are found, where there is a choice.
    _algorithm = "auto"

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
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
        self : estimator
            Fitted estimator.
        """
        self._check_parameters()
        X = check_rows(self, X, reset=True)
        weights = check_weights(sample_weight, X)
        start = self._check_start(X)
        n_runs = self._n_runs(start)
        rng = check_random_state(self.random_state)
        progress = FitProgress(
            self, n_runs, self.max_iter, {"X": X, "metadata": {"sample_weight": sample_weight}}
        )
        best: Run | None = None
        with self._threads(X) as threads:
            given = not isinstance(start, str) and not callable(start)
            reach = self._reach(start) if given else 0.0
            X, weights, context = self._find_space(X, weights, threads, rng)
            rows = make_rows(X, weights, threads, self._spherical, reach)
            rows.context = context
            for number in range(n_runs):
                progress.begin_run()
                codebook = self._start(X, rows, start, rng)
                if number == n_runs - 1:
                    rows.release()
                run = descend(
                    rows,
                    codebook,
                    algorithm=self._algorithm,
                    max_iter=self.max_iter,
                    tol=self._shift_tol,
                    on_step=lambda step, book: self._report(step, progress, book, rows),
                )
                run = self._refined(run, rows)
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
        X = check_rows(self, X, reset=False)
        return self._label(X, np.ones(X.shape[0]))[0]

    def transform(self, X: Any) -> NDArray[Any]:
        """Distance of each row to each centroid.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to measure.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Euclidean distances (cosine distances where the estimator's metric is "cosine").
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        return self._distances(X, self.cluster_centers_.astype(X.dtype, copy=False))

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
            Minus the weighted sum of squared (or cosine) distances.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        _, inertia = self._label(X, check_weights(sample_weight, X), measure=True)
        return -inertia

    @property
    def _n_features_out(self) -> int:
        return self._n_centroids

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # --- what subclasses may change ----------------------------------------------------------

    def _find_space(
        self, X: Any, weights: NDArray[np.float64], threads: Threads, rng: Any
    ) -> tuple[Any, NDArray[np.float64], Any]:
        """Rows in the coordinates they are clustered in, their weights, and what to remember."""
        return X, weights, None

    def _into_space(self, X: Any) -> Any:
        """Rows in the coordinates the fit has chosen."""
        return X

    def _refined(self, run: Run, rows: Any) -> Run:
        """What a start has found, improved by other means."""
        return run

    def _passes(self) -> int:
        """How many passes over the rows one call is worth, compared with a plain one."""
        return 1

    def _distances(self, X: Any, centers: NDArray[Any]) -> NDArray[Any]:
        return euclidean_distances(X, centers)

    @property
    def _shift_tol(self) -> float:
        """Shift of the centroids, relative to the spread of the rows, at which to stop."""
        return self.tol

    def _assigner(self, rows: Any, codebook: Any) -> Any:
        """How many new rows are labelled."""
        return make_assigner(rows, codebook, "lloyd")

    def _yardstick(self, rows: Any, codebook: Any) -> Any:
        """What rows are measured from, given the codebook that labelled them."""
        return codebook

    def _reach(self, vectors: list[NDArray[Any]]) -> float:
        """Largest coordinate a centroid made of these vectors can have."""
        return sum(float(np.abs(part).max()) for part in vectors)

    def _inertia_scale(self) -> float:
        """What the engine's squared distances are multiplied by."""
        return 1.0

    # --- the parts of a fit ------------------------------------------------------------------

    def _threads(self, X: Any) -> Threads:
        # The result does not depend on it, and a pool takes longer to start than little work.
        little = self._passes() * work_of(X, self._n_centroids) < _POOLED
        return Threads(1 if little else self.n_threads, self._uses_blas)

    def _check_parameters(self) -> None:
        self._check_own_parameters()
        if not is_name(self.n_init, "auto"):
            check_integer("n_init", self.n_init, 1, 'Use "auto" if unsure.')
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0.0, "Use 0 to run until no label changes.")
        check_n_threads(self.n_threads)
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, 0, "1 logs each start, 2 each iteration.")

    def _runs_from_given(self) -> int:
        """One run from explicit vectors, whatever was asked for."""
        if self.n_init not in ("auto", 1):
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=4 + HAS_CALLBACKS,
            )
        return 1

    def _report(self, step: Any, progress: FitProgress, codebook: Any, rows: Any) -> bool:
        if isinstance(self.verbose, Integral) and self.verbose > 1:
            logger.info("inertia %.6g, %d rows moved", step.inertia, step.n_moved)
        return progress.step(lambda: self._vectors(codebook, rows))

    def _history(self, run: Run) -> NDArray[Any]:
        scale = self._inertia_scale()
        return np.array(
            [(scale * s.inertia, s.n_moved, s.shift, s.seconds) for s in run.steps],
            dtype=[("inertia", "f8"), ("n_moved", "i8"), ("shift", "f8"), ("seconds", "f8")],
        )

    def _label(
        self, X: Any, weights: NDArray[np.float64], measure: bool = False
    ) -> tuple[NDArray[np.int32], float]:
        """Labels for the fitted centroids, and the inertia if wanted."""
        vectors = self._fitted_vectors()
        # Labels are defined for centroids as they are fitted: of two dtypes the wider one counts.
        if X.dtype != vectors[0].dtype:
            X = X.astype(np.float64, copy=False)
            vectors = [part.astype(np.float64, copy=False) for part in vectors]
        labels = np.full(X.shape[0], -1, dtype=np.int32)
        with self._threads(X) as threads:
            X = self._into_space(X)
            rows = make_rows(X, weights, threads, self._spherical, self._reach(vectors))
            codebook = self._codebook(rows, vectors)
            if work_of(X, self._n_centroids) < SMALL_WORK:
                from polymeans.kernels import sums

                sums.assign_exact(rows.arrays, codebook.book, 0, rows.n_samples, labels)
            else:
                self._assigner(rows, codebook).assign(codebook, labels, labels)
            labels[rows.directionless] = 0
            inertia = np.nan
            if measure:
                distances = own_distances(rows, self._yardstick(rows, codebook), labels)
                inertia = float(np.sum(distances * rows.weights)) * rows.unit * rows.unit
        return labels, inertia * self._inertia_scale()


def work_of(X: Any, n_clusters: int) -> int:
    """Multiplications of one pass over the rows."""
    return (X.nnz if sp.issparse(X) else X.size) * n_clusters


def is_name(value: Any, name: str) -> bool:
    """Whether ``value`` is this string (arrays do not compare to strings)."""
    return isinstance(value, str) and value == name


def warn_of_missing_clusters(labels: NDArray[np.int32], n_clusters: int) -> None:
    """Say so where rows are too much alike for the clusters asked for; called by ``_warn``."""
    n_found = len(np.unique(labels))
    if n_found < n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
            f"({n_clusters}). Possibly due to duplicate points in X; ask for fewer clusters.",
            ConvergenceWarning,
            stacklevel=4 + HAS_CALLBACKS,
        )


def checked_array(
    name: str, value: Any, shape: tuple[int, ...], meaning: str, choices: str, dtype: Any
) -> NDArray[Any]:
    """``value`` as a finite array of the wanted shape, or an error that says what is wrong."""
    if sp.issparse(value):
        value = value.toarray()
    if np.iscomplexobj(value):
        raise ValueError(f"{name} is complex; initial centers must be real numbers.")
    try:
        array = np.asarray(value, dtype=dtype, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be {choices}, got {type(value).__name__}: {error}."
        ) from None
    if array.shape != shape:
        raise ValueError(
            f"The shape of the initial centers, {name}: {array.shape}, does not match "
            f"{meaning} = {shape}. Give one row for each of them."
        )
    assert_all_finite(array, input_name=name)
    return array


def _is_better(run: Run, best: Run) -> bool:
    """Lower inertia, and not merely the same clusters summed in another order."""
    if run.inertia >= best.inertia:
        return False
    if run.inertia < best.inertia * (1 - 1e-6):
        return True
    forward = np.full(run.codebook.n_clusters, -1)
    forward[run.labels] = best.labels
    return bool((forward[run.labels] != best.labels).any())
