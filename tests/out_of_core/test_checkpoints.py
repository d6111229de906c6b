"""A fit over files that was killed goes on from its checkpoint, to the same bits."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from polymeans import KMeans
from polymeans.blocks import from_npy
from tests.out_of_core.sources import MODELS, assert_same_bits, rows, uneven

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SLOW_FIT = """
import sys, time
from polymeans import KMeans
from polymeans.blocks import from_npy

class Slow:
    def __init__(self, blocks):
        self.blocks = blocks
    def __getattr__(self, name):
        return getattr(self.blocks, name)
    def __len__(self):
        return len(self.blocks)
    def __getitem__(self, i):
        time.sleep(0.02)
        return self.blocks[i]

blocks = Slow(from_npy(sys.argv[1], block_bytes=4000))
KMeans(9, random_state=0, tol=0.0).fit(blocks, checkpoint=sys.argv[2])
"""


def test_a_killed_process_is_continued_by_another(tmp_path):
    """Really killed: nothing in the process has a chance to clean up."""
    X = rows("float64", 2000)
    np.save(tmp_path / "rows.npy", X)
    blocks = from_npy(tmp_path / "rows.npy", block_bytes=4000)
    expected = KMeans(9, random_state=0, tol=0.0).fit(blocks)
    assert expected.n_iter_ > 4
    folder = tmp_path / "checkpoint"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_FIT, str(tmp_path / "rows.npy"), str(folder)]
    )
    try:
        deadline = time.monotonic() + 120
        # The second page is the descent's.
        while not (folder / "0001.npz").exists() and time.monotonic() < deadline:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert (folder / "0001.npz").exists()
    model = KMeans(9, random_state=0, tol=0.0).fit(blocks, checkpoint=folder)
    assert_same_bits(expected, model)
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["float32", "csr"])
@pytest.mark.parametrize("name", ["kmeans", "cosine", "l1", "quick", "sum", "views"])
def test_interrupted_at_any_block(name, kind, tmp_path):
    X = rows(kind)
    expected = MODELS[name](random_state=0).fit(uneven(X))
    blocks = uneven(X)
    MODELS[name](random_state=0).fit(blocks, checkpoint=tmp_path / "all")
    n_reads = len(blocks.reads)
    for interrupt_at in range(7, n_reads, max(1, n_reads // 4)):
        blocks, folder = uneven(X), tmp_path / f"after {interrupt_at}"
        blocks.interrupt_at = interrupt_at
        with pytest.raises(KeyboardInterrupt):
            MODELS[name](random_state=0).fit(blocks, checkpoint=folder)
        blocks.interrupt_at = None
        assert_same_bits(expected, MODELS[name](random_state=0).fit(blocks, checkpoint=folder))


@pytest.mark.parametrize("kind", ["float64", "csr"])
def test_a_fit_in_memory_continues_one_over_blocks(kind, tmp_path):
    """Rows are the same, wherever they are: only the seeds would differ, and they are recorded."""
    X = rows(kind)
    model = KMeans(9, init="k-means||", random_state=0)
    expected, blocks = model.fit(X).labels_.copy(), uneven(X)
    blocks.interrupt_at = 45
    with pytest.raises(KeyboardInterrupt):
        model.fit(blocks, checkpoint=tmp_path / "x")
    np.testing.assert_array_equal(model.fit(X, checkpoint=tmp_path / "x").labels_, expected)
