"""Every reader gives the rows that are in memory, bit for bit, and again in the next pass."""

import pickle
from itertools import accumulate

import numpy as np
import pytest

from polymeans.blocks import Blocks
from polymeans.blocks.checked import CheckedBlocks, check_blocks

from .conftest import DENSE, SPARSE, arrow_table, matrix, rows_of, sparse_matrix, stacked


def same_csr(A, B):
    return (
        A.dtype == B.dtype
        and A.shape == B.shape
        and all(
            np.array_equal(getattr(A, part), getattr(B, part))
            for part in ("indptr", "indices", "data")
        )
    )


@pytest.mark.parametrize("reader", DENSE)
def test_dense_rows_are_those_in_memory(reader, dense, tmp_path):
    blocks = reader(dense, tmp_path)
    expected = dense if dense.dtype == np.float32 else dense.astype(np.float64)
    assert isinstance(blocks, Blocks)
    assert (blocks.n_samples, blocks.n_features) == dense.shape
    assert blocks.dtype == expected.dtype
    assert not blocks.is_sparse
    assert len(blocks) == len(blocks.sizes) > 2
    assert blocks.sizes == tuple(len(block) for block in blocks)
    for _ in range(2):
        found = stacked(blocks)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()
    for block in blocks:
        assert type(block) is np.ndarray
        assert block.flags.c_contiguous


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("reader", SPARSE)
def test_csr_rows_are_those_in_memory(reader, dtype, tmp_path):
    X = sparse_matrix()
    X.data = np.ceil(X.data * 100)
    X = X.astype(dtype)
    blocks = reader(X, tmp_path)
    expected = X if dtype == np.float32 else X.astype(np.float64)
    assert isinstance(blocks, Blocks)
    assert (blocks.n_samples, blocks.n_features, blocks.is_sparse) == (*X.shape, True)
    assert blocks.dtype == expected.dtype
    assert blocks.sizes == tuple(block.shape[0] for block in blocks)
    assert len(blocks) > 2
    for _ in range(2):
        assert same_csr(stacked(blocks), expected)
    assert all(block.has_canonical_format for block in blocks)


@pytest.mark.parametrize("reader", DENSE + SPARSE)
def test_blocks_can_be_read_in_any_order(reader, tmp_path):
    X = sparse_matrix() if reader in SPARSE else matrix(np.float64)
    blocks = reader(X, tmp_path)
    firsts = list(accumulate(blocks.sizes, initial=0))
    for i in np.random.default_rng(0).permutation(np.repeat(np.arange(len(blocks)), 2)):
        found, expected = blocks[int(i)], X[firsts[i] : firsts[i + 1]]
        if blocks.is_sparse:
            found, expected = found.toarray(), expected.toarray()
        assert np.array_equal(found, expected)
    last = rows_of(blocks[-1])
    assert last.shape[0] == blocks.sizes[-1]


# Arrow cannot pickle a dataset that is a table in memory.
@pytest.mark.parametrize("reader", [f for f in DENSE + SPARSE if f is not arrow_table])
def test_blocks_can_be_pickled(reader, tmp_path):
    X = sparse_matrix() if reader in SPARSE else matrix(np.float32)
    blocks = reader(X, tmp_path)
    blocks[0]
    copy = pickle.loads(pickle.dumps(blocks))
    assert copy.sizes == blocks.sizes
    found, expected = stacked(copy), stacked(blocks)
    if blocks.is_sparse:
        found, expected = found.toarray(), expected.toarray()
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("reader", DENSE)
def test_what_a_reader_returns_is_checked(reader, tmp_path):
    blocks = reader(matrix(np.float64), tmp_path)
    assert isinstance(blocks, CheckedBlocks)
    assert check_blocks(blocks) is blocks
    assert "103 x 5 dense rows of float64" in repr(blocks)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("reader", DENSE)
def test_a_value_that_is_not_finite_is_named_by_its_global_row(reader, value, tmp_path):
    X = matrix(np.float64)
    X[77, 3] = value
    blocks = reader(X, tmp_path)
    with pytest.raises(ValueError, match=r"^Row 77 has a value that is not finite: -?(nan|inf)"):
        list(blocks)


@pytest.mark.parametrize("reader", SPARSE)
def test_a_csr_value_that_is_not_finite_is_named_by_its_global_row(reader, tmp_path):
    X = sparse_matrix()
    row = 77
    while X.indptr[row] == X.indptr[row + 1]:
        row += 1
    X.data[X.indptr[row]] = np.nan
    with pytest.raises(ValueError, match=f"^Row {row} has a value that is not finite: nan"):
        list(reader(X, tmp_path))


@pytest.mark.parametrize("reader", DENSE)
def test_large_values_of_both_signs_are_finite(reader, tmp_path):
    X = matrix(np.float64)
    X[::2] = 1e308
    assert np.array_equal(stacked(reader(X, tmp_path)), X)


@pytest.mark.parametrize("i", [1000, -1000, 1.0, "0"])
def test_there_is_no_such_block(i, tmp_path):
    blocks = DENSE[0](matrix(np.float64), tmp_path)
    with pytest.raises(IndexError, match="There is no block"):
        blocks[i]
