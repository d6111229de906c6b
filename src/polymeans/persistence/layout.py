"""The safetensors layout: named arrays and texts in one file, read and written without its package.

A file is the length of the header (8 bytes, little-endian), the header (JSON) and the bytes of all
arrays, one after another without gaps. The header has an entry for each array, ``{"dtype": "F64",
"shape": [2, 3], "data_offsets": [0, 48]}``, and texts under ``"__metadata__"``. Nothing in it can
be executed. Reading trusts no number: offsets have to tile the file exactly, so that arrays
together take as much memory as the file has bytes.
"""

import json
import math
import os
import stat
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from polymeans.core.whole_file import whole_file
from polymeans.persistence.errors import ModelFileError
from polymeans.persistence.strict_json import parse

#: Bytes of the longest header that the safetensors package reads.
LONGEST_HEADER = 100_000_000

#: Names of the layout, and types of numpy in the byte order of the files.
DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}

#: Largest number of dimensions, and of entries along one.
_MOST_DIMENSIONS, _LONGEST = 16, 2**47

#: What the header ends at a multiple of, as the safetensors package has it.
_ALIGNMENT = 8


def write_arrays(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], texts: Mapping[str, str]
) -> None:
    """Write arrays and texts to a file, completely or not at all.

    Parameters
    ----------
    path : path
    arrays : mapping of str to ndarray
        Of the types in ``DTYPES``, in any byte order and memory layout.
    texts : mapping of str to str
        What other programs show as the metadata.
    """
    header: dict[str, Any] = {"__metadata__": dict(texts)}
    # Wide types first: every array begins at a multiple of its own item size.
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    end = 0
    for name in order:
        array = arrays[name]
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": NAMES[array.dtype.newbyteorder("<")],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    encoded = json.dumps(header, ensure_ascii=False, allow_nan=False).encode("utf-8")
    encoded += b" " * (-len(encoded) % _ALIGNMENT)
    if len(encoded) > LONGEST_HEADER:
        raise ValueError(
            f"The texts of this model take {len(encoded)} bytes, and a model file holds up to "
            f"{LONGEST_HEADER}. Use fewer features with names, or a smaller vocabulary."
        )
    with whole_file(path) as file:
        file.write(len(encoded).to_bytes(8, "little"))
        file.write(encoded)
        for name in order:
            array = arrays[name]
            file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)


def read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Arrays and texts of a file.

    Parameters
    ----------
    path : path

    Returns
    -------
    arrays : dict of str to ndarray
        In the byte order of this machine, contiguous, and writable.
    texts : dict of str to str
    """
    with open(path, "rb") as file:
        texts, table, _ = _read_header(file, path)
        # In the order of the file, which is read once from its beginning to its end.
        arrays = {name: _read_array(file, *entry) for name, entry in table.items()}
    return arrays, texts


def read_texts(path: str | os.PathLike[str]) -> tuple[dict[str, str], int]:
    """The texts of a file, without its arrays, and the bytes that these take.

    Parameters
    ----------
    path : path

    Returns
    -------
    texts : dict of str to str
    n_bytes : int
    """
    with open(path, "rb") as file:
        texts, _, n_bytes = _read_header(file, path)
    return texts, n_bytes


_Entry = tuple[np.dtype[Any], tuple[int, ...], str]


def _read_header(
    file: BinaryIO, path: str | os.PathLike[str]
) -> tuple[dict[str, str], dict[str, _Entry], int]:
    """Texts, types and shapes in the order of the file, and the bytes of all arrays."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path} is no regular file. Copy it to one first.")
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or not 2 <= length <= status.st_size - 8 or file.peek(1)[:1] != b"{":  # type: ignore[attr-defined]
        raise ModelFileError(
            f"{path} is no model file, or was cut off: it does not begin with a safetensors header."
        )
    if length > LONGEST_HEADER:
        raise ModelFileError(
            f"{path} has a header of {length} bytes; {LONGEST_HEADER} is the most."
        )
    header = parse(file.read(length), f"The header of {path}")
    if not isinstance(header, dict):
        raise ModelFileError(f"The header of {path} is no JSON object.")
    texts = header.pop("__metadata__", {})
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ModelFileError(f"The metadata of {path} are no texts.")
    n_bytes = status.st_size - 8 - length
    return texts, _tiling(header, n_bytes, path), n_bytes


def _tiling(
    header: dict[str, Any], n_bytes: int, path: str | os.PathLike[str]
) -> dict[str, _Entry]:
    """Entries sorted by offset; an error unless they follow each other to the end of the file."""
    checked = [(*_check_entry(name, entry, path), name) for name, entry in header.items()]
    # Arrays without bytes may be anywhere between others.
    checked.sort(key=lambda item: (item[0], item[1]))
    end = 0
    for begin, stop, _, _, name in checked:
        if begin != end:
            raise ModelFileError(
                f"Array {name!r} of {path} begins at byte {begin} of the data, where {end} is "
                "expected: arrays overlap or leave gaps."
            )
        end = stop
    if end != n_bytes:
        raise ModelFileError(
            f"{path} has {n_bytes} bytes of data, and its header describes {end}: it was cut off "
            "or something was added."
        )
    return {name: (dtype, shape, f"{path}") for _, _, dtype, shape, name in checked}


def _check_entry(
    name: str, entry: Any, path: str | os.PathLike[str]
) -> tuple[int, int, np.dtype[Any], tuple[int, ...]]:
    """Offsets, type and shape of an entry that are consistent with each other."""
    wrong = ModelFileError(f"The header of {path} describes array {name!r} wrongly.")
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise wrong
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES:
        raise ModelFileError(f"Array {name!r} of {path} has the unknown type {code!r:.50}.")
    if not (_are_counts(shape) and _are_counts(offsets) and len(offsets) == 2):
        raise wrong
    if len(shape) > _MOST_DIMENSIONS or offsets[0] > offsets[1]:
        raise wrong
    dtype = np.dtype(DTYPES[code])
    if math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise ModelFileError(
            f"Array {name!r} of {path} has shape {shape} and {offsets[1] - offsets[0]} bytes, "
            "which do not belong together."
        )
    return offsets[0], offsets[1], dtype, tuple(shape)


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value <= _LONGEST for value in values
    )


def _read_array(
    file: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...], path: str
) -> NDArray[Any]:
    raw = np.uint8 if dtype.kind == "b" else dtype
    array = np.empty(shape, dtype=raw)
    if array.size and file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:  # type: ignore[attr-defined]
        raise ModelFileError(f"{path} ended while it was read.")
    if dtype.kind == "b":
        # Any other byte would be a boolean that is neither true nor false.
        if array.size and array.max() > 1:
            raise ModelFileError(f"{path} has booleans that are neither 0 nor 1.")
        return array.view(np.bool_)
    return array.astype(dtype.newbyteorder("="), copy=False)
