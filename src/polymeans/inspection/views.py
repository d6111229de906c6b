"""Plots of several clusterings of the same rows: rows and centers of each view."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymeans._validation import check_integer
from polymeans.inspection._labeled_rows import (
    draw_histogram,
    draw_legend,
    draw_scatter,
    n_rows,
    sample_rows,
)
from polymeans.inspection._matplotlib import axes_or_sized, load
from polymeans.inspection._models import check_has, last_step, unwrapped
from polymeans.inspection._style import count
from polymeans.inspection._tiles import Paint, Tile, number_ticks

#: Panels side by side at most, and the width and height of one in inches.
_MOST_COLUMNS, _PANEL = 3, (3.6, 3.6)

#: Images of one view side by side at most.
_MOST_IMAGES = 10


def plot_views(
    model: Any,
    X: Any,
    *,
    labels: ArrayLike | None = None,
    max_points: int = 2000,
    random_state: Any = 0,
    axes: Any = None,
) -> NDArray[Any]:
    """Draw the rows in the subspace of each view, colored by their clusters there.

    **Idea.** One panel for each view, in the two directions of its subspace that separate its
    clusters best. Rings with numbers are the centers. A view of one dimension becomes a histogram,
    with dashed lines at the centers. Lengths are the same in both directions of a panel.

    **Use when** you want to see whether there are gaps between the clusters of a view. **Do not
    use** to judge how far apart the clusters of a view with many dimensions are: only two of them
    are drawn, and centers that seem close may differ in the others.

    Parameters
    ----------
    model : NonRedundantKMeans
        Fitted, with at least one view.
    X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
        Rows to draw; those of the fit, or others.
    labels : array-like of shape (n_samples,) or (n_samples, n_views), default=None
        What to color rows by instead of their clusters: known classes, or the labels of another
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
    plot_view_information : How much information the views share.
    plot_view_centroids : Centers of the views as images.

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
    model, X = unwrapped(model, X)
    check_views(model)
    check_integer("max_points", max_points, 1, "That many rows are drawn at most.")
    names: list[NDArray[Any]] = []
    if labels is not None:
        names, given = _check_labels(labels, n_rows(X), model.n_views_)
    X, chosen = sample_rows(X, max_points, random_state)
    shown = model.predict_views(X) if labels is None else given[chosen]
    axes = _panels(axes, model.n_views_)
    for s, (ax, column) in enumerate(zip(axes, shown.T)):
        inside = model.transform_view(X, s)
        centers = _centers_inside(model, s)
        if inside.shape[1] == 0:
            ax.text(0.5, 0.5, "no dimension of its own", ha="center", transform=ax.transAxes)
            ax.set_axis_off()
        elif inside.shape[1] == 1:
            draw_histogram(ax, inside[:, 0], column, centers[:, 0])
        else:
            draw_scatter(ax, inside, column, centers)
        ax.set_title(f"{_caption(model, s)}\n{_share(model, s)}", fontsize="medium")
        # The same classes in all panels are named once.
        if names and (np.asarray(labels).ndim > 1 or s == model.n_views_ - 1):
            draw_legend(ax, names[s])
    return axes


