"""What a fit holds until it ends, and how a fit that fails leaves the estimator unchanged."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState

from polymeans.engine.prepared import Source
from polymeans.engine.runners import BlockRunner, LocalRunner


@dataclass(frozen=True)
class RowsInfo:
    """What is known about rows without a pass over them."""

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
    """Everything that belongs to one fit; nothing of it stays on the estimator.

    Estimators derive their own from it for what one start leaves for the next.
    """

    sources: Sequence[Source]  #: rows and weights as they are clustered
    start: Any  #: name of a method, callable, or checked vectors or labels
    rng: RandomState
    runner: LocalRunner | BlockRunner = field(init=False)
    notes: dict[str, Any] = field(default_factory=dict)  #: about the present start

    def all_rows(self) -> Any:
        """The rows of all sources in one container, for what cannot work in parts."""
        rows = [X for X, _ in self.sources]
        if len(rows) == 1:
            return rows[0]
        return sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)

    @property
    def frame(self) -> Any:
        """The frame of the runner."""
        return self.runner.frame


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
