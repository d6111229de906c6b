"""Chains of sparse factors laid out for kernels, and the buffers these need.

Rows of a factor are taken in order of their number of entries where that is allowed: loops of
equal length follow each other then, which is what branch prediction needs.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from polymeans.kernels.lanes import LINE_BYTES, lane_array, n_lanes

#: Features transposed at a time: they fill a quarter of a megabyte, half a second-level cache.
TILE = 4096


class Chain(NamedTuple):
    """Factors as lanes take them."""

    tiles: np.ndarray  # (n_tiles + 1,) where the lines of each tile of features begin
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


class ChainBuffers(NamedTuple):
    """Buffers for applying a chain to one block of rows."""

    tile: np.ndarray  # (at most TILE, lanes) features
    front: np.ndarray  # (height, lanes) what one factor leaves
    back: np.ndarray  # (height, lanes) and the next one
    lengths: np.ndarray  # (1, lanes) of the rows; their squares while they are being summed
    norms: np.ndarray  # (lanes,) the same in float64
    best: np.ndarray  # (1, lanes)
    second: np.ndarray  # (1, lanes)
    label: np.ndarray  # (1, lanes) integers
    turned: np.ndarray  # (lanes, n) products, row by row; no lines if none are wanted


class FlatChain(NamedTuple):
    """Factors one behind the other, the last first, for single rows.

    Unsigned, so that numba does not test for negative indices: that would double the time.
    """

    heights: np.ndarray  # (Q,) uint64
    starts: np.ndarray  # (sum of heights + 1,) uint64
    indices: np.ndarray  # (nnz,) uint32
    values: np.ndarray  # (nnz,)


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
        # The scan sums up rows of a first factor: those of the identity cost one entry each.
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


def pack_flat(factors: Sequence[sp.csr_array], dtype: DTypeLike) -> FlatChain:
    """Lay factors (the leftmost first) out for :class:`FlatChain`."""
    ordered = list(reversed(factors))
    lengths = np.concatenate([[0], *(np.diff(factor.indptr) for factor in ordered)])
    return FlatChain(
        np.array([factor.shape[0] for factor in ordered], dtype=np.uint64),
        np.cumsum(lengths).astype(np.uint64),
        np.concatenate([factor.indices for factor in ordered]).astype(np.uint32),
        np.concatenate([factor.data for factor in ordered]).astype(dtype),
    )


def make_buffers(chain: Chain, products: bool = False) -> ChainBuffers:
    """Buffers for one thread; with those for products if they are wanted."""
    dtype = chain.column_values.dtype
    lanes = n_lanes(dtype)
    height = int(chain.heights.max())
    n_features = len(chain.column_starts) - 1
    padded = -(-int(chain.heights[-1]) // lanes) * lanes
    return ChainBuffers(
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
