"""Rows in an HDF5 file."""

import os
from functools import partial
from typing import Any

import numpy as np

from polymeans.blocks.checked import CheckedBlocks
from polymeans.blocks.extras import load
from polymeans.blocks.files import Stamp, file_of
from polymeans.blocks.sizes import BLOCK_BYTES
from polymeans.blocks.sliced import slices_of
from polymeans.blocks.weights import row_weights


def from_hdf5(
    path: str | os.PathLike[str],
    dataset: str,
    *,
    block_bytes: int = BLOCK_BYTES,
    weights: Any = None,
) -> CheckedBlocks:
    """Rows in a dataset of an HDF5 file.

    **Idea.** A block is a slice of the dataset. The file is opened for each block and closed
    again, so nothing stays open, and the blocks can be handed to other processes.

    **Use when** dense rows are in HDF5 already. Needs h5py: ``pip install "polymeans[files]"``.
    **Do not use** for sparse matrices, which AnnData keeps as a group of three arrays: open these
    with AnnData in backed mode and pass them to :func:`from_sequence`.

    **Cost.** Each pass reads each chunk of the file once, if a chunk, over all columns, is not
    larger than a block; else once for each block it reaches into.

    Parameters
    ----------
    path : path
        The file.
    dataset : str
        Name of the dataset in it, such as ``"train/rows"``; it must be 2-D.
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
    from_zarr : Arrays in a zarr store.
    from_npy : Arrays in files of numpy.

    Examples
    --------
    >>> import os, tempfile
    >>> import h5py
    >>> import numpy as np
    >>> from polymeans.blocks import from_hdf5
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "data.h5")
    >>> with h5py.File(path, "w") as file:
    ...     _ = file.create_dataset("rows", data=np.ones((1000, 8)), chunks=(100, 8))
    >>> from_hdf5(path, "rows", block_bytes=30_000).sizes
    (300, 300, 400)
    >>> folder.cleanup()
    """
    h5py = load("h5py")
    file_path = file_of(path)
    stamp = Stamp.of(file_path)

    try:
        file = h5py.File(file_path, "r")
    except OSError as error:
        raise ValueError(f"{file_path} cannot be opened as an HDF5 file: {error}") from error
    with file:
        found = file.get(dataset)
        if not isinstance(found, h5py.Dataset):
            raise ValueError(
                f"{file_path} has no dataset {dataset!r}. It has {_names(file, h5py)}."
            )
        return slices_of(
            found,
            partial(_read, file_path, dataset),
            f"{dataset} in {file_path}",
            block_bytes=block_bytes,
            weights=row_weights(weights),
            stamp=stamp,
        )


def _read(path: str, dataset: str, start: int, stop: int) -> Any:
    with load("h5py").File(path, "r") as file:
        return np.asarray(file[dataset][start:stop])


def _names(file: Any, h5py: Any) -> str:
    """Datasets of a file, for an error; the first ten."""
    names: list[str] = []

    def note(name: str, item: Any) -> bool | None:
        if isinstance(item, h5py.Dataset):
            names.append(name)
        return True if len(names) > 10 else None  # anything but None ends the visit

    file.visititems(note)
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return shown or "no datasets"
