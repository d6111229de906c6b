"""The curve of inertia over the number of clusters, and its knee."""

from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._display import Display
from polymeans.inspection._matplotlib import load
from polymeans.inspection._style import MAIN, SECOND, plain_logarithms


class ElbowDisplay(Display):
    """Inertia against the number of clusters, both logarithmic, with the knee or "no knee".

    **Idea.** Rows that fill a region evenly have an inertia that falls with a power of the number
    of clusters: a straight line here. A knee is where the line bends by a factor of two.

    **Use when** the picture that readers expect is wanted. **Do not use** to decide: see
    :class:`ChoiceOfKDisplay`.

    Parameters
    ----------
    n_clusters : ndarray of shape (n_values,)
        Numbers of clusters.
    inertia : ndarray of shape (n_values,)
        Inertia of each.
    knee : int or None
        The knee.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Where they are.

    See Also
    --------
    polymeans.choose_n_clusters : Finds what is drawn.
    ChoiceOfKDisplay : What all criteria say.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import choose_n_clusters
    >>> from polymeans.inspection import ElbowDisplay
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(200, centers=3, cluster_std=0.5, random_state=0)
    >>> choice = choose_n_clusters(X, 6, random_state=0)
    >>> ElbowDisplay.from_choice(choice, ax=Figure().add_subplot()).ax_.get_title()
    'knee at 3 clusters'
    """

    def __init__(
        self, n_clusters: NDArray[np.int64], inertia: NDArray[np.float64], knee: int | None
    ) -> None:
        self.n_clusters, self.inertia, self.knee = n_clusters, inertia, knee

    @classmethod
    def from_choice(cls, choice: Any, *, ax: Any = None) -> Self:
        """Draw the inertia of a choice.

        Parameters
        ----------
        choice : ChoiceOfK
            What :func:`polymeans.choose_n_clusters` returned.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ElbowDisplay
            The display, drawn.
        """
        table = choice.table_
        knee = choice.choices_["elbow"]
        return cls(table["n_clusters"], table["inertia"], knee).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        n_clusters: Any = range(2, 21),
        *,
        random_state: Any = None,
        n_threads: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Fit every number of clusters and draw the inertia.

        The curve is that of :func:`polymeans.choose_n_clusters`, whose other criteria are not
        computed.

        Parameters
        ----------
        estimator : estimator
            What is fitted, with its other parameters; it is not changed and need not be fitted. Any
            estimator of this package, :class:`sklearn.cluster.KMeans`, or a Pipeline that ends with
            one of them, whose other steps are fitted once.
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features) or Blocks
            Rows.
        n_clusters : int or iterable of int, default=range(2, 21)
            Numbers of clusters; one cluster is added for free centroids. An integer: from 2 to
            this.
        random_state : int, RandomState instance or None, default=None
            Determines all random draws. An integer makes results repeatable.
        n_threads : int or None, default=None
            Threads to use; the result does not depend on it.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ElbowDisplay
            The display, drawn.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from polymeans import KMeans
        >>> from polymeans.inspection import ElbowDisplay
        >>> from sklearn.datasets import make_blobs
        >>> X, _ = make_blobs(200, centers=3, cluster_std=0.5, random_state=0)
        >>> ax = Figure().add_subplot()
        >>> ElbowDisplay.from_estimator(KMeans(), X, 6, random_state=0, ax=ax).knee
        3
        """
        # Choices stand above pictures, so they are imported when one is asked for.
        curve = import_module("polymeans.selection.inertia_curve").inertia_curve
        return cls(*curve(estimator, X, n_clusters, random_state, n_threads)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ElbowDisplay
            The display itself.
        """
        ax = self._single(ax)
        ax.plot(self.n_clusters, self.inertia, color=MAIN, marker=".")
        at = self.n_clusters == self.knee
        if self.knee is not None:
            ax.plot(
                self.n_clusters[at], self.inertia[at], "o", ms=12, mfc="none", mec=SECOND, mew=1.8
            )
        ax.set_xscale("log")
        if self.inertia.min() > 0:
            ax.set_yscale("log")
            plain_logarithms(ax.yaxis)
        ticker = load("matplotlib.ticker")
        ax.xaxis.set_major_locator(ticker.FixedLocator(_few(self.n_clusters)))
        ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
        ax.xaxis.set_minor_locator(ticker.NullLocator())
        ax.set_title("no knee" if self.knee is None else f"knee at {self.knee} clusters")
        ax.set_xlabel("number of clusters")
        ax.set_ylabel("inertia")
        ax.spines[["top", "right"]].set_visible(False)
        return self


def _few(values: NDArray[np.int64]) -> list[int]:
    """Some of the values, so far apart on a logarithmic axis that their labels do not overlap."""
    kept = [int(values[0])]
    for value in values[1:].tolist():
        if value >= 1.15 * kept[-1]:
            kept.append(int(value))
    return kept
