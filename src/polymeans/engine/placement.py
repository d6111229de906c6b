"""Where the blocks of a fit are, and how work gets to them.

A runner never loops over blocks. It gives a *visitor*, a function of a module, to a placement,
which applies it to every block in order: blocks in memory, blocks that are read from files in each
pass (:mod:`polymeans.engine.streamed`), or blocks on other machines. Visitors, their arguments and
their results can be pickled, so they can travel to where a block is.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeans.core.contracts import Placement, T, Total
from polymeans.core.frame import MeasuredFrame
from polymeans.core.rows import Rows, is_csr
from polymeans.engine.blocks import Block
from polymeans.engine.prepared import RawBlock, Source
from polymeans.engine.prepared_blocks import block_of

if TYPE_CHECKING:
    from polymeans.engine.candidates import CandidateDistances


@lru_cache(maxsize=4)
def _ones(n: int) -> NDArray[np.float64]:
    """Weights of rows that all count alike; to be read only. Most blocks are of one size."""
    return np.ones(n)


@dataclass(frozen=True)
class EarlierLabels:
    """Labels before an assignment, as those rows that it moved: a bit for every row, and labels.

    Most rows keep their labels, and blocks that are read again in each pass may have so many rows
    that their earlier labels would be as large as everything else that is kept.
    """

    moved: NDArray[np.uint8]  #: packed bits
    labels: NDArray[np.int32]  #: of the moved rows

    @classmethod
    def between(cls, before: NDArray[np.int32], now: NDArray[np.int32]) -> "EarlierLabels":
        """What is needed to get from the labels of now back to those before."""
        moved = before != now
        return cls(np.packbits(moved), before[moved])

    def restored(self, now: NDArray[np.int32]) -> NDArray[np.int32]:
        """The labels before, from those of now."""
        before = now.copy()
        before[np.unpackbits(self.moved, count=len(now)).view(bool)] = self.labels
        return before


@dataclass
class Kept:
    """What is kept of a block from one visit to the next: a few numbers for each row.

    Visitors may replace its arrays by others, but never change them in place: a visit that is
    repeated elsewhere, because a machine was lost, has to find what it found the first time.
    """

    first: int  #: number of the first row among the rows of all blocks
    n_samples: int
    weights: NDArray[np.float64] | None = None  #: in the engine's unit; None: all are one
    directionless: NDArray[np.int64] | None = None  #: rows of zeros where only directions count
    labels: NDArray[np.int32] | None = None
    #: Labels before the last assignment; None: there were none.
    previous: NDArray[np.int32] | EarlierLabels | None = None
    #: Dense rows: how much farther the next centroid is than that of the label, at least.
    #: CSR rows (2, n): at most the score of the label, and at least those of all others.
    gaps: NDArray[np.float32] | None = None
    closest: NDArray[np.float64] | None = None  #: squared distance to the nearest candidate
    nearest: NDArray[np.int32] | None = None  #: which candidate that is
    candidates: "CandidateDistances | None" = (
        None  #: buffers for seeding, where the placement ``keeps_blocks``
    )

    def all_weights(self) -> NDArray[np.float64]:
        """One for each row."""
        return _ones(self.n_samples) if self.weights is None else self.weights

    def labels_or_none_yet(self) -> NDArray[np.int32]:
        """Labels; -1 before the first assignment."""
        if self.labels is None:
            return np.full(self.n_samples, -1, dtype=np.int32)
        return self.labels

    def replace_labels(self, labels: NDArray[np.int32]) -> None:
        """Take other labels, and remember those before."""
        before = self.labels
        self.previous = None if before is None else EarlierLabels.between(before, labels)
        self.labels = labels

    def previous_labels(self) -> NDArray[np.int32] | None:
        """Labels before the last assignment."""
        if isinstance(self.previous, EarlierLabels):
            return self.previous.restored(self.labels_or_none_yet())
        return self.previous


def seen_block(raw: RawBlock, kept: Kept, frame: MeasuredFrame) -> Block:
    """A block through a frame, with the weights that are kept of it."""
    return block_of(raw, frame, kept.first, kept.all_weights(), kept.directionless)


def first_rows(sizes: Sequence[int]) -> NDArray[np.int64]:
    """The number of each block's first row, and at the end the number of all rows."""
    return np.array(list(accumulate(sizes, initial=0)), dtype=np.int64)


def pieces(placement: Placement, *arrays: NDArray[Any]) -> list[tuple[NDArray[Any], ...]]:
    """Arrays with one entry for each row of all blocks, cut for ``per_block``."""
    edges = first_rows(placement.sizes).tolist()
    return [tuple(array[lo:hi] for array in arrays) for lo, hi in pairwise(edges)]


def find_rows(
    placement: Placement, rows: NDArray[np.integer]
) -> tuple[list[int], list[NDArray[np.int64]]]:
    """Blocks that some rows are in, and for each of these the positions of its rows in ``rows``."""
    edges = first_rows(placement.sizes)
    owners = np.searchsorted(edges, rows, side="right") - 1
    order = np.argsort(owners, kind="stable")
    blocks, starts = np.unique(owners[order], return_index=True)
    return blocks.tolist(), np.split(order, starts[1:]) if len(blocks) else []


