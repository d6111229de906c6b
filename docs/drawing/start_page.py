"""Pictures of the README and of the start page: one panel for each estimator, and speed.

Backgrounds are transparent and lines of a middle gray, so that one picture suits light and dark
pages. Each panel is a fit of the estimator that it stands for.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_blobs

from drawing.style import FIGURES, FOLDER, GRAY, HUES, dots, tiles
from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)
from polymeans.datasets import make_colored_letters, make_stick_figures


def free(ax: Any) -> None:
    """Round clusters."""
    X, _ = make_blobs(420, centers=6, cluster_std=0.9, random_state=3)
    model = KMeans(6, n_init=5, random_state=0).fit(X)
    dots(ax, X, model.labels_, model.cluster_centers_)


def grid(ax: Any) -> None:
    """Nine poses, and the six vectors they are sums of."""
    images, _ = make_stick_figures(600, random_state=0)
    model = KhatriRaoKMeans((3, 3), random_state=0).fit(images)
    nine = model.cluster_centers_.reshape(3, 3, 20, 20)
    order = nine.reshape(9, 20, 20)
    ax.imshow(tiles(list(order), 3, gap=3), cmap="Blues", interpolation="nearest")
    ax.set_axis_off()


def views(ax: Any) -> None:
    """The centroids of three views of the same images."""
    images, _ = make_colored_letters(600, random_state=0)
    model = NonRedundantKMeans((6, 3, 4), random_state=0).fit(images)
    rows = sorted(model.centroids_per_view_, key=len)
    page = []
    for part in rows:
        pictures = np.clip(part.reshape(len(part), 9, 7, 3) / max(part.max(), 1e-9), 0, 1)
        page += [np.dstack([one, np.ones((9, 7))]) for one in pictures]
        page += [np.zeros((9, 7, 4))] * (6 - len(part))
    ax.imshow(tiles(page, 6, gap=2, fill=0.0), interpolation="nearest")
    ax.set_axis_off()


def streaks(ax: Any) -> None:
    """Elongated clusters."""
    rng = np.random.default_rng(0)
    known = np.repeat([0, 1, 2], 130)
    X = rng.normal(size=(390, 2)) * [4, 0.28] + np.column_stack([0 * known, 1.9 * known])
    X = X @ [[0.9, 0.44], [-0.44, 0.9]]
    model = TransformedKMeans(3, random_state=0).fit(X)
    dots(ax, X, model.labels_)


def factors(ax: Any) -> None:
    """Two sparse factors."""
    X = load_digits().data
    model = QuickKMeans(32, n_nonzeros=420, random_state=0).fit(X)
    left, right = (np.sqrt(np.abs(part.toarray())) for part in model.factors_[:2])
    height = max(len(left), len(right))
    page = np.full((height, left.shape[1] + 3 + right.shape[1]), np.nan)
    for at, part in ((0, left), (left.shape[1] + 3, right)):
        top = (height - len(part)) // 2
        shown = np.where(part > 0, part / part.max(), 0.06)
        page[top : top + len(part), at : at + part.shape[1]] = shown
    ax.imshow(page, cmap="Purples", vmin=0, vmax=1.1, interpolation="nearest", aspect="auto")
    ax.set_axis_off()


def sparse(ax: Any) -> None:
    """Centroids with few pixels."""
    X = load_digits().data
    model = L1KMeans(8, n_nonzeros=150, random_state=0).fit(X)
    pictures = list(model.cluster_centers_.reshape(8, 8, 8))
    ax.imshow(tiles(pictures, 4, gap=1), cmap="Oranges", interpolation="nearest")
    ax.set_axis_off()


PANELS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "kmeans": ("KMeans: round clusters", free),
    "khatri_rao": ("KhatriRaoKMeans: 9 poses from 6 vectors", grid),
    "nonredundant": ("NonRedundantKMeans: color, corner, letter", views),
    "transformed": ("TransformedKMeans: elongated clusters", streaks),
    "quick": ("QuickKMeans: sparse factors", factors),
    "l1": ("L1KMeans: sparse centroids", sparse),
}


def draw_cards() -> None:
    """One picture for each estimator."""
    for name, (_, draw) in PANELS.items():
        figure, ax = plt.subplots(figsize=(3, 2), layout="constrained")
        draw(ax)
        figure.savefig(FOLDER / f"card-{name}.png", dpi=120, transparent=True)
        plt.close(figure)


def draw_overview() -> None:
    """All of them, with names."""
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.2), layout="constrained")
    for ax, (title, draw) in zip(axes.flat, PANELS.values()):
        draw(ax)
        ax.set_title(title, fontsize=11, color=GRAY)
    figure.savefig(FOLDER / "overview.png", dpi=110, transparent=True)
    plt.close(figure)


#: The lines of the picture of speed: benchmark, row of its tables, a pattern of their titles.
SPEED = {
    "sparse text, whole fits": ("kmeans-sparse", "better sklearn", ""),
    "sums of 100 x 100 protocentroids": (
        "khatri-rao-speed",
        "sklearn lloyd",
        "^20000.*sum 100x100",
    ),
    "dense rows with clusters": ("kmeans-dense", "sklearn lloyd", "mixture|mnist"),
    "dense noise": ("kmeans-dense", "sklearn lloyd", "noise"),
}


def measured_speed(benchmark: str, peer: str, titled: str) -> tuple[float, float]:
    """The least and the most times as fast as ``peer`` in the tables of docs/figures."""
    tables = json.loads((FIGURES / f"{benchmark}.json").read_text())["runs"][-1]["tables"]
    ratios = [
        row["ratio"]
        for table in tables
        if re.search(titled, table["title"])
        for row in table["rows"]
        if row[""] == peer
    ]
    return min(ratios), max(ratios)


def draw_speed() -> None:
    """Ranges of ratios."""
    figure, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
    for place, source in enumerate(reversed(SPEED.values())):
        least, most = measured_speed(*source)
        ax.plot([least, most], [place, place], color=HUES[0], lw=9, solid_capstyle="round")
        ax.text(
            most * 1.12, place, f"{least:.1f} to {most:.1f}", va="center", color=GRAY, fontsize=9
        )
    ax.axvline(1, color=HUES[1], lw=1.5)
    ax.set_xscale("log")
    ax.set_xlim(0.9, 120)
    ticks = [1, 2, 5, 10, 20, 50]
    ax.set_xticks(ticks, [str(tick) for tick in ticks], color=GRAY)
    ax.minorticks_off()
    ax.set_yticks(range(len(SPEED)), list(reversed(SPEED)), color=GRAY)
    ax.set_xlabel("times as fast as scikit-learn (logarithmic)", color=GRAY)
    ax.tick_params(color=GRAY)
    for side in ax.spines.values():
        side.set_visible(False)
    figure.savefig(FOLDER / "speed.svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
