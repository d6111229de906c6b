"""While kernels are compiled: the log says so once, and garbage is not collected.

Compiling makes millions of objects that stay. Looking through them again and again takes a tenth of
the time or more.
"""

import gc
import json
import logging
import time
from pathlib import Path
from typing import Any

import numba
from numba.core import event

logger = logging.getLogger("polymeans")

#: Seconds that a process compiles before the log says so.
_PATIENCE = 1.0


class _Watch(event.Listener):
    """Told by numba before and after each kernel. numba compiles in one thread at a time."""

    def __init__(self) -> None:
        self._depth = 0
        self._began = self._seconds = 0.0
        self._said = self._collects = False

    def on_start(self, event: Any) -> None:
        """Compilation begins, perhaps inside of another one."""
        if not _is_ours(event):
            return
        if self._depth == 0:
            self._began = time.perf_counter()
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        self._say()

    def on_end(self, event: Any) -> None:
        """Compilation ends, perhaps by an error."""
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0:
            if self._collects:
                gc.enable()
            self._seconds += time.perf_counter() - self._began
            self._began = time.perf_counter()
        self._say()

    def _say(self) -> None:
        if self._said or self._seconds + time.perf_counter() - self._began < _PATIENCE:
            return
        self._said = True
        logger.info(
            "Waiting for the compiler: kernels are compiled when they are first used, and kept on "
            "the disk for later processes. `polymeans warmup` compiles all of them ahead.%s",
            _about_shipped(),
        )


def _about_shipped() -> str:
    """Why kernels of a release wheel are not used, if that is known."""
    try:
        facts = json.loads((Path(__file__).parent / "compiled" / "facts.json").read_text())
    except (OSError, ValueError):
        return ""
    if facts["numba"] == numba.__version__:
        return ""
    return f" Those of this wheel are for numba {facts['numba']}, not {numba.__version__}."


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].__module__).startswith("polymeans.")


_watch: _Watch | None = None


def watch() -> None:
    """Begin to listen, once in a process."""
    global _watch
    if _watch is None:
        _watch = _Watch()
        event.register("numba:compile", _watch)
