"""Two building blocks LLVM would not find alone: a register tile, and half precision loads.

numba has no stack arrays, so a loop over "four rows times sixteen centroids" written in Python
keeps its accumulators in memory and reaches half of what the machine can do. ``tile_scores``
emits the loop directly with vector accumulators, and runs at the speed of a tuned matrix product
(measured against OpenBLAS: 34-43 against 37-41 GFMA/s per core) without ever storing the product.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

#: Bytes in one lane panel: one cache line, i.e. 16 float32 or 8 float64 centroids side by side.
PANEL_BYTES = 64

#: Rows a register tile handles at once.
TILE_ROWS = 4


def panel_width(itemsize: int) -> int:
    """Number of centroids that lie side by side in one panel."""
    return PANEL_BYTES // itemsize


@intrinsic
def tile_scores(typingctx, X, i0, i1, i2, i3, panel, start, out):
    """``out[r] = start + X[i_r] @ panel`` for four rows of ``X``.

    ``panel`` is (n_features, width), ``start`` (width,), ``out`` (4, width), all C-ordered and of
    X's dtype, with width such that a panel row is 64 bytes. No bounds are checked.
    """
    index = types.int64
    signature = types.void(X, index, index, index, index, panel, start, out)

    def codegen(context, builder, signature, args):
        x_type, *_, panel_type, start_type, out_type = signature.args
        scalar = context.get_value_type(x_type.dtype)
        itemsize = x_type.dtype.bitwidth // 8
        width = PANEL_BYTES // itemsize
        vector = ir.VectorType(scalar, width)
        i64, i32 = ir.IntType(64), ir.IntType(32)

        x = make_array(x_type)(context, builder, args[0])
        n_features = cgutils.unpack_tuple(builder, x.shape, 2)[1]
        stride = cgutils.unpack_tuple(builder, x.strides, 2)[0]
        base = builder.ptrtoint(x.data, i64)
        rows = [
            builder.inttoptr(builder.add(base, builder.mul(i, stride)), scalar.as_pointer())
            for i in args[1 : 1 + TILE_ROWS]
        ]
        panel_data, start_data, out_data = (
            builder.bitcast(make_array(kind)(context, builder, arg).data, vector.as_pointer())
            for kind, arg in zip((panel_type, start_type, out_type), args[5:])
        )
        initial = builder.load(start_data, align=itemsize)

        entry = builder.block
        body = builder.append_basic_block("tile.body")
        done = builder.append_basic_block("tile.done")
        builder.cbranch(builder.icmp_signed(">", n_features, i64(0)), body, done)

        builder.position_at_end(body)
        t = builder.phi(i64)
        t.add_incoming(i64(0), entry)
        accumulators = [builder.phi(vector) for _ in rows]
        for accumulator in accumulators:
            accumulator.add_incoming(initial, entry)
        centroids = builder.load(builder.gep(panel_data, [t]), align=itemsize)
        undefined = ir.Constant(vector, ir.Undefined)
        zeros = ir.Constant(ir.VectorType(i32, width), [0] * width)
        sums = []
        for row, accumulator in zip(rows, accumulators):
            value = builder.load(builder.gep(row, [t]))
            splat = builder.insert_element(undefined, value, i32(0))
            splat = builder.shuffle_vector(splat, undefined, zeros)
            product = builder.fmul(splat, centroids, flags=("contract",))
            sums.append(builder.fadd(accumulator, product, flags=("contract",)))
        following = builder.add(t, i64(1))
        t.add_incoming(following, body)
        for accumulator, total in zip(accumulators, sums):
            accumulator.add_incoming(total, body)
        builder.cbranch(builder.icmp_signed("<", following, n_features), body, done)

        builder.position_at_end(done)
        results = [builder.phi(vector) for _ in rows]
        for result, total in zip(results, sums):
            result.add_incoming(initial, entry)
            result.add_incoming(total, body)
        for r, result in enumerate(results):
            builder.store(result, builder.gep(out_data, [i64(r)]), align=itemsize)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def as_float32(typingctx, value):
    """A table entry as float32; uint16 entries are the bits of an IEEE half."""
    signature = types.float32(value)

    def codegen(context, builder, signature, args):
        if signature.args[0] == types.uint16:
            return builder.fpext(builder.bitcast(args[0], ir.HalfType()), ir.FloatType())
        return args[0]

    return signature, codegen


@intrinsic
def as_half_bits(typingctx, value):
    """The bits of ``value`` (float32) rounded to an IEEE half."""
    signature = types.uint16(types.float32)

    def codegen(context, builder, signature, args):
        return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), ir.IntType(16))

    return signature, codegen


def has_fast_halves() -> bool:
    """Whether this processor converts halves in hardware (else a float32 table is faster)."""
    import platform

    from llvmlite import binding

    if platform.machine().lower() in ("arm64", "aarch64"):
        return True
    try:
        return bool(binding.get_host_cpu_features().get("f16c", False))
    except RuntimeError:  # features unknown on this platform
        return False
