"""Pictures of several clusterings of the same rows, each in a subspace of its own.

As in :mod:`polymeans.inspection.plots`, functions draw on the axes they are given, or on new ones,
and return them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils import resample

from polymeans._validation import check_integer
from polymeans.inspection._matplotlib import load
from polymeans.inspection.plots import _check_has
from polymeans.inspection.protocentroids import _names, _Paint, _Tile

#: Hues of clusters, in turn: apart in normal vision and in the three kinds of colour blindness.
_HUES = (
    "#1f5a8a",
    "#d1721c",
    "#3d8b5f",
    "#c9a0dc",
    "#ecd04a",
    "#222222",
    "#6d88eb",
    "#b11a2a",
)

#: Markers of clusters: another one each time the hues begin again.
_MARKERS = "o^sDvP"

#: Panels side by side at most, and the width and height of one in inches.
_MOST_COLUMNS, _PANEL = 3, (3.6, 3.6)

#: Values from here on stand on a dark ground, in white.
_DARK = 0.55


def plot_views(
    model: Any,
    X: Any,
    *,
    labels: ArrayLike | None = None,
    max_points: int = 2000,
    random_state: Any = 0,
    axes: Any = None,
) -> NDArray[Any]:
    """Draw the rows as each view sees them, coloured by their clusters in it.

    **Idea.** One panel for each view, in the two directions of its subspace that tell its clusters
    apart best. Rings with numbers are the centers. A view of one dimension becomes a histogram,
    with dashed lines at the centers. Lengths are the same in both directions of a panel.

    **Use when** you want to see whether the clusters of a view are lumps with gaps between them,
    or cuts through a cloud. **Do not use** to judge how far apart the clusters of a view with many
    dimensions are: only two of them show, and centers that seem close may differ in the others.

    Parameters
    ----------
    model : NonRedundantKMeans
        Fitted, with at least one view.
    X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
        Rows to draw; those of the fit, or others.
    labels : array-like of shape (n_samples,) or (n_samples, n_views), default=None
        What to colour rows by instead of their clusters: known classes, or the labels of another
        view. One column for all panels, or one for each.
    max_points : int, default=2000
        Of more rows, so many are drawn at random.
    random_state : int, RandomState instance or None, default=0
        Determines which. The same rows are in all panels.
    axes : sequence of matplotlib Axes, default=None
        Where to draw, one for each view. None: on a new figure.

    Returns
    -------
    axes : ndarray of shape (n_views,)
        The axes of the views, in their order.

    See Also
    --------
    plot_view_information : How much the views know of each other.
    plot_view_images : Centers of the views as images.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import NonRedundantKMeans
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.inspection import plot_views
    >>> images, poses = make_stick_figures(300, random_state=0)
    >>> model = NonRedundantKMeans((3, 3), random_state=0).fit(images)
    >>> axes = plot_views(model, images, axes=Figure().subplots(1, 2))
    >>> print(axes[0].get_title())
    view 0: 3 clusters, 2 dimensions
    ...% of the variance
    """
    _check_views(model)
    check_integer("max_points", max_points, 1, "That many rows are drawn at most.")
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    shown = None if labels is None else _check_labels(labels, n_samples, model.n_views_)
    if n_samples > max_points:
        chosen = resample(
            np.arange(n_samples), replace=False, n_samples=max_points, random_state=random_state
        )
        X = _rows_of(X, chosen)
        shown = None if shown is None else shown[chosen]
    if shown is None:
        shown = model.predict_views(X)
    axes = _panels(axes, model.n_views_)
    for s, (ax, column) in enumerate(zip(axes, shown.T)):
        inside = model.transform_view(X, s)
        centers = _centers_inside(model, s)
        if inside.shape[1] == 0:
            ax.text(0.5, 0.5, "no dimension of its own", ha="center", transform=ax.transAxes)
            ax.set_axis_off()
        elif inside.shape[1] == 1:
            _draw_histogram(ax, inside[:, 0], column, centers[:, 0])
        else:
            _draw_scatter(ax, inside, column, centers)
        ax.set_title(f"{_caption(model, s)}\n{_share(model, s)}", fontsize="medium")
    return axes


def plot_view_information(
    model_or_labels: Any,
    known: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    cmap: Any = "Blues",
    ax: Any = None,
) -> Any:
    """Draw how much views tell about each other, and about labelings that are known.

    **Idea.** A table of the normalised mutual information of each view (row) with each view and
    each known labeling (column): 0 if one tells nothing about the other, 1 if they are the same up
    to names.

    **Use when** you ask whether views repeat each other, and which view is which known labeling.
    **Do not use** with few rows for each label: independent labels then score well above zero.

    Parameters
    ----------
    model_or_labels : NonRedundantKMeans or array-like of shape (n_samples, n_views)
        Fitted model, whose ``labels_per_view_`` are taken, or labels, one column for each view.
    known : array-like of shape (n_samples,) or (n_samples, n_known), default=None
        Known labels of the same rows, one column for each labeling.
    names : sequence of str, default=None
        What the known labelings are called. None: the names of the columns if ``known`` is a
        frame, numbers otherwise.
    cmap : str or matplotlib Colormap, default="Blues"
        Colours from 0 to 1, the first light and the last dark.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes. ``ax.images[0]`` has the values.

    See Also
    --------
    polymeans.metrics.mutual_information_matrix : The numbers.
    polymeans.metrics.labelings_confusion : Matches found labelings with known ones.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import NonRedundantKMeans
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.inspection import plot_view_information
    >>> images, poses = make_stick_figures(300, random_state=0)
    >>> model = NonRedundantKMeans((3, 3), random_state=0).fit(images)
    >>> ax = plot_view_information(
    ...     model, poses, names=["arms", "legs"], ax=Figure().add_subplot()
    ... )
    >>> ax.images[0].get_array().shape  # two views; with themselves, arms and legs
    (2, 4)
    """
    labels = model_or_labels
    if hasattr(labels, "fit"):
        _check_views(labels)
        labels = labels.labels_per_view_
    labels = _columns("model_or_labels", labels)
    values = _information(labels, labels)
    n_views = len(values)
    headings = [f"view {s}" for s in range(n_views)]
    columns = list(headings)
    if known is not None:
        others = _columns("known", known)
        _check_known(others, len(labels))
        columns += _known_names(names, known, others.shape[1])
        values = np.concatenate([values, _information(labels, others)], axis=1)
    elif names is not None:
        raise ValueError(
            f"names must be None without known labelings to be named, got {names!r}. "
            "Pass the labels as known."
        )
    ax = _new_axes(ax, (1.8 + 0.7 * len(columns), 0.7 + 0.7 * n_views))
    image = ax.imshow(values, cmap=cmap, vmin=0.0, vmax=1.0)
    for (row, column), value in np.ndenumerate(values):
        color = "white" if value > _DARK else "black"
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=color)
    if known is not None:
        ax.axvline(n_views - 0.5, color="white", lw=6)
    ax.set_xticks(range(len(columns)), columns, rotation=30, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(n_views), headings)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    # Inside these axes, so that it is as high as the table whatever room there is.
    bar = ax.figure.colorbar(image, cax=ax.inset_axes([1.03, 0.0, 0.14 / len(columns), 1.0]))
    bar.set_label("normalised mutual\ninformation")
    bar.set_ticks([0.0, 0.5, 1.0])
    bar.outline.set_visible(False)
    return ax


def plot_view_images(
    model: Any,
    image_shape: Sequence[int],
    *,
    limits: tuple[float, float] | None = None,
    cmap: Any = "gray_r",
    ax: Any = None,
) -> Any:
    """Draw the centers of each view as images, one line for each view.

    **Idea.** A center of a view is the mean of all rows, changed only in the directions of the
    view. As an image it shows what the clusters of the view are about, and a blur of all that they
    are not about. Centers no row of the fit belongs to are dimmed.

    **Use when** rows are images. **Do not use when** centers go far beyond the values that pixels
    can have: what is outside of ``limits`` is drawn as if it were at their ends.

    Parameters
    ----------
    model : NonRedundantKMeans
        Fitted, with at least one view.
    image_shape : tuple of int
        Height and width of the images the rows are, or height, width and 3 for colours.
    limits : tuple of float, default=None
        Values at the two ends of ``cmap``, or of black and full colour: what pixels of the data
        can be, such as ``(0, 255)``. None: the range of all centers; 0 and 1 for colours.
    cmap : str or matplotlib Colormap, default="gray_r"
        Colours of the pixels where these are single numbers.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes. ``ax.images`` are the views in their order; names of the views are the labels of
        the y axis, numbers of clusters those of the x axis.

    See Also
    --------
    plot_views : Rows and centers as points.
    plot_centers_as_images : Centers of one clustering.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import NonRedundantKMeans
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.inspection import plot_view_images
    >>> images, poses = make_stick_figures(300, random_state=0)
    >>> model = NonRedundantKMeans((3, 3), random_state=0).fit(images)
    >>> ax = plot_view_images(model, (20, 20), ax=Figure().add_subplot())
    >>> len(ax.images), ax.get_yticklabels()[0].get_text().splitlines()
    (2, ['view 0', '3 clusters', '...% of the variance'])
    """
    _check_views(model)
    views = [np.asarray(centers, dtype=np.float64) for centers in model.centers_per_view_]
    tile = _Tile(image_shape, views[0].shape[1])
    paint = _Paint(cmap, limits, views, tile)
    most = max(map(len, views))
    ax = _new_axes(ax, (2.5 + 0.9 * most, 0.6 + 1.1 * len(views) * tile.height / tile.width))
    # Lines stand apart by more than images do.
    gap = 3 * tile.gaps[0]
    tops = [s * (tile.height + gap) for s in range(len(views))]
    for top, centers, column in zip(tops, views, model.labels_per_view_.T):
        used = np.bincount(column, minlength=len(centers)) > 0
        paint.show(ax, centers, used, len(centers), (0, top))
    ax.set_xlim(0, tile.left(most) - tile.gaps[1])
    ax.set_ylim(tops[-1] + tile.height, 0)
    captions = [
        f"view {s}\n{_count(len(centers), 'cluster')}\n{_share(model, s)}"
        for s, centers in enumerate(views)
    ]
    ax.set_yticks([top + tile.height / 2 for top in tops], captions)
    ax.set_xticks(*_names([tile.left(c) + tile.width / 2 for c in range(most)]))
    ax.set_xlabel("cluster")
    ax.set_aspect("equal")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


# --- rows and centers ----------------------------------------------------------------------------


def _draw_scatter(
    ax: Any, inside: NDArray[Any], labels: NDArray[Any], centers: NDArray[Any]
) -> None:
    """Rows and numbered centers in the first two dimensions."""
    hues = np.array(_HUES)[labels % len(_HUES)]
    turns = labels // len(_HUES) % len(_MARKERS)
    # Not cluster by cluster, which would put the last on top of all others.
    for turn in np.unique(turns):
        here = turns == turn
        look = {"c": hues[here], "marker": _MARKERS[turn]}
        ax.scatter(*inside[here, :2].T, s=9, lw=0, alpha=0.6, **look)
    # Rings, since a disk would hide a cluster that is narrower; white about what is on top of rows.
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


def _draw_histogram(
    ax: Any, inside: NDArray[Any], labels: NDArray[Any], centers: NDArray[Any]
) -> None:
    """Rows on one dimension, stacked by cluster, and lines at the centers."""
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
            color=_HUES[number % len(_HUES)],
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


def _centers_inside(model: Any, s: int) -> NDArray[Any]:
    """Centers of a view in its coordinates; ``transform_view`` would miss the features' names."""
    edges = np.cumsum((0, *model.n_dims_))
    basis = model.rotation_[:, edges[s] : edges[s + 1]]
    if getattr(model, "whitening_", None) is not None:
        basis = model.whitening_ @ basis
    return (model.centers_per_view_[s] - model.mean_) @ basis