def plot_view_centroids(
    model: Any,
    image_shape: Sequence[int],
    *,
    limits: tuple[float, float] | None = None,
    cmap: Any = "auto",
    ax: Any = None,
) -> Any:
    """Draw the centers of each view as images, one line for each view.

    **Idea.** A center of a view is the mean of all rows, changed only in the directions of the
    view. As an image it shows in what the clusters of the view differ, and the mean of everything
    else. Centers to which no row of the fit belongs are dimmed.

    **Use when** rows are images. **Do not use when** centers go far beyond the values that pixels
    can have: what is outside of ``limits`` is drawn as if it were at their ends.

    Parameters
    ----------
    model : NonRedundantKMeans
        Fitted, with at least one view.
    image_shape : tuple of int
        Height and width of the images the rows are, or height, width and 3 for colors.
    limits : tuple of float, default=None
        Values at the two ends of ``cmap``, or of black and full color: what pixels of the data
        can be, such as ``(0, 255)``. None: the range of all centers; 0 and 1 for colors.
    cmap : str or matplotlib Colormap, default="auto"
        Colors of the pixels where these are single numbers. "auto": large values are dark in
        drawings, where many pixels are at the low end, and light in photographs.
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
    plot_centroids : Centers of one clustering.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import NonRedundantKMeans
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.inspection import plot_view_centroids
    >>> images, poses = make_stick_figures(300, random_state=0)
    >>> model = NonRedundantKMeans((3, 3), random_state=0).fit(images)
    >>> ax = plot_view_centroids(model, (20, 20), ax=Figure().add_subplot())
    >>> len(ax.images), ax.get_yticklabels()[0].get_text().splitlines()
    (2, ['view 0', '3 clusters', '...% of the variance'])
    """
    model = last_step(model)
    check_views(model)
    views = [np.asarray(centers, dtype=np.float64) for centers in model.centroids_per_view_]
    tile = Tile(image_shape, views[0].shape[1])
    paint = Paint(cmap, limits, views, tile)
    # More clusters than fit into a line go on in the next one.
    most = min(max(map(len, views)), _MOST_IMAGES)
    n_lines = [-(-len(centers) // most) for centers in views]
    heights = [tile.top(n) - tile.gaps[0] for n in n_lines]
    inches = 1.1 * sum(n_lines) * tile.height / tile.width
    ax = axes_or_sized(ax, (2.5 + 0.9 * most, 0.6 + inches))
    # Gaps between views are wider than those between images.
    gap = 3 * tile.gaps[0]
    tops = [sum(heights[:s]) + s * gap for s in range(len(views))]
    for top, centers, column in zip(tops, views, model.labels_per_view_.T):
        used = np.bincount(column, minlength=len(centers)) > 0
        paint.draw(ax, centers, used, min(most, len(centers)), (0, top))
    ax.set_xlim(0, tile.left(most) - tile.gaps[1])
    ax.set_ylim(tops[-1] + heights[-1], 0)
    captions = [
        f"view {s}\n{count(len(centers), 'cluster')}\n{_share(model, s)}"
        for s, centers in enumerate(views)
    ]
    middles = [top + height / 2 for top, height in zip(tops, heights)]
    ax.set_yticks(middles, captions)
    ax.set_xticks(*number_ticks([tile.left(c) + tile.width / 2 for c in range(most)]))
    ax.set_xlabel("cluster" if max(n_lines) == 1 else f"cluster, {most} in a line")
    ax.set_aspect("equal")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _centers_inside(model: Any, s: int) -> NDArray[Any]:
    """Centers of a view in its coordinates; ``transform_view`` would warn about feature names."""
    edges = np.cumsum((0, *model.n_dims_))
    basis = model.rotation_[:, edges[s] : edges[s + 1]]
    if getattr(model, "whitening_", None) is not None:
        basis = model.whitening_ @ basis
    return (model.centroids_per_view_[s] - model.mean_) @ basis


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


def _caption(model: Any, s: int) -> str:
    clusters = count(model.n_clusters_[s], "cluster")
    return f"view {s}: {clusters}, {count(model.n_dims_[s], 'dimension')}"


def _share(model: Any, s: int) -> str:
    share = model.explained_variance_ratio_[s]
    return f"{share:.0%} of the variance" if share >= 0.0095 else f"{share:.2%} of the variance"


def check_views(model: Any) -> None:
    """Raise unless the model is fitted and has at least one view."""
    for attribute in ("labels_per_view_", "centroids_per_view_", "n_views_"):
        check_has(model, attribute)
    if model.n_views_ == 0:
        raise ValueError(
            f"model must have a view to draw, but n_views_ is 0: no clusters were found. Ask for "
            f"them, as in {type(model).__name__}((3, 3)), or look closer with a lower resolution."
        )


def _check_labels(
    labels: Any, n_samples: int, n_views: int
) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
    """Classes of each view in their order, and labels as codes, one column for each view."""
    labels = np.asarray(labels)
    if labels.ndim == 1:
        labels = np.repeat(labels[:, None], n_views, axis=1)
    if labels.shape != (n_samples, n_views):
        raise ValueError(
            f"labels must have one value for each of {n_samples} rows, or one for each of "
            f"{n_views} views as well, got shape {labels.shape}. Pass labels of the rows of X."
        )
    coded = [np.unique(column, return_inverse=True) for column in labels.T]
    return [names for names, _ in coded], np.stack([codes for _, codes in coded], axis=1)
