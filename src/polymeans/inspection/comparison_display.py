"""Inertia of structures against the numbers that they store."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._display import Display
from polymeans.inspection._style import GREY, HUES, MARKERS, plain_numbers


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
        ax.step(front["n_parameters"], front["inertia"], where="post", color=GREY, lw=1, zorder=1)
        names = list(dict.fromkeys(self.table["structure"].tolist()))
        for line in self.table:
            turn = names.index(str(line["structure"]))
            hue = HUES[turn % len(HUES)]
            name = f"{line['structure']}, equal {line['equal']} (k = {line['n_clusters']})"
            chosen = f"{line['structure']}/{line['equal']}" == self.best
            ax.plot(
                line["n_parameters"],
                line["inertia"],
                MARKERS[turn % len(MARKERS)],
                ms=9,
                mec=hue,
                mfc=hue if line["equal"] == "k" else "white",
                mew=1.6,
                ls="none",
                label=f"{name}: recommended" if chosen else name,
                zorder=3,
            )
        ax.set_xscale("log")
        if self.table["inertia"].min() > 0:
            ax.set_yscale("log")
            plain_numbers(ax.yaxis)
        plain_numbers(ax.xaxis)
        ax.set_xlabel("numbers stored")
        ax.set_ylabel("inertia")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return self
