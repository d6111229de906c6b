"""Rows that arrive in parts: kept in memory as long as they fit, in a temporary file after that."""

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

#: Bytes of a header, which is written when the number of rows is known.
_HEADER = 128


class Collector:
    """Takes parts of a matrix, and gives back an array or blocks.

    Parameters
    ----------
    memory : int
        Bytes that may be held.
    scratch : Path
        Folder for the temporary file; whoever made it removes it.
    """

    def __init__(self, memory: int, scratch: Path) -> None:
        self._memory, self._path = memory, scratch / "rows.npy"
        self._parts: list[NDArray[np.float64]] = []
        self._n_held = 0
        self._file: BinaryIO | None = None
        self.n_rows = 0
        self._width = 0

    def add(self, part: NDArray[np.float64]) -> None:
        """One part more, of the same width as those before."""
        if not len(part):
            return
        self.n_rows += len(part)
        self._width = part.shape[1]
        self._parts.append(part)
        self._n_held += part.nbytes
        if self._n_held > self._memory or self._file is not None:
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            self._file = open(self._path, "wb")  # noqa: SIM115 (closed in rows)
            self._file.write(bytes(_HEADER))
        for part in self._parts:
            self._file.write(np.ascontiguousarray(part, "<f8").data)
        self._parts, self._n_held = [], 0

    def rows(self) -> Any:
        """All rows: an array, or blocks of the temporary file."""
        if self._file is None:
            return np.concatenate(self._parts) if self._parts else np.empty((0, 0))
        from polymeans.blocks import from_npy

        header = {"descr": "<f8", "fortran_order": False, "shape": (self.n_rows, self._width)}
        self._file.seek(0)
        npy.write_array_header_1_0(self._file, header)
        # The header is padded to a multiple of 64 bytes; of one this short, to 128.
        assert self._file.tell() == _HEADER
        self._file.close()
        return from_npy(self._path)
