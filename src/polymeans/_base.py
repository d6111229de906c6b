"""What every estimator here shares: checks, restarts, progress, and labels for new rows.

An estimator says what its codebook is and where it starts; the rest is the same for all.
"""

import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
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
from polymeans.codebooks.base import BaseCodebook
from polymeans.core.exact_sums import ExactSum
from polymeans.core.frame import Frame
from polymeans.core.threads import Threads
from polymeans.engine.distances import own_distances
from polymeans.engine.labelling import SMALL_WORK, label_block
from polymeans.engine.lloyd import Run, Step, descend
from polymeans.engine.runners import BlockRunner, LocalRunner
from polymeans.engine.survey import Source, glance

logger = logging.getLogger("polymeans")

#: Multiplications of a call below which a pool of threads costs more than it saves.
_POOLED = 2**24


@dataclass(frozen=True)
class RowsInfo:
    """What can be said about rows without looking at them."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    n_stored: int

    @classmethod
    def of(cls, sources: Sequence[Source]) -> "RowsInfo":
        """Of all rows together."""
        first = sources[0][0]
        n_samples = sum(X.shape[0] for X, _ in sources)
        n_stored = sum(X.nnz if sp.issparse(X) else X.size for X, _ in sources)
        return cls((n_samples, first.shape[1]), first.dtype, n_stored)


@dataclass
class FitState:
    """What a fit knows until it ends; nothing of it stays on the estimator.

    Subclasses of the estimator add what they want to remember between starts.
    """

    sources: Sequence[Source]  #: rows and weights as they are clustered
    start: Any  #: name of a method, callable, or checked vectors or labels
    rng: RandomState
    runner: LocalRunner | BlockRunner = field(init=False)
    notes: dict[str, Any] = field(default_factory=dict)  #: about the present start

    def all_rows(self) -> Any:
        """The rows of all sources together, for what cannot work in parts."""
        return stacked_rows(self.sources)

    @property
    def frame(self) -> Any:
        """The frame of the runner."""
        return self.runner.frame


def stacked_rows(sources: Sequence[Source]) -> Any:
    """The rows of all sources in one container."""
    rows = [X for X, _ in sources]
    if len(rows) == 1:
        return rows[0]
    return sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """An error or interrupt inside leaves the estimator exactly as it was."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class CentroidEstimator(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
    ABC,
):
    """Base of estimators that run Lloyd's loop over some codebook.

    Subclasses give the abstract methods below; those after them may be changed.
    """

    #: Rows count by their direction only.
    _spherical: bool = False
    #: Small matrices are solved along the way.
    _uses_blas: ClassVar[bool] = False
    #: How labels are found, where there is a choice.
    _algorithm: str = "auto"
    #: What a fit remembers.
    _state_class: ClassVar[type[FitState]] = FitState

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
            Fitted estimator. If the fit fails or is interrupted, the estimator is as it was.
        """
        with all_or_nothing(self):
            self._check_parameters()
            X = check_rows(self, X, reset=True)
            weights = check_weights(sample_weight, X)
            data = {"X": X, "metadata": {"sample_weight": sample_weight}}
            best = self._fit([(X, weights)], data)
        self._warn(best)
        return self

    def _fit(self, sources: Sequence[Source], data: dict[str, Any], blocks: bool = False) -> Run:
        """Fit to checked rows, in one piece or (``blocks``) block by block."""
        info = RowsInfo.of(sources)
        start = self._check_start(info)
        n_runs = self._n_runs(start)
        rng = check_random_state(self.random_state)
        progress = FitProgress(self, n_runs, self.max_iter, data)
        state = self._state_class(sources, start, rng)
        best: Run | None = None
        work = self._passes() * info.n_stored * self._n_centroids
        with self._threads(work):
            self._find_space(state)
            given = not isinstance(start, str) and not callable(start)
            reach = self._reach(start) if given and not self._spherical else 0.0
            if blocks:
                state.runner = BlockRunner(state.sources, self._spherical, reach)
            else:
                state.runner = LocalRunner(*state.sources[0], self._spherical, reach)
            for number in range(n_runs):
                progress.begin_run()
                state.notes = {}
                codebook = self._start(state)
                if number == n_runs - 1:
                    state.runner.release()
                run = descend(
                    state.runner,
                    codebook,
                    algorithm=self._algorithm,
                    max_iter=self.max_iter,
                    tol=self._shift_tol,
                    on_step=lambda step, book: self._report(step, progress, book, state),
                )
                run.notes = state.notes
                run = self._refined(run, state)
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
                if progress.end_run(lambda run=run: self._attributes(run, state)):
                    break
            attributes = self._attributes(best, state)
        for name, value in attributes.items():
            setattr(self, name, value)
        progress.end(lambda: attributes)
        return best

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

    # --- what subclasses give ----------------------------------------------------------------

    @property
    @abstractmethod
    def _n_centroids(self) -> int:
        """Centroids that are asked for."""

    @abstractmethod
    def _check_own_parameters(self) -> None:
        """Raise if a parameter cannot be used, whatever the rows are."""

    @abstractmethod
    def _check_start(self, info: RowsInfo) -> Any:
        """The start: a method's name, a callable, or vectors or labels checked for these rows."""

    @abstractmethod
    def _n_runs(self, start: Any) -> int:
        """How many starts to make."""

    @abstractmethod
    def _start(self, state: FitState) -> BaseCodebook:
        """The codebook of one start."""

    @abstractmethod
    def _vectors(self, codebook: BaseCodebook, state: FitState) -> dict[str, Any]:
        """Attributes that ``predict`` needs, for callbacks in the middle of a fit."""

    @abstractmethod
    def _attributes(self, run: Run, state: FitState) -> dict[str, Any]:
        """Everything a fit leaves on the estimator."""

    @abstractmethod
    def _fitted_vectors(self) -> list[NDArray[Any]]:
        """What the fitted centroids are made of."""

    @abstractmethod
    def _codebook(self, frame: Frame, vectors: list[NDArray[Any]]) -> BaseCodebook:
        """The fitted centroids, for rows of this frame."""

    @abstractmethod
    def _warn(self, run: Run) -> None:
        """Say what the user should know about the outcome."""

    # --- what subclasses may change ----------------------------------------------------------

    def _find_space(self, state: FitState) -> None:
        """Replace the state's sources by rows in the coordinates they are clustered in."""

    def _into_space(self, X: Any) -> Any:
        """Rows in the coordinates the fit has chosen."""
        return X

    def _refined(self, run: Run, state: FitState) -> Run:
        """What a start has found, improved by other means."""
        return run

    def _passes(self) -> int:
        """How many passes over the rows a fit is worth, compared with a plain one."""
        return 1

    def _distances(self, X: Any, centers: NDArray[Any]) -> NDArray[Any]:
        return euclidean_distances(X, centers)

    @property
    def _shift_tol(self) -> float:
        """Shift of the centroids, relative to the spread of the rows, at which to stop."""
        return self.tol

    def _kind_of(self, codebook: BaseCodebook) -> str | None:
        """How new rows find their centroid; None: as the codebook says."""
        return None

    def _yardstick(self, frame: Frame, codebook: BaseCodebook) -> BaseCodebook:
        """What rows are measured from, given the codebook that labelled them."""
        return codebook

    def _reach(self, vectors: Any) -> float:
        """Largest coordinate a centroid made of these vectors can have."""
        return sum(float(np.abs(part).max()) for part in vectors)

    def _inertia_scale(self) -> float:
        """What the engine's squared distances are multiplied by."""
        return 1.0

    # --- the parts of a fit ------------------------------------------------------------------

    def _threads(self, work: int) -> Threads:
        # The result does not depend on it, and a pool takes longer to start than little work.
        return Threads(1 if work < _POOLED else self.n_threads, self._uses_blas)

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
                stacklevel=5 + HAS_CALLBACKS,
            )
        return 1

    def _report(
        self, step: Step, progress: FitProgress, codebook: BaseCodebook, state: FitState
    ) -> bool:
        if isinstance(self.verbose, Integral) and self.verbose > 1:
            logger.info("inertia %.6g, %d rows moved", step.inertia, step.n_moved)
        return progress.step(lambda: self._vectors(codebook, state))

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
        inertia = np.nan
        with self._threads(work_of(X, self._n_centroids)):
            X = self._into_space(X)
            reach = 0.0 if self._spherical else self._reach(vectors)
            small = not measure and is_small(X, self._n_centroids)
            block = glance(X, weights, self._spherical, reach, exact_only=small)
            codebook = self._codebook(block.frame, vectors)
            labels = label_block(block, codebook, self._kind_of(codebook))
            if measure:
                yardstick = self._yardstick(block.frame, codebook)
                distances = own_distances(block, yardstick, labels)
                inertia = block.frame.to_user(float(ExactSum.of(distances, block.weights)))
        return labels, inertia * self._inertia_scale()


def work_of(X: Any, n_clusters: int) -> int:
    """Multiplications of one pass over the rows."""
    return (X.nnz if sp.issparse(X) else X.size) * n_clusters


def is_small(X: Any, n_clusters: int) -> bool:
    """Whether exact scores of all rows cost less than preparing for faster ones."""
    return work_of(X, n_clusters) < SMALL_WORK


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
