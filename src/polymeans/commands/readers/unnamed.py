"""Columns without a name of their own: the row numbers that pandas writes, and repeated names."""

import re
from collections import Counter
from collections.abc import Sequence

from polymeans.commands.errors import CommandError
from polymeans.commands.options import quoted
from polymeans.commands.readers.table import Request

#: What pandas makes of an index without a name: an empty name in csv files, which it reads as
#: "Unnamed: 0", and another one in Parquet files.
_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")

#: Columns that a hint lists at most.
_MOST_LISTED = 12


def refuse_unnamed(names: Sequence[str], name: str, request: Request) -> None:
    """Raise if a fit would use an index of pandas as if it were a measurement.

    Parameters
    ----------
    names : sequence of str
        Of all columns of the file.
    name : str
        Of the file.
    request : Request
        Where it names columns, they are what is wanted.
    """
    if request.columns is not None or request.text is not None or request.n_features is not None:
        return
    found = next((i for i, one in enumerate(names) if _INDEX.fullmatch(one)), None)
    if found is None:
        return
    what = f"is called {names[found]!r}" if names[found] else "has no name"
    others = [one for one in names if not _INDEX.fullmatch(one)]
    listed = ",".join(map(quoted, others)) if len(others) <= _MOST_LISTED else "A,B,..."
    raise CommandError(
        f"{name}: column {found + 1} {what}, like the row numbers that pandas writes",
        f"choose the others with --columns {listed!r}, write the file with index=False, or give "
        "the column a name",
    )


def refuse_repeated(names: Sequence[str], name: str, hint: str) -> None:
    """Raise if two columns have the same name.

    Parameters
    ----------
    names : sequence of str
        Of all columns of the file.
    name : str
        Of the file.
    hint : str
        What to do.
    """
    twice = next((one for one, n in Counter(names).items() if n > 1 and one), None)
    if twice is not None:
        raise CommandError(f"{name} has two columns {twice[:100]!r}", hint)
