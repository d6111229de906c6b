"""Pictures of centroids that are made of protocentroids, and of what that saves.

As in :mod:`polymeans.inspection.plots`, functions draw on the axes they are given, or on new ones,
and return them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._matplotlib import load
from polymeans.inspection.plots import _MAIN, _SECOND, _axes, _check_has

BASELINES = ("fitted", "least")

#: Opacity of a picture no row belongs to.
_DIMMED = 0.2

#: Gaps are about this part of a picture, so pictures must have that many pixels or be enlarged.
_GAP = 12

#: Protocentroids of a set above which their numbers would run into each other.
_MOST_NAMES = 30

#: How curves are drawn, in turn: hue, marker and dashes, so that any one of them is enough.
_CURVES = ((_MAIN, "o", "-"), (_SECOND, "s", "--"), ("#3d8b5f", "^", "-."), ("#8a4f9e", "D", ":"))


def plot_protocentroids(
    model: Any,
    *,
    image_shape: Sequence[int] | None = None,
    baseline: str = "fitted",
    limits: tuple[float, float] | None = None,
    cmap: Any = "gray_r",
    later_cmap: Any = "RdBu_r",
    ax: Any = None,
) -> Any:
    """Draw the sets of protocentroids, and for two sets the table of centroids they make.

    With two sets the first stands down the left margin, the second along the top, and each
    combination where its row and column meet. Combinations no row belongs to are dimmed, and so are
    protocentroids that serve nobody. With more sets, or one, there is a line for each set and no
    table.

    Parameters
    ----------
    model : KhatriRaoKMeans
        Fitted; anything with ``protocentroids_``, ``labels_`` and ``aggregator`` will do.
    image_shape : tuple of int, default=None
        Height and width of the images the rows are, or height, width and 3 for colours. None: rows
        are no images, and vectors become stripes of a heat map, one column for each feature.
    baseline : {"fitted", "least"}, default="fitted"
        Sums only. A vector can be added to one set and subtracted from another without changing
        any centroid. "fitted": the sets as they are in ``protocentroids_``, where all but the
        first have mean zero, so they are drawn as differences. "least": they get minimum zero in
        each feature, so they look like parts to be added, as ink is.
    limits : tuple of float, default=None
        Values at the two ends of ``cmap``. None: the range of what is drawn; 0 and 1 for colours.
    cmap : str or matplotlib Colormap, default="gray_r"
        Colours of the centroids and of the first set.
    later_cmap : str or matplotlib Colormap, default="RdBu_r"
        Colours of the other sets where they are drawn as changes. The middle is what changes
        nothing: 0 in a sum, 1 in a product. In images with colours, it is grey.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes. ``ax.images`` are the sets in their order, then the table.

    See Also
    --------
    plot_centers_as_images : The centroids alone.
    plot_tradeoff : What protocentroids cost and save.

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
    for attribute in ("protocentroids_", "labels_", "aggregator"):
        _check_has(model, attribute)
    if baseline not in BASELINES:
        raise ValueError(f"baseline must be one of 'fitted', 'least', got {baseline!r}.")
    sets = [np.asarray(theta, dtype=np.float64) for theta in model.protocentroids_]
    tile = _Tile(image_shape, sets[0].shape[1])
    sizes = tuple(len(theta) for theta in sets)
    cells = np.bincount(model.labels_, minlength=int(np.prod(sizes))).reshape(sizes)
    as_parts = baseline == "least" and model.aggregator == "sum"
    if as_parts:
        sets = _on_zero(sets)
    centers = None
    if len(sets) == 2:
        centers = np.asarray(model.cluster_centers_, dtype=np.float64)

    first = sets if as_parts else sets[:1]
    plain = _Paint(cmap, limits, [*first, *([centers] if centers is not None else [])], tile)
    neutral = 0.0 if model.aggregator == "sum" else 1.0
    later = plain if as_parts else _Change(later_cmap, neutral, sets[1:], tile)
    paints = [plain] + [later] * (len(sets) - 1)
    ax = _axes(ax)
    draw = _draw_lines if centers is None else _draw_table
    draw(ax, model, tile, sets, paints, cells, centers)
    ax.set_aspect("equal" if tile.is_image else "auto")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def plot_tradeoff(curves: Mapping[str, Iterable[Any]], ax: Any = None) -> Any:
    """Draw what is lost against what is stored: inertia over the numbers in the codebook.

    Both axes are logarithmic. A curve below another one makes better use of its numbers.

    Parameters
    ----------
    curves : dict of str to list of estimators
        Fitted models of the same rows under the name of their kind. Each has ``inertia_``, and
        either ``n_parameters_`` or ``cluster_centers_``, which then are free.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    See Also
    --------
    polymeans.metrics.parameter_ratio : How many times fewer numbers than free centroids.
    plot_protocentroids : What the protocentroids look like.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KhatriRaoKMeans, KMeans
    >>> from polymeans.datasets import make_khatri_rao
    >>> from polymeans.inspection import plot_tradeoff
    >>> X, *_ = make_khatri_rao(300, (4, 4), n_features=5, random_state=0)
    >>> free = [KMeans(k, random_state=0).fit(X) for k in (4, 8)]
    >>> sums = [KhatriRaoKMeans((h, h), random_state=0).fit(X) for h in (2, 4)]
    >>> ax = plot_tradeoff({"free": free, "sums": sums}, ax=Figure().add_subplot())
    >>> [line.get_xdata().tolist() for line in ax.lines]
    [[20, 40], [20, 40]]
    """
    if not isinstance(curves, Mapping) or not curves:
        raise TypeError(
            "curves must be a dict of names to lists of fitted models, such as "
            f'{{"k-means": [model, ...]}}, got {curves!r}.'
        )
    points = {name: sorted(map(_cost, models)) for name, models in curves.items()}
    ax = _axes(ax)
    for turn, (name, pairs) in enumerate(points.items()):
        hue, marker, dashes = _CURVES[turn % len(_CURVES)]
        stored, lost = np.array(pairs, dtype=object).reshape(-1, 2).T
        ax.plot(stored, lost, color=hue, marker=marker, ls=dashes, ms=5, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    _name_numbers(ax.xaxis)
    _name_numbers(ax.yaxis)
    ax.set_xlabel("numbers stored")
    ax.set_ylabel("inertia")
    ax.legend(frameon=False)
    return ax


def _name_numbers(axis: Any) -> None:
    """Plain numbers on a logarithmic axis that spans too little for powers of ten."""
    low, high = axis.get_view_interval()
    if high / low < 10:
        ticker = load("matplotlib.ticker")
        axis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(ticker.NullFormatter())


def _cost(model: Any) -> tuple[int, float]:
    """Numbers a model stores, and its inertia."""
    _check_has(model, "inertia_")
    if hasattr(model, "n_parameters_"):
        return int(model.n_parameters_), float(model.inertia_)
    _check_has(model, "cluster_centers_")
    return int(np.size(model.cluster_centers_)), float(model.inertia_)


def _on_zero(sets: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """The sets of a sum such that all but the first have minimum zero in each feature."""
    least = [theta.min(axis=0) for theta in sets[1:]]
    return [sets[0] + sum(least), *(theta - low for theta, low in zip(sets[1:], least))]


# --- pictures ------------------------------------------------------------------------------------


class _Tile:
    """How a vector becomes a little picture, and how far apart these are.

    A mosaic of them is much quicker to draw than axes, or artists, for each.
    """

    def __init__(self, image_shape: Sequence[int] | None, n_features: int) -> None:
        self.is_image = image_shape is not None
        shape = (1, n_features) if image_shape is None else tuple(int(side) for side in image_shape)
        if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3):
            raise ValueError(
                "image_shape must be (height, width), or (height, width, 3) for colours, got "
                f"{shape}."
            )
        if np.prod(shape) != n_features:
            raise ValueError(
                f"image_shape={shape} makes {np.prod(shape)} numbers, but centroids have "
                f"{n_features} features."
            )
        self.shape, self.in_color = shape, len(shape) == 3
        height, width = shape[:2]
        if self.is_image:
            # Tiny ones are enlarged, lest gaps of a pixel be as wide as they are.
            times = -(-_GAP // max(height, width))
            self.repeats = (times, times)
            gap = max(1, round(times * max(height, width) / _GAP))
            self.gaps = (gap, gap)
        else:
            # Stripes: the axes stretch them, so both directions have their own measure.
            self.repeats = (_GAP, -(-_GAP // width))
            self.gaps = (1, max(1, round(self.repeats[1] * width / _GAP)))
        self.height = self.repeats[0] * height
        self.width = self.repeats[1] * width

    def left(self, column: int) -> int:
        """Where a column of pictures begins."""
        return column * (self.width + self.gaps[1])

    def top(self, row: int) -> int:
        """Where a row of pictures begins."""
        return row * (self.height + self.gaps[0])

    def mosaic(
        self, vectors: NDArray[np.float64], used: NDArray[np.bool_], n_columns: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """All vectors side by side, and the opacity of each pixel; gaps are NaN and invisible."""
        n_rows = -(-len(vectors) // n_columns)
        size = self.top(n_rows) - self.gaps[0], self.left(n_columns) - self.gaps[1]
        values = np.full((*size, *self.shape[2:]), np.nan)
        opacity = np.zeros(size)
        for place, (vector, in_use) in enumerate(zip(vectors, used)):
            top, left = self.top(place // n_columns), self.left(place % n_columns)
            here = slice(top, top + self.height), slice(left, left + self.width)
            picture = vector.reshape(self.shape)
            for axis, times in enumerate(self.repeats):
                picture = picture.repeat(times, axis=axis)
            values[here] = picture
            opacity[here] = 1.0 if in_use else _DIMMED
        return values, opacity


class _Paint:
    """Colours for values in the units of the data."""

    def __init__(
        self, cmap: Any, limits: tuple[float, float] | None, shown: list[Any], tile: _Tile
    ) -> None:
        self.cmap, self.tile = cmap, tile
        if limits is None and not tile.in_color:
            limits = min(part.min() for part in shown), max(part.max() for part in shown)
        self.low, self.high = (0.0, 1.0) if limits is None else limits

    def show(
        self, ax: Any, vectors: NDArray[np.float64], used: Any, n_columns: int, corner: Any
    ) -> None:
        """Draw vectors as a mosaic whose upper left corner is at (left, top)."""
        values, opacity = self.tile.mosaic(vectors, used, n_columns)
        left, top = corner
        extent = (left, left + opacity.shape[1], top + opacity.shape[0], top)
        common = {"extent": extent, "interpolation": "nearest"}
        if self.tile.in_color:
            span = (self.high - self.low) or 1.0
            pixels = np.clip(np.nan_to_num((values - self.low) / span), 0.0, 1.0)
            ax.imshow(np.dstack([pixels, opacity]), **common)
        else:
            ax.imshow(
                values, cmap=self.cmap, vmin=self.low, vmax=self.high, alpha=opacity, **common
            )


class _Change(_Paint):
    """Colours for what is added or multiplied: the middle one changes nothing."""

    def __init__(self, cmap: Any, neutral: float, shown: list[Any], tile: _Tile) -> None:
        reach = max((float(np.abs(part - neutral).max()) for part in shown), default=1.0) or 1.0
        super().__init__(cmap, (neutral - reach, neutral + reach), shown, tile)


def _draw_table(
    ax: Any,
    model: Any,
    tile: _Tile,
    sets: list[NDArray[np.float64]],
    paints: list[_Paint],
    cells: NDArray[np.int64],
    centers: NDArray[np.float64],
) -> None:
    """The first set down the margin, the second along the top, combinations where they meet."""
    n_rows, n_columns = cells.shape
    # The sets stand off from what is made of them.
    margin_x, margin_y = tile.left(1) + 2 * tile.gaps[1], tile.top(1) + 2 * tile.gaps[0]
    paints[0].show(ax, sets[0], cells.any(axis=1), 1, (0, margin_y))
    paints[1].show(ax, sets[1], cells.any(axis=0), n_columns, (margin_x, 0))
    paints[0].show(ax, centers, cells.ravel() > 0, n_columns, (margin_x, margin_y))
    ax.set_xlim(0, margin_x + tile.left(n_columns) - tile.gaps[1])
    ax.set_ylim(margin_y + tile.top(n_rows) - tile.gaps[0], 0)
    sign = "+" if model.aggregator == "sum" else "×"
    ax.text(tile.width / 2, tile.height / 2, sign, ha="center", va="center", fontsize=16)
    columns = [margin_x + tile.left(j) + tile.width / 2 for j in range(n_columns)]
    rows = [margin_y + tile.top(i) + tile.height / 2 for i in range(n_rows)]
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xticks(*_names(columns))
    ax.set_yticks(*_names(rows))
    ax.set_ylabel("protocentroids_[0]")
    ax.set_xlabel("protocentroids_[1]")


def _draw_lines(
    ax: Any,
    model: Any,
    tile: _Tile,
    sets: list[NDArray[np.float64]],
    paints: list[_Paint],
    cells: NDArray[np.int64],
    centers: None,
) -> None:
    """The sets one below the other: images side by side, stripes on top of each other."""
    top, middles = 0, []
    for q, (theta, paint) in enumerate(zip(sets, paints)):
        used = cells.any(axis=tuple(axis for axis in range(cells.ndim) if axis != q))
        paint.show(ax, theta, used, len(theta) if tile.is_image else 1, (0, top))
        height = tile.top(1 if tile.is_image else len(theta)) - tile.gaps[0]
        middles.append(top + height / 2)
        top += height + 3 * tile.gaps[0]
    widest = max(map(len, sets)) if tile.is_image else 1
    ax.set_xlim(0, tile.left(widest) - tile.gaps[1])
    ax.set_ylim(top - 3 * tile.gaps[0], 0)
    ax.set_yticks(middles, [f"protocentroids_[{q}]" for q in range(len(sets))])
    if tile.is_image:
        ax.set_xticks(*_names([tile.left(j) + tile.width / 2 for j in range(widest)]))
    else:
        ax.set_xticks([])
        ax.set_xlabel("feature")


def _names(places: list[float]) -> tuple[list[float], list[str]]:
    """Ticks with numbers, or none where they would run into each other."""
    if len(places) > _MOST_NAMES:
        return [], []
    return places, [str(number) for number in range(len(places))]
