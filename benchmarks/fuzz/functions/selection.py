"""The choice of a grid: its labels are those of the estimator it chose."""

from collections.abc import Iterator

import numpy as np

from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.containers import fingerprint, wrap
from benchmarks.fuzz.values import MODERATE, draw_values
from benchmarks.fuzz.watch import watched
from polymeans import KhatriRaoSelector


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """Few rows and few clusters at most: each candidate is a fit."""
    X, kind = draw_values(
        rng, int(rng.integers(8, 30)), int(rng.integers(1, 5)), "float64", MODERATE
    )
    container = str(rng.choice(["C order", "csr_array"]))
    params = {"max_clusters": int(rng.integers(4, 9)), "effort": 0.01, "random_state": 0}
    return Case(area, seed, number, X, container, None, params, frozenset({kind, container}))


def check(case: Case) -> Iterator[str]:
    """Select, and compare with what was selected."""
    X = wrap(case.X, case.container)
    before = fingerprint(X)
    model = KhatriRaoSelector(n_threads=1, **case.params)
    with watched(refusable=True):
        model.fit(X)
    yield require(fingerprint(X) == before, "input is unchanged", "rows differ")
    yield require((model.predict(X) == model.labels_).all(), "predict gives labels_", model.labels_)
    most = max(model.table_["n_clusters"])
    yield require(most <= case.params["max_clusters"], "no more clusters than allowed", most)
    # Differences below two are no evidence, so any candidate that near may be chosen.
    values = model.table_[model.criterion]
    near = [tuple(row["sizes"]) for row in model.table_[values <= values.min() + 2]]
    yield require(tuple(model.best_sizes_) in near, "a good candidate is chosen", near)
