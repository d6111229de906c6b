"""Threads that wait for work between calls.

Starting a pool of threads takes a quarter of a millisecond, which is what a small fit takes as a
whole. So threads are started once for a process, sleep while nothing is to be done, and are shared
by all calls. The thread that calls works too: with two threads one of these is enough.

A call never waits for a thread that another call keeps busy: it does all of its tasks itself then.
A process that was forked has none of its parent's threads and starts its own.
"""

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, cast

Task = TypeVar("Task")
Result = TypeVar("Result")


class Work(Generic[Task, Result]):
    """Tasks that several threads take one after the other.

    Parameters
    ----------
    function : callable
        Called with each task.
    tasks : sequence
    """

    def __init__(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> None:
        self._function: Callable[[Task], Result] | None = function
        self._tasks = tasks
        self._results: list[Result | None] = [None] * len(tasks)
        self._numbers = itertools.count()  # of tasks: next() is atomic
        self._error: BaseException | None = None
        self._over = False
        self._n_at_work = 0
        self._state = threading.Condition(threading.Lock())

    def take_part(self) -> None:
        """Do tasks until none is left; called in a thread other than the one that waits."""
        with self._state:
            if self._over:
                return
            self._n_at_work += 1
        try:
            self._do_tasks()
        finally:
            with self._state:
                self._n_at_work -= 1
                self._state.notify()

    def finish(self) -> list[Result]:
        """Do tasks until none is left, wait for the others; results in the order of the tasks."""
        try:
            self._do_tasks()
        finally:
            # Tasks of an interrupted call that have begun are waited for: they write to its arrays.
            with self._state:
                self._over = True
                while self._n_at_work:
                    self._state.wait()
            # A thread that was invited too late still refers to this, but to no data any more.
            results, error = self._results, self._error
            self._function, self._tasks, self._results, self._error = None, (), [], None
        if error is not None:
            raise error
        return cast(list[Result], results)  # no task is left

    def _do_tasks(self) -> None:
        function, tasks, results = self._function, self._tasks, self._results
        assert function is not None
        for number in self._numbers:
            if number >= len(tasks) or self._error is not None:
                return
            try:
                results[number] = function(tasks[number])
            except BaseException as error:
                self._error = error
                return


class _Workers:
    """The threads of this process."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Work[Any, Any]] = SimpleQueue()  # of any calls
        self._n_threads = 0
        self._lock = threading.Lock()

    def invite(self, n_threads: int, work: Work[Task, Result]) -> None:
        """Let so many threads take part in some work as soon as they are free."""
        if self._n_threads < n_threads:
            with self._lock:
                while self._n_threads < n_threads:
                    self._n_threads += 1
                    threading.Thread(
                        target=_serve,
                        args=(self._waiting,),
                        name=f"kmeans-worker-{self._n_threads}",
                        daemon=True,
                    ).start()
        for _ in range(n_threads):
            self._waiting.put(work)


def _serve(waiting: "SimpleQueue[Work[Any, Any]]") -> None:
    while True:
        waiting.get().take_part()


_workers = _Workers()


def _after_fork() -> None:
    global _workers
    _workers = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def share(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_threads: int
) -> list[Result]:
    """Results of ``function`` for all tasks, in their order, computed by up to ``n_threads``.

    Examples
    --------
    >>> from polymeans.core.workers import share
    >>> share(lambda x: x * x, [1, 2, 3], n_threads=2)
    [1, 4, 9]
    """
    work = Work(function, tasks)
    _workers.invite(min(n_threads, len(tasks)) - 1, work)
    return work.finish()
