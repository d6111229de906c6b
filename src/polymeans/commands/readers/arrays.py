"""Rows in npy and npz files."""

import zipfile
from typing import Any

import numpy as np

from polymeans.commands.errors import CommandError
from polymeans.commands.readers.table import Request, Table


def read_npy(path: str, name: str, request: Request) -> Table:
    """Rows of an array, in memory or in blocks.

    Parameters
    ----------
    path : str
    name : str
        For errors.
    request : Request

    Returns
    -------
    Table
    """
    from polymeans.blocks import from_npy

    blocks = from_npy(path)
    return Table(rows=held_or_blocks(blocks, request))


def held_or_blocks(blocks: Any, request: Request) -> Any:
    """Blocks as they are, or as one array if that is not too large."""
    if blocks.n_samples * blocks.n_features * blocks.dtype.itemsize > request.memory:
        return blocks
    return np.concatenate([np.asarray(blocks[i]) for i in range(len(blocks))])


def read_npz(path: str, name: str, request: Request) -> Table:
    """Rows of an archive: a CSR matrix of scipy, or an array.

    Parameters
    ----------
    path : str
    name : str
        For errors.
    request : Request

    Returns
    -------
    Table
    """
    import scipy.sparse as sp

    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise CommandError(f"{name} is no npz file", "say what it is with --format")
            keys = list(archive)
            if request.key is None and {"indptr", "format"} <= set(keys):
                return Table(rows=sp.csr_array(sp.load_npz(path)))
            return Table(rows=_checked(archive[_key(keys, name, request)], name))
    except (zipfile.BadZipFile, ValueError, EOFError, KeyError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CommandError(
            f"{name} cannot be read as an npz file: {reason}", "say what it is with --format"
        ) from None


def _key(keys: list[str], name: str, request: Request) -> str:
    if request.key is not None:
        if request.key not in keys:
            raise CommandError(
                f"{name} has no array {request.key!r}", f"arrays are: {', '.join(keys)}"
            )
        return request.key
    if len(keys) == 1 or "X" in keys:
        return keys[0] if len(keys) == 1 else "X"
    raise CommandError(f"{name} has {len(keys)} arrays", f"choose with --key: {', '.join(keys)}")


def _checked(array: Any, name: str) -> Any:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise CommandError(
            f"{name} has an array of {array.ndim} dimensions and type {array.dtype}",
            "rows are a matrix of numbers",
        )
    return array
