"""Readers of the command line: a file of any format as rows, texts and names of columns.

Every reader returns a :class:`~polymeans.commands.readers.table.Table`, with rows in memory or, if
they are larger than they may be, as :class:`~polymeans.blocks.Blocks`. Whatever is wrong with a
file becomes a :class:`~polymeans.commands.errors.CommandError` that names the place.
"""

import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from polymeans.commands.errors import CommandError, UsageError
from polymeans.commands.options import FORMATS
from polymeans.commands.readers.memory import default_memory
from polymeans.commands.readers.table import Request, Table
from polymeans.commands.terminal import note

#: Formats by the ending of a name.
_ENDINGS = {f".{name}": name for name in FORMATS} | {
    ".txt": "csv",
    ".pq": "parquet",
    ".svmlight": "svm",
    ".libsvm": "svm",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}


@contextmanager
def open_table(options: Namespace, request: Request) -> Iterator[Table]:
    """The rows that the options of a command name.

    Parameters
    ----------
    options : Namespace
        With what :func:`polymeans.commands.options.add_rows` declares.
    request : Request

    Yields
    ------
    Table
        Valid until the end of the block: rows may be in temporary files.
    """
    from_stdin = options.data == "-"
    name = "the standard input" if from_stdin else options.data
    kind = options.format or ("csv" if from_stdin else _kind_of(options.data))
    if not from_stdin:
        _check_readable(Path(options.data), name)
    with tempfile.TemporaryDirectory(prefix="polymeans-") as scratch:
        request = replace(
            request,
            delimiter=options.delimiter,
            header=options.header,
            key=options.key,
            memory=options.memory or default_memory(),
            scratch=Path(scratch),
        )
        try:
            table = _read(kind, options.data, name, request)
        except CommandError:
            raise
        except PermissionError:
            raise CommandError(f"cannot read {name}", "check its permissions") from None
        except (ValueError, TypeError, OSError, ImportError) as error:
            raise CommandError(
                f"cannot read {name}: {str(error).splitlines()[0]}",
                "check the file, or say what it is with --format",
            ) from None
        if table.note is not None and not options.quiet:
            note(f"polymeans: note: {table.note}")
        yield _chosen(table, name, request)


def _read(kind: str, data: str, name: str, request: Request) -> Table:
    if kind in ("csv", "tsv", "jsonl"):
        with sys.stdin.buffer if data == "-" else open(data, "rb") as file:
            return _read_lines(kind, file, name, request)
    if data == "-":  # other formats need a file that can be read from any place
        data = str(request.scratch / f"stdin.{kind}")
        with open(data, "wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
    if not Path(data).stat().st_size:
        raise CommandError(f"{name} is empty", "give a file with at least one row")
    return _read_file(kind, data, name, request)


def _read_lines(kind: str, file: Any, name: str, request: Request) -> Table:
    from polymeans.commands.readers.delimited import read_delimited
    from polymeans.commands.readers.json_lines import read_json_lines

    if kind == "jsonl":
        return read_json_lines(file, name, request)
    delimiter = request.delimiter or ("," if kind == "csv" else "\t")
    if len(delimiter) != 1:
        raise UsageError(f"the delimiter {delimiter!r} is not one character", "for example ';'")
    return read_delimited(file, name, request, delimiter)


def _read_file(kind: str, path: str, name: str, request: Request) -> Table:
    from polymeans.commands.readers import arrays, parquet, sparse

    readers = {
        "npy": arrays.read_npy,
        "npz": arrays.read_npz,
        "svm": sparse.read_svm,
        "mtx": sparse.read_mtx,
        "parquet": parquet.read_parquet,
    }
    if kind != "parquet" and (request.text or request.beside):
        column = request.text or request.beside
        raise CommandError(
            f"{name} has no column {column!r}: {kind} files hold numbers without names",
            "texts are read from csv, tsv, parquet and jsonl files",
        )
    return readers[kind](path, name, request)


def _kind_of(data: str) -> str:
    kind = _ENDINGS.get(Path(data).suffix.lower())
    if kind is None:
        raise UsageError(
            f"cannot tell the format of {data!r}", f"use --format: {', '.join(FORMATS)}"
        )
    return kind


def _check_readable(path: Path, name: str) -> None:
    if path.is_dir():
        raise CommandError(f"{name} is a directory", "name a file in it")
    if not path.exists():
        raise CommandError(f"there is no file {name}", "check the name")


def _chosen(table: Table, name: str, request: Request) -> Table:
    """Columns by number, where a file has no names: ``x0``, ``x1``, ..."""
    if table.names is not None or request.columns is None or table.rows is None:
        return table
    width = int(getattr(table.rows, "n_features", None) or table.rows.shape[1])
    numbered = [f"x{i}" for i in range(width)]
    missing = [column for column in request.columns if column not in numbered]
    if missing and len(request.columns) == width and request.n_features == width:
        return table  # columns of a model with names, in their order
    if missing:
        raise CommandError(
            f"{name} has no column {missing[0]!r}", f"its columns have no names: x0 to x{width - 1}"
        )
    wanted = [numbered.index(column) for column in request.columns]
    if wanted == list(range(width)):
        return table
    from polymeans.persistence.scaled_rows import mapped

    return replace(table, rows=mapped(table.rows, wanted))
