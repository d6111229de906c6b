"""What a compiled kernel depends on: the module it is in, and the kernel modules that imports."""

import hashlib
import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent

#: Every import of a kernel module has this form; tests/kernels/test_sources.py checks that.
_IMPORT = re.compile(r"^from polymeans\.kernels\.(\w+) import ", re.MULTILINE)

#: Modules that decide how kernels are compiled and kept, and not what they compute. Options of the
#: compiler are part of the key by themselves.
_MACHINERY = frozenset({"cache", "compile", "entries", "linked", "read_only", "sources", "waiting"})


@cache
def _source(name: str) -> tuple[bytes, frozenset[str]]:
    """The text of a kernel module, and the kernel modules that it imports."""
    text = (_FOLDER / f"{name}.py").read_bytes()
    return text, frozenset(_IMPORT.findall(text.decode())) - _MACHINERY


@cache
def needed_modules(name: str) -> tuple[str, ...]:
    """A kernel module and all others that it reaches through imports, in alphabetic order."""
    found, waiting = {name}, [name]
    while waiting:
        for other in _source(waiting.pop())[1] - found:
            found.add(other)
            waiting.append(other)
    return tuple(sorted(found))


@cache
def sources_digest(name: str) -> str:
    """Digest of everything that the code of a kernel module's functions is made from.

    A kernel may call any function of a module that its own module imports, also through
    ``numba.extending.overload``, which leaves no trace in the caller. So modules are what counts,
    not functions.
    """
    digest = hashlib.sha256()
    for needed in needed_modules(name):
        text, _ = _source(needed)
        digest.update(f"{needed} {len(text)}\n".encode() + text)
    return digest.hexdigest()
