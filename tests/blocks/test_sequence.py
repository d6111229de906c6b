"""Anything with a length and slices."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from polymeans.blocks import from_sequence

from .conftest import matrix, sparse_matrix, stacked


class Sequence:
    """What ``lightgbm.Sequence`` asks for."""

    batch_size = 7

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return self.rows.shape[0]

    def __getitem__(self, index):
        return self.rows[index]


class Annotated:
    """As AnnData in backed mode: rows are in ``X``, which has a shape and no length."""

    class Backed:
        def __init__(self, rows):
            self._rows, self.shape = rows, rows.shape

        def __getitem__(self, rows):
            return self._rows[rows]

    def __init__(self, rows):
        self.X, self.n_obs, self.shape = self.Backed(rows), rows.shape[0], rows.shape


@pytest.mark.parametrize("wrap", [Sequence, Annotated])
@pytest.mark.parametrize("X", [matrix(np.float32), sparse_matrix(), sp.csr_matrix(sparse_matrix())])
def test_objects_with_slices(wrap, X):
    blocks = from_sequence(wrap(X), block_rows=10)
    assert (blocks.n_samples, blocks.n_features) == X.shape
    assert blocks.dtype == X.dtype
    assert blocks.is_sparse == sp.issparse(X)
    assert max(blocks.sizes) <= 10
    found, expected = stacked(blocks), X
    if blocks.is_sparse:
        found, expected = found.toarray(), X.toarray()
    assert np.array_equal(found, expected)


def test_slices_of_arrays_and_memory_maps_are_not_copied(tmp_path):
    X = matrix(np.float64)
    np.save(tmp_path / "rows.npy", X)
    for rows in (X, np.load(tmp_path / "rows.npy", mmap_mode="r")):
        for block in from_sequence(rows, block_rows=9):
            assert np.shares_memory(block, rows)


def test_frames_and_lists_of_lists():
    X = matrix(np.float64)
    assert np.array_equal(stacked(from_sequence(pd.DataFrame(X), block_rows=9)), X)
    assert np.array_equal(stacked(from_sequence(X.tolist(), block_rows=9)), X)


def test_csc_rows_become_csr():
    X = sparse_matrix()
    blocks = from_sequence(X.tocsc(), block_rows=20)
    assert blocks[0].format == "csr"
    assert (stacked(blocks) != X).nnz == 0


def test_weights_go_with_their_rows():
    X = matrix(np.float64)
    rows, weights = zip(*from_sequence(X, block_rows=9, weights=np.arange(103)))
    assert np.array_equal(np.concatenate(rows), X)
    assert np.array_equal(np.concatenate(weights), np.arange(103))


@pytest.mark.parametrize(
    "obj", [(row for row in np.ones((3, 2))), iter([np.ones(2)]), map(np.ones, [2, 3])]
)
def test_what_can_be_read_only_once_is_refused(obj):
    message = r"can be read only once\. Rows are read several times\. Pass an array, a memory map"
    with pytest.raises(TypeError, match=message):
        from_sequence(obj)


@pytest.mark.parametrize("obj", [5, None, {"a": 1}, {1, 2}, "text", object()])
def test_what_has_no_slices_is_refused(obj):
    with pytest.raises(TypeError, match="has no length and slices of rows"):
        from_sequence(obj)


def test_blocks_are_blocks_already():
    with pytest.raises(TypeError, match="obj is in blocks already"):
        from_sequence(from_sequence(np.ones((3, 2))))


def test_an_object_that_takes_no_slices():
    class Single(Sequence):
        def __getitem__(self, index):
            return self.rows[int(index)]

    with pytest.raises(TypeError, match=r"the Single cannot be sliced by rows, obj\[0:103\]"):
        from_sequence(Single(matrix(np.float64)))


@pytest.mark.parametrize(
    ("obj", "error", "message"),
    [
        (np.ones((0, 3)), ValueError, "the ndarray has no rows"),
        ([], ValueError, "the list has no rows"),
        (np.ones((3, 0)), ValueError, "the ndarray has no columns"),
        (np.ones(3), ValueError, r"slices of shape \(3,\)\. They must be 2-D"),
        (np.ones((3, 2, 2)), ValueError, "They must be 2-D"),
        (np.full((3, 2), "a"), TypeError, "values of type <U1 cannot be clustered"),
        (np.ones((3, 2), complex), TypeError, "Convert them to float32 or float64"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), TypeError, "Column 'b' of X has values"),
    ],
)
def test_rows_that_cannot_be_clustered(obj, error, message):
    with pytest.raises(error, match=message):
        from_sequence(obj)


@pytest.mark.parametrize("block_rows", [0, -3, 2.5, "many"])
def test_block_rows_is_a_positive_integer(block_rows):
    with pytest.raises((ValueError, TypeError), match="block_rows must be an integer"):
        from_sequence(np.ones((3, 2)), block_rows=block_rows)


def test_a_slice_that_is_too_short():
    class Liar(Sequence):
        def __len__(self):
            return 200

    with pytest.raises(ValueError, match=r"has 103 rows in the slice \[0:200\]"):
        from_sequence(Liar(matrix(np.float64)))


def test_an_object_that_became_shorter():
    source = Sequence(matrix(np.float64))
    blocks = from_sequence(source, block_rows=60)
    source.rows = source.rows[:-1]
    with pytest.raises(ValueError, match=r"Block 1 .*has 51 rows, but 52 were announced"):
        list(blocks)


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        lambda frame: frame.convert_dtypes(),
        lambda frame: frame.astype("float64[pyarrow]"),
        lambda frame: frame.set_index(frame.x0),
        lambda frame: frame.astype(pd.SparseDtype("float", 0.0)),
        lambda frame: frame.astype(pd.SparseDtype("float")),
    ],
    ids=["plain", "nullable", "pyarrow", "index of floats", "sparse", "sparse with NaN"],
)
def test_pandas_frames_keep_the_names_of_columns(convert):
    X = matrix(np.float64)
    frame = convert(pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]))
    blocks = from_sequence(frame, block_rows=10)
    assert blocks.feature_names == tuple(frame.columns)
    assert np.array_equal(stacked(blocks), X)


def test_columns_of_texts_are_named():
    with pytest.raises(TypeError, match="Column 'name' of X has values of type"):
        from_sequence(pd.DataFrame({"a": [1.0], "name": ["x"]}))


@pytest.mark.parametrize(
    ("parts", "remedy"),
    [
        ([np.ones((3, 2)), np.ones((4, 2))], "numpy.concatenate"),
        ((sparse_matrix(), sparse_matrix()), "scipy.sparse.vstack"),
    ],
)
def test_a_list_of_matrices_is_refused_with_the_remedy(parts, remedy):
    with pytest.raises(TypeError, match=f"of 2 matrices.*{remedy}"):
        from_sequence(parts)
