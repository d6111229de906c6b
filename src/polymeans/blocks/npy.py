"""Rows in ``.npy`` files, mapped into memory one block at a time."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.blocks.checked import Announcement, CheckedBlocks
from polymeans.blocks.files import Paths, Stamp, files_of
from polymeans.blocks.rows import working_dtype
from polymeans.blocks.sizes import BLOCK_BYTES, Piece, check_block_bytes, cut, join, place
from polymeans.blocks.stored_arrays import array_header
from polymeans.blocks.weights import row_weights


def from_npy(paths: Paths, *, block_bytes: int = BLOCK_BYTES, weights: Any = None) -> CheckedBlocks:
    """Rows in one ``.npy`` file or many, without loading them.

    **Idea.** A ``.npy`` file is a short header and the values as they are in memory, so a block of
    rows is a range of bytes that the operating system maps when it is needed, and forgets when
    memory is short.

    **Use when** dense rows do not fit into memory: ``.npy`` is the fastest format here, as nothing
    is decoded. **Do not use** for files that another program shortens meanwhile: a process that
    reads from a memory map beyond the end of its file is ended by the operating system.

    **Cost.** Each pass reads each byte once, in order. float32 and float64 in C order are not
    copied. Other numbers become float64, block by block. Of files in Fortran order a block is d
    distant pieces of the file; write them in C order if there is a choice.

    Parameters
    ----------
    paths : path, or iterable of paths
        A file; a folder, for the ``.npy`` files in it; a pattern such as ``"rows-*.npy"``; or
        several of them. Files of a folder or pattern are taken in the order of their names, as
        text: ``rows-10`` comes before ``rows-9``. All must have the same width and dtype.
    block_bytes : int, default=33554432
        Bytes of a block, at most, as long as a row is not larger. Files that are larger are cut,
        smaller ones that follow each other are joined.
    weights : array-like of shape (n_samples,), path or None, default=None
        Weight of each row, over all files; or a ``.npy`` file of them.

    Returns
    -------
    blocks : Blocks
        Rows of float32 or float64.

    See Also
    --------
    from_hdf5, from_zarr : Arrays in other files.
    label_blocks : Labels of rows in blocks.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from polymeans.blocks import from_npy
    >>> folder = tempfile.TemporaryDirectory()
    >>> for i in range(3):
    ...     part = np.full((1000, 8), i, dtype=np.float32)
    ...     np.save(os.path.join(folder.name, f"rows-{i}.npy"), part)
    >>> blocks = from_npy(os.path.join(folder.name, "rows-*.npy"), block_bytes=20_000)
    >>> blocks.n_samples, blocks.n_features, blocks.sizes
    (3000, 8, (500, 500, 500, 500, 500, 500))
    >>> folder.cleanup()
    """
    check_block_bytes(block_bytes)
    opened = [_open(path) for path in files_of(paths, ".npy")]
    files = [file for file in opened if file.shape[0]] or opened[:1]  # there are parts without rows
    for file in files:
        _check_alike(file, files[0])
    n_features, stored = files[0].shape[1], files[0].dtype
    row_bytes = n_features * working_dtype(stored, files[0].path).itemsize
    pieces = [
        piece
        for part, file in enumerate(files)
        for piece in cut(part, file.shape[0], row_bytes, block_bytes)
    ]
    blocks = join(pieces, block_bytes)
    announced = Announcement(
        sizes=tuple(sum(piece.n_rows for piece in block) for block in blocks),
        n_features=n_features,
        stored=stored,
        is_sparse=False,
        name=files[0].path if len(files) == 1 else f"{len(files)} .npy files",
        places=tuple(place(block, [file.path for file in files]) for block in blocks),
        stamps=tuple(tuple(files[piece.part].stamp for piece in block) for block in blocks),
    )
    return CheckedBlocks(_Maps(files, blocks), announced, row_weights(weights))


@dataclass(frozen=True)
class _File:
    path: str
    shape: tuple[int, int]
    is_fortran: bool
    dtype: np.dtype[Any]
    offset: int  #: of the values
    stamp: Stamp


@dataclass(frozen=True)
class _Maps:
    files: list[_File]
    blocks: list[tuple[Piece, ...]]

    def __call__(self, i: int) -> NDArray[Any]:
        parts = [_map(self.files[piece.part], piece) for piece in self.blocks[i]]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _open(path: str) -> _File:
    """What the header of a file says."""
    stamp = Stamp.of(path)
    try:
        with open(path, "rb") as file:
            shape, is_fortran, dtype = array_header(file)
            offset = file.tell()
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no .npy file: {error}") from error
    working_dtype(dtype, path)
    if len(shape) != 2:
        raise ValueError(f"{path} has an array of shape {shape}. It must be 2-D: rows, features.")
    if shape[0] and not shape[1]:
        raise ValueError(f"{path} has the shape {shape}: no values. Leave the file out.")
    if os.path.getsize(path) < offset + shape[0] * shape[1] * dtype.itemsize:
        raise ValueError(
            f"{path} is shorter than its header says: it was not written completely. Write "
            "or copy it again."
        )
    return _File(path, shape, is_fortran, dtype, offset, stamp)


def _check_alike(file: _File, other: _File) -> None:
    if (file.shape[1], file.dtype) != (other.shape[1], other.dtype):
        raise ValueError(
            f"{file.path} has {file.shape[1]} columns of {file.dtype}, but {other.path} has "
            f"{other.shape[1]} of {other.dtype}. All files must have the same width and dtype."
        )


def _map(file: _File, piece: Piece) -> NDArray[Any]:
    """Some rows of a file as a memory map, which lives as long as the block does.

    A map of the whole file would add up all pages it has shown to the memory of the process. Maps
    are private copies, on which a page would be copied if anything wrote to it: no file changes.
    """
    n, d = file.shape
    if file.is_fortran:
        whole = np.memmap(file.path, file.dtype, "c", file.offset, (n, d), "F")
        return whole[piece.start : piece.stop]
    offset = file.offset + piece.start * d * file.dtype.itemsize
    _begin_reading(file.path, offset, piece.n_rows * d * file.dtype.itemsize)
    return np.memmap(file.path, file.dtype, "c", offset, (piece.n_rows, d))


def _begin_reading(path: str, offset: int, n_bytes: int) -> None:
    """Let the operating system read a part of a file while other work is done.

    A map alone reads nothing: pages would be waited for, one after the other, by whoever first
    looks at them.
    """
    if hasattr(os, "posix_fadvise"):
        file = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(file, offset, n_bytes, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(file)
