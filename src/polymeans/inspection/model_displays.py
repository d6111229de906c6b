"""Displays of what a fitted estimator remembers: its convergence, and the sizes of its clusters."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._display import Display
from polymeans.inspection._models import check_has, last_step
from polymeans.inspection._style import GRAY, MAIN, SECOND

#: Clusters above which their numbers on the axis would overlap.
_MOST_NUMBERS = 30


class ConvergenceDisplay(Display):
    """Inertia and rows that changed cluster, for each iteration.

    For networks (:mod:`polymeans.deep`) the loss of each epoch takes the place of the inertia.
    Vertical lines are between the phases of the training, each of which has a loss of its own.

    Parameters
    ----------
    history : ndarray
        Records with ``inertia`` and ``n_moved``; of a network with ``loss``, ``phase`` and
        ``n_moved``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the inertia or loss. Those of the moved rows share its x axis.
    figure_ : matplotlib Figure
        Where they are.

    See Also
    --------
    plot_convergence : The same for models that you have.
    ClusterSizesDisplay : What the fit has led to.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KMeans
    >>> from polymeans.inspection import ConvergenceDisplay
    >>> from sklearn.datasets import load_iris
    >>> model = KMeans(3, random_state=0).fit(load_iris().data)
    >>> display = ConvergenceDisplay.from_estimator(model, ax=Figure().add_subplot())
    >>> display.ax_.get_ylabel()
    'inertia'
    """

    def __init__(self, history: NDArray[Any]) -> None:
        self.history = history

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the convergence of a fit.

        Parameters
        ----------
        estimator : estimator
            Fitted, with a ``history_``, or a pipeline that ends with one.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ConvergenceDisplay
            The display, drawn.
        """
        model = last_step(estimator)
        check_has(model, "history_")
        return cls(model.history_).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw both curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ConvergenceDisplay
            The display itself.
        """
        ax = self._single(ax)
        iterations = np.arange(1, len(self.history) + 1)
        dtype = getattr(self.history, "dtype", None)
        of_network = "loss" in (self.history if dtype is None else dtype.names)  # a dict will do
        falling = "loss" if of_network else "inertia"
        ax.plot(iterations, self.history[falling], color=MAIN, marker=".", label=falling)
        if of_network:
            draw_phases(ax, self.history["phase"])
            if (self.history["loss"] > 0).all():
                ax.set_yscale("log")  # losses of phases differ by orders of magnitude
        ax.set_xlabel("epoch" if of_network else "iteration")
        ax.set_ylabel(falling, color=MAIN)
        ax.tick_params(axis="y", labelcolor=MAIN)
        ax.xaxis.get_major_locator().set_params(integer=True)
        moved = ax.twinx()
        moved.plot(iterations, self.history["n_moved"], color=SECOND, ls="--", marker=".")
        # Counts fall by orders of magnitude, and the last is often zero, which has no logarithm.
        moved.set_yscale("symlog", linthresh=1)
        moved.set_ylim(bottom=0)
        moved.set_ylabel("rows that changed cluster", color=SECOND)
        moved.tick_params(axis="y", labelcolor=SECOND)
        return self


def draw_phases(ax: Any, phases: NDArray[Any]) -> None:
    """Draw lines between the phases of a training, and their names above the axes.

    Parameters
    ----------
    ax : matplotlib Axes
        Epochs are drawn from 1.
    phases : ndarray of str, of shape (n_epochs,)
    """
    edges = np.flatnonzero(phases[1:] != phases[:-1]) + 1
    for first, last in zip(np.r_[0, edges], np.r_[edges, len(phases)]):
        if first:
            ax.axvline(first + 0.5, color=GRAY, linewidth=0.8)
        ax.annotate(
            str(phases[first]),
            ((first + last + 1) / 2, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize="small",
            color=GRAY,
        )


class ClusterSizesDisplay(Display):
    """How many rows each cluster has, largest first.

    Parameters
    ----------
    sizes : ndarray of shape (n_clusters,)
        Rows of each cluster.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Where they are.

    See Also
    --------
    plot_cluster_sizes : The same as a function.
    polymeans.describe : Sizes as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KMeans
    >>> from polymeans.inspection import ClusterSizesDisplay
    >>> model = KMeans(2, random_state=0).fit(np.array([[0.0], [0.1], [0.2], [9.0]]))
    >>> display = ClusterSizesDisplay.from_estimator(model, ax=Figure().add_subplot())
    >>> [int(bar.get_height()) for bar in display.ax_.patches]
    [3, 1]
    """

    def __init__(self, sizes: NDArray[np.int64]) -> None:
        self.sizes = sizes

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the sizes of the clusters of a fit.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``labels_``, or a pipeline that ends with one. Clusters without rows are
            drawn if it has ``cluster_centers_``.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ClusterSizesDisplay
            The display, drawn.
        """
        model = last_step(estimator)
        check_has(model, "labels_")
        return cls(cluster_sizes(model)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw a bar for each cluster.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ClusterSizesDisplay
            The display itself.
        """
        ax = self._single(ax)
        order = np.argsort(-self.sizes, kind="stable")
        places = np.arange(len(order))
        ax.bar(places, self.sizes[order], color=MAIN, width=0.85)
        ax.axhline(self.sizes.mean(), color=SECOND, ls="--", label="equal shares")
        few = len(order) <= _MOST_NUMBERS
        ax.set_xticks(places if few else [], order if few else [])
        ax.set_xlabel("cluster, by size")
        ax.set_ylabel("rows")
        ax.legend(frameon=False)
        return self


def cluster_sizes(model: Any) -> NDArray[np.int64]:
    """Rows of each cluster of a fitted model, also of those without rows."""
    centers = getattr(model, "cluster_centers_", None)
    if centers is None:  # in the space of a kernel; one in the learned space belongs to each
        centers = getattr(model, "centroids_in_space_", None)
    return np.bincount(model.labels_, minlength=0 if centers is None else len(centers))
