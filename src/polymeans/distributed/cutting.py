"""Which chunks make a block."""

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

#: Bytes below which neighboring chunks are put together: a visit of so many takes milliseconds,
#: several times what a task costs the scheduler.
SMALL_BYTES = 4 * 2**20

#: Blocks for each thread of the cluster that are left when small chunks are put together.
_BLOCKS_PER_THREAD = 4

#: Entries assumed in a row of CSR chunks: their number is not known before they are computed.
_SPARSE_ENTRIES = 64


@dataclass(frozen=True)
class Cut:
    """Blocks of a Dask array, as rows of its chunks."""

    first: int  #: number of the first row of the block
    n_rows: int
    pieces: tuple[tuple[int, int, int], ...]  #: chunk, and rows from and to, inside of it


def cut_into_blocks(lengths: tuple[int, ...], multiple: int, smallest: int = 1) -> list[Cut]:
    """Blocks of chunks of these lengths.

    Parameters
    ----------
    lengths : tuple of int
        Rows of each chunk. Chunks without rows belong to no block.
    multiple : int
        Blocks begin at multiples of so many rows, as near to the beginning of a chunk as one is.
    smallest : int, default=1
        Rows: neighboring chunks are put together as long as a block has no more.

    Returns
    -------
    list of Cut
    """
    starts = [0, *accumulate(lengths)]
    n_rows = starts[-1]
    edges = [0]
    for lo, hi in pairwise(starts):
        if hi - edges[-1] > smallest and lo > edges[-1]:
            edges.append(lo)
    edges = sorted({edge // multiple * multiple for edge in edges if edge < n_rows})
    return [_cut(lo, hi, starts) for lo, hi in zip(edges, [*edges[1:], n_rows])]


def smallest_block(
    n_rows: int, n_features: int, itemsize: int, is_sparse: bool, n_threads: int
) -> int:
    """Rows up to which neighboring chunks are put together.

    Parameters
    ----------
    n_rows, n_features : int
        Of all chunks.
    itemsize : int
        Bytes of a value.
    is_sparse : bool
    n_threads : int
        Of all workers together.

    Returns
    -------
    int
    """
    width = (
        min(n_features, _SPARSE_ENTRIES) * (itemsize + 4) if is_sparse else n_features * itemsize
    )
    return max(1, min(SMALL_BYTES // width, n_rows // (_BLOCKS_PER_THREAD * n_threads)))


def _cut(lo: int, hi: int, starts: list[int]) -> Cut:
    number = int(np.searchsorted(starts, lo, side="right")) - 1
    pieces = []
    while number < len(starts) - 1 and starts[number] < hi:
        start, end = starts[number], starts[number + 1]
        if end > start:
            pieces.append((number, max(lo, start) - start, min(hi, end) - start))
        number += 1
    return Cut(lo, hi - lo, tuple(pieces))
