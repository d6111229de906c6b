"""Serving a model: bytes on disk, loading it in a new process, and labels of few and many rows.

The same centroids are kept in several ways: polymeans' model files, scikit-learn's KMeans by
joblib, a flat faiss index, and our ONNX graphs in onnxruntime. Every measurement is made in a new
process, the contenders taking turns.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import MissingRequirementError, Report, in_new_process

#: Rows of the fit and of the largest request, features, clusters.
_ROWS, _FEATURES, _CLUSTERS = 20_000, 128, 256

#: Rounds of new processes at most, whatever --repeats says: each takes some seconds.
_ROUNDS = 5

_MEASURE = """
import json, sys, time
began = time.perf_counter()
{imports}
imported = time.perf_counter()
predict = (lambda: {load})()
loaded = time.perf_counter()
import numpy as np
X = np.load({rows!r})
first_began = time.perf_counter()
labels = predict(X[:1])
first = time.perf_counter() - first_began
def seconds(rows, repeats):
    times = []
    predict(rows)
    for _ in range(repeats):
        start = time.perf_counter()
        predict(rows)
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]
found = {{
    "import": imported - began,
    "load": loaded - imported,
    "first row": first,
    "1 row": seconds(X[:1], 300),
    "100 rows": seconds(X[:100], 100),
    "20000 rows": seconds(X, 5),
    "labels": predict(X).ravel()[:2000].tolist(),
}}
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Way:
    """How a model is kept, and how a new process uses it."""

    name: str
    model: Any  #: the model that its labels are compared with
    write: Callable[[Path], None]
    imports: str
    load: str  #: an expression for a function of rows, {path} being the file
    is_ours: bool = False

    def script(self, path: Path, rows: Path) -> str:
        """What the new process runs."""
        load = self.load.format(path=repr(str(path)))
        return _MEASURE.format(imports=self.imports, load=load, rows=str(rows))


