"""Shards of sparse rows: cut, joined, read once a pass, and checked."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans.blocks import csr_files, from_csr_files, read_ahead
from polymeans.blocks.stored_arrays import stored_arrays

from .conftest import sparse_matrix, stacked


@pytest.fixture
def X():
    return sparse_matrix()


@pytest.fixture
def shards(X, tmp_path):
    for i, part in enumerate([X[:50], X[50:60], X[60:]]):
        sp.save_npz(tmp_path / f"shard-{i}.npz", part)
    return tmp_path


def save_raw(path, data, indices, indptr, shape):
    """A file with arrays that scipy would not accept."""
    arrays = {"data": data, "indices": indices, "indptr": indptr, "shape": shape, "format": b"csr"}
    np.savez(path, **{key: np.asarray(value) for key, value in arrays.items()})


def test_each_file_is_read_once_a_pass(shards, monkeypatch):
    loaded = []
    load = csr_files._load
    monkeypatch.setattr(
        csr_files, "_load", lambda path: loaded.append(os.path.basename(path)) or load(path)
    )
    blocks = from_csr_files(shards, block_bytes=200)
    assert loaded == []
    assert len(blocks) > 6
    for _ in range(2):
        list(read_ahead(blocks))
    assert loaded == ["shard-0.npz", "shard-1.npz", "shard-2.npz"] * 2


def test_a_block_keeps_no_more_than_its_rows(shards):
    block = from_csr_files(shards, block_bytes=200)[1]
    assert block.data.base is None or block.data.base.size == block.nnz


def test_weights_go_with_their_rows(shards, X):
    rows, weights = zip(*from_csr_files(shards, block_bytes=500, weights=np.arange(103)))
    assert np.array_equal(sp.vstack(rows).toarray(), X.toarray())
    assert np.array_equal(np.concatenate(weights), np.arange(103))


@pytest.mark.parametrize("form", ["csc", "coo", "bsr"])
def test_other_formats(tmp_path, X, form):
    sp.save_npz(tmp_path / "other.npz", X.asformat(form))
    with pytest.raises(ValueError, match=rf"other\.npz is no CSR matrix.*{form}; save it after to"):
        from_csr_files(tmp_path)


def test_files_that_are_no_matrices(tmp_path):
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    with pytest.raises(ValueError, match=r"arrays\.npz is no CSR matrix as scipy"):
        from_csr_files(tmp_path / "arrays.npz")
    (tmp_path / "text.npz").write_text("no zip file")
    with pytest.raises(ValueError, match=r"text\.npz is no CSR matrix as scipy"):
        from_csr_files(tmp_path / "text.npz")
    np.save(tmp_path / "array.npy", np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"array\.npy is no CSR matrix as scipy"):
        from_csr_files(tmp_path / "array.npy")


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (sparse_matrix()[:, :30], "30 columns of float64"),
        (sparse_matrix(np.float32), "40 columns of float32"),
    ],
)
def test_files_of_different_width_or_dtype(shards, other, found):
    sp.save_npz(shards / "shard-9.npz", other)
    with pytest.raises(ValueError, match=rf"shard-9\.npz has {found}, but .*shard-0\.npz has 40"):
        from_csr_files(shards)


def test_files_without_rows_or_of_other_types(tmp_path):
    sp.save_npz(tmp_path / "empty.npz", sp.csr_array((0, 5)))
    with pytest.raises(ValueError, match=r"empty\.npz has no rows"):
        from_csr_files(tmp_path)
    sp.save_npz(tmp_path / "empty.npz", sp.csr_array(np.eye(3, dtype=complex)))
    with pytest.raises(TypeError, match=r"empty\.npz: values of type complex128"):
        from_csr_files(tmp_path)


def test_rows_that_are_all_empty(tmp_path):
    sp.save_npz(tmp_path / "zeros.npz", sp.csr_array((7, 5)))
    blocks = from_csr_files(tmp_path, block_bytes=8)
    assert stacked(blocks).shape == (7, 5)
    assert stacked(blocks).nnz == 0


@pytest.mark.parametrize("index", [-1, 4])
def test_an_index_outside_of_the_columns_is_named_by_its_global_row(tmp_path, index):
    sp.save_npz(tmp_path / "0.npz", sp.csr_array(np.eye(4)))
    save_raw(tmp_path / "1.npz", [1.0, 2.0], [0, index], [0, 1, 1, 2], (3, 4))
    for block_bytes in (1, 60, 2**20):
        with pytest.raises(ValueError, match=rf"row 6 has the column index {index}"):
            list(from_csr_files(tmp_path, block_bytes=block_bytes))


@pytest.mark.parametrize("indptr", [[0, 2, 1, 2], [1, 1, 1, 2], [0, 1, 2]])
def test_pointers_that_make_no_rows(tmp_path, indptr):
    save_raw(tmp_path / "bad.npz", [1.0, 2.0], [0, 1], indptr, (3, 4))
    with pytest.raises(ValueError, match=r"bad\.npz: indptr must begin with 0, never decrease"):
        from_csr_files(tmp_path)


def test_pointers_beyond_the_values(tmp_path):
    save_raw(tmp_path / "bad.npz", [1.0, 2.0], [0, 1], [0, 1, 2, 5], (3, 4))
    for block_bytes in (1, 2**20):
        with pytest.raises(ValueError, match=r"bad\.npz"):
            list(from_csr_files(tmp_path, block_bytes=block_bytes))


def test_duplicates_are_added_up(tmp_path):
    save_raw(tmp_path / "rows.npz", [1.0, 2.0, 4.0], [3, 0, 3], [0, 3, 3], (2, 4))
    (block,) = from_csr_files(tmp_path)
    assert block.has_canonical_format
    assert block.toarray().tolist() == [[2, 0, 0, 5], [0, 0, 0, 0]]


@pytest.mark.parametrize("change", ["other", "touched", "gone"])
def test_a_file_that_changed_between_two_passes(shards, X, change):
    blocks = from_csr_files(shards, block_bytes=300)
    list(blocks)
    path = shards / "shard-1.npz"
    if change == "other":
        sp.save_npz(path, X[:30])
    elif change == "touched":
        os.utime(path, ns=(0, 0))
    else:
        path.unlink()
    with pytest.raises(RuntimeError, match=r"shard-1\.npz (changed|was opened)"):
        list(blocks)


@pytest.fixture
def stored(X, tmp_path):
    """Shards that are not compressed."""
    for i, part in enumerate([X[:50], X[50:60], X[60:]]):
        sp.save_npz(tmp_path / f"stored-{i}.npz", part, compressed=False)
    return tmp_path


@pytest.mark.parametrize("block_bytes", [1, 200, 3000, 2**20])
def test_parts_of_files_without_compression_are_read_alone(stored, X, monkeypatch, block_bytes):
    monkeypatch.setattr(csr_files, "_load", lambda path: pytest.fail("read as a whole"))
    blocks = from_csr_files(stored, block_bytes=block_bytes)
    for found in (stacked(blocks), sp.vstack([blocks[i] for i in range(len(blocks))])):
        assert np.array_equal(found.toarray(), X.toarray())


def test_a_file_without_compression_that_was_cut_off(stored):
    (array,) = stored_arrays(str(stored / "stored-0.npz"), ("data",))
    with pytest.raises(ValueError, match=r"stored-0\.npz ends too early"):
        array.read(0, 10**6)


@pytest.mark.parametrize("what", ["bytes of another machine", "two dimensions", "compression"])
def test_arrays_that_cannot_be_read_in_part(tmp_path, what):
    values = np.arange(4.0).astype(">f8") if what == "bytes of another machine" else np.eye(2)
    save = np.savez_compressed if what == "compression" else np.savez
    save(tmp_path / "some.npz", data=values)
    assert stored_arrays(str(tmp_path / "some.npz"), ("data",)) is None


def test_bytes_of_another_machine(tmp_path, X):
    swapped = X.data.astype(X.dtype.newbyteorder())
    save_raw(tmp_path / "rows.npz", swapped, X.indices, X.indptr, X.shape)
    assert np.array_equal(stacked(from_csr_files(tmp_path)).toarray(), X.toarray())


def test_files_without_rows_are_skipped(tmp_path, X):
    parts = ("a", X[:0]), ("b", X[:40]), ("c", sp.csr_array((0, 9), dtype="f4")), ("d", X[40:])
    for name, part in parts:
        sp.save_npz(tmp_path / f"{name}.npz", part)
    assert (stacked(from_csr_files(tmp_path, block_bytes=640)) != X).nnz == 0
    for name in "bd":
        (tmp_path / f"{name}.npz").unlink()
    with pytest.raises(ValueError, match="has no rows"):
        from_csr_files(tmp_path)
