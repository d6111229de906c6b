"""Rows in Arrow tables and datasets."""

from collections.abc import Iterable
from typing import Any

from polymeans._validation import shown
from polymeans.blocks.arrow_columns import Columns, columns_of, index_columns
from polymeans.blocks.arrow_stream import Cursor, Parts
from polymeans.blocks.checked import INSTEAD, Announcement, CheckedBlocks
from polymeans.blocks.extras import load
from polymeans.blocks.files import Stamp
from polymeans.blocks.protocol import Block
from polymeans.blocks.sizes import BLOCK_BYTES, Piece, check_block_bytes, cut, join, place


def from_arrow(
    data: Any,
    *,
    columns: Iterable[str] | None = None,
    filters: Any = None,
    weight_column: str | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> CheckedBlocks:
    """Rows in an Arrow table or dataset.

    **Idea.** A dataset is a list of parts: row groups of Parquet files, or files of other formats.
    A block is one part, several small ones, or some rows of a large one.

    **Use when** rows are in a ``pyarrow.dataset.dataset``, for example one with partitions, on
    another file system or in Feather files, or in a table. Needs pyarrow: ``pip install
    "polymeans[files]"``. **Do not use** for readers of record batches, which can be read only once.

    **Cost.** Each pass reads the chosen columns once and turns them into rows. With filters, and
    for formats that do not say how many rows a file has (CSV), the rows are counted first, by one
    more pass.

    Parameters
    ----------
    data : pyarrow.dataset.Dataset, pyarrow.Table or pyarrow.RecordBatch
        The rows. Files must have the same columns of the same types.
    columns : iterable of str or None, default=None
        Columns to cluster by, in this order. None: all but the weights and the index of a pandas
        or Dask frame, which is read only if it is named. They are floats, integers, booleans, or
        lists of these of a fixed size, which make as many features.
    filters : pyarrow.compute.Expression, list of tuples or None, default=None
        Which rows to take: an expression, or ``[("column", "<", value), ...]`` as for
        ``pyarrow.parquet.read_table``.
    weight_column : str or None, default=None
        Column with the weight of each row.
    block_bytes : int, default=33554432
        Bytes of a block, at most, as long as a row is not larger.

    Returns
    -------
    blocks : Blocks
        Rows of float32, if all columns are float32; else of float64.

    See Also
    --------
    from_parquet : Tables in Parquet files.
    write_labels : Labels into a file.

    Examples
    --------
    >>> import pyarrow
    >>> from polymeans.blocks import from_arrow
    >>> table = pyarrow.table({"width": [1.0, 2.0, 3.0], "height": [4, 5, 6], "n": [1, 1, 2]})
    >>> rows, weights = from_arrow(table, weight_column="n")[0]
    >>> rows
    array([[1., 4.],
           [2., 5.],
           [3., 6.]])
    >>> weights
    array([1., 1., 2.])
    """
    pyarrow, datasets = load("pyarrow"), load("pyarrow.dataset")
    check_block_bytes(block_bytes)
    if isinstance(data, pyarrow.Table | pyarrow.RecordBatch):
        data = datasets.dataset(data)
    elif not isinstance(data, datasets.Dataset):
        _refuse(data, pyarrow, datasets)
    filters = _checked_filters(filters, data)
    chosen = columns_of(data.schema, columns, weight_column)
    every = columns is None
    fragments, names, stamps = [], [], []
    local = isinstance(getattr(data, "filesystem", None), load("pyarrow.fs").LocalFileSystem)
    for fragment in data.get_fragments(filter=filters):
        path = getattr(fragment, "path", None)
        stamp = (Stamp.of(path),) if local and path else ()
        _check_alike(fragment, path or "the table", data.schema, chosen, every, datasets)
        for part, name in _row_groups(fragment, path or "the table", data.schema, filters):
            fragments.append(part)
            names.append(name)
            stamps.append(stamp)
    row_bytes = chosen.n_features * chosen.dtype.itemsize
    pieces = []
    for part, fragment in enumerate(fragments):
        n_rows = _count(fragment, data.schema, filters)
        pieces += cut(part, n_rows, row_bytes, block_bytes)
    blocks = join(pieces, block_bytes)
    announced = Announcement(
        sizes=tuple(sum(piece.n_rows for piece in block) for block in blocks),
        n_features=chosen.n_features,
        stored=chosen.dtype,
        is_sparse=False,
        name=_name(data, filters),
        feature_names=chosen.feature_names,
        places=tuple(place(block, names) for block in blocks),
        stamps=tuple(
            tuple(dict.fromkeys(stamp for piece in block for stamp in stamps[piece.part]))
            for block in blocks
        ),
    )
    parts = Parts(fragments, data.schema, chosen.names, filters, block_bytes // max(1, row_bytes))
    return CheckedBlocks(_Reader(parts, chosen, blocks), announced)


class _Reader:
    """Reads blocks, and keeps the place where the last one ended."""

    def __init__(self, parts: Parts, columns: Columns, blocks: list[tuple[Piece, ...]]) -> None:
        self._parts, self._columns, self._blocks = parts, columns, blocks
        self._firsts = [0]
        for block in blocks:
            self._firsts.append(self._firsts[-1] + sum(piece.n_rows for piece in block))
        self._cursor: Cursor | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_cursor": None}

    def __call__(self, i: int) -> Block:
        # Taken out, not looked at: a second thread that reads at the same time gets its own.
        cursor, self._cursor = self._cursor or Cursor(self._parts), None
        batches = (
            batch
            for piece in self._blocks[i]
            for batch in cursor.take(piece.part, piece.start, piece.stop)
        )
        first, stop = self._firsts[i : i + 2]
        block = self._columns.read(batches, stop - first, first)
        if i < len(self._blocks) - 1:
            self._cursor = cursor
        return block


def _checked_filters(filters: Any, data: Any) -> Any:
    """An expression over the columns of a dataset; None for none."""
    if filters is None:
        return None
    try:
        if isinstance(filters, list | tuple):
            filters = load("pyarrow.parquet").filters_to_expression(list(filters))
        data.scanner(columns=[], filter=filters)
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise ValueError(
            f"filters={shown(filters)} cannot be used: {str(error).rstrip('.')}. Columns are "
            f"{shown(data.schema.names)}; compare them with values of their types."
        ) from error
    return filters


def _refuse(data: Any, pyarrow: Any, datasets: Any) -> None:
    once = isinstance(data, pyarrow.RecordBatchReader | datasets.Scanner)
    if once or hasattr(data, "__next__"):
        raise TypeError(f"data is {shown(data)}, which can be read only once. {INSTEAD}")
    raise TypeError(
        f"data must be a pyarrow table or dataset, got {shown(data)}. Frames become tables with "
        "pyarrow.table(frame); paths go to polymeans.blocks.from_parquet."
    )


def _row_groups(fragment: Any, name: str, schema: Any, filters: Any) -> list[tuple[Any, str]]:
    if not hasattr(fragment, "split_by_row_group"):
        return [(fragment, name)]
    groups = fragment.split_by_row_group(filter=filters, schema=schema)
    return [(group, f"row group {group.row_groups[0].id} of {name}") for group in groups]


def _count(fragment: Any, schema: Any, filters: Any) -> int:
    if filters is None and hasattr(fragment, "row_groups"):
        return sum(group.num_rows for group in fragment.row_groups)
    return int(fragment.scanner(schema=schema, columns=[], filter=filters).count_rows())


def _check_alike(
    fragment: Any, name: str, schema: Any, chosen: Columns, every: bool, datasets: Any
) -> None:
    """Raise unless a file has the columns of the dataset, of the same types."""
    try:
        found = fragment.physical_schema
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise ValueError(f"{name} cannot be read: {error}") from error
    partition = datasets.get_partition_keys(fragment.partition_expression)
    for column in chosen.names:
        if column in partition:
            continue
        if column not in found.names:
            raise ValueError(f"{name} has no column {column!r}. All files must have the same ones.")
        kinds = found.field(column).type, schema.field(column).type
        if kinds[0] != kinds[1]:
            raise TypeError(
                f"{name} has values of type {kinds[0]} in column {column!r}, but the first file "
                f"has {kinds[1]}. All files must have the same types."
            )
    index = index_columns(found)  # of a frame; not every file needs to have one
    extra = [name for name in found.names if name not in schema.names and name not in index]
    if every and extra:
        raise ValueError(
            f"{name} has the column {extra[0]!r}, which the first file has not. All files must "
            "have the same columns; or name those to read: columns=[...]."
        )


def _name(data: Any, filters: Any) -> str:
    files = getattr(data, "files", [])
    name = f"{len(files)} files" if len(files) > 1 else files[0] if files else "the table"
    return name if filters is None else f"{name} after filters"
