"""Centroids of several models as images, in corresponding places."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import pairwise_distances

from polymeans._validation import check_integer
from polymeans.inspection._matplotlib import load
from polymeans.inspection._models import as_models, centroids_as_rows, model_names
from polymeans.inspection._tiles import Paint, Tile


def plot_matched_centroids(
    models: Any,
    image_shape: Sequence[int],
    *,
    names: Sequence[str] | None = None,
    clusters: ArrayLike | None = None,
    n_columns: int | None = None,
    limits: tuple[float, float] | None = None,
    cmap: Any = "auto",
    axes: Any = None,
) -> Any:
    """Draw the centroids of several models as images, corresponding ones in the same place.

    **Idea.** The order of clusters is arbitrary. Centroids of the first model are drawn by number,
    those of every other model in the places of their partners: the pairing with the least sum of
    squared distances. All models have the same scale of colors. Centroids to which no row belongs
    are dimmed.

    **Use when** rows are images and you want to compare a smaller model with a larger one.
    **Do not use when** models have different numbers of clusters.

    Parameters
    ----------
    models : list of estimators
        Fitted, with ``cluster_centers_``, such as a :class:`polymeans.KMeans` and a
        :class:`polymeans.QuickKMeans` of the same rows.
    image_shape : tuple of int
        Height and width of the images, or height, width and 3 for colors.
    names : list of str, default=None
        Titles. None: names of the models' classes, and how many numbers each stores.
    clusters : array-like of int, default=None
        Which clusters of the first model to draw, and their partners. None: all of them.
    n_columns : int, default=None
        Images in a row. None: about as many as there are rows.
    limits : tuple of float, default=None
        Values at the two ends of ``cmap``, or of black and full color. None: the range of all
        centroids; 0 and 1 for colors.
    cmap : str or matplotlib Colormap, default="auto"
        Colors of the pixels where these are single numbers. "auto": large values are dark in
        drawings, where many pixels are at the low end, and light in photographs.
    axes : sequence of matplotlib Axes, default=None
        Where to draw, one for each model. None: on a new figure.

    Returns
    -------
    axes : ndarray of shape (n_models,)
        The axes of the models, in their order.

    See Also
    --------
    plot_centroids : The centroids of one model.
    plot_factors : The factors of a product.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KMeans, QuickKMeans
    >>> from polymeans.inspection import plot_matched_centroids
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> models = [KMeans(10, random_state=0), QuickKMeans(10, n_nonzeros=200, random_state=0)]
    >>> axes = plot_matched_centroids(
    ...     [model.fit(X) for model in models], (8, 8), axes=Figure().subplots(1, 2)
    ... )
    >>> [ax.get_title() for ax in axes]
    ['KMeans\\n640 numbers', 'QuickKMeans\\n200 non-zeros']
    """
    models = as_models(models, "cluster_centers_")
    centers = [centroids_as_rows(model).astype(np.float64) for model in models]
    first = centers[0]
    for number, table in enumerate(centers):
        if table.shape != first.shape:
            raise ValueError(
                f"models must have as many centroids and features, got shape {first.shape} "
                f"and, from models[{number}], {table.shape}. Fit them to the same rows with "
                "the same n_clusters."
            )
    tile = Tile(image_shape, first.shape[1])
    titles = model_names(names, models, describe=True)
    chosen = _check_clusters(clusters, len(first))
    if n_columns is None:
        n_columns = int(np.ceil(np.sqrt(len(chosen))))
    check_integer("n_columns", n_columns, 1, "That many images are in a row.")
    orders = [_matched(first, table)[chosen] for table in centers]
    shown = [table[order] for table, order in zip(centers, orders)]
    paint = Paint(cmap, limits, shown, tile)
    n_rows = -(-len(chosen) // n_columns)
    shape = tile.top(n_rows) - tile.gaps[0], tile.left(n_columns) - tile.gaps[1]
    axes = _side_by_side(axes, len(models), shape[0] / shape[1])
    for ax, model, order, pictures, title in zip(axes, models, orders, shown, titles):
        paint.draw(ax, pictures, _used(model, len(first))[order], n_columns, (0, 0))
        ax.set_title(title, fontsize="medium")
        ax.set_aspect("equal")
        ax.set_axis_off()
    return axes


def _matched(first: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.intp]:
    """For each of the first centroids, the number of its partner among the others."""
    # Divided by the largest, so that squares do not overflow; the pairing is the same.
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


def _used(model: Any, n_clusters: int) -> NDArray[np.bool_]:
    """Which clusters have rows; all of them if the model has no labels."""
    if not hasattr(model, "labels_"):
        return np.ones(n_clusters, dtype=bool)
    return np.bincount(model.labels_, minlength=n_clusters) > 0


def _side_by_side(axes: Any, n_models: int, height_over_width: float) -> NDArray[Any]:
    """One axes for each model: those given, or new ones in one line."""
    if axes is None:
        size = (3.2 * n_models, 3.2 * height_over_width + 0.6)
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
