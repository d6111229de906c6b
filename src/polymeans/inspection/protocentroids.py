"""Plots of centroids that are made of protocentroids."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._matplotlib import axes_or_new
from polymeans.inspection._models import check_has, last_step, refuse_latent
from polymeans.inspection._tiles import ChangePaint, Paint, Tile, number_ticks

BASELINES = ("fitted", "least")


def plot_protocentroids(
    model: Any,
    *,
    image_shape: Sequence[int] | None = None,
    baseline: str = "fitted",
    limits: tuple[float, float] | None = None,
    cmap: Any = "auto",
    later_cmap: Any = "RdBu_r",
    ax: Any = None,
) -> Any:
    """Draw the sets of protocentroids, and for two sets the table of centroids they make.

    With two sets the first stands down the left margin, the second along the top, and each
    combination where its row and column meet. Combinations and protocentroids to which no row
    belongs are dimmed. With more sets, or one, there is a line for each set and no table.

    Parameters
    ----------
    model : KhatriRaoKMeans
        Fitted, or another model with ``protocentroids_``, ``labels_`` and ``aggregator``.
    image_shape : tuple of int, default=None
        Height and width if rows are images, or height, width and 3 for colors. None: vectors are
        drawn as stripes of a heat map, one column for each feature.
    baseline : {"fitted", "least"}, default="fitted"
        Sums only. A vector can be added to one set and subtracted from another without changing
        any centroid. "fitted": the sets as they are in ``protocentroids_``, where all but the
        first have mean zero, so they are drawn as differences. "least": all but the first get
        minimum zero in each feature, so they are non-negative parts to be added.
    limits : tuple of float, default=None
        Values at the two ends of ``cmap``. None: the range of what is drawn; 0 and 1 for colors.
    cmap : str or matplotlib Colormap, default="auto"
        Colors of the centroids and of the first set. "auto": large values are dark in drawings,
        where many pixels are at the low end, and light in photographs.
    later_cmap : str or matplotlib Colormap, default="RdBu_r"
        Colors of the other sets where they are drawn as changes. The middle means no change: 0 in
        a sum, 1 in a product. In images with colors, it is gray.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes. ``ax.images`` are the sets in their order, then the table.

    See Also
    --------
    plot_centroids : The centroids alone.
    plot_tradeoff : Inertia against the numbers stored.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KhatriRaoKMeans
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.inspection import plot_protocentroids
    >>> images, poses = make_stick_figures(300, random_state=0)
    >>> model = KhatriRaoKMeans((3, 3), random_state=0).fit(images)
    >>> ax = plot_protocentroids(model, image_shape=(20, 20), ax=Figure().add_subplot())
    >>> len(ax.images)  # two sets and the table
    3
    """
    model = last_step(model)
    if hasattr(model, "protocentroids_"):
        refuse_latent(
            model, "protocentroids among the features", "polymeans.deep.plot_decoded_centroids"
        )
    for attribute in ("protocentroids_", "labels_", "aggregator"):
        check_has(model, attribute)
    if baseline not in BASELINES:
        raise ValueError(f"baseline must be one of 'fitted', 'least', got {baseline!r}.")
    # How they were fitted; the parameter may have changed since.
    aggregator = getattr(model, "_aggregator", model.aggregator)
    sets = [np.asarray(theta, dtype=np.float64) for theta in model.protocentroids_]
    tile = Tile(image_shape, sets[0].shape[1])
    sizes = tuple(len(theta) for theta in sets)
    cells = np.bincount(model.labels_, minlength=int(np.prod(sizes))).reshape(sizes)
    as_parts = baseline == "least" and aggregator == "sum"
    if as_parts:
        sets = _on_zero(sets)
    centers = None
    if len(sets) == 2:
        centers = np.asarray(model.cluster_centers_, dtype=np.float64)

    first = sets if as_parts else sets[:1]
    plain = Paint(cmap, limits, [*first, *([centers] if centers is not None else [])], tile)
    neutral = 0.0 if aggregator == "sum" else 1.0
    later = plain if as_parts else ChangePaint(later_cmap, neutral, sets[1:], tile)
    paints = [plain] + [later] * (len(sets) - 1)
    ax = axes_or_new(ax)
    if centers is None:
        _draw_lines(ax, model, tile, sets, paints, cells)
    else:
        _draw_table(ax, aggregator, tile, sets, paints, cells, centers)
    ax.set_aspect("equal" if tile.is_image else "auto")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _on_zero(sets: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """The sets of a sum such that all but the first have minimum zero in each feature."""
    least = [theta.min(axis=0) for theta in sets[1:]]
    return [sets[0] + sum(least), *(theta - low for theta, low in zip(sets[1:], least))]


def _draw_table(
    ax: Any,
    aggregator: str,
    tile: Tile,
    sets: list[NDArray[np.float64]],
    paints: list[Paint],
    cells: NDArray[np.int64],
    centers: NDArray[np.float64],
) -> None:
    """Draw the first set down the margin, the second along the top, and the table."""
    n_rows, n_columns = cells.shape
    # A wider gap separates the sets from the table.
    margin_x, margin_y = tile.left(1) + 2 * tile.gaps[1], tile.top(1) + 2 * tile.gaps[0]
    paints[0].draw(ax, sets[0], cells.any(axis=1), 1, (0, margin_y))
    paints[1].draw(ax, sets[1], cells.any(axis=0), n_columns, (margin_x, 0))
    paints[0].draw(ax, centers, cells.ravel() > 0, n_columns, (margin_x, margin_y))
    ax.set_xlim(0, margin_x + tile.left(n_columns) - tile.gaps[1])
    ax.set_ylim(margin_y + tile.top(n_rows) - tile.gaps[0], 0)
    sign = "+" if aggregator == "sum" else "×"
    ax.text(tile.width / 2, tile.height / 2, sign, ha="center", va="center", fontsize=16)
    columns = [margin_x + tile.left(j) + tile.width / 2 for j in range(n_columns)]
    rows = [margin_y + tile.top(i) + tile.height / 2 for i in range(n_rows)]
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xticks(*number_ticks(columns))
    ax.set_yticks(*number_ticks(rows))
    ax.set_ylabel("protocentroids_[0]")
    ax.set_xlabel("protocentroids_[1]")


def _draw_lines(
    ax: Any,
    model: Any,
    tile: Tile,
    sets: list[NDArray[np.float64]],
    paints: list[Paint],
    cells: NDArray[np.int64],
) -> None:
    """Draw the sets one below the other: images side by side, stripes on top of each other."""
    top, middles = 0, []
    for q, (theta, paint) in enumerate(zip(sets, paints)):
        used = cells.any(axis=tuple(axis for axis in range(cells.ndim) if axis != q))
        paint.draw(ax, theta, used, len(theta) if tile.is_image else 1, (0, top))
        height = tile.top(1 if tile.is_image else len(theta)) - tile.gaps[0]
        middles.append(top + height / 2)
        top += height + 3 * tile.gaps[0]
    widest = max(map(len, sets)) if tile.is_image else 1
    ax.set_xlim(0, tile.left(widest) - tile.gaps[1])
    ax.set_ylim(top - 3 * tile.gaps[0], 0)
    ax.set_yticks(middles, [f"protocentroids_[{q}]" for q in range(len(sets))])
    if tile.is_image:
        ax.set_xticks(*number_ticks([tile.left(j) + tile.width / 2 for j in range(widest)]))
    else:
        ax.set_xticks([])
        ax.set_xlabel("feature")
