"""Files that a user names, and whether they are still what they were."""

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeans._validation import shown

#: A file, a folder, a pattern, or several files.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def files_of(paths: Any, ending: str) -> list[str]:
    """Absolute paths of the files that ``paths`` stands for, in the order of their rows.

    Parameters
    ----------
    paths : path or iterable of paths
        A file; a folder, which stands for its files of this ending; or a pattern such as
        ``"rows-*.npy"``. Files of folders and patterns are sorted by name. Several paths keep
        their order.
    ending : str
        For example ``".npy"``.

    Returns
    -------
    list of str
    """
    if isinstance(paths, str | os.PathLike):
        return _expand(os.fspath(paths), ending)
    try:
        several = list(paths)
    except TypeError:
        several = [paths]
    for path in several:
        if not isinstance(path, str | os.PathLike):
            raise TypeError(
                f"paths must be a path or several paths of {ending} files, got {shown(path)}. "
                "Arrays go to polymeans.blocks.from_sequence."
            )
    if not several:
        raise ValueError(f"paths must name at least one {ending} file, got an empty list.")
    return [file for path in several for file in _expand(os.fspath(path), ending)]


def file_of(path: Any) -> str:
    """Absolute path of one file."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be the path of one file, got {shown(path)}.")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"There is no file {os.fspath(path)}.")
    return os.path.abspath(path)


def _expand(path: str, ending: str) -> list[str]:
    if os.path.isfile(path):
        return [os.path.abspath(path)]
    if os.path.isdir(path):
        found = sorted(str(file) for file in Path(path).glob(f"*{ending}") if file.is_file())
        if not found:
            raise FileNotFoundError(f"There is no {ending} file in the folder {path}.")
    elif glob.has_magic(path):
        found = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
        if not found:
            raise FileNotFoundError(f"No file matches the pattern {path}.")
    else:
        raise FileNotFoundError(f"There is no file {path}.")
    return [os.path.abspath(file) for file in found]


@dataclass(frozen=True)
class Stamp:
    """By what a changed file is recognized: its size, and when it was last written."""

    path: str
    mark: tuple[int, ...]

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "Stamp":
        """The stamp of a file as it is now, or of all files in a folder."""
        return cls(os.fspath(path), _mark(os.fspath(path)))

    @property
    def is_folder(self) -> bool:
        """Whether it is the stamp of all files in a folder."""
        return len(self.mark) == 3

    def check(self) -> None:
        """Raise if the file is not what it was when the stamp was taken."""
        try:
            now = _mark(self.path)
        except OSError as error:
            raise RuntimeError(
                f"{self.path} was opened as a source of rows and cannot be found any more "
                f"({error.strerror}). Keep files in place until the fit is done."
            ) from error
        if now != self.mark:
            raise RuntimeError(
                f"{self.path} changed after it was opened: every pass has to read the same rows. "
                "Open it again, and write to it only when the fit is done."
            )


def _mark(path: str) -> tuple[int, ...]:
    found = os.stat(path)
    if not os.path.isdir(path):
        return found.st_size, found.st_mtime_ns
    n_files = total = newest = 0
    pending = [path]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    pending.append(entry.path)
                    continue
                found = entry.stat()
                n_files += 1
                total += found.st_size
                newest = max(newest, found.st_mtime_ns)
    return n_files, total, newest
