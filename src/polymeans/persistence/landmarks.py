"""What fitted estimators consist of that contain another one: neighbors, features, the selector."""

from typing import Any

import numpy as np

from polymeans.landmarks.hadamard import padded
from polymeans.persistence.centroids import check_kernel_params
from polymeans.persistence.errors import ModelFileError
from polymeans.persistence.schema import (
    Agreed,
    Array,
    Choice,
    Kind,
    Later,
    ListOf,
    Matrix,
    Number,
    Plain,
    Texts,
    Whole,
)
from polymeans.persistence.structure import Structure

_FEATURES: dict[str, Kind] = {
    "n_features_in_": Whole(1, is_length="d"),
    "feature_names_in_": Texts("d"),
}


def _check_model(model: Any, name: str, agreed: Agreed) -> None:
    """Raise unless this is a fitted model with centroids for as many features."""
    if not hasattr(model, "n_features_in_"):
        raise ModelFileError(f"{name} must be a fitted model.")
    agreed.length("d", model.n_features_in_, f"{name}.n_features_in_")


def _n_clusters(model: Any, agreed: Agreed) -> int:
    """How many centroids a model has among the rows, without forming them."""
    _check_model(model, "clusterer_", agreed)
    kind = type(model).__name__
    if kind == "TransformedKMeans" and model.cluster_centers_ is None:
        raise ModelFileError("clusterer_ must have centroids.")
    return len(model.cluster_centers_) if kind == "NonRedundantKMeans" else model._n_centroids


# --- KhatriRaoSelector -------------------------------------------------------------------------


#: What the table says of a candidate: aggregator, sizes, counts, criteria.
_TABLE_ROW = (str, tuple, int, int, int, float, float, float, float, float)


def _finish_selector(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    best = state["best_estimator_"]
    _check_model(best, "best_estimator_", agreed)
    if type(best).__name__ not in ("KMeans", "KhatriRaoKMeans"):
        raise ModelFileError("best_estimator_ must be a KMeans or a KhatriRaoKMeans.")
    for row in state["table_"]:
        kinds = tuple(type(cell) for cell in row)
        if kinds != _TABLE_ROW or not all(type(size) is int for size in row[1]):
            raise ModelFileError("table_ has something else than candidates.")
    if hasattr(best, "labels_"):
        state["labels_"] = best.labels_


def _shrink_selector(state: dict[str, Any]) -> dict[str, Any]:
    # The labels are those of the best estimator.
    return {name: part for name, part in state.items() if name != "labels_"}


SELECTOR = Structure(
    {
        **_FEATURES,
        "best_estimator_": Later(),
        "best_aggregator_": Choice(("sum", "product", "none")),
        "best_sizes_": ListOf(Whole(1), as_tuple=True),
        "labels_": Array("i4", ("n",)),
        "table_": ListOf(Plain(), of=tuple),
    },
    ("feature_names_in_", "labels_"),
    _finish_selector,
    _shrink_selector,
)


# --- neighbors ---------------------------------------------------------------------------------


def _finish_neighbors(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    n_clusters, n = _n_clusters(state["clusterer_"], agreed), agreed.lengths["n"]
    # The index multiplies centroids out, which may take more memory than what they are made of.
    if n_clusters * agreed.lengths["d"] > 2**22 + 64 * _n_numbers(state):
        raise ModelFileError("clusterer_ has more centroids than these rows can be sorted by.")
    labels = state["labels_"]
    if labels.min() < 0 or labels.max() >= n_clusters:
        raise ModelFileError("labels_ has labels of no cluster.")
    if "_codes" in state and len(state["_codes"]) != n:
        raise ModelFileError("There is not one class for each row.")


def _n_numbers(state: dict[str, Any]) -> int:
    return int(state["_rows"].size + len(state["labels_"]))


_NEIGHBORS: dict[str, Kind] = {
    **_FEATURES,
    "n_samples_fit_": Whole(1, is_length="n"),
    "labels_": Array("i4", ("n",)),
    "_rows": Matrix(("n", "d"), or_dense=True),
    "clusterer_": Later(),
}
NEIGHBORS = Structure(_NEIGHBORS, ("feature_names_in_",), _finish_neighbors)


def _finish_classifier(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    _finish_neighbors(state, parameters, agreed)
    classes = state["classes_"]
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not len(classes):
        raise ModelFileError("classes_ must be an array of one dimension.")
    codes = state["_codes"]
    if codes.min() < 0 or codes.max() >= len(classes):
        raise ModelFileError("_codes has numbers of no class.")


CLASSIFIER = Structure(
    {**_NEIGHBORS, "classes_": Later(), "_codes": Array("i8", ("n",))},
    ("feature_names_in_",),
    _finish_classifier,
)


def _finish_regressor(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    _finish_neighbors(state, parameters, agreed)
    targets = state["_targets"]
    if not isinstance(targets, np.ndarray) or targets.ndim not in (1, 2):
        raise ModelFileError("_targets must be an array of one or two dimensions.")
    shape: tuple[str | int, ...] = ("n",) if targets.ndim == 1 else ("n", "targets")
    Array("f8", shape).check(targets, "_targets", agreed)


REGRESSOR = Structure(
    {**_NEIGHBORS, "_targets": Later()}, ("feature_names_in_",), _finish_regressor
)


# --- kernel features ---------------------------------------------------------------------------

_LANDMARKS: dict[str, Kind] = {
    **_FEATURES,
    "gamma_": Number(finite=True),
    "components_": Array("rows", ("m", "d")),
    "normalization_": Array("rows", ("m", "m")),
}


def _check_kernel(parameters: dict[str, Any]) -> None:
    if parameters.get("kernel_params") is not None:
        check_kernel_params(parameters["kernel_params"])


def _finish_nystroem(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    _check_kernel(parameters)
    agreed.length("m", _n_clusters(state["clusterer_"], agreed), "clusterer_")


NYSTROEM = Structure(
    {**_LANDMARKS, "clusterer_": Later()}, ("feature_names_in_",), _finish_nystroem
)


def _finish_hadamard(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    _check_kernel(parameters)
    picks = state["_last_picks"]
    size = padded(agreed.lengths["d"])
    if not len(picks) or picks[0] != 0 or picks.max() >= size or (np.diff(picks) <= 0).any():
        raise ModelFileError("_last_picks must be rows of a Hadamard matrix.")
    n_landmarks = (agreed.lengths["blocks"] - 1) * size + len(picks)
    agreed.length("m", n_landmarks, "Seeds and picks together")


HADAMARD = Structure(
    {
        **_LANDMARKS,
        "seeds_": Array("rows", ("blocks", "d")),
        "_last_picks": Array("i8", ("picks",)),
    },
    ("feature_names_in_",),
    _finish_hadamard,
)
