"""Agreement of clusters with known classes.

scikit-learn has the measures corrected for chance (:func:`sklearn.metrics.adjusted_rand_score`,
:func:`sklearn.metrics.adjusted_mutual_info_score`); this module has others that the literature on
clustering reports.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from polymeans.metrics._contingency import contingency


def unsupervised_accuracy(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of rows labeled correctly when each cluster is matched with at most one class.

    **Idea.** Match clusters with classes, one for one, so that as many rows as possible are in the
    cluster of their class. The best matching is an assignment problem, solved exactly (the
    Hungarian method). Rows of clusters or classes without a partner count as wrong.

    **Use when** clusters are meant to be the classes, one for one. **Do not use when** there are
    many more clusters than classes: rows of surplus clusters count as errors even if these are
    pure; see :func:`purity`. It is not corrected for chance: random labels score above zero.
    **Cost:** sorting the labels, and at most the cube of the number of clusters or classes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes, any values that can be sorted: integers, strings.
    y_pred : array-like of shape (n_samples,)
        Clusters found, such as ``labels_``. They need not have the values of the classes.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts. None counts all rows alike.

    Returns
    -------
    accuracy : float
        Between 0 and 1; 1 if clusters and classes are the same up to their names.

    See Also
    --------
    purity : Several clusters may share a class.
    sklearn.metrics.adjusted_rand_score : Corrected for chance.

    Examples
    --------
    >>> from polymeans.metrics import unsupervised_accuracy
    >>> unsupervised_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 0])
    1.0
    >>> unsupervised_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 2])
    0.75
    """
    table = contingency(y_true, y_pred, sample_weight)
    dense = table.toarray()
    matched = dense[linear_sum_assignment(dense, maximize=True)]
    # Rounding of fractional weights could make the share larger than one.
    return min(1.0, float(matched.sum() / table.sum()))


def purity(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of rows that belong to the most frequent class of their cluster.

    **Idea.** Assign each cluster to the class that most of its rows have; purity is the share of
    rows in that class, ``1/n · Σ_clusters max_classes count`` [1]_.

    **Use when** there are more clusters than classes, and several may share one. **Do not use**
    to compare different numbers of clusters: splitting clusters never lowers purity, and one
    cluster for each row has purity 1. **Cost:** sorting the labels.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes, any values that can be sorted: integers, strings.
    y_pred : array-like of shape (n_samples,)
        Clusters found, such as ``labels_``.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts. None counts all rows alike.

    Returns
    -------
    purity : float
        Above 0 and at most 1, which is best; never below :func:`unsupervised_accuracy`.

    See Also
    --------
    entropy : Depends on all classes in a cluster, not only on the most frequent one.
    unsupervised_accuracy : Allows one cluster for each class.

    References
    ----------
    .. [1] Y. Zhao and G. Karypis, "Criterion functions for document clustering", technical report
       01-40, University of Minnesota, 2001.

    Examples
    --------
    >>> from polymeans.metrics import purity
    >>> purity(["cat", "cat", "dog", "dog"], [1, 1, 0, 2])
    1.0
    >>> purity(["cat", "cat", "dog", "dog"], [0, 0, 0, 1])
    0.75
    """
    table = contingency(y_true, y_pred, sample_weight)
    largest = table.max(axis=0).toarray()
    return min(1.0, float(largest.sum() / table.sum()))


def entropy(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Mean disorder of the classes inside a cluster, from 0 (best) to 1.

    **Idea.** The entropy of the classes in a cluster measures how mixed it is. Average it over
    clusters by their size, and divide by the largest possible value, the logarithm of the number
    of classes q [1]_: ``-Σ_c n_c/n · 1/log q · Σ_i p_ci log p_ci``, where ``p_ci`` is the share of
    class i in cluster c. With a single class it is 0.

    **Use when** the distribution of errors matters: two classes, half and half, are better than
    one half and small parts of many. **Do not use** to compare different numbers of clusters:
    splitting never raises it, and one cluster for each row has entropy 0. **Cost:** sorting the
    labels.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes, any values that can be sorted: integers, strings.
    y_pred : array-like of shape (n_samples,)
        Clusters found, such as ``labels_``.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts. None counts all rows alike.

    Returns
    -------
    entropy : float
        Between 0 (every cluster has a single class) and 1 (all classes equally often in each).

    See Also
    --------
    purity : Depends only on the most frequent class of each cluster; larger is better.
    sklearn.metrics.homogeneity_score : Divides by the entropy of the classes instead of log q.

    References
    ----------
    .. [1] Y. Zhao and G. Karypis, "Criterion functions for document clustering", technical report
       01-40, University of Minnesota, 2001.

    Examples
    --------
    >>> from polymeans.metrics import entropy
    >>> entropy(["cat", "cat", "dog", "dog"], [1, 1, 0, 2])
    0.0
    >>> entropy(["cat", "dog", "cat", "dog"], [0, 0, 1, 1])
    1.0
    """
    table = contingency(y_true, y_pred, sample_weight)
    n_classes = np.count_nonzero(table.sum(axis=1))
    if n_classes == 1:
        return 0.0
    sizes = table.sum(axis=0)
    cells = table.tocoo()
    # A pure cluster has a share of exactly one, so its logarithm is exactly zero.
    disorder = cells.data @ np.log(sizes[cells.col] / cells.data)
    return min(1.0, float(disorder / (sizes.sum() * np.log(n_classes))))
