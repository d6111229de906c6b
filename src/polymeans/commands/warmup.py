"""``polymeans warmup``: compile the kernels before they are needed."""

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

from polymeans.commands.terminal import Bar, note, say_json

_ABOUT = (
    "Compile the kernels of all estimators for dense and sparse rows of float32 and float64. They "
    "are kept on the disk: the first fit after it starts at once."
)


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("warmup", help="compile kernels ahead", description=_ABOUT)
    parser.add_argument("--json", action="store_true", help="write results as JSON")
    parser.add_argument("--quiet", action="store_true", help="no messages and no progress bar")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Fit small problems, one after the other."""
    import sys

    steps = list(problems())
    bar = Bar("compiling", sys.stderr.isatty() and not options.quiet)
    began = time.perf_counter()
    for done, (name, estimator, rows) in enumerate(steps):
        bar(done, len(steps), name)
        exercise(estimator, rows)
    bar.clear()
    seconds = time.perf_counter() - began
    if options.json:
        say_json({"n_fits": len(steps), "seconds": round(seconds, 1)})
    elif not options.quiet:
        note(f"{len(steps)} small fits in {seconds:.0f} s; kernels are compiled.")


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
    from polymeans.datasets import make_documents

    rng = np.random.default_rng(0)
    centers = 5 * rng.normal(size=(40, 16))
    dense = centers[rng.integers(40, size=4000)] + rng.normal(size=(4000, 16))
    sparse, _ = make_documents(1500, 600, n_topics=8, random_state=0)
    estimators = {
        "KMeans": KMeans(40, random_state=0),
        "KMeans of few clusters": KMeans(4, random_state=0),
        "KMeans, cosine": KMeans(20, metric="cosine", random_state=0),
        "KhatriRaoKMeans": KhatriRaoKMeans((4, 5), effort=0.25, random_state=0),
        "KhatriRaoKMeans of products": KhatriRaoKMeans(
            (3, 4), aggregator="product", effort=0.25, random_state=0
        ),
        "QuickKMeans": QuickKMeans(32, max_iter=3, effort=0.25, random_state=0),
        "L1KMeans": L1KMeans(20, random_state=0),
        "TransformedKMeans": TransformedKMeans(8, n_init=2, random_state=0),
        "NonRedundantKMeans": NonRedundantKMeans((3, 3), effort=0.2, random_state=0),
    }
    for kind in (np.float32, np.float64):
        for name, estimator in estimators.items():
            for rows, container in ((dense, "dense"), (sparse, "sparse")):
                given = rows.astype(kind)
                if "products" in name:
                    given = abs(given)
                yield f"{name}, {container} {np.dtype(kind).name}", estimator, given


def exercise(estimator: Any, rows: Any) -> None:
    """Fit, and use what was fitted, on many rows and on few."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(rows)
        for some in (rows, rows[:3]):
            model.predict(some)
            model.transform(some)
        model.score(rows)
