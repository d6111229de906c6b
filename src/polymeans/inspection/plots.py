"""Plots of one clustering: convergence, cluster sizes, centroids as images."""

from typing import Any

import numpy as np

from polymeans.inspection._matplotlib import axes_or_new
from polymeans.inspection._models import centroids_as_rows, check_has, last_step
from polymeans.inspection._tiles import image_colors
from polymeans.inspection.model_displays import (
    ClusterSizesDisplay,
    ConvergenceDisplay,
    cluster_sizes,
)


def plot_convergence(model: Any, ax: Any = None) -> Any:
    """Draw the convergence of a fit: inertia, or loss, and the rows that changed cluster.

    Parameters
    ----------
    model : KMeans
        Fitted, or another model with a ``history_`` of ``inertia`` (or ``loss``) and ``n_moved``.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes of the inertia. Those of the moved rows share its x axis.

    See Also
    --------
    plot_cluster_sizes : How many rows each cluster has.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KMeans
    >>> from polymeans.inspection import plot_convergence
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = KMeans(5, random_state=0).fit(X)
    >>> ax = plot_convergence(model, ax=Figure().add_subplot())
    >>> ax.get_ylabel()
    'inertia'
    """
    return ConvergenceDisplay.from_estimator(model, ax=ax).ax_


def plot_cluster_sizes(model: Any, ax: Any = None) -> Any:
    """Draw how many rows each cluster has, largest first.

    Parameters
    ----------
    model : estimator
        Fitted, with ``labels_``. Clusters without rows are drawn if it has ``cluster_centers_``.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    See Also
    --------
    plot_convergence : Inertia and moved rows of each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KMeans
    >>> from polymeans.inspection import plot_cluster_sizes
    >>> X = np.array([[0.0], [0.1], [0.2], [9.0]])
    >>> ax = plot_cluster_sizes(KMeans(2, random_state=0).fit(X), ax=Figure().add_subplot())
    >>> [int(bar.get_height()) for bar in ax.patches]
    [3, 1]
    """
    return ClusterSizesDisplay.from_estimator(model, ax=ax).ax_


def plot_centroids(
    model: Any,
    image_shape: tuple[int, int],
    *,
    n_columns: int | None = None,
    order: str = "label",
    cmap: Any = "auto",
    ax: Any = None,
) -> Any:
    """Draw all centroids as small images, side by side.

    Parameters
    ----------
    model : estimator
        Fitted, with ``cluster_centers_``; those of :mod:`polymeans.deep` are decoded.
    image_shape : tuple of int
        Height and width of an image; their product is the number of features.
    n_columns : int, default=None
        Images in a row. None: about as many as there are rows.
    order : {"label", "size"}, default="label"
        Centroids by number, or those with the most rows first.
    cmap : str or matplotlib Colormap, default="auto"
        Colors of the pixels. "auto": large values are dark in drawings, where many pixels are at
        the low end, and light in photographs.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    See Also
    --------
    plot_cluster_sizes : How many rows each cluster has.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KMeans
    >>> from polymeans.inspection import plot_centroids
    >>> from sklearn.datasets import load_digits
    >>> model = KMeans(10, random_state=0).fit(load_digits().data)
    >>> ax = plot_centroids(model, (8, 8), n_columns=5, ax=Figure().add_subplot())
    >>> ax.images[0].get_array().shape  # 2 x 5 images of 8 x 8, and a gap between them
    (17, 44)
    """
    model = last_step(model)
    centers = centroids_as_rows(model)
    if order not in ("label", "size"):
        raise ValueError(f"order must be one of 'label', 'size', got {order!r}.")
    height, width = image_shape
    if height * width != centers.shape[1]:
        raise ValueError(
            f"image_shape={tuple(image_shape)} makes {height * width} pixels, but centroids have "
            f"{centers.shape[1]} features. Their product has to be that number."
        )
    if order == "size":
        check_has(model, "labels_")
        centers = centers[np.argsort(-cluster_sizes(model), kind="stable")]
    ax = axes_or_new(ax)
    if n_columns is None:
        n_columns = int(np.ceil(np.sqrt(len(centers))))
    n_rows = -(-len(centers) // n_columns)
    # One picture of all of them is drawn much faster than axes for each. Gaps are NaN, which
    # matplotlib draws as transparent.
    mosaic = np.full((n_rows * (height + 1) - 1, n_columns * (width + 1) - 1), np.nan)
    for place, center in enumerate(centers):
        top = place // n_columns * (height + 1)
        left = place % n_columns * (width + 1)
        mosaic[top : top + height, left : left + width] = center.reshape(height, width)
    ax.imshow(mosaic, cmap=image_colors(cmap, [centers]), interpolation="nearest")
    ax.set_axis_off()
    return ax
