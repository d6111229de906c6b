"""The same rows in blocks that begin at multiples of a number of rows."""

from itertools import accumulate
from typing import Any

import numpy as np

from polymeans.blocks.checked import Announcement, CheckedBlocks
from polymeans.blocks.protocol import Block
from polymeans.core.rows import stacked


def aligned(source: CheckedBlocks, multiple: int) -> CheckedBlocks:
    """Blocks that all begin at a multiple of so many rows, for products of a fixed height.

    Each block of the source is read once in a pass: rows at its end that belong to the next block
    are kept until that is asked for.

    Parameters
    ----------
    source : CheckedBlocks
    multiple : int
        Rows; a block has at least as many, but for the last one.

    Returns
    -------
    CheckedBlocks
        The source itself if its blocks begin there already.
    """
    starts = list(accumulate(source.sizes, initial=0))
    n_samples = starts[-1]
    if all(start % multiple == 0 for start in starts[:-1]):
        return source
    # A new block begins where a block of the source ends, as near as a multiple comes to it.
    edges = sorted({start // multiple * multiple for start in starts[:-1]}) + [n_samples]
    announced = Announcement(
        sizes=tuple(int(size) for size in np.diff(edges)),
        n_features=source.n_features,
        stored=source.dtype,
        is_sparse=source.is_sparse,
        name=repr(source),
        feature_names=source.feature_names,
    )
    return CheckedBlocks(_Recut(source, starts, edges), announced)


class _Recut:
    """Reads blocks of a source and cuts them elsewhere."""

    def __init__(self, source: CheckedBlocks, starts: list[int], edges: list[int]) -> None:
        self._source, self._starts, self._edges = source, starts, edges
        #: The number of the block read last, and the block.
        self._last: tuple[int, Block] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}

    def __call__(self, i: int) -> Block:
        lo, hi = self._edges[i], self._edges[i + 1]
        first = int(np.searchsorted(self._starts, lo, side="right")) - 1
        # Taken out, not looked at: a second thread that reads at the same time reads for itself.
        last, self._last = self._last, None
        rows, weights = [], []
        number = first
        while number < len(self._source) and self._starts[number] < hi:
            if last is None or last[0] != number:
                last = number, self._source[number]
            start = self._starts[number]
            part = slice(max(lo - start, 0), hi - start)
            block = last[1]
            if isinstance(block, tuple):
                weights.append(block[1][part])
                block = block[0]
            rows.append(block[part])
            number += 1
        if last is not None and self._starts[last[0] + 1] > hi:
            self._last = last  # its end belongs to the next block
        joined = stacked(rows)
        return (joined, np.concatenate(weights)) if weights else joined
