"""Promises of fits that give the same bits: threads, algorithms, blocks, orders, weights."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.fuzz import oracles
from benchmarks.fuzz.blocks import CutRows
from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.containers import wrap
from benchmarks.fuzz.fitted import difference, public_state
from benchmarks.fuzz.promises.problems import refit, same_bits
from benchmarks.fuzz.shapes import FAST


def threads(case: Case, model: Any, X: Any) -> Iterator[str]:
    for n_threads in {1, 2, 3} - {case.params["n_threads"]}:
        other = refit(case, X, case.weights, n_threads=n_threads)
        yield same_bits("same bits for any threads", model, other, f"n_threads={n_threads}")


def algorithms(case: Case, model: Any, X: Any) -> Iterator[str]:
    if not case.area.startswith("KMeans") and case.area != "L1":
        return
    for algorithm in ("lazy", "lloyd", "elkan"):
        if algorithm != case.params["algorithm"]:
            other = refit(case, X, case.weights, algorithm=algorithm)
            yield same_bits("same bits for every algorithm", model, other, algorithm)


def blocks(case: Case, model: Any, X: Any) -> Iterator[str]:
    """The same rows read block by block; what cannot work so is refused by tests elsewhere."""
    if case.area.startswith("Transformed") or callable(case.params.get("init")):
        return
    if len(case.params.get("n_protocentroids", (2, 2))) == 1:
        return  # free centroids, for which blocks have another default start
    rows = np.ascontiguousarray(case.X, dtype=model.cluster_centers_.dtype)
    if case.is_sparse:  # entries that are zero count in the order of features
        rows = sp.csr_array(X)
        rows.sum_duplicates()
    # As they are in blocks: the order of entries decides how products are rounded.
    model = refit(case, rows, case.weights)
    other = refit(case, CutRows(rows, case.weights, case.rng(7)), None)
    yield same_bits("same bits in blocks", model, other, "blocks")


def _has_plain_start(case: Case) -> bool:
    """Whether it is k-means from given centroids in which no cluster loses its rows."""
    if case.area != "KMeans" or not isinstance(case.params.get("init"), np.ndarray):
        return False
    if case.X.size * len(case.params["init"]) > FAST // 16:
        return False
    return not oracles.loses_a_cluster(case.X, case.params["init"], case.weights)


def shuffle(case: Case, model: Any, X: Any) -> Iterator[str]:
    if not _has_plain_start(case):
        return
    order = case.rng(3).permutation(len(case.X))
    weights = None if case.weights is None else case.weights[order]
    other = refit(case, wrap(case.X[order], case.container), weights)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    other.labels_ = other.labels_[back]
    yield same_bits("same bits for any order of rows", model, other, f"order {order.tolist()}")


def zero_weights(case: Case, model: Any, X: Any) -> Iterator[str]:
    if not _has_plain_start(case):
        return
    rng = case.rng(4)
    largest = float(np.finfo(case.X.dtype).max)
    # Far out, but in the same matrix as numbers can be.
    apart = 1e200 * max(float(np.abs(case.X).max()), 1e-90)
    far = case.X[:1] * 0 + case.X.dtype.type(min(apart, 1e200, largest / 4))
    others = [case.X[rng.integers(0, len(case.X), 2)], far if rng.random() < 0.5 else case.X[:1]]
    more = np.concatenate([case.X, *others])
    weights = np.ones(len(case.X)) if case.weights is None else case.weights
    weights = np.concatenate([weights, np.zeros(3)])
    other = refit(case, wrap(more, case.container), weights)
    other.labels_ = other.labels_[: len(case.X)]
    expected = public_state(model)
    found = difference(expected, _without_moved(public_state(other), expected))
    yield require(found is None, "rows without weight change nothing", f"{found}")


def _without_moved(state: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """What may differ: how many rows moved, and with it the iterations until none did.

    And features of CSR rows are added up by how many entries they have, in all rows: inertia may
    differ in its last digits, and shifts, which are differences, in more.
    """
    history, other = list(state["history_"]), model["history_"]
    if np.isclose(state["inertia_"], model["inertia_"], rtol=1e-9, atol=0.0):
        state = state | {"inertia_": model["inertia_"]}
    if len(history[1]) != len(other[1]):
        return state | {"history_": other, "n_iter_": model["n_iter_"]}
    history[1:3] = other[1:3]
    if np.allclose(history[0], other[0], rtol=1e-9, atol=1e-12 * np.max(other[0])):
        history[0] = other[0]
    return state | {"history_": history}


def repeated_rows(case: Case, model: Any, X: Any) -> Iterator[str]:
    if not _has_plain_start(case):
        return
    # Powers of two: their products with values are exact, so results are the same bits.
    counts = 2 ** case.rng(5).integers(0, 3, len(case.X))
    if oracles.loses_a_cluster(case.X, case.params["init"], counts.astype(float)):
        return
    weighted = refit(case, X, counts.astype(float))
    repeated = refit(case, wrap(np.repeat(case.X, counts, axis=0), case.container), None)
    repeated.labels_ = repeated.labels_[np.cumsum(counts) - 1]
    names = ("labels_", "cluster_centers_", "n_iter_")
    states = [{name: getattr(model, name) for name in names} for model in (weighted, repeated)]
    found = difference(*states)
    # Inertia is rounded once for each row, so it has the same digits only up to the last ones.
    if abs(weighted.inertia_ - repeated.inertia_) > 1e-9 * abs(weighted.inertia_):
        found = found or f"inertia_ {weighted.inertia_!r} and {repeated.inertia_!r}"
    yield require(found is None, "weights are repetitions", f"counts {counts.tolist()}: {found}")
