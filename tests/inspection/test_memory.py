"""Estimates of memory: beside measured peaks, for every estimator."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
    memory_estimate,
)
from polymeans.blocks import from_sequence

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

BRIEF = {"max_iter": 3, "random_state": 0, "n_threads": 2}

ESTIMATORS = {
    "few": lambda: KMeans(16, **BRIEF),
    # Bounds are set up once they pay.
    "many": lambda: KMeans(300, **{**BRIEF, "max_iter": 30}),
    "lloyd": lambda: KMeans(100, algorithm="lloyd", **BRIEF),
    "elkan": lambda: KMeans(100, algorithm="elkan", **BRIEF),
    "cosine": lambda: KMeans(40, metric="cosine", **BRIEF),
    "l1": lambda: L1KMeans(40, **BRIEF),
    "quick": lambda: QuickKMeans(40, effort=0.1, **BRIEF),
    "sum": lambda: KhatriRaoKMeans((4, 8), effort=0.05, **BRIEF),
    "product": lambda: KhatriRaoKMeans((4, 8), aggregator="product", effort=0.05, **BRIEF),
    "views": lambda: NonRedundantKMeans((3, 4), effort=0.05, **BRIEF),
    "transformed": lambda: TransformedKMeans(10, n_init=1, **BRIEF),
}
SPARSE = ("few", "many", "lloyd", "cosine", "l1", "quick")

#: Estimators that the default run measures with float32 rows, too.
SHORT = ("few", "quick", "sum")


def peak_of(model, X):
    """Bytes that a fit adds to the rows at its peak; of two fits, since the first may compile."""
    peaks = []
    for _ in range(2):
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            model.fit(X)
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
        finally:
            tracemalloc.stop()
    return min(peaks)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, "float64") for name in ESTIMATORS),
        *((name, "float32") for name in SHORT),
        *(
            pytest.param(name, "float32", marks=pytest.mark.long)
            for name in ESTIMATORS
            if name not in SHORT
        ),
    ],
)
def test_estimates_are_near_measured_peaks(name, dtype):
    make = ESTIMATORS[name]
    X = np.random.default_rng(0).normal(size=(20_000, 24)).astype(dtype)
    make().fit(X[:1000])  # kernels are compiled before anything is measured
    estimate = memory_estimate(X.shape, make(), dtype=dtype)
    assert estimate.rows == X.nbytes
    assert 0.95 < estimate.fit / peak_of(make(), X) < 3.0


@pytest.mark.parametrize("name", SPARSE)
def test_estimates_for_sparse_rows(name):
    make = ESTIMATORS[name]
    X = sp.random(10_000, 1500, 0.01, "csr", random_state=0)
    make().fit(X[:1000])
    estimate = memory_estimate(X.shape, make(), density=0.01)
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    assert estimate.rows == pytest.approx(stored, rel=0.01)
    assert 0.9 < estimate.fit / peak_of(make(), X) < 2.5


def test_a_number_is_kmeans():
    assert memory_estimate((1000, 10), 5) == memory_estimate((1000, 10), KMeans(5))
    estimate = memory_estimate((1000, 10), 5)
    assert estimate.peak == estimate.rows + estimate.fit
    assert estimate.model == 5 * 10 * 8 + 1000 * 4
    assert "rows 80.0 kB" in str(estimate)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_stand_for_their_shape(dtype):
    X = np.zeros((300, 10), dtype=dtype)
    X[:, 0] = 1.0
    expected = memory_estimate(X.shape, 4, dtype=dtype)
    for rows in (X, pd.DataFrame(X), pl.DataFrame(X)):
        assert memory_estimate(rows, 4) == expected
    assert memory_estimate(X, 4, dtype="float32") == memory_estimate(X.shape, 4, dtype="float32")
    assert memory_estimate([300, 10], 4, dtype=dtype) == expected
    sparse = sp.csr_array(X)
    assert memory_estimate(sparse, 4) == memory_estimate(X.shape, 4, dtype=dtype, density=0.1)
    assert memory_estimate(pd.DataFrame({"a": [1, 2], "b": [1.0, 2.0]})) == memory_estimate((2, 2))


def test_the_last_step_of_a_pipeline_counts():
    model = make_pipeline(StandardScaler(), KMeans(5))
    assert memory_estimate((1000, 10), model) == memory_estimate((1000, 10), KMeans(5))
    with pytest.raises(TypeError, match=r"a Pipeline that ends with one.*got Standard"):
        memory_estimate((1000, 10), make_pipeline(StandardScaler()))


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((5,), {}, "shape must be"),
        ((np.zeros(5),), {}, "shape must be"),
        ((from_sequence(np.zeros((5, 2))),), {}, "rows that are read in parts"),
        (((5, 0),), {}, r"shape\[1\] must be"),
        (((5, 5), 0), {}, "estimator must be"),
        (((5, 5), "KMeans"), {}, "estimator must be one of"),
        (((5, 5),), {"density": 0.0}, "density must be"),
        (((5, 5),), {"density": 2}, "density must be"),
        (((5, 5), NonRedundantKMeans("auto")), {}, "leaves the number of clusters open"),
        (((5, 5), KhatriRaoKMeans()), {"density": 0.1}, "Fit a tenth of the rows"),
    ],
)
def test_errors_say_what_to_do(arguments, options, words):
    with pytest.raises((ValueError, TypeError, NotImplementedError), match=words):
        memory_estimate(*arguments, **options)


def test_kernels_take_all_pairs_of_rows():
    estimate = memory_estimate((2000, 5), TransformedKMeans(3, kernel="rbf", n_init=1))
    X = np.random.default_rng(0).normal(size=(2000, 5))
    make = TransformedKMeans(3, kernel="rbf", n_init=1, random_state=0)
    make.fit(X[:200])
    assert 0.6 < estimate.fit / peak_of(make, X) < 2.5
