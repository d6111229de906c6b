"""Rows in a zarr array."""

import os
from functools import partial
from typing import Any

import numpy as np

from polymeans.blocks.checked import CheckedBlocks
from polymeans.blocks.extras import load
from polymeans.blocks.files import Stamp
from polymeans.blocks.sizes import BLOCK_BYTES
from polymeans.blocks.sliced import slices_of
from polymeans.blocks.weights import row_weights


def from_zarr(
    path_or_array: Any, *, block_bytes: int = BLOCK_BYTES, weights: Any = None
) -> CheckedBlocks:
    """Rows in a zarr array.

    **Idea.** A block is a slice of the array, a whole number of its chunks where these are not
    larger than a block.

    **Use when** dense rows are in zarr already, on a disk or in a store of objects. Needs zarr:
    ``pip install "polymeans[files]"``. **Do not use** for sparse matrices, which AnnData keeps as
    a group of three arrays: open these with AnnData in backed mode and pass them to
    :func:`from_sequence`.

    **Cost.** Each pass reads each chunk once, if a chunk, over all columns, is not larger than a
    block; else once for each block it reaches into. An array in a folder is looked through for
    changed files when a pass begins; arrays in other stores are not.

    Parameters
    ----------
    path_or_array : path or zarr.Array
        The folder of an array, such as ``"data.zarr/rows"``, or an array that is open already; it
        must be 2-D.
    block_bytes : int, default=33554432
        Bytes of a block, at most, as long as a row is not larger.
    weights : array-like of shape (n_samples,), path or None, default=None
        Weight of each row; or a ``.npy`` file of them.

    Returns
    -------
    blocks : Blocks
        Rows of float32 or float64; other numbers become float64.

    See Also
    --------
    from_hdf5 : Arrays in HDF5 files.
    from_npy : Arrays in files of numpy.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import zarr
    >>> from polymeans.blocks import from_zarr
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "rows.zarr")
    >>> array = zarr.open_array(path, mode="w", shape=(1000, 8), chunks=(100, 8), dtype="f4")
    >>> array[:] = np.ones((1000, 8), dtype=np.float32)
    >>> from_zarr(path, block_bytes=15_000).sizes
    (300, 300, 400)
    >>> folder.cleanup()
    """
    zarr = load("zarr")
    array, folder = path_or_array, None
    if isinstance(path_or_array, str | os.PathLike):
        folder = os.path.abspath(path_or_array)
        if not os.path.exists(folder):
            raise FileNotFoundError(f"There is no zarr array {folder}.")
        try:
            array = zarr.open(folder, mode="r")
        except Exception as error:  # of several classes, which differ between versions of zarr
            raise ValueError(
                f"{folder} cannot be opened as a zarr array ({type(error).__name__}: {error}). "
                "Give the folder of an array, or path/name for one of a group."
            ) from error
    else:
        folder = _folder(path_or_array)
    if not isinstance(array, zarr.Array):
        raise TypeError(
            f"path_or_array must be a zarr array or the path of one, got {array!r}. Name one array "
            "of a group as path/name."
        )
    return slices_of(
        array,
        partial(_read, array),
        folder or str(array.store),
        block_bytes=block_bytes,
        weights=row_weights(weights),
        stamp=None if folder is None else Stamp.of(folder),
    )


def _read(array: Any, start: int, stop: int) -> Any:
    return np.asarray(array[start:stop])


def _folder(array: Any) -> str | None:
    """Where the chunks of an open array are on this machine's disks, if they are."""
    store = getattr(array, "store", None)
    root = getattr(store, "root", None) or getattr(store, "path", None)  # zarr 3, zarr 2
    if root is None:
        return None
    folder = os.path.join(root, getattr(array, "path", ""))
    return os.path.abspath(folder) if os.path.isdir(folder) else None
