"""Kernel features: values of the kernel, exact where every row is a landmark."""

from collections.abc import Iterator

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.containers import SPARSE, fingerprint, wrap
from benchmarks.fuzz.values import draw_values
from benchmarks.fuzz.watch import watched
from polymeans import KMeans
from polymeans.kernel_approximation import ClusterNystroem, HadamardNystroem, nystroem_error

_KINDS = ("normal", "blobs", "small integers", "bits", "tenths", "duplicates", "counts")


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """Rows of ordinary size: a kernel of others is zero or one."""
    n, d = int(rng.integers(2, 30)), int(rng.integers(1, 7))
    dtype = "float32" if rng.random() < 0.3 else "float64"
    X, kind = draw_values(rng, n, d, dtype, _KINDS)
    container = str(rng.choice(SPARSE)) if rng.random() < 0.3 else "C order"
    params = {
        "way": str(rng.choice(["clusters", "hadamard"])),
        "kernel": str(rng.choice(["rbf", "linear", "polynomial", "cosine", "sigmoid"])),
        "n_components": int(rng.integers(1, n + 1)),
        "n_threads": int(rng.integers(1, 4)),
        "seeds": str(rng.choice(["uniform", "k-means"])),
    }
    return Case(area, seed, number, X, container, None, params, frozenset({kind, container, dtype}))


def check(case: Case) -> Iterator[str]:
    """Features of the rows that landmarks come from."""
    X, params = wrap(case.X, case.container), case.params
    before = fingerprint(X)
    size = min(params["n_components"], len(case.X))
    common = {"kernel": params["kernel"], "n_components": size, "random_state": 0}
    if params["way"] == "clusters":
        clusterer = KMeans(size, random_state=0)
        model = ClusterNystroem(clusterer=clusterer, n_threads=params["n_threads"], **common)
    else:
        model = HadamardNystroem(seeds=params["seeds"], n_threads=params["n_threads"], **common)
    with watched(refusable=False):
        features = model.fit(X).transform(X)
        values = model.kernel_values(X)
        error = nystroem_error(X, model)
    yield require(fingerprint(X) == before, "input is unchanged", "rows differ")
    yield require(np.isfinite(features).all(), "attributes are finite", "features")
    yield require(features.dtype == case.X.dtype, "float32 stays float32", features.dtype)
    wide = case.X.astype(np.float64)
    gamma = {"gamma": model.gamma_} if params["kernel"] in ("rbf", "polynomial", "sigmoid") else {}
    expected = pairwise_kernels(wide, metric=params["kernel"], **gamma)
    near = np.allclose(values, expected, rtol=1e-6, atol=1e-9 * (1 + np.abs(expected).max()))
    yield require(near, "kernel values", lambda: f"off by {np.abs(values - expected).max():.3g}")
    found = features.astype(np.float64) @ features.T.astype(np.float64)
    total = np.linalg.norm(expected)
    really = np.linalg.norm(expected - found) / total if total > 0 else 0.0
    yield require(
        abs(really - error) <= 1e-6 * (1 + really), "error of features", f"{error!r}, {really!r}"
    )
    positive = params["kernel"] not in ("sigmoid",)
    every_row = len(np.unique(case.X, axis=0)) == size == len(case.X)
    if params["way"] == "clusters" and every_row and positive and case.X.dtype == np.float64:
        yield require(error < 1e-4, "exact where every row is a landmark", error)
