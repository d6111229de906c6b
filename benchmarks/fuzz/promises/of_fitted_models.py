"""Promises of a fitted model in use: labels of rows, distances, pickles, fits that fail."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.fuzz import oracles
from benchmarks.fuzz.case import BrokenPromiseError, Case, require
from benchmarks.fuzz.containers import wrap
from benchmarks.fuzz.fitted import difference, is_made_of_parts, public_state, tables
from benchmarks.fuzz.promises.problems import (
    kind_of,
    plain_container,
    predict,
    representable,
    sample,
)
from benchmarks.fuzz.shapes import FAST
from benchmarks.fuzz.watch import watched


def row_by_row(case: Case, model: Any, X: Any) -> Iterator[str]:
    rng, container = case.rng(6), plain_container(case)
    expected = predict(case, model, X)
    for i in rng.integers(0, len(case.X), 3):
        label = predict(case, model, wrap(case.X[i : i + 1], container))
        yield require(
            label[0] == expected[i],
            "a label depends on its row alone",
            f"row {i} alone has {label[0]}, among all {expected[i]}",
        )
    some = rng.permutation(len(case.X))[: max(1, len(case.X) // 2)]
    labels = predict(case, model, wrap(case.X[some], container))
    yield require(
        (labels == expected[some]).all(),
        "a label depends on its row alone",
        f"rows {some.tolist()} have {labels.tolist()}, among all {expected[some].tolist()}"[:300],
    )


def huge_row(case: Case, model: Any, X: Any) -> Iterator[str]:
    largest = 1e300 if case.X.dtype == np.float64 else 1e37
    far = np.full_like(case.X[:1], largest)
    labels = predict(case, model, wrap(np.concatenate([case.X, far]), plain_container(case)))
    different = np.flatnonzero(labels[:-1] != predict(case, model, X))
    yield require(
        not len(different),
        "a huge row changes no other label",
        f"{len(different)} of {len(case.X)} labels change",
    )


def _n_centroids(case: Case, model: Any) -> int:
    kind = kind_of(case)
    if kind == "views":
        return int(np.prod(model.n_clusters_))
    return len(tables(model)[0]) if kind == "nearest" else int(case.params["n_clusters"])


def many_rows(case: Case, model: Any, X: Any) -> Iterator[str]:
    """Repeat rows until there are enough for the fast paths of predict."""
    n_centroids = _n_centroids(case, model)
    stored = np.count_nonzero(case.X) if case.is_sparse else case.X.size
    work = max(1, stored) * n_centroids
    # A few problems in many, because each takes as long as dozens of others.
    if case.rng(7).random() > 0.15 or work > FAST or FAST / work * case.X.size > 2**21:
        return
    times = -(-FAST // work) + 1
    labels = predict(case, model, wrap(np.tile(case.X, (times, 1)), plain_container(case)))
    expected = np.tile(predict(case, model, X), times)
    different = np.flatnonzero(labels != expected)
    yield require(
        not len(different),
        "fast labels are those of few rows",
        lambda: (
            f"{len(different)} of {len(labels)}, first {different[0] % len(case.X)}: "
            f"{labels[different[0]]}, few rows {expected[different[0]]}"
        ),
    )


def transform(case: Case, model: Any, X: Any) -> Iterator[str]:
    kind = kind_of(case)
    if kind == "learned" and model.centroids_in_space_ is None:
        return
    with watched(refusable=False):
        inside, distances = np.asarray(model.transform(X)), np.asarray(model.distances(X))
    for name, values in (("transform", inside), ("distances", distances)):
        yield require(not np.isnan(values).any(), "no NaN", name)
    if case.container not in ("list", "integers", "booleans"):
        same = inside.dtype == case.X.dtype
        yield require(same, "float32 stays float32", f"transform {inside.dtype}")
    names = model.get_feature_names_out()
    yield require(len(names) == inside.shape[1], "names of columns fit", f"{len(names)} names")
    if not representable(case):
        return
    yield require(np.isfinite(inside).all(), "attributes are finite", "transform")
    yield require(np.isfinite(distances).all(), "attributes are finite", "distances")
    if kind not in ("nearest", "directions"):
        return
    rows, slack = sample(case), 0.0
    values = case.X[rows]
    if kind == "nearest":
        centers = model.cluster_centers_
        exact = np.sqrt(oracles.squared_distances(values, centers))
        if is_made_of_parts(model):
            eps = float(np.finfo(case.X.dtype).eps)
            slack = 8 * eps * float(np.abs(centers).max()) * case.X.shape[1]
    else:
        units, centers = oracles.directions(values), oracles.directions(model.cluster_centers_)
        exact = 1 - units @ centers.T
        slack = 64 * float(np.finfo(case.X.dtype).eps)
    # Centroids may be nearer to each other than rows are: squares of such distances are zero.
    smallest = 1e-150 if case.X.dtype == np.float64 else float(np.finfo(np.float32).smallest_normal)
    # Beside the promise, an error that a distance from differences could have for rows at rest.
    slack += 4 * 2.0**-53 * float(np.abs(values).max()) if kind == "nearest" else 0.0
    wrong = np.abs(inside[rows] - exact) > 1e-6 * exact + slack + smallest
    yield require(
        not wrong.any(),
        "distances are accurate",
        lambda: (
            f"{int(wrong.sum())} of {wrong.size}, largest error "
            f"{float(np.abs(inside[rows] - exact).max()):.3g}, e.g. {inside[rows][wrong][0]!r} "
            f"instead of {float(exact[wrong][0])!r}"
        ),
    )


def pickled(case: Case, model: Any, X: Any) -> Iterator[str]:
    again = pickle.loads(pickle.dumps(model))
    found = difference(public_state(model), public_state(again))
    yield require(found is None, "pickles are equal", f"{found}")
    same = (predict(case, again, X) == predict(case, model, X)).all()
    yield require(same, "pickles are equal", "predict differs")
    copy = clone(model)
    same = all(
        getattr(copy, name) is value
        or (isinstance(value, float) and value != value)
        or np.array_equal(np.asarray(getattr(copy, name), object), np.asarray(value, object))
        for name, value in model.get_params(deep=False).items()
        if not isinstance(value, list | np.ndarray)
    )
    yield require(same, "clones have the parameters", copy.get_params())
    yield require(not hasattr(copy, "labels_"), "clones have the parameters", "clone is fitted")


def failed_fit(case: Case, model: Any, X: Any) -> Iterator[str]:
    before = {name: id(value) for name, value in vars(model).items()}
    labels, rng = predict(case, model, X), case.rng(8)
    other = np.zeros((len(case.X), case.X.shape[1] + 1), case.X.dtype)
    weights = None
    if rng.random() < 0.5:
        other[0, 0] = np.nan
    else:
        weights = -np.ones(len(case.X))
    try:
        model.fit(wrap(other, "csr_array" if case.is_sparse else "C order"), sample_weight=weights)
    except (ValueError, TypeError) as error:
        yield require(len(str(error)) > 12, "errors have a reason", str(error))
    except Exception as error:
        raise BrokenPromiseError(
            "no other exceptions", f"{type(error).__name__}: {error}"
        ) from error
    else:
        raise BrokenPromiseError("bad input is refused", "NaN or negative weights were accepted")
    after = {name: id(value) for name, value in vars(model).items()}
    yield require(after == before, "a failed fit changes nothing", f"{set(after) ^ set(before)}")
    same = (predict(case, model, X) == labels).all()
    yield require(same, "a failed fit changes nothing", "predict differs")


def damaged_rows(case: Case, model: Any, X: Any) -> Iterator[str]:
    """Sparse rows whose arrays lead outside of the matrix: refused by every method."""
    rows = wrap(case.X, "csr_array")
    if not rows.nnz:
        return
    rng = case.rng(9)
    at = int(rng.integers(rows.nnz))
    damage = rng.integers(3)
    if damage == 0:
        rows.indices[at] = rng.choice([-1, -(2**31), rows.shape[1], 2**31 - 1])
    elif damage == 1:
        rows.indptr[-1] += rng.integers(1, 1000)
    else:
        rows.indptr[0] = 1
    for method in ("predict", "transform", "score", "fit"):
        if method == "fit" and case.params.get("kernel") is not None:
            continue  # a function of two sets of rows may be anything
        try:
            getattr(model, method)(rows)
        except (ValueError, TypeError) as error:
            yield require(len(str(error)) > 12, "errors have a reason", str(error))
        else:
            raise BrokenPromiseError("damaged sparse rows are refused", method)
    yield "damaged sparse rows are refused"
