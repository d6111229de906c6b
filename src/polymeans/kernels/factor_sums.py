"""Sums over the stored entries of a sparse factor's rows, for a cache line of rows at a time.

Rows are laid side by side (:mod:`polymeans.kernels.lanes`), so every stored entry of a factor
serves all of them with one multiplication of vectors. No structure is required of the factors and
nothing is gathered. Where a line of a lane array lies is given in bytes, an int32 (``places``
below). No bounds are checked.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from polymeans.kernels.emit import I64, loop, multiply_add, smaller, splat
from polymeans.kernels.lanes import LaneCode


class _Rows:
    """Emits sums over the stored entries of a factor's rows."""

    def __init__(self, lanes, signature, args):
        # Arguments begin: starts, first, n_rows, places, values, source.
        self.lanes = lanes
        builder = lanes.builder
        starts = lanes.data(signature.args[0], args[0])
        self.starts = builder.gep(starts, [args[1]])
        self.begin = lanes.get_index(self.starts, I64(0))
        self.n_rows = args[2]
        self.places, self.values = (lanes.data(signature.args[q], args[q]) for q in (3, 4))
        self.source = lanes.address(signature.args[5], args[5])

    def end(self, i):
        return self.lanes.get_index(self.starts, self.lanes.builder.add(i, I64(1)))

    def total(self, begin, end, initial):
        """initial + Σ values[p] * source[places[p]], in two independent sums."""
        lanes, builder = self.lanes, self.lanes.builder

        def add(p, total):
            value = lanes.everywhere(lanes.get(self.values, p))
            line = lanes.line(self.source, lanes.get_index(self.places, p))
            return multiply_add(builder, value, lanes.load(line), total)

        def pair(p, totals):
            return [add(builder.add(p, I64(q)), total) for q, total in enumerate(totals)]

        even = builder.add(begin, builder.and_(builder.sub(end, begin), I64(-2)))
        one, two = loop(builder, begin, even, 2, [initial, lanes.zero], pair)
        (one,) = loop(builder, even, end, 1, [one], lambda p, totals: [add(p, totals[0])])
        return builder.fadd(one, two)


@intrinsic
def gather_rows(typingctx, starts, first, n_rows, places, values, source, target):
    """``target[i] = Σ values[p] * source[places[p]]`` for n_rows rows of a factor.

    The entries p of row i are ``starts[first + i]:starts[first + i + 1]``.
    """
    index = types.int64
    signature = types.void(starts, index, index, places, values, source, target)

    def codegen(context, builder, signature, args):
        lanes = LaneCode(context, builder, signature.args[5])
        rows = _Rows(lanes, signature, args)
        target = lanes.data(signature.args[6], args[6], lanes.vector)

        def row(i, carried):
            end = rows.end(i)
            total = rows.total(carried[0], end, lanes.zero)
            lanes.store(total, builder.gep(target, [i]))
            return [end]

        loop(builder, I64(0), rows.n_rows, 1, [rows.begin], row)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def collect_rows(typingctx, starts, first, n_rows, places, values, source, lines, target):
    """The same for rows in any order: ``target[lines[first + i]] +=`` what row i sums up to.

    ``lines`` are places in the target. Rows without entries may be left out.
    """
    index = types.int64
    signature = types.void(starts, index, index, places, values, source, lines, target)

    def codegen(context, builder, signature, args):
        lanes = LaneCode(context, builder, signature.args[5])
        rows = _Rows(lanes, signature, args)
        lines = builder.gep(lanes.data(signature.args[6], args[6]), [args[1]])
        target = lanes.address(signature.args[7], args[7])

        def row(i, carried):
            end = rows.end(i)
            line = lanes.line(target, lanes.get_index(lines, i))
            lanes.store(rows.total(carried[0], end, lanes.load(line)), line)
            return [end]

        loop(builder, I64(0), rows.n_rows, 1, [rows.begin], row)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def scan_rows(
    typingctx,
    starts,
    first,
    n_rows,
    places,
    values,
    source,
    offsets,
    slopes,
    lengths,
    best,
    second,
    label,
):
    """The two smallest of ``offsets[i] - total_i - slopes[i] * lengths`` in each lane.

    ``total_i`` is what :func:`gather_rows` would store; it never leaves the registers. ``label``
    says which i is the smallest, the lowest among equals, 0 if none is below infinity; its integers
    are as wide as the values.
    """
    index = types.int64
    arrays = (offsets, slopes, lengths, best, second, label)
    signature = types.void(starts, index, index, places, values, source, *arrays)

    def codegen(context, builder, signature, args):
        lanes = LaneCode(context, builder, signature.args[5])
        rows = _Rows(lanes, signature, args)
        offsets, slopes = (lanes.data(signature.args[q], args[q]) for q in (6, 7))
        lengths, best_at, second_at = (
            lanes.data(signature.args[q], args[q], lanes.vector) for q in (8, 9, 10)
        )
        label_at = lanes.data(signature.args[11], args[11], lanes.integers)
        lengths = lanes.load(lengths)

        def row(i, carried):
            begin, best, second, label = carried
            end = rows.end(i)
            total = rows.total(begin, end, lanes.zero)
            score = builder.fsub(lanes.everywhere(lanes.get(offsets, i)), total)
            slope = builder.fneg(lanes.everywhere(lanes.get(slopes, i)))
            score = multiply_add(builder, slope, lengths, score)
            less = builder.fcmp_ordered("<", score, best)
            second = smaller(builder, builder.select(less, best, score), second)
            number = i if lanes.integer == I64 else builder.trunc(i, lanes.integer)
            label = builder.select(less, splat(builder, number, lanes.integers), label)
            return [end, builder.select(less, score, best), second, label]

        infinite = ir.Constant(lanes.vector, [np.inf] * lanes.count)
        none = ir.Constant(lanes.integers, [0] * lanes.count)
        initial = [rows.begin, infinite, infinite, none]
        _, best, second, label = loop(builder, I64(0), rows.n_rows, 1, initial, row)
        lanes.store(best, best_at)
        lanes.store(second, second_at)
        lanes.store(label, label_at)
        return context.get_dummy_value()

    return signature, codegen
