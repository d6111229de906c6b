"""Rows of the parts of an Arrow dataset, read in order and continued where the last read ended."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from polymeans.blocks.extras import load

#: Rows of a batch, at most: as they come, columns are turned into rows.
_MOST_ROWS = 2**15

#: Bytes of a column that are read from a file at a time.
_BUFFER = 2**18


@dataclass
class Parts:
    """Row groups or files of a dataset, each of which is read from its beginning."""

    fragments: list[Any]
    schema: Any
    columns: list[str]
    filter: Any
    batch_rows: int

    def batches(self, part: int) -> Iterator[Any]:
        """Record batches of one part."""
        fragment = self.fragments[part]
        size = max(1, min(_MOST_ROWS, self.batch_rows))
        if self.filter is None and _has_row_groups(fragment, self.columns):
            return _streamed(fragment, self.columns, size)
        # Without limits the scanner reads sixteen batches ahead, and four files.
        return fragment.to_batches(
            schema=self.schema,
            columns=self.columns,
            filter=self.filter,
            batch_size=size,
            batch_readahead=1,
            fragment_readahead=1,
        )


def _has_row_groups(fragment: Any, columns: list[str]) -> bool:
    """Whether it is a part of a Parquet file that has all columns (partitions are not in it)."""
    return hasattr(fragment, "row_groups") and set(columns) <= set(fragment.physical_schema.names)


def _streamed(fragment: Any, columns: list[str], size: int) -> Iterator[Any]:
    """Batches of a row group, decoded one at a time; the scanner decodes it as a whole."""
    parquet = load("pyarrow.parquet")
    with (
        fragment.open() as source,
        parquet.ParquetFile(
            source, metadata=fragment.metadata, buffer_size=_BUFFER, pre_buffer=False
        ) as file,
    ):
        numbers = [group.id for group in fragment.row_groups]
        yield from file.iter_batches(size, row_groups=numbers, columns=columns)


@dataclass
class Cursor:
    """A place in the rows of some parts."""

    parts: Parts
    part: int = 0
    row: int = 0  #: of the part, the next one to be read
    _stream: Iterator[Any] | None = None
    _rest: Any = field(default=None)  #: of the last batch, rows that were not asked for

    def take(self, part: int, start: int, stop: int) -> Iterator[Any]:
        """Batches with rows ``start:stop`` of a part; fewer, if it has not as many."""
        if self._stream is None or (self.part, self.row) != (part, start):
            self.part, self.row, self._rest = part, 0, None
            self._stream = self.parts.batches(part)
            for _ in self._next(start):
                pass
        return self._next(stop - self.row)

    def _next(self, n_rows: int) -> Iterator[Any]:
        assert self._stream is not None
        while n_rows > 0:
            batch = self._rest if self._rest is not None else next(self._stream, None)
            self._rest = None
            if batch is None:
                break
            if batch.num_rows > n_rows:
                batch, self._rest = batch.slice(0, n_rows), batch.slice(n_rows)
            n_rows -= batch.num_rows
            self.row += batch.num_rows
            if batch.num_rows:
                yield batch
            del batch  # its memory is used for the next one