def _rows_of(X: Any, chosen: NDArray[np.int64]) -> Any:
    """Some of the rows: of a frame, an array, a sparse matrix or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[chosen]
    if sp.issparse(X):
        return X.tocsr()[chosen]
    return X[chosen] if hasattr(X, "shape") else [X[i] for i in chosen]


def _panels(axes: Any, n_views: int) -> NDArray[Any]:
    """One axes for each view: those given, or those of a new figure."""
    if axes is not None:
        axes = np.asarray(axes, dtype=object).ravel()
        if len(axes) != n_views:
            raise ValueError(
                f"axes must be one for each view, got {len(axes)} for {n_views} views. "
                f"Make them by plt.subplots(1, {n_views})."
            )
        return axes
    n_columns = min(n_views, _MOST_COLUMNS)
    n_rows = -(-n_views // n_columns)
    size = (n_columns * _PANEL[0], n_rows * _PANEL[1])
    _, grid = load("matplotlib.pyplot").subplots(
        n_rows, n_columns, figsize=size, squeeze=False, layout="constrained"
    )
    for spare in grid.ravel()[n_views:]:
        spare.remove()
    return grid.ravel()[:n_views]


def _new_axes(ax: Any, size: tuple[float, float]) -> Any:
    """The given axes, or new ones of this size in inches."""
    if ax is not None:
        return ax
    figure, ax = load("matplotlib.pyplot").subplots(figsize=size, layout="constrained")
    # Long labels beside pictures of a fixed aspect come out a little wider than planned for.
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    return ax


def _information(labels: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Normalised mutual information of columns (rows of the result) with other columns."""
    return np.array([[normalized_mutual_info_score(a, b) for b in others.T] for a in labels.T])


