"""This checkout against another one: our own times and memory, in turns, case by case.

Every measurement is a process of its own that imports the package from one of the two checkouts.
The first process of each compiles its kernels and is not counted. What is printed is the best of
the repeats, because noise only ever adds time, and the peak memory that the first call adds, the
compiled kernels included.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import MissingRequirementError, Report

_HERE = Path(__file__).resolve().parent.parent

_PREAMBLE = """
import json, sys, time, warnings
import numpy as np
sys.path.insert(0, {home!r})
from pathlib import Path
import polymeans
from polymeans import *
from benchmarks.data import load, mixture, noise, tfidf
DATA = Path({data!r})
warnings.simplefilter("ignore")

def resident(field):
    with open("/proc/self/status") as lines:
        return int(dict(line.split(":", 1) for line in lines)[field].split()[0]) / 1024

def first_rows(X, k):
    rows = X[np.random.default_rng(0).permutation(X.shape[0])[:k]]
    return rows.toarray() if hasattr(rows, "toarray") else rows

{setup}
def call():
{call}

before = resident("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
call()
n_calls = {n_calls}
began = time.perf_counter()
for _ in range(n_calls):
    call()
seconds = (time.perf_counter() - began) / n_calls
peak = resident("VmHWM") - before
print(json.dumps(dict(seconds=seconds, peak=peak, where=polymeans.__file__)))
"""


def _fit(rows: str, k: int, n_iter: int = 20) -> tuple[str, str]:
    setup = f"X = {rows}; start = first_rows(X, {k})"
    return setup, f"KMeans({k}, init=start, n_init=1, max_iter={n_iter}, tol=0).fit(X)"


_MNIST = '(load(DATA, "mnist")["X"][:{}].astype(np.float32) / 255)'

#: Title, what is prepared, what is measured, calls in one measurement.
CASES: list[tuple[str, str, str, int]] = [
    ("sparse 20newsgroups k=100", *_fit('tfidf(DATA, "20newsgroups")', 100, 50), 1),
    ("sparse 20newsgroups k=500", *_fit('tfidf(DATA, "20newsgroups")', 500, 50), 1),
    ("sparse tdt2 k=500", *_fit('tfidf(DATA, "tdt2")', 500, 50), 1),
    ("sparse imdb k=100", *_fit('tfidf(DATA, "imdb_100k")', 100, 20), 1),
    (
        "seeding tdt2 k=500",
        'X = tfidf(DATA, "tdt2")',
        "KMeans(500, random_state=0, max_iter=1).fit(X)",
        1,
    ),
    (
        "seeding mixture 100000x64 k=256",
        "X = mixture(100000, 64, 256)",
        "KMeans(256, random_state=0, max_iter=1).fit(X)",
        1,
    ),
    ("dense mnist 20000x784 k=100", *_fit(_MNIST.format(20000), 100), 1),
    ("dense mnist 70000x784 k=10", *_fit(_MNIST.format(70000), 10), 1),
    ("dense mixture 100000x64 k=256", *_fit("mixture(100000, 64, 256)", 256), 1),
    ("dense noise 100000x64 k=256", *_fit("noise(100000, 64)", 256), 1),
    ("dense mixture 20000x100 k=1000", *_fit("mixture(20000, 100, 1000)", 1000), 1),
    ("dense 1000000x8 k=16", *_fit("mixture(1000000, 8, 16)", 16), 1),
    (
        "dense 100000x10 k=8 float64",
        *_fit("mixture(100000, 10, 8).astype(np.float64)", 8),
        5,
    ),
    ("dense 1797x64 k=10 float64", *_fit("noise(1797, 64).astype(np.float64)", 10), 20),
    (
        "Khatri-Rao sums 32x32",
        "X = mixture(20000, 100, 1024)",
        'KhatriRaoKMeans((32, 32), init="random", n_init=1, max_iter=20, tol=0, '
        "random_state=0).fit(X)",
        1,
    ),
    (
        "Khatri-Rao products 16x16",
        "X = mixture(20000, 100, 256)",
        'KhatriRaoKMeans((16, 16), aggregator="product", init="random", n_init=1, max_iter=20, '
        "tol=0, random_state=0).fit(X)",
        1,
    ),
    (
        "Khatri-Rao sums 10x10 tdt2",
        'X = tfidf(DATA, "tdt2")',
        'KhatriRaoKMeans((10, 10), init="random", n_init=1, max_iter=20, tol=0, '
        "random_state=0).fit(X)",
        1,
    ),
    (
        "NonRedundant digits",
        "from sklearn.datasets import load_digits; X = load_digits().data",
        "NonRedundantKMeans((5, 5), random_state=0).fit(X)",
        1,
    ),
    (
        "Quick digits",
        "from sklearn.datasets import load_digits; X = load_digits().data",
        "QuickKMeans(64, n_nonzeros=1400, random_state=0).fit(X)",
        1,
    ),
    (
        "Transformed digits",
        "from sklearn.datasets import load_digits; X = load_digits().data",
        "TransformedKMeans(10, random_state=0).fit(X)",
        1,
    ),
    (
        "predict 36000x64 k=100",
        "X = mixture(36000, 64, 100); model = KMeans(100, random_state=0, max_iter=2).fit(X)",
        "model.predict(X)",
        20,
    ),
    (
        "predict one row",
        "X = mixture(2000, 64, 20); model = KMeans(20, random_state=0, max_iter=2).fit(X)",
        "model.predict(X[:1])",
        500,
    ),
    (
        "predict tdt2 k=500",
        'X = tfidf(DATA, "tdt2"); model = KMeans(500, init="random", n_init=1, random_state=0, '
        "max_iter=2).fit(X)",
        "model.predict(X)",
        2,
    ),
    (
        "predict through factors 20000x784 k=64",
        "X = mixture(20000, 784, 64); model = QuickKMeans(64, sparsity_level=3, random_state=0, "
        "max_iter=3).fit(X)",
        "model.predict(X)",
        10,
    ),
]


def run(options: Any, report: Report) -> None:
    """All cases, in both checkouts by turns."""
    if options.before is None:
        raise MissingRequirementError("needs another checkout of this repository: --before DIR.")
    if options.data is None:
        raise MissingRequirementError("needs the papers' data sets: --data DIR.")
    sources = {"before": options.before.resolve() / "src", "after": _HERE / "src"}
    rows = []
    for title, setup, call, n_calls in CASES:
        if options.only not in title:
            continue
        code = _PREAMBLE.format(
            home=str(_HERE),
            data=str(options.data),
            setup=setup,
            call=f"    {call}",
            n_calls=n_calls,
        )
        found: dict[str, list[dict[str, Any]]] = {"before": [], "after": []}
        for _ in range(options.repeats):
            for side, source in sources.items():
                found[side].append(_measured(code, source))
        seconds = {side: min(one["seconds"] for one in found[side]) for side in found}
        peak = {side: min(one["peak"] for one in found[side]) for side in found}
        rows.append(
            {
                "": title,
                "before": seconds["before"],
                "after": seconds["after"],
                "after/before": seconds["after"] / seconds["before"],
                "MB before": peak["before"],
                "MB after": peak["after"],
            }
        )
        last = rows[-1]
        print(
            f"{title}: {last['before']:.4g} -> {last['after']:.4g} s "
            f"({last['after/before']:.2f}), {last['MB before']:.0f} -> {last['MB after']:.0f} MB",
            flush=True,
        )
    report.table(f"before and after, best of {options.repeats}", rows)


def _measured(code: str, source: Path) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise RuntimeError(f"A measurement in a process of its own failed:\n{done.stderr}")
    found = json.loads(done.stdout)
    if not Path(found["where"]).is_relative_to(source):
        raise RuntimeError(f"polymeans was imported from {found['where']}, not from {source}.")
    return found
