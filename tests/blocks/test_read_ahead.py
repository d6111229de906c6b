"""One block ahead, in order, in a thread that ends."""

import threading

import numpy as np
import pytest

from polymeans.blocks import from_npy, from_sequence, read_ahead


class Recording:
    """Rows that note who reads them, and wait where they are told to."""

    def __init__(self, n_rows=40, fails=None):
        self.n_rows, self.fails, self.read = n_rows, fails, []
        self.noted = threading.Condition()

    def __len__(self):
        return self.n_rows

    def __getitem__(self, rows):
        with self.noted:
            self.read.append((rows.start, threading.current_thread().name))
            self.noted.notify_all()
        if rows.start == self.fails:
            raise OSError("the disk is on fire")
        return np.arange(rows.start, rows.stop, dtype=float)[:, None]

    def wait_for(self, n_reads):
        with self.noted:
            assert self.noted.wait_for(lambda: len(self.read) >= n_reads, timeout=10)


def source(**settings):
    recording = Recording(**settings)
    blocks = from_sequence(recording, block_rows=4)
    recording.read.clear()  # the probe
    return recording, blocks


def readers():
    return [t for t in threading.enumerate() if t.name.startswith("polymeans-read-ahead")]


@pytest.mark.parametrize("start", [0, 3, 9, 10])
def test_blocks_come_in_order(start):
    _, blocks = source()
    found = [rows[0, 0] for rows in read_ahead(blocks, start)]
    assert found == [4.0 * i for i in range(start, 10)]
    assert not readers()


def test_one_block_is_read_ahead_and_no_more():
    recording, blocks = source()
    ahead = read_ahead(blocks)
    assert recording.read == []  # nothing before the first is asked for
    for i in range(9):
        next(ahead)
        recording.wait_for(i + 2)
        assert [start for start, _ in recording.read] == [4 * j for j in range(i + 2)]
    assert all(name.startswith("polymeans-read-ahead") for _, name in recording.read)
    ahead.close()


def test_an_error_is_raised_when_its_block_is_due():
    _, blocks = source(fails=12)
    ahead = read_ahead(blocks)
    assert [next(ahead)[0, 0] for _ in range(3)] == [0, 4, 8]
    with pytest.raises(OSError, match="the disk is on fire"):
        next(ahead)
    assert not readers()


def test_errors_of_checks_are_raised_in_the_caller(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((10, 2)))
    blocks = from_npy(tmp_path / "rows.npy", block_bytes=32)
    ahead = read_ahead(blocks)
    next(ahead)
    (tmp_path / "rows.npy").unlink()
    with pytest.raises(RuntimeError, match="cannot be found any more"):
        list(ahead)


def test_the_thread_ends_when_the_generator_is_closed_early():
    recording, blocks = source()
    ahead = read_ahead(blocks)
    next(ahead)
    recording.wait_for(2)
    assert len(readers()) == 1
    ahead.close()
    assert not readers()
    assert len(recording.read) == 2
    with pytest.raises(StopIteration):
        next(ahead)


def test_the_thread_ends_when_the_caller_fails():
    _, blocks = source()

    def work():
        for _ in read_ahead(blocks):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert not readers()


def test_two_passes_at_the_same_time(tmp_path):
    X = np.arange(200.0).reshape(100, 2)
    np.save(tmp_path / "rows.npy", X)
    blocks = from_npy(tmp_path / "rows.npy", block_bytes=48)
    for a, b in zip(read_ahead(blocks), read_ahead(blocks)):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("start", [-1, 11, 1.5])
def test_start_is_the_number_of_a_block(start):
    _, blocks = source()
    with pytest.raises((ValueError, TypeError), match="start must be an integer"):
        read_ahead(blocks, start)


def test_a_generator_is_refused():
    with pytest.raises(TypeError, match="can be read only once"):
        read_ahead(x for x in [np.ones((2, 2))])
