"""The one loop: assign, add up, refit, until nothing moves.

It depends neither on where rows are nor on what a codebook is: threads, sparse data, bounds, blocks
and structured centroids are properties of runners and codebooks.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook
from polymeans.core.statistics import Statistics
from polymeans.engine.relocation import relocations
from polymeans.engine.runners import BaseRunner

logger = logging.getLogger("polymeans")

#: The closed form of the inertia is a difference of totals: good to ten digits as long as this
#: share of them is left.
_ACCURATE = 1e-4

#: Relative difference of inertia that rounding centroids to float32 can cause: below it, a run is
#: better than another only if its clusters are others.
_ROUNDING = 1e-6


@dataclass
class Step:
    """One iteration: what it found, before the centroids moved."""

    inertia: float
    n_moved: int
    shift: float
    seconds: float


@dataclass
class Run:
    """Outcome of one descent."""

    codebook: Any  #: of the kind that the descent was given
    labels: NDArray[np.int32]
    inertia: float
    converged: bool
    n_relocated: int
    steps: list[Step] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)  #: what an estimator keeps about it

    @property
    def n_iter(self) -> int:
        """Iterations run."""
        return len(self.steps)


def descend(
    runner: BaseRunner,
    codebook: BaseCodebook,
    *,
    algorithm: str = "auto",
    max_iter: int = 300,
    tol: float = 1e-4,
    on_step: Callable[[Step, BaseCodebook], bool] | None = None,
) -> Run:
    """Lloyd's algorithm from the given codebook.

    Parameters
    ----------
    runner : Runner
        Has the rows.
    codebook : codebook
        Where to start; changed in place.
    algorithm : str
        How labels are found, see :mod:`polymeans.engine.assignment`. The result does not depend
        on it.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the squared shifts of all centroids add up to no more than this share of the
        mean variance of the features.
    on_step : callable, default=None
        Called with each :class:`Step` and the codebook; a true value stops the descent.

    Returns
    -------
    Run
        Labels are those of the returned codebook: a last assignment is made if the centroids
        moved after the labels were found.
    """
    missing = codebook.requires - runner.provides
    if missing:
        raise TypeError(
            f"{type(codebook).__name__} needs {', '.join(sorted(missing))} of its rows, which "
            f"{type(runner).__name__} cannot give. Use rows that fit in memory."
        )
    frame = runner.frame
    threshold = float(tol) * frame.mean_variance if tol > 0 else 0.0
    if not np.isfinite(threshold):  # a spread out of range is no measure: go on to the end
        threshold = 0.0
    run = Run(codebook, np.empty(0, dtype=np.int32), np.inf, converged=False, n_relocated=0)
    runner.begin(codebook, algorithm)
    statistics: Statistics | None = None
    settled = False
    for iteration in range(max_iter):
        began = time.perf_counter()
        runner.assign(codebook)
        statistics = runner.add_up()
        rows, targets = _relocations(runner, codebook, statistics)
        n_relocated, before = len(rows), np.nan
        if n_relocated:
            before = runner.measure_in_user_units(codebook) if codebook.by_rows else np.nan
            runner.relabel(rows, targets)
            statistics = runner.add_up()
        n_moved = runner.n_moved
        # Rows moved into empty clusters carry labels that no assignment would give them.
        settled = n_moved == 0 and n_relocated == 0
        inertia, drift = _advance(runner, codebook, statistics, n_moved > 0)
        shift = float(np.sum(drift * drift))
        # Squares of small shifts may be too small for float64.
        rests = shift <= threshold and not (threshold == 0 and drift.any())
        if not np.isnan(before):  # relocated rows carry labels that no assignment gave
            inertia = before
        run.n_relocated += n_relocated
        seconds = time.perf_counter() - began
        traveled = min(float(np.sum((drift * frame.unit) ** 2)), np.finfo(np.float64).max)
        step = Step(inertia, n_moved, traveled, seconds)
        run.steps.append(step)
        logger.debug(
            "iteration %d: inertia %.6g, %d rows moved, %.3g s",
            iteration,
            step.inertia,
            step.n_moved,
            step.seconds,
        )
        run.converged = n_moved == 0 or rests
        stop = on_step is not None and on_step(step, codebook)
        if run.converged or stop:
            break
    return _finish(run, runner, codebook, statistics, settled)


def is_better(run: Run, best: Run) -> bool:
    """Whether a run has lower inertia, and not only the same clusters in another order."""
    if run.inertia >= best.inertia:
        return False
    if run.inertia < best.inertia * (1 - _ROUNDING):
        return True
    forward = np.full(run.codebook.n_clusters, -1)
    forward[run.labels] = best.labels
    return bool((forward[run.labels] != best.labels).any())


def _advance(
    runner: BaseRunner, codebook: BaseCodebook, statistics: Statistics, refit: bool
) -> tuple[float, NDArray[np.float64]]:
    """Inertia of the present centroids in the user's units; how far a refit then moves each."""
    measured: list[float] = []  # by a pass over the rows, where statistics do not determine it

    def measure() -> float:
        measured.append(runner.measure_in_user_units(codebook))
        return measured[0]

    if refit:
        inertia, drift = codebook.advance(statistics, measure)
        if np.isnan(drift).any():
            raise ValueError(
                f"Centroids of {type(codebook).__name__} are no longer finite numbers: values of "
                "X, or of a given start, are too large to be squared or multiplied. Divide them by "
                "the largest one."
            )
        runner.follow(codebook, drift)
    else:
        inertia, drift = codebook.inertia(statistics), np.zeros(codebook.n_clusters)
        if np.isnan(inertia):
            measure()
    return measured[0] if measured else runner.frame.to_user(inertia), drift


def _relocations(
    runner: BaseRunner, codebook: BaseCodebook, statistics: Statistics
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Rows for clusters that have none, where the codebook has ``relocates`` set."""
    if not codebook.relocates:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    return relocations(runner, codebook, statistics.counts)


def _finish(
    run: Run,
    runner: BaseRunner,
    codebook: BaseCodebook,
    statistics: Statistics | None,
    settled: bool,
) -> Run:
    """Make labels, centroids and inertia agree with what a user will hold."""
    frame = runner.frame
    explicit = runner.conclude(codebook, settled)
    inertia = np.nan
    if explicit is codebook:
        if not settled:
            statistics = runner.add_up()
        inertia = codebook.inertia(statistics)
    runner.end()
    run.codebook, run.labels = explicit, runner.labels()
    accurate = inertia >= _ACCURATE * frame.total_square  # not if it is NaN
    # Products of weights and rows far from zero are rounded there, not where they are measured.
    accurate &= not frame.shifted or frame.unweighted
    if codebook.by_rows and (not accurate or frame.n_directionless > 0):
        run.inertia = runner.measure_in_user_units(explicit)
    else:
        run.inertia = frame.to_user(inertia)
    return run
