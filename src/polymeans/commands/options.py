"""Options that several commands have, and the values they take."""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polymeans.commands.errors import UsageError

FORMATS = ("csv", "tsv", "parquet", "npy", "npz", "svm", "mtx", "jsonl")

#: Endings of the names of reports, each for a form of its own.
REPORT_ENDINGS = (".html", ".htm", ".md", ".json")

#: A name of a list with commas: what is in double quotes, or what is not; and what needs them.
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|\Z)')
_NEEDS_QUOTES = frozenset(',"\n\r')

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def seed(text: str) -> int:
    """A whole number that seeds of numpy may be."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 4294967295")
    return number


def count(text: str) -> int:
    """A whole number of at least one."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def sizes(text: str) -> tuple[int, ...]:
    """Whole numbers with commas between them, such as ``4,5``."""
    try:
        return tuple(count(part.strip()) for part in text.replace("x", ",").split(","))
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not whole numbers of at least 1 with commas between them, such as 4,5"
        ) from None


def numbers(text: str) -> range | tuple[int, ...]:
    """``2-20`` or ``2,4,8``: numbers of clusters to try."""
    first, dash, last = text.partition("-")
    if dash:
        low, high = count(first), count(last)
        if low > high:
            raise argparse.ArgumentTypeError(f"{text!r} ends before it begins")
        return range(low, high + 1)
    return sizes(text)


def names(text: str) -> list[str]:
    """Names of columns with commas between them; some names are in double quotes.

    Quoted names may have commas, line breaks, and spaces at their ends; a quote in one is doubled.
    """
    found = [name for name in map(_name, _NAME.finditer(text)) if name]
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} names no column")
    twice = next((name for i, name in enumerate(found) if name in found[:i]), None)
    if twice is not None:
        raise argparse.ArgumentTypeError(f"{text!r} names column {twice!r} twice")
    return found


def _name(part: re.Match[str]) -> str:
    in_quotes, plain = part.groups()
    if in_quotes is not None:
        return in_quotes.replace('""', '"')
    name = plain.strip()
    if "\n" in name or "\r" in name:
        raise argparse.ArgumentTypeError(
            f"{name!r} has a line break: write commas between names, or double quotes around one"
        )
    return name


def quoted(name: str) -> str:
    """The name of a column as :func:`names` reads it."""
    is_plain = name == name.strip() and name and not _NEEDS_QUOTES.intersection(name)
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def some_names(known: Sequence[str]) -> str:
    """Names of columns for a hint, not too many."""
    return ", ".join(map(quoted, known[:12])) + (", ..." if len(known) > 12 else "")


def n_bytes(text: str) -> int:
    """Bytes, such as ``500M`` or ``2G``."""
    number = text.strip().lower().removesuffix("b").removesuffix("i")
    unit = number[-1:] if number[-1:].isalpha() else ""
    try:
        found = int(float(number[: len(number) - len(unit)]) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        found = 0
    if found < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500M or 2G")
    return found


def setting(text: str) -> tuple[str, Any]:
    """``NAME=VALUE``: a parameter of an estimator, its value as JSON or a text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, {"None": None, "True": True, "False": False}.get(value, value)


def add_rows(parser: argparse.ArgumentParser, fitting: bool = True) -> None:
    """Options that say which rows to read."""
    parser.add_argument("data", metavar="DATA", help="file of rows, - for the standard input")
    group = parser.add_argument_group("rows")
    group.add_argument(
        "--format", choices=FORMATS, help="of DATA (default: by the ending of its name; - is csv)"
    )
    if fitting:
        group.add_argument(
            "--columns",
            type=names,
            metavar="A,B,...",
            help="columns to use (default: all); double quotes around a name with a comma, as in "
            "'\"size, cm\",weight'",
        )
        group.add_argument(
            "--text", metavar="COLUMN", help="cluster the texts of this column, as tf-idf"
        )
        group.add_argument(
            "--scale", action="store_true", help="give all columns mean 0 and variance 1 first"
        )
    group.add_argument("--delimiter", help="between the cells of csv files (default: comma)")
    first_line = group.add_mutually_exclusive_group()
    first_line.add_argument(
        "--header",
        action="store_true",
        default=None,
        help="the first line of a csv file has the names of the columns, also if they are numbers",
    )
    first_line.add_argument(
        "--no-header",
        dest="header",
        action="store_false",
        default=None,
        help="the first line of a csv file is a row, too",
    )
    group.add_argument("--key", help="name of the array in an npz file")
    group.add_argument(
        "--memory",
        type=n_bytes,
        metavar="SIZE",
        help="rows that take more are read in blocks, e.g. 2G (default: a quarter of what is free)",
    )


def add_common(parser: argparse.ArgumentParser) -> None:
    """Options of every command that computes."""
    parser.add_argument("--json", action="store_true", help="write results as JSON")
    parser.add_argument("--quiet", action="store_true", help="no messages and no progress bar")
    parser.add_argument("--threads", type=count, metavar="N", help="threads (default: all cores)")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """The seed of all random draws."""
    parser.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="of all random draws (default: 0)"
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model of commands that use one."""
    parser.add_argument(
        "--model", required=True, type=Path, metavar="FILE", help="model that fit has written"
    )


def check_output(path: Path | None, option: str, endings: tuple[str, ...] = ()) -> None:
    """Raise if a file cannot be written, before any work is done for it.

    Parameters
    ----------
    path : Path or None
        None, or ``-`` where any ending will do: not a file.
    option : str
        That names the file.
    endings : tuple of str, default=()
        Those that the name may have; empty: any.
    """
    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        raise UsageError(
            f"{option} must end in {', '.join(endings[:-1])} or {endings[-1]}, got {str(path)!r}",
            "the ending decides in which form the file is written",
        )
    if str(path) == "-":
        return
    if path.is_dir():
        raise UsageError(f"{str(path)!r} is a directory", f"give {option} the name of a file")
    if not path.parent.is_dir():
        raise UsageError(
            f"there is no directory {str(path.parent)!r}", f"create it or choose another {option}"
        )
