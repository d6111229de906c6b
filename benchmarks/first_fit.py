"""The first fit of a new installation: how long it waits for the compiler, and later ones do.

For each estimator and container: a fresh cache folder and a fresh process, whose first fit
compiles; a second process, which finds compiled kernels; and in each of them a warm fit, which
waits for nothing. With --wheel, the same for kernels that a release wheel brings along
(tools/build_wheel.py), again with an empty cache folder. The time that numba needs for a fixed
function is measured between the cases, so that figures of different machines can be compared. First
fits and that function are also given in seconds of the processor, which other programs disturb
less. All of it takes five to ten minutes.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from benchmarks.harness import MissingRequirementError, Report

_SOURCE = Path(__file__).resolve().parent.parent / "src"

#: Titles, and what is fitted to dense or sparse rows.
ESTIMATORS = {
    "KMeans": "KMeans(8, random_state=0)",
    "KMeans, 200 clusters": "KMeans(200, random_state=0)",
    "KhatriRaoKMeans": "KhatriRaoKMeans((4, 4), random_state=0)",
    "NonRedundantKMeans": "NonRedundantKMeans((3, 3), random_state=0)",
    "TransformedKMeans": "TransformedKMeans(8, random_state=0)",
    "QuickKMeans": "QuickKMeans(32, random_state=0)",
    "L1KMeans": "L1KMeans(8, random_state=0)",
}

_ROWS = {
    "dense": "make_blobs(3000, 20, centers=8, cluster_std=3.0, random_state=0)[0]",
    "sparse": "make_documents(1500, 400, n_topics=8, random_state=0)[0]",
}

_FIT = """
import json, time, warnings
import numpy as np
from sklearn.datasets import make_blobs
import polymeans
from polymeans import *
from polymeans.datasets import make_documents
warnings.simplefilter("ignore")
X = {rows}
polymeans.{kind}

def fit():
    began = time.perf_counter()
    {estimator}.fit(X)
    return time.perf_counter() - began

cpu = time.process_time()
first = fit()
cpu = time.process_time() - cpu
warm = min(fit() for _ in range(3))
from polymeans.kernels.compile import CPUDispatcher
import sys
n_compiled = 0
for module in [m for n, m in list(sys.modules.items()) if n.startswith("polymeans.kernels.")]:
    for value in vars(module).values():
        if isinstance(value, CPUDispatcher) and value.__module__ == module.__name__:
            n_compiled += sum(value.stats.cache_misses.values())
where = polymeans.__file__
print(json.dumps(dict(first=first, cpu=cpu, warm=warm, n_compiled=n_compiled, where=where)))
"""

#: Compiled without a cache: loops, a reduction, a branch, and numpy functions.
_REFERENCE = """
import time
import numpy as np
from numba import njit

@njit
def smooth(x, width):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(max(0, i - width), min(x.shape[0], i + width + 1)):
            total += x[j] if x[j] > 0.0 else -x[j]
        out[i] = np.sqrt(total / (2 * width + 1))
    return np.sort(out)[: x.shape[0] // 2].mean()

began = time.process_time()
smooth(np.arange(100.0), 3)
print(time.process_time() - began)
"""

_IMPORTS = {
    "sklearn.cluster": "import sklearn.cluster",
    "polymeans.KMeans": "from polymeans import KMeans",
    "all estimators": "from polymeans import *",
}


def run(options: Any, report: Report) -> None:
    """All cases."""
    reference, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        installed = _unpacked(options.wheel, Path(folder)) if options.wheel else None
        for name, estimator in ESTIMATORS.items():
            for container, made in _ROWS.items():
                title = f"{container} rows: {name}"
                if options.only not in title:
                    continue
                reference.append(float(_printed(_REFERENCE, {})))
                code = _FIT.format(rows=made, kind=estimator.partition("(")[0], estimator=estimator)
                cache = Path(folder) / "cache" / name / container
                new, later = _fitted(code, _SOURCE, cache), _fitted(code, _SOURCE, cache)
                row = {
                    "": title,
                    "first fit": new["first"],
                    "of the processor": new["cpu"],
                    "compiled": new["n_compiled"],
                    "next process": later["first"],
                    "warm fit": later["warm"],
                    "next - warm": later["first"] - later["warm"],
                }
                if installed is not None:
                    found = _fitted(code, installed, cache.with_name(f"{container}, wheel"))
                    row["wheel"] = found["first"]
                    row["wheel compiled"] = found["n_compiled"]
                    row["wheel - warm"] = found["first"] - found["warm"]
                rows.append(row)
                print("; ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if rows:
        needed = statistics.median(reference)
        note = f"seconds; numba needs {needed:.2f} s of the processor for the reference function"
        report.table("first fits, an empty cache and a new process for each", rows, note)
    if options.only in "imports":
        _imports(report, max(3, options.repeats))


def _unpacked(wheel: Path, folder: Path) -> Path:
    if not wheel.is_file():
        raise MissingRequirementError(
            f"{wheel} is no wheel; build one: python tools/build_wheel.py --out dist"
        )
    with zipfile.ZipFile(wheel) as content:
        content.extractall(folder / "installed")
    return folder / "installed"


def _fitted(code: str, source: Path, cache: Path) -> dict[str, Any]:
    settings = {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
    found: dict[str, Any] = json.loads(_printed(code, settings))
    if not Path(found["where"]).is_relative_to(source):
        raise RuntimeError(f"polymeans was imported from {found['where']}, not from {source}.")
    return found


def _printed(code: str, settings: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
    )
    if done.returncode:
        raise RuntimeError(f"A measurement in a process of its own failed:\n{done.stderr}")
    return done.stdout


def _imports(report: Report, repeats: int) -> None:
    """Seconds of imports, by turns; the best of each, because noise only adds time."""
    timed = "import time; began = time.perf_counter(); {}; print(time.perf_counter() - began)"
    found: dict[str, list[float]] = {name: [] for name in _IMPORTS}
    for _ in range(repeats + 1):  # the first round reads files from the disk
        for name, statement in _IMPORTS.items():
            settings = {"PYTHONPATH": str(_SOURCE)}
            found[name].append(float(_printed(timed.format(statement), settings)))
    best = {name: min(seconds[1:]) for name, seconds in found.items()}
    base = best["sklearn.cluster"]
    rows = [
        {"": name, "seconds": seconds, "more than scikit-learn": seconds - base}
        for name, seconds in best.items()
    ]
    report.table("imports, each in a new process", rows, f"best of {repeats}")
