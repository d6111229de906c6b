"""A fit's steps in a folder, so that a fit that was killed goes on where it was.

A fit draws a start, descends, perhaps descends again. The journal records what each of these came
to, in the order in which they happen, and a descent after every iteration. A later fit of the same
rows with the same parameters takes the same way through the code and finds recorded what it would
compute. Files hold arrays and JSON, never pickles; each is written beside its place and then moved
there, so that a crash leaves the last complete one.
"""

import io
import json
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids
from polymeans.core.statistics import Statistics
from polymeans.engine.digests import digest
from polymeans.engine.runners import BaseRunner

#: Changes when an older file can no longer be read.
_FORMAT = 2

_HEADER = "journal.json"

#: What reading a damaged page may raise, beside errors of Python itself.
_DAMAGED = (zipfile.BadZipFile, zlib.error)

#: Names of arrays that belong to a codebook begin so.
_STATE = "codebook."


@dataclass
class DescentRecord:
    """A descent after some iterations.

    Kept is what the last iteration began with. Its labels and its refit follow from that by a pass
    over the rows, so neither is stored.
    """

    codebook: dict[str, Any]  #: state before the last refit
    moved_rows: NDArray[np.int64]  #: rows that got empty clusters before it
    moved_to: NDArray[np.int32]
    steps: NDArray[np.float64]  #: (n_iter, 4) inertia, rows moved, shift, seconds
    n_relocated: int  #: in all iterations
    converged: bool
    ended: bool  #: no further iteration follows

    @property
    def refitted(self) -> bool:
        """Whether the last iteration moved any centroid."""
        return bool(self.steps[-1][1] > 0)


def copied_state(codebook: Centroids) -> dict[str, Any]:
    """The state of a codebook that a refit may change in place."""
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in codebook.state().items()
    }


def repeat_labels(
    runner: BaseRunner, codebook: Centroids, algorithm: str, record: DescentRecord
) -> Statistics:
    """Label the rows as in the last iteration of a record; what they add up to."""
    runner.begin(codebook, algorithm)
    runner.assign(codebook)
    statistics = runner.add_up()
    if len(record.moved_rows):
        runner.relabel(record.moved_rows, record.moved_to)
        statistics = runner.add_up()
    return statistics


class Journal:
    """What a fit has come to so far.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
            raise TypeError(
                f"checkpoint must be None or the path of a folder, got {folder!r:.200}. It is "
                'made if needed: checkpoint="fit in progress".'
            )
        self.folder = Path(folder)
        self._position = 0
        self._header: dict[str, Any] | None = None
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(
                f"checkpoint={str(folder)!r} is a file. Give a folder, which is made if needed."
            )
        header = self.folder / _HEADER
        if header.exists():
            self._header = _read_header(header)
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise ValueError(
                f"checkpoint={str(folder)!r} is a folder of other files. Give an empty one, or a "
                "path where there is nothing."
            )

    def begin(self, rng: RandomState) -> None:
        """Start a journal, or go on with one: ``rng`` then gets the state it had at its start."""
        if self._header is not None:
            _rng_from_json(rng, self._header["rng"])
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        header = {"format": _FORMAT, "rng": _rng_to_json(rng)}
        _write(self.folder / _HEADER, json.dumps(header).encode())

    def expect(self, what: str, identity: Mapping[str, Any], grows: Sequence[str] = ()) -> None:
        """Raise if what the result of the fit depends on is not as it was.

        Parameters
        ----------
        what : str
            "parameters" or "rows".
        identity : mapping
            Values by name.
        grows : sequence of str, default=()
            Names of limits to iterations: they may be larger than they were, unless a descent that
            others followed was ended by one.
        """
        path = self.folder / f"{what}.json"
        named = {name: digest(value) for name, value in identity.items()}
        if not path.exists():
            _write(path, json.dumps(named).encode())
            return
        known = _read_json(path)
        for name in sorted(known.keys() | named.keys()):
            if known.get(name) != named.get(name):
                if name in grows and self._may_grow(known.get(name), identity.get(name)):
                    continue
                raise ValueError(
                    f"checkpoint={str(self.folder)!r} belongs to another fit: {name} of its {what} "
                    "is not the same. Fit with what it was started with, or give another folder."
                )
        if known != named:
            _write(path, json.dumps(named).encode())

    def _may_grow(self, known: Any, limit: Any) -> bool:
        if not (isinstance(known, str) and known.isdigit() and int(limit) > int(known)):
            return False
        found = [_load(path) for path in sorted(self.folder.glob("[0-9]*.npz"))]
        return all(page is None or page.get("ended", True) for page in found[:-1])

    def once(
        self, compute: Callable[[], Mapping[str, Any]], rng: RandomState
    ) -> Mapping[str, NDArray[Any]]:
        """Arrays by name: those recorded at this place, or computed now and recorded.

        Parameters
        ----------
        compute : callable
            Returns arrays and numbers by name.
        rng : RandomState
            What ``compute`` draws from; if it is not called, gets the state it would have left.
        """
        page = self.page()
        found = page.load(rng)
        if found is not None:
            return found
        results = {name: np.asarray(value) for name, value in compute().items()}
        page.save(results, rng)
        return results

    def descent(self) -> "DescentPage":
        """The page of the next descent."""
        return DescentPage(self._next())

    def page(self) -> "Page":
        """The next page, for arrays that are written again and again."""
        return Page(self._next())

    def remove(self) -> None:
        """The fit is done: nothing is left to go on with."""
        for path in [*self.folder.glob("[0-9]*.npz"), *self.folder.glob("*.json")]:
            path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _next(self) -> Path:
        path = self.folder / f"{self._position:04d}.npz"
        self._position += 1
        return path


class Page:
    """Where something that goes on for long is recorded, each time as a whole.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, rng: RandomState) -> dict[str, Any] | None:
        """Arrays that were recorded before; ``rng`` gets the state it had. None: there are none."""
        found = _load(self.path, ("rng",))
        if found is not None:
            _rng_from_json(rng, json.loads(str(found.pop("rng"))))
        return found

    def save(self, arrays: Mapping[str, Any], rng: RandomState) -> None:
        """Record arrays, and the state of ``rng``."""
        _save(self.path, {**arrays, "rng": np.array(json.dumps(_rng_to_json(rng)))})


