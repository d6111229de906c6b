"""CSR rows in ``.npz`` files of scipy."""

import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.blocks.checked import Announcement, CheckedBlocks
from polymeans.blocks.files import Paths, Stamp, files_of
from polymeans.blocks.rows import working_dtype
from polymeans.blocks.sizes import BLOCK_BYTES, Piece, check_block_bytes, cut_by_bytes, join, place
from polymeans.blocks.stored_arrays import StoredArray, array_header, stored_arrays
from polymeans.blocks.weights import row_weights
from polymeans.core.rows import CSR


def from_csr_files(
    paths: Paths, *, block_bytes: int = BLOCK_BYTES, weights: Any = None
) -> CheckedBlocks:
    """CSR rows in one ``.npz`` file or many, as ``scipy.sparse.save_npz`` writes them.

    **Idea.** A large sparse matrix is kept as shards, each of them a file with some of the rows.
    Some rows of a shard are in memory, or one shard if it is compressed.

    **Use when** documents or other sparse rows do not fit into memory. **Do not use** with one
    compressed file for all rows: it can be read only as a whole, so shards of 32 to 200 MB are
    best.

    **Cost.** Each pass reads each file once. Of files written with ``compressed=False`` each block
    is read by itself, straight into its arrays; the checksums of the zip format are not computed.
    Others are decompressed as a whole, which takes several times as long, and the file of the last
    block is kept until another one is read.

    Parameters
    ----------
    paths : path, or iterable of paths
        A file; a folder, for the ``.npz`` files in it; a pattern such as ``"shard-*.npz"``; or
        several of them. Files of a folder or pattern are taken in the order of their names, as
        text. All must have the same width and dtype.
    block_bytes : int, default=33554432
        Bytes of a block (values, indices and pointers), at most, as long as a row is not larger.
        Files that are larger are cut, smaller ones that follow each other are joined.
    weights : array-like of shape (n_samples,), path or None, default=None
        Weight of each row, over all files; or a ``.npy`` file of them.

    Returns
    -------
    blocks : Blocks
        CSR rows of float32 or float64.

    See Also
    --------
    from_sequence : Blocks of matrices that you have.
    from_npy : Dense arrays in files.

    Examples
    --------
    >>> import os, tempfile
    >>> import scipy.sparse as sp
    >>> from polymeans.blocks import from_csr_files
    >>> folder = tempfile.TemporaryDirectory()
    >>> for i in range(2):
    ...     shard = sp.random(500, 1000, density=0.01, format="csr", random_state=i)
    ...     sp.save_npz(os.path.join(folder.name, f"shard-{i}.npz"), shard)
    >>> blocks = from_csr_files(folder.name)
    >>> blocks
    <1000 x 1000 CSR rows of float64 in 1 blocks, from 2 .npz files>
    >>> folder.cleanup()
    """
    check_block_bytes(block_bytes)
    opened = [_open(path, part, block_bytes) for part, path in enumerate(files_of(paths, ".npz"))]
    files = [file for file, _ in opened]
    # Parts without rows are passed over.
    with_rows = [file for file in files if file.shape[0]] or files[:1]
    like = with_rows[0]
    for file in with_rows:
        if (file.shape[1], file.dtype) != (like.shape[1], like.dtype):
            raise ValueError(
                f"{file.path} has {file.shape[1]} columns of {file.dtype}, but {like.path} has "
                f"{like.shape[1]} of {like.dtype}. All files must have the same width and dtype."
            )
    blocks = join([piece for _, pieces in opened for piece in pieces], block_bytes)
    announced = Announcement(
        sizes=tuple(sum(piece.n_rows for piece in block) for block in blocks),
        n_features=like.shape[1],
        stored=like.dtype,
        is_sparse=True,
        name=files[0].path if len(files) == 1 else f"{len(files)} .npz files",
        places=tuple(place(block, [file.path for file in files]) for block in blocks),
        stamps=tuple(tuple(files[piece.part].stamp for piece in block) for block in blocks),
    )
    return CheckedBlocks(_Shards(files, blocks), announced, row_weights(weights))


@dataclass(frozen=True)
class _File:
    path: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    stamp: Stamp
    #: Values, indices and pointers, if parts of them can be read.
    arrays: tuple[StoredArray, ...] | None


