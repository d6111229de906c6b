"""Compiled kernels on the disk: one file for each kernel, signature, processor and source.

numba's own cache has an index for each function and numbers its files, so that processes that write
at the same time can give one signature the code of another. Here the name of a file says all that
its content depends on: files are complete when they appear, never change, and need no index.

Kernels are looked for in the folders that numba would use: ``NUMBA_CACHE_DIR``, ``__pycache__``
beside the sources, the user's cache folder. The first one that can be written to gets what is
compiled here, and is the last of them to be looked at. Then comes the folder that release wheels
bring along, with kernels for a common level of processors: those that were compiled for the
processor at hand, as ``polymeans warmup --native`` does, may be faster.
"""

import hashlib
import logging
import os
import platform
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba import types
from numba.core import config, sigutils
from numba.misc.appdirs import AppDirs

from polymeans._first_import import interrupts_deferred, prepare_compiler
from polymeans._garbage import garbage_kept
from polymeans.kernels import entries, waiting
from polymeans.kernels.linked import set_environments
from polymeans.kernels.sources import sources_digest

logger = logging.getLogger("polymeans")

#: Kernels of a release wheel, and the processors they are for: Intel since 2013, AMD since 2015.
SHIPPED = Path(__file__).parent / "compiled"
LEVEL = "x86-64-v3"
_FEATURES = [
    "avx",
    "avx2",
    "bmi",
    "bmi2",
    "cmov",
    "cx16",
    "f16c",
    "fma",
    "lzcnt",
    "movbe",
    "popcnt",
    "sse4.2",
]

#: If this variable is set to any text, kernels of a release wheel are left aside.
NATIVE = "POLYMEANS_NATIVE"

#: Changes whenever files of earlier versions cannot be read; it also begins each file.
_FORMAT = b"polymeans kernel 2\n"

#: Settings of numba that change the code it generates.
_SETTINGS = [
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "LLVM_REFPRUNE_PASS",
    "LLVM_REFPRUNE_FLAGS",
    "ENABLE_PROFILING",
    "USE_LLVMLITE_MEMORY_MANAGER",
]

#: Files for sources that are gone are removed after so many seconds, which is a month.
_KEPT = 30 * 24 * 3600


