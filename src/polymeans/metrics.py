"""How well clusters agree with known classes, and how small a codebook is.

scikit-learn has the measures corrected for chance (:func:`sklearn.metrics.adjusted_rand_score`,
:func:`sklearn.metrics.adjusted_mutual_info_score`); here are those the literature on clustering
reports beside them.
"""

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import check_weights

__all__ = ["entropy", "parameter_ratio", "purity", "unsupervised_accuracy"]


def unsupervised_accuracy(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of rows that are right when each cluster is named after at most one class.

    **Idea.** Clusters have no names. Give them names, no two the same, so that as many rows as
    possible carry the name of their class; the best naming is an assignment problem, solved
    exactly (the Hungarian method). Rows of clusters or classes that remain without a partner
    count as wrong.

    **Use when** clusters are meant to be the classes, one for one. **Do not use when** there are
    many more clusters than classes: the surplus counts as error however clean it is; see
    :func:`purity`. It is not corrected for chance: random labels score above zero.
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
    purity : Lets several clusters share a class.
    sklearn.metrics.adjusted_rand_score : Corrected for chance.

    Examples
    --------
    >>> from polymeans.metrics import unsupervised_accuracy
    >>> unsupervised_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 0])
    1.0
    >>> unsupervised_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 2])
    0.75
    """
    table = _contingency(y_true, y_pred, sample_weight)
    dense = table.toarray()
    matched = dense[linear_sum_assignment(dense, maximize=True)]
    # Rounding of fractional weights must not carry a share above one.
    return min(1.0, float(matched.sum() / table.sum()))


def purity(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of rows that belong to the most frequent class of their cluster.

    **Idea.** Name each cluster after the class most of its rows have; purity is the share of rows
    that are named correctly, ``1/n · Σ_clusters max_classes count`` [1]_.

    **Use when** clusters outnumber classes and are judged by how clean they are. **Do not use**
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
    entropy : Looks at all classes in a cluster, not only at the most frequent one.
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
    table = _contingency(y_true, y_pred, sample_weight)
    largest = table.max(axis=0).toarray()
    return min(1.0, float(largest.sum() / table.sum()))


def entropy(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Mean disorder of the classes inside a cluster, from 0 (best) to 1.

    **Idea.** The entropy of the classes in a cluster says how mixed it is. Average it over
    clusters by their size, and divide by the largest possible value, the logarithm of the number
    of classes q [1]_: ``-Σ_c n_c/n · 1/log q · Σ_i p_ci log p_ci``, where ``p_ci`` is the share of
    class i in cluster c. With a single class there is nothing to mix, and it is 0.

    **Use when** it matters how a cluster errs: two classes half and half are better than one half
    and crumbs of many. **Do not use** to compare different numbers of clusters: splitting never
    raises it, and one cluster for each row has entropy 0. **Cost:** sorting the labels.

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
    purity : Looks only at the most frequent class of each cluster; larger is better.
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
    table = _contingency(y_true, y_pred, sample_weight)
    n_classes = np.count_nonzero(table.sum(axis=1))
    if n_classes == 1:
        return 0.0
    sizes = table.sum(axis=0)
    cells = table.tocoo()
    # A pure cluster has a share of exactly one, so its logarithm is exactly zero.
    disorder = cells.data @ np.log(sizes[cells.col] / cells.data)
    return min(1.0, float(disorder / (sizes.sum() * np.log(n_classes))))


def parameter_ratio(model: Any) -> float:
    """Numbers a fitted model's codebook stores, over those of free centroids.

    **Idea.** Free centroids are ``n_clusters · n_features`` numbers. A structured codebook writes
    the same number of centroids with fewer: two sets of 30 protocentroids make 900 centroids of
    60 rows, a ratio of 1/15.

    **Use when** you weigh what structure saves against what it costs in inertia. **Do not use**
    as a measure of memory: indices, labels and precision are not counted.

    Parameters
    ----------
    model : estimator
        A fitted clustering. It tells how many numbers its codebook has by ``n_parameters_``; if
        it has ``cluster_centers_`` and no ``n_parameters_``, its centroids are free. The number of
        clusters is ``n_clusters_``, else ``n_clusters``, else the rows of ``cluster_centers_``.

    Returns
    -------
    ratio : float
        1 for free centroids, less for a codebook that is smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.metrics import parameter_ratio
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> parameter_ratio(KMeans(4, random_state=0).fit(X))
    1.0
    """
    check_is_fitted(model)
    n_features = getattr(model, "n_features_in_", None)
    if n_features is None:
        raise TypeError(
            f"model must have n_features_in_, got {model!r}, which does not. "
            "Pass an estimator fitted on rows of features."
        )
    free = _n_clusters(model) * n_features
    n_parameters = getattr(model, "n_parameters_", None)
    if n_parameters is None:
        if not hasattr(model, "cluster_centers_"):
            raise TypeError(
                f"model must have n_parameters_ or cluster_centers_, got {model!r}, which has "
                "neither. Pass a clustering that has centroids."
            )
        n_parameters = free
    return float(n_parameters / free)


def _n_clusters(model: Any) -> int:
    # Centroids come last: a model may build them, all n_clusters of them, when it is asked.
    for name in ("n_clusters_", "n_clusters"):
        value = getattr(model, name, None)
        if isinstance(value, Integral):
            return int(value)
    centers = getattr(model, "cluster_centers_", None)
    if centers is None:
        raise TypeError(
            f"model must have n_clusters_, an integer n_clusters or cluster_centers_, got "
            f"{model!r}, which has none of them. Pass a clustering that has centroids."
        )
    return int(centers.shape[0])


def _contingency(y_true: Any, y_pred: Any, sample_weight: Any) -> sp.csc_array:
    """Weight of the rows of each class (table row) in each cluster (table column).

    Only cells that have weight are stored, so the table never has more of them than there are
    rows. Without weights it holds counts, which makes perfect scores exact.
    """
    classes, clusters = _codes("y_true", y_true), _codes("y_pred", y_pred)
    if len(classes) != len(clusters):
        raise ValueError(
            f"y_true and y_pred must have one label for each row, got {len(classes)} and "
            f"{len(clusters)} labels. Pass labels of the same rows in the same order."
        )
    if sample_weight is None:
        weights = np.ones(len(classes))
    else:
        weights = check_weights(sample_weight, classes)
    shape = (classes.max() + 1, clusters.max() + 1)
    table = sp.coo_array((weights, (classes, clusters)), shape=shape).tocsc()
    table.eliminate_zeros()
    return table


def _codes(name: str, labels: Any) -> NDArray[np.int64]:
    """Labels replaced by their places among the sorted different ones."""
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(
            f"{name} must have one dimension, got shape {labels.shape}. "
            "Pass one label for each row; of several columns of labels, pass one at a time."
        )
    if not len(labels):
        raise ValueError(f"{name} must have at least one label, got none. Pass one for each row.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(
            f"{name} must not have missing labels, got {np.isnan(labels).sum()} NaN. "
            "Drop these rows from both label arrays or give them a label of their own."
        )
    try:
        return np.unique(labels, return_inverse=True)[1]
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        raise TypeError(
            f"{name} must have labels that can be sorted, got a mixture of {', '.join(kinds)}. "
            "Convert all of them to strings or to integers."
        ) from error
