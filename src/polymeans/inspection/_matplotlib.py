"""matplotlib, imported when something is drawn and not before, and axes to draw on."""

from importlib import import_module
from typing import Any


def load(name: str) -> Any:
    """Import one of matplotlib's modules; the error says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "polymeans[plot]"') from error


def axes_or_new(ax: Any) -> Any:
    """The given axes, or new ones on a figure of pyplot."""
    if ax is not None:
        return ax
    return load("matplotlib.pyplot").subplots(layout="constrained")[1]


def axes_or_sized(ax: Any, size: tuple[float, float]) -> Any:
    """The given axes, or new ones of this size in inches."""
    if ax is not None:
        return ax
    figure, ax = load("matplotlib.pyplot").subplots(figsize=size, layout="constrained")
    # Long labels beside pictures of a fixed aspect need a little more space than is planned.
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    return ax
