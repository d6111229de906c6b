"""Estimators as arrays and plain values, and back: what the registry calls for each of them.

An estimator hands out what it consists of by ``__getstate__`` and takes it back by
``__setstate__``, as for pickles; between the two, :mod:`polymeans.persistence.schema` decides what
may be in a file.
"""

import inspect
from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polymeans.persistence import centroids, landmarks
from polymeans.persistence.errors import ModelFileError
from polymeans.persistence.plain import PackedModel, Packer, Unpacker
from polymeans.persistence.registry import class_named
from polymeans.persistence.renamed import with_present_names
from polymeans.persistence.structure import Structure

#: What models of each class consist of.
STRUCTURES: dict[str, Structure] = {
    "KMeans": centroids.KMEANS,
    "KhatriRaoKMeans": centroids.KHATRI_RAO,
    "QuickKMeans": centroids.QUICK,
    "L1KMeans": centroids.L1,
    "NonRedundantKMeans": centroids.VIEWS,
    "TransformedKMeans": centroids.TRANSFORMED,
    "KhatriRaoSelector": landmarks.SELECTOR,
    "ClusterNeighbors": landmarks.NEIGHBORS,
    "ClusterKNeighborsClassifier": landmarks.CLASSIFIER,
    "ClusterKNeighborsRegressor": landmarks.REGRESSOR,
    "ClusterNystroem": landmarks.NYSTROEM,
    "HadamardNystroem": landmarks.HADAMARD,
}

#: Classes that another model may contain: those with centroids.
_WITHIN = tuple(STRUCTURES)[:6]


def to_arrays(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """What a model consists of.

    Parameters
    ----------
    model : estimator
        Of a class in ``STRUCTURES``.

    Returns
    -------
    arrays : dict of str to ndarray
    values : dict
        Everything else, as JSON can hold it.
    """
    packer = _ModelPacker()
    values = packer.values_of(model, "")
    return packer.arrays, values


def from_arrays(arrays: dict[str, NDArray[Any]], values: dict[str, Any]) -> Any:
    """The model that :func:`to_arrays` has taken apart, after every part of it was checked.

    Parameters
    ----------
    arrays : dict of str to ndarray
    values : dict

    Returns
    -------
    model : estimator
    """
    unpacker = Unpacker(arrays)
    model = _put_together(unpacker, values, tuple(STRUCTURES))
    if arrays.keys() - unpacker.used:
        name = min(arrays.keys() - unpacker.used)
        raise ModelFileError(f"The array {name!r:.80} belongs to nothing.")
    return model


class _ModelPacker(Packer):
    """Packs models within models, too."""

    def values_of(self, model: Any, prefix: str) -> dict[str, Any]:
        """The values of a model, its arrays having names that begin with a prefix."""
        name = type(model).__name__
        parameters = model.get_params(deep=False)
        attributes = STRUCTURES[name].taken_from(model.__getstate__())
        return {
            "class": name,
            "parameters": self._all(_without_copies(parameters, attributes), prefix),
            "attributes": self._all(attributes, prefix),
        }

    def _all(self, values: dict[str, Any], prefix: str) -> dict[str, Any]:
        return {name: self.pack(value, prefix + name) for name, value in values.items()}

    def pack(self, value: Any, name: str) -> Any:
        """JSON for a value or a model."""
        if not isinstance(value, BaseEstimator):
            return super().pack(value, name)
        kind = type(value).__name__
        if kind not in _WITHIN or type(value) is not class_named(kind):
            raise TypeError(
                f"{name}={value!r} cannot be kept in a model file, which holds estimators of "
                "polymeans. joblib.dump keeps others."
            )
        return {"$model": {"class": kind, "values": self.values_of(value, f"{name}/")}}


def _without_copies(parameters: dict[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is an attribute, too, is written once."""
    given = parameters.get("clusterer")
    if given is not None and given is attributes.get("clusterer_"):
        return {**parameters, "clusterer": {"is": "clusterer_"}}
    return parameters


def _put_together(
    unpacker: Unpacker, values: Any, allowed: tuple[str, ...], fitted: bool = True
) -> Any:
    if not isinstance(values, dict) or values.keys() != {"class", "parameters", "attributes"}:
        raise ModelFileError("The values of the model are incomplete.")
    name = values["class"]
    if not isinstance(name, str) or name not in allowed:
        raise ModelFileError(f"There is no model of class {name!r:.80} here.")
    kind, structure = class_named(name), STRUCTURES[name]
    given, found = (
        with_present_names(name, _unpacked(unpacker, values[part]))
        for part in ("parameters", "attributes")
    )
    if isinstance(given.get("clusterer"), dict):
        given["clusterer"] = found.get("clusterer_")
    known = set(inspect.signature(kind).parameters)
    if given.keys() - known:
        unknown = min(given.keys() - known)
        raise ModelFileError(f"{name} has no parameter {unknown!r:.80} in this version.")
    model = kind(**given)
    try:
        model._check_parameters()
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"A parameter cannot be used: {error}") from None
    if not fitted and not found:
        return model
    state = structure.checked(found, given)
    try:
        model.__setstate__(given | state)
    except (ValueError, TypeError) as error:  # what constructors of its parts refuse
        raise ModelFileError(f"The parts do not make a model: {error}") from None
    return model


def _unpacked(unpacker: Unpacker, nodes: Any) -> dict[str, Any]:
    if not isinstance(nodes, dict):
        raise ModelFileError("The values of the model are incomplete.")
    values = {name: unpacker.unpack(node) for name, node in nodes.items()}
    for name, value in values.items():
        if isinstance(value, PackedModel):
            if value.name != value.values.get("class"):
                raise ModelFileError("A model within the model has two classes.")
            values[name] = _put_together(unpacker, value.values, _WITHIN, fitted=False)
    return values
