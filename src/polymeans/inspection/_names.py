"""Names in a line of text: without control characters, long ones cut in the middle."""

from collections import defaultdict
from collections.abc import Iterable

#: Characters of a name in a line of text.
LONGEST = 24


def one_line(name: str) -> str:
    """A name without line breaks and control characters."""
    return "".join(character if character.isprintable() else " " for character in name)


def short_names(names: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """How names are written that are shown together: short, and different from each other.

    Names are cut in the middle, since those of a ColumnTransformer begin alike and end with what
    matters. Names that would look the same are cut less, as far as it takes.

    Parameters
    ----------
    names : iterable of str
    longest : int, default=24
        Characters of a name, unless it takes more to tell it from another one.

    Returns
    -------
    dict of str to str
        The text for each name.
    """
    pending = {name: one_line(name) for name in names}
    found: dict[str, str] = {}
    taken: set[str] = set()
    while pending:
        alike = defaultdict(list)
        for name, line in pending.items():
            alike[_cut(line, longest)].append(name)
        for text, same in alike.items():
            # A text of full length is not cut: nothing more can be shown.
            alone = len(same) == 1 and text not in taken
            for name in same:
                if alone or len(pending[name]) <= longest:
                    found[name] = text
        taken.update(found.values())
        pending = {name: line for name, line in pending.items() if name not in found}
        longest += max(4, longest // 4)
    return found


def _cut(line: str, longest: int) -> str:
    if len(line) <= longest:
        return line
    head = (longest - 1) // 2
    return f"{line[:head]}…{line[len(line) - (longest - 1 - head) :]}"
