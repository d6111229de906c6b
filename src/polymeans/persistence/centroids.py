"""What fitted estimators with centroids consist of."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from polymeans.persistence.errors import ModelFileError
from polymeans.persistence.schema import (
    Agreed,
    Array,
    Choice,
    Flag,
    Later,
    ListOf,
    Matrix,
    Maybe,
    Number,
    Parts,
    Plain,
    Records,
    Texts,
    Whole,
)
from polymeans.persistence.structure import Structure

HISTORY = Records([("inertia", "f8"), ("n_moved", "i8"), ("shift", "f8"), ("seconds", "f8")])

#: What one row of the fit has one of: not needed to predict.
ROWS = ("labels_", "protolabels_", "labels_per_view_")

#: Numbers that a kernel of scikit-learn takes.
KERNEL_PARAMS = ("gamma", "coef0", "degree")

_FEATURES = {
    "n_features_in_": Whole(1, is_length="d"),
    "feature_names_in_": Texts("d"),
}
_FIT = {
    "inertia_": Number(),
    "n_iter_": Whole(),
    "n_parameters_": Whole(),
    "history_": HISTORY,
}
_BATCHES = {
    "cluster_weights_": Array("f8", ("k",)),
    "n_steps_": Whole(),
    "_seen_means": Array("f8", ("means", "d")),
    "_given": Array("?", ("k",)),
}
_ALWAYS_MISSING = ("feature_names_in_", *ROWS, "history_", "n_iter_")
_NO_BATCHES = (*_ALWAYS_MISSING, "cluster_weights_", "_seen_means", "_given", "n_steps_")


def _check_batches(state: dict[str, Any], agreed: Agreed, n_vectors: int) -> None:
    """Means of batches are those of clusters or of the vectors they are made of."""
    if "_seen_means" in state or "_given" in state:
        if not {"_seen_means", "_given", "cluster_weights_"} <= state.keys():
            raise ModelFileError("What partial_fit remembers is not complete.")
        agreed.length("means", n_vectors, "_seen_means")


# --- KMeans ------------------------------------------------------------------------------------


def _finish_kmeans(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    _check_batches(state, agreed, agreed.lengths["k"])


KMEANS = Structure(
    {
        **_FEATURES,
        "_fixed_metric": Choice(("euclidean", "cosine")),
        "cluster_centers_": Array("rows", ("k", "d")),
        "labels_": Array("i4", ("n",), below="k"),
        **_FIT,
        **_BATCHES,
    },
    _NO_BATCHES,
    _finish_kmeans,
)


# --- KhatriRaoKMeans ---------------------------------------------------------------------------


def _finish_khatri_rao(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    sets = state["protocentroids_"]
    sizes = [len(part) for part in sets]
    _check_sets(sizes)
    agreed.length("k", math.prod(sizes), "Combinations of protocentroids_")
    by_set = len(sets) > 1 and state["_fixed_aggregator"] == "sum"
    _check_batches(state, agreed, sum(sizes) if by_set else math.prod(sizes))


def _check_sets(sizes: list[int]) -> None:
    if not sizes or 0 in sizes or math.prod(sizes) >= 2**31:
        raise ModelFileError("Sets of centroids are missing, empty, or make too many combinations.")


KHATRI_RAO = Structure(
    {
        **_FEATURES,
        "_fixed_aggregator": Choice(("sum", "product")),
        "protocentroids_": ListOf(Array("rows", ("#", "d")), length="p"),
        "n_clusters_": Whole(1, is_length="k"),
        "labels_": Array("i4", ("n",), below="k"),
        "protolabels_": Array("i4", ("n", "p")),
        "compression_": Number(),
        "n_passes_": Number(),
        **_FIT,
        **_BATCHES,
    },
    (*_NO_BATCHES, "n_passes_"),
    _finish_khatri_rao,
)


# --- QuickKMeans and L1KMeans ------------------------------------------------------------------


def _finish_quick(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    factors = state["factors_"]
    if not factors:
        raise ModelFileError("factors_ is empty.")
    if factors[0].shape[0] != agreed.lengths["k"] or factors[-1].shape[1] != agreed.lengths["d"]:
        raise ModelFileError("factors_ do not have the shape of the centroids.")
    for left, right in pairwise(factors):
        if left.shape[1] != right.shape[0]:
            raise ModelFileError("factors_ cannot be multiplied with each other.")


QUICK = Structure(
    {
        **_FEATURES,
        "factors_": ListOf(Matrix(("#rows", "#columns"))),
        "offset_": Array("rows", ("d",)),
        "_offsets": Array("rows", ("k",), finite=False),
        "_means": Maybe(Array("rows", ("k", "d"))),
        "assignment_": Choice(("factored", "dense")),
        "labels_": Array("i4", ("n",), below="k"),
        "kmeans_inertia_": Number(),
        "n_nonzeros_": Whole(),
        "compression_": Number(),
        "flops_per_row_": Whole(),
        **_FIT,
    },
    _ALWAYS_MISSING,
    _finish_quick,
)


def _derived_centers(state: dict[str, Any]) -> Any:
    """Centroids of an L1KMeans from its sparse part, as the fit computes them."""
    sparse, offset = state["sparse_centroids_"].toarray(), state["offset_"]
    return (sparse + offset).astype(sparse.dtype) if offset.any() else sparse


def _is_affordable(state: dict[str, Any]) -> bool:
    """Whether the dense centroids take a bounded multiple of what their parts take."""
    sparse, offset = state["sparse_centroids_"], state["offset_"]
    return math.prod(sparse.shape) <= 2**20 + 64 * (sparse.nnz + sparse.shape[0] + len(offset))


def _finish_l1(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    if "cluster_centers_" in state:
        return
    if not _is_affordable(state):
        raise ModelFileError("cluster_centers_ is missing.")
    state["cluster_centers_"] = _derived_centers(state)


def _shrink_l1(state: dict[str, Any]) -> dict[str, Any]:
    if _is_affordable(state):
        if np.array_equal(_derived_centers(state), state["cluster_centers_"]):
            return {name: part for name, part in state.items() if name != "cluster_centers_"}
    return state


L1 = Structure(
    {
        **_FEATURES,
        "cluster_centers_": Array("rows", ("k", "d")),
        "sparse_centroids_": Matrix(("k", "d")),
        "offset_": Array("rows", ("d",)),
        "radius_": Number(),
        "labels_": Array("i4", ("n",), below="k"),
        "kmeans_inertia_": Number(),
        "n_nonzeros_": Whole(),
        "compression_": Number(),
        **_FIT,
    },
    (*_ALWAYS_MISSING, "cluster_centers_"),
    _finish_l1,
    _shrink_l1,
)


# --- NonRedundantKMeans ------------------------------------------------------------------------


def _finish_views(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    sizes = [len(part) for part in state["_protocentroids"]]
    _check_sets(sizes)
    n_views, clusters = state["n_views_"], state["n_clusters_"]
    if n_views and list(clusters) != sizes:
        raise ModelFileError("n_clusters_ are not those of the views.")
    if sum(state["n_dims_"]) != state["rotation_"].shape[1]:
        raise ModelFileError("n_dims_ and rotation_ do not belong together.")
    if not state["main_view_"] < max(1, n_views):
        raise ModelFileError("main_view_ is none of the views.")
    if [len(part) for part in state["centroids_per_view_"]] != list(clusters):
        raise ModelFileError("centroids_per_view_ are not those of the views.")
    if state["whitening_"] is None:
        agreed.length("inside", agreed.lengths["d"], "_protocentroids")
    if "labels_per_view_" in state and "labels_" in state:
        labels, main = state["labels_per_view_"], state["main_view_"]
        if labels.size and (labels.min() < 0 or (labels.max(axis=0) >= clusters).any()):
            raise ModelFileError("labels_per_view_ has labels of no cluster.")
        expected = labels[:, main] if n_views else np.zeros_like(state["labels_"])
        if not np.array_equal(expected, state["labels_"]):
            raise ModelFileError("labels_ are not those of the main view.")


VIEWS = Structure(
    {
        **_FEATURES,
        "_protocentroids": ListOf(Array("float", ("#", "inside"))),
        "n_views_": Whole(is_length="v"),
        "n_clusters_": ListOf(Whole(1), as_tuple=True, length="v"),
        "main_view_": Whole(),
        "rotation_": Array("float", ("inside", "dims")),
        "n_dims_": ListOf(Whole(), as_tuple=True),
        "mean_": Array("float", ("d",)),
        "whitening_": Maybe(Array("float", ("d", "inside"))),
        "centroids_per_view_": ListOf(Array("float", ("#", "d")), length="v"),
        "explained_variance_ratio_": Array("f8", ("v",), finite=False),
        "labels_": Array("i4", ("n",)),
        "labels_per_view_": Array("i4", ("n", "v")),
        "_candidates": Plain(),
        **_FIT,
    },
    _ALWAYS_MISSING,
    _finish_views,
)


# --- TransformedKMeans -------------------------------------------------------------------------

_LINEAR_MAP = Parts(
    {
        "directions": Array("f8", ("d", "r0")),
        "offset": Array("f8", ("r0",)),
        "normalized": Flag(),
    }
)
_KERNEL_MAP = Parts(
    {
        "kernel": Plain(),
        "params": Plain(),
        "known": Maybe(Matrix(("known", "d"), or_dense=True)),
        "coefficients": Array("f8", ("known", "r0")),
        "shares": Maybe(Array("f8", ("known",))),
        "means": Maybe(Array("f8", ("known",))),
        "normalized": Flag(),
    }
)
_SPACE = {
    "mean": Array("f8", ("r0",)),
    "rotation": Maybe(Array("f8", ("r0", "r"))),
    "squares": Array("f8", ("r",)),
    "spherical": Flag(),
    "unit": Number(positive=True),
    "discarded": Number(),
    "kind": Maybe(Choice(("cut", "white", "svd"))),
}
_METRIC = Parts(
    {
        "scale": Array("f8", ("r",)),
        "weighted": Array("f8", ("weighted", "r")),
        "rho": Number(positive=True),
    }
)


def _finish_transformed(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    space, metric = state["_space"], state["_learned_metric"]
    if (space is None) != (metric is None):
        raise ModelFileError("A space without a metric, or a metric without a space.")
    if space is None:
        agreed.length("r", agreed.lengths["d"], "_slopes")
    else:
        _check_space(space, agreed)
        _METRIC.check(metric, "_learned_metric", agreed)
        if not (metric["scale"] > 0).all():
            raise ModelFileError("_learned_metric.scale must be larger than 0.")


def _check_space(space: Any, agreed: Agreed) -> None:
    kind = _LINEAR_MAP
    if isinstance(space, dict) and isinstance(space.get("map"), dict):
        kind = _LINEAR_MAP if "directions" in space["map"] else _KERNEL_MAP
    Parts({"map": kind, **_SPACE}).check(space, "_space", agreed)
    if space["rotation"] is None:
        agreed.length("r", agreed.lengths["r0"], "_space")
    if kind is _KERNEL_MAP:
        _check_kernel(space["map"], agreed)


def _check_kernel(parts: dict[str, Any], agreed: Agreed) -> None:
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    precomputed = parts["kernel"] == "precomputed"
    if not precomputed and parts["kernel"] not in tuple(PAIRWISE_KERNEL_FUNCTIONS):
        raise ModelFileError("The kernel is none that scikit-learn has a name for.")
    if precomputed != (parts["known"] is None):
        raise ModelFileError("The rows that a kernel compares with are missing.")
    if precomputed:
        agreed.length("known", agreed.lengths["d"], "_space.map.coefficients")
    if (parts["shares"] is None) != (parts["means"] is None):
        raise ModelFileError("A kernel is centered by half.")
    check_kernel_params(parts["params"])


def check_kernel_params(params: Any) -> None:
    """Raise unless these are numbers that kernels of scikit-learn take."""
    if not isinstance(params, dict) or not params.keys() <= set(KERNEL_PARAMS):
        raise ModelFileError(f"Parameters of a kernel are numbers: {', '.join(KERNEL_PARAMS)}.")
    for name, value in params.items():
        if value is not None:
            Number(finite=True).check(value, name, Agreed())


def _refuse_code(state: dict[str, Any]) -> dict[str, Any]:
    row_map = (state["_space"] or {}).get("map", {})
    kernel = row_map.get("kernel")
    if callable(kernel):
        raise TypeError(
            f"kernel={kernel!r} is a function, and a model file holds no code. Use a kernel that "
            'scikit-learn has a name for, kernel="precomputed", or joblib.dump.'
        )
    others = row_map.get("params", {}).keys() - set(KERNEL_PARAMS)
    if others:
        raise TypeError(
            f"kernel_params={sorted(others)} cannot be kept in a model file, which holds "
            f"{', '.join(KERNEL_PARAMS)}."
        )
    return state


TRANSFORMED = Structure(
    {
        **_FEATURES,
        "_slopes": Array("f8", ("r", "k")),
        "_offsets": Array("f8", ("k",), finite=False),
        "_space": Later(),
        "_learned_metric": Later(),
        "_unit": Number(positive=True),
        "_origin": Maybe(Array("f8", ("d",))),
        "metric_": Choice(("euclidean", "cosine")),
        "n_components_": Whole(1, is_length="r"),
        "centroids_in_space_": Maybe(Array("f8", ("k", "r"))),
        "cluster_centers_": Maybe(Array("float", ("k", "d"))),
        "log_det_": Number(),
        "objective_": Number(),
        "rho_": Number(),
        "lam_": Number(),
        "mu_": Number(),
        "embedding_": Maybe(Choice(("cut", "white", "svd"))),
        "discarded_": Number(),
        "labels_": Array("i4", ("n",), below="k"),
        **_FIT,
    },
    _ALWAYS_MISSING,
    _finish_transformed,
    _refuse_code,
)
