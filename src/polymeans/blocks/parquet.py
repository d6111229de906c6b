"""Rows in Parquet files."""

from collections.abc import Iterable
from typing import Any

from polymeans.blocks.arrow import from_arrow
from polymeans.blocks.checked import CheckedBlocks
from polymeans.blocks.extras import load
from polymeans.blocks.files import Paths, files_of
from polymeans.blocks.sizes import BLOCK_BYTES


def from_parquet(
    paths: Paths,
    *,
    columns: Iterable[str] | None = None,
    filters: Any = None,
    weight_column: str | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> CheckedBlocks:
    """Rows in one Parquet file or many.

    **Idea.** A Parquet file is a list of row groups, each of which can be read alone. A block is
    one of them, several small ones, or some rows of a large one.

    **Use when** rows are in Parquet files already, or only some columns or rows of them are wanted.
    Needs pyarrow: ``pip install "polymeans[files]"``. **Do not use** where time matters more than
    space: decoding costs more than reading ``.npy`` files. Folders with partitions go to
    :func:`from_arrow` as ``pyarrow.dataset.dataset(folder, partitioning="hive")``.

    **Cost.** Each pass reads the chosen columns once, a few rows at a time. With filters, a row
    group is decoded as a whole, and the rows that pass are counted first: row groups that cannot
    have any are left out by their statistics, of the others the filtered columns are read once
    more.

    Parameters
    ----------
    paths : path, or iterable of paths
        A file; a folder, for the ``.parquet`` files in it; a pattern such as
        ``"part-*.parquet"``; or several of them. Files of a folder or pattern are taken in the
        order of their names, as text. All must have the same columns of the same types.
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
    from_arrow : Tables in Arrow files.
    write_labels : Labels into a file.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import pyarrow, pyarrow.parquet
    >>> from polymeans.blocks import from_parquet
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "rows.parquet")
    >>> values = np.arange(1000.0)
    >>> table = pyarrow.table({"a": values, "b": values**2, "year": [2024, 2025] * 500})
    >>> pyarrow.parquet.write_table(table, path, row_group_size=300)
    >>> blocks = from_parquet(path, columns=["a", "b"], filters=[("year", "==", 2025)])
    >>> blocks.n_samples, blocks.n_features, len(blocks)
    (500, 2, 1)
    >>> folder.cleanup()
    """
    datasets = load("pyarrow.dataset")
    files = files_of(paths, ".parquet")
    try:
        dataset = datasets.dataset(files, format="parquet")
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise ValueError(f"{files[0]} cannot be opened as a Parquet file: {error}") from error
    return from_arrow(
        dataset,
        columns=columns,
        filters=filters,
        weight_column=weight_column,
        block_bytes=block_bytes,
    )
