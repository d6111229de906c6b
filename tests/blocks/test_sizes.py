"""Blocks of any size hold all rows in order."""

import tempfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeans.blocks import (
    from_arrow,
    from_csr_files,
    from_hdf5,
    from_npy,
    from_parquet,
    from_sequence,
    write_labels,
)
from polymeans.blocks.sizes import BLOCK_BYTES, Piece, cut, cut_by_bytes, join

from .conftest import matrix, sparse_matrix, stacked, table_of


@given(
    n_rows=st.integers(0, 500),
    row_bytes=st.integers(1, 50),
    block_bytes=st.integers(1, 2000),
    chunk_rows=st.integers(1, 60),
)
def test_pieces_cover_all_rows_and_none_is_too_large(n_rows, row_bytes, block_bytes, chunk_rows):
    pieces = cut(3, n_rows, row_bytes, block_bytes, chunk_rows)
    covered = [row for piece in pieces for row in range(piece.start, piece.stop)]
    assert covered == list(range(n_rows))
    assert all(piece.part == 3 and piece.n_rows >= 1 for piece in pieces)
    assert all(piece.n_bytes <= block_bytes or piece.n_rows == 1 for piece in pieces)
    if chunk_rows * row_bytes <= block_bytes:
        assert all(piece.start % chunk_rows == 0 for piece in pieces)


@given(lengths=st.lists(st.integers(0, 300), max_size=60), block_bytes=st.integers(1, 500))
def test_rows_of_unequal_length_are_cut_by_bytes(lengths, block_bytes):
    pieces = cut_by_bytes(0, np.cumsum(lengths, dtype=np.int64), block_bytes)
    covered = [row for piece in pieces for row in range(piece.start, piece.stop)]
    assert covered == list(range(len(lengths)))
    for piece in pieces:
        assert piece.n_bytes == sum(lengths[piece.start : piece.stop])
        assert piece.n_bytes <= block_bytes or piece.n_rows == 1


@given(sizes=st.lists(st.integers(1, 300), max_size=60), block_bytes=st.integers(1, 500))
def test_small_pieces_are_joined(sizes, block_bytes):
    pieces = [Piece(i, 0, 1, size) for i, size in enumerate(sizes)]
    blocks = join(pieces, block_bytes)
    assert [piece for block in blocks for piece in block] == pieces
    filled = [sum(piece.n_bytes for piece in block) for block in blocks]
    assert all(size <= block_bytes or len(block) == 1 for size, block in zip(filled, blocks))
    assert all(size + block[0].n_bytes > block_bytes for size, block in zip(filled, blocks[1:]))


def test_a_block_is_about_32_mib():
    assert BLOCK_BYTES == 2**25
    X = np.zeros((1, 1024))
    blocks = from_sequence(np.broadcast_to(X, (20_000, 1024)))
    assert len(blocks) == 5
    assert max(blocks.sizes) * 1024 * 8 <= BLOCK_BYTES


@pytest.fixture(scope="module")
def files():
    """Matrices in files, which are written once for all examples."""
    X, S = matrix(np.float32), sparse_matrix(np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i, part in enumerate(np.split(X, [50, 60])):
            np.save(folder / f"{i}.npy", part)
        pq.write_table(table_of(X), folder / "x.parquet", row_group_size=23)
        with h5py.File(folder / "x.h5", "w") as file:
            file.create_dataset("x", data=X, chunks=(10, 5))
        for i, part in enumerate([S[:50], S[50:60], S[60:]]):
            sp.save_npz(folder / f"{i}.npz", part)
        yield X, S, folder


@settings(max_examples=40, deadline=None)
@given(block_bytes=st.integers(1, 4000))
def test_blocks_of_any_size_make_the_matrix(files, block_bytes):
    X, S, folder = files
    sources = [
        from_npy(folder, block_bytes=block_bytes),
        from_parquet(folder, block_bytes=block_bytes),
        from_arrow(table_of(X), block_bytes=block_bytes),
        from_hdf5(folder / "x.h5", "x", block_bytes=block_bytes),
        from_sequence(X, block_rows=block_bytes),
    ]
    for blocks in sources:
        assert stacked(blocks).tobytes() == X.tobytes()
    assert max(sources[0].sizes) <= max(1, block_bytes // 20)
    shards = from_csr_files(folder, block_bytes=block_bytes)
    assert (stacked(shards) != S).nnz == 0


@pytest.mark.parametrize("block_bytes", [0, -1, 2.5, "32MB", None])
def test_block_bytes_is_a_positive_integer(files, block_bytes):
    _, _, folder = files
    for reader in (from_npy, from_parquet, from_csr_files):
        with pytest.raises((ValueError, TypeError), match="block_bytes must be an integer"):
            reader(folder, block_bytes=block_bytes)
    with pytest.raises((ValueError, TypeError), match="block_bytes must be an integer"):
        from_hdf5(folder / "x.h5", "x", block_bytes=block_bytes)


def test_labels_of_blocks_of_any_size_make_all_labels(files):
    labels = np.arange(103)
    for edges in ([], [1], [50, 50, 102]):
        path = write_labels(files[2] / "labels.npy", np.split(labels, edges), 103)
        assert np.array_equal(np.load(path), labels)
