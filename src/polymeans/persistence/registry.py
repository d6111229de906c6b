"""Which classes a model file may hold, and who takes them apart and puts them together.

A class is added by one entry. Its adapter is a module with two functions, imported when a model of
the class is saved or loaded:

``to_arrays(model) -> (arrays, values)``
    Named arrays, and a dictionary of everything else that JSON can hold.
``from_arrays(arrays, values) -> model``
    The same model. It checks all it is given, and raises ``ValueError``, ``TypeError`` or
    ``KeyError`` if something is wrong.
"""

from importlib import import_module
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """Modules of a class and of its adapter."""

    home: str
    adapter: str


_OURS = "polymeans.persistence.estimators"
_DEEP = Entry("polymeans.deep", "polymeans.deep.persistence")

REGISTRY: dict[str, Entry] = {
    "KMeans": Entry("polymeans.kmeans", _OURS),
    "KhatriRaoKMeans": Entry("polymeans.khatri_rao", _OURS),
    "QuickKMeans": Entry("polymeans.quick", _OURS),
    "L1KMeans": Entry("polymeans.l1", _OURS),
    "NonRedundantKMeans": Entry("polymeans.nonredundant", _OURS),
    "TransformedKMeans": Entry("polymeans.transformed", _OURS),
    "KhatriRaoSelector": Entry("polymeans.grids.selector", _OURS),
    "ClusterNeighbors": Entry("polymeans.neighbors", _OURS),
    "ClusterKNeighborsClassifier": Entry("polymeans.neighbors", _OURS),
    "ClusterKNeighborsRegressor": Entry("polymeans.neighbors", _OURS),
    "ClusterNystroem": Entry("polymeans.kernel_approximation", _OURS),
    "HadamardNystroem": Entry("polymeans.kernel_approximation", _OURS),
    "DKM": _DEEP,
    "IDEC": _DEEP,
    "KhatriRaoDKM": _DEEP,
    "KhatriRaoIDEC": _DEEP,
}


def class_named(name: str) -> type[Any]:
    """The class of a registered name, imported now."""
    return getattr(import_module(REGISTRY[name].home), name)


def adapter_of(name: str) -> Any:
    """The module that takes models of a class apart, imported now."""
    return import_module(REGISTRY[name].adapter)
