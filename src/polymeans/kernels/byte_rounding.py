"""Vectors rounded to bytes: whole multiples of a scale of their own, and how far off these are."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from polymeans.kernels.compile import kernel
from polymeans.kernels.emit import (
    I32,
    I64,
    LANES,
    VECTOR,
    data_pointer,
    fold,
    load_at,
    loop,
    multiply_add,
    splat,
)

#: Half the distance between one float32 and the next.
UNIT = 2.0**-24

#: Vectors all of whose numbers are smaller than this are rounded to zeros.
_SMALLEST = 1e-30

#: Squared norms up to which float32 scores are numbers, see :mod:`polymeans.kernels.dense_lanes`.
LARGEST_SQUARE = 2.0**120

#: Adding and subtracting it rounds a float32 of ordinary size to a whole number.
_ROUNDING = 1.5 * 2.0**23

_NUMBERS = ir.VectorType(I32, LANES)
_BYTES = ir.VectorType(ir.IntType(8), LANES)


def _absolute(builder, vector):
    kind = ir.FunctionType(vector.type, [vector.type])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.v{LANES}f32")
    return builder.call(function, [vector])


def _larger(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


@intrinsic
def _extent(typingctx, flat):
    """The largest absolute number of a float32 array and the sum of squares; it has whole lines."""
    signature = types.UniTuple(types.float32, 2)(flat)

    def codegen(context, builder, signature, args):
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        (length,) = cgutils.unpack_tuple(builder, struct.shape, 1)
        numbers = builder.bitcast(struct.data, VECTOR.as_pointer())
        n_lines = builder.sdiv(length, I64(LANES))
        zero = ir.Constant(VECTOR, [0.0] * LANES)

        def body(t, carried):
            largest, total = carried
            line = load_at(builder, numbers, t, 4)
            largest = _larger(builder, _absolute(builder, line), largest)
            return [largest, multiply_add(builder, line, line, total)]

        largest, total = loop(builder, I64(0), n_lines, 1, [zero, zero], body)
        found = [
            fold(builder, largest, lambda a, b: _larger(builder, a, b)),
            fold(builder, total, builder.fadd),
        ]
        return context.make_tuple(builder, signature.return_type, found)

    return signature, codegen


@intrinsic
def _round(typingctx, flat, scale, inverse, bias, out):
    """Whole multiples of the scale plus a bias, as bytes, of an array that has whole lines.

    Returns the sum of the multiples, and of the squares of what is left over.
    """
    returned = types.Tuple((types.int32, types.float32))
    signature = returned(flat, types.float32, types.float32, types.int32, out)

    def codegen(context, builder, signature, args):
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        (length,) = cgutils.unpack_tuple(builder, struct.shape, 1)
        numbers = builder.bitcast(struct.data, VECTOR.as_pointer())
        target = data_pointer(context, builder, signature.args[4], args[4], _BYTES)
        scale, inverse = (splat(builder, value, VECTOR) for value in args[1:3])
        bias = splat(builder, args[3], _NUMBERS)
        magic = ir.Constant(VECTOR, [_ROUNDING] * LANES)
        n_lines = builder.sdiv(length, I64(LANES))

        def body(t, carried):
            total, left = carried
            line = load_at(builder, numbers, t, 4)
            multiple = builder.fadd(builder.fmul(line, inverse), magic)
            multiple = builder.fsub(multiple, magic)
            whole = builder.fptosi(multiple, _NUMBERS)
            byte = builder.trunc(builder.add(whole, bias), _BYTES)
            builder.store(byte, builder.gep(target, [t]), align=1)
            over = builder.fsub(line, builder.fmul(scale, multiple))
            return [builder.add(total, whole), multiply_add(builder, over, over, left)]

        initial = [
            ir.Constant(_NUMBERS, [0] * LANES),
            ir.Constant(VECTOR, [0.0] * LANES),
        ]
        total, left = loop(builder, I64(0), n_lines, 1, initial, body)
        found = [fold(builder, total, builder.add), fold(builder, left, builder.fadd)]
        return context.make_tuple(builder, signature.return_type, found)

    return signature, codegen


@kernel(inner=True)
def to_bytes(x, shift, levels, bias, flat, out):
    """Round x less the shift to bytes, whole multiples of a scale plus a bias.

    Parameters
    ----------
    x, shift : array of shape (d,)
    levels : int
        No multiple is larger than this.
    bias : int
    flat : float32 array
        Buffer: d numbers and zeros up to a multiple of sixteen.
    out : int8 array
        Receives as many bytes as ``flat`` has numbers.

    Returns
    -------
    scale : float32
    total : int32
        Sum of the multiples.
    off, norm : float64
        How far x less the shift is from what it was rounded to, and its norm: no less than either.
        The former includes roundings of a score of float32 that is formed from it.
    square : float64
        The squared norm as float32 adds it up. Beyond :data:`LARGEST_SQUARE`, or if it is NaN,
        there are no float32 scores, and nothing else has a meaning.
    """
    d = x.shape[0]
    for t in range(d):
        flat[t] = np.float32(x[t] - shift[t])
    largest, squares = _extent(flat)
    square = np.float64(squares)
    norm = np.sqrt(square * (1 + (d + 8) * 2.0 * UNIT) + d * 2.0**-148)
    scale = np.float32(0.0)
    total = np.int32(0)
    off = norm
    if largest > _SMALLEST and square <= LARGEST_SQUARE:
        # No quotient may round to more than there are levels.
        scale = np.float32(largest * np.float32((1 + 2.0**-20) / levels))
        total, left = _round(flat, scale, np.float32(1.0) / scale, np.int32(bias), out)
        # Roundings of the subtraction, of multiples, and of the score.
        # Squares that are too small for float32 vanish.
        off = np.sqrt(np.float64(left) + d * 2.0**-148)
        off = off * (1 + (d + 8) * UNIT) + 24 * UNIT * norm + d * 2.0**-140
    else:
        for t in range(flat.shape[0]):
            out[t] = bias
    return scale, total, off, norm, square
