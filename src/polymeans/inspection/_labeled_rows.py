"""Rows with labels, and centers among them: as a scatter plot or as a histogram."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import resample

from polymeans.inspection._matplotlib import load
from polymeans.inspection._style import HUES, MARKERS

#: Classes that a legend names, and in one column of it.
_MOST_NAMES, _NAMES_IN_COLUMN = 24, 8


def draw_scatter(
    ax: Any, inside: NDArray[Any], labels: NDArray[Any], centers: NDArray[Any]
) -> None:
    """Draw rows and numbered centers in the first two dimensions."""
    hues = np.array(HUES)[labels % len(HUES)]
    turns = labels // len(HUES) % len(MARKERS)
    # Rows are not drawn cluster by cluster: the last cluster would cover the others.
    for turn in np.unique(turns):
        here = turns == turn
        look = {"c": hues[here], "marker": MARKERS[turn]}
        ax.scatter(*inside[here, :2].T, s=9, lw=0, alpha=0.6, **look)
    # Rings, because a disk would cover a narrow cluster; a white halo separates them from rows.
    halo = [load("matplotlib.patheffects").withStroke(linewidth=3, foreground="white")]
    ax.scatter(
        *centers[:, :2].T, s=90, c="none", edgecolors="black", lw=1, zorder=3, path_effects=halo
    )
    for number, place in enumerate(centers):
        ax.annotate(
            str(number),
            place[:2],
            xytext=(5, 4),
            textcoords="offset points",
            weight="bold",
            zorder=4,
            path_effects=halo,
        )
    ax.margins(0.12)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel("dimension 0")
    ax.set_ylabel("dimension 1")


def draw_histogram(
    ax: Any, inside: NDArray[Any], labels: NDArray[Any], centers: NDArray[Any]
) -> None:
    """Draw the distribution of rows in one dimension, stacked by cluster, and the centers."""
    edges = np.histogram_bin_edges(inside, bins=40)
    bottom = np.zeros(len(edges) - 1)
    for number in np.unique(labels):
        heights = np.histogram(inside[labels == number], bins=edges)[0]
        ax.bar(
            edges[:-1],
            heights,
            width=np.diff(edges),
            bottom=bottom,
            align="edge",
            color=HUES[number % len(HUES)],
            alpha=0.8,
        )
        bottom += heights
    ax.set_ylim(0, 1.18 * bottom.max())
    frame = ax.get_xaxis_transform()
    for number, place in enumerate(centers):
        ax.plot([place, place], [0, 0.93], color="black", ls="--", lw=1, transform=frame)
        ax.text(
            place,
            0.93,
            str(number),
            ha="center",
            va="center",
            fontsize="small",
            transform=frame,
            bbox={"boxstyle": "circle", "fc": "white", "ec": "black"},
        )
    ax.set_xlabel("dimension 0")
    ax.set_ylabel("rows")


def draw_legend(ax: Any, names: NDArray[Any]) -> None:
    """Name the classes that rows are colored by, in the order of their codes."""
    lines = load("matplotlib.lines")
    handles = [
        lines.Line2D(
            [],
            [],
            ls="none",
            marker=MARKERS[code // len(HUES) % len(MARKERS)],
            color=HUES[code % len(HUES)],
            label=str(name),
        )
        for code, name in enumerate(names[:_MOST_NAMES])
    ]
    if len(names) > _MOST_NAMES:
        handles.append(
            lines.Line2D([], [], ls="none", label=f"and {len(names) - _MOST_NAMES} more")
        )
    n_columns = 1 if len(handles) <= _NAMES_IN_COLUMN else 2
    ax.legend(handles=handles, fontsize="small", framealpha=0.8, ncols=n_columns)


def n_rows(X: Any) -> int:
    """Number of rows of a frame, an array, a sparse matrix or a list."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def sample_rows(X: Any, max_points: int, random_state: Any) -> tuple[Any, NDArray[np.int64]]:
    """X and the numbers of its rows; if there are more than ``max_points``, a random sample."""
    if n_rows(X) <= max_points:
        return X, np.arange(n_rows(X))
    chosen = resample(
        np.arange(n_rows(X)), replace=False, n_samples=max_points, random_state=random_state
    )
    return _rows_of(X, chosen), chosen


def _rows_of(X: Any, chosen: NDArray[np.int64]) -> Any:
    """Some of the rows: of a frame, an array, a sparse matrix or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[chosen]
    if sp.issparse(X):
        return X.tocsr()[chosen]
    return X[chosen] if hasattr(X, "shape") else [X[i] for i in chosen]
