"""Files of numpy: memory maps, several files, weights, and files that cannot be read."""

import mmap
import os

import numpy as np
import pytest

from polymeans.blocks import from_npy

from .conftest import matrix, stacked


def bases(array):
    while array is not None:
        yield array
        array = getattr(array, "base", None)


@pytest.fixture
def X():
    return matrix(np.float32)


@pytest.fixture
def path(X, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return tmp_path / "rows.npy"


def test_a_block_is_a_map_of_its_own_rows_and_no_more(path, X):
    blocks = from_npy(path, block_bytes=400)
    maps = [next(b for b in bases(block) if isinstance(b, mmap.mmap)) for block in blocks]
    for block, mapped in zip(blocks, maps):
        assert len(mapped) < block.nbytes + mmap.ALLOCATIONGRANULARITY
        assert block.flags.writeable  # numba compiles for arrays that cannot be written to anew


def test_writing_to_a_block_changes_no_file(path, X):
    block = from_npy(path)[0]
    block[:] = 0
    del block
    assert np.array_equal(np.load(path), X)
    assert np.array_equal(from_npy(path)[0], X)


def test_files_of_a_folder_are_sorted_by_name_and_lists_keep_their_order(tmp_path, X):
    for name, part in zip("cab", np.split(X, [10, 30])):
        np.save(tmp_path / f"{name}.npy", part)
    sorted_rows = np.concatenate([X[10:30], X[30:], X[:10]])
    assert np.array_equal(stacked(from_npy(tmp_path)), sorted_rows)
    assert np.array_equal(stacked(from_npy(str(tmp_path / "*.npy"))), sorted_rows)
    given = [tmp_path / f"{name}.npy" for name in "cab"]
    assert np.array_equal(stacked(from_npy(given)), X)
    assert np.array_equal(stacked(from_npy(iter(given), block_bytes=100)), X)


def test_another_byte_order_is_read(tmp_path, X):
    np.save(tmp_path / "rows.npy", X.astype(">f4"))
    blocks = from_npy(tmp_path / "rows.npy")
    assert blocks.dtype == np.float32
    assert blocks[0].dtype.isnative
    assert np.array_equal(blocks[0], X)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.float16])
def test_other_numbers_become_float64(tmp_path, dtype):
    X = (matrix(np.float64) > 0).astype(dtype)
    np.save(tmp_path / "rows.npy", X)
    found = from_npy(tmp_path / "rows.npy", block_bytes=200)
    assert found.dtype == np.float64
    assert np.array_equal(stacked(found), X)


@pytest.mark.parametrize("as_file", [False, True])
def test_weights_go_with_their_rows(path, tmp_path, X, as_file):
    given = np.arange(len(X)) / 7
    if as_file:
        np.save(tmp_path / "weights.npy", given)
    blocks = from_npy(path, block_bytes=300, weights=tmp_path / "weights.npy" if as_file else given)
    rows, weights = zip(*blocks)
    assert np.array_equal(np.concatenate(rows), X)
    assert np.array_equal(np.concatenate(weights), given)
    assert all(w.dtype == np.float64 for w in weights)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_a_bad_weight_is_named_by_its_global_row(path, X, weight):
    weights = np.ones(len(X))
    weights[66] = weight
    with pytest.raises(ValueError, match=r"Row 66 has the weight .*negative or not finite"):
        list(from_npy(path, block_bytes=300, weights=weights))


def test_weights_of_another_length(path, X):
    with pytest.raises(ValueError, match=r"weights has the shape \(5,\), but there are 103 rows"):
        from_npy(path, weights=np.ones(5))
    with pytest.raises(ValueError, match=r"weights has the shape \(103, 1\)"):
        from_npy(path, weights=np.ones((103, 1)))
    with pytest.raises(TypeError, match="weights must be numbers"):
        from_npy(path, weights=np.full(103, "a"))[0]


