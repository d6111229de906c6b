"""Agreement of several labelings with known ones on which pairs of rows are together."""

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymeans.metrics._contingency import code_both_tables, refine

#: Columns of both sides at most: all sets of them are visited, up to 2^16. Two further columns
#: would multiply the time, half a minute for ten thousand distinct rows at 16, by four.
_MOST_COLUMNS = 16


class PairScores(NamedTuple):
    """Agreement on which pairs of rows are together; what :func:`pair_scores` returns.

    Parameters
    ----------
    precision : float
        Share of the pairs together in a found labeling that are together in a known one.
    recall : float
        Share of the pairs together in a known labeling that are together in a found one.
    f1 : float
        Harmonic mean of both.

    See Also
    --------
    pair_scores : Makes it.

    Examples
    --------
    >>> from polymeans.metrics import pair_scores
    >>> scores = pair_scores([0, 0, 1, 1], [0, 0, 0, 1])
    >>> round(scores.precision, 2), scores.recall, scores.f1
    (0.33, 0.5, 0.4)
    """

    precision: float
    recall: float
    f1: float


def pair_scores(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, drop_constant: bool = True
) -> PairScores:
    """Precision, recall and F1 of the pairs of rows that any of several labelings puts together.

    **Idea.** A pair of rows is positive if any known labeling puts it together, and predicted
    positive if any found one does [1]_. Pairs are counted, not listed: for a set of columns, pairs
    that agree in all of them are counted, and alternating sums over sets of columns
    (inclusion-exclusion) give the pairs that agree in any column. All counts are whole numbers, so
    the scores are exact.

    **Use when** several clusterings of the same rows were found and several are known, maybe not
    equally many. **Do not use** to learn which labeling was found and which was not, see
    :func:`labelings_confusion`; nor with many coarse labelings, because then nearly all pairs are
    together in some of them and scores are high by chance. **Cost:** sorting the labels, and for
    each of ``2^(columns of both)`` sets of columns a sort of the different rows of labels; sets
    that agree in no pair are left out with all that contain them. A million rows of three and
    three labelings take about a second, ten thousand different rows of eight and eight half a
    minute.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,) or (n_samples, n_true)
        Known labels, one column for each labeling; any values that can be sorted.
    labels_pred : array-like of shape (n_samples,) or (n_samples, n_pred)
        Labels found, one column for each labeling. Together at most 16 columns.
    drop_constant : bool, default=True
        Whether to leave out columns that have a single label, as noise spaces have. Such a column
        puts all rows together and would make every pair positive. If all columns of one side are
        constant, one of them is kept.

    Returns
    -------
    scores : PairScores
        ``precision``, ``recall`` and ``f1``, between 0 and 1. If neither side has a pair together,
        all are 1. If only one side has, all are 0.

    See Also
    --------
    pair_f1_score : Only F1, a number.
    labelings_confusion : Compares labeling with labeling.
    sklearn.metrics.cluster.pair_confusion_matrix : Counts of pairs for one labeling each.

    References
    ----------
    .. [1] E. Achtert, S. Goldhofer, H.-P. Kriegel, E. Schubert and A. Zimek, "Evaluation of
       clusterings: metrics and visual support", International Conference on Data Engineering,
       2012.

    Examples
    --------
    Two labelings are known, only the first was found:

    >>> from polymeans.metrics import pair_scores
    >>> known = [["red", "disk"], ["red", "ring"], ["blue", "disk"], ["blue", "ring"]]
    >>> pair_scores(known, [0, 0, 1, 1])
    PairScores(precision=1.0, recall=0.5, f1=0.66...)
    """
    true, pred = code_both_tables(labels_true, labels_pred)
    if drop_constant:
        true, pred = _drop_constant(true), _drop_constant(pred)
    _check_n_columns(true.shape[1], pred.shape[1])
    n_true, n_pred, n_both = _count_pairs(true, pred)
    if not n_true and not n_pred:
        return PairScores(1.0, 1.0, 1.0)
    return PairScores(
        precision=n_both / n_pred if n_pred else 0.0,
        recall=n_both / n_true if n_true else 0.0,
        f1=2 * n_both / (n_true + n_pred),
    )


