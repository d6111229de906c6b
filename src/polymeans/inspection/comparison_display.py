"""Inertia of structures against the numbers that they store."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._display import Display
from polymeans.inspection._style import GRAY, HUES, MARKERS, SECOND, plain_logarithms


class ComparisonDisplay(Display):
    """Inertia against the numbers that each structure stores, and the Pareto front.

    **Idea.** A point for each structure, both axes logarithmic. Lower is better, and so is further
    to the left. The line joins the structures that no other one beats in both; filled markers have
    the same number of clusters as free centroids, hollow ones the same number of parameters.

    **Use when** you want to see what a structure costs and saves. Made by
    :meth:`polymeans.selection.Comparison.plot`.

    Parameters
    ----------
    table : ndarray
        Records of a :class:`polymeans.selection.Comparison`.
    best : str or None
        The recommended structure.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Where they are.

    See Also
    --------
    polymeans.compare : Finds what is drawn.
    plot_tradeoff : Inertia against the numbers stored, for models that you have.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from polymeans import compare
    >>> X = np.random.default_rng(0).normal(size=(80, 2)) + np.repeat([[0], [8]], 40, axis=0)
    >>> result = compare(X, 4, n_runs=1, random_state=0)
    >>> display = result.plot(ax=Figure().add_subplot())
    >>> display.ax_.get_xscale(), display.best
    ('log', 'KMeans/k')
    """

    def __init__(self, table: NDArray[Any], best: str | None = None) -> None:
        self.table, self.best = table, best

    @classmethod
    def from_comparison(cls, comparison: Any, *, ax: Any = None) -> Self:
        """Draw a comparison.

        Parameters
        ----------
        comparison : Comparison
            What :func:`polymeans.compare` returned.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ComparisonDisplay
            The display, drawn.
        """
        return cls(comparison.table_, comparison.best_).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the structures.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ComparisonDisplay
            The display itself.
        """
        ax = self._single(ax, (7.6, 4.4))
        front = np.sort(self.table[self.table["pareto"]], order="n_parameters")
        ax.step(
            front["n_parameters"],
            front["inertia"],
            where="post",
            color=GRAY,
            lw=1,
            zorder=1,
            label="beaten by no other",
        )
        names = list(dict.fromkeys(self.table["structure"].tolist()))
        named = set()
        for line in self.table:
            name = str(line["structure"])
            turn = names.index(name)
            hue = HUES[turn % len(HUES)]
            ax.plot(
                line["n_parameters"],
                line["inertia"],
                MARKERS[turn % len(MARKERS)],
                ms=9,
                mec=hue,
                mfc=hue if line["equal"] == "k" else "white",
                mew=1.6,
                ls="none",
                label=None if name in named else name,
                zorder=3,
            )
            named.add(name)
            if f"{name}/{line['equal']}" == self.best:
                ring = {"ms": 18, "mfc": "none", "mec": SECOND, "mew": 1.6, "ls": "none"}
                place = line["n_parameters"], line["inertia"]
                ax.plot(*place, "o", label="recommended", zorder=2, **ring)
        self._finish(ax)
        return self

    def _finish(self, ax: Any) -> None:
        """Scales, labels and the legend."""
        for axis, values in ((ax.xaxis, "n_parameters"), (ax.yaxis, "inertia")):
            if self.table[values].min() > 0:
                axis.axes.set(**{f"{axis.axis_name}scale": "log"})
                plain_logarithms(axis)
        ax.margins(0.12)
        ax.set_xlabel("numbers stored\n(filled: equal number of clusters; hollow: equal numbers)")
        ax.set_ylabel("inertia")
        ax.spines[["top", "right"]].set_visible(False)
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        ax.legend(frameon=False, fontsize="small", labelspacing=0.9, **place)