def test_a_file_of_weights_that_is_not_there_or_no_npy_file(path, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        from_npy(path, weights=tmp_path / "missing.npy")
    (tmp_path / "bad.npy").write_bytes(b"1, 2, 3, 4")
    with pytest.raises(ValueError, match=r"weights: .*bad\.npy is no \.npy file"):
        from_npy(path, weights=tmp_path / "bad.npy")


def test_weights_that_changed(path, tmp_path, X):
    np.save(tmp_path / "w.npy", np.ones(len(X)))
    blocks = from_npy(path, weights=tmp_path / "w.npy")
    os.utime(tmp_path / "w.npy", ns=(0, 0))
    with pytest.raises(RuntimeError, match=r"w\.npy changed after it was opened"):
        blocks[0]


def test_a_file_that_changed_between_two_passes(path, X):
    blocks = from_npy(path, block_bytes=300)
    list(blocks)
    np.save(path, X[:-1])
    with pytest.raises(RuntimeError, match=r"rows\.npy changed after it was opened"):
        list(blocks)


def test_a_file_of_the_same_size_that_changed(path, X):
    blocks = from_npy(path)
    stat = os.stat(path)
    np.save(path, X + 1)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    with pytest.raises(RuntimeError, match=r"rows\.npy changed after it was opened"):
        blocks[0]


def test_a_file_that_is_gone(path):
    blocks = from_npy(path)
    path.unlink()
    with pytest.raises(RuntimeError, match=r"rows\.npy was opened .* cannot be found any more"):
        blocks[0]


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (np.ones((3, 4), np.float32), "4 columns of float32"),
        (np.ones((3, 5)), "5 columns of float64"),
    ],
)
def test_files_of_different_width_or_dtype(path, tmp_path, other, found):
    np.save(tmp_path / "other.npy", other)
    with pytest.raises(
        ValueError, match=rf"other\.npy has {found}, but .*rows\.npy has 5 of float32"
    ):
        from_npy([path, tmp_path / "other.npy"])


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.ones(5), ValueError, r"bad\.npy has an array of shape \(5,\)\. It must be 2-D"),
        (np.ones((2, 2, 2)), ValueError, "must be 2-D"),
        (np.ones((0, 3)), ValueError, r"bad\.npy has no rows"),
        (np.ones((3, 0)), ValueError, r"bad\.npy has the shape \(3, 0\): no values"),
        (np.ones((3, 2), complex), TypeError, r"bad\.npy: values of type complex128 cannot be"),
        (np.full((3, 2), "a"), TypeError, "values of type <U1"),
        (np.full((3, 2), None), TypeError, "values of type object"),
        (np.ones((3, 2), np.longdouble), TypeError, "Convert them to float32 or float64"),
    ],
)
def test_arrays_that_cannot_be_clustered(tmp_path, array, error, message):
    np.save(tmp_path / "bad.npy", array)
    with pytest.raises(error, match=message):
        from_npy(tmp_path / "bad.npy")


def test_a_file_that_is_no_npy_file(tmp_path):
    (tmp_path / "bad.npy").write_bytes(b"hello, this is no array")
    with pytest.raises(ValueError, match=r"bad\.npy is no \.npy file"):
        from_npy(tmp_path / "bad.npy")


def test_a_file_that_was_cut_off(path):
    with open(path, "r+b") as file:
        file.truncate(500)
    with pytest.raises(ValueError, match=r"rows\.npy is shorter than its header says"):
        from_npy(path)


def test_paths_that_name_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        from_npy(tmp_path / "missing.npy")
    with pytest.raises(FileNotFoundError, match="No file matches the pattern"):
        from_npy(str(tmp_path / "rows-*.npy"))
    with pytest.raises(FileNotFoundError, match=r"no \.npy file in the folder"):
        from_npy(tmp_path)
    with pytest.raises(ValueError, match="at least one"):
        from_npy([])


@pytest.mark.parametrize("paths", [np.ones((2, 2)), [np.ones(3)], 5, (x for x in [np.ones(2)])])
def test_arrays_are_no_paths(paths):
    with pytest.raises(TypeError, match="paths must be a path"):
        from_npy(paths)


def test_files_without_rows_are_skipped(tmp_path, X):
    for name, part in (("a", X[:0]), ("b", X[:40]), ("c", np.empty((0, 0), "f4")), ("d", X[40:])):
        np.save(tmp_path / f"{name}.npy", part)
    blocks = from_npy(tmp_path, block_bytes=640)
    assert np.array_equal(stacked(blocks), X)
    for name in "bd":
        (tmp_path / f"{name}.npy").unlink()
    with pytest.raises(ValueError, match="has no rows"):
        from_npy(tmp_path)
