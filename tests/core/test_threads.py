"""Same bits for any number of threads; nothing hangs in pools or after a fork."""

import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed

from polymeans import KMeans
from polymeans._base import _POOLED
from polymeans.core.threads import PRODUCT_ROWS, Threads, effective_n_threads
from tests.conftest import make_documents


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_same_bits_for_any_number_of_threads(kind, dtype):
    if kind == "dense":
        X = np.random.default_rng(0).normal(size=(75_000, 8)).astype(dtype)
    else:
        base = make_documents(5_000, 400, seed=1, length=12)
        picks = np.random.default_rng(0).integers(0, 5_000, 45_000)
        X = base[picks].astype(dtype)
    assert X.shape[0] // PRODUCT_ROWS > 7  # more blocks than threads
    assert (X.size if kind == "dense" else X.nnz) * 30 > _POOLED  # threads are really used
    models = [KMeans(30, random_state=0, max_iter=6, n_threads=n).fit(X) for n in (1, 2, 7)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
        np.testing.assert_array_equal(model.cluster_centers_, models[0].cluster_centers_)
        assert model.inertia_ == models[0].inertia_
        np.testing.assert_array_equal(model.history_["inertia"], models[0].history_["inertia"])


def test_split_never_loses_a_piece():
    with Threads(3) as threads:
        for n in (1, 2, 5, 1000):
            edges = threads.ranges(n)
            assert edges[0][0] == 0
            assert edges[-1][1] == n
            assert all(a[1] == b[0] for a, b in itertools.pairwise(edges))
        for costs in ([1], [0, 0, 5], [100, 1, 1, 1], list(range(50))):
            shares = threads.shares(np.array(costs))
            assert [i for lo, hi in shares for i in range(lo, hi)] == list(range(len(costs)))


def test_n_threads_is_resolved_when_called(monkeypatch):
    assert effective_n_threads(5) == 5
    assert effective_n_threads(64) == 64
    assert effective_n_threads(-1) >= 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert effective_n_threads() == 1


def test_a_pool_has_no_more_threads_than_are_of_use():
    """A model file may ask for 32768 of them."""
    most = max(64, 4 * effective_n_threads(-1))
    seen = set()

    def work(_):
        seen.add(threading.get_ident())
        time.sleep(1e-3)  # so that no thread is free for the next task

    with Threads(32768) as threads:
        threads.map(work, range(6 * most))
    assert 1 < len(seen) <= threads.n_threads <= most


def _threads_and_labels(X):
    return effective_n_threads(), KMeans(4, random_state=0).fit(X).labels_


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_nested_in_joblib(blobs, backend):
    expected = KMeans(4, random_state=0).fit(blobs).labels_
    n_cores = effective_n_threads(-1)
    results = Parallel(n_jobs=2, backend=backend)(
        delayed(_threads_and_labels)(blobs) for _ in range(3)
    )
    for n_threads, labels in results:
        assert n_threads <= max(1, n_cores // 2)
        np.testing.assert_array_equal(labels, expected)


def _fit_in_child(X, queue):
    queue.put(KMeans(4, random_state=0, n_threads=2).fit(X).labels_)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fit_after_fork(blobs):
    expected = KMeans(4, random_state=0, n_threads=2).fit(blobs).labels_
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_in_child, args=(blobs, queue))
    child.start()
    labels = queue.get(timeout=60)
    child.join(timeout=60)
    assert child.exitcode == 0
    np.testing.assert_array_equal(labels, expected)


def test_import_is_cheap():
    code = (
        "import sys, polymeans;"
        "heavy = [m for m in ('numba', 'torch', 'dask', 'flwr', 'matplotlib') if m in sys.modules];"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


def test_interrupt_leaves_the_estimator_unfitted(blobs):
    def interrupt(X, n_clusters, random_state):
        raise KeyboardInterrupt

    model = KMeans(3, init=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(blobs)
    assert not hasattr(model, "labels_")
    assert model.set_params(init="k-means++").fit(blobs).labels_.shape == (len(blobs),)