class DescentPage:
    """Where a descent is recorded.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> DescentRecord | None:
        """What was recorded before; None if nothing was."""
        names = [field.name for field in fields(DescentRecord) if field.name != "codebook"]
        found = _load(self.path, names)
        if found is None:
            return None
        return DescentRecord(
            codebook=_with_prefix(found, _STATE),
            moved_rows=found["moved_rows"],
            moved_to=found["moved_to"],
            steps=found["steps"],
            n_relocated=int(found["n_relocated"]),
            converged=bool(found["converged"]),
            ended=bool(found["ended"]),
        )

    def save(self, record: DescentRecord) -> None:
        """Record the descent as it is now."""
        own = {k: np.asarray(v) for k, v in vars(record).items() if k != "codebook"}
        state = {_STATE + name: np.asarray(value) for name, value in record.codebook.items()}
        _save(self.path, own | state)


def _with_prefix(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, Any]:
    """Entries of a state; numbers are no arrays there."""
    return {
        name.removeprefix(prefix): value if value.ndim else value.item()
        for name, value in arrays.items()
        if name.startswith(prefix)
    }


def _rng_to_json(rng: RandomState) -> list[Any]:
    name, keys, position, has_gauss, cached = rng.get_state(legacy=True)
    return [name, [int(key) for key in keys], int(position), int(has_gauss), float(cached)]


def _rng_from_json(rng: RandomState, state: list[Any]) -> None:
    name, keys, position, has_gauss, cached = state
    rng.set_state((name, np.array(keys, dtype=np.uint32), position, has_gauss, cached))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{path} is not part of a checkpoint ({error}). Delete its folder."
        ) from error


def _read_header(path: Path) -> dict[str, Any]:
    header = _read_json(path)
    if header.get("format") != _FORMAT or "rng" not in header:
        raise ValueError(
            f"{path} has format {header.get('format')}, but this version reads {_FORMAT}. Go on "
            "with the version of polymeans that wrote it, or delete its folder."
        )
    return header


def _load(path: Path, names: Sequence[str] = ()) -> dict[str, Any] | None:
    """Arrays of a page; None if there is no page, or one that is damaged or lacks some names."""
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        missing = [name for name in names if name not in found]
        if missing:
            raise KeyError(missing[0])
        return found
    except (ValueError, OSError, EOFError, KeyError, NotImplementedError, *_DAMAGED) as error:
        # Pages say what would be computed at their place, so that any of them can be done without.
        warnings.warn(
            f"{path} cannot be read as part of a checkpoint ({type(error).__name__}: {error}). "
            "What it recorded is computed again.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def _save(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    _write(path, content.getvalue())


def _write(path: Path, content: bytes) -> None:
    """Put a file into its place as a whole."""
    beside = path.with_name(path.name + ".new")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Let new names in a folder outlast a loss of power, where the system can do that."""
    if os.name != "posix":  # elsewhere folders cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems have no such thing
        pass
    finally:
        os.close(descriptor)
