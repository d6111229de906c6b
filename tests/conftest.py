"""Shared fixtures: small data of every kind the engine takes."""

import contextlib
import os
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

# The same examples in every run where a failure has to mean that the change is at fault; elsewhere
# each run tries others. A busy machine may take any time for an example.
settings.register_profile("unhurried", deadline=None)
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable" if os.environ.get("CI") else "unhurried")


# Modules that assert for several test files explain their failures like test files do.
pytest.register_assert_rewrite("tests.estimators", "tests.factorization", "tests.subspaces")


#: Packages that have many modules, in the order in which tests import them.
_LARGE = (
    "pyarrow.parquet",
    "zarr",
    "pandas",
    "dask.dataframe",
    "distributed",
    "torch",
    "matplotlib.pyplot",
    "numba",
    "onnxruntime",
    "skops.io",
    "numpydoc.docscrape",
)


def pytest_configure(config):
    """Let every second worker import large packages from the other end of the list.

    In a new environment modules are compiled when they are first imported. Workers that import the
    same ones at the same time would all compile all of them.
    """
    if getattr(config, "workerinput", {}).get("workerid", "gw0")[2:] in "13579":
        for name in reversed(_LARGE):
            with contextlib.suppress(ImportError):
                import_module(name)


#: Tests that compile no kernels, or few, or some that others do not need; they take some minutes
#: together.
_WITHOUT_KERNELS = (
    "tests/test_quality.py::test_linters_pass",
    "tests/test_quality.py::test_docstrings_follow_numpydoc",
    "tests/test_docstrings.py",
    "tests/blocks/",
    "tests/datasets/",
    "tests/deep/",
    "tests/docs/",
    "tests/kernels/test_cache.py",
    "tests/metrics/",
    "tests/test_bounds_checking.py",
    "tests/test_packaging.py",
    "tests/persistence/test_layout.py",
)


@pytest.hookimpl(trylast=True)  # after those that are not selected were removed
def pytest_collection_modifyitems(config, items):
    """Let one of two workers begin with tests that compile nothing.

    Each worker begins with its own part of the list. Kernels that both need at the same time would
    be compiled twice; later on they are on the disk.
    """
    if not hasattr(config, "workerinput"):  # no workers
        return
    plain = [item for item in items if item.nodeid.startswith(_WITHOUT_KERNELS)]
    others = [item for item in items if not item.nodeid.startswith(_WITHOUT_KERNELS)]
    half = len(items) // 2
    items[:] = [*others[:half], *plain, *others[half:]]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for doctests in the sources only: tests have none, and looking takes seconds."""
    collectors = yield
    return [each for each in collectors if type(each).__name__ != "DoctestModule"]


@pytest.fixture(scope="session", autouse=True)
def one_thread_for_other_libraries():
    """BLAS and OpenMP have one thread: workers that share the cores would wait for each other's.

    polymeans has threads of its own, which are as many as in any other process.
    """
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def blobs():
    """Overlapping blobs, so that bounds and ties have work to do."""
    X, _ = make_blobs(3000, n_features=12, centers=40, cluster_std=3.0, random_state=7)
    return X


@pytest.fixture(scope="session")
def documents():
    """Rows like tf-idf: unit length, positive, few entries, skewed feature frequencies."""
    return make_documents(2500, 800, seed=3)


def make_documents(n_rows, n_features, seed, length=30, n_topics=12):
    """Unit rows whose features follow a skewed law, mixed with a few topics."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, n_features + 1)
    rows, columns, values = [], [], []
    topics = rng.integers(0, n_features, (n_topics, 40))
    for i in range(n_rows):
        common = rng.choice(n_features, length, p=popularity / popularity.sum())
        special = rng.choice(topics[rng.integers(n_topics)], length // 2)
        features = np.unique(np.concatenate([common, special]))
        rows += [i] * len(features)
        columns += features.tolist()
        values += (rng.random(len(features)) + 0.1).tolist()
    X = sp.csr_matrix((values, (rows, columns)), shape=(n_rows, n_features))
    lengths = np.sqrt(X.multiply(X).sum(axis=1).A1)
    return sp.csr_matrix(sp.diags(1 / lengths) @ X)
