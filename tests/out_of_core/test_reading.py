"""How often blocks are read, how many are alive, and what is left when reading fails."""

import gc
import logging
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans import KMeans
from polymeans.blocks import from_npy, from_sequence
from polymeans.engine import visits
from polymeans.engine.block_runner import BlockRunner
from polymeans.engine.streamed import Streamed
from tests.out_of_core.sources import MODELS, Counted, rows, uneven


def passes(blocks, n_blocks):
    """How often all blocks were read in order, one after the other; what else was read."""
    n, rest, reads = 0, 0, list(blocks.reads)
    while reads:
        if reads[:n_blocks] == list(range(n_blocks)):
            n, reads = n + 1, reads[n_blocks:]
        else:
            rest, reads = rest + 1, reads[1:]
    return n, rest


def centered(kind="float64"):
    X = rows(kind)
    return X - X.mean(axis=0)


def test_an_iteration_reads_each_block_once():
    blocks = uneven(centered())
    model = KMeans(9, random_state=0, tol=0).fit(blocks)
    n_passes, rest = passes(blocks, len(blocks))
    # The survey, four of k-means||, and nothing but the iterations.
    assert n_passes == 1 + 4 + model.n_iter_
    assert rest == 1  # the block of the row that seeding begins with


def test_rows_far_from_zero_take_one_more_pass():
    blocks = uneven(rows("float64") + 100)
    model = KMeans(9, random_state=0, tol=0).fit(blocks)
    assert passes(blocks, len(blocks))[0] == 2 + 4 + model.n_iter_


def test_stopping_early_takes_one_more_pass_for_the_labels():
    blocks = uneven(centered())
    model = KMeans(9, random_state=0, max_iter=2).fit(blocks)
    assert model.n_iter_ == 2
    assert passes(blocks, len(blocks))[0] == 1 + 4 + 2 + 1


def test_given_centroids_need_no_pass_for_seeding():
    X = centered()
    blocks = uneven(X)
    model = KMeans(9, init=X[1:10], tol=0).fit(blocks)
    assert passes(blocks, len(blocks)) == (1 + model.n_iter_, 0)


def test_relocation_takes_one_more_pass_where_a_cluster_is_empty():
    X = centered()
    blocks, start = uneven(X), X[1:10].copy()
    start[-1] = 1e4
    model = KMeans(9, init=start, tol=0).fit(blocks)
    n_passes, rest = passes(blocks, len(blocks))
    assert (n_passes, rest) == (1 + model.n_iter_ + 1, 0)


def test_predict_and_score_read_once():
    blocks = uneven(centered())
    model = KMeans(9, random_state=0).fit(centered())
    model.predict(blocks)
    assert passes(blocks, len(blocks)) == (1, 0)
    model.score(blocks)
    assert passes(blocks, len(blocks)) == (2, 0)


class Watched(Counted):
    """Counts how many blocks are alive when the next one is read."""

    def __init__(self, X):
        super().__init__(X, np.arange(20, 300, 20))
        self.handed_out, self.most = [], 0

    @property
    def n_alive(self):
        return sum(reference() is not None for reference in self.handed_out)

    def __getitem__(self, i):
        self.most = max(self.most, self.n_alive)
        block = super().__getitem__(i).view(Rows)
        self.handed_out.append(weakref.ref(block))
        return block


class Rows(np.ndarray):
    """An array that can be referred to weakly."""


def test_only_a_few_blocks_are_alive():
    blocks = Watched(centered())
    KMeans(9, random_state=0).fit(blocks)
    assert len(blocks) == 15
    # The one worked on, the one that waits, and the one that is being read.
    assert blocks.most <= 3
    gc.collect()
    assert not blocks.n_alive


def test_what_is_kept_is_a_few_bytes_a_row():
    X = centered("float32")
    from polymeans.blocks.checked import check_blocks

    placement = Streamed(check_blocks(uneven(X)))
    runner = BlockRunner(placement)
    from polymeans.engine.seeding import METHODS, codebook_of_rows

    chosen = METHODS["k-means||"](runner, 9, np.random.RandomState(0))
    codebook = codebook_of_rows(runner, chosen)
    runner.release()
    runner.begin(codebook)
    runner.assign(codebook)
    n_bytes = sum(
        value.nbytes
        for kept in placement.kept
        for value in vars(kept).values()
        if isinstance(value, np.ndarray)
    )
    assert n_bytes <= 12 * len(X)
    assert placement.recall(visits.labels_of)[0].dtype == np.int32


