"""Products of one CSR row with many table columns, and bounds on the scores they stand for.

``stream_products`` is for CSR rows what :mod:`polymeans.kernels.tiles` is for dense ones: the
products stay in vector registers while the row's nonzeros are walked through. ``bracket`` turns
products into bounds on scores, ``sift`` finds the columns that those bounds leave possible.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from polymeans.kernels.compile import kernel
from polymeans.kernels.emit import (
    F32,
    I1,
    I16,
    I32,
    I64,
    LANES,
    VECTOR,
    data_pointer,
    load_at,
    loop,
    multiply_add,
    prefetch,
    smaller,
    smallest_lane,
    splat,
)

#: Vectors of sixteen columns that one walk over a CSR row handles at most: with AVX2 they fill
#: fourteen registers of sixteen, and the value and an entry take the other two.
_WIDEST = 7

# Table rows are fetched this many nonzeros ahead: far enough to hide the third-level cache. Further
# ahead, more of what is fetched belongs to rows that another call handles.
_AHEAD = 8


def _make_stream(n_vectors):
    """``stream_products`` for a fixed number of vectors of sixteen columns."""

    @intrinsic
    def stream(typingctx, indices, values, begin, end, table, column, out):
        index = types.int64
        signature = types.void(indices, values, index, index, table, index, out)

        def codegen(context, builder, signature, args):
            indices_type, values_type, _, _, table_type, _, out_type = signature.args
            begin, end, column = args[2], args[3], args[5]
            halves = table_type.dtype == types.uint16
            entry_size = 2 if halves else 4
            entries = ir.VectorType(ir.HalfType() if halves else F32, LANES)

            index_array = context.make_array(indices_type)(context, builder, args[0])
            last = cgutils.unpack_tuple(builder, index_array.shape, 1)[0]
            last = builder.sub(last, I64(1))
            value_data = context.make_array(values_type)(context, builder, args[1]).data
            table_array = context.make_array(table_type)(context, builder, args[4])
            stride = cgutils.unpack_tuple(builder, table_array.strides, 2)[0]
            base = builder.ptrtoint(table_array.data, I64)
            base = builder.add(base, builder.mul(column, I64(entry_size)))
            out_data = context.make_array(out_type)(context, builder, args[6]).data
            out_data = builder.bitcast(builder.gep(out_data, [column]), VECTOR.as_pointer())

            def address(position):
                feature = builder.load(builder.gep(index_array.data, [position]))
                if feature.type != I64:
                    feature = builder.sext(feature, I64)
                return builder.add(base, builder.mul(feature, stride))

            def body(p, sums):
                ahead = builder.add(p, I64(_AHEAD))
                ahead = builder.select(builder.icmp_signed("<", ahead, last), ahead, last)
                soon = address(ahead)
                for line in range(0, n_vectors * LANES * entry_size, 64):
                    prefetch(builder, builder.add(soon, I64(line)))
                row = builder.inttoptr(address(p), entries.as_pointer())
                value = splat(builder, builder.load(builder.gep(value_data, [p])), VECTOR)
                totals = []
                for v, total in enumerate(sums):
                    loaded = load_at(builder, row, I64(v), entry_size)
                    if halves:
                        loaded = builder.fpext(loaded, VECTOR)
                    totals.append(multiply_add(builder, value, loaded, total))
                return totals

            zero = ir.Constant(VECTOR, [0.0] * LANES)
            for v, total in enumerate(loop(builder, begin, end, 1, [zero] * n_vectors, body)):
                builder.store(total, builder.gep(out_data, [I64(v)]), align=4)
            return context.get_dummy_value()

        return signature, codegen

    return stream


_stream16, _stream32, _stream48, _stream64 = (_make_stream(n) for n in (1, 2, 3, 4))
_stream_widest = _make_stream(_WIDEST)


@kernel
def stream_products(indices, values, begin, end, table, out):
    """``out = Σ values[p] * table[indices[p]]`` over the nonzeros begin:end of one row.

    ``table`` has float32 entries or the bits of IEEE halves (uint16), and a multiple of sixteen
    columns; ``out`` is float32 and as long.
    """
    column = 0
    while column + _WIDEST * LANES <= table.shape[1]:
        _stream_widest(indices, values, begin, end, table, column, out)
        column += _WIDEST * LANES
    if column + 64 <= table.shape[1]:
        _stream64(indices, values, begin, end, table, column, out)
        column += 64
    rest = table.shape[1] - column
    if rest == 48:
        _stream48(indices, values, begin, end, table, column, out)
    elif rest == 32:
        _stream32(indices, values, begin, end, table, column, out)
    elif rest == 16:
        _stream16(indices, values, begin, end, table, column, out)


@intrinsic
def bracket(typingctx, slope, half_norms, spread, floor, reach, scores):
    """Turn products into lower bounds on scores; returns an upper bound on the smallest score.

    ``scores[j]`` holds a product on entry; the score is ``half_norms[j] - slope[j] * product``,
    wrong by at most ``reach * spread[j] + floor[j]``. All arrays are float32 and a multiple of
    sixteen long.
    """
    signature = types.float32(slope, half_norms, spread, floor, types.float32, scores)

    def codegen(context, builder, signature, args):
        *parameters, scores = (
            data_pointer(context, builder, kind, array, VECTOR)
            for kind, array in zip(signature.args, args)
            if isinstance(kind, types.Array)
        )
        shape = context.make_array(signature.args[-1])(context, builder, args[-1]).shape
        n_vectors = builder.sdiv(cgutils.unpack_tuple(builder, shape, 1)[0], I64(LANES))
        reach = splat(builder, args[4], VECTOR)

        def body(v, carried):
            slope, half_norm, spread, floor = (load_at(builder, p, v, 4) for p in parameters)
            product = builder.fmul(slope, load_at(builder, scores, v, 4))
            score = builder.fsub(half_norm, product)
            error = multiply_add(builder, reach, spread, floor)
            builder.store(builder.fsub(score, error), builder.gep(scores, [v]), align=4)
            return [smaller(builder, builder.fadd(score, error), carried[0])]

        infinite = ir.Constant(VECTOR, [np.inf] * LANES)
        (ceiling,) = loop(builder, I64(0), n_vectors, 1, [infinite], body)
        return smallest_lane(builder, ceiling)

    return signature, codegen


@intrinsic
def sift(typingctx, scores, ceiling):
    """How many scores are at most ``ceiling``, the last of them, and the smallest of the rest."""
    signature = types.Tuple((types.int32, types.int32, types.float32))(scores, types.float32)

    def codegen(context, builder, signature, args):
        kind = signature.args[0]
        scores = data_pointer(context, builder, kind, args[0], VECTOR)
        shape = context.make_array(kind)(context, builder, args[0]).shape
        n_vectors = builder.sdiv(cgutils.unpack_tuple(builder, shape, 1)[0], I64(LANES))
        ceiling = splat(builder, args[1], VECTOR)
        infinite = ir.Constant(VECTOR, [np.inf] * LANES)

        def body(v, carried):
            count, last, others = carried
            loaded = load_at(builder, scores, v, 4)
            possible = builder.fcmp_ordered("<=", loaded, ceiling)
            mask = builder.bitcast(possible, I16)
            found = builder.zext(builder.ctpop(mask), I32)
            leading = builder.zext(builder.ctlz(mask, I1(0)), I32)
            position = builder.add(
                builder.trunc(builder.mul(v, I64(LANES)), I32),
                builder.sub(I32(LANES - 1), leading),
            )
            return [
                builder.add(count, found),
                builder.select(builder.icmp_signed("!=", mask, I16(0)), position, last),
                smaller(builder, builder.select(possible, infinite, loaded), others),
            ]

        count, last, others = loop(builder, I64(0), n_vectors, 1, [I32(0), I32(-1), infinite], body)
        return context.make_tuple(
            builder, signature.return_type, [count, last, smallest_lane(builder, others)]
        )

    return signature, codegen
