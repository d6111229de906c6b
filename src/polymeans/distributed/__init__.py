"""Fits of Dask arrays and dataframes, on a cluster or in this process.

Nothing here has to be called: estimators find this package when ``fit``, ``predict``,
``transform`` or ``score`` is given a Dask collection. ``collection.py`` reads what a collection
is, ``cutting.py`` decides which chunks make a block, ``placed_block.py`` is a block on a worker
with what is kept of it, ``placement.py`` brings visitors to the blocks, and ``replay.py`` knows
what has to be repeated where a worker was lost. ``chunk_blocks.py`` lets this process read chunks
one after the other. No other package may import dask.
"""

from polymeans.distributed.by_chunk import by_chunk, score
from polymeans.distributed.chunk_blocks import as_blocks
from polymeans.distributed.fitting import rows_to_fit

__all__ = ["as_blocks", "by_chunk", "rows_to_fit", "score"]
