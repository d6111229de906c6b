"""Plots of deep clusterings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._matplotlib import axes_or_new, load
from polymeans.inspection._models import as_models, check_has, model_names
from polymeans.inspection._style import CURVES, HUES, MARKERS
from polymeans.inspection._tiles import Paint, Tile, number_ticks
from polymeans.inspection.model_displays import draw_phases


def plot_decoded_centroids(
    model: Any,
    *,
    image_shape: Sequence[int] | None = None,
    limits: tuple[float, float] | None = None,
    cmap: Any = "gray_r",
    ax: Any = None,
) -> Any:
    """Draw what the decoder makes of the centroids, and of the protocentroids beside them.

    For a grid of two sets, centroids are a table. Down its left margin and along its top stand the
    protocentroids, each combined with the average of the other set: what the rows of this line or
    column have in common. Centroids without rows are dimmed.

    Parameters
    ----------
    model : DKM, IDEC, KhatriRaoDKM or KhatriRaoIDEC
        Fitted.
    image_shape : tuple of int, default=None
        Height and width if rows are images, or height, width and 3 for colors. None: vectors are
        drawn as stripes of a heat map, one column for each feature.
    limits : tuple of float, default=None
        Values at the two ends of ``cmap``. None: the range of what is drawn; 0 and 1 for colors.
    cmap : str or matplotlib Colormap, default="gray_r"
        Colors.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes. ``ax.images`` are the two margins, if there are any, then the centroids.

    See Also
    --------
    plot_latent_map : Where rows and centroids are in the latent space.
    polymeans.inspection.plot_centroids : The same for centroids of rows as they are.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.deep import KhatriRaoDKM, plot_decoded_centroids
    >>> images, poses = make_stick_figures(90, random_state=0)
    >>> quick = {"pretrain_epochs": 20, "distill_epochs": 60, "random_state": 0}
    >>> model = KhatriRaoDKM((3, 3), **quick).fit(images)
    >>> ax = plot_decoded_centroids(model, image_shape=(20, 20), ax=Figure().add_subplot())
    >>> len(ax.images)
    3
    """
    check_has(model, "decoded_centroids_")
    centers = np.asarray(model.decoded_centroids_, dtype=np.float64)
    tile = Tile(image_shape, centers.shape[1])
    used = np.bincount(model.labels_, minlength=len(centers)) > 0
    sets = getattr(model, "protocentroids_", None)
    margins: list[NDArray[Any]] = []
    if sets is not None and len(sets) == 2:
        margins = [np.asarray(part, dtype=np.float64) for part in model._decoded_members()]
    paint = Paint(cmap, limits, [*margins, centers], tile)
    ax = axes_or_new(ax)
    if margins:
        _draw_table(ax, paint, tile, margins, centers, used)
    else:
        n_columns = int(np.ceil(np.sqrt(len(centers)))) if tile.is_image else 1
        paint.draw(ax, centers, used, n_columns, (0, 0))
        n_rows = -(-len(centers) // n_columns)
        ax.set_xlim(0, tile.left(n_columns) - tile.gaps[1])
        ax.set_ylim(tile.top(n_rows) - tile.gaps[0], 0)
        ax.set_xticks([])
        ax.set_yticks([])
    ax.set_aspect("equal" if tile.is_image else "auto")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _draw_table(
    ax: Any,
    paint: Paint,
    tile: Tile,
    margins: list[NDArray[Any]],
    centers: NDArray[Any],
    used: NDArray[np.bool_],
) -> None:
    """Draw the first set down the margin, the second along the top, and the table."""
    n_rows, n_columns = map(len, margins)
    cells = used.reshape(n_rows, n_columns)
    left, top = tile.left(1) + 2 * tile.gaps[1], tile.top(1) + 2 * tile.gaps[0]
    paint.draw(ax, margins[0], cells.any(axis=1), 1, (0, top))
    paint.draw(ax, margins[1], cells.any(axis=0), n_columns, (left, 0))
    paint.draw(ax, centers, used, n_columns, (left, top))
    ax.set_xlim(0, left + tile.left(n_columns) - tile.gaps[1])
    ax.set_ylim(top + tile.top(n_rows) - tile.gaps[0], 0)
    columns = [left + tile.left(j) + tile.width / 2 for j in range(n_columns)]
    rows = [top + tile.top(i) + tile.height / 2 for i in range(n_rows)]
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xticks(*number_ticks(columns))
    ax.set_yticks(*number_ticks(rows))
    ax.set_ylabel("set 0, decoded")
    ax.set_xlabel("set 1, decoded")


def plot_losses(model: Any, *, ax: Any = None) -> Any:
    """Draw the losses of each epoch, and where one phase of the training ends.

    Parameters
    ----------
    model : DKM, IDEC, KhatriRaoDKM or KhatriRaoIDEC
        Fitted.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes, with one line for each loss that is not always zero.

    See Also
    --------
    plot_latent_map : The latent space after each phase.
    polymeans.inspection.plot_convergence : The same for fits without a network.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.deep import IDEC, plot_losses
    >>> images, poses = make_stick_figures(90, random_state=0)
    >>> quick = {"pretrain_epochs": 20, "distill_epochs": 60, "random_state": 0}
    >>> model = IDEC(9, **quick).fit(images)
    >>> ax = plot_losses(model, ax=Figure().add_subplot())
    >>> [line.get_label() for line in ax.get_lines()][:2]
    ['reconstruction', 'clustering']
    """
    check_has(model, "history_")
    history = model.history_
    ax = axes_or_new(ax)
    epochs = np.arange(1, len(history) + 1)
    for (hue, _, dashes), name in zip(CURVES, ("reconstruction", "clustering")):
        shown = history[name] > 0
        if shown.any():
            ax.plot(epochs[shown], history[name][shown], dashes, color=hue, label=name)
    draw_phases(ax, history["phase"])
    if (ax.get_lines()[0].get_ydata() > 0).all():
        ax.set_yscale("log")
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    ax.legend()
    return ax


def plot_latent_map(model: Any, *, axes: Any = None) -> Any:
    """Draw the latent space after each phase of the training.

    Rows are drawn along the two directions in which the centroids differ most in the end, which are
    the same in all pictures. Their colors are those of the final clusters.

    Parameters
    ----------
    model : DKM, IDEC, KhatriRaoDKM or KhatriRaoIDEC
        Fitted.
    axes : sequence of matplotlib Axes, default=None
        One for each of ``model.latent_maps_``. None: new ones, side by side.

    Returns
    -------
    axes : ndarray of matplotlib Axes
        The axes.

    See Also
    --------
    plot_decoded_centroids : What the centroids look like.
    plot_losses : How training went.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.deep import DKM, plot_latent_map
    >>> images, poses = make_stick_figures(90, random_state=0)
    >>> quick = {"pretrain_epochs": 20, "distill_epochs": 60, "random_state": 0}
    >>> model = DKM(9, **quick).fit(images)
    >>> len(plot_latent_map(model, axes=Figure().subplots(1, 3)))
    3
    """
    check_has(model, "latent_maps_")
    maps = model.latent_maps_
    if axes is None:
        _, axes = load("matplotlib.pyplot").subplots(
            1, len(maps), figsize=(3.4 * len(maps), 3.4), squeeze=False, layout="constrained"
        )
    axes = np.asarray(axes, dtype=object).ravel()
    if len(axes) != len(maps):
        raise ValueError(f"axes must be {len(maps)}, one for each phase, got {len(axes)}.")
    centers = np.asarray(model.cluster_centers_, dtype=np.float64)
    directions = np.linalg.svd(centers - centers.mean(axis=0), full_matrices=False)[2][:2].T
    step = max(1, len(model.labels_) // len(maps[0][1]))
    labels = model.labels_[::step][: len(maps[0][1])]
    for ax, (phase, latent) in zip(axes, maps):
        points = latent.astype(np.float64) @ directions
        points = np.c_[points, np.zeros(len(points))]  # a latent space of one dimension
        for cluster in np.unique(labels):
            members = points[labels == cluster]
            ax.scatter(
                members[:, 0],
                members[:, 1],
                s=9,
                color=HUES[cluster % len(HUES)],
                marker=MARKERS[cluster // len(HUES) % len(MARKERS)],
                linewidth=0,
            )
        ax.set_title(f"after {phase}", fontsize="medium")
        ax.set_xticks([])
        ax.set_yticks([])
    return axes


def plot_network_sizes(models: Any, *, names: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Draw the reconstruction error of models against the numbers they store.

    Parameters
    ----------
    models : estimator or list of estimators
        Fitted deep clusterings.
    names : sequence of str, default=None
        One for each model. None: the names of their classes.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes, with one point for each model.

    See Also
    --------
    plot_losses : How training of a model went.
    KhatriRaoDKM : With ``autoencoder="hadamard"``, a small network and few protocentroids.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.deep import DKM, plot_network_sizes
    >>> images, poses = make_stick_figures(90, random_state=0)
    >>> quick = {"pretrain_epochs": 20, "distill_epochs": 60, "random_state": 0}
    >>> small = DKM(9, hidden_sizes=(16,), **quick).fit(images)
    >>> wide = DKM(9, hidden_sizes=(64,), **quick).fit(images)
    >>> ax = plot_network_sizes([small, wide], names=["16", "64"], ax=Figure().add_subplot())
    >>> len(ax.get_lines())
    2
    """
    found = as_models(models, "reconstruction_error_")
    ax = axes_or_new(ax)
    for number, (model, name) in enumerate(zip(found, model_names(names, found))):
        hue, marker, _ = CURVES[number % len(CURVES)]
        ax.plot([model.n_parameters_], [model.reconstruction_error_], marker, color=hue, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("numbers stored")
    ax.set_ylabel("reconstruction error")
    ax.legend()
    return ax
