"""Dense float32 rows: time of an iteration against peers and the bare product; memory."""

import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.data import load, mixture, noise
from benchmarks.harness import Report, compete

CASES = [
    (20000, 784, 100),
    (100000, 64, 256),
    (20000, 100, 1000),
    (50000, 128, 2048),
]
N_ITER = 20

#: Short fits, in which bounds have no time to pay.
N_SHORT = 6


def run(options: Any, report: Report) -> None:
    """All cases on structured rows, then the same shapes on pure noise, then memory."""
    for n, d, k in CASES:
        kinds = ["mnist" if d == 784 else "mixture", "noise"]
        for kind in kinds:
            title = f"{n}x{d} k={k} {kind}"
            lengths = [N_ITER, N_SHORT] if kind == "noise" else [N_ITER]
            for n_iter in lengths:
                if options.only in f"{title} {n_iter} iterations":
                    _case(title, _rows(options, kind, n, d, k), k, n_iter, options, report)
    if options.only in "memory":
        _memory(report)


def _rows(options: Any, kind: str, n: int, d: int, k: int) -> np.ndarray:
    if kind == "mnist":
        return load(options.data, "mnist")["X"][:n].astype(np.float32) / 255
    return mixture(n, d, k) if kind == "mixture" else noise(n, d)


def _case(title: str, X: np.ndarray, k: int, n_iter: int, options: Any, report: Report) -> None:
    start = X[np.random.RandomState(0).choice(len(X), k, replace=False)].copy()
    results = compete(
        peers.ours(X, start),
        [
            replace(peers.scikit_learn(X, start, "lloyd"), equal_iterations=False),
            peers.faiss(X, start),
            peers.intelex(X, start),
            peers.scikit_learn(X, start, "elkan"),
        ],
        n_iter=n_iter,
        repeats=options.repeats,
        patience=50,
    )
    bare = _bare_product(X, start)
    mine = results["polymeans"]
    table = []
    for result in results.values():
        # A fit of m iterations assigns m + 1 times; faiss stops one short of that.
        passes = result.outcome["n_iter"] + (result.name != "faiss")
        own_passes = mine.outcome["n_iter"] + 1
        labels = result.outcome["labels"]
        table.append(
            {
                "": result.name,
                "ms/iteration": 1e3 * result.seconds / passes,
                "ratio": (result.seconds / passes) / (mine.seconds / own_passes),
                "of bare product": result.seconds / passes / bare,
                "inertia": result.outcome["inertia"],
                "equal labels": ""
                if labels is None
                else float(np.mean(labels == mine.outcome["labels"])),
            }
        )
    table.append({"": "bare X @ C.T", "ms/iteration": 1e3 * bare})
    report.table(f"{title} float32, {n_iter} iterations", table)


def _bare_product(X: np.ndarray, C: np.ndarray) -> float:
    out = np.empty((len(X), len(C)), dtype=X.dtype)
    times = []
    for _ in range(7):
        began = time.perf_counter()
        np.dot(X, C.T, out=out)
        times.append(time.perf_counter() - began)
    return min(times)


_MEMORY_PROBE = """
import resource, sys
import numpy as np
from {module} import KMeans
X = np.random.default_rng(0).standard_normal((1_000_000, 32), dtype=np.float32)
KMeans(4, init=X[:4], n_init=1, max_iter=2).fit(X[:1000])
KMeans(64, init=X[:64], n_init=1, max_iter=3).fit(X[:5000])
def resident():
    with open("/proc/self/status") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return int(fields["VmRSS"].split()[0]) / 1024
before = resident()
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
KMeans(1000, init=X[:1000], n_init=1, max_iter=5, tol=0).fit(X)
with open("/proc/self/status") as lines:
    peak = int(dict(line.split(":", 1) for line in lines)["VmHWM"].split()[0]) / 1024
print(peak - before)
"""


def _memory(report: Report) -> None:
    """Peak resident memory a fit adds, each in a process of its own."""
    table = []
    for name, module in (("polymeans", "polymeans"), ("sklearn", "sklearn.cluster")):
        code = _MEMORY_PROBE.format(module=module)
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        table.append({"": name, "additional peak MB": float(out)})
    report.table("memory 1000000x32 float32 k=1000, 5 iterations", table)
