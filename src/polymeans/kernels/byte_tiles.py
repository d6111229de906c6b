"""Lower bounds on scores of a few rows and sixteen centroids, from products of bytes.

Rows and centroids are rounded to whole multiples of a scale of their own, one byte a feature. A
product of bytes is exact, and processors form four of them in the time of one of float32; what
rounding to bytes can be off by is known for each row and centroid, so that most centroids are
ruled out for certain.

No bounds of arrays are checked here.
"""

from functools import cache

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from polymeans.kernels.emit import (
    F32,
    I16,
    I32,
    I64,
    LANES,
    VECTOR,
    data_pointer,
    features_of,
    load_at,
    loop,
    multiply_add,
    smaller,
    splat,
)

#: Rows that are compared with a panel at once: one running sum each, of 64 bytes.
BYTE_ROWS = 8

#: The same where a running sum takes two registers of sixteen.
_NARROW_ROWS = 4

#: Features whose bytes lie together, in 32 bits of a row and of each centroid.
BYTES = 4

#: Largest absolute number that a feature of a row, and of a centroid, is rounded to. Centroids get
#: one bit less: two products of bytes then fit into 16 bits, where AVX2 adds them up.
ROW_LEVELS, CENTROID_LEVELS = 127, 63

#: What is added to bytes of centroids, which processors want without a sign.
BIAS = CENTROID_LEVELS + 1

#: Features up to which sums of products fit into 32 bits.
MOST_FEATURES = 2**16


@cache
def is_fast() -> bool:
    """Whether the processor at hand multiplies bytes faster than numbers of float32."""
    return bool(get_host_cpu_features().get("avx2"))


_I8 = ir.IntType(8)
_SUMS = ir.VectorType(I32, LANES)
_LINE = ir.VectorType(_I8, LANES * BYTES)


def _part(builder, vector, first, count):
    """Some elements of a vector."""
    mask = ir.Constant(ir.VectorType(I32, count), list(range(first, first + count)))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _call(builder, name, result, arguments):
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, arguments)


def _adder(context):
    """Code for ``sums + line * bytes``, four products to a sum, by the processor's features.

    ``line`` are unsigned bytes of sixteen centroids, ``bytes`` signed ones of a row, sixteen times
    the same four.
    """
    features = features_of(context)
    if {"+avx512f", "+avx512vnni"} <= features:

        def add(builder, sums, line, row):
            operands = [sums, builder.bitcast(line, _SUMS), builder.bitcast(row, _SUMS)]
            return _call(builder, "llvm.x86.avx512.vpdpbusd.512", _SUMS, operands)

    elif "+avx2" in features:
        ones = ir.Constant(ir.VectorType(I16, LANES), [1] * LANES)

        def add(builder, sums, line, row):
            halves = []
            for first in (0, 32):
                operands = [_part(builder, one, first, 32) for one in (line, row)]
                pairs = _call(builder, "llvm.x86.avx2.pmadd.ub.sw", ones.type, operands)
                kind = ir.VectorType(I32, 8)
                halves.append(_call(builder, "llvm.x86.avx2.pmadd.wd", kind, [pairs, ones]))
            mask = ir.Constant(_SUMS, list(range(LANES)))
            return builder.add(sums, builder.shuffle_vector(*halves, mask))

    else:
        wide = ir.VectorType(I32, LANES * BYTES)

        def add(builder, sums, line, row):
            products = builder.mul(builder.zext(line, wide), builder.sext(row, wide))
            for first in range(BYTES):
                mask = ir.Constant(_SUMS, list(range(first, LANES * BYTES, BYTES)))
                undefined = ir.Constant(wide, ir.Undefined)
                sums = builder.add(sums, builder.shuffle_vector(products, undefined, mask))
            return sums

    return add


