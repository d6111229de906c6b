"""Real clusters of worker processes, and an end for tests that would wait for ever."""

import contextlib
import signal
import threading

import dask
import pytest
from distributed import Client, LocalCluster

#: Seconds: many times what the slowest test takes, its compilations included.
PATIENCE = 240


@contextlib.contextmanager
def cluster_of(n_workers, processes=True):
    with (
        # Workers would look at their stack a hundred times a second, for a page that is not shown.
        dask.config.set({"distributed.worker.profile.enabled": False}),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=processes,
            memory_limit=0,
            dashboard_address=None if processes else ":0",
            host="127.0.0.1" if processes else None,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="package")
def two_processes():
    """Ended after the tests of this folder: workers that wait take some time, too."""
    with cluster_of(2) as client:
        yield client


@pytest.fixture
def client(two_processes):
    """Two worker processes, as the current client."""
    with two_processes.as_current():
        yield two_processes


@pytest.fixture(autouse=True)
def _does_not_hang():
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(*_):
        raise TimeoutError(f"no end after {PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
