"""A fit on a cluster whose calling process was killed goes on from its checkpoint."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from polymeans import KMeans
from tests.distributed.chunked import in_chunks
from tests.distributed.conftest import PATIENCE
from tests.distributed.test_lost_workers import LENGTHS, many_rows
from tests.out_of_core.sources import assert_same_bits

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FIT = """
import sys
from distributed import Client
from polymeans import KMeans
from tests.distributed.chunked import in_chunks
from tests.distributed.test_lost_workers import LENGTHS, many_rows

with Client(sys.argv[1]):
    model = KMeans(30, random_state=0, tol=0, max_iter=12)
    model.fit(in_chunks(many_rows(), LENGTHS), checkpoint=sys.argv[2])
"""


def n_steps(page):
    """Iterations that a page has recorded."""
    if not page.exists():
        return 0
    with np.load(page) as arrays:
        return len(arrays["steps"])


def test_the_calling_process_is_killed_in_mid_descent(tmp_path, client):
    folder = tmp_path / "checkpoint"
    page = folder / "0001.npz"  # the descent's: the start has the page before
    process = subprocess.Popen(
        [sys.executable, "-c", FIT, client.scheduler.address, str(folder)],
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while n_steps(page) < 3 and time.monotonic() < deadline:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.002)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert 3 <= n_steps(page) <= 12
    model = KMeans(30, random_state=0, tol=0, max_iter=12)
    # Other chunks, to the same bits.
    chunks = in_chunks(many_rows(), LENGTHS[::-1])
    fitted = model.fit(chunks, checkpoint=folder)
    assert not folder.exists()
    expected = KMeans(30, init="k-means||", random_state=0, tol=0, max_iter=12).fit(many_rows())
    assert_same_bits(expected, fitted)
