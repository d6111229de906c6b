"""How much information views share with each other and with known labelings, as a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import normalized_mutual_info_score

from polymeans.inspection._matplotlib import axes_or_sized
from polymeans.inspection._models import last_step
from polymeans.inspection.views import check_views

#: Values above this are written in white, because their cell is dark.
_DARK = 0.55


def plot_view_information(
    model_or_labels: Any,
    known: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    cmap: Any = "Blues",
    ax: Any = None,
) -> Any:
    """Draw how much information views share with each other and with known labelings.

    **Idea.** A table of the normalized mutual information of each view (row) with each view and
    each known labeling (column): 0 if they are independent, 1 if they are the same up to names.

    **Use when** you want to know whether views repeat each other, and which view is which known
    labeling.
    **Do not use** with few rows for each label: independent labels then score well above zero.

    Parameters
    ----------
    model_or_labels : NonRedundantKMeans or array-like of shape (n_samples, n_views)
        Fitted model, whose ``labels_per_view_`` are taken, or labels, one column for each view.
    known : array-like of shape (n_samples,) or (n_samples, n_known), default=None
        Known labels of the same rows, one column for each labeling.
    names : sequence of str, default=None
        Names of the known labelings. None: those of the columns if ``known`` is a frame, numbers
        otherwise.
    cmap : str or matplotlib Colormap, default="Blues"
        Colors from 0 to 1, the first light and the last dark.
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
    labels = last_step(model_or_labels)
    if hasattr(labels, "fit"):
        check_views(labels)
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
    ax = axes_or_sized(ax, (1.8 + 0.7 * len(columns), 0.7 + 0.7 * n_views))
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
    # Inside these axes, so that it is as high as the table in any layout.
    bar = ax.figure.colorbar(image, cax=ax.inset_axes([1.03, 0.0, 0.14 / len(columns), 1.0]))
    bar.set_label("normalized mutual\ninformation")
    bar.set_ticks([0.0, 0.5, 1.0])
    bar.outline.set_visible(False)
    return ax


def _information(labels: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float64]:
    """Normalized mutual information of columns (rows of the result) with other columns."""
    return np.array([[normalized_mutual_info_score(a, b) for b in others.T] for a in labels.T])


def _known_names(names: Any, known: Any, n_known: int) -> list[str]:
    """Names of known labelings."""
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
