"""Which rows make a block: parts are cut where they are large, and joined where they are small."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_integer

#: Bytes of a block, about. Opening and handing over a block of one row took 0.13 ms,
#: labeling 32 MiB of 32 features with 256 centroids 130 ms: what a block costs by itself is lost
#: in its work. Passes over Parquet were as fast with 4 MiB as with 128. Smaller blocks would do for
#: reading; these leave room for what a fit has to do for each block. Three of them (the present
#: one, the next one, one that is being converted) are 100 MB.
BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Piece:
    """Rows ``start:stop`` of one part: of a file, a row group, a dataset."""

    part: int
    start: int
    stop: int
    n_bytes: int

    @property
    def n_rows(self) -> int:
        return self.stop - self.start


def check_block_bytes(block_bytes: Any) -> None:
    """Raise unless ``block_bytes`` is a positive integer."""
    check_integer("block_bytes", block_bytes, 1, f"The default is {BLOCK_BYTES} (32 MiB).")


def cut(
    part: int, n_rows: int, row_bytes: int, block_bytes: int, chunk_rows: int = 1
) -> list[Piece]:
    """Rows of equal width in pieces of about equal size, none larger than a block.

    Where a chunk of ``chunk_rows`` rows, the smallest unit a file can read, is not larger than a
    block, pieces begin with chunks, so that no chunk is read twice. A piece has at least one row.
    """
    most = max(1, block_bytes // max(1, row_bytes))
    if chunk_rows > most:
        chunk_rows = 1
    n_chunks = -(-n_rows // chunk_rows)
    n_pieces = -(-n_chunks // (most // chunk_rows))
    if n_pieces == 0:
        return []
    edges = [i * n_chunks // n_pieces * chunk_rows for i in range(n_pieces)] + [n_rows]
    return [Piece(part, a, b, (b - a) * row_bytes) for a, b in pairwise(edges)]


def cut_by_bytes(part: int, ends: NDArray[np.int64], block_bytes: int) -> list[Piece]:
    """Rows of unequal length in pieces none of which is larger than a block, if a row is not.

    Parameters
    ----------
    part : int
    ends : ndarray of shape (n_rows,)
        Bytes up to the end of each row.
    block_bytes : int

    Returns
    -------
    list of Piece
    """
    pieces, start, before = [], 0, 0
    while start < len(ends):
        stop = int(np.searchsorted(ends, before + block_bytes, side="right"))
        stop = max(stop, start + 1)
        pieces.append(Piece(part, start, stop, int(ends[stop - 1]) - before))
        start, before = stop, int(ends[stop - 1])
    return pieces


def join(pieces: Sequence[Piece], block_bytes: int) -> list[tuple[Piece, ...]]:
    """Blocks: neighboring pieces together, as long as they are not larger than a block."""
    blocks: list[list[Piece]] = []
    filled = 0
    for piece in pieces:
        if blocks and filled + piece.n_bytes <= block_bytes:
            blocks[-1].append(piece)
            filled += piece.n_bytes
        else:
            blocks.append([piece])
            filled = piece.n_bytes
    return [tuple(block) for block in blocks]


def place(block: Sequence[Piece], names: Sequence[str]) -> str:
    """Where a block lies, for errors."""
    head, tail = block[0], block[-1]
    if len(block) == 1:
        return f"rows {head.start} to {head.stop - 1} of {names[head.part]}"
    return f"{names[head.part]} to {names[tail.part]}"
