"""Files that are there completely or not at all."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name when everything is written.

    Until then it has a temporary name in the same folder. If anything goes wrong (an exception, a
    full disk), it is removed, and a file that had the name before stays as it is. Devices and pipes
    are written to directly.

    Parameters
    ----------
    path : path
        The file to write or replace. Of a symbolic link, the file it leads to.

    Yields
    ------
    file : binary file
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as file:  # a folder is an error here
            yield file
        return
    if not target.parent.is_dir():  # opening would name the temporary file
        raise FileNotFoundError(
            errno.ENOENT, "there is no such folder, make it first", str(target.parent)
        )
    unfinished = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        # Plain writes and no memory map: of a full disk they say so, where a map ends the process.
        with open(unfinished, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # a crash must not leave the name of a file without its content
        if mode is not None:
            os.chmod(unfinished, stat.S_IMODE(mode))
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
