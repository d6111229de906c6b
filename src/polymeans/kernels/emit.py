"""Pieces of LLVM code that the intrinsics of this package are put together from.

numba has no stack arrays, so a loop over "four rows times sixteen centroids" written in Python
keeps its accumulators in memory and reaches half of what the machine can do. Intrinsics emit such
loops with their running values in vector registers; LLVM cuts the vectors to what the processor
has.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils

#: Numbers in one vector of float32: a cache line, and a register of AVX-512. Narrower processors
#: get several instructions for each.
LANES = 16

#: Features of the levels that wheels are built for, which have a name only.
_OF_LEVEL = {"x86-64-v3": ("+avx2", "+fma"), "x86-64-v4": ("+avx2", "+fma", "+avx512f")}

I1, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 16, 32, 64))
F32 = ir.FloatType()
VECTOR = ir.VectorType(F32, LANES)


def features_of(context):
    """Features of the processor that code is made for, such as "+avx2".

    What is computed, and in which order, must not depend on them: a release wheel's kernels return
    the same bits as those that are compiled for the processor at hand.
    """
    _, name, features = context.codegen().magic_tuple()
    return frozenset(features.split(",") if features else _OF_LEVEL.get(name, ()))


def has_many_registers(context):
    """Whether code is made for 32 registers of 64 bytes (AVX-512), twice as many as AVX2 has."""
    return "+avx512f" in features_of(context)


def loop(builder, begin, end, step, initial, body):
    """Emit ``for position in range(begin, end, step): carried = body(position, carried)``.

    Carried values stay in registers. Returns their final values.
    """
    entry = builder.block
    inside = builder.append_basic_block("loop.body")
    after = builder.append_basic_block("loop.done")
    builder.cbranch(builder.icmp_signed("<", begin, end), inside, after)

    builder.position_at_end(inside)
    position = builder.phi(I64)
    carried = [builder.phi(value.type) for value in initial]
    following = body(position, carried)
    latch = builder.block
    advanced = builder.add(position, I64(step))
    position.add_incoming(begin, entry)
    position.add_incoming(advanced, latch)
    for phi, first, later in zip(carried, initial, following):
        phi.add_incoming(first, entry)
        phi.add_incoming(later, latch)
    builder.cbranch(builder.icmp_signed("<", advanced, end), inside, after)

    builder.position_at_end(after)
    final = [builder.phi(value.type) for value in initial]
    for phi, first, later in zip(final, initial, following):
        phi.add_incoming(first, entry)
        phi.add_incoming(later, latch)
    return final


def splat(builder, value, vector):
    """A vector that holds a number in all lanes."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, I32(0))
    zeros = ir.Constant(ir.VectorType(I32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


def multiply_add(builder, a, b, c):
    """``a * b + c``, rounded once where the processor can."""
    product = builder.fmul(a, b, flags=("contract",))
    return builder.fadd(c, product, flags=("contract",))


def smaller(builder, a, b):
    """The smaller of two numbers, or of two vectors lane by lane."""
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def fold(builder, vector, combine):
    """Combine the elements of a vector by halving."""
    n = vector.type.count
    while n > 1:
        n //= 2
        undefined = ir.Constant(vector.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(
                vector, undefined, ir.Constant(ir.VectorType(I32, n), [*range(first, first + n)])
            )
            for first in (0, n)
        )
        vector = combine(low, high)
    return builder.extract_element(vector, I32(0))


def smallest_lane(builder, vector):
    """The smallest number of a vector."""
    return fold(builder, vector, lambda low, high: smaller(builder, low, high))


def without_lane(builder, vector, position):
    """The vector with one lane made infinite."""
    width = vector.type.count
    lane_vector = ir.VectorType(I32, width)
    lanes = ir.Constant(lane_vector, list(range(width)))
    out = builder.icmp_signed("==", lanes, splat(builder, position, lane_vector))
    return builder.select(out, ir.Constant(vector.type, [np.inf] * width), vector)


def two_smallest(builder, vector):
    """The two smallest lanes of a vector and (int32) where the smallest is."""
    smallest = smallest_lane(builder, vector)
    equal = builder.fcmp_ordered("==", vector, splat(builder, smallest, vector.type))
    mask = builder.bitcast(equal, ir.IntType(vector.type.count))
    where = builder.zext(builder.cttz(mask, I1(0)), I32)
    return smallest, smallest_lane(builder, without_lane(builder, vector, where)), where


def lane_pointer(context, builder, kind, array, row, first):
    """Where sixteen float32 lanes of an array (of its row ``row``, if it has rows) begin."""
    struct = context.make_array(kind)(context, builder, array)
    data = builder.ptrtoint(struct.data, I64)
    if row is not None:
        stride = cgutils.unpack_tuple(builder, struct.strides, 2)[0]
        data = builder.add(data, builder.mul(row, stride))
    where = builder.gep(builder.inttoptr(data, F32.as_pointer()), [first])
    return builder.bitcast(where, VECTOR.as_pointer())


def load_lanes(builder, pointer):
    """Sixteen float32 lanes."""
    return builder.load(pointer, align=4)


def data_pointer(context, builder, kind, array, pointee):
    """Where an array's numbers begin, as a pointer to ``pointee``."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(data, pointee.as_pointer())


def load_at(builder, pointer, position, align):
    """The number or vector at a position behind a pointer."""
    return builder.load(builder.gep(pointer, [position]), align=align)


def prefetch(builder, address):
    """Fetch the cache line at an address ahead of its use."""
    byte = ir.IntType(8).as_pointer()
    function = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32]),
        "llvm.prefetch.p0",
    )
    builder.call(function, [builder.inttoptr(address, byte), I32(0), I32(3), I32(1)])
