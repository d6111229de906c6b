"""matplotlib, imported when something is drawn and not before."""

from importlib import import_module
from typing import Any


def load(name: str) -> Any:
    """Import one of matplotlib's modules, or say how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "polymeans[plot]"') from error
