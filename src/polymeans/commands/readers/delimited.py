"""Rows in csv and tsv files, read a few megabytes at a time; errors name line and column."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NoReturn, TextIO

import numpy as np
from numpy.typing import NDArray

from polymeans.commands.errors import CommandError
from polymeans.commands.options import some_names
from polymeans.commands.readers.collecting import Collector
from polymeans.commands.readers.table import Request, Table
from polymeans.commands.readers.unnamed import refuse_repeated, refuse_unnamed

#: Characters that are parsed at a time, and records where they are parsed one by one.
_CHUNK, _RECORDS = 2**22, 2**14

#: Longest cell, for texts.
_LONGEST_CELL = 2**27


def read_delimited(file: BinaryIO, name: str, request: Request, delimiter: str) -> Table:
    """Rows of a text file with one row in each line.

    Parameters
    ----------
    file : binary file
    name : str
        Of the file, for errors.
    request : Request
    delimiter : str
        One character.

    Returns
    -------
    Table
    """
    csv.field_size_limit(_LONGEST_CELL)
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    counted = _Counted(lines)
    try:
        reader = csv.reader(counted, delimiter=delimiter, strict=True)
        first = next((record for record in reader if record), None)
        if first is None:
            raise CommandError(f"{name} is empty", "give a file with at least one row")
        cells = [cell.strip() for cell in first]
        has_header = _has_names(cells, request)
        names = cells if has_header else _numbered(len(cells))
        refuse_unnamed(names, name, request)
        refuse_repeated(names, name, "rename one, or use --no-header if it is a row")
        if not has_header and request.columns and request.n_features == len(names):
            names = request.columns  # those of a model, in their order
        parser = _Parser(name, names, request)
        if not has_header:
            parser.take([first], [counted.n])
        if parser.all_numbers:
            _read_numbers(lines, counted.n, delimiter, parser)
        else:
            _read_records(reader, counted, parser)
    except UnicodeDecodeError:
        raise CommandError(
            f"{name} is not UTF-8 text, after line {counted.n}",
            "is it another format? --format says which; else convert its encoding",
        ) from None
    except csv.Error as error:
        raise CommandError(
            f"{name}, line {counted.n}: {error}", "look at the quotation marks there"
        ) from None
    table = parser.table(named=has_header)
    if request.header is None and not has_header and _counts(cells):
        table.note = (
            f"the first line of {name}, {','.join(cells[:3])}{',...' * (len(cells) > 3)}, is taken "
            "for a row; give --header if it has the names of the columns, else --no-header"
        )
    return table


class _Counted:
    """Lines of a file, and how many there were."""

    def __init__(self, lines: Iterable[str], n: int = 0) -> None:
        self._lines, self.n = iter(lines), n

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.n += 1
        return line


class _Parser:
    """Turns records into numbers and texts, and knows where they came from."""

    def __init__(self, name: str, names: list[str], request: Request) -> None:
        self.name, self.names = name, names
        aside = [column for column in (request.text, request.beside) if column is not None]
        wanted = request.columns
        if wanted is None:
            wanted = [] if request.text is not None else [n for n in names if n not in aside]
        self.numeric = [self._find(column) for column in wanted]
        self.text = None if request.text is None else self._find(request.text)
        self.beside = None if request.beside is None else self._find(request.beside)
        self.all_numbers = not aside and self.numeric == list(range(len(names)))
        self.texts: list[str] = []
        self.beside_texts: list[str] = []
        self.collector = Collector(request.memory, request.scratch)

    def _find(self, column: str) -> int:
        if column not in self.names:
            raise CommandError(
                f"{self.name} has no column {column!r}", f"columns are: {some_names(self.names)}"
            )
        return self.names.index(column)

    def take(self, records: list[list[str]], lines: list[int]) -> None:
        """Parse some records, which end in these lines."""
        for record, line in zip(records, lines):
            if len(record) != len(self.names):
                raise CommandError(
                    f"{self.name}, line {line}: {len(record)} cells where {len(self.names)} are "
                    "expected",
                    "is the delimiter right (--delimiter), and are texts with it in quotes?",
                )
        if self.text is not None:
            self.texts += [record[self.text] for record in records]
        if self.beside is not None:
            self.beside_texts += [record[self.beside] for record in records]
        if self.numeric and records:
            block = np.empty((len(records), len(self.numeric)))
            for place, column in enumerate(self.numeric):
                cells = [record[column] for record in records]
                block[:, place] = self._numbers(cells, column, lines)
            self.collector.add(block)

    def _numbers(self, cells: list[str], column: int, lines: list[int]) -> NDArray[np.float64]:
        try:
            found = np.array(cells).astype(np.float64)
        except ValueError:
            found = np.array([np.nan])
        if not np.isfinite(found).all():
            self._refuse(cells, column, lines)
        return found

    def _refuse(self, cells: list[str], column: int, lines: list[int]) -> NoReturn:
        """Name the first cell that is no finite number."""
        cell, line = next(
            (cell, line)
            for cell, line in zip(cells, lines)
            if not _is_number(cell) or not np.isfinite(float(cell))
        )
        what = "is empty" if not cell.strip() else f"has {cell.strip()[:40]!r}, which is no number"
        if _is_number(cell):
            what = f"has {cell.strip()}, which is no finite number"
        raise CommandError(
            f"{self.name}, line {line}, column {self.names[column]!r} {what}",
            "fill or drop such rows, or choose other columns with --columns (texts: --text)",
        )

    def table(self, named: bool) -> Table:
        """What was read."""
        n_rows = len(self.texts) if self.text is not None else self.collector.n_rows
        if not n_rows:
            raise CommandError(f"{self.name} has no rows", "give a file with at least one row")
        return Table(
            rows=self.collector.rows() if self.numeric else None,
            names=[self.names[column] for column in self.numeric] if named else None,
            texts=self.texts if self.text is not None else None,
            beside=self.beside_texts if self.beside is not None else None,
        )


def _read_numbers(lines: TextIO, n_before: int, delimiter: str, parser: _Parser) -> None:
    """Rows of numbers only: many lines at a time, and one by one where that fails."""
    n = n_before
    while chunk := lines.readlines(_CHUNK):
        block = None if any('"' in line for line in chunk) else _parsed(chunk, delimiter)
        if block is not None and block.shape[1] == len(parser.names):
            parser.collector.add(block)
            n += len(chunk)
            continue
        # A record with a line break in quotes may go on after the chunk.
        counted = _Counted(_chained(chunk, lines), n)
        reader = csv.reader(counted, delimiter=delimiter, strict=True)
        records, ends = [], []
        while counted.n < n + len(chunk):
            record = next(reader, None)
            if record is None:
                break
            if record:
                records.append(record)
                ends.append(counted.n)
        parser.take(records, ends)
        n = counted.n


def _chained(chunk: list[str], lines: Iterable[str]) -> Iterator[str]:
    yield from chunk
    yield from lines


def _parsed(chunk: list[str], delimiter: str) -> NDArray[np.float64] | None:
    """Lines as numbers; None if one of them is something else."""
    if not any(line.strip() for line in chunk):
        return None
    try:
        block = np.loadtxt(chunk, delimiter=delimiter, comments=None, ndmin=2)
    except ValueError:
        return None
    return block if np.isfinite(block).all() else None


def _read_records(reader: Any, counted: _Counted, parser: _Parser) -> None:
    """Records one by one, texts among them."""
    records: list[list[str]] = []
    ends: list[int] = []
    for record in reader:
        if not record:
            continue
        records.append(record)
        ends.append(counted.n)
        if len(records) == _RECORDS:
            parser.take(records, ends)
            records, ends = [], []
    parser.take(records, ends)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbered(n: int) -> list[str]:
    return [f"x{i}" for i in range(n)]


def _has_names(cells: list[str], request: Request) -> bool:
    """Whether the first line has names: some are no numbers, or all that are wanted are there."""
    if request.header is not None:
        return request.header
    if not all(map(_is_number, cells)):
        return True
    wanted = {*(request.columns or ()), request.text, request.beside} - {None}
    return bool(wanted) and wanted.issubset(cells)


def _counts(cells: list[str]) -> bool:
    """Whether cells count up from 0, as pandas names columns, or from any number, as years do."""
    if not all(cell.isdecimal() for cell in cells):
        return False
    first = int(cells[0])
    return cells == [str(first + i) for i in range(len(cells))] and (first == 0 or len(cells) > 2)
