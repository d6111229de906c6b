"""Labels are written completely or not at all."""

import os
import warnings

import numpy as np
import pytest
from sklearn.cluster import MiniBatchKMeans

from polymeans import KMeans
from polymeans.blocks import from_arrow, from_sequence, label_blocks, write_labels

from .conftest import matrix, stacked, table_of


def parts_of(labels, size=10):
    return (labels[i : i + size] for i in range(0, len(labels), size))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_labels_are_written(tmp_path, dtype):
    labels = (np.arange(95) % 7).astype(dtype)
    path = write_labels(tmp_path / "labels.npy", parts_of(labels), 95)
    assert path == tmp_path / "labels.npy"
    found = np.load(path, mmap_mode="r")
    assert found.dtype == np.int32
    assert np.array_equal(found, labels)
    assert os.listdir(tmp_path) == ["labels.npy"]


def test_the_file_is_that_of_numpy(tmp_path):
    labels = np.arange(95, dtype=np.int32)
    np.save(tmp_path / "numpy.npy", labels)
    write_labels(str(tmp_path / "ours.npy"), parts_of(labels), 95)
    ours, numpys = tmp_path / "ours.npy", tmp_path / "numpy.npy"
    assert np.array_equal(np.load(ours), np.load(numpys))
    assert ours.stat().st_mode == numpys.stat().st_mode


def interrupted(labels):
    yield labels[:10]
    raise KeyboardInterrupt


@pytest.mark.parametrize("existed", [False, True])
@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda y: [y[:10]], ValueError, "only 10 labels for n_samples=95"),
        (lambda y: [y, y], ValueError, "more labels for n_samples=95"),
        (lambda y: [y[:10], y[10:] * 0.5], TypeError, "Labels of block 1 must be a 1-D array of"),
        (lambda y: [y[:, None]], TypeError, r"got an array of shape \(95, 1\)"),
        (lambda y: [y + 2**40], ValueError, "Labels of block 0 do not fit into int32"),
        (interrupted, KeyboardInterrupt, None),
    ],
)
def test_nothing_half_written_is_left(tmp_path, make, error, message, existed):
    target = tmp_path / "labels.npy"
    if existed:
        target.write_bytes(b"as it was")
    with pytest.raises(error, match=message):
        write_labels(target, make(np.arange(95)), 95)
    assert os.listdir(tmp_path) == (["labels.npy"] if existed else [])
    if existed:
        assert target.read_bytes() == b"as it was"


def test_an_existing_file_is_replaced(tmp_path):
    (tmp_path / "labels.npy").write_bytes(b"as it was")
    write_labels(tmp_path / "labels.npy", [np.arange(3)], 3)
    assert np.load(tmp_path / "labels.npy").tolist() == [0, 1, 2]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_labels(tmp_path / "missing" / "labels.npy", [np.arange(3)], 3)


@pytest.mark.parametrize("n_samples", [0, -1, 2.5])
def test_n_samples_is_a_positive_integer(tmp_path, n_samples):
    with pytest.raises((ValueError, TypeError), match="n_samples must be an integer"):
        write_labels(tmp_path / "labels.npy", [], n_samples)


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans])
def test_labels_of_blocks_go_by_the_names_of_columns(tmp_path, kind):
    table = table_of(matrix(np.float64))
    blocks = from_arrow(table, block_bytes=640)
    rows = stacked(blocks)
    model = KMeans(3, random_state=0).fit(blocks)
    if kind is not KMeans:
        frame = table.to_pandas()
        model = kind(3, random_state=0, n_init=1).fit(frame)
        expected = model.predict(frame)
    else:
        expected = model.predict(blocks)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = np.concatenate(list(label_blocks(model, blocks)))
        without = np.concatenate(list(label_blocks(model, from_sequence(rows, block_rows=9))))
    assert np.array_equal(found, expected)
    assert np.array_equal(without, expected)
    assert hasattr(model, "feature_names_in_")
    other = from_arrow(table, columns=table.column_names[::-1])
    with pytest.raises(ValueError, match="feature names should match"):
        write_labels(tmp_path / "labels.npy", label_blocks(model, other), len(rows))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["labels", "labels.bin", "labels.npz"])
def test_the_ending_is_that_of_the_format(tmp_path, name):
    with pytest.raises(ValueError, match=r"path must end in \.npy.*labels\.npy"):
        write_labels(tmp_path / name, [np.arange(3)], 3)
    assert os.listdir(tmp_path) == []


def test_one_array_of_all_labels(tmp_path):
    path = write_labels(tmp_path / "labels.npy", np.arange(5), 5)
    assert np.array_equal(np.load(path), np.arange(5))
