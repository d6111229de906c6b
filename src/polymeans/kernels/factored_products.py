"""Chains of sparse factors applied to blocks of rows: products, and labels as rounding leaves them.

A block of rows is laid side by side (:mod:`polymeans.kernels.lanes`), transposed into the
second-level cache. Each factor then sums up its rows from what the one before left there, and the
first one's sums are compared at once and not kept. So the rows are read once and nothing of their
size is written.
"""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.factor_sums import collect_rows, gather_rows, scan_rows
from polymeans.kernels.factored_layout import TILE
from polymeans.kernels.lanes import TURN_BYTES, add_squares, subtract_from_lines, turn_rows


@kernel(inner=True)
def apply_last_to_dense(values, first, last, shift, shifted, measured, chain, buffers):
    """Apply the last factor to rows first:first + lanes (none beyond ``last``).

    The result is in ``buffers.front``; if the rows are to be measured, their squared lengths are in
    ``buffers.lengths``. Returns whether all entries were finite.
    """
    tile, front = buffers.tile, buffers.front
    n_features = values.shape[1]
    lanes = tile.shape[1]
    width = TURN_BYTES // values.itemsize
    front[: chain.heights[0]] = 0.0
    buffers.lengths[:] = 0.0
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
            add_squares(tile, end - begin, buffers.lengths)
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


@kernel(inner=True)
def apply_last_to_sparse(indptr, indices, values, first, last, chain, buffers):
    """The same for CSR rows: only the columns of a row's own features take part."""
    front = buffers.front
    front[: chain.heights[0]] = 0.0
    starts, members, entries = chain.column_starts, chain.column_rows, chain.column_values
    for i in range(first, min(first + front.shape[1], last + 1)):
        # Unsigned, so that numba does not test for negative indices.
        lane = np.uint64(i - first)
        for p in range(indptr[i], indptr[i + 1]):
            x = values[p]
            feature = indices[p]
            for q in range(np.uint64(starts[feature]), np.uint64(starts[feature + 1])):
                front[members[q], lane] += entries[q] * x


@kernel(inner=True)
def apply_inner(chain, buffers):
    """Apply the inner factors; the result, a free buffer, and where the first factor begins."""
    source, target = buffers.front, buffers.back
    first = 0
    for q in range(1, chain.heights.shape[0] - 1):
        height = chain.heights[q]
        gather_rows(
            chain.row_starts, first, height, chain.row_places, chain.row_values, source, target
        )
        first += height + 1
        source, target = target, source
    return source, target, first


@kernel(inner=True)
def compare_first(chain, source, first, offsets, slopes, buffers):
    """Apply the first factor: the two best scores in each lane, and the label of the best."""
    scan_rows(
        chain.row_starts,
        first,
        chain.heights[-1],
        chain.row_places,
        chain.row_values,
        source,
        offsets,
        slopes,
        buffers.lengths,
        buffers.best,
        buffers.second,
        buffers.label,
    )


@kernel(inner=True)
def apply_first(chain, source, first, target):
    """Apply the first factor and keep the result."""
    gather_rows(
        chain.row_starts,
        first,
        chain.heights[-1],
        chain.row_places,
        chain.row_values,
        source,
        target,
    )


@kernel(inner=True)
def write_products(chain, buffers, b, hi, out):
    """Products of one block, back in rows."""
    source, target, first = apply_inner(chain, buffers)
    apply_first(chain, source, first, target)
    n_rows = out.shape[1]
    lanes = target.shape[1]
    width = TURN_BYTES // target.itemsize
    for c in range(0, n_rows, width):
        turn_rows(target, c, n_rows - 1, 0, lanes, buffers.turned, c)
    for i in range(b, min(b + lanes, hi)):
        for c in range(n_rows):
            out[i, c] = buffers.turned[i - b, c]


@kernel
def dense_products(values, chain, lo, hi, out, buffers):
    """``out[i] = V @ values[i]`` for rows lo:hi."""
    for b in range(lo, hi, buffers.tile.shape[1]):
        apply_last_to_dense(values, b, hi - 1, values[0], False, False, chain, buffers)
        write_products(chain, buffers, b, hi, out)


@kernel
def sparse_products(indptr, indices, values, chain, lo, hi, out, buffers):
    """The same for CSR rows."""
    for b in range(lo, hi, buffers.tile.shape[1]):
        apply_last_to_sparse(indptr, indices, values, b, hi - 1, chain, buffers)
        write_products(chain, buffers, b, hi, out)


@kernel(inner=True)
def write_labels(chain, buffers, offsets, slopes, b, hi, labels):
    """Labels of one block; where scores are equal up to rounding, any of the best."""
    source, _, first = apply_inner(chain, buffers)
    compare_first(chain, source, first, offsets, slopes, buffers)
    for i in range(b, min(b + buffers.tile.shape[1], hi)):
        labels[i] = buffers.label[0, i - b]


@kernel
def dense_nearest(
    values,
    chain,
    offsets,  # IN  (k,)
    slopes,  # IN  (k,) zeros
    lo,
    hi,
    labels,  # OUT (n,) the c with the smallest offsets[c] - (V x)_c
    buffers,
):
    """Returns whether all entries were finite."""
    finite = True
    for b in range(lo, hi, buffers.tile.shape[1]):
        finite &= apply_last_to_dense(values, b, hi - 1, values[0], False, False, chain, buffers)
        write_labels(chain, buffers, offsets, slopes, b, hi, labels)
    return finite


@kernel
def sparse_nearest(indptr, indices, values, chain, offsets, slopes, lo, hi, labels, buffers):
    """The same for CSR rows, whose entries are taken to be finite."""
    buffers.lengths[:] = 0.0
    for b in range(lo, hi, buffers.tile.shape[1]):
        apply_last_to_sparse(indptr, indices, values, b, hi - 1, chain, buffers)
        write_labels(chain, buffers, offsets, slopes, b, hi, labels)
    return True
