"""Sums of sparse rows that are kept as they are used: rounded, with what rounding took beside them.

A sum S + E with ``S = round(S + E)`` is exact where its bits span no more than two rungs of a
ladder (:mod:`polymeans.core.exact_sums`): |E| is at most half a unit of the upper rung and a
multiple of the lower one's, so no operation below rounds but the one that makes S. The pair is the
only one of its total: it does not depend on which rows came and left in which order.

S are the centroids' numerators themselves, E a float32 for most data and nothing at all where one
rung is enough, which is what makes this cheap: k x d numbers are written once, not three times.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from polymeans.kernels.compile import kernel
from polymeans.kernels.emit import I64, fold, loop, prefetch
from polymeans.kernels.exact import rounded
from polymeans.kernels.stretches import STRETCH, is_occupied


class Numerators(NamedTuple):
    """Sums of all clusters, and their squared norms by blocks of features."""

    sums: np.ndarray  #: (k, d)
    remainders: np.ndarray  #: (k, d), or (0, 0) where sums do not round
    partials: np.ndarray  #: (k, n_feature_blocks) squared norms
    filled: np.ndarray  #: (k, n_feature_blocks) where sums may differ from zero


#: Features whose squared norm is kept as one number. A change in one feature costs a sum over a
#: block of them, so blocks should be short; but there are k d / 16 such numbers to keep and add up.
FEATURE_BLOCK = STRETCH

#: Partial sums kept side by side while a block is summed: two vectors of AVX2, or one of AVX-512.
_LANES = 8


def n_feature_blocks(n_features: int) -> int:
    """Blocks of features, and as many empty ones as make their number a multiple of the lanes."""
    return -(-n_features // (FEATURE_BLOCK * _LANES)) * _LANES


_CACHE_LINE = 64


@kernel(allocates=True)
def replace_sums(
    rows,  # IN  sparse row container
    weights,  # IN  (n,)
    clusters,  # IN  clusters to sum from their rows
    members,  # IN  rows by cluster
    magics,  # IN  ladder of the sums, of one or two rungs
    take,  # IN  whether to replace the earlier sums
    numerators,  # INOUT
    squares,  # OUT (k,) squared norms of the new sums
    cross,  # OUT (k,) their products with the earlier ones
):
    """Sum some clusters from their rows."""
    sums, remainders, partials, filled = numerators
    d = sums.shape[1]
    n_blocks = partials.shape[1]
    # Both rungs of a feature side by side: one line of cache for each entry of a row.
    total = np.zeros((d, 2))
    magic = magics[0] if magics.shape[0] > 0 else 0.0
    present = np.zeros(n_blocks, dtype=np.bool_)
    fresh = np.empty(FEATURE_BLOCK)
    block_squares, block_crosses = np.zeros(n_blocks), np.zeros(n_blocks)
    padded = np.empty(2 * FEATURE_BLOCK)
    for j in clusters:
        before = sums[j]
        for m in range(members.starts[j], members.starts[j + 1]):
            i = members.items[m]
            w = weights[i]
            # Rows of a cluster lie apart: the next one comes from memory while this one is added.
            if m + 1 < members.starts[j + 1]:
                _fetch_row(rows, members.items[m + 1])
            if w != 0.0:
                _add_interleaved(rows, i, w, magic, total, present)
        for b in range(n_blocks):
            block_squares[b] = block_crosses[b] = 0.0
            lo, hi = b * FEATURE_BLOCK, min(d, (b + 1) * FEATURE_BLOCK)
            if not present[b]:
                if not filled[j, b] or lo >= d:
                    continue
                if hi - lo == FEATURE_BLOCK and not is_occupied(before, lo):
                    filled[j, b] = False
                    continue
            for t in range(lo, hi):
                fresh[t - lo] = total[t, 0] + total[t, 1]
            q, c = block_products(fresh, 0, before, lo, hi - lo, padded)
            block_squares[b], block_crosses[b] = q, c
            if take:
                partials[j, b] = q
                filled[j, b] = present[b]
                for t in range(lo, hi):
                    before[t] = fresh[t - lo]
                if remainders.shape[0] > 0:
                    own = remainders[j]
                    for t in range(lo, hi):
                        own[t] = _lost(total[t, 0], total[t, 1])
            for t in range(lo, hi):
                total[t, 0] = 0.0
                total[t, 1] = 0.0
            present[b] = False
        squares[j] = _total(block_squares)
        cross[j] = _total(block_crosses)


@kernel(allocates=True)
def correct_sums(
    rows,  # IN  sparse row container
    weights,  # IN  (n,)
    clusters,  # IN  clusters to correct
    events,  # IN  positions into moved by cluster; those past n_moved are arrivals
    moved,  # IN  (n_moved,) rows that changed cluster
    numerators,  # INOUT
    squares,  # OUT (k,) squared norms of the new sums
    cross,  # OUT (k,) their products with the earlier ones
):
    """The same by subtracting rows that left and adding those that came: no drift."""
    sums, remainders, partials, filled = numerators
    d = sums.shape[1]
    n_moved = moved.shape[0]
    earlier = np.empty(d)
    touched = np.zeros(partials.shape[1], dtype=np.bool_)
    block_crosses = np.empty(partials.shape[1])
    padded = np.empty(2 * FEATURE_BLOCK)
    for j in clusters:
        own = sums[j]
        # First what is about to change, block by block: the processor reads ahead then, and the
        # scattered additions find their numbers in cache.
        for e in range(events.starts[j], events.starts[j + 1]):
            i = moved[events.items[e] % n_moved]
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                touched[rows.indices[p] // FEATURE_BLOCK] = True
        for b in range(touched.shape[0]):
            if touched[b]:
                if remainders.shape[0] > 0:
                    _fetch_block(remainders, j, b * FEATURE_BLOCK)
                for t in range(b * FEATURE_BLOCK, min(d, (b + 1) * FEATURE_BLOCK)):
                    earlier[t] = own[t]
        for e in range(events.starts[j], events.starts[j + 1]):
            i = moved[events.items[e] % n_moved]
            w = weights[i] if events.items[e] >= n_moved else -weights[i]
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                t = rows.indices[p]
                term = w * np.float64(rows.values[p])
                if remainders.shape[0] == 0:
                    own[t] += term
                else:
                    s = own[t] + term
                    rest = np.float64(remainders[j, t]) + _lost(own[t], term)
                    own[t] = s + rest
                    remainders[j, t] = _lost(s, rest)
        for b in range(touched.shape[0]):
            block_crosses[b] = partials[j, b]
        for b in range(touched.shape[0]):
            if touched[b]:
                lo, hi = b * FEATURE_BLOCK, min(d, (b + 1) * FEATURE_BLOCK)
                partials[j, b], block_crosses[b] = block_products(
                    own, lo, earlier, lo, hi - lo, padded
                )
                filled[j, b] = True
                touched[b] = False
        squares[j] = _total(partials[j])
        cross[j] = _total(block_crosses)


@kernel(inner=True)
def _fetch_row(rows, i):
    """Fetch the entries of a sparse row ahead of their use."""
    for p in range(rows.indptr[i], rows.indptr[i + 1], 8):
        _fetch(rows.indices, p)
        _fetch(rows.values, p)


@kernel(inner=True)
def _round_block(total, lo, hi, fresh):
    if total.shape[0] == 1:
        for t in range(lo, hi):
            fresh[t - lo] = total[0, t]
    elif total.shape[0] == 2:
        for t in range(lo, hi):
            fresh[t - lo] = total[0, t] + total[1, t]
    else:
        for t in range(lo, hi):
            fresh[t - lo] = rounded(total, t)


@kernel(inline="always")
def _lost(a, b):
    """What ``a + b`` loses by rounding, exactly (Knuth)."""
    s = a + b
    back = s - a
    return (a - (s - back)) + (b - back)


@kernel(inner=True)
def _add_interleaved(rows, i, weight, magic, total, present):
    """Add a sparse row to sums of one rung (``magic = 0``) or two, kept side by side."""
    if magic == 0.0:
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            t = rows.indices[p]
            total[t, 0] += weight * np.float64(rows.values[p])
            present[t // FEATURE_BLOCK] = True
    else:
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            t = rows.indices[p]
            term = weight * np.float64(rows.values[p])
            part = (term + magic) - magic
            total[t, 0] += part
            total[t, 1] += term - part
            present[t // FEATURE_BLOCK] = True


@kernel(inner=True)
def block_products(
    fresh,  # IN  (a,)
    fresh_first,  # IN  where the block begins in it
    before,  # IN  (b,)
    before_first,  # IN  the same
    width,  # IN  features of the block
    padded,  # BUFFER (2 FEATURE_BLOCK,)
):
    """Squared norm of some sums, and their product with earlier ones, in one fixed order."""
    if width == FEATURE_BLOCK:
        return _whole_block_products(fresh, fresh_first, before, before_first)
    padded[:] = 0.0
    for t in range(width):
        padded[t] = fresh[fresh_first + t]
        padded[FEATURE_BLOCK + t] = before[before_first + t]
    return _whole_block_products(padded, 0, padded, FEATURE_BLOCK)


@intrinsic
def _whole_block_products(typingctx, fresh, fresh_first, before, before_first):
    """The same for a whole block: eight partial sums side by side, then halves of these added.

    Written in LLVM's language because a compiler that may not reorder additions cannot use vectors
    here, and one that may would not give the same bits on every processor.
    """
    pair = types.UniTuple(types.float64, 2)
    vector = ir.VectorType(ir.DoubleType(), _LANES)

    def codegen(context, builder, signature, args):
        def pointer(position):
            array = context.make_array(signature.args[position])(context, builder, args[position])
            given = args[position + 1], signature.args[position + 1]
            first = context.cast(builder, *given, types.intp)
            return builder.gep(array.data, [first])

        def load(base, t):
            address = builder.gep(base, [I64(t)])
            return builder.load(builder.bitcast(address, vector.as_pointer()), align=8)

        new, old = pointer(0), pointer(2)
        square = product = ir.Constant(vector, [0.0] * _LANES)
        for t in range(0, FEATURE_BLOCK, _LANES):
            value = load(new, t)
            square = builder.fadd(square, builder.fmul(value, value))
            product = builder.fadd(product, builder.fmul(value, load(old, t)))

        totals = [fold(builder, lanes, builder.fadd) for lanes in (square, product)]
        return context.make_tuple(builder, pair, totals)

    return pair(fresh, fresh_first, before, before_first), codegen


@intrinsic
def _total(typingctx, values):
    """Sum of numbers whose count is a multiple of the lanes, in one fixed order."""
    vector = ir.VectorType(ir.DoubleType(), _LANES)

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        n_values = cgutils.unpack_tuple(builder, array.shape, 1)[0]

        def body(position, carried):
            address = builder.bitcast(builder.gep(array.data, [position]), vector.as_pointer())
            return [builder.fadd(carried[0], builder.load(address, align=8))]

        zero = ir.Constant(vector, [0.0] * _LANES)
        (lanes,) = loop(builder, I64(0), n_values, _LANES, [zero], body)
        return fold(builder, lanes, builder.fadd)

    return types.float64(values), codegen


@intrinsic
def _fetch(typingctx, array, position):
    """Fetch the cache line of ``array[position]`` ahead of its use."""
    signature = types.void(array, types.int64)

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        prefetch(builder, builder.ptrtoint(builder.gep(data, [args[1]]), I64))
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def _fetch_block(typingctx, matrix, row, first):
    """Fetch ``matrix[row, first : first + FEATURE_BLOCK]`` ahead of its use."""
    signature = types.void(matrix, types.int64, types.int64)

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        address = builder.ptrtoint(array.data, I64)
        for number, stride in zip(args[1:], cgutils.unpack_tuple(builder, array.strides, 2)):
            address = builder.add(address, builder.mul(number, stride))
        for line in range(0, FEATURE_BLOCK * matrix.dtype.bitwidth // 8, _CACHE_LINE):
            prefetch(builder, builder.add(address, I64(line)))
        return context.get_dummy_value()

    return signature, codegen


@kernel(allocates=True)
def compare_sums(
    rungs,  # IN  (k, n_rungs, d) sums on a ladder
    clusters,  # IN  clusters to look at
    take,  # IN  whether to replace the earlier sums
    numerators,  # INOUT
    squares,  # OUT (k,) squared norms of the new sums
    cross,  # OUT (k,) their products with the earlier ones
):
    """The same for sums that are given on a ladder."""
    d = rungs.shape[2]
    fresh = np.empty(FEATURE_BLOCK)
    n_blocks = numerators.partials.shape[1]
    block_squares, block_crosses = np.zeros(n_blocks), np.zeros(n_blocks)
    padded = np.empty(2 * FEATURE_BLOCK)
    for j in clusters:
        before = numerators.sums[j]
        for b in range(-(-d // FEATURE_BLOCK)):
            lo, hi = b * FEATURE_BLOCK, min(d, (b + 1) * FEATURE_BLOCK)
            _round_block(rungs[j], lo, hi, fresh)
            q, c = block_products(fresh, 0, before, lo, hi - lo, padded)
            block_squares[b], block_crosses[b] = q, c
            if take:
                numerators.partials[j, b] = q
                numerators.filled[j, b] = True
                for t in range(lo, hi):
                    numerators.sums[j, t] = fresh[t - lo]
        squares[j] = _total(block_squares)
        cross[j] = _total(block_crosses)
