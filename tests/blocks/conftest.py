"""The same matrix in memory and in files of every format."""

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zarr

from polymeans.blocks import (
    from_arrow,
    from_csr_files,
    from_hdf5,
    from_npy,
    from_parquet,
    from_sequence,
    from_zarr,
)

N_ROWS, N_FEATURES = 103, 5


def matrix(dtype):
    """Rows whose values tell where they belong."""
    X = np.random.default_rng(0).normal(scale=100, size=(N_ROWS, N_FEATURES))
    return X.astype(dtype)


def sparse_matrix(dtype=np.float64, n_rows=N_ROWS):
    """CSR rows, some of them empty."""
    X = sp.random(n_rows, 40, density=0.06, format="csr", random_state=1).astype(dtype)
    return sp.csr_array(X)


def table_of(X):
    """An Arrow table with one column for each feature."""
    return pa.table({f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])})


def npy_file(X, folder):
    np.save(folder / "rows.npy", X)
    return from_npy(folder / "rows.npy", block_bytes=640)


def npy_fortran(X, folder):
    np.save(folder / "rows.npy", np.asfortranarray(X))
    return from_npy(folder / "rows.npy", block_bytes=640)


def npy_files(X, folder):
    for i, part in enumerate(np.split(X, [40, 41, 43, 90])):
        np.save(folder / f"rows-{i}.npy", part)
    return from_npy(str(folder / "rows-*.npy"), block_bytes=640)


def parquet_file(X, folder):
    pq.write_table(table_of(X), folder / "rows.parquet", row_group_size=17)
    return from_parquet(folder / "rows.parquet", block_bytes=640)


def parquet_files(X, folder):
    """Uneven row groups: some are smaller than a block, some larger, one file is empty."""
    for i, (rows, size) in enumerate([(40, 40), (0, 1), (3, 2), (47, 7), (13, 13)]):
        part, X = X[:rows], X[rows:]
        pq.write_table(table_of(part), folder / f"rows-{i}.parquet", row_group_size=size)
    return from_parquet(folder, block_bytes=640)


def arrow_table(X, folder):
    return from_arrow(table_of(X), block_bytes=640)


def arrow_lists(X, folder):
    """One column whose values are whole rows."""
    values = pa.array(np.ascontiguousarray(X).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(values, X.shape[1])
    pq.write_table(pa.table({"vector": column}), folder / "lists.parquet", row_group_size=30)
    return from_parquet(folder / "lists.parquet", block_bytes=640)


def hdf5_file(X, folder):
    with h5py.File(folder / "rows.h5", "w") as file:
        file.create_dataset("group/rows", data=X, chunks=(9, 2), compression="gzip")
    return from_hdf5(folder / "rows.h5", "group/rows", block_bytes=640)


def zarr_folder(X, folder):
    array = zarr.open_array(
        str(folder / "rows.zarr"), mode="w", shape=X.shape, chunks=(9, 3), dtype=X.dtype
    )
    array[:] = X
    return from_zarr(folder / "rows.zarr", block_bytes=640)


def sequence(X, folder):
    return from_sequence(X, block_rows=16)


def csr_files(X, folder):
    for i, rows in enumerate([slice(0, 30), slice(30, 31), slice(31, 33), slice(33, None)]):
        sp.save_npz(folder / f"shard-{i}.npz", X[rows], compressed=i % 2 == 0)
    return from_csr_files(folder, block_bytes=700)


def csr_sequence(X, folder):
    return from_sequence(X, block_rows=16)


DENSE = [
    npy_file,
    npy_fortran,
    npy_files,
    parquet_file,
    parquet_files,
    arrow_table,
    arrow_lists,
    hdf5_file,
    zarr_folder,
    sequence,
]
SPARSE = [csr_files, csr_sequence]


@pytest.fixture(params=[np.float32, np.float64, np.int64, np.int16], ids=lambda t: t.__name__)
def dense(request):
    return matrix(request.param)


def rows_of(block):
    return block[0] if isinstance(block, tuple) else block


def stacked(blocks):
    """All rows of some blocks."""
    parts = [rows_of(block) for block in blocks]
    return sp.vstack(parts, format="csr") if blocks.is_sparse else np.concatenate(parts)
