"""The same clusters under other numbers."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from polymeans._rows import is_dask
from polymeans._validation import check_choice
from polymeans.factorization.operator import FastOperator

ORDERS = ("size",)


def relabel(model: Any, label_order: Any = "size") -> Any:
    """A copy of a fitted model whose clusters are numbered in another order.

    **Idea.** Numbers of clusters depend on the seed. In the order of size, cluster 0 is the
    largest in every fit, which makes tables and figures easier to compare. Centroids, labels and
    everything that belongs to a cluster are put into the new order together, so that ``predict``
    gives the new numbers.

    **Use when** labels are read by people. **Do not use** in the belief that equal numbers mean
    equal clusters: two fits may have different clusters of similar size.

    **Cost.** A copy of the fitted vectors and labels.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted; one of the estimators of this package, or a Pipeline that ends with one.
    label_order : "size" or sequence of int, default="size"
        "size": the cluster with most rows of the fit comes first, the lower old number among
        equals. With :class:`KhatriRaoKMeans` and the grids of :mod:`polymeans.deep` members of
        each set are ordered by their rows, with :class:`NonRedundantKMeans` clusters of each view.
        A sequence: the old number of each new cluster (for these a list of sequences, one for
        each set or view).

    Returns
    -------
    model : estimator or Pipeline
        A new one; the given one is not changed. A new Pipeline has the fitted steps of the given
        one, and a new last step. Rows that are equally far from two centroids may change cluster:
        ties go to the lower number.

    See Also
    --------
    assign : Labels beside the columns of a frame.
    polymeans.inspection.plot_matched_centroids : Centroids of two models beside each other.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans, relabel
    >>> X = np.array([[0.0], [9.0], [9.5], [10.0]])
    >>> model = relabel(KMeans(2, random_state=0).fit(X))
    >>> model.labels_, model.predict([[0.0]])
    (array([1, 0, 0, 0], dtype=int32), array([1], dtype=int32))
    """
    check_is_fitted(model)
    if isinstance(model, Pipeline):
        made = copy.copy(model)
        name, last = model.steps[-1]
        made.steps = [*model.steps[:-1], (name, relabel(last, label_order))]
        return made
    labels = getattr(model, "labels_", None)
    if not hasattr(model, "_predict") or labels is None:
        raise TypeError(
            "model must be a fitted clustering of polymeans, or a Pipeline that ends with one, got "
            f"{type(model).__name__}."
        )
    if isinstance(label_order, str):
        check_choice("label_order", label_order, ORDERS)
    made = copy.copy(model)
    for name in ("labels_", "protolabels_", "labels_per_view_"):
        if is_dask(getattr(made, name, None)):  # of a fit to a Dask collection
            setattr(made, name, getattr(made, name).compute())
    for attribute, change in _CHANGES:
        if hasattr(made, attribute):
            return change(made, label_order)
    raise TypeError(
        f"{type(model).__name__} has no centroids that could be numbered anew. Pass a fitted "
        "estimator of polymeans."
    )


# --- orders --------------------------------------------------------------------------------------


def _order(label_order: Any, labels: NDArray[Any], k: int) -> NDArray[np.int64]:
    """The old number of each new cluster."""
    if isinstance(label_order, str):
        return np.argsort(-np.bincount(labels, minlength=k), kind="stable")
    order = np.asarray(label_order)
    if order.shape != (k,) or not np.array_equal(np.sort(order), np.arange(k)):
        raise ValueError(
            f"label_order must be 'size' or have each number from 0 to {k - 1} once, got "
            f"{label_order!r}."
        )
    return order.astype(np.int64)


def _orders(label_order: Any, labels: NDArray[Any], sizes: Any) -> list[NDArray[np.int64]]:
    """The same for each set or view, whose labels are columns."""
    if isinstance(label_order, str):
        return [_order(label_order, labels[:, s], k) for s, k in enumerate(sizes)]
    if len(label_order) != len(sizes):
        raise ValueError(
            f"label_order must be 'size' or have a sequence for each of {len(sizes)} sets or "
            f"views, got {len(label_order)}."
        )
    return [_order(part, labels[:, s], k) for s, (part, k) in enumerate(zip(label_order, sizes))]


def _renamed(labels: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    new = np.empty(len(order), dtype=labels.dtype)
    new[order] = np.arange(len(order))
    return new[labels]


def _permute(model: Any, order: NDArray[np.int64], *names: str) -> None:
    """Put attributes that have an entry for each cluster into the new order."""
    for name in names:
        value = vars(model).get(name)
        if value is not None:
            setattr(model, name, value[order])


# --- estimators ----------------------------------------------------------------------------------


def _plain(model: Any, label_order: Any) -> Any:
    order = _order(label_order, model.labels_, len(model.cluster_centers_))
    names = ("cluster_centers_", "cluster_weights_", "_seen_means", "_given", "sparse_centroids_")
    _permute(model, order, *names)
    if hasattr(model, "sparse_centroids_"):
        model.operator_ = FastOperator([sp.csr_array(model.sparse_centroids_)])
    model.labels_ = _renamed(model.labels_, order)
    return model


def _factored(model: Any, label_order: Any) -> Any:
    order = _order(label_order, model.labels_, len(model.cluster_centers_))
    first, *others = model.factors_
    model.factors_ = [type(first)(first[order]), *others]
    model.operator_ = FastOperator(model.factors_)
    _permute(model, order, "_means", "_known_table", "_offsets")
    model.labels_ = _renamed(model.labels_, order)
    return model


def _learned(model: Any, label_order: Any) -> Any:
    order = _order(label_order, model.labels_, len(model._offsets))
    _permute(model, order, "cluster_centers_", "centroids_in_space_", "_offsets")
    model._slopes = np.ascontiguousarray(model._slopes[:, order])
    model.labels_ = _renamed(model.labels_, order)
    return model


def _grid(model: Any, label_order: Any) -> Any:
    sizes = [len(part) for part in model.protocentroids_]
    orders = _orders(label_order, model.protolabels_, sizes)
    old = np.arange(int(np.prod(sizes))).reshape(sizes)[np.ix_(*orders)].ravel()
    model.protocentroids_ = [part[order] for part, order in zip(model.protocentroids_, orders)]
    columns = [_renamed(part, order) for part, order in zip(model.protolabels_.T, orders)]
    model.protolabels_ = np.column_stack(columns).astype(model.protolabels_.dtype)
    _permute(model, old, "cluster_weights_")
    if "_seen_means" in vars(model):
        _permute_memory(model, orders, old)
    model.labels_ = _renamed(model.labels_, old)
    return model


def _permute_memory(model: Any, orders: list[NDArray[np.int64]], old: NDArray[np.int64]) -> None:
    """What ``partial_fit`` remembers: means of each protocentroid for sums, else of each cell."""
    edges = np.cumsum([0, *(len(order) for order in orders)])[:-1]
    stacked = np.concatenate([edge + order for edge, order in zip(edges, orders)])
    model._seen_means = model._seen_means[stacked if model._by_set else old]
    model._given = model._given[old]


def _views(model: Any, label_order: Any) -> Any:
    sizes = model.n_clusters_
    orders = _orders(label_order, model.labels_per_view_, sizes)
    parts = list(model._protocentroids)
    for s, order in enumerate(orders):
        parts[s] = parts[s][order]
    model._protocentroids = parts
    model.centroids_per_view_ = [
        part[order] for part, order in zip(model.centroids_per_view_, orders)
    ]
    if not orders:
        return model
    columns = [_renamed(part, order) for part, order in zip(model.labels_per_view_.T, orders)]
    model.labels_per_view_ = np.column_stack(columns).astype(model.labels_per_view_.dtype)
    model.labels_ = np.ascontiguousarray(model.labels_per_view_[:, model.main_view_])
    return model


def _latent(model: Any, label_order: Any) -> Any:
    """The network stays as it is; centroids, or members of sets, change places."""
    k = model.n_clusters_
    if hasattr(model, "protocentroids_"):
        sizes = [len(part) for part in model.protocentroids_]
        orders = _orders(label_order, model.protolabels_, sizes)
    else:
        sizes, orders = [k], [_order(label_order, model.labels_, k)]
    old = np.arange(k).reshape(sizes)[np.ix_(*orders)].ravel()
    model._codebook = model._codebook.reordered(orders)
    model.labels_ = _renamed(model.labels_, old)
    model.start_labels_ = _renamed(model.start_labels_, old)
    for name, value in model._of_codebook(model._codebook, model.labels_).items():
        setattr(model, name, value)
    return model


#: Attributes that tell estimators apart, in this order, and what numbers their clusters anew.
_CHANGES: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    ("n_latent_", _latent),
    ("centroids_per_view_", _views),
    ("protocentroids_", _grid),
    ("factors_", _factored),
    ("centroids_in_space_", _learned),
    ("cluster_centers_", _plain),
)