# --- words ---------------------------------------------------------------------------------------


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _caption(model: Any, s: int) -> str:
    clusters = _count(model.n_clusters_[s], "cluster")
    return f"view {s}: {clusters}, {_count(model.n_dims_[s], 'dimension')}"


def _share(model: Any, s: int) -> str:
    share = model.explained_variance_ratio_[s]
    return f"{share:.0%} of the variance" if share >= 0.0095 else f"{share:.2%} of the variance"


def _known_names(names: Any, known: Any, n_known: int) -> list[str]:
    """What known labelings are called."""
    if names is None:
        if hasattr(known, "columns"):
            return [str(name) for name in known.columns]
        return [f"known {j}" for j in range(n_known)] if n_known > 1 else ["known"]
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    if len(names) != n_known:
        raise ValueError(
            f"names must have one entry for each known labeling, got {len(names)} for {n_known}: "
            f"{names!r}. Name all columns of known, in their order."
        )
    return names


# --- checks --------------------------------------------------------------------------------------


def _check_views(model: Any) -> None:
    for attribute in ("labels_per_view_", "centers_per_view_", "n_views_"):
        _check_has(model, attribute)
    if model.n_views_ == 0:
        raise ValueError(
            f"model must have a view to draw, but n_views_ is 0: no clusters were found. Ask for "
            f"them, as in {type(model).__name__}((3, 3)), or look closer with a lower resolution."
        )


