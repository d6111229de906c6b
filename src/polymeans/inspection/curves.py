"""Curves of several models: inertia, numbers stored, iterations and operations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from polymeans._validation import check_integer
from polymeans.factorization.budget import guaranteed_n_nonzeros
from polymeans.inspection._matplotlib import axes_or_new
from polymeans.inspection._models import as_models, check_has, last_step, model_names, refuse_latent
from polymeans.inspection._style import CURVES, GRAY, plain_numbers


def plot_tradeoff(curves: Mapping[str, Iterable[Any]], ax: Any = None) -> Any:
    """Draw inertia against the numbers that a codebook stores.

    Both axes are logarithmic. A lower curve has less inertia for the same numbers.

    Parameters
    ----------
    curves : dict of str to list of estimators
        Fitted models of the same rows, one list for each curve. Each model has ``inertia_``, and
        either ``n_parameters_`` or ``cluster_centers_``, all of which then count.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    See Also
    --------
    polymeans.metrics.parameter_ratio : How many times fewer numbers than free centroids.
    plot_protocentroids : The protocentroids as pictures.

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
    ax = axes_or_new(ax)
    for turn, (name, pairs) in enumerate(points.items()):
        hue, marker, dashes = CURVES[turn % len(CURVES)]
        stored, lost = np.array(pairs, dtype=object).reshape(-1, 2).T
        ax.plot(stored, lost, color=hue, marker=marker, ls=dashes, ms=5, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    plain_numbers(ax.xaxis)
    plain_numbers(ax.yaxis)
    ax.set_xlabel("numbers stored")
    ax.set_ylabel("inertia")
    ax.legend(frameon=False)
    return ax


def plot_objective(
    models: Any,
    *,
    names: Sequence[str] | None = None,
    relative: bool = False,
    ax: Any = None,
) -> Any:
    """Draw the objective against the iteration, and the level of plain k-means.

    **Idea.** A curve for each model, from its ``history_``. Where a model began with plain k-means
    (``kmeans_inertia_``), its inertia is a dotted line. Constrained centroids seldom get far below
    it.

    **Use when** you want to see whether a fit has converged, how much the iterations after the
    first factorization gain, and how much inertia the constraint costs. **Do not use** to compare
    models of different rows, unless ``relative=True``.

    Parameters
    ----------
    models : estimator or list of estimators
        Fitted, with a ``history_`` of ``inertia``.
    names : list of str, default=None
        For the legend. None: names of the models' classes.
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
    models = as_models(models, "history_")
    for model in models:
        refuse_latent(model, "the inertia of each iteration", "polymeans.deep.plot_losses")
    names = model_names(names, models)
    levels = [float(getattr(model, "kmeans_inertia_", np.nan)) for model in models]
    if relative:
        for model, level in zip(models, levels):
            if not level > 0:
                raise ValueError(
                    "relative=True needs a kmeans_inertia_ above zero, which "
                    f"{type(model).__name__} has not. Use relative=False."
                )
    ax = axes_or_new(ax)
    for turn, (model, name, level) in enumerate(zip(models, names, levels)):
        hue, marker, dashes = CURVES[turn % len(CURVES)]
        inertia = model.history_["inertia"] / (level if relative else 1.0)
        steps = np.arange(1, len(inertia) + 1)
        ax.plot(steps, inertia, color=hue, marker=marker, ls=dashes, ms=4, label=name)
    label: str | None = "k-means"
    # One line for each different level: models that began with the same k-means share one.
    for level in [1.0] if relative else dict.fromkeys(filter(np.isfinite, levels)):
        ax.axhline(level, color=GRAY, ls=":", label=label)
        label = None
    ax.set_xlabel("iteration")
    ax.set_ylabel("inertia over that of k-means" if relative else "inertia")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(frameon=False)
    return ax


def plot_operations(
    models: Any,
    *,
    names: Sequence[str] | None = None,
    sparsity_level: int | None = 5,
    ax: Any = None,
) -> Any:
    """Draw the operations that labeling a row takes against the number of clusters.

    **Idea.** Two operations for each number that a row is multiplied with, two for each cluster.
    Dense centroids have k d numbers; for each model the non-zeros of its factors are counted. The
    gray band is the chain of about ``log2`` factors in the QuicK-means paper: for a sparsity level
    it has between once and twice :func:`polymeans.factorization.guaranteed_n_nonzeros` non-zeros.
    Both axes are logarithmic.

    **Use when** you want to know from which number of clusters on factors save operations.
    **Do not use** to predict time: a dense product does more operations in a second, and reading
    the rows takes the same time.

    Parameters
    ----------
    models : list of estimators, or dict of str to list of estimators
        Fitted, with ``operator_``, for several numbers of clusters. A dict has one curve for each
        name, for instance one for each sparsity level.
    names : list of str, default=None
        For the legend, one for each curve. None: the names in the dict, or names of the models'
        classes.
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
    plot_tradeoff : Inertia against the numbers stored.

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
    named = isinstance(models, Mapping)
    curves = list(models.values()) if named else [models]
    curves = [as_models(models, "operator_") for models in curves]
    if not curves:
        raise ValueError("models must hold at least one fitted model, got none.")
    if names is None and named:
        names = [str(name) for name in models]
    names = model_names(names, [models[0] for models in curves])
    points = [sorted(map(_operations, models)) for models in curves]
    shapes = sorted({model.operator_.shape for models in curves for model in models})
    widths = {n_features for _, n_features in shapes}
    if len(widths) > 1:
        raise ValueError(
            f"models must have the same number of features, got {sorted(widths)}. Draw models "
            "of different data on axes of their own."
        )
    ax = axes_or_new(ax)
    for turn, (name, pairs) in enumerate(zip(names, points)):
        hue, marker, dashes = CURVES[turn % len(CURVES)]
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
            color=GRAY,
            alpha=0.3,
            lw=0,
            label=f"the paper's chain, sparsity level {sparsity_level}",
        )
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(n_clusters, n_clusters)
    ax.minorticks_off()
    plain_numbers(ax.yaxis)
    ax.set_xlabel("clusters")
    ax.set_ylabel("operations to label a row")
    ax.legend(frameon=False)
    return ax


def _cost(model: Any) -> tuple[int, float]:
    """Numbers a model stores, and its inertia."""
    model = last_step(model)
    check_has(model, "inertia_")
    # Units of latent spaces differ, so that their inertia compares with no other.
    refuse_latent(model, "inertia among the features", "polymeans.deep.plot_network_sizes")
    if hasattr(model, "n_parameters_"):
        return int(model.n_parameters_), float(model.inertia_)
    check_has(model, "cluster_centers_")
    return int(np.size(model.cluster_centers_)), float(model.inertia_)


def _operations(model: Any) -> tuple[int, int]:
    """Clusters of a model and operations to label a row."""
    n_clusters = model.operator_.shape[0]
    counted = getattr(model, "flops_per_row_", None)
    return n_clusters, int(_price(model.operator_.nnz, n_clusters) if counted is None else counted)


def _price(n_numbers: int, n_clusters: int) -> int:
    """Operations to label a row: multiply and add; add the norm and compare, once for each."""
    return 2 * n_numbers + 2 * n_clusters
