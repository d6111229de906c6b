"""Rows side by side: arrays of lanes, and rows transposed into them.

A row of a dense array becomes one *lane*; sixteen float32 (eight float64) rows fill a cache line.
Lane arrays are C-ordered, (height, n_lanes), and begin at a multiple of 64 bytes:
:func:`lane_array` makes them. No bounds are checked.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import DTypeLike, NDArray

from polymeans.kernels.emit import I32, I64, loop, multiply_add, splat

#: Bytes in one line of lanes: a cache line.
LINE_BYTES = 64

#: Bytes of one row that are transposed at once, together with as many rows: a register of AVX2,
#: which interleaves inside halves of 16 bytes in one instruction.
TURN_BYTES = 32


def n_lanes(dtype: DTypeLike) -> int:
    """Number of rows that lie side by side."""
    return LINE_BYTES // np.dtype(dtype).itemsize


def lane_array(height: int, dtype: DTypeLike, lanes: int | None = None) -> NDArray[Any]:
    """Uninitialised lines of lanes (or of several cache lines each), aligned to cache lines."""
    dtype = np.dtype(dtype)
    lanes = n_lanes(dtype) if lanes is None else lanes
    n_bytes = height * lanes * dtype.itemsize
    raw = np.empty(n_bytes + LINE_BYTES, dtype=np.uint8)
    first = -raw.ctypes.data % LINE_BYTES
    return raw[first : first + n_bytes].view(dtype).reshape(height, lanes)


class LaneCode:
    """Emits loads, stores and addresses for lanes of one dtype."""

    def __init__(self, context, builder, kind):
        self.context, self.builder = context, builder
        self.scalar = context.get_value_type(kind.dtype)
        self.itemsize = kind.dtype.bitwidth // 8
        self.count = LINE_BYTES // self.itemsize
        self.vector = ir.VectorType(self.scalar, self.count)
        self.zero = ir.Constant(self.vector, [0.0] * self.count)
        # Labels are as wide as values, so that one comparison selects both.
        self.integer = ir.IntType(8 * self.itemsize)
        self.integers = ir.VectorType(self.integer, self.count)

    def data(self, kind, array, pointee=None):
        pointer = self.context.make_array(kind)(self.context, self.builder, array).data
        return pointer if pointee is None else self.builder.bitcast(pointer, pointee.as_pointer())

    def address(self, kind, array):
        return self.builder.ptrtoint(self.data(kind, array), I64)

    def get(self, pointer, position):
        return self.builder.load(self.builder.gep(pointer, [position]))

    def get_index(self, pointer, position):
        value = self.get(pointer, position)
        return value if value.type == I64 else self.builder.sext(value, I64)

    def line(self, base, place):
        """Pointer to the line that begins ``place`` bytes behind an address."""
        return self.builder.inttoptr(self.builder.add(base, place), self.vector.as_pointer())

    def load(self, pointer):
        return self.builder.load(pointer, align=LINE_BYTES)

    def store(self, value, pointer):
        self.builder.store(value, pointer, align=LINE_BYTES)

    def everywhere(self, value):
        return splat(self.builder, value, self.vector)


def _shuffle(builder, a, b, positions):
    mask = ir.Constant(ir.VectorType(I32, len(positions)), positions)
    return builder.shuffle_vector(a, b, mask)


def _interleave(builder, a, b, size):
    """Groups of ``size`` elements of a and b in turn, inside halves: the lower ones, the upper."""
    width = a.type.count
    half = width // 2
    return [
        _shuffle(
            builder,
            a,
            b,
            [
                begin + first + which * width + element
                for begin in (0, half)
                for first in range(upper, upper + half // 2, size)
                for which in (0, 1)
                for element in range(size)
            ],
        )
        for upper in (0, half // 2)
    ]


def transpose_pieces(builder, rows):
    """Transpose as many vectors as each has elements, 32 bytes.

    First inside halves of 16 bytes, where processors interleave in one instruction, then the
    halves.
    """
    width = len(rows)
    half = width // 2
    blocks = []
    for begin in (0, half):
        if half == 2:
            blocks += _interleave(builder, rows[begin], rows[begin + 1], 1)
        else:
            a, b, c, d = rows[begin : begin + 4]
            low_ab, high_ab = _interleave(builder, a, b, 1)
            low_cd, high_cd = _interleave(builder, c, d, 1)
            blocks += _interleave(builder, low_ab, low_cd, 2)
            blocks += _interleave(builder, high_ab, high_cd, 2)
    lower = [*range(half), *range(width, width + half)]
    upper = [*range(half, width), *range(width + half, 2 * width)]
    return [
        _shuffle(builder, blocks[i], blocks[i + half], positions)
        for positions in (lower, upper)
        for i in range(half)
    ]


@intrinsic
def turn_rows(typingctx, X, first, last, begin, end, target, lane):
    """``target[t - begin, lane + r] = X[min(first + r, last), t]``; whether all were finite.

    As many rows as fill 32 bytes, and columns begin:end, a multiple of that number. ``lane`` is a
    multiple of it too, and ``target`` C-ordered with rows that begin at multiples of 32 bytes.
    """
    index = types.int64
    signature = types.boolean(X, index, index, index, index, target, index)

    def codegen(context, builder, signature, args):
        lanes = LaneCode(context, builder, signature.args[0])
        first, last, begin, end = args[1:5]
        width = TURN_BYTES // lanes.itemsize
        piece = ir.VectorType(lanes.scalar, width)

        def lines(kind, array):
            struct = context.make_array(kind)(context, builder, array)
            stride = cgutils.unpack_tuple(builder, struct.strides, 2)[0]
            return builder.ptrtoint(struct.data, I64), stride

        base, stride = lines(signature.args[0], args[0])
        rows = []
        for r in range(width):
            i = builder.add(first, I64(r))
            i = builder.select(builder.icmp_signed("<", i, last), i, last)
            address = builder.add(base, builder.mul(i, stride))
            rows.append(builder.inttoptr(address, lanes.scalar.as_pointer()))
        target, pitch = lines(signature.args[5], args[5])
        target = builder.add(target, builder.mul(args[6], I64(lanes.itemsize)))
        zero = ir.Constant(piece, [0.0] * width)

        def body(t, carried):
            (checked,) = carried
            values = []
            for row in rows:
                where = builder.bitcast(builder.gep(row, [t]), piece.as_pointer())
                values.append(builder.load(where, align=lanes.itemsize))
                # Zero times infinity is NaN, and NaN it remains.
                checked = multiply_add(builder, values[-1], zero, checked)
            address = builder.add(target, builder.mul(builder.sub(t, begin), pitch))
            for column in transpose_pieces(builder, values):
                where = builder.inttoptr(address, piece.as_pointer())
                builder.store(column, where, align=TURN_BYTES)
                address = builder.add(address, pitch)
            return [checked]

        (checked,) = loop(builder, begin, end, width, [zero], body)
        odd = builder.bitcast(builder.fcmp_unordered("uno", checked, checked), ir.IntType(width))
        return builder.icmp_unsigned("==", odd, ir.IntType(width)(0))

    return signature, codegen


@intrinsic
def add_squares(typingctx, source, height, total):
    """``total += Σ source[t]²`` over the first ``height`` lines."""
    signature = types.void(source, types.int64, total)

    def codegen(context, builder, signature, args):
        lanes = LaneCode(context, builder, signature.args[0])
        source = lanes.data(signature.args[0], args[0], lanes.vector)
        total = lanes.data(signature.args[2], args[2], lanes.vector)

        def add(t, carried):
            line = lanes.load(builder.gep(source, [t]))
            return multiply_add(builder, line, line, carried)

        def pair(t, totals):
            return [add(builder.add(t, I64(q)), part) for q, part in enumerate(totals)]

        even = builder.and_(args[1], I64(-2))
        one, two = loop(builder, I64(0), even, 2, [lanes.load(total), lanes.zero], pair)
        (one,) = loop(builder, even, args[1], 1, [one], lambda t, totals: [add(t, totals[0])])
        lanes.store(builder.fadd(one, two), total)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def subtract_from_lines(typingctx, target, height, numbers, first):
    """``target[t] -= numbers[first + t]`` for the first ``height`` lines."""
    signature = types.void(target, types.int64, numbers, types.int64)

    def codegen(context, builder, signature, args):
        lanes = LaneCode(context, builder, signature.args[0])
        target = lanes.data(signature.args[0], args[0], lanes.vector)
        numbers = builder.gep(lanes.data(signature.args[2], args[2]), [args[3]])

        def subtract(t, _):
            line = builder.gep(target, [t])
            number = lanes.everywhere(lanes.get(numbers, t))
            lanes.store(builder.fsub(lanes.load(line), number), line)
            return []

        loop(builder, I64(0), args[1], 1, [], subtract)
        return context.get_dummy_value()

    return signature, codegen
