"""Blocks of any origin are compared with what they announce."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import silhouette_score

from polymeans.blocks import Blocks
from polymeans.blocks.checked import check_blocks

from .conftest import sparse_matrix


class Plain:
    """Blocks from a list, with attributes that need not be true."""

    def __init__(self, parts, **announced):
        self.parts = parts
        first = parts[0][0] if isinstance(parts[0], tuple) else parts[0]
        self.sizes = [len(p[0]) if isinstance(p, tuple) else p.shape[0] for p in parts]
        self.n_samples, self.n_features = sum(self.sizes), first.shape[-1]
        self.dtype, self.is_sparse = first.dtype, sp.issparse(first)
        for name, value in announced.items():
            setattr(self, name, value)

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, i):
        return self.parts[i]


def ones(*shape, dtype=np.float64):
    return np.ones(shape, dtype)


def test_a_class_with_the_attributes_is_blocks():
    plain = Plain([ones(3, 2), ones(4, 2)])
    assert isinstance(plain, Blocks)
    blocks = check_blocks(plain)
    assert blocks.sizes == (3, 4)
    assert blocks[0] is plain.parts[0] or np.shares_memory(blocks[0], plain.parts[0])
    assert [len(rows) for rows in blocks] == [3, 4]


def test_integers_become_float64():
    blocks = check_blocks(Plain([ones(3, 2, dtype=np.int8)]))
    assert blocks.dtype == blocks[0].dtype == np.float64


def test_weights_come_with_blocks():
    blocks = check_blocks(Plain([(ones(3, 2), [1, 2, 0])]))
    assert blocks[0][1].tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ([ones(3, 2), ones(4, 3)], ValueError, "Block 1 of the Plain has 3 columns, but 2 were"),
        (
            [ones(3, 2), ones(4, 2, dtype=np.float32)],
            TypeError,
            "Block 1 of the Plain has values of type float32, but float64 was announced",
        ),
        ([ones(3, 2), ones(6)], ValueError, r"Block 1 of the Plain has the shape \(6,\)"),
        (
            [ones(3, 2), sp.csr_array(ones(3, 2))],
            TypeError,
            "Block 1 of the Plain is CSR, but dense rows were announced",
        ),
        (
            [sp.csr_array(ones(3, 2)), ones(3, 2)],
            TypeError,
            "Block 1 of the Plain is dense, but CSR rows were announced",
        ),
        (
            [sp.csr_array(ones(3, 2)), sp.csc_array(ones(3, 2))],
            TypeError,
            r"is CSC, but CSR rows were announced\. Convert it with tocsr\(\)",
        ),
        ([ones(3, 2), ones(0, 2)], ValueError, "Block 1 of the Plain has no rows"),
        (
            [(ones(3, 2), ones(3)), (ones(3, 2), ones(2))],
            ValueError,
            r"Block 1 of the Plain: weights of shape \(2,\) for 3 rows",
        ),
        (
            [(ones(3, 2), ones(3)), (ones(3, 2), -ones(3))],
            ValueError,
            r"Row 3 has the weight -1\.0, which is negative or not finite \(Block 1",
        ),
        ([(ones(3, 2), ones(3)), ones(3, 2)], ValueError, "Block 1 .* has no weights, but other"),
        ([ones(3, 2), (ones(3, 2), ones(3))], ValueError, "Block 1 .* has weights, but other"),
        ([(ones(3, 2), ones(3), ones(3))], TypeError, "pair of rows and weights, got 3 objects"),
    ],
)
def test_blocks_that_are_not_what_was_announced(parts, error, message):
    with pytest.raises(error, match=message):
        list(check_blocks(Plain(parts)))


def test_a_list_is_no_block():
    blocks = Plain([ones(3, 2)])
    blocks.parts = [[[1.0, 2.0]] * 3]
    with pytest.raises(TypeError, match="Block 0 of the Plain is list, but dense rows were"):
        check_blocks(blocks)[0]


def test_another_number_of_rows_in_the_next_pass():
    plain = Plain([ones(3, 2), ones(4, 2)])
    blocks = check_blocks(plain)
    list(blocks)
    plain.parts[1] = ones(5, 2)
    with pytest.raises(ValueError, match=r"Block 1 .* has 5 rows, but 4 were announced"):
        list(blocks)


def test_announcements_that_contradict_themselves():
    with pytest.raises(
        ValueError, match="2 blocks and 8 rows, but sizes has 2 entries that add up"
    ):
        check_blocks(Plain([ones(3, 2), ones(4, 2)], n_samples=8))
    with pytest.raises(ValueError, match="sizes has 1 entries"):
        check_blocks(Plain([ones(3, 2), ones(4, 2)], sizes=[7]))
    with pytest.raises(TypeError, match="values of type object cannot be clustered"):
        check_blocks(Plain([ones(3, 2)], dtype=object))
    with pytest.raises(ValueError, match="the Plain has no columns"):
        check_blocks(Plain([ones(3, 2)], n_features=0))


def test_an_empty_source():
    plain = Plain([ones(3, 2)], n_samples=0, sizes=())
    plain.parts = []
    with pytest.raises(ValueError, match="the Plain has no rows"):
        check_blocks(plain)


@pytest.mark.parametrize("source", [(x for x in [ones(3, 2)]), iter([ones(3, 2)])])
def test_one_shot_sources_are_refused(source):
    with pytest.raises(TypeError, match=r"can be read only once\. .*from_sequence.*from_npy or"):
        check_blocks(source)


@pytest.mark.parametrize("source", [ones(3, 2), [ones(3, 2)], None])
def test_what_is_no_source(source):
    with pytest.raises(
        TypeError, match=r"blocks must be an object as .*which has no n_samples|is_"
    ):
        check_blocks(source)


def broken(**arrays):
    """A CSR array whose parts were replaced behind its back."""
    X = sparse_matrix(n_rows=8)
    for name, value in arrays.items():
        setattr(X, name, value)
    return X


def test_csr_blocks_are_checked():
    X = sparse_matrix(n_rows=8)
    indptr, indices = X.indptr.copy(), X.indices.copy()
    indptr[3], indices[-1] = indptr[-1] + 9, 40
    for bad, message in [
        (broken(indptr=indptr), "indptr of the CSR rows must begin with 0, never decrease"),
        (broken(indptr=X.indptr + np.int32(1)), "indptr of the CSR rows must begin with 0"),
        (broken(data=X.data[:-1]), "indptr of the CSR rows ends at"),
        (broken(indices=indices), r"row \d+ has the column index 40, outside of the 40 columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_blocks(Plain([sparse_matrix(n_rows=5), bad]))[1]


def test_csr_blocks_become_canonical_in_a_copy():
    X = sp.csr_array(([1.0, 2.0, 4.0], [3, 0, 3], [0, 3, 3]), shape=(2, 4))
    X.has_canonical_format = True  # it is not
    (block,) = check_blocks(Plain([X]))
    assert block.toarray().tolist() == [[2, 0, 0, 5], [0, 0, 0, 0]]
    assert X.data.tolist() == [1, 2, 4]
    assert X.indices.tolist() == [3, 0, 3]


def test_duplicates_that_overflow_are_named():
    X = sp.csr_array(([1e308, 1e308], [0, 0], [0, 0, 2]), shape=(2, 4))
    with pytest.raises(ValueError, match="Row 1 has a value that is not finite: inf"):
        list(check_blocks(Plain([X])))


def test_canonical_csr_blocks_are_not_copied():
    X = sparse_matrix()
    (block,) = check_blocks(Plain([X]))
    assert np.shares_memory(block.data, X.data)
    assert np.shares_memory(block.indices, X.indices)


def test_blocks_are_no_array():
    blocks = check_blocks(Plain([ones(3, 2), ones(4, 2)]))
    for use in (np.asarray, np.array, lambda X: silhouette_score(X, [0, 1] * 3 + [0])):
        with pytest.raises(TypeError, match="no array: its rows are read block by block"):
            use(blocks)
    assert np.concatenate(list(blocks)).shape == (7, 2)
    assert isinstance(blocks, Blocks)
