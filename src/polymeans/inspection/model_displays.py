"""Displays of what a fitted estimator remembers: its convergence, and the sizes of its clusters."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._display import Display
from polymeans.inspection._models import check_has, last_step
from polymeans.inspection._style import MAIN, SECOND

#: Clusters above which their numbers on the axis would overlap.
_MOST_NUMBERS = 30


class ConvergenceDisplay(Display):
    """Inertia and rows that changed cluster, for each iteration.

    Parameters
    ----------
    history : ndarray
        Records with ``inertia`` and ``n_moved``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the inertia. Those of the moved rows share its x axis.
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
        ax.plot(iterations, self.history["inertia"], color=MAIN, marker=".", label="inertia")
        ax.set_xlabel("iteration")
        ax.set_ylabel("inertia", color=MAIN)
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
