"""Rows side by side: sparse factors applied to a cache line of rows at a time.

A row of a dense array becomes one *lane*; sixteen float32 (eight float64) rows fill a cache line,
and every stored entry of a factor then serves all of them with one multiplication of vectors. No
structure is asked of the factors, nothing is gathered, and LLVM cuts the vectors to what the
processor has. Lane arrays are C-ordered, (height, n_lanes), and begin at a multiple of 64 bytes:
:func:`lane_array` makes them. Where a line of such an array lies is given in bytes, an int32
(``places`` below). No bounds are checked.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import DTypeLike, NDArray

from polymeans.kernels.vector import loop, smaller, splat

#: Bytes in one line of lanes: a cache line.
LINE_BYTES = 64

#: Bytes of one row that are transposed at once, together with as many rows.
TURN_BYTES = 32

_I32, _I64 = ir.IntType(32), ir.IntType(64)


def n_lanes(dtype: DTypeLike) -> int:
    """Number of rows that lie side by side."""
    return LINE_BYTES // np.dtype(dtype).itemsize


def lane_array(height: int, dtype: DTypeLike, lanes: int | None = None) -> NDArray[Any]:
    """Uninitialised lines of lanes (or of several cache lines each), where kernels want them."""
    dtype = np.dtype(dtype)
    lanes = n_lanes(dtype) if lanes is None else lanes
    n_bytes = height * lanes * dtype.itemsize
    raw = np.empty(n_bytes + LINE_BYTES, dtype=np.uint8)
    first = -raw.ctypes.data % LINE_BYTES
    return raw[first : first + n_bytes].view(dtype).reshape(height, lanes)


class _Lanes:
    """What emitted code needs to know about lanes of one dtype."""

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
        pointer = make_array(kind)(self.context, self.builder, array).data
        return pointer if pointee is None else self.builder.bitcast(pointer, pointee.as_pointer())

    def address(self, kind, array):
        return self.builder.ptrtoint(self.data(kind, array), _I64)

    def get(self, pointer, position):
        return self.builder.load(self.builder.gep(pointer, [position]))

    def get_index(self, pointer, position):
        value = self.get(pointer, position)
        return value if value.type == _I64 else self.builder.sext(value, _I64)

    def line(self, base, place):
        """Pointer to the line that begins ``place`` bytes behind an address."""
        return self.builder.inttoptr(self.builder.add(base, place), self.vector.as_pointer())

    def load(self, pointer):
        return self.builder.load(pointer, align=LINE_BYTES)

    def store(self, value, pointer):
        self.builder.store(value, pointer, align=LINE_BYTES)

    def everywhere(self, value):
        return splat(self.builder, value, self.vector)


def multiply_add(builder, a, b, c):
    product = builder.fmul(a, b, flags=("contract",))
    return builder.fadd(c, product, flags=("contract",))


# --- rows to lanes and back --------------------------------------------------------------------


def _shuffle(builder, a, b, positions):
    mask = ir.Constant(ir.VectorType(_I32, len(positions)), positions)
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


def _transpose(builder, rows):
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
        lanes = _Lanes(context, builder, signature.args[0])
        first, last, begin, end = args[1:5]
        width = TURN_BYTES // lanes.itemsize
        piece = ir.VectorType(lanes.scalar, width)

        def lines(kind, array):
            struct = make_array(kind)(context, builder, array)
            stride = cgutils.unpack_tuple(builder, struct.strides, 2)[0]
            return builder.ptrtoint(struct.data, _I64), stride

        base, stride = lines(signature.args[0], args[0])
        rows = []
        for r in range(width):
            i = builder.add(first, _I64(r))
            i = builder.select(builder.icmp_signed("<", i, last), i, last)
            address = builder.add(base, builder.mul(i, stride))
            rows.append(builder.inttoptr(address, lanes.scalar.as_pointer()))
        target, pitch = lines(signature.args[5], args[5])
        target = builder.add(target, builder.mul(args[6], _I64(lanes.itemsize)))
        zero = ir.Constant(piece, [0.0] * width)

        def body(t, carried):
            (doubt,) = carried
            values = []
            for row in rows:
                where = builder.bitcast(builder.gep(row, [t]), piece.as_pointer())
                values.append(builder.load(where, align=lanes.itemsize))
                # Zero times infinity is not a number, and stays so.
                doubt = multiply_add(builder, values[-1], zero, doubt)
            address = builder.add(target, builder.mul(builder.sub(t, begin), pitch))
            for column in _transpose(builder, values):
                where = builder.inttoptr(address, piece.as_pointer())
                builder.store(column, where, align=TURN_BYTES)
                address = builder.add(address, pitch)
            return [doubt]

        (doubt,) = loop(builder, begin, end, width, [zero], body)
        odd = builder.bitcast(builder.fcmp_unordered("uno", doubt, doubt), ir.IntType(width))
        return builder.icmp_unsigned("==", odd, ir.IntType(width)(0))

    return signature, codegen


@intrinsic
def add_squares(typingctx, source, height, total):
    """``total += Σ source[t]²`` over the first ``height`` lines."""
    signature = types.void(source, types.int64, total)

    def codegen(context, builder, signature, args):
        lanes = _Lanes(context, builder, signature.args[0])
        source = lanes.data(signature.args[0], args[0], lanes.vector)
        total = lanes.data(signature.args[2], args[2], lanes.vector)

        def add(t, carried):
            line = lanes.load(builder.gep(source, [t]))
            return multiply_add(builder, line, line, carried)

        def pair(t, totals):
            return [add(builder.add(t, _I64(q)), part) for q, part in enumerate(totals)]

        even = builder.and_(args[1], _I64(-2))
        one, two = loop(builder, _I64(0), even, 2, [lanes.load(total), lanes.zero], pair)
        (one,) = loop(builder, even, args[1], 1, [one], lambda t, totals: [add(t, totals[0])])
        lanes.store(builder.fadd(one, two), total)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def subtract_from_lines(typingctx, target, height, numbers, first):
    """``target[t] -= numbers[first + t]`` for the first ``height`` lines."""
    signature = types.void(target, types.int64, numbers, types.int64)

    def codegen(context, builder, signature, args):
        lanes = _Lanes(context, builder, signature.args[0])
        target = lanes.data(signature.args[0], args[0], lanes.vector)
        numbers = builder.gep(lanes.data(signature.args[2], args[2]), [args[3]])

        def subtract(t, _):
            line = builder.gep(target, [t])
            number = lanes.everywhere(lanes.get(numbers, t))
            lanes.store(builder.fsub(lanes.load(line), number), line)
            return []

        loop(builder, _I64(0), args[1], 1, [], subtract)
        return context.get_dummy_value()

    return signature, codegen


# --- factors -----------------------------------------------------------------------------------


class _Rows:
    """Emits sums over the stored entries of a factor's rows."""

    def __init__(self, lanes, signature, args):
        # Arguments begin: starts, first, n_rows, places, values, source.
        self.lanes = lanes
        builder = lanes.builder
        starts = lanes.data(signature.args[0], args[0])
        self.starts = builder.gep(starts, [args[1]])
        self.begin = lanes.get_index(self.starts, _I64(0))
        self.n_rows = args[2]
        self.places, self.values = (lanes.data(signature.args[q], args[q]) for q in (3, 4))
        self.source = lanes.address(signature.args[5], args[5])

    def end(self, i):
        return self.lanes.get_index(self.starts, self.lanes.builder.add(i, _I64(1)))

    def total(self, begin, end, initial):
        """initial + Σ values[p] * source[places[p]], in two sums: one would wait for itself."""
        lanes, builder = self.lanes, self.lanes.builder

        def add(p, total):
            value = lanes.everywhere(lanes.get(self.values, p))
            line = lanes.line(self.source, lanes.get_index(self.places, p))
            return multiply_add(builder, value, lanes.load(line), total)

        def pair(p, totals):
            return [add(builder.add(p, _I64(q)), total) for q, total in enumerate(totals)]

        even = builder.add(begin, builder.and_(builder.sub(end, begin), _I64(-2)))
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
        lanes = _Lanes(context, builder, signature.args[5])
        rows = _Rows(lanes, signature, args)
        target = lanes.data(signature.args[6], args[6], lanes.vector)

        def row(i, carried):
            end = rows.end(i)
            total = rows.total(carried[0], end, lanes.zero)
            lanes.store(total, builder.gep(target, [i]))
            return [end]

        loop(builder, _I64(0), rows.n_rows, 1, [rows.begin], row)
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
        lanes = _Lanes(context, builder, signature.args[5])
        rows = _Rows(lanes, signature, args)
        lines = builder.gep(lanes.data(signature.args[6], args[6]), [args[1]])
        target = lanes.address(signature.args[7], args[7])

        def row(i, carried):
            end = rows.end(i)
            line = lanes.line(target, lanes.get_index(lines, i))
            lanes.store(rows.total(carried[0], end, lanes.load(line)), line)
            return [end]

        loop(builder, _I64(0), rows.n_rows, 1, [rows.begin], row)
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
        lanes = _Lanes(context, builder, signature.args[5])
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
            number = i if lanes.integer == _I64 else builder.trunc(i, lanes.integer)
            label = builder.select(less, splat(builder, number, lanes.integers), label)
            return [end, builder.select(less, score, best), second, label]

        infinite = ir.Constant(lanes.vector, [np.inf] * lanes.count)
        nobody = ir.Constant(lanes.integers, [0] * lanes.count)
        initial = [rows.begin, infinite, infinite, nobody]
        _, best, second, label = loop(builder, _I64(0), rows.n_rows, 1, initial, row)
        lanes.store(best, best_at)
        lanes.store(second, second_at)
        lanes.store(label, label_at)
        return context.get_dummy_value()

    return signature, codegen
