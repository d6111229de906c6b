"""The outcome of a comparison of structures."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.selection.tables import html_table, number_text, text_table

#: Fields of the table and their headings.
COLUMNS = {
    "structure": "structure",
    "equal": "equal",
    "n_clusters": "k",
    "inertia": "inertia",
    "n_parameters": "numbers",
    "n_bytes": "bytes",
    "fit_seconds": "fit s",
    "predict_seconds": "predict s",
    "stability": "stability",
    "agreement": "agrees with KMeans",
    "pareto": "Pareto",
}

RECORD = [
    ("structure", "U40"),
    ("equal", "U10"),
    ("n_clusters", np.int64),
    ("inertia", np.float64),
    ("n_parameters", np.int64),
    ("n_bytes", np.int64),
    ("fit_seconds", np.float64),
    ("predict_seconds", np.float64),
    ("stability", np.float64),
    ("agreement", np.float64),
    ("pareto", np.bool_),
]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Structures beside each other; :func:`compare` returns it.

    Parameters
    ----------
    best_ : str or None
        Name of the recommended structure; None if the time was too short for any.
    reason_ : str
        Why, in a sentence.
    table_ : ndarray
        One record for each structure that was fitted. ``pandas.DataFrame(table_)`` works.
    agreement_ : ndarray of shape (n_structures, n_structures)
        Adjusted Rand index of the labels of each pair.
    skipped_ : dict of str to str
        Structures that were not fitted, and why.
    estimators_ : list of estimators
        The fitted structures in the order of the table.
    best_estimator_ : estimator or None
        The recommended one, fitted.
    n_samples_ : int
        Rows that were used.
    seconds_ : float
        Time of the whole comparison.
    n_given_ : int or None
        Rows that were given: more than ``n_samples_`` if time was too short for all of them, or if
        there are more than 50 000. None: not known.

    See Also
    --------
    compare : Makes it.
    polymeans.inspection.ComparisonDisplay : Inertia against numbers stored.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import compare
    >>> X = np.random.default_rng(0).normal(size=(80, 2)) + np.repeat([[0], [8]], 40, axis=0)
    >>> result = compare(X, 4, n_runs=1, random_state=0)
    >>> result.best_, result.agreement_.shape == (len(result.table_), len(result.table_))
    ('KMeans/k', True)
    """

    best_: str | None
    reason_: str
    table_: NDArray[Any]
    agreement_: NDArray[np.float64]
    skipped_: dict[str, str]
    estimators_: list[Any] = field(repr=False)
    best_estimator_: Any
    n_samples_: int
    seconds_: float
    n_given_: int | None = None

    def plot(self, *, ax: Any = None) -> Any:
        """Draw inertia against the numbers stored.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ComparisonDisplay
            With the axes and the figure.
        """
        from polymeans.inspection import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self, ax=ax)

    def __str__(self) -> str:
        """The recommendation, the table and what was left out."""
        header, lines = self._cells()
        parts = [self._headline(), text_table(header, lines)]
        if self.skipped_:
            left_out = "\n".join(f"  {name}: {why}" for name, why in self.skipped_.items())
            parts.append(f"not compared:\n{left_out}")
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        header, lines = self._cells()
        names = [f"{line['structure']}/{line['equal']}" for line in self.table_]
        marked = names.index(self.best_) if self.best_ in names else None
        items = "".join(
            f"<li>{escape(name)}: {escape(why)}</li>" for name, why in self.skipped_.items()
        )
        left_out = f"<p>not compared:</p><ul>{items}</ul>" if items else ""
        return (
            f"<div><p><strong>{escape(self._headline())}</strong></p>"
            f"{html_table(header, lines, marked=marked)}{left_out}</div>"
        )

    def _headline(self) -> str:
        headline = f"recommended: {self.best_ or 'nothing'} ({self.reason_})"
        if self.n_given_ is None or self.n_given_ == self.n_samples_:
            return headline
        return f"{headline}, on {self.n_samples_} of {self.n_given_} rows"

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        lines = []
        for line in self.table_:
            cells = [str(line["structure"]), str(line["equal"])]
            for name in list(COLUMNS)[2:-1]:
                value = line[name]
                integer = isinstance(value, np.integer)
                cells.append(str(value) if integer else number_text(float(value)))
            lines.append([*cells, "*" if line["pareto"] else ""])
        return list(COLUMNS.values()), lines


def pareto(n_parameters: NDArray[Any], inertia: NDArray[Any]) -> NDArray[np.bool_]:
    """Which structures no other one beats in both: fewer numbers and less inertia."""
    fewer = (n_parameters[:, None] <= n_parameters) & (inertia[:, None] <= inertia)
    strictly = (n_parameters[:, None] < n_parameters) | (inertia[:, None] < inertia)
    return ~np.any(fewer & strictly, axis=0)
