"""Colors, sizes and pieces of pictures.

Pictures of guides are 640 pixels wide on a page and have letters of 18 pixels, so that they can
still be read where a telephone shrinks them to 360 pixels. They have half as many dots again, for
sharp screens. Their background is white, which the theme also puts behind pictures in dark mode.
Neighboring colors differ in lightness, for readers who cannot tell their hues apart.
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch

FOLDER = Path(__file__).parents[1] / "_static"
FIGURES = Path(__file__).parents[1] / "figures"
HUES = ["#2a6fbb", "#e07b39", "#2f9e77", "#b8549b", "#9a8b1f", "#6f5bd6", "#cc3f4f", "#1b98a6"]
GRAY = "#808890"
INK, PALE = "#24292f", "#d5dae0"
BLUE, ORANGE, GREEN, PURPLE = "#0b5fa5", "#e38b1e", "#1c8a66", "#b565a7"
DARKER = {ORANGE: "#a85f00"}  # for words, which need more contrast than lines
CLUSTERS = [BLUE, ORANGE, GREEN, PURPLE, "#7a6a00", "#56b4e9", "#8c2d04", "#5e4fa2"]
MARKS = "osD^vP<>"
LETTERS = {
    "font.size": 13,
    "axes.titlesize": 14,
    "axes.labelsize": 13,
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GRAY,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def page(height: float, n_rows: int = 1, n_columns: int = 1, **others: Any) -> tuple[Any, Any]:
    """A figure of the usual width, and its axes."""
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(6.4, height), layout="constrained", squeeze=False, **others
    )
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    return figure, axes


def keep(figure: Any, name: str) -> None:
    """Write the picture of a guide."""
    path = FOLDER / f"guide-{name}.png"
    figure.savefig(path, dpi=150, facecolor="white", metadata={"Software": None})
    plt.close(figure)


def dots(ax: Any, X: Any, labels: Any, centroids: Any = None, size: float = 9) -> None:
    """Rows colored by cluster, and rings where centroids are."""
    for label in np.unique(labels):
        own = X[labels == label]
        ax.scatter(*own.T, s=size, color=HUES[label % len(HUES)], alpha=0.8, lw=0)
    if centroids is not None:
        ax.scatter(*centroids.T, s=70, facecolor="white", edgecolor=GRAY, lw=1.8, zorder=3)
    ax.set_axis_off()


def marked(ax: Any, X: Any, labels: Any, centroids: Any = None, size: float = 16) -> None:
    """Rows in the color and with the mark of their cluster, for guides."""
    for label in np.unique(labels):
        own = X[labels == label]
        ax.scatter(*own.T, s=size, color=CLUSTERS[label], marker=MARKS[label], alpha=0.85, lw=0)
    if centroids is not None:
        ax.scatter(*centroids.T, s=110, facecolor="white", edgecolor=INK, lw=2, zorder=3)
    ax.set_xticks([])
    ax.set_yticks([])


def tiles(images: Any, n_columns: int, gap: int = 2, fill: float = np.nan) -> Any:
    """Images of the same shape side by side."""
    height, width = images[0].shape[:2]
    n_rows = -(-len(images) // n_columns)
    shape = n_rows * (height + gap) - gap, n_columns * (width + gap) - gap, *images[0].shape[2:]
    page = np.full(shape, fill)
    for place, image in enumerate(images):
        top, left = place // n_columns * (height + gap), place % n_columns * (width + gap)
        page[top : top + height, left : left + width] = image
    return page


def canvas(height: float) -> tuple[Any, Any]:
    """A page for boxes and arrows, in tenths of an inch from its lower left corner."""
    figure = plt.figure(figsize=(6.4, height))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 64), ylim=(0, 10 * height))
    ax.set_axis_off()
    return figure, ax


def box(
    ax: Any, x: float, y: float, width: float, height: float, text: str, color: str = BLUE
) -> None:
    """A box with text; the first line is bold."""
    style = "round,pad=0,rounding_size=0.8"
    ax.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle=style, facecolor="white", edgecolor=color, lw=2
        )
    )
    first, *rest = text.split("\n")
    words = DARKER.get(color, color)
    middle = y + height / 2
    top = middle + 1.15 * len(rest)
    ax.text(x + width / 2, top, first, ha="center", va="center", weight="bold", color=words)
    for number, line in enumerate(rest, 1):
        ax.text(x + width / 2, top - 2.3 * number, line, ha="center", va="center", fontsize=12)


def arrow(ax: Any, start: Any, end: Any, color: str = INK) -> None:
    """An arrow between two places."""
    look = {"arrowstyle": "-|>,head_width=0.35,head_length=0.7", "color": color, "lw": 2}
    ax.annotate("", xy=end, xytext=start, arrowprops=look | {"shrinkA": 0, "shrinkB": 0})
