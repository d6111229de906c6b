"""Libraries that read files, imported when a file of theirs is opened and not before."""

from importlib import import_module
from typing import Any


def load(name: str) -> Any:
    """Import a module of an optional library; the error says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        library = name.partition(".")[0]
        raise ImportError(
            f'This needs {library}, which cannot be imported: pip install "polymeans[files]"'
        ) from error
