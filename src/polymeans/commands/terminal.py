"""What the command line writes to the terminal; the only module that prints.

Results go to the standard output, everything else to the standard error stream. A progress bar is
drawn only if that stream is a terminal.
"""

import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

#: Seconds between two drawings of the bar, and its characters.
_PAUSE, _WIDTH = 0.1, 24


def say(text: str) -> None:
    """Write a line of results."""
    print(text, flush=True)


def say_lines(lines: Iterable[str]) -> None:
    """Write many lines of results at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def say_json(value: Any) -> None:
    """Write a value as one JSON text."""
    say(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """A value as JSON has it: numbers that are not finite are null."""
    if hasattr(value, "tolist"):  # arrays and numbers of numpy
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str | None) else str(value)


def note(text: str) -> None:
    """Write a line that is no result."""
    print(text, file=sys.stderr, flush=True)


def silence_output() -> None:
    """Stop writing results, after their reader has gone away."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """A table: columns as wide as their longest cell, names to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return [
        "  ".join(
            [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:]))]
        ).rstrip()
        for name, *cells in lines
    ]


class Bar:
    """A line on a terminal that is drawn over and over; nothing elsewhere."""

    def __init__(self, what: str, shown: bool) -> None:
        self.what, self.shown = what, shown
        self._began = time.monotonic()
        self._drawn = 0.0
        self._longest = 0

    def __call__(self, done: int, total: int, text: str = "") -> None:
        """Draw how much is done; with ``total`` 0 the number of steps is not known."""
        now = time.monotonic()
        if not self.shown or (now - self._drawn < _PAUSE and not (total and done >= total)):
            return
        self._drawn = now
        filled = _WIDTH * done // total if total else 0
        bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] " if total else ""
        line = f"{self.what}: {bar}{text} ({now - self._began:.0f} s)"[:100]
        self._longest = max(self._longest, len(line))
        print(f"\r{line.ljust(self._longest)}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line."""
        if self.shown and self._longest:
            print(f"\r{' ' * self._longest}\r", end="", file=sys.stderr, flush=True)


class _LogLines(logging.Handler):
    """Shows the latest line of the library's log."""

    def __init__(self, bar: Bar) -> None:
        super().__init__(logging.INFO)
        self._bar = bar
        self._n = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Draw a line."""
        self._n += 1
        self._bar(self._n, 0, record.getMessage())


@contextmanager
def progress(what: str, quiet: bool = False) -> Iterator[Callable[..., None] | None]:
    """A bar that follows the library's log, and can be called with steps; None if not shown."""
    shown = sys.stderr.isatty() and not quiet
    if not shown:
        yield None
        return
    bar = Bar(what, shown)
    logger, handler = logging.getLogger("polymeans"), _LogLines(bar)
    level, passes_on = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield bar
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = passes_on
        bar.clear()