def pair_f1_score(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, drop_constant: bool = True
) -> float:
    """F1 of the pairs of rows that any of several labelings puts together.

    **Idea.** The last of :func:`pair_scores`, as a number: ``2 · pairs together in both / (pairs
    together in the known + in the found)``.

    **Use when** you need a single number. **Do not use** alone to judge a method: precision and
    recall show whether it puts too many or too few rows together.
    **Cost:** that of :func:`pair_scores`.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,) or (n_samples, n_true)
        Known labels, one column for each labeling; any values that can be sorted.
    labels_pred : array-like of shape (n_samples,) or (n_samples, n_pred)
        Labels found, one column for each labeling.
    drop_constant : bool, default=True
        Whether to leave out columns that have a single label; see :func:`pair_scores`.

    Returns
    -------
    f1 : float
        Between 0 and 1.

    See Also
    --------
    pair_scores : Also precision and recall.

    Examples
    --------
    >>> from polymeans.metrics import pair_f1_score
    >>> pair_f1_score([[0, 0], [0, 1], [1, 0]], [["x", 5], ["y", 5], ["x", 6]])
    1.0
    """
    return pair_scores(labels_true, labels_pred, drop_constant=drop_constant).f1


def _drop_constant(coded: NDArray[np.int64]) -> NDArray[np.int64]:
    varied = coded.any(axis=0)
    # All constant columns are equal, so one of them is enough.
    return coded[:, varied] if varied.any() else coded[:, :1]


def _check_n_columns(n_true: int, n_pred: int) -> None:
    if n_true + n_pred > _MOST_COLUMNS:
        raise ValueError(
            f"labels_true and labels_pred must have at most {_MOST_COLUMNS} columns together, got "
            f"{n_true} and {n_pred}: the work doubles with each. Pass fewer labelings, or compare "
            "them one by one with labelings_confusion."
        )


def _count_pairs(true: NDArray[np.int64], pred: NDArray[np.int64]) -> tuple[int, int, int]:
    """Pairs together in some true column, in some predicted one, and in some of each."""
    coded = np.column_stack([true, pred])
    # Rows with equal labels in all columns are joined, with their number as weight.
    joint = reduce(refine, coded.T)
    _, places, counts = np.unique(joint, return_index=True, return_counts=True)
    n_true = n_pred = n_both = 0
    for columns, n_pairs in _agreeing_sets(coded[places], counts):
        from_true = sum(column < true.shape[1] for column in columns)
        signed = n_pairs if len(columns) % 2 else -n_pairs
        if from_true == len(columns):
            n_true += signed
        elif from_true == 0:
            n_pred += signed
        else:
            # The product of two alternating sums has the other sign.
            n_both -= signed
    return n_true, n_pred, n_both


def _agreeing_sets(
    coded: NDArray[np.int64],
    counts: NDArray[np.int64],
    joint: NDArray[np.int64] | None = None,
    chosen: tuple[int, ...] = (),
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Sets of columns that contain ``chosen``, with the pairs of rows agreeing in all of them."""
    for column in range(chosen[-1] + 1 if chosen else 0, coded.shape[1]):
        labels = coded[:, column]
        labels = labels if joint is None else refine(joint, labels)
        # Floats hold counts of rows exactly, but not the squares of large ones.
        sizes = np.bincount(labels, weights=counts).astype(np.int64)
        n_pairs = int((sizes * (sizes - 1) // 2).sum())
        if not n_pairs:
            continue
        yield (*chosen, column), n_pairs
        # A row that is alone stays alone when more labels must agree.
        paired = sizes[labels] > 1
        yield from _agreeing_sets(coded[paired], counts[paired], labels[paired], (*chosen, column))
