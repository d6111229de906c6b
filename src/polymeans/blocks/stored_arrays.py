"""Arrays in an uncompressed ``.npz`` file, of which any part can be read alone."""

import os
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polymeans.blocks.pages import array_of_own_pages

#: Bytes of the header in front of a member of a zip file, and where it says how long the name and
#: the extra field are that come between them.
_HEADER, _LENGTHS = 30, slice(26, 30)


@dataclass(frozen=True)
class StoredArray:
    """Where the numbers of a 1-D array lie in a file."""

    path: str
    offset: int
    length: int
    dtype: np.dtype[Any]

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Entries ``start:stop``, straight into memory of their own.

        They are no memory map: where a zip file puts arrays, numbers are not aligned.
        """
        out = array_of_own_pages((stop - start,), self.dtype)
        wanted = out.data.cast("B") if len(out) else memoryview(b"")
        with open(self.path, "rb", buffering=0) as file:
            file.seek(self.offset + start * self.dtype.itemsize)
            while len(wanted):
                n_read = file.readinto(wanted)
                if not n_read:
                    raise ValueError(f"{self.path} ends too early: it was not written completely.")
                wanted = wanted[n_read:]
        return out


def stored_arrays(path: str, names: tuple[str, ...]) -> tuple[StoredArray, ...] | None:
    """Some arrays of a ``.npz`` file.

    Parameters
    ----------
    path : str
    names : tuple of str

    Returns
    -------
    tuple of StoredArray or None
        None, if one of them cannot be read in part: it is compressed, not 1-D, or has its bytes in
        the order of another machine.
    """
    found = []
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        size = os.path.getsize(path)
        for name in names:
            member = archive.getinfo(f"{name}.npy")
            if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                return None
            file.seek(member.header_offset)
            n_name, n_extra = np.frombuffer(file.read(_HEADER)[_LENGTHS], "<u2").tolist()
            file.seek(n_name + n_extra, os.SEEK_CUR)
            shape, _, dtype = array_header(file)
            if len(shape) != 1 or not dtype.isnative:
                return None
            stored = StoredArray(path, file.tell(), shape[0], dtype)
            if stored.offset + stored.length * dtype.itemsize > size:
                return None
            found.append(stored)
    return tuple(found)


def array_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of an array, from its header in the ``.npy`` format."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, is_fortran, dtype = read(file)
    return shape, is_fortran, np.dtype(dtype)
