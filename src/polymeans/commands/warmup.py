"""``polymeans warmup``: compile the kernels before they are needed."""

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

from polymeans.commands.errors import UsageError
from polymeans.commands.terminal import Bar, note, say_json

_ABOUT = (
    "Compile the kernels of all estimators for dense and sparse rows of float32 and float64. They "
    "are kept on the disk: the first fit after it starts at once."
)


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("warmup", help="compile kernels ahead", description=_ABOUT)
    parser.add_argument(
        "--only", default="", metavar="TEXT", help='such as "KMeans" or "dense float64"'
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes, default 1")
    parser.add_argument(
        "--native",
        action="store_true",
        help="compile for this processor, even what a release wheel brings for all processors",
    )
    parser.add_argument("--json", action="store_true", help="write results as JSON")
    parser.add_argument("--quiet", action="store_true", help="no messages and no progress bar")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Fit small problems, in one process or in several."""
    import sys

    from polymeans.kernels.cache import NATIVE

    names = [name for name, _, _ in problems() if options.only in name]
    if not names:
        raise UsageError(f"no problem has {options.only!r} in its name", "polymeans warmup")
    if options.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, got {options.jobs}", "polymeans warmup")
    bar = Bar("compiling", sys.stderr.isatty() and not options.quiet)
    began = time.perf_counter()
    n_kernels = 0
    bar(0, len(names), names[0])
    before = os.environ.get(NATIVE)
    if options.native:
        os.environ[NATIVE] = "1"  # other processes inherit it
    try:
        for done, (name, compiled) in enumerate(_solved(names, options.jobs), 1):
            n_kernels += compiled
            bar(done, len(names), name)
    finally:
        if options.native and before is None:
            del os.environ[NATIVE]
    bar.clear()
    seconds = time.perf_counter() - began
    if options.json:
        found = {"n_fits": len(names), "n_compiled": n_kernels, "seconds": round(seconds, 1)}
        say_json(found)
    elif not options.quiet:
        note(
            f"{len(names)} small fits in {seconds:.0f} s; {n_kernels} kernels were compiled, the "
            "others were there."
        )


def _solved(names: list[str], n_jobs: int) -> Iterator[tuple[str, int]]:
    """Names of problems as they are solved, and how many kernels each compiled."""
    if n_jobs == 1:
        yield from ((name, solve(name)) for name in names)
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    with ProcessPoolExecutor(n_jobs, get_context("spawn")) as processes:
        tasks = {processes.submit(solve, name): name for name in names}
        for task in as_completed(tasks):
            yield tasks[task], task.result()


def solve(name: str) -> int:
    """Solve the problem of this name; how many kernels were compiled."""
    from polymeans.commands.compiling import Compiling

    estimator, rows = next(found[1:] for found in problems() if found[0] == name)
    with Compiling() as compiling:
        exercise(estimator, rows)
    return compiling.n_kernels


def problems() -> Iterator[tuple[str, Any, Any]]:
    """Names, estimators and rows that together use the kernels of ordinary fits."""
    import numpy as np

    from polymeans import (
        KhatriRaoKMeans,
        KMeans,
        L1KMeans,
        NonRedundantKMeans,
        QuickKMeans,
        TransformedKMeans,
    )

    dense, sparse, wide, many = _rows()
    both = (dense, sparse)
    cases: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "KMeans": (KMeans(40, random_state=0), both),
        "KMeans of few clusters": (KMeans(4, random_state=0), both),
        "KMeans of many clusters": (KMeans(256, n_init=1, max_iter=20, random_state=0), both),
        "KMeans of many features": (KMeans(40, random_state=0), (wide,)),
        "KMeans of many clusters and features": (
            KMeans(512, init="random", max_iter=4, random_state=0),
            (many,),
        ),
        "KMeans far from zero": (KMeans(40, random_state=0), (dense + 1000.0,)),
        "KMeans, elkan": (KMeans(40, algorithm="elkan", random_state=0), both),
        "KMeans, lloyd": (KMeans(40, algorithm="lloyd", random_state=0), both),
        "KMeans, lazy": (KMeans(40, algorithm="lazy", random_state=0), both),
        "KMeans, k-means||": (KMeans(20, init="k-means||", random_state=0), both),
        "KMeans, cosine": (KMeans(20, metric="cosine", random_state=0), both),
        "KhatriRaoKMeans": (KhatriRaoKMeans((4, 5), effort=0.25, random_state=0), both),
        "KhatriRaoKMeans of products": (
            KhatriRaoKMeans((3, 4), aggregator="product", effort=0.25, random_state=0),
            both,
        ),
        "KhatriRaoKMeans of products of many features": (
            KhatriRaoKMeans((3, 4), aggregator="product", effort=0.25, random_state=0),
            (wide,),
        ),
        "QuickKMeans": (QuickKMeans(32, max_iter=3, effort=0.25, random_state=0), both),
        "QuickKMeans of many features": (
            QuickKMeans(100, max_iter=3, effort=0.25, random_state=0),
            (wide,),
        ),
        "L1KMeans": (L1KMeans(20, random_state=0), both),
        "TransformedKMeans": (TransformedKMeans(8, n_init=2, random_state=0), both),
        "TransformedKMeans of many clusters": (
            TransformedKMeans(40, n_init=2, random_state=0),
            both,
        ),
        "NonRedundantKMeans": (NonRedundantKMeans((3, 3), effort=0.2, random_state=0), both),
    }
    for kind in (np.float32, np.float64):
        for name, (estimator, inputs) in cases.items():
            for rows in inputs:
                given = rows.astype(kind)
                if "products" in name:
                    given = abs(given)
                container = "dense" if isinstance(rows, np.ndarray) else "sparse"
                yield f"{name}, {container} {np.dtype(kind).name}", estimator, given


@cache
def _rows() -> tuple[Any, Any, Any, Any]:
    """Dense and sparse rows, dense ones of many features, and enough of them to be sampled."""
    import numpy as np

    from polymeans.datasets import make_documents

    rng = np.random.default_rng(0)
    centers = 5 * rng.normal(size=(40, 16))
    dense = centers[rng.integers(40, size=4000)] + rng.normal(size=(4000, 16))
    sparse, _ = make_documents(1500, 600, n_topics=8, random_state=0)
    wide = 5 * rng.normal(size=(40, 300))[rng.integers(40, size=1200)]
    wide += rng.normal(size=wide.shape)
    many = 5 * rng.normal(size=(512, 128))[rng.integers(512, size=4200)]
    many += rng.normal(size=many.shape)
    return dense, sparse, wide, many


def exercise(estimator: Any, rows: Any) -> None:
    """Fit, and use what was fitted, on many rows and on few; fit with weights and by batches."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(rows)
        for some in (rows, rows[:3]):
            model.predict(some)
            model.transform(some)
        model.score(rows)
        some = rows[:1000]
        clone(estimator).fit(some, sample_weight=[1.0 + i % 2 for i in range(1000)])
        if hasattr(estimator, "partial_fit"):
            clone(estimator).partial_fit(some).partial_fit(some)
