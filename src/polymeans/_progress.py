"""Feedback of long calls: log lines that are visible without any set-up, and progress bars."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from threading import Lock
from typing import Any, Self

import numpy as np

from polymeans._validation import check_n_threads, check_verbose, shown

logger = logging.getLogger("polymeans")

#: What may be given as ``progress``: whether to draw a bar, or a function of the steps that are
#: done, their number and a text.
Progress = bool | Callable[[int, int, str], Any]

_lock = Lock()
_n_listening = 0
_handler: logging.Handler | None = None
_level_before = logging.NOTSET


@contextmanager
def visible_logs(verbose: Any) -> Iterator[None]:
    """Write log lines to the standard error stream during a call, if they would be lost.

    Where the program has set up logging, nothing is changed: its handlers and levels count.
    """
    # Whether it is a number at all is checked inside of the call.
    if not (isinstance(verbose, Integral | np.bool_) and verbose) or not _listen():
        yield
        return
    try:
        yield
    finally:
        _stop_listening()


def _listen() -> bool:
    """Add a handler unless there is one already that is not ours; whether it is needed."""
    global _n_listening, _handler, _level_before
    with _lock:
        if _n_listening == 0:
            if logger.hasHandlers():
                return False
            _handler = logging.StreamHandler()
            _handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
            _level_before = logger.level
            logger.addHandler(_handler)
            logger.setLevel(logging.INFO)
        _n_listening += 1
        return True


def _stop_listening() -> None:
    global _n_listening, _handler
    with _lock:
        _n_listening -= 1
        if _n_listening == 0 and _handler is not None:
            logger.removeHandler(_handler)
            logger.setLevel(_level_before)
            _handler = None


class Steps:
    """Reports the steps of a call: to the logger, as a bar, or to a function.

    Parameters
    ----------
    name : str
        What is being done.
    total : int
        Number of steps.
    verbose : int
        Above 0, each step is logged.
    progress : bool or callable
        True: draw a bar with rich. A function is called with the number of steps done, the number
        of all steps and a text.
    """

    def __init__(self, name: str, total: int, verbose: int, progress: Progress = False) -> None:
        check_progress(progress)
        self.name, self.total, self.verbose, self.progress = name, total, verbose, progress
        self.done = 0
        self._lock = Lock()
        self._began = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        """Begin: logs become visible, the bar is drawn."""
        self._logs = visible_logs(self.verbose)
        self._logs.__enter__()
        if self.progress is True:
            self._bar = load_rich().Progress(transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self.name, total=self.total)
        return self

    def __exit__(self, *error: Any) -> None:
        """End, also after an error: the bar is removed."""
        if self._bar is not None:
            self._bar.stop()
        self._logs.__exit__(None, None, None)

    def advance(self, text: str) -> None:
        """One more step is done, in any thread; the text says what came out."""
        with self._lock:
            self.done += 1
            self._show(text)

    def tell(self, text: str) -> None:
        """Something came out within a step, of which it is not known how many there will be."""
        with self._lock:
            self._show(text)

    def _show(self, text: str) -> None:
        if self.verbose:
            seconds = time.perf_counter() - self._began
            logger.info("%s %d/%d, %.1f s: %s", self.name, self.done, self.total, seconds, text)
        if self._bar is not None:
            description = f"{self.name}: {text}"
            self._bar.update(self._task, completed=self.done, description=description)
        elif callable(self.progress):
            self.progress(self.done, self.total, text)


def check_feedback(n_threads: Any, verbose: Any, progress: Any) -> None:
    """Raise unless these can be used."""
    check_n_threads(n_threads)
    check_verbose(verbose)
    check_progress(progress)


def check_progress(progress: Any) -> None:
    """Raise unless this is True, False or a function."""
    if not (isinstance(progress, bool) or callable(progress)):
        raise TypeError(
            f"progress must be True, False or a function of (done, total, text), got "
            f"{shown(progress)}. True draws a bar."
        )


def load_rich() -> Any:
    """The module of rich that draws bars; the error says how to install it."""
    try:
        from rich import progress
    except ImportError as error:
        raise ImportError(
            'progress=True draws a bar with rich: pip install "polymeans[progress]"'
        ) from error
    return progress
