"""The one loop: assign, add up, refit, until nothing moves.

It depends neither on where rows are nor on what a codebook is: threads, sparse data, bounds, blocks
and structured centroids are properties of runners and codebooks.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook, Centroids, Kind, not_finite
from polymeans.core.frame import MeasuredFrame
from polymeans.core.statistics import Statistics
from polymeans.engine.journal import DescentRecord, copied_state, repeat_labels
from polymeans.engine.relocation import relocations
from polymeans.engine.runners import BaseRunner, Needed

logger = logging.getLogger("polymeans")

#: The closed form of the inertia is a difference of totals: good to ten digits as long as this
#: share of them is left.
_ACCURATE = 1e-4

#: Totals below this have lost digits: in the unit of a value that is 1e140 times as large as the
#: others, their squares are subnormal numbers or zero.
_FAINT = 1e-280

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
class Run(Generic[Kind]):
    """Outcome of one descent."""

    codebook: Kind  #: of the class of the one that the descent was given
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
    codebook: Kind,
    *,
    algorithm: str = "auto",
    max_iter: int = 300,
    tol: float = 1e-4,
    on_step: Callable[[Step, Centroids], bool] | None = None,
) -> Run[Kind]:
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
    run = Run(codebook, np.empty(0, dtype=np.int32), np.inf, converged=False, n_relocated=0)
    page = None if runner.journal is None else runner.journal.descent()
    record = None if page is None else page.load()
    statistics: Statistics | None = None
    settled = False
    if record is None:
        runner.begin(codebook, algorithm)
    else:
        codebook = codebook.restored(record.codebook)
        statistics = repeat_labels(runner, codebook, algorithm, record)
        _, _ = _advance(runner, codebook, statistics, record.refitted)
        settled = not record.refitted and len(record.moved_rows) == 0
        _replay(run, record, lambda step: on_step is not None and on_step(step, codebook))
    is_watched = page is not None or on_step is not None
    last = run.n_iter if record and record.ended else max_iter
    while run.n_iter < last:
        if not is_watched:
            statistics, settled = _run_ahead(run, runner, codebook, last, tol)
            if run.converged or run.n_iter == last:
                break
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
        labelled_by = None if page is None else copied_state(codebook)
        # Rows moved into empty clusters carry labels that no assignment would give them.
        settled = n_moved == 0 and n_relocated == 0
        inertia, drift = _advance(runner, codebook, statistics, n_moved > 0)
        if not np.isnan(before):  # relocated rows carry labels that no assignment gave
            inertia = before
        run.n_relocated += n_relocated
        seconds = time.perf_counter() - began
        traveled = _in_user_units(frame, frame.squared_shift(drift))
        step = _note(run, Step(inertia, n_moved, traveled, seconds))
        run.converged = n_moved == 0 or frame.is_within(tol, drift)
        stop = on_step is not None and on_step(step, codebook)
        if page is not None and labelled_by is not None:
            page.save(
                DescentRecord(
                    labelled_by,
                    moved_rows=rows,
                    moved_to=targets,
                    steps=np.array([astuple(step) for step in run.steps]),
                    n_relocated=run.n_relocated,
                    converged=run.converged,
                    ended=run.converged or stop,
                )
            )
        if run.converged or stop:
            break
    return _finish(run, runner, codebook, statistics, settled)


def _note(run: Run[Kind], step: Step) -> Step:
    logger.debug(
        "iteration %d: inertia %.6g, %d rows moved, %.3g s",
        run.n_iter,
        step.inertia,
        step.n_moved,
        step.seconds,
    )
    run.steps.append(step)
    return step


def _in_user_units(frame: MeasuredFrame, squared_shift: float) -> float:
    """Squared shifts of all centroids as users see them; no number is infinite."""
    scale = frame.reach * frame.unit
    return min(float(squared_shift) * scale * scale, np.finfo(np.float64).max)


def _run_ahead(
    run: Run[Kind], runner: BaseRunner, codebook: Centroids, max_iter: int, tol: float
) -> tuple[Statistics | None, bool]:
    """Iterations that need not be seen one by one, as long as a runner can do several at once.

    Returns the statistics of the last labels, if they are known, and whether no row moved.
    """
    frame, settled = runner.frame, False
    while run.n_iter < max_iter and not run.converged:
        began = time.perf_counter()
        stretch = runner.several(codebook, max_iter - run.n_iter, tol)
        if stretch is None:
            break
        seconds = (time.perf_counter() - began) / max(1, len(stretch.steps))
        for inertia, n_moved, shift in stretch.steps:
            traveled = _in_user_units(frame, shift)
            _note(run, Step(frame.to_user(inertia), int(n_moved), traveled, seconds))
        run.converged, settled = stretch.converged, stretch.settled
        if stretch.stuck:
            break
    return runner.add_up() if settled else None, settled


def _replay(run: Run[Kind], record: DescentRecord, on_step: Callable[[Step], bool]) -> None:
    """Enter what was recorded of a descent into its outcome, step by step."""
    for inertia, n_moved, shift, seconds in record.steps:
        run.steps.append(Step(float(inertia), int(n_moved), float(shift), float(seconds)))
        on_step(run.steps[-1])
    run.n_relocated, run.converged = record.n_relocated, record.converged


def is_better(run: Run[Kind], best: Run[Kind]) -> bool:
    """Whether a run has lower inertia, and not only the same clusters in another order."""
    if run.inertia >= best.inertia:
        return False
    if run.inertia < best.inertia * (1 - _ROUNDING):
        return True
    forward = np.full(run.codebook.n_clusters, -1)
    forward[run.labels] = best.labels
    return bool((forward[run.labels] != best.labels).any())


def _advance(
    runner: BaseRunner, codebook: BaseCodebook[Needed], statistics: Needed, refit: bool
) -> tuple[float, NDArray[np.float64]]:
    """Inertia of the present centroids in the user's units; how far a refit then moves each."""
    measured: list[float] = []  # by a pass over the rows, where statistics do not determine it

    def measure() -> float:
        measured.append(runner.measure_in_user_units(codebook))
        return measured[0]

    if refit:
        inertia, drift = codebook.advance(statistics, measure)
        if np.isnan(drift).any():
            raise not_finite(type(codebook).__name__)
        runner.follow(codebook, drift)
    else:
        inertia, drift = codebook.inertia(statistics), np.zeros(codebook.n_clusters)
        if np.isnan(inertia):
            measure()
    return measured[0] if measured else runner.frame.to_user(inertia), drift


def _relocations(
    runner: BaseRunner, codebook: Centroids, statistics: Statistics
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Rows for clusters that have none, where the codebook has ``relocates`` set."""
    if not codebook.relocates:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    return relocations(runner, codebook, statistics.counts)


def _finish(
    run: Run[Kind],
    runner: BaseRunner,
    codebook: Kind,
    statistics: Statistics | None,
    settled: bool,
) -> Run[Kind]:
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
    accurate = frame.total_square >= _FAINT  # not if it is NaN
    accurate &= inertia >= _ACCURATE * frame.total_square
    # Products of weights and rows far from zero are rounded there, not where they are measured.
    accurate &= not frame.shifted or frame.unweighted
    if codebook.by_rows and (not accurate or frame.n_directionless > 0):
        run.inertia = runner.measure_in_user_units(explicit)
    else:
        run.inertia = frame.to_user(inertia)
    return run
