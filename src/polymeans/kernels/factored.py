"""Products of sparse factors applied to rows: labels, products, one row at a time.

A block of rows is laid side by side (:mod:`polymeans.kernels.lanes`), transposed into the
second-level cache. Each factor then sums up its rows from what the one before left there, and the
first one's sums are looked at and forgotten. So the rows are read once and nothing of their size
is written.

Rows of a factor are taken in order of their number of entries where that is allowed: loops of
equal length follow each other then, which is what branch prediction needs.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from polymeans.kernels.compile import kernel
from polymeans.kernels.lanes import (
    LINE_BYTES,
    TURN_BYTES,
    add_squares,
    collect_rows,
    gather_rows,
    lane_array,
    n_lanes,
    scan_rows,
    subtract_from_lines,
    turn_rows,
)
from polymeans.kernels.rows import exact_score

#: Features transposed at a time: they fill a quarter of a megabyte, half a second-level cache.
TILE = 4096


class Chain(NamedTuple):
    """Factors as lanes take them."""

    tiles: np.ndarray  # (n_tiles + 1,) which of the lines below meet each tile of features
    lines: np.ndarray  # (n_lines,) int32 rows of the last factor, as far as they have entries there
    line_starts: np.ndarray  # (n_lines + 1,) entries of the last factor, by line
    line_places: np.ndarray  # (nnz,) int32 features, inside their tile
    line_values: np.ndarray  # (nnz,)
    column_starts: np.ndarray  # (d + 1,) the same entries by feature, for CSR rows
    column_rows: np.ndarray  # (nnz,) uint32
    column_values: np.ndarray  # (nnz,)
    heights: np.ndarray  # (Q,) rows of each factor, the last one's first
    row_starts: np.ndarray  # entries of the other factors, by row; each has one end more than rows
    row_places: np.ndarray  # int32
    row_values: np.ndarray


class Room(NamedTuple):
    """Room for the dealings of one block of rows with a chain."""

    tile: np.ndarray  # (at most TILE, lanes) features
    front: np.ndarray  # (height, lanes) what one factor leaves
    back: np.ndarray  # (height, lanes) and the next one
    lengths: np.ndarray  # (1, lanes) of the rows; their squares while they are being summed
    norms: np.ndarray  # (lanes,) the same in float64
    best: np.ndarray  # (1, lanes)
    second: np.ndarray  # (1, lanes)
    label: np.ndarray  # (1, lanes) integers
    turned: np.ndarray  # (lanes, n) products, row by row; no lines if they are not asked for


class Doubt(NamedTuple):
    """Scores of centroids, and how far off they can be: ``slope * |x| + floor``."""

    offsets: np.ndarray  # (k,) score of the zero row, less the floor
    slopes: np.ndarray  # (k,) in the rows' dtype
    slope: np.ndarray  # (k,) float64
    floor: np.ndarray  # (k,) float64
    own: float  # and by this times |x|², for all centroids alike
    longest: float  # rows longer than this could leave the range of their type


class Flat(NamedTuple):
    """Factors one behind the other, the last first, for single rows.

    Unsigned, so that numba need not look for negative indices: that would double the time.
    """

    heights: np.ndarray  # (Q,) uint64
    starts: np.ndarray  # (sum of heights + 1,) uint64
    indices: np.ndarray  # (nnz,) uint32
    values: np.ndarray  # (nnz,)


# --- packing -----------------------------------------------------------------------------------


def balance(factors: Sequence[sp.csr_array]) -> list[sp.csr_array]:
    """The same product, in float64, with inner rows whose absolute values sum up to about one.

    What lies between two factors can be scaled at will. This way nothing in between is longer than
    the row that came in. Powers of two: nothing is rounded.
    """
    factors = [factor.astype(np.float64) for factor in factors]
    with np.errstate(over="ignore"):
        for right, left in zip(factors[:0:-1], factors[-2::-1]):
            lengths = np.diff(right.indptr)
            sums = np.bincount(
                np.repeat(np.arange(len(lengths)), lengths), np.abs(right.data), len(lengths)
            )
            exponent = np.where((sums > 0) & np.isfinite(sums), np.frexp(sums)[1], 0)
            right.data = np.ldexp(right.data, -np.repeat(exponent, lengths))
            left.data = np.ldexp(left.data, exponent[left.indices])
    return factors


def pack_chain(factors: Sequence[sp.csr_array], dtype: DTypeLike) -> Chain:
    """Lay factors (the leftmost first, in any float dtype) out for :class:`Chain`."""
    dtype = np.dtype(dtype)
    factors = [factor.astype(dtype, copy=False) for factor in factors]
    if len(factors) == 1:
        # The scan wants rows to sum up: those of the identity cost one entry each.
        factors.insert(0, sp.eye_array(factors[0].shape[0], dtype=dtype, format="csr"))
    for q in range(len(factors) - 2, 0, -1):
        order = np.argsort(np.diff(factors[q].indptr), kind="stable")
        factors[q] = factors[q][order]
        factors[q - 1] = sp.csr_array(factors[q - 1][:, order])

    last = factors[-1].tocoo()
    height, n_features = last.shape
    n_tiles = -(-n_features // TILE)
    # One line for each row and tile that have entries in common.
    line, line_of, lengths = np.unique(
        last.col.astype(np.int64) // TILE * height + last.row,
        return_inverse=True,
        return_counts=True,
    )
    order = np.lexsort((lengths, line // height))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    entries = np.argsort(rank[line_of], kind="stable")
    line = line[order]
    by_column = factors[-1].tocsc()

    rest = factors[-2::-1]
    ends = np.cumsum([0] + [factor.nnz for factor in rest])
    return Chain(
        np.searchsorted(line // height, np.arange(n_tiles + 1)),
        _places(line % height),
        np.concatenate([[0], np.cumsum(lengths[order])]),
        _places(last.col[entries] % TILE),
        last.data[entries],
        by_column.indptr.astype(np.int64),
        by_column.indices.astype(np.uint32),
        by_column.data,
        np.array([height, *(factor.shape[0] for factor in rest)]),
        np.concatenate([factor.indptr + end for factor, end in zip(rest, ends)]).astype(np.int64),
        _places(np.concatenate([factor.indices for factor in rest])),
        np.concatenate([factor.data for factor in rest]),
    )


def _places(indices: NDArray[Any]) -> NDArray[np.int32]:
    return (indices.astype(np.int64) * LINE_BYTES).astype(np.int32)


def pack_flat(factors: Sequence[sp.csr_array], dtype: DTypeLike) -> Flat:
    """Lay factors (the leftmost first) out for :class:`Flat`."""
    ordered = list(reversed(factors))
    lengths = np.concatenate([[0], *(np.diff(factor.indptr) for factor in ordered)])
    return Flat(
        np.array([factor.shape[0] for factor in ordered], dtype=np.uint64),
        np.cumsum(lengths).astype(np.uint64),
        np.concatenate([factor.indices for factor in ordered]).astype(np.uint32),
        np.concatenate([factor.data for factor in ordered]).astype(dtype),
    )


def make_room(chain: Chain, products: bool = False) -> Room:
    """Buffers for one thread."""
    dtype = chain.column_values.dtype
    lanes = n_lanes(dtype)
    height = int(chain.heights.max())
    n_features = len(chain.column_starts) - 1
    padded = -(-int(chain.heights[-1]) // lanes) * lanes
    return Room(
        lane_array(min(n_features, TILE), dtype),
        lane_array(height, dtype),
        lane_array(height, dtype),
        lane_array(1, dtype),
        np.zeros(lanes),
        lane_array(1, dtype),
        lane_array(1, dtype),
        lane_array(1, np.int32 if dtype.itemsize == 4 else np.int64),
        lane_array(lanes if products else 0, dtype, padded),
    )


# --- blocks of rows ----------------------------------------------------------------------------


@kernel
def enter_dense(values, first, last, shift, shifted, measured, chain, room):
    """What the last factor makes of the rows first:first + lanes (none beyond ``last``).

    In ``room.front``; if they are to be measured, squared lengths are in ``room.lengths``. Returns
    whether all entries were finite.
    """
    tile, front = room.tile, room.front
    n_features = values.shape[1]
    lanes = tile.shape[1]
    width = TURN_BYTES // values.itemsize
    front[: chain.heights[0]] = 0.0
    room.lengths[:] = 0.0
    finite = True
    for number in range(chain.tiles.shape[0] - 1):
        begin = number * TILE
        end = min(begin + TILE, n_features)
        whole = begin + (end - begin) // width * width
        for lane in range(0, lanes, width):
            finite &= turn_rows(values, first + lane, last, begin, whole, tile, lane)
        for t in range(whole, end):
            for lane in range(lanes):
                value = values[min(first + lane, last), t]
                finite &= np.isfinite(value)
                tile[t - begin, lane] = value
        if shifted:
            subtract_from_lines(tile, end - begin, shift, begin)
        if measured:
            add_squares(tile, end - begin, room.lengths)
        first_line, last_line = chain.tiles[number], chain.tiles[number + 1]
        collect_rows(
            chain.line_starts,
            first_line,
            last_line - first_line,
            chain.line_places,
            chain.line_values,
            tile,
            chain.lines,
            front,
        )
    return finite


@kernel
def enter_sparse(indptr, indices, values, first, last, chain, room):
    """The same for CSR rows: each meets the columns of its own features only."""
    front = room.front
    front[: chain.heights[0]] = 0.0
    starts, members, entries = chain.column_starts, chain.column_rows, chain.column_values
    for i in range(first, min(first + front.shape[1], last + 1)):
        # Unsigned, so that numba need not look for negative indices.
        lane = np.uint64(i - first)
        for p in range(indptr[i], indptr[i + 1]):
            x = values[p]
            feature = indices[p]
            for q in range(np.uint64(starts[feature]), np.uint64(starts[feature + 1])):
                front[members[q], lane] += entries[q] * x


@kernel
def pass_through(chain, room):
    """Apply the inner factors; what comes out, room for more, and where the first factor begins."""
    source, target = room.front, room.back
    first = 0
    for q in range(1, chain.heights.shape[0] - 1):
        height = chain.heights[q]
        gather_rows(
            chain.row_starts, first, height, chain.row_places, chain.row_values, source, target
        )
        first += height + 1
        source, target = target, source
    return source, target, first


@kernel
def scan(chain, source, first, offsets, slopes, room):
    """Apply the first factor: the two best scores in each lane, and whose the best is."""
    scan_rows(
        chain.row_starts,
        first,
        chain.heights[-1],
        chain.row_places,
        chain.row_values,
        source,
        offsets,
        slopes,
        room.lengths,
        room.best,
        room.second,
        room.label,
    )


@kernel
def finish(chain, source, first, target):
    """Apply the first factor and keep what comes out."""
    gather_rows(
        chain.row_starts,
        first,
        chain.heights[-1],
        chain.row_places,
        chain.row_values,
        source,
        target,
    )


@kernel
def write_products(chain, room, b, hi, out):
    """Products of one block, back in rows."""
    source, target, first = pass_through(chain, room)
    finish(chain, source, first, target)
    n_rows = out.shape[1]
    lanes = target.shape[1]
    width = TURN_BYTES // target.itemsize
    for c in range(0, n_rows, width):
        turn_rows(target, c, n_rows - 1, 0, lanes, room.turned, c)
    for i in range(b, min(b + lanes, hi)):
        out[i] = room.turned[i - b, :n_rows]


@kernel
def dense_products(values, chain, lo, hi, out, room):
    """``out[i] = V @ values[i]`` for rows lo:hi."""
    for b in range(lo, hi, room.tile.shape[1]):
        enter_dense(values, b, hi - 1, values[0], False, False, chain, room)
        write_products(chain, room, b, hi, out)


@kernel
def sparse_products(indptr, indices, values, chain, lo, hi, out, room):
    """The same for CSR rows."""
    for b in range(lo, hi, room.tile.shape[1]):
        enter_sparse(indptr, indices, values, b, hi - 1, chain, room)
        write_products(chain, room, b, hi, out)


@kernel
def write_labels(chain, room, offsets, slopes, b, hi, labels):
    """Labels of one block, as far as rounding lets us know."""
    source, _, first = pass_through(chain, room)
    scan(chain, source, first, offsets, slopes, room)
    for i in range(b, min(b + room.tile.shape[1], hi)):
        labels[i] = room.label[0, i - b]


@kernel
def dense_nearest(
    values,
    chain,
    offsets,  # IN  (k,)
    slopes,  # IN  (k,) zeros
    lo,
    hi,
    labels,  # OUT (n,) the c with the smallest offsets[c] - (V x)_c
    room,
):
    """Returns whether all entries were finite."""
    finite = True
    for b in range(lo, hi, room.tile.shape[1]):
        finite &= enter_dense(values, b, hi - 1, values[0], False, False, chain, room)
        write_labels(chain, room, offsets, slopes, b, hi, labels)
    return finite


@kernel
def sparse_nearest(indptr, indices, values, chain, offsets, slopes, lo, hi, labels, room):
    """The same for CSR rows, whose entries are taken to be finite."""
    room.lengths[:] = 0.0
    for b in range(lo, hi, room.tile.shape[1]):
        enter_sparse(indptr, indices, values, b, hi - 1, chain, room)
        write_labels(chain, room, offsets, slopes, b, hi, labels)
    return True


# --- labels that exact scores define -----------------------------------------------------------


@kernel
def decide_block(
    rows,  # IN  row container
    book,  # IN  centroids
    chain,
    doubt,
    b,
    hi,
    labels,  # OUT (n,)
    room,  # IN  front: what the last factor made of the rows; norms: at least their lengths
):
    """Labels of one block; rows that rounding leaves open are settled by exact scores.

    The scan works with scores no exact score is below. The best one's exact score is at most twice
    its doubt above it: who is further away is out. Returns how many rows were settled.
    """
    lanes = room.tile.shape[1]
    m = min(lanes, hi - b)
    for r in range(lanes):
        room.lengths[0, r] = room.norms[r]
    source, target, first = pass_through(chain, room)
    scan(chain, source, first, doubt.offsets, doubt.slopes, room)
    n_settled = 0
    for r in range(m):
        i = b + r
        c = room.label[0, r]
        labels[i] = c
        norm = room.norms[r]
        reach = doubt.slope[c] * norm + doubt.floor[c] + doubt.own * norm * norm
        limit = np.float64(room.best[0, r]) + 2 * reach
        if not norm <= doubt.longest:
            limit = np.inf
        if np.float64(room.second[0, r]) > limit:
            continue
        if n_settled == 0:
            finish(chain, source, first, target)
        n_settled += 1
        label = -1
        least = np.inf
        for j in range(chain.heights[-1]):
            low = np.float64(doubt.offsets[j]) - np.float64(target[j, r])
            # Written so that what is not a number remains a candidate.
            if not low - doubt.slopes[j] * norm > limit:
                score = exact_score(rows, i, book, j)
                if label < 0 or score < least:
                    least = score
                    label = j
        labels[i] = label
    return n_settled


@kernel
def assign_dense(
    rows,  # IN  row container
    norms,  # IN  (n,) of the shifted rows; nothing if they are to be measured on the way
    shift,  # IN  (d,)
    shifted,  # IN  whether it is not zero
    book,  # IN  centroids
    chain,
    doubt,
    lo,
    hi,
    labels,  # OUT (n,)
    room,
):
    """Exact labels of dense rows lo:hi.

    Returns how many needed exact scores, and whether all entries were finite.
    """
    values = rows.values
    n_features = values.shape[1]
    lanes = room.tile.shape[1]
    measured = norms.shape[0] == 0
    # Sums of squares are rounded, and squares may vanish where the numbers do not.
    unit = 2.0**-24 if values.itemsize == 4 else 2.0**-53
    tiny = 2.0**-126 if values.itemsize == 4 else 2.0**-1022
    more, least = 1.0 + 2 * (n_features + 8) * unit, 4 * (n_features + 8) * tiny
    n_settled = 0
    finite = True
    for b in range(lo, hi, lanes):
        finite &= enter_dense(values, b, hi - 1, shift, shifted, measured, chain, room)
        for r in range(lanes):
            if measured:
                room.norms[r] = np.sqrt(np.float64(room.lengths[0, r]) * more + least)
            else:
                room.norms[r] = norms[min(b + r, hi - 1)]
        n_settled += decide_block(rows, book, chain, doubt, b, hi, labels, room)
    return n_settled, finite


@kernel
def assign_sparse(rows, norms, book, chain, doubt, lo, hi, labels, room):
    """The same for CSR rows, whose entries are taken to be finite."""
    lanes = room.tile.shape[1]
    n_settled = 0
    for b in range(lo, hi, lanes):
        enter_sparse(rows.indptr, rows.indices, rows.values, b, hi - 1, chain, room)
        for r in range(lanes):
            room.norms[r] = norms[min(b + r, hi - 1)]
        n_settled += decide_block(rows, book, chain, doubt, b, hi, labels, room)
    return n_settled, True


# --- single rows -------------------------------------------------------------------------------


@kernel(fastmath={"contract"})
def row_product(
    heights,  # IN  what follows is a Flat; single arrays are handed over faster
    starts,
    indices,
    values,
    x,  # IN  (d,)
):
    """``V @ x`` for one dense row."""
    one, two = np.uint64(1), np.uint64(2)
    source = x
    begin = np.uint64(0)
    for q in range(heights.shape[0]):
        height = heights[q]
        target = np.empty(height, dtype=values.dtype)
        p = starts[begin]
        for i in range(height):
            begin += one
            end = starts[begin]
            # Two sums, so that neither has to wait for its last addition.
            even = odd = values.dtype.type(0)
            while p + two <= end:
                even += values[p] * source[indices[p]]
                odd += values[p + one] * source[indices[p + one]]
                p += two
            if p < end:
                even += values[p] * source[indices[p]]
                p += one
            target[i] = even + odd
        source = target
    return source


@kernel(fastmath={"contract"})
def row_nearest(heights, starts, indices, values, x, offsets):
    """The c with the smallest ``offsets[c] - 2 (V x)_c``, the lowest among equals."""
    products = row_product(heights, starts, indices, values, x)
    label = 0
    best = offsets[0] - 2 * products[0]
    for c in range(1, products.shape[0]):
        score = offsets[c] - 2 * products[c]
        if score < best:
            best = score
            label = c
    return label
