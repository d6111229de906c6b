"""Products with all rows, in chunks of a fixed height counted from the first row.

How a product of matrices is rounded depends on their height, so rows go through it in chunks that
do not depend on how they are cut into blocks. What chunks come to is added up exactly. All results
have the same bits for any blocks (that begin where chunks do) and any number of threads.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core import threads as core_threads
from polymeans.core.exact_sums import Ladder, TermRange
from polymeans.core.rows import Rows, is_csr, stacked
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import Block
from polymeans.engine.feature_totals import FeatureTotals
from polymeans.engine.placement import Held, Kept, Placement, pieces
from polymeans.engine.prepared import RawBlock, range_of_values

#: A function of some rows, of arrays with one entry for each of them, and of other arguments.
ChunkFunction = Callable[..., NDArray[np.float64]]

#: A function that prepares the rows of a block before they are cut into chunks, and its arguments.
Preparation = tuple[Callable[..., Rows], tuple[object, ...]]


@dataclass(frozen=True)
class ChunkedRows:
    """All rows, as something to multiply with. Functions have to be functions of a module.

    Parameters
    ----------
    placement : Placement
        Its blocks begin at multiples of ``PRODUCT_ROWS``.
    preparation : (function, arguments), default=None
        What is done to the rows of each block first.
    width : int, default=None
        Features that blocks show, if these are not all.
    """

    placement: Placement
    preparation: Preparation | None = None
    width: int | None = None

    @classmethod
    def of(cls, X: Rows) -> "ChunkedRows":
        """Rows that are in memory."""
        return cls(Held([(X, np.ones(X.shape[0]))]))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        n, d = self.placement.shape
        return n, d if self.width is None else self.width

    @property
    def is_sparse(self) -> bool:
        """Whether rows are CSR."""
        return self.placement.is_sparse

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        return self.placement.dtype

    def total(
        self, function: ChunkFunction, *args: object, rows: Sequence[NDArray[Any]] = ()
    ) -> NDArray[np.float64]:
        """``Σ function(X, *rows, *args)`` over all chunks, exact before it is rounded."""
        n_chunks = -(-self.shape[0] // core_threads.PRODUCT_ROWS)
        found: _Total = self.placement.reduce(
            add_chunks, self.preparation, function, args, n_chunks, per_block=self._cut(rows)
        )
        totals = found.totals
        whole = Ladder.for_segments([totals.whole], n_chunks)
        return totals.rounded(whole).reshape(found.shape)

    def each(
        self, function: ChunkFunction, *args: object, rows: Sequence[NDArray[Any]] = ()
    ) -> NDArray[Any]:
        """``function(X, *rows, *args)`` of all chunks, on top of each other."""
        parts = self.placement.map(
            map_chunks, self.preparation, function, args, per_block=self._cut(rows)
        )
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def triangle(
        self, function: ChunkFunction, *args: object, rows: Sequence[NDArray[Any]] = ()
    ) -> NDArray[np.float64]:
        """R of the QR decomposition of what :meth:`each` would return, which is not kept."""
        found: NDArray[np.float64] | None = None
        cut = self._cut(rows)
        for number in range(len(self.placement.sizes)):  # one after the other: the order counts
            found = self.placement.map(
                fold_chunks,
                found,
                self.preparation,
                function,
                args,
                per_block=cut[number : number + 1],
                only=[number],
            )[0]
        assert found is not None  # there is one row at least
        return found

    def in_double_precision(self) -> "ChunkedRows":
        """The same rows, converted once if they are in memory: for many products with them."""
        if self.dtype == np.float64 or not self.placement.keeps_blocks:
            return self
        return ChunkedRows.of(self.matrix().astype(np.float64))

    def matrix(self) -> Rows:
        """All rows in memory, for where they are few."""
        return stacked(self.placement.map(all_rows, self.preparation))

    def _cut(self, rows: Sequence[NDArray[Any]]) -> list[tuple[tuple[NDArray[Any], ...]]]:
        return [(own,) for own in pieces(self.placement, *rows)]


@dataclass
class _Total:
    shape: tuple[int, ...]
    totals: FeatureTotals

    def __add__(self, other: "_Total") -> "_Total":
        return _Total(self.shape, self.totals + other.totals)


# --- visitors --------------------------------------------------------------------------------


def add_chunks(
    block: RawBlock | Block,
    kept: Kept,
    own: tuple[NDArray[Any], ...],
    preparation: Preparation | None,
    function: ChunkFunction,
    args: tuple[object, ...],
    n_chunks: int,
) -> _Total:
    """The sum of a function over the chunks of a block."""
    total: _Total | None = None
    for results in _in_batches(block, kept, own, preparation, function, args):
        shape = results[0].shape
        values = np.stack([result.ravel() for result in results])
        part = _Total(shape, _exact_totals(values, n_chunks))
        total = part if total is None else total + part
    assert total is not None
    return total


def map_chunks(
    block: RawBlock | Block,
    kept: Kept,
    own: tuple[NDArray[Any], ...],
    preparation: Preparation | None,
    function: ChunkFunction,
    args: tuple[object, ...],
) -> NDArray[Any]:
    """A function of the chunks of a block, on top of each other."""
    batches = _in_batches(block, kept, own, preparation, function, args)
    parts = [result for results in batches for result in results]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def fold_chunks(
    block: RawBlock | Block,
    kept: Kept,
    own: tuple[NDArray[Any], ...],
    before: NDArray[np.float64] | None,
    preparation: Preparation | None,
    function: ChunkFunction,
    args: tuple[object, ...],
) -> NDArray[np.float64]:
    """R of what came before and of the chunks of a block."""
    triangle = before
    for results in _in_batches(block, kept, own, preparation, function, args):
        for result in results:
            tall = result if triangle is None else np.concatenate([triangle, result])
            # A row of zeros changes nothing, and makes R square however few rows there are.
            missing = max(0, tall.shape[1] - tall.shape[0])
            tall = np.pad(tall, ((0, missing), (0, 0)))
            triangle = scipy.linalg.qr(tall, mode="r", check_finite=False)[0][: tall.shape[1]]
    assert triangle is not None
    return triangle


def all_rows(block: RawBlock | Block, kept: Kept, preparation: Preparation | None) -> Rows:
    """The rows of a block."""
    return _prepared(block, preparation)


def _prepared(block: RawBlock | Block, preparation: Preparation | None) -> Rows:
    rows = block.rows if isinstance(block, RawBlock) else block.matrix()
    if preparation is None:
        return rows
    function, args = preparation
    return function(rows, *args)


def _in_batches(
    block: RawBlock | Block,
    kept: Kept,
    own: tuple[NDArray[Any], ...],
    preparation: Preparation | None,
    function: ChunkFunction,
    args: tuple[object, ...],
) -> Iterator[list[NDArray[Any]]]:
    """What a function makes of chunks, of a few of them at a time."""
    height = core_threads.PRODUCT_ROWS
    if kept.first % height:
        raise ValueError(
            f"A block begins with row {kept.first}, which is no multiple of {height}: products of "
            "its rows would be rounded in another way than those of all rows together."
        )
    X, threads = _prepared(block, preparation), running_threads()
    starts = list(range(0, X.shape[0], height))

    def work(lo: int) -> NDArray[Any]:
        part = slice(lo, lo + height)
        return function(rows_between(X, lo, lo + height), *(a[part] for a in own), *args)

    n_batch = 2 * threads.n_threads
    for at in range(0, len(starts), n_batch):
        yield threads.map(work, starts[at : at + n_batch])


def rows_between(X: Rows, lo: int, hi: int) -> Rows:
    """Neighboring rows, without a copy."""
    if not is_csr(X):
        return X[lo:hi]
    indptr = X.indptr[lo : hi + 1]
    a, b = int(indptr[0]), int(indptr[-1])
    shape = len(indptr) - 1, X.shape[1]
    return sp.csr_array((X.data[a:b], X.indices[a:b], indptr - a), shape=shape)


def _exact_totals(values: NDArray[np.float64], n_terms: int) -> FeatureTotals:
    from polymeans.kernels import prepare

    terms = TermRange(*range_of_values(values.reshape(-1)), narrow=False)
    ladder = Ladder.for_terms(terms, n_terms)
    rungs = np.zeros((ladder.n_rungs, values.shape[1]))
    ones, norms = np.ones(len(values)), np.empty(len(values))
    prepare.sums_and_norms(values, ones, ladder.magics, 0, len(values), rungs, norms)
    return FeatureTotals((terms.bits,), n_terms, rungs)
