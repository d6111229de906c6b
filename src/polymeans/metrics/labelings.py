"""Scores of known labelings with found ones, matched one for one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from polymeans._validation import check_choice
from polymeans.metrics._contingency import (
    as_columns,
    code_both_tables,
    normalized_information,
    row_weights,
    tabulate,
)
from polymeans.metrics.classes import unsupervised_accuracy


@dataclass(frozen=True, eq=False)
class LabelingsConfusion:
    """Scores of known labelings with found ones; what :func:`labelings_confusion` returns.

    Parameters
    ----------
    scores : ndarray of shape (n_true, n_pred)
        Score of each known labeling (row) with each found one (column).
    true_columns : ndarray of shape (min(n_true, n_pred),)
        Known labelings that have a partner, in rising order.
    pred_columns : ndarray of shape (min(n_true, n_pred),)
        Their partners among the found labelings.

    See Also
    --------
    labelings_confusion : Makes it.

    Examples
    --------
    >>> from polymeans.metrics import labelings_confusion
    >>> known = [["red", "disk"], ["red", "ring"], ["blue", "disk"], ["blue", "ring"]]
    >>> confusion = labelings_confusion(known, [[0, 1], [1, 1], [0, 2], [1, 2]])
    >>> confusion.true_columns, confusion.pred_columns
    (array([0, 1]), array([1, 0]))
    """

    scores: NDArray[np.float64]
    true_columns: NDArray[np.int64]
    pred_columns: NDArray[np.int64]

    def __str__(self) -> str:
        """The scores as a table; matched pairs are marked by a star."""
        starred = set(zip(self.true_columns.tolist(), self.pred_columns.tolist()))
        n_true, n_pred = self.scores.shape
        lines = ["".rjust(8) + "".join(f"found {j}".rjust(10) for j in range(n_pred))]
        for i in range(n_true):
            cells = [
                f"{self.scores[i, j]:.3f}{'*' if (i, j) in starred else ' '}".rjust(10)
                for j in range(n_pred)
            ]
            lines.append(f"known {i}".ljust(8) + "".join(cells))
        lines.append(f"mean {self.mean:.3f}, lowest {self.minimum:.3f} (* matched)")
        return "\n".join(lines)

    @property
    def matched(self) -> NDArray[np.float64]:
        """Score of each matched pair of labelings."""
        return self.scores[self.true_columns, self.pred_columns]

    @property
    def found(self) -> NDArray[np.float64]:
        """Score of each known labeling with its partner; 0 if it has none."""
        found = np.zeros(len(self.scores))
        found[self.true_columns] = self.matched
        return found

    @property
    def mean(self) -> float:
        """Mean score of the known labelings."""
        return float(self.found.mean())

    @property
    def minimum(self) -> float:
        """Score of the known labeling that was found worst."""
        return float(self.found.min())


def labelings_confusion(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    score: str | Callable[[Any, Any], float] = "nmi",
) -> LabelingsConfusion:
    """Score known labelings with found ones, and match them one for one.

    **Idea.** The order of views is arbitrary. Score every known labeling with every found one, and
    match them so that the sum of scores is largest (the Hungarian method). If one side has more
    labelings, the surplus has no partner.

    **Use when** you want to know which views were found, and how well each: a known labeling
    without a partner scores 0. **Do not use** if superfluous views should count as errors: they do
    not; see :func:`pair_scores`. **Cost:** one score for each pair of labelings.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,) or (n_samples, n_true)
        Known labels, one column for each labeling; any values that can be sorted.
    labels_pred : array-like of shape (n_samples,) or (n_samples, n_pred)
        Labels found, one column for each labeling.
    score : {"nmi", "ami", "ari", "accuracy"} or callable, default="nmi"
        Larger is better. Normalized mutual information, adjusted mutual information or adjusted
        Rand index as in :mod:`sklearn.metrics`, :func:`unsupervised_accuracy`, or a function of a
        known and a found column of labels that returns a finite number.

    Returns
    -------
    confusion : LabelingsConfusion
        ``scores``, the matching ``true_columns`` and ``pred_columns``, the scores of the matched
        pairs (``matched``), and those of all known labelings: ``found``, ``mean``, ``minimum``.

    See Also
    --------
    pair_scores : Compares both sides as a whole.
    mutual_information_matrix : The scores of "nmi", also with weights.

    Examples
    --------
    >>> from polymeans.metrics import labelings_confusion
    >>> known = [["red", "disk"], ["red", "ring"], ["blue", "disk"], ["blue", "ring"]]
    >>> found = [[0, 1, 0], [1, 1, 0], [0, 2, 0], [1, 2, 0]]
    >>> confusion = labelings_confusion(known, found)
    >>> confusion.scores
    array([[0., 1., 0.],
           [1., 0., 0.]])
    >>> confusion.pred_columns
    array([1, 0])
    >>> confusion.mean
    1.0
    """
    true, pred = code_both_tables(labels_true, labels_pred)
    if callable(score):
        # A function of the user gets the labels themselves, not codes.
        true, pred = as_columns("labels_true", labels_true), as_columns("labels_pred", labels_pred)
        function = score
    else:
        check_choice("score", score, tuple(_SCORES), "Or pass a function of two label arrays.")
        function = _SCORES[score]
    scores = np.array([[function(a, b) for b in pred.T] for a in true.T], dtype=np.float64)
    _check_finite(scores, score)
    return LabelingsConfusion(scores, *linear_sum_assignment(scores, maximize=True))


def _check_finite(scores: NDArray[np.float64], score: Any) -> None:
    bad = scores[~np.isfinite(scores)]
    if len(bad):
        raise ValueError(
            f"score must return finite numbers, got {bad[0]} from {score!r}. "
            "Return the lowest score for labels that cannot be compared."
        )


def _nmi(true: NDArray[np.int64], pred: NDArray[np.int64]) -> float:
    return normalized_information(tabulate(true, pred, row_weights(None, true)))


_SCORES: dict[str, Callable[[Any, Any], float]] = {
    "nmi": _nmi,
    "ami": adjusted_mutual_info_score,
    "ari": adjusted_rand_score,
    "accuracy": unsupervised_accuracy,
}
