"""Blocks that are read from where they are in each pass, one ahead of the one worked on."""

import logging
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from polymeans.blocks.checked import CheckedBlocks
from polymeans.blocks.protocol import Block as StoredBlock
from polymeans.blocks.read_ahead import read_ahead
from polymeans.core.frame import MeasuredFrame
from polymeans.engine.blocks import Block
from polymeans.engine.placement import LocalPlacement, seen_block
from polymeans.engine.prepared import RawBlock

logger = logging.getLogger("polymeans")

#: Seconds between two reports of a pass that is not over yet.
_REPORT_SECONDS = 10.0


class Streamed(LocalPlacement):
    """Blocks of files: each visit reads them in order, each once.

    The next block is read while the present one is worked on. Of a block that was visited nothing
    stays but a few numbers for each row (:class:`~polymeans.engine.placement.Kept`), and what tells
    of values that are not those of the pass before.

    Parameters
    ----------
    source : CheckedBlocks
        Where blocks are read from.
    weights : ndarray of shape (n_samples,), default=None
        Of all rows, if they do not come with the blocks.
    log_level : int, default=logging.DEBUG
        Of messages about passes: rows a second, and time left in the pass.
    """

    keeps_blocks = False

    def __init__(
        self,
        source: CheckedBlocks,
        weights: NDArray[np.float64] | None = None,
        log_level: int = logging.DEBUG,
    ) -> None:
        shape = source.n_samples, source.n_features
        super().__init__(shape, source.dtype, source.is_sparse, source.sizes)
        self._source, self._weights = source.watched(), weights
        self._log_level = log_level
        self._frame: MeasuredFrame | None = None
        self.n_passes = 0

    def see(self, frame: MeasuredFrame | None) -> None:
        """Show blocks through this frame from now on."""
        self._frame = frame

    def blocks(self, only: Sequence[int] | None) -> Generator[RawBlock | Block, None, None]:
        """Blocks with these numbers, one after the other."""
        numbers = range(len(self.sizes)) if only is None else only
        chosen: CheckedBlocks | _Some = self._source if only is None else _Some(self._source, only)
        self.n_passes += only is None
        pace = _Pace(self.n_passes, sum(self.sizes[number] for number in numbers), self._log_level)
        with closing(read_ahead(chosen)) as blocks:
            for number in numbers:
                yield self._shown(number, next(blocks))
                pace.add(self.sizes[number], only is None)

    def _shown(self, number: int, block: StoredBlock) -> RawBlock | Block:
        rows, weights = block if isinstance(block, tuple) else (block, None)
        kept = self.kept[number]
        if self._frame is not None:
            # Which rows have weight only matters where others are hidden.
            counted = (kept.all_weights() > 0).astype(np.float64) if self._frame.hides else None
            return seen_block(RawBlock(rows, counted), kept, self._frame)
        if self._weights is not None:
            if weights is not None:
                refuse_two_weights()
            weights = self._weights[kept.first : kept.first + kept.n_samples]
        return RawBlock(rows, weights)


def refuse_two_weights() -> NoReturn:
    """Raise because weights come with the blocks and beside them."""
    raise ValueError(
        "sample_weight was given, but the blocks of X bring weights of their own. Leave one of "
        "the two out."
    )


class _Some:
    """Some of the blocks of a source, for reading ahead."""

    def __init__(self, source: CheckedBlocks, numbers: Sequence[int]) -> None:
        self._source, self._numbers = source, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, i: int) -> StoredBlock:
        return self._source[self._numbers[i]]


class _Pace:
    """Reports how fast a pass goes, and how long it will take."""

    def __init__(self, number: int, n_rows: int, level: int) -> None:
        self.number, self.n_rows, self.level = number, n_rows, level
        self.began = self.reported = time.perf_counter()
        self.n_done = 0

    def add(self, n_rows: int, whole: bool) -> None:
        """So many more rows are done; ``whole``: it is a pass over all rows."""
        self.n_done += n_rows
        now = time.perf_counter()
        speed = self.n_done / max(now - self.began, 1e-9)
        if self.n_done == self.n_rows:
            if whole:
                logger.log(
                    self.level,
                    "pass %d: %d rows in %.1f s, %.3g rows a second",
                    self.number,
                    self.n_rows,
                    now - self.began,
                    speed,
                )
        elif now - self.reported >= _REPORT_SECONDS:
            self.reported = now
            logger.log(
                self.level,
                "pass %d: %d of %d rows, %.3g rows a second, %.0f s left",
                self.number,
                self.n_done,
                self.n_rows,
                speed,
                (self.n_rows - self.n_done) / speed,
            )