class KernelCache:
    """Keeps what one dispatcher compiles; it has the methods that numba calls.

    Parameters
    ----------
    dispatcher : numba.core.dispatcher.Dispatcher
        A kernel of :mod:`polymeans.kernels`.
    """

    def __init__(self, dispatcher: Any) -> None:
        function = dispatcher.py_func
        self._module = function.__module__.rpartition(".")[2]
        self._name = f"{self._module}.{function.__qualname__}"
        self._options = _spelled(dispatcher.targetoptions)
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder that files are written to."""
        return str(_folders()[0][-1])

    def enable(self) -> None:
        """Use files."""
        self._enabled = True

    def disable(self) -> None:
        """Use no files."""
        self._enabled = False

    def flush(self) -> None:
        """Remove the files of this kernel."""
        for folder in _folders()[0]:
            for path in folder.glob(f"{self._name}-*.kernel"):
                path.unlink(missing_ok=True)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled kernel; None if it has to be compiled, for which all is ready then."""
        if self._enabled:
            # numba must not be left with half of a kernel.
            with interrupts_deferred(), garbage_kept():
                for path in self._places(signature, context):
                    found = _read(path)
                    if found is not None:
                        try:
                            result = entries.unpack(context, found)
                        except Exception:  # written by something that is no longer here
                            result = None
                        if result is not None:
                            return result
        prepare_compiler()
        waiting.watch()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, if it can be kept; failing to do so is no error."""
        set_environments(result)
        if not self._enabled or result.lifted or result.library.has_dynamic_globals:
            return
        folders, writable = _folders()
        name = self._file_name(signature, _host(result.codegen))
        if not writable:
            _warn_that_nothing_is_kept(folders)
        if not writable or name is None:
            return
        try:
            packed = entries.pack(result)
        except Exception:  # a numba that describes its results in another way
            return
        _write(folders[-1] / name, packed)
        _remove_outdated(folders[-1], name)

    def _places(self, signature: Any, context: Any) -> Iterator[Path]:
        host = _host(context.codegen())
        name = self._file_name(signature, host)
        if name is not None:
            for folder in _folders()[0]:
                yield folder / name
        if _runs_shipped(host) and not os.environ.get(NATIVE):
            name = self._file_name(signature, (*host[:2], LEVEL, "", "False"))
            if name is not None:
                yield SHIPPED / name

    def _file_name(self, signature: Any, target: tuple[str, ...]) -> str | None:
        """The name of the file; None if a type or the sources cannot be named in it."""
        arguments, returned = sigutils.normalize_signature(signature)
        kinds = [_type_name(kind) for kind in (*arguments, returned)]
        if any(kind is None for kind in kinds):
            return None
        settings = [str(getattr(config, name, None)) for name in _SETTINGS]
        variant = hashlib.sha256(
            repr((_versions(), settings, target, self._name, self._options, kinds)).encode()
        )
        try:
            sources = sources_digest(self._module)
        except OSError:  # a program that is packed without its sources
            return None
        return f"{self._name}-{variant.hexdigest()[:24]}-{sources[:24]}.kernel"


@cache
def _versions() -> tuple[str, ...]:
    tag = str(sys.implementation.cache_tag)
    return (_FORMAT.decode(), numba.__version__, llvmlite.__version__, tag)


def _host(generator: Any) -> tuple[str, ...]:
    """What code is generated for: system, machine, processor, its features, vector mathematics."""
    _, processor, features = generator.magic_tuple()
    vector_mathematics = str(getattr(config, "USING_SVML", False))
    return (sys.platform, platform.machine(), processor, features, vector_mathematics)


@cache
def _runs_shipped(host: tuple[str, ...]) -> bool:
    features = frozenset(host[3].split(","))
    return SHIPPED.is_dir() and all(f"+{feature}" in features for feature in _FEATURES)


def _type_name(kind: Any) -> str | None:
    """A name that differs wherever code would; None if there is none.

    numba's name of a named tuple leaves out where its class is and how its fields are called.
    """
    if isinstance(kind, types.BaseTuple):
        parts = [_type_name(part) for part in kind]
        if any(part is None for part in parts):
            return None
        inner = f"({', '.join(str(part) for part in parts)})"
        if isinstance(kind, types.BaseNamedTuple):
            found = kind.instance_class
            return f"{found.__module__}.{found.__qualname__}{found._fields}{inner}"
        return inner
    name = str(kind)
    return None if " at 0x" in name else name


def _spelled(value: Any) -> str:
    """A value in words that do not depend on the process."""
    if isinstance(value, dict):
        return str(sorted((name, _spelled(part)) for name, part in value.items()))
    if isinstance(value, set | frozenset):
        return str(sorted(map(_spelled, value)))
    return str(value)


def _candidates() -> list[Path]:
    """Folders of this machine, whether they are there or not."""
    given = [Path(config.CACHE_DIR) / "polymeans"] if config.CACHE_DIR else []
    of_user = Path(AppDirs(appname="numba", appauthor=False).user_cache_dir) / "polymeans"
    return [*given, Path(__file__).parent / "__pycache__", of_user]


@cache
def _folders() -> tuple[tuple[Path, ...], bool]:
    """Folders to look at, and whether the last of them can be written to."""
    found = []
    for folder in _candidates():
        found.append(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return tuple(found), True
    return tuple(found), False


@cache
def _warn_that_nothing_is_kept(folders: tuple[Path, ...]) -> None:
    logger.warning(
        "Compiled kernels cannot be kept: none of %s can be written to, so every process compiles "
        "them again. Set NUMBA_CACHE_DIR to a folder that can.",
        ", ".join(map(str, folders)),
    )


def kernel_files() -> Iterator[Path]:
    """Compiled kernels on the disk, of this version of the sources or another."""
    for folder in _folders()[0]:
        yield from folder.glob("*.kernel")


def _read(path: Path) -> bytes | None:
    """What was written to a file; None if there is none or it is damaged."""
    try:
        whole = path.read_bytes()
    except OSError:
        return None
    begin = len(_FORMAT)
    checksum, data = whole[begin : begin + 32], whole[begin + 32 :]
    is_whole = whole.startswith(_FORMAT) and hashlib.sha256(data).digest() == checksum
    return data if is_whole else None


def _write(path: Path, data: bytes) -> None:
    """Write a file that appears at once, complete; another process may write the same one."""
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        unfinished.write_bytes(_FORMAT + hashlib.sha256(data).digest() + data)
        os.replace(unfinished, path)
    except OSError:  # the disk is full, or on Windows the file is being read
        unfinished.unlink(missing_ok=True)


def _remove_outdated(folder: Path, name: str) -> None:
    """Remove files of the same kernel and signature that earlier sources left, if they are old."""
    variant, _, _ = name.rpartition("-")
    for path in folder.glob(f"{variant}-*"):
        try:
            if path.name != name and time.time() - path.stat().st_mtime > _KEPT:
                path.unlink(missing_ok=True)
        except OSError:
            continue
