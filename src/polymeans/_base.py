"""What all estimators share: the fit with its restarts and progress, and labels for new rows.

An estimator gives its codebook and its starts; the rest is the same for all.
"""

import logging
import math
import warnings
from collections.abc import Callable, Iterator
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)

from polymeans._compat import (
    HAS_CALLBACKS,
    CallbackSupportMixin,
    FitProgress,
    in_output_container,
    with_callbacks,
)
from polymeans._distances import DistancesMixin, distances_between, in_one_dtype
from polymeans._first_import import import_numba
from polymeans._fit_state import FitState, all_or_nothing, matrices_explained
from polymeans._hooks import EstimatorHooks
from polymeans._parts_output import OutputOfParts
from polymeans._progress import visible_logs
from polymeans._rows import (
    FitRows,
    RowsInfo,
    checked_blocks,
    chunk_by_chunk,
    in_input_form,
    is_blocks,
    is_dask,
    is_in_parts,
    on_dask,
    rows_to_fit,
)
from polymeans._validation import (
    check_finite,
    check_integer,
    check_n_threads,
    check_real,
    check_rows,
    check_seed,
    check_verbose,
    check_weights,
    is_name,
    refuse_bad_seed,
    refuse_unfitted,
)
from polymeans.codebooks.base import BaseCodebook
from polymeans.core.exact_sums import ExactSum
from polymeans.core.threads import Threads
from polymeans.engine.block_runner import BlockRunner
from polymeans.engine.journal import Journal
from polymeans.engine.labeling import SMALL_WORK, label_block, n_multiplications
from polymeans.engine.lloyd import Run, Step, descend, is_better
from polymeans.engine.measured import Measured
from polymeans.engine.new_rows import label_new_rows
from polymeans.engine.placement import Kept
from polymeans.engine.prepared import RawBlock
from polymeans.engine.runners import LocalRunner
from polymeans.engine.survey import glance

logger = logging.getLogger("polymeans")

#: Multiplications of a call below which one thread does all of them: that few take about as long
#: as starting a pool of threads, see docs/explanation/constants.rst.
_POOLED = 2**20


