"""Arrow and Parquet: columns, filters, weights, types, nulls, and files that differ."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from polymeans.blocks import from_arrow, from_parquet, read_ahead

from .conftest import matrix, stacked, table_of


@pytest.fixture
def X():
    return matrix(np.float64)


@pytest.fixture
def path(X, tmp_path):
    table = table_of(X).append_column("w", pa.array(np.arange(103) % 4))
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=20)
    return tmp_path / "rows.parquet"


def test_row_groups_are_blocks_where_they_have_the_right_size(path, X):
    blocks = from_parquet(path, columns=["x0", "x1"], block_bytes=20 * 16)
    assert blocks.sizes == (20, 20, 20, 20, 20, 3)
    assert from_parquet(path, columns=["x0", "x1"], block_bytes=45 * 16).sizes == (40, 40, 23)
    assert from_parquet(path, columns=["x0", "x1"], block_bytes=10 * 16).sizes[:3] == (10, 10, 10)


def test_columns_are_read_in_the_given_order(path, X):
    blocks = from_parquet(path, columns=["x3", "x0"], block_bytes=500)
    assert np.array_equal(stacked(blocks), X[:, [3, 0]])


@pytest.mark.parametrize(
    "filters",
    [[("x0", ">", 0.0)], pc.field("x0") > 0, [[("x0", ">", 0.0)]]],
    ids=["tuples", "expression", "alternatives"],
)
def test_filters_choose_rows(path, X, filters):
    kept = X[X[:, 0] > 0]
    for block_bytes in (1, 300, 2**20):
        blocks = from_parquet(path, columns=["x1", "x2"], filters=filters, block_bytes=block_bytes)
        assert blocks.n_samples == len(kept)
        for _ in range(2):
            assert np.array_equal(stacked(blocks), kept[:, [1, 2]])


def test_filters_that_leave_nothing(path):
    with pytest.raises(ValueError, match="after filters has no rows"):
        from_parquet(path, filters=[("x0", ">", 1e9)])


def test_the_weight_column_is_no_feature(path, X):
    blocks = from_parquet(path, weight_column="w", block_bytes=500)
    rows, weights = zip(*blocks)
    assert np.array_equal(np.concatenate(rows), X)
    assert np.array_equal(np.concatenate(weights), np.arange(103) % 4)


def test_filters_and_weights_together(path, X):
    kept = np.arange(103) % 4 > 1
    blocks = from_parquet(path, weight_column="w", filters=[("w", ">", 1)], block_bytes=500)
    rows, weights = zip(*blocks)
    assert np.array_equal(np.concatenate(rows), X[kept])
    assert np.array_equal(np.concatenate(weights), (np.arange(103) % 4)[kept])


def test_a_negative_weight_is_named_by_its_row():
    table = pa.table({"a": [1.0, 2.0, 3.0], "w": [1.0, 1.0, -2.0]})
    with pytest.raises(ValueError, match=r"Row 2 has the weight -2\.0"):
        list(from_arrow(table, weight_column="w", block_bytes=8))


def test_types_of_columns():
    f4, f8 = pa.array([1.5, 2.5], pa.float32()), pa.array([1.5, 2.5])
    ints, flags = pa.array([1, 2], pa.int8()), pa.array([True, False])
    half = pa.array(np.array([1.5, 2.5], np.float16))
    assert from_arrow(pa.table({"a": f4, "b": f4})).dtype == np.float32
    for other in (f8, ints, flags, half):
        blocks = from_arrow(pa.table({"a": f4, "b": other}))
        assert blocks.dtype == np.float64
        assert np.array_equal(blocks[0][:, 1], other.to_numpy(zero_copy_only=False))


def test_lists_of_fixed_size_and_numbers_side_by_side():
    vectors = pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2))
    table = pa.table({"a": pa.array([9, 8], pa.float32()), "v": vectors})
    blocks = from_arrow(table)
    assert blocks.dtype == np.float32
    assert blocks[0].tolist() == [[9, 1, 2], [8, 3, 4]]
    assert from_arrow(table.slice(1))[0].tolist() == [[8, 3, 4]]


def test_nulls_are_named_by_column_and_row(tmp_path):
    values = np.arange(50.0)
    column = pa.array(values, mask=values == 37)
    table = pa.table({"good": values, "bad": column})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=15)
    blocks = from_parquet(tmp_path / "rows.parquet", block_bytes=100)
    with pytest.raises(ValueError, match=r"Column 'bad' has no value \(null\) in row 37"):
        list(blocks)
    kept = from_parquet(tmp_path / "rows.parquet", filters=~pc.field("bad").is_null())
    assert kept.n_samples == 49


def test_nulls_in_lists_and_weights():
    vectors = pa.array([[1, 2], [3, None]], pa.list_(pa.float64(), 2))
    with pytest.raises(ValueError, match=r"Column 'v' has no value \(null\) in row 1"):
        from_arrow(pa.table({"v": vectors}))[0]
    whole = pa.array([[1, 2], None], pa.list_(pa.float64(), 2))
    with pytest.raises(ValueError, match=r"Column 'v' has no value \(null\) in row 1"):
        from_arrow(pa.table({"v": whole}))[0]
    with pytest.raises(ValueError, match=r"Column 'w' has no value \(null\) in row 0"):
        from_arrow(pa.table({"a": [1.0], "w": pa.array([None], pa.float64())}), weight_column="w")[
            0
        ]


@pytest.mark.parametrize(
    ("column", "remedy"),
    [
        (pa.array(["a", "b"]), "Encode it as numbers, for example with sklearn"),
        (pa.array(["a", "b"], pa.large_string()), "Encode it as numbers"),
        (pa.array(["a", "b"]).dictionary_encode(), "Encode it as numbers"),
        (pa.array([[1.0], [2.0]]), "Cast it to lists of a fixed size"),
        (pa.array([1, 2], pa.timestamp("s")), "Cast it to float64"),
        (pa.array([["a"], ["b"]], pa.list_(pa.string(), 1)), "Encode it as numbers"),
    ],
)
def test_columns_that_are_no_numbers(column, remedy):
    table = pa.table({"a": [1.0, 2.0], "bad": column})
    with pytest.raises(TypeError, match=rf"Column 'bad' has values of type .*{remedy}.*columns="):
        from_arrow(table)
    assert from_arrow(table, columns=["a"]).n_features == 1


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"columns": ["a", "c"]}, ValueError, r"There is no column 'c'\. Columns are \['a', 'b'\]"),
        ({"weight_column": "w"}, ValueError, "There is no column 'w'"),
        ({"columns": "a"}, TypeError, r"columns must be a list of names, got 'a'\. Write \['a'\]"),
        ({"columns": []}, ValueError, "no columns to cluster by"),
        ({"columns": ["a", "a"]}, ValueError, "must name each column once"),
    ],
)
def test_columns_that_are_not_there(parameters, error, message):
    with pytest.raises(error, match=message):
        from_arrow(pa.table({"a": [1.0], "b": [2.0]}), **parameters)


def test_a_column_that_is_there_twice():
    table = pa.table([[1.0], [2.0]], names=["a", "a"])
    with pytest.raises(ValueError, match="There are several columns 'a'"):
        from_arrow(table)


def test_files_that_differ(tmp_path):
    first = tmp_path / "0.parquet"
    pq.write_table(pa.table({"a": [1.0], "b": [2.0]}), first)
    for table, error, message in [
        (pa.table({"a": [1.0]}), ValueError, r"1\.parquet has no column 'b'"),
        (pa.table({"a": [1.0], "b": [2]}), TypeError, r"1\.parquet has values of type int64 in"),
        (
            pa.table({"a": [1.0], "b": [2.0], "c": [3.0]}),
            ValueError,
            r"1\.parquet has the column 'c', which the first file has not",
        ),
    ]:
        pq.write_table(table, tmp_path / "1.parquet")
        with pytest.raises(error, match=message):
            from_parquet(tmp_path)
        assert from_parquet(tmp_path, columns=["a"]).n_samples == 2


def test_a_file_that_is_no_parquet_file(path, tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR0, or so")
    for paths in ([tmp_path / "bad.parquet"], [path, tmp_path / "bad.parquet"]):
        with pytest.raises(ValueError, match=r"bad\.parquet"):
            from_parquet(paths)


@pytest.mark.parametrize("change", ["shorter", "touched", "gone"])
def test_a_file_that_changed_between_two_passes(path, change):
    blocks = from_parquet(path, block_bytes=500)
    list(blocks)
    if change == "shorter":
        pq.write_table(pq.read_table(path).slice(1), path)
    elif change == "touched":
        os.utime(path, ns=(0, 0))
    else:
        path.unlink()
    with pytest.raises(RuntimeError, match=r"rows\.parquet (changed|was opened)"):
        list(blocks)


def test_other_datasets(X, tmp_path):
    table = table_of(X)
    pyarrow.feather.write_feather(table, tmp_path / "rows.feather", chunksize=10)
    blocks = from_arrow(ds.dataset(tmp_path / "rows.feather", format="feather"), block_bytes=700)
    assert np.array_equal(stacked(blocks), X)
    os.utime(tmp_path / "rows.feather", ns=(0, 0))
    with pytest.raises(RuntimeError, match=r"rows\.feather changed"):
        blocks[0]
    assert np.array_equal(stacked(from_arrow(table.to_batches()[0], block_bytes=100)), X)
    assert np.array_equal(stacked(from_arrow(ds.dataset(table), block_bytes=100)), X)
    empty = pa.concat_tables([table.slice(0, 0), table.slice(0, 7), table.slice(7)])
    assert np.array_equal(stacked(from_arrow(empty, block_bytes=100)), X)


def test_partitions(tmp_path, X):
    table = table_of(X).append_column("year", pa.array(2020 + np.arange(103) % 3))
    pq.write_to_dataset(table, tmp_path / "parts", partition_cols=["year"])
    dataset = ds.dataset(tmp_path / "parts", partitioning="hive")
    blocks = from_arrow(dataset, columns=["x0", "year"], filters=[("year", "==", 2021)])
    expected = X[np.arange(103) % 3 == 1, 0]
    assert np.array_equal(
        stacked(blocks), np.column_stack([expected, np.full(len(expected), 2021)])
    )


def test_each_row_group_is_read_once_a_pass(path, monkeypatch):
    from polymeans.blocks.arrow_stream import Parts

    opened = []
    batches = Parts.batches
    monkeypatch.setattr(
        Parts, "batches", lambda self, part: opened.append(part) or batches(self, part)
    )
    blocks = from_parquet(path, block_bytes=100)
    assert len(blocks) > 40
    for _ in range(2):
        list(read_ahead(blocks))
    assert opened == [0, 1, 2, 3, 4, 5] * 2


def test_what_can_be_read_only_once_is_refused(X):
    table = table_of(X)
    for data in (table.to_reader(), ds.dataset(table).scanner(), iter(table.to_batches())):
        with pytest.raises(TypeError, match=r"which can be read only once\. Rows are read several"):
            from_arrow(data)


@pytest.mark.parametrize("data", [np.ones((3, 2)), "rows.parquet", None])
def test_what_is_no_table(data):
    with pytest.raises(TypeError, match="data must be a pyarrow table or dataset"):
        from_arrow(data)


def test_an_empty_table():
    with pytest.raises(ValueError, match="the table has no rows"):
        from_arrow(pa.table({"a": pa.array([], pa.float64())}))


@pytest.mark.parametrize("name", [None, "customer"])
def test_the_index_of_a_pandas_frame_is_no_feature(tmp_path, name):
    frame = pd.DataFrame({"a": [2.0, -1.0, 3.0, 4.0, -1.0], "b": [4.0, 5.0, 6.0, 7.0, 8.0]})
    frame.index.name = name
    column = name or "__index_level_0__"
    part = frame[frame.a > 0]
    part.to_parquet(tmp_path / "part.parquet")
    for blocks in (from_parquet(tmp_path / "part.parquet"), from_arrow(pa.table(part))):
        assert blocks.feature_names == ("a", "b")
        assert np.array_equal(stacked(blocks), part.to_numpy())
    named = from_parquet(tmp_path / "part.parquet", columns=[column, "a"])
    assert np.array_equal(stacked(named), [[0.0, 2.0], [2.0, 3.0], [3.0, 4.0]])
    _, weights = from_parquet(tmp_path / "part.parquet", weight_column=column)[0]
    assert np.array_equal(weights, [0.0, 2.0, 3.0])
    frame.to_parquet(tmp_path / "a.parquet")  # its index is a range, which has no column
    assert from_parquet(tmp_path).feature_names == ("a", "b")


def test_the_index_of_a_dask_frame_is_no_feature():
    table = pa.table({"__null_dask_index__": [0, 1], "a": [1.0, 2.0]})
    assert from_arrow(table).feature_names == ("a",)
    assert from_arrow(table, columns=["__null_dask_index__"]).n_features == 1


def test_a_frame_of_an_index_alone_has_no_columns():
    table = pa.table(pd.DataFrame(index=pd.Index([3, 4], name="customer")))
    with pytest.raises(ValueError, match="no columns to cluster by, only the index"):
        from_arrow(table)


@pytest.mark.parametrize(
    "filters",
    [[("zz", ">", 1)], pc.field("zz") > 1, [("a",)], [("a", "~", 1)], "a > 1", [("a", ">", "x")]],
    ids=str,
)
def test_filters_that_cannot_be_used(filters):
    with pytest.raises(ValueError, match=r"filters=.* cannot be used: .*\s*.*Columns are \['a'"):
        from_arrow(pa.table({"a": [1.0, 2.0]}), filters=filters)
