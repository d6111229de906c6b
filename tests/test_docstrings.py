"""A parameter of the same name is described by the same words in all estimators."""

import inspect
from collections import defaultdict
from importlib import import_module

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

#: Modules with estimators, and their names there; None: all classes of ``__all__``.
MODULES = {
    "polymeans": None,
    "polymeans.neighbors": [
        "ClusterNeighbors",
        "ClusterKNeighborsClassifier",
        "ClusterKNeighborsRegressor",
    ],
    "polymeans.kernel_approximation": ["ClusterNystroem", "HadamardNystroem"],
}

#: Where a name has another meaning than in the other classes, and which.
EXCEPTIONS = {
    ("ClusterKNeighborsClassifier.fit", "y"): "classes, not ignored",
    ("ClusterKNeighborsRegressor.fit", "y"): "targets, not ignored",
    ("ClusterNeighbors.kneighbors", "X"): "may be None",
    ("ClusterNeighbors.kneighbors", "n_neighbors"): "may be None",
    ("ClusterNeighbors.kneighbors_graph", "X"): "may be None",
    ("ClusterNeighbors.kneighbors_graph", "n_neighbors"): "may be None",
    ("ClusterNystroem", "clusterer"): "another default, and it gives the number of landmarks",
    ("KhatriRaoKMeans", "init"): "methods of its own",
    ("KhatriRaoSelector", "verbose"): "logs candidates",
    ("L1KMeans", "n_nonzeros"): "of centroids, instead of a radius",
    ("L1KMeans", "offset"): "the center of a ball, with other choices",
    ("LandmarkFeatures.kernel_values", "X"): "not converted",
    ("NonRedundantKMeans", "init"): "methods of its own",
    ("NonRedundantKMeans", "n_clusters"): "one number for each view",
    ("NonRedundantKMeans", "n_init"): "depends on its methods",
    ("QuickKMeans", "tol"): "a share of the objective",
    ("TransformedKMeans", "algorithm"): "how the metric is found, not the labels",
    ("TransformedKMeans", "init"): "labels, and methods of its own",
    ("TransformedKMeans", "kernel"): "of the space that is clustered in, with more choices",
    ("TransformedKMeans", "kernel_params"): "of kernels given by name, too",
    ("TransformedKMeans", "metric"): "before a metric is learned, and may be auto",
    ("TransformedKMeans", "n_components"): "dimensions, not landmarks",
    ("TransformedKMeans", "n_init"): "depends on its methods",
}


def described():
    """Words for each parameter of all estimators and of the methods written here."""
    found = {}
    for module_name, names in MODULES.items():
        module = import_module(module_name)
        for name in names or module.__all__:
            thing = getattr(module, name)
            if not inspect.isclass(thing):
                continue
            sections = {thing.__qualname__: ClassDoc(thing)["Parameters"]}
            for method, function in inspect.getmembers(thing, inspect.isfunction):
                if not method.startswith("_") and function.__module__.startswith("polymeans"):
                    sections[function.__qualname__] = FunctionDoc(function)["Parameters"]
            for where, parameters in sections.items():
                for parameter in parameters:
                    found[where, parameter.name] = " ".join(parameter.desc)
    return found


DESCRIBED = described()


def words_of(name):
    """Descriptions of a parameter, and where they are, the exceptions aside."""
    found = defaultdict(list)
    for (where, parameter), words in DESCRIBED.items():
        if parameter == name and (where, parameter) not in EXCEPTIONS:
            found[words].append(where)
    return found


def test_all_estimators_are_found():
    classes = {where for where, _ in DESCRIBED}
    assert {"KMeans", "QuickKMeans", "KhatriRaoSelector", "HadamardNystroem"} <= classes
    assert ("CentroidEstimator.fit", "sample_weight") in DESCRIBED


@pytest.mark.parametrize("name", sorted({parameter for _, parameter in DESCRIBED}))
def test_a_parameter_has_the_same_words_everywhere(name):
    found = words_of(name)
    assert all(found), "every parameter is described"
    assert len(found) <= 1, dict(found)


@pytest.mark.parametrize(("where", "name"), EXCEPTIONS)
def test_exceptions_are_needed(where, name):
    assert DESCRIBED[where, name] not in words_of(name)
