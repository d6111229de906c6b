"""The first import of numba, which an interrupt must not leave half done."""

import importlib
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from polymeans._garbage import garbage_kept

_imported = _prepared = False


def import_numba() -> None:
    """Import numba completely, unless that was done before; an interrupt is raised afterwards.

    An interrupted import removes the module that was being executed from ``sys.modules``, but not
    those of its submodules that were complete. The next import would execute the package again and
    find ``numba.core`` imported, but not set as an attribute of it: every later fit would fail.
    Removing the submodules too is no remedy, because numba and llvmlite have extension modules and
    registries that exist once in a process. So an interrupt has to wait, for less than a second.

    Kernels are imported as usual afterwards: their package executes nothing, and a module of it
    that was interrupted is executed anew.
    """
    global _imported
    if _imported:
        return
    with interrupts_deferred(), garbage_kept():
        lock = importlib.import_module("numba.core.compiler_lock").global_compiler_lock
        target = importlib.import_module("numba.core.registry").cpu_target
        runtime = importlib.import_module("numba.core.runtime").rtsys
        with lock:
            runtime.initialize(target.target_context)
    _imported = True


def prepare_compiler() -> None:
    """Import what numba needs to compile, unless that was done before.

    numba would do so at the first compilation, and take what is registered twice or half then for
    what was meant. Kernels that are loaded from the disk need none of it.
    """
    global _prepared
    import_numba()
    if _prepared:
        return
    with interrupts_deferred(), garbage_kept():
        lock = importlib.import_module("numba.core.compiler_lock").global_compiler_lock
        target = importlib.import_module("numba.core.registry").cpu_target
        with lock:
            target.target_context.refresh()
    _prepared = True


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Hold SIGINT back until the block ends."""
    handler = signal.getsignal(signal.SIGINT)
    # Signals are handled in the main thread only: an import in another thread is never interrupted.
    # A handler of None was not installed by Python and could not be put back.
    if threading.current_thread() is not threading.main_thread() or handler is None:
        yield
        return
    arrived = False

    def remember(*arguments: object) -> None:
        nonlocal arrived
        arrived = True

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            signal.raise_signal(signal.SIGINT)
