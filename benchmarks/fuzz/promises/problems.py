"""What all promises ask of a problem: its nature, and other fits and labels of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.containers import fingerprint
from benchmarks.fuzz.estimators import make
from benchmarks.fuzz.fitted import difference, public_state
from benchmarks.fuzz.watch import watched

#: Rows of a large problem that are compared with slow versions.
_SAMPLE = 300


def representable(case: Case) -> bool:
    """Whether sums of squares of the rows and their weights are ordinary float64 numbers."""
    X = np.abs(case.X[case.X != 0].astype(np.longdouble))
    if not len(X):
        return True
    w = np.ones(1) if case.weights is None else case.weights[case.weights > 0]
    w = w.astype(np.longdouble)
    most = 16 * X.max() ** 2 * max(w.max(), 1) * case.X.size * max(1, w.sum() / w.max())
    n_sets = len(case.params.get("n_protocentroids", (1,)))
    if case.params.get("aggregator") == "product" and n_sets > 1:
        most = max(most, 16 * X.max() ** (2 * n_sets) * max(w.max(), 1) * case.X.size)
        if case.X.dtype == np.float32:  # products of given rows are centroids of that type
            most = max(most, X.max() ** n_sets * 1e263)
    limit = 1e300
    if case.X.dtype == np.float32:
        # Distances themselves have to be numbers of the rows' type.
        most = max(most, X.max() * np.sqrt(case.X.shape[1]) * 4 * 1e262)
    return bool(most < limit and X.min() ** 2 * min(w.min(), 1) > 1e-290)


def sample(case: Case, n: int = _SAMPLE) -> NDArray[Any]:
    """Numbers of rows to look at."""
    if len(case.X) <= n:
        return np.arange(len(case.X))
    return np.sort(case.rng(2).choice(len(case.X), n, replace=False))


def kind_of(case: Case) -> str:
    """How labels are defined."""
    if case.area == "KMeans cosine":
        return "directions"
    if case.area.startswith("Transformed"):
        return "learned"
    return "views" if case.area == "NonRedundant" else "nearest"


def largest_weight(case: Case) -> float:
    return 1.0 if case.weights is None else float(case.weights.max())


def predict(case: Case, model: Any, X: Any) -> NDArray[Any]:
    before = fingerprint(X)
    with watched(refusable=False):
        labels = model.predict(X)
    require(fingerprint(X) == before, "input is unchanged", "rows differ after predict")
    return labels


def refit(case: Case, X: Any, weights: Any, **changes: Any) -> Any:
    model = make(case.area, case.params | changes)
    with watched(refusable=not representable(case)):
        model.fit(X, sample_weight=weights)
    return model


def same_bits(promise: str, model: Any, other: Any, how: str) -> str:
    found = difference(public_state(model), public_state(other))
    return require(found is None, promise, f"{how}: {found}")


def plain_container(case: Case) -> str:
    """A container of the same nature whose rows can be selected; names are kept by frames."""
    if case.is_sparse:
        return "csr_array"
    return case.container if case.container in ("pandas", "polars") else "C order"