def rows(n: int = _ROWS) -> np.ndarray:
    """Rows around centroids of a grid, so that all structures have something to find."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 16, _FEATURES)) * 3
    chosen = rng.integers(16, size=(2, n))
    return (a[chosen[0]] + b[chosen[1]] + rng.normal(size=(n, _FEATURES))).astype(np.float32)


def run(options: Any, report: Report) -> None:
    """All ways."""
    try:
        import faiss  # noqa: F401
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as missing:
        raise MissingRequirementError(f'needs {missing.name}: pip install ".[bench]"') from None
    from polymeans import KhatriRaoKMeans, KMeans, QuickKMeans

    X = rows()
    estimators = [
        KMeans(_CLUSTERS, random_state=0),
        QuickKMeans(_CLUSTERS, sparsity_level=3, random_state=0),
        KhatriRaoKMeans((16, 16), random_state=0),
    ]
    models, fits = [], []
    for estimator in estimators:
        estimator.set_params(max_iter=3).fit(X[:2000])  # compile
        estimator.set_params(max_iter=50)
        began = time.perf_counter()
        models.append(estimator.fit(X))
        fits.append(time.perf_counter() - began)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        ways = [way for model in models for way in _ways(model) if options.only in way.name]
        measured, sizes, saves = _measure(ways, Path(folder), min(options.repeats, _ROUNDS))
    seconds = dict(zip((type(model).__name__ for model in models), fits))
    _report(report, ways, measured, sizes, saves, seconds)
    _before_and_after(report, models, ways, measured, X)


def _ways(model: Any) -> list[Way]:
    """All ways to keep a model."""
    import joblib

    import polymeans

    kind = type(model).__name__
    ours = Way(
        f"{kind}: polymeans.load",
        model,
        lambda path: polymeans.save(model, path, labels=False),
        # Names are imported on first use: here, and not while the file is loaded.
        f"import polymeans; polymeans.load, polymeans.{kind}",
        "polymeans.load({path}).predict",
        is_ours=True,
    )
    graph = Way(
        f"{kind}: onnxruntime",
        model,
        lambda path: polymeans.export_onnx(model, path),
        "import onnxruntime",
        "(lambda session: lambda X: session.run(['label'], {{'X': X}})[0])"
        "(onnxruntime.InferenceSession({path}))",
    )
    if kind != "KMeans":
        return [ours, graph]
    theirs = model.to_sklearn()
    del theirs.labels_
    return [
        ours,
        graph,
        Way(
            "KMeans: scikit-learn, joblib",
            model,
            lambda path: joblib.dump(theirs, path) and None,
            "import joblib, sklearn.cluster",
            "joblib.load({path}).predict",
        ),
        Way(
            "KMeans: faiss, flat index",
            model,
            lambda path: _write_index(model.cluster_centers_, path),
            "import faiss",
            "(lambda index: lambda X: index.search(X, 1)[1])(faiss.read_index({path}))",
        ),
    ]


def _write_index(centers: np.ndarray, path: Path) -> None:
    import faiss

    index = faiss.IndexFlatL2(centers.shape[1])
    index.add(centers)
    faiss.write_index(index, str(path))


def _measure(
    ways: list[Way], folder: Path, rounds: int
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, int], dict[str, float]]:
    measured: dict[str, list[dict[str, Any]]] = {way.name: [] for way in ways}
    sizes, saves = {}, {}
    for number, way in enumerate(ways):
        path = folder / f"model{number}"
        way.write(path)
        began = time.perf_counter()
        way.write(path)
        saves[way.name] = time.perf_counter() - began
        sizes[way.name] = path.stat().st_size
    for _ in range(rounds):
        for number, way in enumerate(ways):
            printed = in_new_process(way.script(folder / f"model{number}", folder / "X.npy"))
            measured[way.name].append(json.loads(printed))
    return measured, sizes, saves


def _report(
    report: Report,
    ways: list[Way],
    measured: dict[str, list[dict[str, Any]]],
    sizes: dict[str, int],
    saves: dict[str, float],
    fits: dict[str, float],
) -> None:
    columns = ("import", "load", "first row", "1 row", "100 rows", "20000 rows")
    table, ratios = [], []
    base = next((way for way in ways if way.is_ours), ways[0])
    for way in ways:
        middle = {c: statistics.median(m[c] for m in measured[way.name]) for c in columns}
        expected = way.model.predict(rows()[:2000])
        agree = np.mean(np.asarray(measured[way.name][0]["labels"]) == expected)
        table.append(
            {"": way.name, "bytes": sizes[way.name], "save ms": 1e3 * saves[way.name]}
            | {f"{c} ms": 1e3 * middle[c] for c in columns}
            | {"labels": f"{100 * agree:.2f} %"}
        )
        ours = {c: statistics.median(m[c] for m in measured[base.name]) for c in columns}
        ratios.append(
            {"": way.name, "bytes": sizes[way.name] / sizes[base.name]}
            | {c: middle[c] / ours[c] for c in columns}
        )
    shape = f"{_ROWS} x {_FEATURES} float32 rows, {_CLUSTERS} clusters"
    words = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in fits.items())
    report.table(f"{shape}, medians of new processes", table, f"fits: {words}")
    report.table(f"the same over {base.name}", ratios, "above 1: more bytes or slower than that")


def _before_and_after(
    report: Report,
    models: list[Any],
    ways: list[Way],
    measured: dict[str, list[dict[str, Any]]],
    X: np.ndarray,
) -> None:
    """Our models as they were fitted, in this process, beside the same ones after loading."""
    table = []
    for model in models:
        way = next((way for way in ways if way.is_ours and way.model is model), None)
        if way is None:
            continue
        row: dict[str, Any] = {"": type(model).__name__}
        for name, n, repeats in (
            ("1 row", 1, 300),
            ("100 rows", 100, 100),
            ("20000 rows", _ROWS, 5),
        ):
            loaded = statistics.median(m[name] for m in measured[way.name])
            fitted = _seconds(model.predict, X[:n], repeats)
            row |= {f"{name} ms": 1e3 * fitted, f"{name} loaded/fitted": loaded / fitted}
        table.append(row)
    report.table("as fitted, and after loading", table, "medians; loaded/fitted above 1: slower")


def _seconds(predict: Callable[[np.ndarray], Any], some: np.ndarray, repeats: int) -> float:
    predict(some)
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        predict(some)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
