"""What is known about numbers of clusters: the table, every criterion's answer, and the choice."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.selection.tables import html_table, number_text, text_table

#: Fields of the table and their headings.
COLUMNS = {
    "n_clusters": "k",
    "inertia": "inertia",
    "silhouette": "silhouette",
    "calinski_harabasz": "Calinski-Harabasz",
    "davies_bouldin": "Davies-Bouldin",
    "bic": "BIC",
    "gap": "gap",
    "gap_error": "gap error",
    "prediction_strength": "prediction strength",
    "stability": "stability",
    "valley": "valley",
    "seconds": "seconds",
}

RECORD = [(name, np.int64 if name == "n_clusters" else np.float64) for name in COLUMNS]

#: Names of the criteria, in the order in which they are listed.
CRITERIA = {
    "elbow": "knee of the inertia",
    "silhouette": "simplified silhouette",
    "calinski_harabasz": "Calinski-Harabasz",
    "davies_bouldin": "Davies-Bouldin",
    "bic": "BIC",
    "gap": "gap statistic",
    "prediction_strength": "prediction strength",
    "stability": "stability of halves",
    "valley": "valleys between all clusters",
}


@dataclass(frozen=True, eq=False)
class ChoiceOfK:
    """A number of clusters, and what several criteria say; :func:`choose_n_clusters` returns it.

    Parameters
    ----------
    best_ : int or None
        The number of clusters; None if there is no sign of clusters, or none within the range.
    reason_ : str
        Why, in a sentence.
    criterion_ : str
        Which criterion decided.
    choices_ : dict of str to int or None
        The answer of each criterion that is defined for these rows and this estimator.
    table_ : ndarray
        One record for each number of clusters; NaN where a criterion is not defined.
        ``pandas.DataFrame(table_)`` works.
    best_estimator_ : estimator or None
        Fitted to all rows with ``best_`` clusters.
    seconds_ : float
        Time of the whole search.

    See Also
    --------
    choose_n_clusters : Makes it.
    polymeans.inspection.ChoiceOfKDisplay : What all criteria say, in one picture.
    polymeans.inspection.ElbowDisplay : Inertia against the number of clusters.

    Examples
    --------
    >>> from polymeans import choose_n_clusters
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> choice = choose_n_clusters(X, 6, random_state=0)
    >>> choice.best_, choice.best_estimator_.predict(X[:2]).shape
    (3, (2,))
    >>> choice.table_["n_clusters"]
    array([1, 2, 3, 4, 5, 6])
    """

    best_: int | None
    reason_: str
    criterion_: str
    choices_: dict[str, int | None]
    table_: NDArray[Any]
    best_estimator_: Any = field(default=None, repr=False)
    seconds_: float = 0.0

    @property
    def agreement_(self) -> dict[int | None, list[str]]:
        """Answers, the most frequent first, and the criteria that gave them."""
        votes: dict[int | None, list[str]] = {}
        for name, answer in self.choices_.items():
            votes.setdefault(answer, []).append(name)
        return dict(sorted(votes.items(), key=lambda item: (-len(item[1]), item[0] or 0)))

    def plot(self, *, axes: Any = None) -> Any:
        """Draw the criteria over the number of clusters.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            Where to draw, one for each criterion. None: on a new figure.

        Returns
        -------
        display : ChoiceOfKDisplay
            With the axes and the figure.
        """
        from polymeans.inspection import ChoiceOfKDisplay

        return ChoiceOfKDisplay.from_choice(self, axes=axes)

    def __str__(self) -> str:
        """The choice in a sentence, the criteria's answers and the table."""
        answers = [[CRITERIA[name], _answer(k)] for name, k in self.choices_.items()]
        header, lines = self._cells()
        return "\n\n".join(
            [
                self._headline(),
                text_table(["criterion", "answer"], answers),
                self._agreement(),
                text_table(header, lines),
            ]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        answers = [[CRITERIA[name], _answer(k)] for name, k in self.choices_.items()]
        header, lines = self._cells()
        known = self.table_["n_clusters"].tolist()
        at = known.index(self.best_) if self.best_ in known else None
        return (
            f"<div><p><strong>{escape(self._headline())}</strong></p>"
            + html_table(["criterion", "answer"], answers)
            + f"<p>{escape(self._agreement())}</p>"
            + html_table(header, lines, marked=at)
            + "</div>"
        )

    def _headline(self) -> str:
        chosen = "none" if self.best_ is None else str(self.best_)
        return f"number of clusters: {chosen} ({self.reason_})"

    def _agreement(self) -> str:
        return f"answers of {len(self.choices_)} criteria: " + ", ".join(
            f"{len(names)} say {_answer(answer)}" for answer, names in self.agreement_.items()
        )

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Columns that have values, as text."""
        shown = [
            name for name in COLUMNS if name == "n_clusters" or np.isfinite(self.table_[name]).any()
        ]
        lines = [
            [str(line["n_clusters"])] + [number_text(float(line[name])) for name in shown[1:]]
            for line in self.table_
        ]
        return [COLUMNS[name] for name in shown], lines


def _answer(k: int | None) -> str:
    return "none" if k is None else str(k)
