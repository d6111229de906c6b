"""References to arrays: most kernels count none, and none of the others forgets any."""

import gc
import inspect
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

import polymeans
from polymeans.kernels.compile import CPUDispatcher, kernel

FOLDER = Path(inspect.getfile(polymeans)).parent / "kernels"

ESTIMATORS = [
    polymeans.KMeans(4, random_state=0),
    polymeans.KMeans(4, random_state=0, algorithm="elkan"),
    polymeans.KhatriRaoKMeans((2, 2), random_state=0),
    polymeans.KhatriRaoKMeans((2, 2), aggregator="product", random_state=0),
    polymeans.QuickKMeans(4, random_state=0),
    polymeans.L1KMeans(4, random_state=0),
    polymeans.TransformedKMeans(4, random_state=0, refine="exchange"),
    polymeans.NonRedundantKMeans((2, 2), random_state=0),
]


def all_kernels():
    for path in sorted(FOLDER.glob("*.py")):
        module = import_module(f"polymeans.kernels.{path.stem}")
        for value in vars(module).values():
            if isinstance(value, CPUDispatcher) and value.__module__ == module.__name__:
                yield value


def outstanding():
    gc.collect()
    stats = rtsys.get_allocation_stats()
    assert stats.alloc > 0
    return stats.alloc - stats.free, stats.mi_alloc - stats.mi_free


@pytest.fixture
def counted():
    was_on = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    yield
    if not was_on:
        _nrt_python.memsys_disable_stats()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: f"{type(e).__name__}")
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_fits_and_predictions_leave_no_memory_behind(counted, estimator, container):
    rng = np.random.default_rng(0)
    X = container(rng.integers(0, 5, size=(60, 7)).astype(np.float64))  # with ties, settled exactly
    fitted = estimator.fit(X)
    fitted.predict(X), fitted.transform(X), fitted.score(X)
    before = outstanding()
    fitted = estimator.fit(X)
    for rows in (X, X[:1], X.astype(np.float32)):
        fitted.predict(rows), fitted.transform(rows), fitted.score(rows)
    assert outstanding() == before


def test_kernels_that_make_arrays_say_so():
    kernels = list(all_kernels())
    assert len(kernels) > 100
    counting = [one for one in kernels if one.targetoptions["_nrt"]]
    assert 20 < len(counting) < len(kernels) / 3
    with pytest.raises(Exception, match="NRT required"):
        kernel(lambda x: np.zeros(3).sum() + x)(1.0)


def test_looking_at_rows_one_by_one_counts_no_references():
    from polymeans.kernels import prepare

    def compiled(**options):
        source = prepare.sums_and_norms
        made = njit(**{**source.targetoptions, **options})(source.py_func)
        made(np.ones((3, 2)), np.ones(3), np.empty(0), 0, 3, np.zeros((1, 2)), np.empty(3))
        return made.inspect_llvm(made.signatures[0])

    assert "NRT_incref" not in compiled()
    assert "NRT_incref" in compiled(_nrt=True)
