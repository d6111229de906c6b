"""Fits of ordinary sizes, and the kernels that they need beyond those of ``polymeans warmup``.

As a program: the problems of warmup whose names end with the argument are solved, then fits are
made whose names do. Every kernel that is new in a fit is printed, whether it is compiled or loaded
from the disk; so it does not matter what other processes compiled.
"""

import sys
import warnings

import numpy as np

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)
from polymeans.commands import warmup
from polymeans.datasets import make_documents
from polymeans.kernels.compile import InnerKernel
from tests.kernels.mapped import kernels


def blobs(n, d, k=10, middle=0.0):
    """Rows around k points."""
    rng = np.random.default_rng(1)
    centers = middle + 5 * rng.normal(size=(k, d))
    return centers[rng.integers(k, size=n)] + rng.normal(size=(n, d))


def plain_fits(container):
    """KMeans of many sizes and parameters: names, estimators and rows."""
    if container == "sparse":
        documents, _ = make_documents(3000, 2000, n_topics=10, random_state=1)
        inputs = {"documents": documents, "few documents": documents[:100]}
    else:
        inputs = {
            "few rows": blobs(150, 4),
            "planar rows": blobs(1000, 2),
            "rows": blobs(3000, 16),
            "rows of 300 features": blobs(600, 300),
            "rows far from zero": blobs(1500, 30, middle=1e3),
            "rows very far from zero": blobs(1000, 16, middle=1e6),
        }
    options = [{"n_clusters": k} for k in (1, 2, 8, 30, 100, 200, 300)]
    options += [{"algorithm": name} for name in ("lloyd", "lazy", "elkan")]
    options += [{"algorithm": name, "n_clusters": 60} for name in ("lloyd", "lazy", "elkan")]
    options += [{"init": name} for name in ("random", "k-means||", "afk-mc2")]
    options += [{"metric": "cosine"}, {"metric": "cosine", "n_clusters": 60}]
    for title, rows in inputs.items():
        for given in options:
            if given.get("n_clusters", 8) < rows.shape[0]:
                yield f"KMeans, {given}, {title}", KMeans(**given, n_init=1, random_state=0), rows


def structured_fits(container):
    """The other estimators."""
    if container == "sparse":
        documents, _ = make_documents(1500, 800, n_topics=10, random_state=1)
        inputs = {"documents": documents}
    else:
        inputs = {
            "few rows": blobs(150, 4),
            "rows": blobs(3000, 16),
            "rows of 300 features": blobs(1000, 300),
            "rows far from zero": blobs(3000, 16, middle=1e3),
        }
    estimators = [
        KhatriRaoKMeans((4, 4), random_state=0),
        KhatriRaoKMeans((12, 15), random_state=0),
        KhatriRaoKMeans((3, 3, 3), random_state=0),
        KhatriRaoKMeans((4, 4), aggregator="product", random_state=0),
        QuickKMeans(8, random_state=0),
        QuickKMeans(100, max_iter=5, random_state=0),
        L1KMeans(8, random_state=0),
        L1KMeans(100, random_state=0),
        TransformedKMeans(8, random_state=0),
        TransformedKMeans(40, random_state=0),
        NonRedundantKMeans((3, 3), random_state=0),
        NonRedundantKMeans((10, 5), effort=0.3, random_state=0),
    ]
    for title, rows in inputs.items():
        for estimator in estimators:
            given = abs(rows) if getattr(estimator, "aggregator", "") == "product" else rows
            yield f"{estimator}, {title}", estimator, given


def known():
    """Kernels that Python calls, with signatures."""
    return {
        f"{kernel.__module__}.{kernel.__qualname__} {kinds}"
        for kernel in kernels()
        if not isinstance(kernel, InnerKernel)
        for kinds in kernel.signatures
    }


def main(combination, every):
    """Print names of fits and of kernels that were not there."""
    container, dtype = combination.split()
    for name, estimator, rows in warmup.problems():
        if name.endswith(combination) and (every or name.startswith("KMeans")):
            warmup.exercise(estimator, rows)
    before = known()
    fits = [*plain_fits(container), *(structured_fits(container) if every else ())]
    for name, estimator, rows in fits:
        given = rows.astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator.fit(given)
            for some in (given, given[:1]):
                model.predict(some)
                model.transform(some)
            model.score(given)
        after = known()
        for kernel in sorted(after - before):
            print(f"{name}: {kernel}", flush=True)
        before = after


if __name__ == "__main__":
    main(sys.argv[1], "every" in sys.argv[2:])
