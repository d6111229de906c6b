"""The garbage collector while many objects are made that stay: imports, compiled kernels."""

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Young objects, above which it takes milliseconds to look through them.
_MANY = 5000

_lock = threading.Lock()
#: Blocks of :func:`garbage_kept` that are open in any thread, whether the collector was on before
#: the first of them, and whether objects are frozen at the moment.
_open = 0
_was_on = _frozen = False


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Collect no garbage until the block ends, and take what was made for objects that stay.

    Where many of them are made, the collector looks through all of them again and again: a tenth of
    a second while numba is imported and kernels are loaded, and as much soon after the block. A
    program that turns the collector off while a block is open in another thread finds it on again
    after the block.
    """
    try:
        _begin()
        yield
    finally:
        _end()


def _begin() -> None:
    global _open, _was_on
    with _lock:
        _open += 1
        if _open == 1:
            _was_on = gc.isenabled()
            if _was_on:
                gc.collect(0)  # what the program made, so that only what the block makes grows old
                gc.disable()


def _end() -> None:
    global _open
    with _lock:
        _open = max(0, _open - 1)  # none in a process that was forked by the block
        if _open == 0 and _was_on:
            try:
                _let_grow_old()
            finally:
                gc.enable()


def _let_grow_old() -> None:
    """Count young objects as old ones, without looking through them.

    They would be looked through when the collector is on again, and make it look through all
    objects of the process. Cycles among them are found by the next collection of old ones. Objects
    that the program itself has frozen would be released here, so then nothing is done.
    """
    global _frozen
    if gc.get_count()[0] > _MANY and gc.get_freeze_count() == 0:
        try:
            _frozen = True
            gc.freeze()
        finally:
            gc.unfreeze()
            _frozen = False


def _end_in_child() -> None:
    """Turn the collector on in a process that another thread forked while a block was open."""
    global _lock, _open, _frozen
    _lock = threading.Lock()  # it may have been held by a thread that is not here
    if _frozen:
        gc.unfreeze()
        _frozen = False
    if _open and _was_on:
        gc.enable()
    _open = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_in_child)
