"""The one loop: assign, add up, refit, until nothing moves.

It knows neither what rows are nor what a codebook is; threads, sparse data, bounds and structured
centroids are other rows, assigners and codebooks run through it.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.engine.assignment import Assigner, make_assigner, make_statistics
from polymeans.engine.relocation import count_members, own_distances, relocate_empty

logger = logging.getLogger("polymeans")


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

    codebook: Any
    labels: NDArray[np.int32]
    inertia: float
    converged: bool
    n_relocated: int
    steps: list[Step] = field(default_factory=list)

    @property
    def n_iter(self) -> int:
        """Iterations run."""
        return len(self.steps)


def descend(
    rows: Any,
    codebook: Any,
    *,
    algorithm: str = "auto",
    max_iter: int = 300,
    tol: float = 1e-4,
    on_step: Callable[[Step, Any], bool] | None = None,
) -> Run:
    """Lloyd's algorithm from the given codebook.

    Parameters
    ----------
    rows : DenseRows or SparseRows
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
    assigner = make_assigner(rows, codebook, algorithm)
    statistics = make_statistics(rows, codebook)
    labels = np.full(rows.n_samples, -1, dtype=np.int32)
    previous = labels.copy()
    threshold = float(tol) * rows.mean_variance if tol > 0 else 0.0
    run = Run(codebook, labels, np.inf, converged=False, n_relocated=0)
    settled = False
    for iteration in range(max_iter):
        began = time.perf_counter()
        previous, labels = labels, previous
        assigner.assign(codebook, previous, labels)
        n_relocated, inertia = _fill_empty_clusters(rows, codebook, assigner, labels)
        change = statistics.update(previous, labels)
        if inertia is None:
            inertia = codebook.inertia(rows, statistics)
            if np.isnan(inertia):
                inertia = _measured_inertia(rows, codebook, labels)
        inertia *= rows.unit * rows.unit  # not a power of it, which would raise on overflow
        # Rows moved into empty clusters carry labels nobody would assign.
        settled = change.n_moved == 0 and n_relocated == 0
        shift = 0.0
        if change.n_moved:
            drift = codebook.refit(statistics, change.clusters)
            if codebook.entangled:
                change = change.spread(codebook.n_clusters)
            assigner.follow(codebook, change, drift)
            shift = float(np.sum(drift * drift))
        run.n_relocated += n_relocated
        shown = shift * rows.unit * rows.unit
        step = Step(inertia, change.n_moved, shown, time.perf_counter() - began)
        run.steps.append(step)
        logger.debug(
            "iteration %d: inertia %.6g, %d rows moved, %.3g s",
            iteration,
            inertia,
            step.n_moved,
            step.seconds,
        )
        run.converged = change.n_moved == 0 or shift <= threshold
        stop = on_step is not None and on_step(step, codebook)
        if run.converged or stop:
            break
    return _finish(run, rows, codebook, assigner, statistics, labels, previous, settled)


def _measured_inertia(rows: Any, codebook: Any, labels: NDArray[np.int32]) -> float:
    """Weighted squared distances, row by row."""
    return float(np.sum(own_distances(rows, codebook, labels) * rows.weights))


def _fill_empty_clusters(
    rows: Any,
    codebook: Any,
    assigner: Assigner,
    labels: NDArray[np.int32],
) -> tuple[int, float | None]:
    """How many rows were moved, and the inertia before if it had to be computed."""
    if not codebook.relocates:
        return 0, None
    sizes = count_members(rows, codebook, labels)
    if all(size.all() for size in sizes):
        return 0, None
    moved, inertia = relocate_empty(rows, codebook, labels, sizes)
    assigner.forget(moved)
    return len(moved), inertia if codebook.by_rows else None


def _finish(
    run: Run,
    rows: Any,
    codebook: Any,
    assigner: Assigner,
    statistics: Any,
    labels: NDArray[np.int32],
    previous: NDArray[np.int32],
    settled: bool,
) -> Run:
    """Make labels, centroids and inertia agree with what a user will hold in hand."""
    stale = labels
    if not settled:
        assigner.assign(codebook, labels, previous)
        labels = previous
    explicit = codebook.explicit(rows)
    assigner.confirm(explicit, labels)
    labels[rows.directionless] = 0
    run.codebook, run.labels = explicit, labels
    inertia = 0.0
    if explicit is codebook:
        if not settled:
            statistics.update(stale, labels)
        inertia = codebook.inertia(rows, statistics)
    # The closed form is a difference of totals: good to ten digits unless almost nothing is left.
    accurate = inertia >= 1e-4 * statistics.total_square  # not if it is NaN
    if codebook.by_rows and (not accurate or len(rows.directionless)):
        inertia = _measured_inertia(rows, explicit, labels)
    run.inertia = inertia * rows.unit * rows.unit
    return run
