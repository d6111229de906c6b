"""Blocks that are slices of one array on a disk, whatever library reads it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polymeans.blocks.checked import Announcement, CheckedBlocks
from polymeans.blocks.files import Stamp
from polymeans.blocks.rows import working_dtype
from polymeans.blocks.sizes import Piece, check_block_bytes, cut, place
from polymeans.blocks.weights import RowWeights


@dataclass(frozen=True)
class Slices:
    """Reads blocks that are slices; can be pickled if ``read`` can."""

    read: Callable[[int, int], Any]  #: returns rows ``start:stop``
    pieces: list[Piece]

    def __call__(self, i: int) -> Any:
        return self.read(self.pieces[i].start, self.pieces[i].stop)


def slices_of(
    array: Any,
    read: Callable[[int, int], Any],
    name: str,
    *,
    block_bytes: int,
    weights: RowWeights | None,
    stamp: Stamp | None,
) -> CheckedBlocks:
    """Blocks of an array that has a shape, a dtype and perhaps chunks.

    Parameters
    ----------
    array : object with shape, dtype and chunks
        Looked at now, and not kept.
    read : callable
        Returns rows ``start:stop``.
    name : str
        Of the source, for errors.
    block_bytes : int
    weights : RowWeights or None
    stamp : Stamp or None
        Of a file, which is compared before and after each block; or of a folder, whose files are
        many: it is compared when a pass begins.

    Returns
    -------
    CheckedBlocks
    """
    check_block_bytes(block_bytes)
    shape, stored = tuple(array.shape), np.dtype(array.dtype)
    if len(shape) != 2:
        raise ValueError(f"{name} has an array of shape {shape}. It must be 2-D: rows, features.")
    chunks = getattr(array, "chunks", None)
    pieces = cut(
        0,
        shape[0],
        shape[1] * working_dtype(stored, name).itemsize,
        block_bytes,
        int(chunks[0]) if chunks else 1,
    )
    stamps: tuple[tuple[Stamp, ...], ...] = ()
    if stamp is not None:
        every = not stamp.is_folder
        stamps = tuple((stamp,) if every or i == 0 else () for i in range(len(pieces)))
    announced = Announcement(
        sizes=tuple(piece.n_rows for piece in pieces),
        n_features=shape[1],
        stored=stored,
        is_sparse=False,
        name=name,
        places=tuple(place([piece], [name]) for piece in pieces),
        stamps=stamps,
    )
    return CheckedBlocks(Slices(read, pieces), announced, weights)
