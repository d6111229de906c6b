"""How many threads, and how work is spread over them without changing a bit of the result.

Kernels release the GIL, so plain Python threads are enough: no OpenMP, no numba threading layer,
nothing that hangs after a fork or conflicts with another library's pool.
"""

import itertools
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Protocol

import joblib

from polymeans.core.workers import Result, Task, share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from threadpoolctl import ThreadpoolController

#: Rows that go through one BLAS product: independent of the number of threads, because the height
#: of a matrix decides how BLAS rounds.
PRODUCT_ROWS = 4096

#: A pool has at most four threads for each core, or 64 where that is more. More would only take
#: memory, and ``n_threads`` of a model file from elsewhere may be any number.
_MOST_PER_CORE, _MOST_IN_ANY_CASE = 4, 64


def effective_n_threads(n_threads: int | None = None) -> int:
    """Number of threads a call would use now.

    Parameters
    ----------
    n_threads : int or None, default=None
        None: all cores this process may use (``OMP_NUM_THREADS`` is honoured), but one inside a
        joblib worker unless joblib granted it more. Negative: counted back from the number of
        cores, -1 being all of them, as for joblib's ``n_jobs``. A number above both 64 and four
        for each core is lowered to the larger of these two.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> from polymeans.core.threads import effective_n_threads
    >>> effective_n_threads(3)
    3
    """
    if n_threads is not None:
        if 0 < n_threads <= _MOST_IN_ANY_CASE:
            return n_threads  # without asking the operating system, for calls with a single row
        if n_threads < 0:
            return max(1, _n_cores() + 1 + n_threads)
        return min(n_threads, max(_MOST_IN_ANY_CASE, _MOST_PER_CORE * _n_cores()))
    available = _n_cores()
    granted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if granted.isdigit() and int(granted) > 0:
        available = min(available, int(granted))
    backend, _ = joblib.parallel.get_active_backend()
    nested = getattr(backend, "nesting_level", 0) or 0
    # OMP_NUM_THREADS gives a worker process its share; other workers have one core each.
    if nested and not (granted.isdigit() and _is_process_worker()):
        return 1
    return available


def _n_cores() -> int:
    """Cores this process may use now."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return _count_cores(affinity, os.environ.get("LOKY_MAX_CPU_COUNT"))


@cache
def _count_cores(affinity: int | None, limit: str | None) -> int:
    # joblib reads files about limits of containers, which takes as long as labeling a few rows.
    return joblib.cpu_count()


def _is_process_worker() -> bool:
    """Whether this is a worker process, to which joblib grants threads by OMP_NUM_THREADS."""
    import multiprocessing

    return multiprocessing.parent_process() is not None or "LOKY_WORKER" in os.environ


@cache
def _blas_controller() -> "ThreadpoolController":
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Limit(Protocol):
    """What threadpoolctl returns where it limits numbers of threads."""

    def restore_original_limits(self) -> None:
        """Let there be as many as before."""


class _OneBlasThread:
    """Keeps BLAS to one thread while any of several overlapping fits needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_users = 0
        self._limit: _Limit | None = None

    def begin(self) -> None:
        """One more fit needs it."""
        with self._lock:
            if self._n_users == 0:
                self._limit = _blas_controller().limit(limits=1, user_api="blas")
            self._n_users += 1

    def end(self) -> None:
        """One fit less needs it; the last one restores the number of threads."""
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0:
                assert self._limit is not None
                self._limit.restore_original_limits()
                self._limit = None


_one_blas_thread = _OneBlasThread()


class Threads:
    """Threads for the length of a ``with`` block; :func:`running_threads` finds them from inside.

    Parameters
    ----------
    n_threads : int or None
        See :func:`effective_n_threads`.
    one_blas_thread : bool, default=False
        Keep BLAS to one thread meanwhile: its products are small here, and threads of its own
        would wait for ours, and decide how sums are rounded.
    """

    def __init__(self, n_threads: int | None = None, one_blas_thread: bool = False) -> None:
        self.n_threads = effective_n_threads(n_threads)
        self._one_blas_thread = one_blas_thread

    def __enter__(self) -> "Threads":
        if self._one_blas_thread:
            _one_blas_thread.begin()
        self._outer = _running.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _running.reset(self._outer)
        if self._one_blas_thread:
            _one_blas_thread.end()

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """Results of ``function`` for all tasks, in the order of the tasks."""
        tasks = list(tasks)
        if self.n_threads == 1 or len(tasks) < 2:
            return [function(task) for task in tasks]
        # What a task maps in turn is done by the thread that has the task.
        outer = _running.set(None)
        try:
            return share(function, tasks, self.n_threads)
        finally:
            _running.reset(outer)

    def ranges(self, n: int, smallest: int = 1) -> list[tuple[int, int]]:
        """Split ``range(n)`` for work whose result does not depend on the split."""
        pieces = 1 if self.n_threads == 1 else min(4 * self.n_threads, max(1, n // smallest))
        edges = [n * piece // pieces for piece in range(pieces + 1)]
        return [(lo, hi) for lo, hi in itertools.pairwise(edges) if hi > lo]

    def shares(self, costs: "Sequence[float] | NDArray[np.number]") -> list[tuple[int, int]]:
        """Split ``range(len(costs))`` into runs of similar total cost."""
        import numpy as np

        if self.n_threads == 1 or len(costs) < 2:
            return [(0, len(costs))] if len(costs) else []
        total = np.cumsum(costs, dtype=np.float64)
        pieces = 4 * self.n_threads
        edges = np.searchsorted(total, total[-1] * np.arange(1, pieces) / pieces, side="left") + 1
        edges = np.unique(np.r_[0, np.minimum(edges, len(costs)), len(costs)]).tolist()
        return list(itertools.pairwise(edges))


_running: ContextVar[Threads | None] = ContextVar("polymeans_threads", default=None)


def running_threads() -> Threads:
    """Those of the innermost ``with`` block, or one: work is then done one after another.

    Codebooks use them for their own small work, so that they need not carry threads along when they
    are pickled and sent. Within a task there is one thread, so calls do not nest.
    """
    threads = _running.get()
    return Threads(1) if threads is None else threads


def product_blocks(n: int) -> list[tuple[int, int]]:
    """Ranges of rows that go through one BLAS product each, for any thread count."""
    return [(lo, min(lo + PRODUCT_ROWS, n)) for lo in range(0, n, PRODUCT_ROWS)]
