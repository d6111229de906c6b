"""Rows of the parts of an Arrow dataset, read in order and continued where the last read ended."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

#: Rows of a batch at most, whatever its bytes.
_MOST_ROWS = 2**17


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
        # Without limits the scanner reads sixteen batches ahead, and four files.
        return self.fragments[part].to_batches(
            schema=self.schema,
            columns=self.columns,
            filter=self.filter,
            batch_size=max(1, min(_MOST_ROWS, self.batch_rows)),
            batch_readahead=1,
            fragment_readahead=1,
        )


@dataclass
class Cursor:
    """A place in the rows of some parts."""

    parts: Parts
    part: int = 0
    row: int = 0  #: of the part, the next one to be read
    _stream: Iterator[Any] | None = None
    _rest: Any = field(default=None)  #: of the last batch, rows that were not asked for

    def take(self, part: int, start: int, stop: int) -> list[Any]:
        """Batches with rows ``start:stop`` of a part; fewer, if it has not as many."""
        if self._stream is None or (self.part, self.row) != (part, start):
            self.part, self.row, self._rest = part, 0, None
            self._stream = self.parts.batches(part)
            self._next(start)
        return self._next(stop - self.row)

    def _next(self, n_rows: int) -> list[Any]:
        assert self._stream is not None
        found = []
        while n_rows > 0:
            batch = self._rest if self._rest is not None else next(self._stream, None)
            self._rest = None
            if batch is None:
                break
            if batch.num_rows > n_rows:
                batch, self._rest = batch.slice(0, n_rows), batch.slice(n_rows)
            if batch.num_rows:
                found.append(batch)
            n_rows -= batch.num_rows
            self.row += batch.num_rows
        return found
