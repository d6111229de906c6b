"""Rows in jsonl files: one JSON object or list in each line."""

import io
import json
import math
from typing import Any, BinaryIO

import numpy as np

from polymeans.commands.errors import CommandError
from polymeans.commands.readers.collecting import Collector
from polymeans.commands.readers.table import Request, Table
from polymeans.commands.readers.unnamed import refuse_unnamed

#: Rows that become an array at a time.
_ROWS = 2**13


def read_json_lines(file: BinaryIO, name: str, request: Request) -> Table:
    """Rows of a file with an object, or a list of numbers, in each line.

    Parameters
    ----------
    file : binary file
    name : str
        For errors.
    request : Request

    Returns
    -------
    Table
    """
    collector = Collector(request.memory, request.scratch)
    wanted: list[Any] | None = None
    named = True
    texts: list[str] = []
    beside: list[str] = []
    rows: list[list[float]] = []
    n_rows = 0
    lines = io.TextIOWrapper(file, encoding="utf-8-sig")
    for number, line in enumerate(_decoded(lines, name), start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        row = _parsed(line, where)
        if wanted is None:
            wanted, named = _wanted(row, request), isinstance(row, dict)
            refuse_unnamed(list(row) if named else (), name, request)
        if isinstance(row, dict) != named:
            raise CommandError(f"{where} is of another kind than line 1", "use objects or lists")
        if not named and len(row) != len(wanted):
            raise CommandError(
                f"{where} has {len(row)} numbers where {len(wanted)} are expected",
                "all rows need the same length",
            )
        n_rows += 1
        if request.text is not None:
            texts.append(str(_value(row, request.text, where)))
        if request.beside is not None:
            beside.append(str(_value(row, request.beside, where)))
        if wanted:
            rows.append([_number(_value(row, key, where), key, where) for key in wanted])
            if len(rows) == _ROWS:
                collector.add(np.array(rows))
                rows = []
    if not n_rows:
        raise CommandError(f"{name} is empty", "give a file with at least one row")
    if rows:
        collector.add(np.array(rows))
    return Table(
        rows=collector.rows() if wanted else None,
        names=[str(key) for key in wanted or []] if named else None,
        texts=texts if request.text is not None else None,
        beside=beside if request.beside is not None else None,
    )


def _decoded(lines: io.TextIOWrapper, name: str) -> Any:
    try:
        yield from lines
    except UnicodeDecodeError:
        raise CommandError(
            f"{name} is not UTF-8 text", "say what it is with --format, or convert its encoding"
        ) from None


def _parsed(line: str, where: str) -> Any:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise CommandError(f"{where} is no JSON: {reason}", "each line is one object") from None
    if not isinstance(row, dict | list):
        raise CommandError(f"{where} is neither an object nor a list", "each line is one row")
    return row


def _wanted(row: Any, request: Request) -> list[Any]:
    if request.columns is not None:
        return list(request.columns)
    if request.text is not None:
        return []
    if isinstance(row, dict):
        return [key for key in row if key != request.beside]
    return list(range(len(row)))


def _value(row: Any, key: Any, where: str) -> Any:
    if isinstance(row, list):
        if isinstance(key, int):
            return row[key]
        raise CommandError(f"{where} has no column {key!r}", "lists have no names of columns")
    if key not in row:
        raise CommandError(f"{where} has no {key!r}", f"its keys are: {', '.join(list(row)[:12])}")
    return row[key]


def _number(value: Any, key: Any, where: str) -> float:
    if isinstance(value, int | float) and abs(value) < 1e308 and math.isfinite(value):
        return float(value)
    raise CommandError(
        f"{where}, column {key!r} has {str(value)[:40]!r}, which is no finite number",
        "choose other columns with --columns (texts: --text)",
    )
