"""Generators of data: shapes, types, the same for the same seed, finite."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.watch import watched
from polymeans import datasets


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """A generator and arguments for it."""
    name = str(rng.choice(datasets.__all__))
    n = int(rng.integers(1, 40))
    params: dict[str, Any] = {"n_samples": n, "random_state": int(rng.integers(100))}
    if name == "make_documents":
        params |= {"n_features": int(rng.integers(5, 60)), "n_topics": int(rng.integers(1, 5))}
    elif name == "make_khatri_rao":
        params["n_protocentroids"] = tuple(map(int, rng.integers(1, 4, int(rng.integers(1, 4)))))
        params |= {"n_features": int(rng.integers(1, 5)), "noise": float(rng.choice([0, 0.1]))}
    elif name == "make_nonredundant":
        params["n_clusters"] = tuple(map(int, rng.integers(1, 4, int(rng.integers(1, 3)))))
        params["n_noise"] = int(rng.integers(0, 4))
    elif name == "make_posts":
        params["n_topics"] = int(rng.integers(1, 6))
    return Case(area, seed, number, np.zeros((1, 1)), params=params | {"function": name})


def check(case: Case) -> Iterator[str]:
    """Make the data twice."""
    params = dict(case.params)
    make = getattr(datasets, params.pop("function"))
    with watched(refusable=True):
        first, second = make(**params), make(**params)
    n = params["n_samples"]
    rows, labels = first[0], first[1]
    n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    yield require(n_rows == n, "as many rows as asked for", n_rows)
    yield require(len(labels) == n, "as many labels as rows", np.shape(labels))
    if not isinstance(rows, list):
        values = rows.data if sp.issparse(rows) else rows
        yield require(np.isfinite(values).all(), "data are finite", "")
    yield require(_same(first, second), "the same seed, the same data", make.__name__)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple | list):
        return all(map(_same, one, other))
    if sp.issparse(one):
        return abs(one - other).sum() == 0
    return bool(np.all(np.asarray(one) == np.asarray(other)))
