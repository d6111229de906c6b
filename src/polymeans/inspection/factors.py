"""Pictures of centroids that are a product of sparse factors, and of what these save.

As in :mod:`polymeans.inspection.plots`, functions draw on the axes they are given, or on new ones,
and return them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import pairwise_distances

from polymeans._validation import check_integer
from polymeans.factorization.budget import guaranteed_n_nonzeros
from polymeans.factorization.operator import FastOperator
from polymeans.inspection._matplotlib import load
from polymeans.inspection.plots import _axes, _check_has
from polymeans.inspection.protocentroids import _CURVES, _name_numbers, _Paint, _Tile
from polymeans.inspection.views import _count, _new_axes

#: Pixels of a factor in each direction at most; of larger ones, several entries share a pixel.
_MOST_PIXELS = 512

#: The longest side of a factor is drawn at most so many times as long as the shortest.
_LONGEST = 4.0

#: Colour of the smallest entry on a scale where 0 is white and 1 the colour of the largest.
_FAINTEST = 0.3

#: Width of all factors over their height at which a line of them is full.
_LINE = 3.0

#: Hue of what a curve is compared with.
_GREY = "0.45"


def plot_factors(operator: Any, *, cmap: Any = "RdBu_r", ax: Any = None) -> Any:
    """Draw sparse factors side by side: where they have entries, of which sign and size.

    **Idea.** The matrix is the product of what is drawn, from left to right. One colour is
    positive, the other negative, and the darker, the larger; what is white is not stored. Colours
    go by the root of the size, and each factor has its own scale, since a factor can be made
    larger and the next one smaller without changing the product. Sides that are multiplied with
    each other have the same length; very long ones are drawn shorter than they are. In a factor
    of more than 512 rows or columns several entries share a pixel, and the largest is shown.

    **Use when** you want to see what the budget was spent on: entries that are alone in their row
    or column are copied, full rows are patterns that many centroids share. **Do not use** to read
    off values: these are in ``operator.factors``.

    Parameters
    ----------
    operator : FastOperator, Factorization, fitted estimator with ``operator_``, or list of matrices
        What to draw.
    cmap : str or matplotlib Colormap, default="RdBu_r"
        Diverging colours; the middle one is not used.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes. ``ax.images`` are the factors in their order, ``ax.texts`` their titles.

    See Also
    --------
    plot_centroid_images : The centroids that the factors make.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from polymeans.factorization import FastOperator
    >>> from polymeans.inspection import plot_factors
    >>> operator = FastOperator([np.eye(3)[[0, 0, 1, 2]], np.array([[2, -1]] * 3)])
    >>> ax = plot_factors(operator, ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.texts]
    ['S1: 4 × 3\\n4 non-zeros', 'S2: 3 × 2\\n6 non-zeros']
    """
    factors = _factors(operator)
    boxes = [_drawn_size(factor.shape, factors) for factor in factors]
    longest = max(map(max, boxes))
    # Titles need some room, be the factor ever so narrow.
    widths = [max(width, 0.6 * longest) for _, width in boxes]
    gap, heading = 0.12 * longest, 0.4 * longest
    lines = _broken(widths, [height for height, _ in boxes], gap, heading)
    total = max(sum(widths[q] + gap for q in line) - gap for line in lines)
    heights = [max(boxes[q][0] for q in line) + heading for line in lines]
    inches = 2.4 / longest
    ax = _new_axes(ax, (inches * total + 0.3, inches * sum(heights) + 0.2))
    bottom = 0.0
    for line, line_height in zip(lines, heights):
        bottom += line_height
        left = 0.0
        for q in line:
            height, width = boxes[q]
            extent = (left, left + width, bottom, bottom - height)
            _draw_factor(ax, factors[q], extent, cmap)
            rows, columns = factors[q].shape
            title = f"S{q + 1}: {rows} × {columns}\n{_count(factors[q].nnz, 'non-zero')}"
            place = (left, bottom - height - 0.03 * longest)
            ax.text(*place, title, ha="left", va="bottom", fontsize="small")
            left += widths[q] + gap
    edge = 0.01 * longest
    ax.set_xlim(-edge, total + edge)
    ax.set_ylim(sum(heights) + edge, -edge)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def plot_centroid_images(
    estimators: Any,
    image_shape: Sequence[int],
    *,
    names: Sequence[str] | None = None,
    clusters: ArrayLike | None = None,
    n_columns: int | None = None,
    limits: tuple[float, float] | None = None,
    cmap: Any = "gray_r",
    axes: Any = None,
) -> Any:
    """Draw the centroids of several models as images, corresponding ones in the same place.

    **Idea.** Clusters have no order of their own. Those of the first model are drawn by number,
    those of every other model where the first one's that they are closest to are: the pairing
    with the least sum of squared distances. Colours mean the same everywhere. Centroids no row
    belongs to are dimmed.

    **Use when** rows are images and you want to see what a smaller model leaves out.
    **Do not use when** models have different numbers of clusters.

    Parameters
    ----------
    estimators : list of estimators
        Fitted, with ``cluster_centers_``, such as a :class:`polymeans.KMeans` and a
        :class:`polymeans.QuickKMeans` of the same rows.
    image_shape : tuple of int
        Height and width of the images the rows are, or height, width and 3 for colours.
    names : list of str, default=None
        Titles. None: what kind of model it is, and how many numbers its centroids consist of.
    clusters : array-like of int, default=None
        Which clusters of the first model to draw, and their partners. None: all of them.
    n_columns : int, default=None
        Images in a row. None: about as many as there are rows.
    limits : tuple of float, default=None
        Values at the two ends of ``cmap``, or of black and full colour. None: the range of all
        centroids; 0 and 1 for colours.
    cmap : str or matplotlib Colormap, default="gray_r"
        Colours of the pixels where these are single numbers.
    axes : sequence of matplotlib Axes, default=None
        Where to draw, one for each model. None: on a new figure.

    Returns
    -------
    axes : ndarray of shape (n_models,)
        The axes of the models, in their order.

    See Also
    --------
    plot_centers_as_images : The centroids of one model.
    plot_factors : What a product of factors is made of.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KMeans, QuickKMeans
    >>> from polymeans.inspection import plot_centroid_images
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> models = [KMeans(10, random_state=0), QuickKMeans(10, n_nonzeros=200, random_state=0)]
    >>> axes = plot_centroid_images(
    ...     [model.fit(X) for model in models], (8, 8), axes=Figure().subplots(1, 2)
    ... )
    >>> [ax.get_title() for ax in axes]
    ['KMeans\\n640 numbers', 'QuickKMeans\\n200 non-zeros']
    """
    estimators = _models(estimators, "cluster_centers_")
    centers = [np.asarray(model.cluster_centers_, dtype=np.float64) for model in estimators]
    first = centers[0]
    for number, table in enumerate(centers):
        if table.shape != first.shape:
            raise ValueError(
                f"estimators must have as many centroids and features, got shape {first.shape} "
                f"and, from estimators[{number}], {table.shape}. Fit them to the same rows with "
                "the same n_clusters."
            )
    tile = _Tile(image_shape, first.shape[1])
    titles = _names(names, estimators, describe=True)
    chosen = _check_clusters(clusters, len(first))
    if n_columns is None:
        n_columns = int(np.ceil(np.sqrt(len(chosen))))
    check_integer("n_columns", n_columns, 1, "That many images are in a row.")
    orders = [_matched(first, table)[chosen] for table in centers]
    shown = [table[order] for table, order in zip(centers, orders)]
    paint = _Paint(cmap, limits, shown, tile)
    n_rows = -(-len(chosen) // n_columns)
    shape = tile.top(n_rows) - tile.gaps[0], tile.left(n_columns) - tile.gaps[1]
    axes = _side_by_side(axes, len(estimators), shape[0] / shape[1])
    for ax, model, order, pictures, title in zip(axes, estimators, orders, shown, titles):
        paint.show(ax, pictures, _used(model, len(first))[order], n_columns, (0, 0))
        ax.set_title(title, fontsize="medium")
        ax.set_aspect("equal")
        ax.set_axis_off()
    return axes


def plot_objective(
    estimators: Any,
    *,
    names: Sequence[str] | None = None,
    relative: bool = False,
    ax: Any = None,
) -> Any:
    """Draw the objective against the iteration, and the level of plain k-means.

    **Idea.** A curve for each model, from its ``history_``. Where a model began with plain k-means
    (``kmeans_inertia_``), that is a dotted line: what the curve cannot be expected to go far below.

    **Use when** you want to see whether a fit had come to rest, what the iterations after the first
    factorization were worth, and what the constraint costs. **Do not use** to compare models of
    different rows, unless ``relative=True``.

    Parameters
    ----------
    estimators : estimator or list of estimators
        Fitted, with a ``history_`` of ``inertia``.
    names : list of str, default=None
        For the legend. None: what kind of model it is.
    relative : bool, default=False
        Divide each curve by the model's own ``kmeans_inertia_``.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes. ``ax.lines`` are the curves in their order, then the levels of k-means.

    See Also
    --------
    plot_convergence : One model, and the rows that changed cluster.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import QuickKMeans
    >>> from polymeans.inspection import plot_objective
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> models = [QuickKMeans(10, n_nonzeros=n, random_state=0).fit(X) for n in (200, 300)]
    >>> ax = plot_objective(models, names=["200", "300"], ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.get_legend().texts]
    ['200', '300', 'k-means']
    """
    estimators = _models(estimators, "history_")
    names = _names(names, estimators)
    levels = [float(getattr(model, "kmeans_inertia_", np.nan)) for model in estimators]
    if relative:
        for model, level in zip(estimators, levels):
            if not level > 0:
                raise ValueError(
                    "relative=True needs a kmeans_inertia_ above zero, which "
                    f"{type(model).__name__} has not. Use relative=False."
                )
    ax = _axes(ax)
    for turn, (model, name, level) in enumerate(zip(estimators, names, levels)):
        hue, marker, dashes = _CURVES[turn % len(_CURVES)]
        inertia = model.history_["inertia"] / (level if relative else 1.0)
        steps = np.arange(1, len(inertia) + 1)
        ax.plot(steps, inertia, color=hue, marker=marker, ls=dashes, ms=4, label=name)
    label = "k-means"
    # The same start is one line; starts that differ are one line each.
    for level in [1.0] if relative else dict.fromkeys(filter(np.isfinite, levels)):
        ax.axhline(level, color=_GREY, ls=":", label=label)
        label = None
    ax.set_xlabel("iteration")
    ax.set_ylabel("inertia over that of k-means" if relative else "inertia")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(frameon=False)
    return ax


def plot_operations(
    estimators: Any,
    *,
    names: Sequence[str] | None = None,
    sparsity_level: int | None = 5,
    ax: Any = None,
) -> Any:
    """Draw the operations that labelling a row takes against the number of clusters.

    **Idea.** Two operations for each number that a row is multiplied with, two for each cluster.
    Dense centroids have k d numbers; the factors of each model are counted; and the chain of
    ``log2`` many factors in the QuicK-means paper has, for a sparsity level, at least what
    :func:`polymeans.factorization.guaranteed_n_nonzeros` says and at most twice that, which is the
    grey band. Both axes are logarithmic.

    **Use when** you want to know from which number of clusters on factors are worth it.
    **Do not use** for time: a dense product does more operations in a second, and reading the rows
    costs the same.

    Parameters
    ----------
    estimators : list of estimators, or dict of str to list of estimators
        Fitted, with ``operator_``, for several numbers of clusters. A dict has one curve for each
        name, for instance one for each sparsity level.
    names : list of str, default=None
        For the legend, one for each curve. None: the names in the dict, or what kind of model it
        is.
    sparsity_level : int or None, default=5
        Of the paper's chain. None: no band.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes. ``ax.lines`` are the curves in their order, then that of dense centroids.

    See Also
    --------
    plot_tradeoff : What is lost against what is stored.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import QuickKMeans
    >>> from polymeans.inspection import plot_operations
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> models = [QuickKMeans(k, n_nonzeros=10 * k, random_state=0).fit(X) for k in (16, 32)]
    >>> ax = plot_operations(models, ax=Figure().add_subplot())
    >>> factored, dense = (line.get_ydata().tolist() for line in ax.lines)
    >>> dense, all(few < many / 5 for few, many in zip(factored, dense))
    ([2080, 4160], True)
    """
    if sparsity_level is not None:
        check_integer("sparsity_level", sparsity_level, 1, "Use None to leave out the paper's.")
    named = isinstance(estimators, Mapping)
    curves = list(estimators.values()) if named else [estimators]
    curves = [_models(models, "operator_") for models in curves]
    if not curves:
        raise ValueError("estimators must hold at least one fitted model, got none.")
    if names is None and named:
        names = [str(name) for name in estimators]
    names = _names(names, [models[0] for models in curves])
    points = [sorted(map(_operations, models)) for models in curves]
    shapes = sorted({model.operator_.shape for models in curves for model in models})
    widths = {n_features for _, n_features in shapes}
    if len(widths) > 1:
        raise ValueError(
            f"estimators must have the same number of features, got {sorted(widths)}. Draw models "
            "of different data on axes of their own."
        )
    ax = _axes(ax)
    for turn, (name, pairs) in enumerate(zip(names, points)):
        hue, marker, dashes = _CURVES[turn % len(_CURVES)]
        ax.plot(*zip(*pairs), color=hue, marker=marker, ls=dashes, ms=5, label=name)
    n_clusters = [k for k, _ in shapes]
    dense = [_price(k * d, k) for k, d in shapes]
    ax.plot(n_clusters, dense, color="black", marker="x", ms=5, lw=1, label="dense centroids")
    if sparsity_level is not None:
        least = [guaranteed_n_nonzeros(shape, sparsity_level) for shape in shapes]
        ax.fill_between(
            n_clusters,
            [_price(nnz, k) for nnz, k in zip(least, n_clusters)],
            [_price(2 * nnz, k) for nnz, k in zip(least, n_clusters)],
            color=_GREY,
            alpha=0.3,
            lw=0,
            label=f"the paper's chain, sparsity level {sparsity_level}",
        )
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(n_clusters, n_clusters)
    ax.minorticks_off()
    _name_numbers(ax.yaxis)
    ax.set_xlabel("clusters")
    ax.set_ylabel("operations to label a row")
    ax.legend(frameon=False)
    return ax


# --- factors -------------------------------------------------------------------------------------


def _factors(operator: Any) -> tuple[Any, ...]:
    """Factors of whatever has some, as CSR arrays."""
    if isinstance(operator, list | tuple):
        return FastOperator(operator).factors
    if hasattr(operator, "factors"):
        return tuple(operator.factors)
    if hasattr(operator, "fit"):
        _check_has(operator, "operator_")
        return operator.operator_.factors
    raise TypeError(
        "operator must have factors to draw: a FastOperator, a Factorization, a fitted estimator "
        f"with operator_, or a list of matrices, got {type(operator).__name__}."
    )


def _drawn_size(shape: tuple[int, int], factors: Sequence[Any]) -> tuple[float, float]:
    """Height and width to draw a factor with: those it has, or a power, the same for all sides."""
    sides = [side for factor in factors for side in factor.shape]
    ratio = max(sides) / min(sides)
    power = min(1.0, np.log(_LONGEST) / np.log(ratio)) if ratio > 1 else 1.0
    return float(shape[0] ** power), float(shape[1] ** power)


def _broken(
    widths: list[float], heights: list[float], gap: float, heading: float
) -> list[list[int]]:
    """Boxes in lines, such that all of them together are wide rather than high."""
    area = sum((w + gap) * (h + heading) for w, h in zip(widths, heights))
    room = max(*widths, np.sqrt(_LINE * area), sum(widths[:2]) + gap)
    lines, used = [[0]], widths[0]
    for q in range(1, len(widths)):
        if used + gap + widths[q] > room:
            lines.append([])
            used = -gap
        lines[-1].append(q)
        used += gap + widths[q]
    return lines


def _draw_factor(ax: Any, factor: Any, extent: tuple[float, ...], cmap: Any) -> None:
    values = _pooled(factor)
    largest = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    signs = np.sign(values) * (
        _FAINTEST + (1 - _FAINTEST) * np.sqrt(np.abs(values) / (largest or 1.0))
    )
    look = {"cmap": cmap, "vmin": -1.0, "vmax": 1.0, "interpolation": "nearest"}
    ax.imshow(signs, extent=extent, **look)
    left, right, bottom, top = extent
    corners = [left, right, right, left, left], [top, top, bottom, bottom, top]
    ax.plot(*corners, color=_GREY, lw=0.8)


def _pooled(factor: Any) -> NDArray[np.float64]:
    """The entries as an image, NaN where there are none; the largest where several meet."""
    entries = factor.tocoo()
    shape = tuple(min(side, _MOST_PIXELS) for side in factor.shape)
    rows = entries.row.astype(np.int64) * shape[0] // factor.shape[0]
    columns = entries.col.astype(np.int64) * shape[1] // factor.shape[1]
    values = np.full(shape, np.nan)
    order = np.argsort(np.abs(entries.data), kind="stable")  # the largest is written last
    values[rows[order], columns[order]] = entries.data[order]
    return values


# --- models --------------------------------------------------------------------------------------


def _models(estimators: Any, attribute: str) -> list[Any]:
    """One or several fitted models as a list."""
    models = list(estimators) if isinstance(estimators, list | tuple) else [estimators]
    if not models:
        raise ValueError("estimators must hold at least one fitted model, got none.")
    for model in models:
        if not hasattr(model, "fit"):
            raise TypeError(
                "estimators must be a fitted model or a list of them, got "
                f"{type(model).__name__}. Call fit first and pass the model."
            )
        _check_has(model, attribute)
    return models


def _names(
    names: Sequence[str] | None, estimators: Sequence[Any], describe: bool = False
) -> list[str]:
    """Names as given, or kinds of models, numbered where there are several of a kind."""
    if names is not None:
        names = [names] if isinstance(names, str) else [str(name) for name in names]
        if len(names) != len(estimators):
            raise ValueError(
                f"names must have one entry for each of {_count(len(estimators), 'curve')}, got "
                f"{len(names)}: {names!r}. Name them in their order."
            )
        return names
    kinds = [type(model).__name__ for model in estimators]
    found = []
    for number, (kind, model) in enumerate(zip(kinds, estimators)):
        name = kind if kinds.count(kind) == 1 else f"{kind} {kinds[:number].count(kind)}"
        found.append(f"{name}\n{_size(model)}" if describe else name)
    return found


def _size(model: Any) -> str:
    if hasattr(model, "n_nonzeros_"):
        return _count(int(model.n_nonzeros_), "non-zero")
    stored = getattr(model, "n_parameters_", np.size(model.cluster_centers_))
    return _count(int(stored), "number")


def _used(model: Any, n_clusters: int) -> NDArray[np.bool_]:
    """Clusters that have rows, as far as that is known."""
    if not hasattr(model, "labels_"):
        return np.ones(n_clusters, dtype=bool)
    return np.bincount(model.labels_, minlength=n_clusters) > 0


def _matched(first: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.intp]:
    """For each of the first centroids, which of the others is its partner."""
    # Squares of large numbers must not overflow; the pairing does not depend on the unit.
    unit = max(float(np.abs(first).max()), float(np.abs(other).max())) or 1.0
    distances = pairwise_distances(first / unit, other / unit, metric="sqeuclidean")
    return linear_sum_assignment(distances)[1]


def _check_clusters(clusters: ArrayLike | None, n_clusters: int) -> NDArray[np.intp]:
    if clusters is None:
        return np.arange(n_clusters)
    chosen = np.asarray(clusters)
    if chosen.ndim != 1 or not len(chosen) or chosen.dtype.kind not in "iu":
        raise TypeError(f"clusters must be a list of cluster numbers, got {clusters!r}.")
    if chosen.min() < 0 or chosen.max() >= n_clusters:
        raise ValueError(
            f"clusters must be numbers from 0 to {n_clusters - 1}, got {chosen.tolist()}."
        )
    return chosen


def _side_by_side(axes: Any, n_models: int, tall: float) -> NDArray[Any]:
    """One axes for each model: those given, or those of a new figure, in one line."""
    if axes is None:
        size = (3.2 * n_models, 3.2 * tall + 0.6)
        figure, axes = load("matplotlib.pyplot").subplots(
            1, n_models, figsize=size, squeeze=False, layout="constrained"
        )
        figure.get_layout_engine().set(w_pad=0.12)
    axes = np.asarray(axes, dtype=object).ravel()
    if len(axes) != n_models:
        raise ValueError(
            f"axes must be one for each model, got {len(axes)} for {n_models} models. Make them by "
            f"plt.subplots(1, {n_models})."
        )
    return axes


def _price(n_numbers: int, n_clusters: int) -> int:
    """Operations to label a row: multiply and add; add the norm and compare, once for each."""
    return 2 * n_numbers + 2 * n_clusters


def _operations(model: Any) -> tuple[int, int]:
    """Clusters of a model and operations to label a row."""
    n_clusters = model.operator_.shape[0]
    counted = getattr(model, "flops_per_row_", None)
    return n_clusters, int(_price(model.operator_.nnz, n_clusters) if counted is None else counted)
