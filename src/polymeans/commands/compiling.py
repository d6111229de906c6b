"""How long numba compiles while something else is measured."""

import time
from threading import Lock
from typing import Any, Self


class Compiling:
    """Counts kernels that are compiled, in any thread, and adds up the seconds that takes.

    Kernels that are loaded from the disk do not count.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.n_kernels = 0
        self._lock = Lock()
        self._depth = 0
        self._began = 0.0
        self._listener: Any = None

    def __enter__(self) -> Self:
        from numba.core import event

        counter = self

        class Listener(event.Listener):
            """Told by numba before and after each kernel."""

            def on_start(self, _: Any) -> None:
                """Compilation begins, perhaps inside of another one."""
                with counter._lock:
                    if counter._depth == 0:
                        counter._began = time.perf_counter()
                    counter._depth += 1
                    counter.n_kernels += 1

            def on_end(self, _: Any) -> None:
                """Compilation ends."""
                with counter._lock:
                    counter._depth -= 1
                    if counter._depth == 0:
                        counter.seconds += time.perf_counter() - counter._began

        self._listener = Listener()
        event.register("numba:compile", self._listener)
        return self

    def __exit__(self, *error: object) -> None:
        from numba.core import event

        event.unregister("numba:compile", self._listener)
