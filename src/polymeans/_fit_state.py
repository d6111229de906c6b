"""What a fit holds until it ends, and how a fit that fails leaves the estimator unchanged."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polymeans._compat import HAS_CALLBACKS
from polymeans._rows import FitRows
from polymeans.engine.block_runner import BlockRunner
from polymeans.engine.runners import LocalRunner


@dataclass
class FitState:
    """Everything that belongs to one fit; nothing of it stays on the estimator.

    Estimators derive their own from it for what one start leaves for the next.
    """

    rows: FitRows  #: rows and weights as they are clustered
    start: Any  #: name of a method, callable, or checked vectors or labels
    rng: RandomState
    runner: LocalRunner | BlockRunner = field(init=False)
    notes: dict[str, Any] = field(default_factory=dict)  #: about the present start

    @property
    def in_memory(self) -> bool:
        """Whether all rows are, in one piece."""
        return isinstance(self.rows, tuple)

    def all_rows(self) -> Any:
        """The rows in one container, for what cannot work in parts."""
        assert isinstance(self.rows, tuple)  # others were refused before
        return self.rows[0]

    @property
    def frame(self) -> Any:
        """The frame of the runner."""
        return self.runner.frame


@contextmanager
def matrices_explained(estimator: Any) -> Iterator[None]:
    """Say what to do where a matrix made of the rows cannot be decomposed."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"A matrix of {type(estimator).__name__} is not finite, or nearly so ({error}). "
            "Bring the columns of X to similar scales, by StandardScaler for example."
        ) from error


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Give the estimator all its attributes back if the block raises or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def warn_of_missing_clusters(labels: NDArray[np.int32], n_clusters: int) -> None:
    """Warn if fewer clusters have rows than ``n_clusters``; for :meth:`_warn` to call."""
    n_found = np.count_nonzero(np.bincount(labels))  # sorting a million labels takes longer
    if n_found < n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
            f"({n_clusters}). Possibly due to duplicate points in X; ask for fewer clusters.",
            ConvergenceWarning,
            stacklevel=4 + HAS_CALLBACKS,
        )
