"""Promises of estimators, each checked against something slow and independent."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from benchmarks.fuzz import oracles
from benchmarks.fuzz.blocks import CutRows
from benchmarks.fuzz.case import BrokenPromiseError, Case, require
from benchmarks.fuzz.containers import fingerprint, wrap
from benchmarks.fuzz.estimators import make
from benchmarks.fuzz.fitted import difference, is_made_of_parts, numbers, public_state, tables
from benchmarks.fuzz.shapes import FAST
from benchmarks.fuzz.watch import RefusedError, watched

#: Rows of a large problem that are compared with slow versions.
_SAMPLE = 300


def check(case: Case) -> Iterator[str | BrokenPromiseError]:
    """Fit, and check everything the problem asks for.

    Yields a name for each promise kept. Broken ones are yielded as errors: promises do not depend
    on each other, and one defect should not hide the next.
    """
    X = wrap(case.X, case.container)
    before = fingerprint(X)
    weights = None if case.weights is None else case.weights.copy()
    model = make(case.area, case.params)
    with watched(refusable=not representable(case)):
        model.fit(X, sample_weight=weights)
    yield "manners"
    yield require(fingerprint(X) == before, "input is unchanged", "rows differ after fit")
    if weights is not None:
        same = weights.tobytes() == case.weights.tobytes()
        yield require(same, "input is unchanged", "weights differ after fit")
    asked = [promise for name, promise in _BY_NAME.items() if name in case.checks]
    for promise in (_finite, _dtypes, _labels, _inertia, _predicts, _scores, *asked):
        try:
            yield from promise(case, model, X)
        except BrokenPromiseError as broken:
            yield broken


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


# --- always ------------------------------------------------------------------------------------


def _finite(case: Case, model: Any, X: Any) -> Iterator[str]:
    if not representable(case):
        return
    for name, values in numbers(model).items():
        yield require(np.isfinite(values).all(), "attributes are finite", name)


def _dtypes(case: Case, model: Any, X: Any) -> Iterator[str]:
    if case.container in ("list", "integers", "booleans"):
        return
    centers = model.cluster_centers_
    if centers is not None:
        yield require(
            centers.dtype == case.X.dtype, "float32 stays float32", f"centers are {centers.dtype}"
        )


def _labels(case: Case, model: Any, X: Any) -> Iterator[str]:
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


def _inertia(case: Case, model: Any, X: Any) -> Iterator[str]:
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
        slack = (4 * 2.0**-53 * most) ** 2 * case.X.size * _largest_weight(case)
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
        loose = 64 * 2.0**-53 * np.longdouble(most) ** 2 * case.X.size * _largest_weight(case)
        clear = [abs(model.inertia_ - value) <= 1e-6 * value + loose for value in exact]
        yield require(any(clear), "inertia agrees", told)
        yield require(any(near), "sparse inertia agrees to the last digit", told)
    else:
        yield require(any(near), "inertia agrees", told)


def _largest_weight(case: Case) -> float:
    return 1.0 if case.weights is None else float(case.weights.max())


def _predicts(case: Case, model: Any, X: Any) -> Iterator[str]:
    labels = _predict(case, model, X)
    different = np.flatnonzero(labels != model.labels_)
    yield require(
        not len(different),
        "predict gives labels_",
        lambda: (
            f"{len(different)} rows, first {different[0]}: predict {labels[different[0]]}, "
            f"labels_ {model.labels_[different[0]]}"
        ),
    )


def _scores(case: Case, model: Any, X: Any) -> Iterator[str]:
    if kind_of(case) == "learned" or not representable(case):
        return
    with watched(refusable=False):
        score = model.score(X, sample_weight=case.weights)
    # A difference of large numbers on one side, a sum of distances on the other.
    slack = 1e-6 * abs(model.inertia_)
    slack += (4 * 2.0**-53 * float(np.abs(case.X).max())) ** 2 * case.X.size * _largest_weight(case)
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


def _predict(case: Case, model: Any, X: Any) -> NDArray[Any]:
    before = fingerprint(X)
    with watched(refusable=False):
        labels = model.predict(X)
    require(fingerprint(X) == before, "input is unchanged", "rows differ after predict")
    return labels


# --- some, as the problem asks for ---------------------------------------------------------------


def _refit(case: Case, X: Any, weights: Any, **changes: Any) -> Any:
    model = make(case.area, case.params | changes)
    with watched(refusable=not representable(case)):
        model.fit(X, sample_weight=weights)
    return model


def _same_bits(promise: str, model: Any, other: Any, how: str) -> str:
    found = difference(public_state(model), public_state(other))
    return require(found is None, promise, f"{how}: {found}")


def _threads(case: Case, model: Any, X: Any) -> Iterator[str]:
    for n_threads in {1, 2, 3} - {case.params["n_threads"]}:
        other = _refit(case, X, case.weights, n_threads=n_threads)
        yield _same_bits("same bits for any threads", model, other, f"n_threads={n_threads}")


def _algorithms(case: Case, model: Any, X: Any) -> Iterator[str]:
    if not case.area.startswith("KMeans") and case.area != "L1":
        return
    for algorithm in ("lazy", "lloyd", "elkan"):
        if algorithm != case.params["algorithm"]:
            other = _refit(case, X, case.weights, algorithm=algorithm)
            yield _same_bits("same bits for every algorithm", model, other, algorithm)


def _blocks(case: Case, model: Any, X: Any) -> Iterator[str]:
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
    model = _refit(case, rows, case.weights)
    other = _refit(case, CutRows(rows, case.weights, case.rng(7)), None)
    yield _same_bits("same bits in blocks", model, other, "blocks")


def _has_plain_start(case: Case) -> bool:
    """Whether it is k-means from given centroids in which no cluster loses its rows."""
    if case.area != "KMeans" or not isinstance(case.params.get("init"), np.ndarray):
        return False
    if case.X.size * len(case.params["init"]) > FAST // 16:
        return False
    return not oracles.loses_a_cluster(case.X, case.params["init"], case.weights)


def _shuffle(case: Case, model: Any, X: Any) -> Iterator[str]:
    if not _has_plain_start(case):
        return
    order = case.rng(3).permutation(len(case.X))
    weights = None if case.weights is None else case.weights[order]
    other = _refit(case, wrap(case.X[order], case.container), weights)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    other.labels_ = other.labels_[back]
    yield _same_bits("same bits for any order of rows", model, other, f"order {order.tolist()}")


def _zero_weights(case: Case, model: Any, X: Any) -> Iterator[str]:
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
    other = _refit(case, wrap(more, case.container), weights)
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


def _repeated_rows(case: Case, model: Any, X: Any) -> Iterator[str]:
    if not _has_plain_start(case):
        return
    # Powers of two: their products with values are exact, so results are the same bits.
    counts = 2 ** case.rng(5).integers(0, 3, len(case.X))
    if oracles.loses_a_cluster(case.X, case.params["init"], counts.astype(float)):
        return
    weighted = _refit(case, X, counts.astype(float))
    repeated = _refit(case, wrap(np.repeat(case.X, counts, axis=0), case.container), None)
    repeated.labels_ = repeated.labels_[np.cumsum(counts) - 1]
    names = ("labels_", "cluster_centers_", "n_iter_")
    states = [{name: getattr(model, name) for name in names} for model in (weighted, repeated)]
    found = difference(*states)
    # Inertia is rounded once for each row, so it has the same digits only up to the last ones.
    if abs(weighted.inertia_ - repeated.inertia_) > 1e-9 * abs(weighted.inertia_):
        found = found or f"inertia_ {weighted.inertia_!r} and {repeated.inertia_!r}"
    yield require(found is None, "weights are repetitions", f"counts {counts.tolist()}: {found}")


def _plain_container(case: Case) -> str:
    """A container of the same nature whose rows can be selected; names are kept by frames."""
    if case.is_sparse:
        return "csr_array"
    return case.container if case.container in ("pandas", "polars") else "C order"


def _row_by_row(case: Case, model: Any, X: Any) -> Iterator[str]:
    rng, container = case.rng(6), _plain_container(case)
    expected = _predict(case, model, X)
    for i in rng.integers(0, len(case.X), 3):
        label = _predict(case, model, wrap(case.X[i : i + 1], container))
        yield require(
            label[0] == expected[i],
            "a label depends on its row alone",
            f"row {i} alone has {label[0]}, among all {expected[i]}",
        )
    some = rng.permutation(len(case.X))[: max(1, len(case.X) // 2)]
    labels = _predict(case, model, wrap(case.X[some], container))
    yield require(
        (labels == expected[some]).all(),
        "a label depends on its row alone",
        f"rows {some.tolist()} have {labels.tolist()}, among all {expected[some].tolist()}"[:300],
    )


def _huge_row(case: Case, model: Any, X: Any) -> Iterator[str]:
    largest = 1e300 if case.X.dtype == np.float64 else 1e37
    far = np.full_like(case.X[:1], largest)
    labels = _predict(case, model, wrap(np.concatenate([case.X, far]), _plain_container(case)))
    different = np.flatnonzero(labels[:-1] != _predict(case, model, X))
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


def _many_rows(case: Case, model: Any, X: Any) -> Iterator[str]:
    """Repeat rows until there are enough for the fast paths of predict."""
    n_centroids = _n_centroids(case, model)
    stored = np.count_nonzero(case.X) if case.is_sparse else case.X.size
    work = max(1, stored) * n_centroids
    # A few problems in many, because each takes as long as dozens of others.
    if case.rng(7).random() > 0.15 or work > FAST or FAST / work * case.X.size > 2**21:
        return
    times = -(-FAST // work) + 1
    labels = _predict(case, model, wrap(np.tile(case.X, (times, 1)), _plain_container(case)))
    expected = np.tile(_predict(case, model, X), times)
    different = np.flatnonzero(labels != expected)
    yield require(
        not len(different),
        "fast labels are those of few rows",
        lambda: (
            f"{len(different)} of {len(labels)}, first {different[0] % len(case.X)}: "
            f"{labels[different[0]]}, few rows {expected[different[0]]}"
        ),
    )


def _transform(case: Case, model: Any, X: Any) -> Iterator[str]:
    kind = kind_of(case)
    if kind == "learned" and model.centroids_in_space_ is None:
        return
    with watched(refusable=False):
        inside = np.asarray(model.transform(X))
    if case.container not in ("list", "integers", "booleans"):
        same = inside.dtype == case.X.dtype
        yield require(same, "float32 stays float32", f"transform {inside.dtype}")
    names = model.get_feature_names_out()
    yield require(len(names) == inside.shape[1], "names of columns fit", f"{len(names)} names")
    if not representable(case):
        return
    yield require(np.isfinite(inside).all(), "attributes are finite", "transform")
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


def _pickle(case: Case, model: Any, X: Any) -> Iterator[str]:
    again = pickle.loads(pickle.dumps(model))
    found = difference(public_state(model), public_state(again))
    yield require(found is None, "pickles are equal", f"{found}")
    same = (_predict(case, again, X) == _predict(case, model, X)).all()
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


def _failed_fit(case: Case, model: Any, X: Any) -> Iterator[str]:
    before = {name: id(value) for name, value in vars(model).items()}
    labels, rng = _predict(case, model, X), case.rng(8)
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
    same = (_predict(case, model, X) == labels).all()
    yield require(same, "a failed fit changes nothing", "predict differs")


_BY_NAME = {
    "threads": _threads,
    "algorithms": _algorithms,
    "shuffle": _shuffle,
    "zero weights": _zero_weights,
    "repeated rows": _repeated_rows,
    "row by row": _row_by_row,
    "many rows": _many_rows,
    "huge row": _huge_row,
    "transform": _transform,
    "pickle": _pickle,
    "failed fit": _failed_fit,
    "blocks": _blocks,
}

__all__ = ["RefusedError", "check", "representable"]
