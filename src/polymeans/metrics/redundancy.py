"""Redundancy of several labelings of the same rows.

Several clusterings of the same rows (views) are useful only if they differ, that is, if they share
little information.
"""

from functools import reduce
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import entropy as shannon_entropy

from polymeans.metrics._contingency import (
    check_same_rows,
    code_columns,
    contingency,
    normalized_information,
    refine,
    row_weights,
    tabulate,
    variation,
)


def variation_of_information(
    labels_a: ArrayLike, labels_b: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Distance of two labelings: the sum of their conditional entropies.

    **Idea.** If one label of a row is known, the conditional entropy of the other remains. The sum
    in both directions, ``H(a|b) + H(b|a)``, is a metric on partitions [1]_.

    **Use when** two labelings are compared, neither of which is a reference. **Do not use** to
    compare values across different numbers of labels: it grows with them, up to the logarithm of
    the number of rows; see :func:`mutual_information_matrix`. **Cost:** sorting the labels.

    Parameters
    ----------
    labels_a : array-like of shape (n_samples,)
        Any values that can be sorted: integers, strings.
    labels_b : array-like of shape (n_samples,)
        Labels of the same rows. They need not have the values of the others.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts. None counts all rows alike.

    Returns
    -------
    distance : float
        In nats. 0 if the labelings are the same up to names, ``H(a) + H(b)`` if they are
        independent.

    See Also
    --------
    average_variation_of_information : Of all pairs among several labelings.

    References
    ----------
    .. [1] M. Meilă, "Comparing clusterings: an information based distance", Journal of
       Multivariate Analysis 98(5), 2007.

    Examples
    --------
    >>> from polymeans.metrics import variation_of_information
    >>> variation_of_information(["cat", "cat", "dog", "dog"], [1, 1, 0, 0])
    0.0
    >>> round(variation_of_information([0, 0, 1, 1], [0, 1, 0, 1]), 4)  # 2 log 2
    1.3863
    """
    return variation(contingency(labels_a, labels_b, sample_weight, ("labels_a", "labels_b")))


def average_variation_of_information(
    labels: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Mean distance between the labelings of the same rows.

    **Idea.** The mean of :func:`variation_of_information` over all pairs of columns. Two
    independent labelings of three equally frequent labels each have ``2 log 3 = 2.197``.

    **Use when** you compare with the literature on several clusterings, which reports it.
    **Do not use** as the only measure: random labels have a large distance, too, and it grows with
    the number of labels. **Cost:** sorting the labels once for each pair of columns.

    Parameters
    ----------
    labels : array-like of shape (n_samples, n_labelings)
        One column for each labeling, at least two.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts. None counts all rows alike.

    Returns
    -------
    distance : float
        In nats; 0 if all labelings are the same up to names.

    See Also
    --------
    view_redundancy : Between 0 and 1, from the joint distribution of all columns.

    Examples
    --------
    >>> from polymeans.metrics import average_variation_of_information
    >>> labels = [[color, shape] for color in "rgb" for shape in ("disk", "ring", "star")]
    >>> round(average_variation_of_information(labels), 3)
    2.197
    """
    coded = code_columns("labels", labels)
    if coded.shape[1] < 2:
        raise ValueError(
            f"labels must have at least two columns, got {coded.shape[1]}. "
            "Pass one column for each labeling; a single one has no distance to others."
        )
    weights = row_weights(sample_weight, coded)
    pairs = combinations(coded.T, 2)
    return float(np.mean([variation(tabulate(a, b, weights)) for a, b in pairs]))


def mutual_information_matrix(
    labels: ArrayLike,
    other: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Share of information each pair of labelings has in common.

    **Idea.** Normalized mutual information, ``2 I(a, b) / (H(a) + H(b))``, of every column with
    every column, as :func:`sklearn.metrics.normalized_mutual_info_score` defines it.

    **Use when** you want to see which views repeat each other, or which found labeling is which
    known one. **Do not use** with few rows for each label: it is not corrected for chance, and
    independent labels then score well above zero. **Cost:** sorting the labels once for each pair
    of columns.

    Parameters
    ----------
    labels : array-like of shape (n_samples,) or (n_samples, n_labelings)
        One column for each labeling.
    other : array-like of shape (n_samples,) or (n_samples, n_others), default=None
        Labelings of the same rows to compare with. None compares ``labels`` with themselves.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts. None counts all rows alike.

    Returns
    -------
    matrix : ndarray of shape (n_labelings, n_others)
        Between 0 (independent) and 1 (the same up to names). Two columns that both have a single
        label score 1; one with a single label and one with several score 0. Without ``other`` it is
        symmetric with ones on the diagonal.

    See Also
    --------
    labelings_confusion : Also matches found labelings with known ones.
    view_redundancy : One number for all columns.

    Examples
    --------
    >>> from polymeans.metrics import mutual_information_matrix
    >>> labels = [["red", 0, 5], ["red", 1, 5], ["blue", 0, 7], ["blue", 1, 7]]
    >>> mutual_information_matrix(labels)
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """
    coded = code_columns("labels", labels)
    weights = row_weights(sample_weight, coded)
    if other is None:
        return _symmetric_information(coded, weights)
    others = code_columns("other", other)
    check_same_rows(("labels", "other"), coded, others)
    return np.array(
        [[normalized_information(tabulate(a, b, weights)) for b in others.T] for a in coded.T]
    )


def _symmetric_information(
    coded: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    matrix = np.eye(coded.shape[1])
    for i, j in combinations(range(coded.shape[1]), 2):
        table = tabulate(coded[:, i], coded[:, j], weights)
        matrix[i, j] = matrix[j, i] = normalized_information(table)
    return matrix


def view_redundancy(labels: ArrayLike, *, correct_bias: bool = True) -> float:
    """Share of the information in several labelings that is redundant.

    **Idea.** Independent labelings have joint entropy equal to the sum of their entropies; the
    difference is their total correlation [1]_. As a share, ``1 - H(joint) / Σ_j H_j``. Entropies
    estimated from few rows are too small, most of all that of the many joint labels, which looks
    like redundancy. The correction of Miller and Madow adds ``(labels found - 1) / 2n`` to each
    [2]_.

    **Use when** you need one number for the redundancy of several views. **Do not use when** most
    joint labels occur only once or twice: the correction is not enough then; compare pairs of views
    with :func:`mutual_information_matrix`. **Cost:** sorting the labels once for each column.

    Parameters
    ----------
    labels : array-like of shape (n_samples,) or (n_samples, n_labelings)
        One column for each labeling.
    correct_bias : bool, default=True
        Whether to correct the entropies for the number of rows. False takes the shares of the
        labels as they are.

    Returns
    -------
    redundancy : float
        0 if the labelings are independent, ``1 - 1/n_labelings`` if all are the same up to names,
        and never outside: a correction that is too large counts as independence. 0 for a single
        labeling, and for columns of one label only.

    See Also
    --------
    mutual_information_matrix : Which labelings repeat each other.

    References
    ----------
    .. [1] S. Watanabe, "Information theoretical analysis of multivariate correlation", IBM Journal
       of Research and Development 4(1), 1960.
    .. [2] G. A. Miller, "Note on the bias of information estimates", in: Information Theory in
       Psychology, 1955.

    Examples
    --------
    >>> from polymeans.metrics import view_redundancy
    >>> view_redundancy([[0, 0], [0, 1], [1, 0], [1, 1]], correct_bias=False)
    0.0
    >>> view_redundancy([["a", 0], ["a", 0], ["b", 1], ["b", 1]])
    0.5
    """
    coded = code_columns("labels", labels)
    alone = sum(_entropy(column, correct_bias) for column in coded.T)
    if alone == 0:
        return 0.0
    together = _entropy(reduce(refine, coded.T), correct_bias)
    share = 1 - together / alone
    # Corrections and rounding can move the share out of its bounds.
    return float(np.clip(share, 0, 1 - 1 / coded.shape[1]))


def _entropy(coded: NDArray[np.int64], correct_bias: bool) -> float:
    counts = np.bincount(coded)
    correction = (len(counts) - 1) / (2 * len(coded)) if correct_bias else 0.0
    return float(shannon_entropy(counts)) + correction