class LocalPlacement(ABC):
    """What placements share whose visitors run in this process.

    Parameters
    ----------
    shape : tuple of int
        Rows of all blocks, features.
    dtype : dtype
    is_sparse : bool
    sizes : sequence of int
        Rows of each block.
    """

    keeps_blocks: bool

    def __init__(
        self, shape: tuple[int, int], dtype: np.dtype[Any], is_sparse: bool, sizes: Sequence[int]
    ) -> None:
        self.shape, self.dtype, self.is_sparse = shape, dtype, is_sparse
        self.sizes = tuple(sizes)
        edges = first_rows(sizes).tolist()
        self.kept = [Kept(first, size) for first, size in zip(edges[:-1], self.sizes, strict=True)]

    @abstractmethod
    def blocks(self, only: Sequence[int] | None) -> Generator[RawBlock | Block, None, None]:
        """Blocks with these numbers, one after the other."""

    @abstractmethod
    def see(self, frame: MeasuredFrame | None) -> None:
        """Show blocks through this frame from now on."""

    def _visit(
        self,
        function: Callable[..., T],
        args: tuple[object, ...],
        per_block: Sequence[tuple[object, ...]] | None,
        only: Sequence[int] | None,
    ) -> Generator[T, None, None]:
        numbers = range(len(self.sizes)) if only is None else only
        # An error or interrupt must not leave a thread that reads ahead.
        with closing(self.blocks(only)) as blocks:
            for position, number in enumerate(numbers):
                own = () if per_block is None else per_block[position]
                # No name for the block: it is freed before the next one is waited for.
                yield function(next(blocks), self.kept[number], *own, *args)
            next(blocks, None)  # the last one is done, too

    def map(
        self,
        function: Callable[..., T],
        *args: object,
        per_block: Sequence[tuple[object, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[T]:
        """``function(block, kept, *own, *args)`` of each block."""
        return list(self._visit(function, args, per_block, only))

    def reduce(
        self,
        function: Callable[..., Total],
        *args: object,
        per_block: Sequence[tuple[object, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> Total:
        """The same, added up with ``+``."""
        total: Total | None = None
        with closing(self._visit(function, args, per_block, only)) as results:
            for result in results:
                total = result if total is None else total + result
        assert total is not None  # there is one block at least
        return total

    def recall(
        self,
        function: Callable[..., T],
        *args: object,
        per_block: Sequence[tuple[object, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[T]:
        """``function(kept, *own, *args)`` of each block."""
        numbers = range(len(self.sizes)) if only is None else only
        owns = [()] * len(numbers) if per_block is None else per_block
        return [
            function(self.kept[number], *own, *args)
            for number, own in zip(numbers, owns, strict=True)
        ]

    def release(self) -> None:
        """Let go of what only seeding needs."""
        for kept in self.kept:
            kept.closest = kept.nearest = kept.candidates = None


class Held(LocalPlacement):
    """Blocks in memory.

    Parameters
    ----------
    sources : sequence of (rows, weights)
        Arrays, or CSR matrices, of the same width and dtype.
    """

    keeps_blocks = True

    def __init__(self, sources: Sequence[Source]) -> None:
        rows: Rows = sources[0][0]
        sizes = [X.shape[0] for X, _ in sources]
        shape = sum(sizes), rows.shape[1]
        super().__init__(shape, rows.dtype, is_csr(rows), sizes)
        self._raw = [RawBlock(X, weights, keeps=True) for X, weights in sources]
        self._seen: list[Block] = []

    @classmethod
    def of_block(cls, block: Block) -> "Held":
        """A single block that was seen through its frame already."""
        held = cls.__new__(cls)
        shape = block.n_samples, block.frame.n_features
        LocalPlacement.__init__(held, shape, block.dtype, block.is_sparse, [block.n_samples])
        held._raw, held._seen = [], [block]
        held.kept[0].weights, held.kept[0].directionless = block.weights, block.directionless
        return held

    def see(self, frame: MeasuredFrame | None) -> None:
        """Make blocks of the rows, or let those there are see another frame of the same origin."""
        assert frame is not None  # rows as they were given are not kept beside those in a frame
        if not self._seen:
            while self._raw:  # one after the other, so that both exist only of one
                self._seen.append(seen_block(self._raw.pop(0), self.kept[len(self._seen)], frame))
        for block in self._seen:
            block.frame = frame

    def blocks(self, only: Sequence[int] | None) -> Generator[RawBlock | Block, None, None]:
        """Blocks with these numbers, one after the other."""
        every: Sequence[RawBlock | Block] = self._seen or self._raw
        yield from every if only is None else (every[number] for number in only)

    def block(self) -> Block:
        """The block, where there is only one."""
        (block,) = self._seen
        return block

    def release(self) -> None:
        """Let go of what only seeding needs."""
        super().release()
        for block in self._seen:
            block.release()
