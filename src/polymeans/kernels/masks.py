"""Comparisons of many numbers at once, whose outcomes are the bits of one integer."""

from numba import types
from numba.extending import intrinsic

from polymeans.kernels.emit import I1, I16, I32, I64, VECTOR, lane_pointer, load_lanes, splat


@intrinsic
def possible_groups(typingctx, lower, i, travelled, first, bound):
    """Bits of the sixteen groups from ``first`` on whose bound is not above ``bound``."""
    index = types.int64
    signature = types.uint32(lower, index, travelled, index, types.float32)

    def codegen(context, builder, signature, args):
        lower_type, _, travelled_type, _, _ = signature.args
        lower_row = lane_pointer(context, builder, lower_type, args[0], args[1], args[3])
        travelled = lane_pointer(context, builder, travelled_type, args[2], None, args[3])
        bounds = builder.fsub(load_lanes(builder, lower_row), load_lanes(builder, travelled))
        possible = builder.fcmp_ordered(">=", splat(builder, args[4], VECTOR), bounds)
        return builder.zext(builder.bitcast(possible, I16), I32)

    return signature, codegen


@intrinsic
def lowest_bit(typingctx, mask):
    """Position of the lowest set bit."""
    signature = types.int64(mask)

    def codegen(context, builder, signature, args):
        position = builder.cttz(args[0], I1(0))
        return position if position.type == I64 else builder.zext(position, I64)

    return signature, codegen