def _check_labels(labels: Any, n_samples: int, n_views: int) -> NDArray[np.int64]:
    """Labels as codes, one column for each view."""
    labels = np.asarray(labels)
    if labels.ndim == 1:
        labels = np.repeat(labels[:, None], n_views, axis=1)
    if labels.shape != (n_samples, n_views):
        raise ValueError(
            f"labels must have one value for each of {n_samples} rows, or one for each of "
            f"{n_views} views as well, got shape {labels.shape}. Pass labels of the rows of X."
        )
    coded = [np.unique(column, return_inverse=True)[1] for column in labels.T]
    return np.stack(coded, axis=1)


def _columns(name: str, labels: Any) -> NDArray[Any]:
    """Labels as a table, one column for each labeling."""
    labels = np.asarray(labels)
    if labels.ndim == 1:
        labels = labels[:, None]
    if labels.ndim != 2 or labels.size == 0:
        raise ValueError(
            f"{name} must have labels of shape (n_samples,) or (n_samples, n_labelings), got shape "
            f"{labels.shape}. Pass one column for each labeling."
        )
    return labels


def _check_known(known: Any, n_samples: int) -> None:
    if len(known) != n_samples:
        raise ValueError(
            f"known must have one label for each of the {n_samples} rows of the fit, got "
            f"{len(known)}. Pass labels of the same rows in the same order, or for other rows "
            "the result of predict_views instead of the model."
        )
