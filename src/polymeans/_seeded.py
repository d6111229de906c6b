"""The part of estimators that start from k rows: drawing them, and checking given centroids."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._base import CentroidEstimator
from polymeans._fit_state import FitState, warn_of_missing_clusters
from polymeans._rows import RowsInfo, refuse_callable_start
from polymeans._validation import (
    call_init,
    check_choice,
    check_initial_centers,
    check_integer,
    is_name,
)
from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.numerators import NumeratorCodebook
from polymeans.core.frame import Frame
from polymeans.engine.assignment import make_codebook
from polymeans.engine.lloyd import Run
from polymeans.engine.seeding import METHODS, choose_rows, codebook_of_rows


class SeededEstimator(CentroidEstimator):
    """Base of estimators with parameters ``n_clusters``, ``init`` and ``n_init``."""

    @property
    def _n_requested(self) -> int:
        return self.n_clusters

    def _check_own_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1)
        if isinstance(self.init, str):
            choices = ("auto", *METHODS)
            check_choice("init", self.init, choices, "Or give an array or a callable.")

    def _check_blocks_suffice(self) -> None:
        refuse_callable_start(self.init)

    def _check_start(self, info: RowsInfo) -> Any:
        if info.shape[0] < self.n_clusters:
            raise ValueError(
                f"n_samples={info.shape[0]} should be >= n_clusters={self.n_clusters}. "
                "Ask for fewer clusters or give more rows."
            )
        return self._check_init(info)

    def _check_init(self, info: RowsInfo) -> Any:
        """The same for any number of rows."""
        if is_name(self.init, "auto"):
            return "k-means++" if info.in_memory else "k-means||"
        if isinstance(self.init, str) or callable(self.init):
            return self.init
        return [self._check_centers(self.init, info.shape[1], info.dtype)]

    def _check_centers(self, centers: Any, n_features: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        choices = (
            f"one of {', '.join(map(repr, ('auto', *METHODS)))}, a callable, or an array of shape "
            "(n_clusters, n_features)"
        )
        shape = (self.n_clusters, n_features)
        meaning = "(n_clusters, n_features)"
        return check_initial_centers("init", centers, shape, meaning, choices, dtype)

    def _n_runs(self, start: Any) -> int:
        if not isinstance(start, str) and not callable(start):
            return self._runs_from_given()
        if is_name(self.n_init, "auto"):
            return 10 if callable(start) or start == "random" else 1
        return int(self.n_init)

    def _free_start(self, state: FitState) -> DenseCodebook | NumeratorCodebook:
        """Free centroids to begin with."""
        start, runner = state.start, state.runner
        if isinstance(start, str):
            n_seeds = min(self.n_clusters, runner.frame.n_samples)
            chosen = choose_rows(runner, start, n_seeds, state.rng)
            # With fewer rows than clusters, which partial_fit allows, the others wait for rows at
            # the place of the first: of equal centroids the first one gets the rows.
            chosen = np.append(chosen, np.repeat(chosen[:1], self.n_clusters - n_seeds))
            return codebook_of_rows(runner, chosen)
        if callable(start):
            frame = runner.frame
            given = call_init(start, state.all_rows(), self.n_clusters, state.rng)
            start = [self._check_centers(given, frame.n_features, frame.dtype)]
        return make_codebook(runner.frame, start[0])

    def _vectors(self, codebook: BaseCodebook, state: FitState) -> dict[str, Any]:
        return {"cluster_centers_": codebook.to_array(state.frame)}

    def _fitted_vectors(self) -> list[NDArray[Any]]:
        return [self.cluster_centers_]

    def _codebook(self, frame: Frame, vectors: list[NDArray[Any]]) -> BaseCodebook:
        return make_codebook(frame, vectors[0])

    def _warn(self, run: Run) -> None:
        warn_of_missing_clusters(run.labels, self.n_clusters)
