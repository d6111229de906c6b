"""Criteria over the number of clusters."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._display import Display
from polymeans.inspection._matplotlib import load
from polymeans.inspection._style import GRAY, MAIN, SECOND

#: Panels: the column of the table, the criterion it belongs to, the heading, and a level.
_PANELS = (
    ("inertia", "elbow", "inertia", None),
    ("silhouette", "silhouette", "simplified silhouette", None),
    ("calinski_harabasz", "calinski_harabasz", "Calinski-Harabasz", None),
    ("davies_bouldin", "davies_bouldin", "Davies-Bouldin (less is better)", None),
    ("bic", "bic", "BIC (less is better)", None),
    ("gap", "gap", "gap statistic", None),
    ("prediction_strength", "prediction_strength", "prediction strength", 0.8),
    ("stability", "stability", "stability of halves", 0.9),
    ("valley", "valley", "shallowest valley (score)", 2.33),
)


class ChoiceOfKDisplay(Display):
    """Criteria for the number of clusters, a panel for each.

    **Idea.** Each panel has the values of one criterion. A ring marks the number it names; panels
    without a ring have no answer. The chosen number is a vertical band in all panels. Dashed lines
    are levels that a criterion has to reach.

    **Use when** you want to see how sure the choice is, and whether criteria disagree. Made by
    :meth:`polymeans.selection.ChoiceOfK.plot`.

    Parameters
    ----------
    table : ndarray
        Records of a :class:`polymeans.selection.ChoiceOfK`.
    choices : dict of str to int or None
        Answers of the criteria.
    best : int or None
        The chosen number.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        A panel for each criterion that has values.
    figure_ : matplotlib Figure
        Where they are.

    See Also
    --------
    polymeans.choose_n_clusters : Finds what is drawn.
    ElbowDisplay : Inertia alone.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from matplotlib.figure import Figure
    >>> from polymeans import choose_n_clusters
    >>> X, _ = make_blobs(200, centers=3, cluster_std=0.5, random_state=0)
    >>> display = choose_n_clusters(X, 5, random_state=0).plot(axes=Figure().subplots(3, 3))
    >>> display.axes_[0].get_title()
    'inertia: 3'
    """

    def __init__(
        self, table: NDArray[Any], choices: dict[str, int | None], best: int | None
    ) -> None:
        self.table, self.choices, self.best = table, choices, best

    @classmethod
    def from_choice(cls, choice: Any, *, axes: Any = None) -> Self:
        """Draw a choice.

        Parameters
        ----------
        choice : ChoiceOfK
            What :func:`polymeans.choose_n_clusters` returned.
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one for each criterion. None: on a new figure.

        Returns
        -------
        display : ChoiceOfKDisplay
            The display, drawn.
        """
        return cls(choice.table_, choice.choices_, choice.best_).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw all panels.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one for each criterion. None: on a new figure.

        Returns
        -------
        display : ChoiceOfKDisplay
            The display itself.
        """
        shown = [panel for panel in _PANELS if np.isfinite(self.table[panel[0]]).any()]
        axes = self._panels(axes, len(shown), 3, (3.4, 2.5))
        for ax, (column, criterion, title, level) in zip(axes, shown):
            self._draw(ax, column, criterion, title, level)
        for ax in axes[-3:]:
            ax.set_xlabel("number of clusters")
        return self

    def _draw(self, ax: Any, column: str, criterion: str, title: str, level: float | None) -> None:
        values, scores = self.table["n_clusters"], self.table[column]
        known = np.isfinite(scores)
        error = self.table["gap_error"][known] if column == "gap" else None
        if self.best is not None:
            ax.axvspan(self.best - 0.35, self.best + 0.35, color=SECOND, alpha=0.25, lw=0)
        if level is not None:
            ax.axhline(level, color=GRAY, ls="--", lw=1)
        ax.errorbar(values[known], scores[known], error, color=MAIN, marker=".", lw=1.2)
        if column == "inertia" and scores[known].min() > 0:
            ax.set_yscale("log")
        answer = self.choices.get(criterion)
        if answer is not None:
            at = values == answer
            ax.plot(values[at], scores[at], "o", ms=11, mfc="none", mec=SECOND, mew=1.8)
        ax.set_title(f"{title}: {'none' if answer is None else answer}", fontsize="medium")
        ax.xaxis.set_major_locator(load("matplotlib.ticker").MaxNLocator(integer=True))
        ax.spines[["top", "right"]].set_visible(False)
