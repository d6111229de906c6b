"""Kernels with numba's bounds checking: no index outside of an array.

Kernels are compiled without bounds checks, so that an index outside of an array reads or writes
other memory. Here they are compiled with them, in a process of its own whose cache is empty:
numba's cache does not tell checked code from unchecked code.

The default run has one small fit of dense rows, since compiling takes most of the time; ``pytest -m
long`` has all estimators, dense and CSR. The whole suite with bounds checking (an hour or so)::

    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(mktemp -d) python -m pytest

Speed comparisons among the tests may fail then.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

_HEAD = """
import warnings
import numpy as np
import scipy.sparse as sp
import polymeans
from polymeans.kernels.compile import kernel

warnings.simplefilter("ignore")


@kernel
def _read(values, place):
    return values[place]


try:
    _read(np.zeros(3), 7)
except IndexError:
    pass
else:
    raise SystemExit("bounds are not checked")

rng = np.random.default_rng(0)


def rows(n, d, sparse, dtype):
    X = rng.random((n, d)) + rng.integers(0, 3, (n, 1))
    if sparse:
        X[rng.random(X.shape) < 0.6] = 0.0
    X = X.astype(dtype)
    return sp.csr_array(X) if sparse else X


def use(model, X):
    labels = model.fit(X).labels_
    assert (model.predict(X) == labels).all()
    model.score(X)
    model.transform(X)
"""

_SMALL = """
X = rows(60, 7, False, np.float64)
model = polymeans.KMeans(5, algorithm="elkan", init="random", n_init=1, random_state=0, n_threads=1)
labels = model.fit(X).labels_
assert (model.predict(X) == labels).all()
"""

_WHOLE = """
for sparse in (False, True):
    for dtype in (np.float32, np.float64):
        for algorithm in ("lazy", "lloyd", "elkan"):
            for metric in ("euclidean", "cosine"):
                use(polymeans.KMeans(9, algorithm=algorithm, metric=metric, random_state=0),
                    rows(300, 7, sparse, dtype))
        for init in ("k-means||", "afk-mc2", "random"):
            use(polymeans.KMeans(9, init=init, random_state=0), rows(300, 7, sparse, dtype))
        for aggregator in ("sum", "product"):
            for sizes in ((4,), (3, 4), (2, 3, 2)):
                use(polymeans.KhatriRaoKMeans(sizes, aggregator=aggregator, effort=0.05,
                                              random_state=0), rows(200, 6, sparse, dtype))
        use(polymeans.KhatriRaoKMeans((3, 4), aggregator="product", store_centroids=False,
                                      effort=0.05, random_state=0), rows(200, 6, sparse, dtype))
        use(polymeans.QuickKMeans(8, effort=0.2, random_state=0), rows(300, 9, sparse, dtype))
        use(polymeans.QuickKMeans(8, effort=0.2, method="palm4msa", random_state=0),
            rows(300, 9, sparse, dtype))
        use(polymeans.L1KMeans(6, random_state=0), rows(200, 6, sparse, dtype))
        use(polymeans.L1KMeans(6, n_nonzeros=12, random_state=0), rows(200, 6, sparse, dtype))
        use(polymeans.NonRedundantKMeans((2, 3), effort=0.05, random_state=0),
            rows(200, 6, sparse, dtype))
        use(polymeans.TransformedKMeans(4, n_init=2, random_state=0), rows(200, 6, sparse, dtype))
        # Enough work for the fast paths of predict: 2**21 multiplications.
        model = polymeans.KMeans(40, max_iter=3, random_state=0).fit(rows(500, 30, sparse, dtype))
        model.predict(rows(6000, 30, sparse, dtype))
        model = polymeans.QuickKMeans(40, effort=0.1, max_iter=3, random_state=0)
        model.fit(rows(500, 30, sparse, dtype)).predict(rows(6000, 30, sparse, dtype))
"""

_FUZZ = """
from benchmarks.fuzz.areas import make_case
from benchmarks.fuzz.judge import judge

for number in range(300):
    broken = judge(make_case(15, number)).broken
    for promise, detail in broken.items():
        # Other broken promises are for the slice of the fuzzer; here only indices count.
        assert "IndexError" not in detail, (number, promise, detail)
"""


def run(code, tmp_path):
    """Run it with bounds checks; its output if it fails."""
    environment = os.environ | {
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    script = tmp_path / "script.py"  # kernels, of which it has one, are cached by their file
    script.write_text(_HEAD + code)
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_a_small_fit_stays_inside_its_arrays(tmp_path):
    run(_SMALL, tmp_path)


@pytest.mark.long
def test_all_estimators_stay_inside_their_arrays(tmp_path):
    run(_WHOLE, tmp_path)


@pytest.mark.long
def test_random_problems_stay_inside_their_arrays(tmp_path):
    run(_FUZZ, tmp_path)