class CentroidEstimator(
    OutputOfParts,
    DistancesMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
    EstimatorHooks,
):
    """Base of estimators that run Lloyd's loop over some codebook.

    Subclasses give the abstract methods of :class:`~polymeans._hooks.EstimatorHooks`.
    """

    #: Fits solve small linear systems, for which BLAS gets one thread.
    _uses_blas: ClassVar[bool] = False
    #: Which entries extreme rows are measured in: searches for a structure square all of them.
    _unit_of: ClassVar[Literal["typical", "largest"]] = "largest"
    #: What a fit holds until it ends.
    _state_class: ClassVar[type[FitState]] = FitState

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> Self:
        """Find the clusters.

        Weights of rows count in seeding, centroids, inertia and stopping.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts. None: all alike.
        checkpoint : path, default=None
            Folder where the fit is recorded after each iteration. If it was killed or
            interrupted, the same call goes on from there, to the same bits; ``max_iter`` may be
            larger then. The folder is removed when the fit is done.

        Returns
        -------
        self : estimator
            Fitted estimator. If the fit fails or is interrupted, the estimator is as it was.
        """
        with visible_logs(self.verbose), all_or_nothing(self):
            self._check_parameters()
            journal = None if checkpoint is None else Journal(checkpoint)
            if is_in_parts(X):
                self._check_blocks_suffice()
            with rows_to_fit(self, X, sample_weight) as rows:
                named = hasattr(self, "feature_names_in_")
                data = {
                    # Rows without the names that were given would be warned about in callbacks.
                    "X": rows[0] if isinstance(rows, tuple) and not named else X,
                    "y": y,
                    "metadata": None if sample_weight is None else {"sample_weight": sample_weight},
                }
                with matrices_explained(self):
                    best = self._fit(rows, data, journal)
        if journal is not None:
            journal.remove()
        self._warn(best)
        return self

    def _fit(self, rows: FitRows, data: dict[str, Any], journal: Journal | None = None) -> Run:
        """Fit to checked rows, in one piece or block by block."""
        self._fix_parameters()
        info = RowsInfo.of(rows)
        start = self._check_start(info)
        n_runs = self._n_runs(start)
        rng = check_seed(self.random_state)
        if journal is not None:
            journal.begin(rng)
            journal.expect("parameters", self._identity(), grows=("max_iter",))
        progress = FitProgress(self, n_runs, self.max_iter, data)
        state = self._state_class(rows, start, rng)
        best: Run | None = None
        work = self._passes() * info.n_stored * self._n_requested
        # Squares of extreme values may be out of range: what is infinite then is looked after.
        with self._threads(work), np.errstate(all="ignore"):
            self._find_space(state)
            given = not isinstance(start, str) and not callable(start)
            largest = self._largest_center(start) if given and not self._spherical else 0.0
            how = self._spherical, largest, self._unit_of
            if isinstance(state.rows, tuple):
                state.runner = LocalRunner(state.rows[0], state.rows[1], *how)
            else:
                state.runner = BlockRunner(state.rows, *how)
            if journal is not None:
                order = {"order": state.runner.order_digest()}
                journal.expect("rows", state.frame.identity() | order)
                state.runner.journal = journal
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
                    on_step=self._observer(progress, state),
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
                if best is None or is_better(run, best):
                    best = run
                if progress.end_run(lambda run=run: self._attributes(run, state)):
                    break
            assert best is not None  # there is one run at least
            self._settle(best, state, rows)
            attributes = in_input_form(rows, self._attributes(best, state))
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
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts. None: all alike.

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
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts. None: all alike.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distance of each row to each centroid.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    @chunk_by_chunk
    def predict(self, X: Any) -> NDArray[np.int32]:
        """Nearest centroid of each row.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the nearest centroid, the lowest among equals.
        """
        refuse_unfitted(self)
        if is_blocks(X):
            return np.concatenate([self._predict(rows) for rows, _ in checked_blocks(self, X)])
        return self._predict(check_rows(self, X, reset=False, finite=False))

    def _predict(self, X: Any) -> NDArray[np.int32]:
        """Labels of rows that need not be checked for NaN and infinity."""
        labels = None
        table = self._label_table()
        if table is not None and isinstance(X, np.ndarray):
            X, table = in_one_dtype(X, table)
            with self._threads(X.size * len(table)), np.errstate(all="ignore"):
                labels = label_new_rows(X, table)
        if labels is None:
            check_finite(self, X)
            labels = self._label(X, np.ones(X.shape[0]))[0]
        return labels

    @chunk_by_chunk
    def transform(self, X: Any) -> NDArray[Any] | Iterator[NDArray[Any]]:
        """Distance of each row to each centroid.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Euclidean distances (cosine distances where the estimator's metric is "cosine"). For
            blocks an iterator of arrays, or of frames if ``set_output`` asks for them; for Dask
            collections a Dask array in any case.
        """
        refuse_unfitted(self)
        if is_blocks(X):
            blocks = checked_blocks(self, X)
            return (in_output_container(self, self._transform(rows), rows) for rows, _ in blocks)
        return self._transform(check_rows(self, X, reset=False))

    def _transform(self, X: Any) -> NDArray[Any]:
        """Distances of checked rows to each centroid."""
        centers = self.cluster_centers_
        with self._threads(n_multiplications(X, len(centers))):
            return distances_between(X, centers, X.dtype, self._spherical)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the inertia of the rows: the larger, the better they are represented.

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
            Minus the weighted sum of squared (or cosine) distances.
        """
        refuse_unfitted(self)
        if is_dask(X):
            return on_dask().score(self, X, sample_weight)
        if is_blocks(X):
            parts = [self._measured(*block) for block in checked_blocks(self, X, sample_weight)]
            return -float(sum(parts[1:], parts[0]))
        X = check_rows(self, X, reset=False)
        return -float(self._measured(X, check_weights(sample_weight, X)))

    def _measured(self, X: Any, weights: NDArray[np.float64]) -> Measured | ExactSum:
        """What minus the score of checked rows is; those of parts add up."""
        return self._label(X, weights, measure=True)[1]

    @property
    def _n_features_out(self) -> int:
        return self._n_centroids

    @property
    def _n_centroids(self) -> int:
        """Number of fitted centroids; parameters may have changed since the fit."""
        return math.prod(len(part) for part in self._fitted_vectors())

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # --- the parts of a fit ------------------------------------------------------------------

    def _threads(self, work: int) -> Threads:
        import_numba()
        return Threads(1 if work < _POOLED else self.n_threads, self._uses_blas)

    def _check_parameters(self) -> None:
        self._check_own_parameters()
        if not is_name(self.n_init, "auto"):
            check_integer("n_init", self.n_init, 1, 'Use "auto" if unsure.')
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0.0, "Use 0 to run until no label changes.")
        refuse_bad_seed(self.random_state)
        check_n_threads(self.n_threads)
        check_verbose(self.verbose)

    def _runs_from_given(self) -> int:
        """One run from explicit vectors, whatever ``n_init`` is."""
        if self.n_init not in ("auto", 1):
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=5 + HAS_CALLBACKS,
            )
        return 1

    def _identity(self) -> dict[str, Any]:
        """What the result depends on apart from the rows."""
        parameters = self.get_params(deep=False)
        kept = {name: parameters[name] for name in parameters.keys() - {"n_threads", "verbose"}}
        return kept | {"class": type(self).__name__}

    def _settle(self, run: Run, state: Any, rows: FitRows) -> None:
        """Give rows of extreme scale the labels that ``predict`` will give them.

        In the unit of the largest entries small centroids may have lost digits, which in the
        unit of new rows they have; rows without weight may have been hidden from the fit.
        """
        if state.frame.unit == 1.0 and not state.frame.hides:
            return
        for name, value in self._vectors(run.codebook, state).items():
            setattr(self, name, value)
        if isinstance(rows, tuple):
            run.labels = self._label(*rows)[0]
            return
        rows.see(None)  # as they were given
        run.labels = np.concatenate(rows.map(label_as_new, self))
        if state.runner.placement is rows:
            rows.see(state.frame)

    def _observer(
        self, progress: FitProgress, state: Any
    ) -> Callable[[Step, BaseCodebook], bool] | None:
        """What is called after each iteration; None if nothing would come of it."""
        is_quiet = not (isinstance(self.verbose, Integral) and int(self.verbose) > 1)
        own_report = type(self)._report is not CentroidEstimator._report
        if is_quiet and not own_report and not progress.is_watched:
            return None
        return lambda step, book: self._report(step, progress, book, state)

    def _report(self, step: Step, progress: FitProgress, codebook: Any, state: Any) -> bool:
        if isinstance(self.verbose, Integral) and int(self.verbose) > 1:
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
    ) -> tuple[NDArray[np.int32], Measured]:
        """Labels for the fitted centroids, and the inertia if ``measure``."""
        X, *vectors = in_one_dtype(X, *self._fitted_vectors())
        inertia = Measured(ExactSum(), (np.nan,))
        with self._threads(n_multiplications(X, self._n_centroids)), np.errstate(all="ignore"):
            X = self._into_space(X)
            largest = 0.0 if self._spherical else self._largest_center(vectors)
            # Exact scores of few rows cost less than preparing for faster ones.
            small = not measure and n_multiplications(X, self._n_centroids) < SMALL_WORK
            block = glance(X, weights, self._spherical, largest, exact_only=small)
            codebook = self._codebook(block.frame, vectors)
            labels = label_block(block, codebook, self._kind_of(codebook))
            if measure:
                centers = self._inertia_codebook(block.frame, codebook)
                inertia = Measured.of(block, centers, labels, self._inertia_scale())
        return labels, inertia


def label_as_new(raw: RawBlock, kept: Kept, estimator: CentroidEstimator) -> NDArray[np.int32]:
    """Labels that a fitted estimator gives to the rows of a block."""
    return estimator._label(raw.rows, np.ones(raw.rows.shape[0]))[0]
