"""Public names of a package whose modules are imported when one of them is first used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from polymeans._garbage import garbage_kept


def late_names(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Any]:
    """``__getattr__`` and ``__dir__`` of a package that imports names late.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    places : mapping of str to str
        The module of each name. None may be called like a module of the package: importing that
        module would put it in place of what the name stands for.

    Returns
    -------
    get : callable
        For ``__getattr__``.
    names : callable
        For ``__dir__``.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with garbage_kept():
            value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)  # found there from now on
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
