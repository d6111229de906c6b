"""Values that no parameter should take: refused with a reason, and nothing changes."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import polymeans
from benchmarks.fuzz.case import BrokenPromiseError, Case, require
from benchmarks.fuzz.watch import RefusedError, watched

CLASSES = (
    "KMeans",
    "KhatriRaoKMeans",
    "QuickKMeans",
    "L1KMeans",
    "TransformedKMeans",
    "NonRedundantKMeans",
)

HOSTILE: tuple[Any, ...] = (
    None,
    -1,
    0,
    10**30,
    10**400,
    1.5,
    np.nan,
    np.inf,
    Fraction(1, 3),
    True,
    "",
    "auto",
    b"auto",
    [],
    (),
    {},
    np.array(2),
    np.array([]),
    np.array([1.5, 2.5]),
    np.array([[1, 2], [3, 4]]),
    object,
    1j,
    "nonsense",
)

#: Parameters whose hostile values only mean much work.
_COSTLY = ("effort", "n_init", "max_iter")


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """One parameter of one estimator, one value."""
    name = str(rng.choice(CLASSES))
    parameters = sorted(getattr(polymeans, name)().get_params())
    parameter = str(rng.choice(parameters))
    value = int(rng.integers(len(HOSTILE)))
    X = rng.normal(size=(12, 3))
    params = {"estimator": name, "parameter": parameter, "value": value}
    traits = frozenset({name, parameter, repr(HOSTILE[value])[:40]})
    return Case(area, seed, number, X, params=params, traits=traits)


def check(case: Case) -> Iterator[str]:
    """Fit with the value, then judge what happened."""
    name, parameter = case.params["estimator"], case.params["parameter"]
    value = HOSTILE[case.params["value"]]
    if parameter in _COSTLY and isinstance(value, int) and value > 1000:
        return
    quick = {"effort": 0.01} if hasattr(getattr(polymeans, name)(), "effort") else {}
    model = getattr(polymeans, name)(**{"random_state": 0, **quick, parameter: value})
    before = {key: id(entry) for key, entry in vars(model).items()}
    try:
        with watched(True, ""):
            model.fit(case.X)
    except RefusedError as refused:
        # A reason names the parameter, or what it stands for.
        words = {parameter, parameter.replace("_", " "), *_SYNONYMS.get(parameter, ())}
        named = any(word in str(refused) for word in words)
        yield require(named, "errors name the parameter", f"{parameter}={value!r}: {refused}")
        after = {key: id(entry) for key, entry in vars(model).items()}
        yield require(after == before, "a failed fit changes nothing", set(after) ^ set(before))
        return
    except BrokenPromiseError as broken:
        message = f"{name}({parameter}={value!r}): {broken.detail}"[:300]
        raise BrokenPromiseError(broken.promise, message) from broken
    labels = model.predict(case.X)
    yield require((labels == model.labels_).all(), "predict gives labels_", labels)


_SYNONYMS = {
    "random_state": ("seed", "RandomState"),
    "init": ("initial centers", "labels"),
    "kernel_params": ("kernel",),
    "n_clusters": ("n_samples",),
}
