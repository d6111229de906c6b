"""HDF5 and zarr: chunks, weights, open arrays, groups, and arrays that changed."""

import os

import h5py
import numpy as np
import pytest
import zarr

from polymeans.blocks import from_hdf5, from_zarr

from .conftest import matrix, stacked


@pytest.fixture
def X():
    return matrix(np.float32)


@pytest.fixture
def hdf5(X, tmp_path):
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["rows"] = X
        file["chunked"] = file.create_dataset("group/chunked", data=X, chunks=(10, 5))
        file["flat"] = X[:, 0]
        file["text"] = np.array([[b"a"]])
    return tmp_path / "rows.h5"


@pytest.fixture
def folder(X, tmp_path):
    group = zarr.open_group(str(tmp_path / "data.zarr"), mode="w")
    group.create_array("rows", shape=X.shape, chunks=(10, 5), dtype=X.dtype)[:] = X
    group.create_array("flat", shape=(5,), dtype=X.dtype)
    return tmp_path / "data.zarr"


def test_blocks_begin_with_chunks(hdf5, folder):
    for blocks in (
        from_hdf5(hdf5, "chunked", block_bytes=35 * 20),
        from_zarr(folder / "rows", block_bytes=35 * 20),
    ):
        assert all(size % 10 == 0 for size in blocks.sizes[:-1])
        assert max(blocks.sizes) <= 35


def test_weights_go_with_their_rows(hdf5, folder, X):
    given = np.arange(103.0)
    for blocks in (
        from_hdf5(hdf5, "rows", block_bytes=200, weights=given),
        from_zarr(folder / "rows", block_bytes=200, weights=given),
    ):
        rows, weights = zip(*blocks)
        assert np.array_equal(np.concatenate(rows), X)
        assert np.array_equal(np.concatenate(weights), given)


def test_no_file_stays_open(hdf5):
    blocks = from_hdf5(hdf5, "rows")
    blocks[0]
    with h5py.File(hdf5, "r+") as file:  # would fail while it is open for reading
        assert "rows" in file


def test_a_dataset_that_is_not_there(hdf5):
    with pytest.raises(ValueError, match=r"rows\.h5 has no dataset 'X'\. It has chunked, flat"):
        from_hdf5(hdf5, "X")
    with pytest.raises(ValueError, match=r"has no dataset 'group'"):
        from_hdf5(hdf5, "group")


def test_arrays_that_cannot_be_clustered(hdf5, folder):
    with pytest.raises(ValueError, match=r"flat in .*rows\.h5 has an array of shape \(103,\)"):
        from_hdf5(hdf5, "flat")
    with pytest.raises(TypeError, match=r"text in .*rows\.h5: values of type \|S1 cannot be"):
        from_hdf5(hdf5, "text")
    with pytest.raises(ValueError, match=r"flat has an array of shape \(5,\)\. It must be 2-D"):
        from_zarr(folder / "flat")


def test_files_that_are_not_there_or_not_hdf5(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        from_hdf5(tmp_path / "missing.h5", "X")
    with pytest.raises(TypeError, match="path must be the path of one file"):
        from_hdf5([tmp_path / "a.h5", tmp_path / "b.h5"], "X")
    (tmp_path / "bad.h5").write_bytes(b"no HDF5")
    with pytest.raises(ValueError, match=r"bad\.h5 cannot be opened as an HDF5 file"):
        from_hdf5(tmp_path / "bad.h5", "X")
    with pytest.raises(FileNotFoundError, match="There is no zarr array"):
        from_zarr(tmp_path / "missing.zarr")


def test_datasets_without_rows(tmp_path):
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file["rows"] = np.ones((0, 3))
        file["columns"] = np.ones((3, 0))
    with pytest.raises(ValueError, match=r"rows in .*empty\.h5 has no rows"):
        from_hdf5(tmp_path / "empty.h5", "rows")
    with pytest.raises(ValueError, match=r"columns in .*empty\.h5 has no columns"):
        from_hdf5(tmp_path / "empty.h5", "columns")


def test_a_file_that_changed_between_two_passes(hdf5, X):
    blocks = from_hdf5(hdf5, "rows", block_bytes=300)
    list(blocks)
    with h5py.File(hdf5, "r+") as file:
        file["rows"][0] = 7
    os.utime(hdf5, ns=(0, 0))
    with pytest.raises(RuntimeError, match=r"rows\.h5 changed after it was opened"):
        list(blocks)


@pytest.mark.parametrize("opened", [False, True])
def test_a_zarr_array_that_changed_between_two_passes(folder, opened):
    path = folder / "rows"
    source = zarr.open_array(str(path), mode="r") if opened else path
    blocks = from_zarr(source, block_bytes=300)
    list(blocks)
    array = zarr.open_array(str(path), mode="r+")
    array[50:60] = np.random.default_rng(1).normal(size=(10, 5))
    with pytest.raises(RuntimeError, match=r"rows changed after it was opened"):
        list(blocks)


def test_open_arrays_on_disk_and_in_memory(folder, X):
    assert np.array_equal(stacked(from_zarr(zarr.open(str(folder), mode="r")["rows"])), X)
    array = zarr.array(X)
    assert np.array_equal(stacked(from_zarr(array, block_bytes=100)), X)


@pytest.mark.parametrize("source", [np.ones((3, 2)), None])
def test_what_is_no_zarr_array(source):
    with pytest.raises(TypeError, match="path_or_array must be a zarr array"):
        from_zarr(source)


def test_a_group_is_no_array(folder):
    with pytest.raises(TypeError, match=r"Name one array of a group as path/name"):
        from_zarr(folder)


def test_a_folder_without_a_zarr_array(tmp_path):
    with pytest.raises(ValueError, match="cannot be opened as a zarr array"):
        from_zarr(tmp_path)