def reading_threads():
    return [t for t in threading.enumerate() if t.name.startswith("polymeans")]


@pytest.mark.parametrize("at", [3, 9, 20])
@pytest.mark.parametrize("name", ["kmeans", "sum", "views"])
def test_an_interrupt_changes_nothing(name, at):
    X = centered()
    model = MODELS[name](random_state=0).fit(X)
    before = dict(vars(model))
    blocks = uneven(X)
    blocks.interrupt_at = at
    with pytest.raises(KeyboardInterrupt):
        model.fit(blocks)
    assert vars(model) == before
    assert not reading_threads()


def test_a_file_that_changes_between_two_passes(tmp_path):
    X = centered()
    np.save(tmp_path / "rows.npy", X)
    blocks = from_npy(tmp_path / "rows.npy", block_bytes=4000)
    model = KMeans(9, random_state=0)
    n_calls = []

    def change(X):
        n_calls.append(1)
        if len(n_calls) == 2:
            np.save(tmp_path / "rows.npy", X + 1)

    from polymeans.engine import block_runner

    assign = block_runner.BlockRunner.assign

    def changing(self, codebook):
        change(X)
        assign(self, codebook)

    block_runner.BlockRunner.assign = changing
    try:
        with pytest.raises(Exception, match=r"rows\.npy"):
            model.fit(blocks)
    finally:
        block_runner.BlockRunner.assign = assign
    assert not hasattr(model, "labels_")
    assert not reading_threads()


def test_passes_are_logged(caplog):
    with caplog.at_level(logging.INFO, "polymeans"):
        KMeans(3, random_state=0, verbose=2).fit(uneven(centered()))
    assert any("rows a second" in record.message for record in caplog.records)


def test_a_long_pass_says_how_long_it_will_take(caplog, monkeypatch):
    monkeypatch.setattr("polymeans.engine.streamed._REPORT_SECONDS", 0.0)
    with caplog.at_level(logging.DEBUG, "polymeans"):
        KMeans(3, random_state=0, max_iter=1).fit(uneven(centered()))
    assert any("s left" in record.message for record in caplog.records)


class Restless:
    """Blocks whose rows are others after some reads."""

    def __init__(self, X, change, after, weights=None):
        self.blocks = uneven(X, weights)
        self.change, self.after = change, after

    def __getattr__(self, name):
        return getattr(self.blocks, name)

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, i):
        block = self.blocks[i]
        return block if len(self.reads) <= self.after else self.change(block)


def other_values(block):
    return block + np.random.default_rng(0).normal(size=block.shape).astype(block.dtype)


def one_value(block):
    block[-1, 2] += 1e-9
    return block


def other_order(block):
    return block[::-1]


def other_values_of_csr(block):
    block.data[0] += 1e-9
    return block


def other_columns_of_csr(block):
    return sp.csr_array((block.data, (block.indices + 7) % 40, block.indptr), shape=block.shape)


def other_weights(block):
    return block[0], block[1] + 1


@pytest.mark.parametrize("after", [6, 20, 40])
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("float64", other_values),
        ("float32", other_values),
        ("float64", one_value),
        ("float64", other_order),
        ("csr", other_values_of_csr),
        ("csr", other_columns_of_csr),
        ("csr", other_order),
        ("float64", other_weights),
    ],
)
def test_rows_that_differ_from_pass_to_pass(kind, change, after):
    X = rows(kind)
    weights = np.ones(len(X)) if change is other_weights else None
    blocks = Restless(X, change, after, weights)
    model = KMeans(9, random_state=0, tol=0.0)
    with pytest.raises(ValueError, match="Every pass has to read the same rows"):
        model.fit(blocks)
    assert not hasattr(model, "labels_")


def test_rows_may_change_between_two_fits():
    X = rows("float64")
    blocks = from_sequence(X, block_rows=50)
    KMeans(3, random_state=0).fit(blocks)
    X += 1
    assert KMeans(3, random_state=0).fit(blocks).score(blocks) < 0


def test_rows_at_odd_addresses_are_read_again():
    """As they come from files: numpy adds them up in another way."""
    X = rows("float64")
    buffer = np.zeros(X.nbytes + 1, np.uint8)
    odd = buffer[1:].view(np.float64).reshape(X.shape)
    odd[:] = X
    assert not odd.flags.aligned
    model = KMeans(3, init="k-means||", random_state=0)
    expected = model.fit(X).inertia_
    assert model.fit(from_sequence(odd, block_rows=50)).inertia_ == expected