@intrinsic
def byte_tile(typingctx, rows, first, factors, sums, panel, lines, limits, low, rest, masks):
    """Lower bounds on scores of eight rows and a panel, and which of them are below a limit.

    Parameters
    ----------
    rows : int8 array of shape (n, 4 * n_quarters)
        Rows as multiples of their scales; rows first:first+8 are looked at.
    first : int
    factors : float32 array of shape (n, 3)
        Of each row: its scale, how far off it is, its norm.
    sums : int32 array of shape (n,)
        Sums of the numbers of each row, times minus the bias of the centroids.
    panel : int32 array of shape (n_quarters, 16)
        Centroids as multiples of their scales plus the bias, four bytes in each number.
    lines : float32 array of shape (4, 16)
        Of each centroid: half its squared norm, rounded down; minus its scale; minus its norm;
        minus how far off it is.
    limits : float32 array of shape (n,)
    low : float32 array of shape (8, 16)
        Receives the bounds.
    rest : float32 array of shape (n, 16)
        The smallest bound so far that was not below the limit, lane by lane.
    masks : int32 array of shape (8,)
        Receives a bit for each lane whose bound is below the row's limit.

    Returns
    -------
    int32
        All masks together.
    """
    index = types.int64
    signature = types.int32(rows, index, factors, sums, panel, lines, limits, low, rest, masks)

    def codegen(context, builder, signature, args):
        def pointer(position, pointee):
            return data_pointer(context, builder, signature.args[position], args[position], pointee)

        first = args[1]
        struct = context.make_array(signature.args[4])(context, builder, args[4])
        n_quarters = cgutils.unpack_tuple(builder, struct.shape, 2)[0]
        base = builder.gep(pointer(0, I32), [builder.mul(first, n_quarters)])
        factors, corrections, panel = pointer(2, F32), pointer(3, I32), pointer(4, _LINE)
        starts, scales, norms, offs = (
            load_at(builder, pointer(5, VECTOR), I64(line), 4) for line in range(4)
        )
        limits, lows, rests = pointer(6, F32), pointer(7, VECTOR), pointer(8, VECTOR)
        masks = pointer(9, I32)
        add = _adder(context)
        infinite = ir.Constant(VECTOR, [float("inf")] * LANES)

        def tile(begin, end):
            numbers = [builder.add(first, I64(r)) for r in range(begin, end)]
            sources = [
                builder.gep(base, [builder.mul(I64(r), n_quarters)]) for r in range(begin, end)
            ]
            initial = [splat(builder, load_at(builder, corrections, i, 4), _SUMS) for i in numbers]

            def body(t, sums):
                line = load_at(builder, panel, t, 1)
                out = []
                for source, total in zip(sources, sums):
                    four = splat(builder, load_at(builder, source, t, 1), _SUMS)
                    out.append(add(builder, total, line, builder.bitcast(four, _LINE)))
                return out

            found = I32(0)
            products = loop(builder, I64(0), n_quarters, 1, initial, body)
            for r, i, product in zip(range(begin, end), numbers, products):
                place = builder.mul(i, I64(3))
                scale, off, norm = (
                    splat(builder, load_at(builder, factors, builder.add(place, I64(c)), 4), VECTOR)
                    for c in range(3)
                )
                number = builder.sitofp(product, VECTOR)
                bound = multiply_add(builder, number, builder.fmul(scale, scales), starts)
                bound = multiply_add(builder, off, norms, bound)
                bound = multiply_add(builder, norm, offs, bound)
                limit = splat(builder, load_at(builder, limits, i, 4), VECTOR)
                below = builder.fcmp_ordered("<", bound, limit)
                builder.store(bound, builder.gep(lows, [I64(r)]), align=4)
                where = builder.gep(rests, [i])
                others = builder.select(below, infinite, bound)
                least = smaller(builder, others, builder.load(where, align=4))
                builder.store(least, where, align=4)
                mask = builder.zext(builder.bitcast(below, I16), I32)
                builder.store(mask, builder.gep(masks, [I64(r)]), align=4)
                found = builder.or_(found, mask)
            return found

        if "+avx512f" in features_of(context):
            return tile(0, BYTE_ROWS)
        return builder.or_(tile(0, _NARROW_ROWS), tile(_NARROW_ROWS, BYTE_ROWS))

    return signature, codegen
