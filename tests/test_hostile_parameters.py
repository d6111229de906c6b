"""Every parameter, given every kind of nonsense: accepted, or an error that names the parameter."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from polymeans import (
    KhatriRaoKMeans,
    KhatriRaoSelector,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
    balanced_sizes,
    choose_n_clusters,
    compare,
    datasets,
    decompose_centroids,
    factorization,
    grids,
    stability,
)
from polymeans.kernel_approximation import ClusterNystroem, HadamardNystroem
from polymeans.neighbors import (
    ClusterKNeighborsClassifier,
    ClusterKNeighborsRegressor,
    ClusterNeighbors,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

TARGET = np.random.default_rng(0).normal(size=(4, 5))

FACTORS = [np.eye(4), TARGET.round()]

HOSTILE = {
    "None": None,
    "nan": np.nan,
    "inf": np.inf,
    "-1": -1,
    "10**30": 10**30,
    "10**400": 10**400,
    "10**5000": 10**5000,  # which Python does not write
    "-10**400": -(10**400),
    "1/3": Fraction(1, 3),
    "huge fraction": Fraction(10**400, 3),
    "bytes": b"auto",
    "object": object(),
    "[]": [],
    "()": (),
    "{}": {},
    "array(2)": np.array(2),
    "array of strings": np.array(["a", "b"]),
    "nonsense": "nonsense",
    "True": True,
    "complex": 1j,
    "nested": [[1], [2, 3]],
}

MODELS = [
    KMeans(2, max_iter=3),
    KhatriRaoKMeans((2, 2), effort=0.01, max_iter=3),
    QuickKMeans(2, max_iter=3, effort=0.1),
    QuickKMeans(4, max_iter=3, effort=0.1, method="palm4msa"),
    L1KMeans(2, max_iter=3),
    NonRedundantKMeans((2, 2), effort=0.01, max_iter=3),
    NonRedundantKMeans("auto", max_iter=3),
    TransformedKMeans(2, n_init=1, max_iter=3),
    TransformedKMeans(2, n_init=1, max_iter=3, embedding=None, solver="cg"),
    KhatriRaoSelector(4, effort=0.01, patience=1),
    ClusterNystroem(n_components=3),
    ClusterNystroem("poly", n_components=3),
    HadamardNystroem(n_components=3),
    ClusterNeighbors(2),
    ClusterKNeighborsClassifier(2),
    ClusterKNeighborsRegressor(2),
]

CASES = [
    pytest.param(model, parameter, id=f"{number}-{type(model).__name__}-{parameter}")
    for number, model in enumerate(MODELS)
    for parameter in sorted(model.get_params(deep=False))
]


#: Functions, and arguments with which they work.
FUNCTIONS = [
    (balanced_sizes, {"n_clusters": 6, "n_sets": 2}),
    (grids.largest_grid, {"budget": 6, "n_sets": 2}),
    (grids.n_sets_bounds, {"n_clusters": 6, "min_size": 2}),
    (
        decompose_centroids,
        {
            "centers": np.arange(12.0).reshape(4, 3),
            "n_protocentroids": (2, 2),
            "aggregator": "sum",
            "weights": None,
            "cells": None,
            "n_init": 1,
            "max_iter": 3,
            "random_state": 0,
        },
    ),
    (
        grids.diagnose_centroids,
        {
            "centers": np.arange(12.0).reshape(4, 3) ** 2,
            "n_protocentroids": (2, 2),
            "n_null": 1,
            "random_state": 0,
            "n_threads": 1,
            "verbose": 0,
            "progress": False,
        },
    ),
    (
        choose_n_clusters,
        {
            "X": TARGET.repeat(3, axis=0),
            "n_clusters": [2, 3],
            "estimator": KMeans(max_iter=3),
            "criterion": "auto",
            "random_state": 0,
            "n_threads": 1,
            "verbose": 0,
            "progress": False,
        },
    ),
    (
        stability,
        {
            "estimator": KMeans(2),
            "X": TARGET,
            "n_runs": 2,
            "vary": "rows",
            "share": 0.8,
            "random_state": 0,
            "n_threads": 1,
            "verbose": 0,
            "progress": False,
        },
    ),
    (
        compare,
        {
            "X": TARGET.repeat(3, axis=0),
            "n_clusters": 2,
            "budget": 1e-6,
            "n_runs": 1,
            "random_state": 0,
            "n_threads": 1,
            "verbose": 0,
            "progress": False,
        },
    ),
    (
        factorization.factorize,
        {
            "target": TARGET,
            "n_nonzeros": 8,
            "sparsity_level": 2,
            "n_factors": 2,
            "method": "select",
            "weights": None,
            "effort": 0.1,
            "random_state": 0,
            "n_threads": 1,
        },
    ),
    (
        factorization.palm4msa,
        {
            "target": TARGET,
            "factors": FACTORS,
            "n_factors": None,
            "sparsity_level": 2,
            "weights": None,
            "max_iter": 3,
            "tol": 1e-3,
            "step": "line_search",
        },
    ),
    (
        factorization.hierarchical_palm4msa,
        {"target": TARGET, "n_factors": 2, "sparsity_level": 2, "max_iter": 3, "tol": 1e-3},
    ),
    (
        factorization.refit,
        {"target": TARGET, "factors": FACTORS, "max_sweeps": 2, "tol": 1e-3, "weights": None},
    ),
    (
        factorization.prune_and_grow,
        {
            "target": TARGET,
            "factors": FACTORS,
            "n_nonzeros": 8,
            "n_rounds": 2,
            "max_sweeps": 2,
            "tol": 1e-3,
        },
    ),
    (datasets.make_khatri_rao, {"n_protocentroids": (2, 2), "noise": 0.1, "spread": 0.5}),
    (datasets.make_khatri_rao, {"interaction": 0.1, "aggregator": "sum", "random_state": 0}),
    (
        datasets.make_nonredundant,
        {
            "n_clusters": (2, 2),
            "separation": 2.0,
            "center_scale": 3.0,
            "scales": 1.0,
            "noise_scale": 1.0,
            "dependence": 0.0,
            "random_state": 0,
        },
    ),
    (datasets.make_documents, {"overlap": 0.5, "random_state": 0}),
    (datasets.make_posts, {"overlap": 0.5, "random_state": 0}),
    (datasets.make_stick_figures, {"noise": 0.1, "random_state": 0}),
    (datasets.make_colored_letters, {"noise": 0.1, "random_state": 0}),
    (datasets.make_double_digits, {"random_state": 0}),
]

CALLS = [
    pytest.param(function, arguments, parameter, id=f"{function.__name__}-{parameter}")
    for function, arguments in FUNCTIONS
    for parameter in arguments
]


def complaint(parameter, attempt):
    """What is wrong with the error that an attempt raises; None if it is accepted or all right."""
    try:
        attempt()
    except (ValueError, TypeError) as error:
        if parameter not in str(error):
            return f"not named: {error}"
        return f"too long: {error}" if len(str(error)) > 1000 else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def complaints(parameter, attempt):
    """Of all values that make an error which is not clear."""
    found = {
        name: complaint(parameter, lambda value=value: attempt(value))
        for name, value in HOSTILE.items()
    }
    return {name: problem for name, problem in found.items() if problem}


@pytest.mark.parametrize(("model", "parameter"), CASES)
def test_estimators(model, parameter):
    X, y = np.random.default_rng(0).normal(size=(12, 4)), np.arange(12) % 2

    def attempt(value):
        clone(model).set_params(**{parameter: value}).fit(X, y)

    assert complaints(parameter, attempt) == {}


@pytest.mark.parametrize(("function", "arguments", "parameter"), CALLS)
def test_functions(function, arguments, parameter):
    assert complaints(parameter, lambda value: function(**{**arguments, parameter: value})) == {}


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (KMeans(3), {"tol": Fraction(1, 3)}),
        (KMeans(3), {"tol": 10**30}),
        (KhatriRaoKMeans((2, 2), init="residual"), {"effort": Fraction(1, 3), "tol": 10**30}),
        (KhatriRaoKMeans((2, 2), init="naive"), {"tol": Fraction(1, 3)}),
        (QuickKMeans(4), {"effort": Fraction(1, 3), "tol": Fraction(1, 3)}),
        (QuickKMeans(4), {"tol": 10**30}),
        (L1KMeans(3), {"radius": Fraction(7, 3), "tol": Fraction(1, 3)}),
        (L1KMeans(3), {"radius": 10**30, "tol": 10**30}),
        (NonRedundantKMeans((2, 2)), {"effort": Fraction(1, 3), "tol": Fraction(1, 3)}),
        (NonRedundantKMeans("auto"), {"resolution": Fraction(1, 3)}),
        (NonRedundantKMeans("auto"), {"resolution": 10**30}),
        (TransformedKMeans(3, n_init=1), {"rho": Fraction(1, 3), "tol": Fraction(1, 3)}),
        (TransformedKMeans(3, n_init=1), {"rho": 10**30, "mu": 10**30}),
        (TransformedKMeans(3, n_init=1), {"lam": Fraction(1, 3), "mu": Fraction(1, 7)}),
        (TransformedKMeans(3, n_init=1, refine="exchange"), {"lam": 10**30, "tol": 10**30}),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
def test_numbers_of_any_kind_count_as_floats(model, parameters):
    X = np.random.default_rng(0).normal(size=(40, 6)) + 2.0
    model = clone(model).set_params(random_state=0, **parameters).fit(X)
    floats = {name: float(value) for name, value in parameters.items()}
    expected = clone(model).set_params(**floats).fit(X)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.inertia_ == expected.inertia_
