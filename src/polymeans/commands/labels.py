"""Labels as lines of text, csv or npy: one for each row, written as they are found."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.commands.errors import CommandError
from polymeans.commands.terminal import say_lines
from polymeans.core.whole_file import whole_file

#: Labels that become text at a time.
_LINES = 2**16


def labels_of(model: Any, rows: Any) -> Iterator[NDArray[Any]]:
    """Labels of rows, block by block; of several views one column each."""
    from polymeans.persistence.scaled_rows import is_blocks

    predict = getattr(model, "predict_views", model.predict)
    if not is_blocks(rows):
        yield predict(rows)
        return
    for i in range(len(rows)):
        yield predict(rows[i])


def fitted_labels(model: Any) -> NDArray[Any]:
    """Labels that a fit has left; of several views one column each."""
    return np.asarray(getattr(model, "labels_per_view_", model.labels_))


def write_labels(parts: Iterable[NDArray[Any]], path: Path | None) -> int:
    """Write labels to a file, or to the standard output; how many there were.

    Parameters
    ----------
    parts : iterable of arrays
    path : Path or None
        ``.csv`` and ``.tsv`` have a line with names first, ``.npy`` is an array, everything else
        has a label in each line. None or ``-``: the standard output.

    Returns
    -------
    int
    """
    if path is None or str(path) == "-":
        n = 0
        for part in parts:
            n += len(part)
            for lines in _lines(part, "\t"):
                say_lines(lines)
        return n
    try:
        return _write_file(parts, path)
    except OSError as error:
        raise CommandError(
            f"cannot write {path}: {error.strerror}", "choose another --labels"
        ) from None


def _write_file(parts: Iterable[NDArray[Any]], path: Path) -> int:
    ending = path.suffix.lower()
    with whole_file(path) as file:
        if ending == ".npy":
            labels = np.concatenate(list(parts))
            np.save(file, labels)
            return len(labels)
        n, delimiter = 0, "," if ending == ".csv" else "\t"
        for part in parts:
            if not n and ending in (".csv", ".tsv"):
                file.write(f"{delimiter.join(_names(part))}\n".encode())
            n += len(part)
            for lines in _lines(part, delimiter):
                file.write("".join(f"{line}\n" for line in lines).encode())
        return n


def _names(labels: NDArray[Any]) -> list[str]:
    return ["label"] if labels.ndim == 1 else [f"view{i}" for i in range(labels.shape[1])]


def _lines(labels: NDArray[Any], delimiter: str) -> Iterator[list[str]]:
    for lo in range(0, len(labels), _LINES):
        some = labels[lo : lo + _LINES].tolist()
        yield [
            delimiter.join(map(str, label)) if isinstance(label, list) else str(label)
            for label in some
        ]
