"""Promises of every fit: finite attributes, nearest labels, inertia, predict and score."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.fuzz import oracles
from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.fitted import is_made_of_parts, numbers, tables
from benchmarks.fuzz.promises.problems import (
    kind_of,
    largest_weight,
    predict,
    representable,
    sample,
)
from benchmarks.fuzz.watch import watched


def finite(case: Case, model: Any, X: Any) -> Iterator[str]:
    for name, values in numbers(model).items():
        yield require(not np.isnan(values).any(), "no NaN", name)
    if not representable(case):
        return
    for name, values in numbers(model).items():
        yield require(np.isfinite(values).all(), "attributes are finite", name)


def dtypes(case: Case, model: Any, X: Any) -> Iterator[str]:
    if case.container in ("list", "integers", "booleans"):
        return
    centers = model.cluster_centers_
    if centers is not None:
        yield require(
            centers.dtype == case.X.dtype, "float32 stays float32", f"centers are {centers.dtype}"
        )


def labels(case: Case, model: Any, X: Any) -> Iterator[str]:
    rows = sample(case)
    labels, values = model.labels_[rows], case.X[rows]
    yield require(model.labels_.dtype == np.int32, "labels are int32", model.labels_.dtype)
    kind = kind_of(case)
    if kind == "nearest":
        if not all(np.isfinite(table).all() for table in tables(model)):
            return  # whether that is allowed, another promise says
        blur = _rounding_of_parts(case, model)
        verdicts = [
            oracles.not_nearest(values, table, labels, blur=blur) for table in tables(model)
        ]
        if case.is_sparse:
            # Scores of CSR rows are differences of products: there are two degrees of wrong.
            most = float(np.abs(values).max()) + float(np.abs(tables(model)[0]).max())
            slack = 64 * 2.0**-53 * case.X.shape[1] ** 2 * np.longdouble(most) ** 2
            clear = [oracles.not_nearest(values, t, labels, absolute=slack) for t in tables(model)]
            yield require(
                any(verdict is None for verdict in clear),
                "labels are nearest",
                lambda: _explained(case, model, rows, labels, clear),
            )
        yield require(
            any(verdict is None for verdict in verdicts),
            "sparse labels are nearest to the last digit"
            if case.is_sparse
            else "labels are nearest",
            lambda: _explained(case, model, rows, labels, verdicts),
        )
        twins = [oracles.higher_twin(table, labels) for table in tables(model)]
        yield require(
            any(twin is None for twin in twins),
            "lowest index among equal centroids",
            f"row and lower index: {twins}",
        )
    elif kind == "directions":
        units = oracles.directions(values)
        excused = 64 * (case.X.shape[1] + 8) * float(np.finfo(case.X.dtype).eps)
        some = np.abs(values).max(axis=1) > 0
        verdict = oracles.not_nearest(
            units[some].astype(np.float64), model.cluster_centers_, labels[some], 0.0, excused
        )
        yield require(verdict is None, "labels are nearest", f"row and centroid: {verdict}")
        lengths = np.sqrt((model.cluster_centers_.astype(np.longdouble) ** 2).sum(axis=1))
        near = np.abs(lengths - 1) <= 64 * case.X.shape[1] * np.finfo(case.X.dtype).eps
        # Without a row that has a direction there is nothing to bring to length one.
        yield require(
            (near | (lengths == 0)).all(), "centers have length one", lengths.astype(float)
        )
        yield require(not labels[~some].any(), "rows of zeros have label 0", labels[~some])
    elif kind == "views" and model.whitening_ is None and model.n_views_:
        eps = float(np.finfo(case.X.dtype).eps)
        for view, centers in enumerate(model.centroids_per_view_):
            lengths = float(np.abs(values.astype(np.longdouble)).max()) + float(
                np.abs(centers.astype(np.longdouble)).max()
            )
            if not 0 < lengths < 1e140:
                return
            excused = 64 * eps * case.X.shape[1] * lengths**2
            verdict = oracles.not_nearest(
                values, centers, model.labels_per_view_[rows, view], 0.0, excused
            )
            yield require(verdict is None, "labels are nearest", f"view {view}: {verdict}")
    elif kind == "learned" and model.centroids_in_space_ is not None and representable(case):
        inside = np.asarray(model.transform(X))[rows].astype(np.float64)
        scale = float(np.abs(inside).max()) + float(np.abs(model.centroids_in_space_).max())
        excused = 1e-4 if case.X.dtype == np.float32 else 1e-9
        # Centers of clusters that have no rows are placeholders.
        used, own = np.unique(model.labels_, return_inverse=True)
        verdict = oracles.not_nearest(
            inside,
            model.centroids_in_space_[used],
            own[rows],
            0.0,
            excused * scale**2 * inside.shape[1],
        )
        yield require(verdict is None, "labels are nearest", f"row and centroid: {verdict}")


def _rounding_of_parts(case: Case, model: Any) -> np.longdouble:
    """How far from the sums or products of its parts a centroid of float64 may be."""
    if not is_made_of_parts(model):
        return np.longdouble(0)
    parts = getattr(model, "protocentroids_", None) or [*tables(model), model.offset_]
    sizes = np.array([np.abs(part).max(initial=0.0) for part in parts], np.longdouble)
    product = getattr(model, "aggregator", "sum") == "product"
    most = np.prod(sizes) if product else np.sum(sizes)
    return 8 * 2.0**-53 * most * np.sqrt(case.X.shape[1])


def _explained(case: Case, model: Any, rows: Any, labels: Any, verdicts: Any) -> str:
    i, better = verdicts[0]
    table = tables(model)[0]
    distances = np.sqrt(oracles.squared_distances(case.X[rows[i : i + 1]], table))[0]
    return (
        f"row {rows[i]} has label {labels[i]} at distance {float(distances[labels[i]])!r}, "
        f"centroid {better} is at {float(distances[better])!r}"
    )


def inertia(case: Case, model: Any, X: Any) -> Iterator[str]:
    kind = kind_of(case)
    if kind in ("learned", "views") or not representable(case):
        return
    if kind == "nearest":
        # Factors may only decide labels, with other centers to measure from.
        measured = [] if getattr(model, "centers", "") == "means" else tables(model)
        exact = [
            oracles.inertia(case.X, table, model.labels_, case.weights)
            for table in [*measured, model.cluster_centers_]
        ]
        # What rounding each coordinate of the rows to float64 would leave of a distance of zero.
        most = float(np.abs(case.X).max())
        slack = (4 * 2.0**-53 * most) ** 2 * case.X.size * largest_weight(case)
    else:
        units = oracles.directions(case.X)
        w = np.ones(len(units)) if case.weights is None else case.weights
        w = np.where(np.abs(case.X).max(axis=1) > 0, w, 0.0)
        exact = [oracles.inertia(units, model.cluster_centers_, model.labels_, w) / 2]
        slack = 16 * float(np.finfo(case.X.dtype).eps) * float(w.sum())
    told = f"inertia_ {model.inertia_!r}, exactly {float(exact[0])!r}"
    near = [abs(model.inertia_ - value) <= 1e-6 * value + slack for value in exact]
    if kind == "nearest" and case.is_sparse:
        # As for labels: distances of CSR rows are differences of products.
        loose = 64 * 2.0**-53 * np.longdouble(most) ** 2 * case.X.size * largest_weight(case)
        clear = [abs(model.inertia_ - value) <= 1e-6 * value + loose for value in exact]
        yield require(any(clear), "inertia agrees", told)
        yield require(any(near), "sparse inertia agrees to the last digit", told)
    else:
        yield require(any(near), "inertia agrees", told)


def predicts(case: Case, model: Any, X: Any) -> Iterator[str]:
    labels = predict(case, model, X)
    different = np.flatnonzero(labels != model.labels_)
    yield require(
        not len(different),
        "predict gives labels_",
        lambda: (
            f"{len(different)} rows, first {different[0]}: predict {labels[different[0]]}, "
            f"labels_ {model.labels_[different[0]]}"
        ),
    )


def scores(case: Case, model: Any, X: Any) -> Iterator[str]:
    if kind_of(case) == "learned" or not representable(case):
        return
    with watched(refusable=False):
        score = model.score(X, sample_weight=case.weights)
    # A difference of totals on one side, where it is accurate, a sum of distances on the other.
    slack = 1e-6 * abs(model.inertia_)
    if case.area == "KhatriRao sum":  # sums of members may be a unit of rounding off
        unit = 4 * 2.0**-53 * float(np.abs(case.X).max())
        slack += unit**2 * case.X.size * largest_weight(case)
    if kind_of(case) == "views":
        slack += 1e-6 * float(
            oracles.inertia(case.X, model.mean_[None], 0 * model.labels_, case.weights)
        )
    if kind_of(case) == "directions":
        total = len(case.X) if case.weights is None else float(case.weights.sum())
        slack += 16 * float(np.finfo(case.X.dtype).eps) * total
    yield require(
        abs(score + model.inertia_) <= slack,
        "score is minus inertia",
        f"score {score!r}, inertia_ {model.inertia_!r}",
    )
