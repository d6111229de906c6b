"""Reading the next block while the present one is worked on."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from polymeans._validation import check_integer
from polymeans.blocks.checked import refuse_one_shot
from polymeans.blocks.protocol import Block


class Numbered(Protocol):
    """Blocks by number: all that reading them in order takes."""

    def __len__(self) -> int: ...

    def __getitem__(self, i: int, /) -> Block: ...


def read_ahead(blocks: Numbered, start: int = 0) -> Generator[Block, None, None]:
    """Blocks one after the other, each read in a thread while the one before is worked on.

    **Idea.** Reading waits for the disk and computing waits for the processor. A thread that is
    one block ahead lets a pass take as long as the slower of the two, not as long as both.

    **Use when** you go through all blocks in order. **Do not use** for single blocks; ``blocks[i]``
    reads these.

    **Cost.** Memory for two blocks and, at the moment of handing over, for what is read of a third.

    Parameters
    ----------
    blocks : Blocks
        What to read.
    start : int, default=0
        The first block to read.

    Yields
    ------
    block : rows, or (rows, weights)
        ``blocks[start]``, ``blocks[start + 1]`` and so on. An error in reading a block is raised
        when its turn comes. The thread ends with the last block, or when the generator is closed.

    See Also
    --------
    Blocks : What is read.
    label_blocks : Labels of rows in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.blocks import from_sequence, read_ahead
    >>> blocks = from_sequence(np.arange(12.0).reshape(6, 2), block_rows=2)
    >>> [float(rows.sum()) for rows in read_ahead(blocks)]
    [6.0, 22.0, 38.0]
    """
    refuse_one_shot(blocks, "blocks")
    check_integer("start", start, 0, largest=len(blocks))
    return _ahead(blocks, int(start))


def _ahead(blocks: Numbered, start: int) -> Generator[Block, None, None]:
    n_blocks = len(blocks)
    if start == n_blocks:
        return
    pool = ThreadPoolExecutor(1, thread_name_prefix="polymeans-read-ahead")
    try:
        coming = pool.submit(blocks.__getitem__, start)
        for i in range(start + 1, n_blocks):
            block = coming.result()
            coming = pool.submit(blocks.__getitem__, i)
            yield block
            del block  # it may be freed while the next one is still being read
        block = coming.result()
        del coming
        yield block
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
