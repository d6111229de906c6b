"""Squared distances between rows of two dense arrays: exact in order, or quick."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from polymeans.kernels.emit import F32, I64, fold, loop, multiply_add


def _distance_intrinsic(exact):
    """``Σ (X[i] - C[j])²``, either in one fixed order in float64 or as fast as it goes."""

    @intrinsic
    def distance(typingctx, X, i, C, j):
        signature = (types.float64 if exact else X.dtype)(X, types.int64, C, types.int64)

        def codegen(context, builder, signature, args):
            scalar = context.get_value_type(signature.args[0].dtype)
            itemsize = signature.args[0].dtype.bitwidth // 8
            # Exact: eight sums, a fixed number, since it decides the order of additions. Quick: two
            # cache lines, so that additions need not wait for each other.
            lanes = 8 if exact else 128 // itemsize
            working = ir.DoubleType() if exact else scalar
            widen = exact and scalar == F32

            def row(kind, array, number):
                struct = context.make_array(kind)(context, builder, array)
                stride = cgutils.unpack_tuple(builder, struct.strides, 2)[0]
                base = builder.ptrtoint(struct.data, I64)
                address = builder.add(base, builder.mul(number, stride))
                length = cgutils.unpack_tuple(builder, struct.shape, 2)[1]
                return builder.inttoptr(address, scalar.as_pointer()), length

            x, n_features = row(signature.args[0], args[0], args[1])
            c, _ = row(signature.args[2], args[2], args[3])

            def fetch(pointer, position, count):
                where = builder.gep(pointer, [position])
                if count > 1:
                    vector = ir.VectorType(scalar, count)
                    where = builder.bitcast(where, vector.as_pointer())
                value = builder.load(where, align=itemsize)
                if widen:
                    wide = ir.VectorType(working, count) if count > 1 else working
                    value = builder.fpext(value, wide)
                return value

            def add_square(position, total, count):
                delta = builder.fsub(fetch(x, position, count), fetch(c, position, count))
                if exact:  # no contraction: the bits are the same on every machine
                    return builder.fadd(total, builder.fmul(delta, delta))
                return multiply_add(builder, delta, delta, total)

            whole = builder.and_(n_features, I64(-lanes))
            zero = ir.Constant(ir.VectorType(working, lanes), [0.0] * lanes)
            (sums,) = loop(
                builder, I64(0), whole, lanes, [zero], lambda t, s: [add_square(t, s[0], lanes)]
            )
            total = fold(builder, sums, builder.fadd)
            (total,) = loop(
                builder, whole, n_features, 1, [total], lambda t, s: [add_square(t, s[0], 1)]
            )
            return total

        return signature, codegen

    return distance


#: Eight running sums in float64, lane by lane, in one fixed order: the same bits everywhere.
exact_squared_distance = _distance_intrinsic(exact=True)

#: In the rows' precision; relative error at most (n_features + 4) units of rounding.
quick_squared_distance = _distance_intrinsic(exact=False)
