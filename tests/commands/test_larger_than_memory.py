"""Rows that are larger than the memory of the process may be."""

import resource

import numpy as np
import pytest

import polymeans as library
from polymeans import KMeans
from tests.commands.running import polymeans, polymeans_here


def blobs(n, d=8):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(5, d)) * 20)[rng.integers(5, size=n)] + rng.normal(size=(n, d))


@pytest.mark.parametrize("kind", ["csv", "npy", "parquet", "jsonl"])
@pytest.mark.parametrize("scale", [[], ["--scale"]])
def test_blocks_give_the_model_of_rows_in_memory(kind, scale, tmp_path):
    X = blobs(3000)
    write(X, tmp_path / f"x.{kind}")
    start = ["--set", "init=k-means||", "-k", 5, *scale]
    for name, memory in (("held", "1G"), ("blocks", "50k")):
        run = polymeans if (kind, name, scale) == ("csv", "blocks", []) else polymeans_here
        done = run("fit", f"x.{kind}", *start, "--memory", memory, "--model", name, folder=tmp_path)
        assert done.code == 0, done.notes
    held, blocks = (library.load(tmp_path / name) for name in ("held", "blocks"))
    if scale:  # means are summed in another order
        held, blocks = held[-1], blocks[-1]
        np.testing.assert_allclose(held.cluster_centers_, blocks.cluster_centers_, rtol=1e-9)
    else:
        np.testing.assert_array_equal(held.cluster_centers_, blocks.cluster_centers_)
    np.testing.assert_array_equal(held.labels_, blocks.labels_)
    labels = tmp_path / "labels.csv"
    done = polymeans_here(
        "predict", f"x.{kind}", "--model", "blocks", "--memory", "50k", "--labels", labels,
        folder=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.notes
    np.testing.assert_array_equal(np.loadtxt(labels, skiprows=1), held.labels_)


def write(X, path):
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".csv":
        np.savetxt(path, X, delimiter=",", header=",".join("abcdefgh"), comments="")
    elif path.suffix == ".jsonl":
        path.write_text("".join(f"{row}\n" for row in X.tolist()))
    else:
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table({f"c{i}": X[:, i] for i in range(X.shape[1])})
        pyarrow.parquet.write_table(table, path, row_group_size=500)


#: Bytes of data (not of code and shared libraries) that a process may have.
LIMIT = 1000 * 2**20


def limited():
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


def test_a_file_larger_than_the_limit_of_the_process(tmp_path):
    """More than 1000 MiB of rows: reading them would fail, as the second process shows."""
    part = blobs(2**16, 32).astype(np.float32)
    n_parts = 136
    path = tmp_path / "x.npy"
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_parts * len(part), 32)}
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(n_parts):
            file.write(part.tobytes())
    assert path.stat().st_size > LIMIT
    arguments = ["fit", "x.npy", "-k", "5", "--max-iter", "2", "--model", "m", "--labels", "l.npy"]
    done = polymeans(*arguments, "--threads", 2, folder=tmp_path, before=limited)
    assert done.code == 0, done.notes
    labels = np.load(tmp_path / "l.npy")
    assert len(labels) == n_parts * len(part)
    model = library.load(tmp_path / "m")
    np.testing.assert_array_equal(labels[: len(part)], model.predict(part))
    np.testing.assert_array_equal(labels[-len(part) :], labels[: len(part)])
    best = KMeans(5, n_init=5, random_state=0).fit(part).inertia_
    assert model.inertia_ < 3 * n_parts * best
    done = polymeans(*arguments, "--memory", "100G", folder=tmp_path, before=limited)
    assert done.code == 1
    assert "memory" in done.notes