class _Shards:
    """Reads blocks, and keeps the file that the last one came from."""

    def __init__(self, files: list[_File], blocks: list[tuple[Piece, ...]]) -> None:
        self._files, self._blocks = files, blocks
        self._kept: tuple[int, CSR] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": None}

    def __call__(self, i: int) -> CSR:
        rows = [self._rows(piece) for piece in self._blocks[i]]
        if i == len(self._blocks) - 1:
            self._kept = None
        return rows[0] if len(rows) == 1 else sp.vstack(rows, format="csr")

    def _rows(self, piece: Piece) -> CSR:
        file = self._files[piece.part]
        if file.arrays is not None:
            return _read(file.arrays, piece, file.shape[1])
        return self._rows_of_whole(piece)

    def _rows_of_whole(self, piece: Piece) -> CSR:
        # Taken out, not looked at: a second thread that reads at the same time loads its own.
        kept, self._kept = self._kept, None
        if kept is None or kept[0] != piece.part:
            kept = piece.part, _load(self._files[piece.part].path)
        whole = kept[1]
        if piece.n_rows == whole.shape[0]:
            return whole
        self._kept = kept
        indptr = whole.indptr
        stored = slice(indptr[piece.start], indptr[piece.stop])
        # Copies, since views would keep the whole file in memory as long as the block is used.
        return sp.csr_array(
            (
                whole.data[stored].copy(),
                whole.indices[stored].copy(),
                indptr[piece.start : piece.stop + 1] - indptr[piece.start],
            ),
            shape=(piece.n_rows, whole.shape[1]),
        )


def _read(arrays: tuple[StoredArray, ...], piece: Piece, n_features: int) -> CSR:
    """Some rows of a file, and nothing else of it."""
    values, indices, pointers = arrays
    indptr = pointers.read(piece.start, piece.stop + 1)
    lo, hi = int(indptr[0]), int(indptr[-1])
    if not 0 <= lo <= hi <= values.length:
        raise ValueError(f"{values.path} changed after it was opened: indptr ends at {hi}.")
    indptr -= indptr[0]
    rows = values.read(lo, hi), indices.read(lo, hi), indptr
    return sp.csr_array(rows, shape=(piece.n_rows, n_features))


def _load(path: str) -> CSR:
    try:
        return sp.csr_array(sp.load_npz(path))
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as a CSR matrix: {error}") from error


def _open(path: str, part: int, block_bytes: int) -> tuple[_File, list[Piece]]:
    """Shape, type and pieces of a file, for which its values need not be read."""
    stamp = Stamp.of(path)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found = arrays["format"].item()
            form = found.decode() if isinstance(found, bytes) else str(found)
            if form != "csr":
                raise ValueError(f"it has the format {form}; save it after tocsr()")
            shape = tuple(int(size) for size in arrays["shape"])
            indptr = arrays["indptr"]
        dtype, index_dtype = _dtype(path, "data.npy"), _dtype(path, "indices.npy")
        stored = stored_arrays(path, ("data", "indices", "indptr"))
    except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} is no CSR matrix as scipy.sparse.save_npz writes it: {error}."
        ) from error
    working = working_dtype(dtype, path)
    if len(shape) != 2 or (shape[0] and not shape[1]):
        raise ValueError(f"{path} has the shape {shape}: no values. Leave the file out.")
    if not shape[0]:
        return _File(path, shape, dtype, stamp, None), []
    _check_indptr(indptr, shape[0], path)
    each = working.itemsize + index_dtype.itemsize
    ends = indptr[1:].astype(np.int64) * each + np.arange(1, shape[0] + 1) * indptr.itemsize
    if stored is not None and not indptr[-1] == stored[0].length == stored[1].length:
        stored = None  # entries that no row has, or that are missing: scipy knows what to do
    return _File(path, shape, dtype, stamp, stored), cut_by_bytes(part, ends, block_bytes)


def _check_indptr(indptr: NDArray[Any], n_rows: int, path: str) -> None:
    if indptr.shape != (n_rows + 1,) or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(
            f"{path}: indptr must begin with 0, never decrease, and have {n_rows + 1} entries. "
            "Build the matrix again from its triples."
        )


def _dtype(path: str, member: str) -> np.dtype[Any]:
    """The type of an array in a ``.npz`` file, from its header."""
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        return array_header(file)[2]
