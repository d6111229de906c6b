"""Inner loops LLVM would not find alone, emitted with their running values in vector registers.

numba has no stack arrays, so a loop over "four rows times sixteen centroids" written in Python
keeps its accumulators in memory and reaches half of what the machine can do. ``tile_scores`` runs
at about the speed of a tuned matrix product without ever storing the product (``python -m
benchmarks kmeans-dense`` prints the bare product beside us); ``stream_products`` is its counterpart
for CSR rows. ``bracket`` and
``sift`` read the outcome. LLVM cuts the vectors to what the processor has.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from polymeans.kernels.compile import kernel

#: Bytes in one lane panel: one cache line, i.e. 16 float32 or 8 float64 centroids side by side.
PANEL_BYTES = 64

#: Rows a register tile handles at once.
TILE_ROWS = 4

#: Features summed up before they join the total: rounding errors grow with the length of a stretch
#: plus the number of stretches, not with the number of features.
STRETCH = 256

#: Table columns one vector holds, and the most columns one walk over a CSR row handles.
LANES = 16
STREAM_COLUMNS = 64

# Table rows are fetched this many nonzeros ahead: far enough to hide the third-level cache.
_AHEAD = 8

_I1, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (1, 16, 32, 64))
_F32 = ir.FloatType()
_VECTOR = ir.VectorType(_F32, LANES)


def panel_width(itemsize: int) -> int:
    """Number of centroids that lie side by side in one panel."""
    return PANEL_BYTES // itemsize


def tile_terms(n_features: int) -> float:
    """Roundings a tile's score has seen at most."""
    return min(n_features, STRETCH) + -(-n_features // STRETCH) + 8.0


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


# --- helpers that emit code --------------------------------------------------------------------


def loop(builder, begin, end, step, initial, body):
    """Emit ``for position in range(begin, end, step): carried = body(position, carried)``.

    Carried values live in registers. Returns their final values.
    """
    entry = builder.block
    inside = builder.append_basic_block("loop.body")
    after = builder.append_basic_block("loop.done")
    builder.cbranch(builder.icmp_signed("<", begin, end), inside, after)

    builder.position_at_end(inside)
    position = builder.phi(_I64)
    carried = [builder.phi(value.type) for value in initial]
    following = body(position, carried)
    latch = builder.block
    advanced = builder.add(position, _I64(step))
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
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, _I32(0))
    zeros = ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


def _multiply_add(builder, a, b, c):
    product = builder.fmul(a, b, flags=("contract",))
    return builder.fadd(c, product, flags=("contract",))


def smaller(builder, a, b):
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def _fold(builder, vector, combine):
    """Combine the elements of a vector by halving."""
    n = vector.type.count
    while n > 1:
        n //= 2
        undefined = ir.Constant(vector.type, ir.Undefined)
        low, high = (
            builder.shuffle_vector(
                vector, undefined, ir.Constant(ir.VectorType(_I32, n), [*range(first, first + n)])
            )
            for first in (0, n)
        )
        vector = combine(low, high)
    return builder.extract_element(vector, _I32(0))


def _smallest_lane(builder, vector):
    return _fold(builder, vector, lambda low, high: smaller(builder, low, high))


def _without(builder, vector, position):
    """The vector with one lane made infinite."""
    width = vector.type.count
    lane_vector = ir.VectorType(_I32, width)
    lanes = ir.Constant(lane_vector, list(range(width)))
    out = builder.icmp_signed("==", lanes, splat(builder, position, lane_vector))
    return builder.select(out, ir.Constant(vector.type, [np.inf] * width), vector)


def two_smallest(builder, vector):
    """The two smallest lanes of a vector and (int32) where the smallest is."""
    smallest = _smallest_lane(builder, vector)
    equal = builder.fcmp_ordered("==", vector, splat(builder, smallest, vector.type))
    mask = builder.bitcast(equal, ir.IntType(vector.type.count))
    where = builder.zext(builder.cttz(mask, _I1(0)), _I32)
    return smallest, _smallest_lane(builder, _without(builder, vector, where)), where


def lane_pointer(context, builder, kind, array, row, first):
    """Where sixteen float32 lanes of an array (of its row ``row``, if it has rows) begin."""
    struct = make_array(kind)(context, builder, array)
    data = builder.ptrtoint(struct.data, _I64)
    if row is not None:
        stride = cgutils.unpack_tuple(builder, struct.strides, 2)[0]
        data = builder.add(data, builder.mul(row, stride))
    where = builder.gep(builder.inttoptr(data, _F32.as_pointer()), [first])
    return builder.bitcast(where, _VECTOR.as_pointer())


def load_lanes(builder, pointer):
    """Sixteen float32 lanes."""
    return builder.load(pointer, align=4)


def _pointer(context, builder, kind, array, pointee):
    data = make_array(kind)(context, builder, array).data
    return builder.bitcast(data, pointee.as_pointer())


def _load(builder, pointer, position, align):
    return builder.load(builder.gep(pointer, [position]), align=align)


# --- dense rows --------------------------------------------------------------------------------


def _emit_tile(context, builder, signature, args):
    """Code for ``start + X[i_r] @ panel``; arguments begin X, i0, i1, i2, i3, panel, start."""
    x_type, panel_type, start_type = signature.args[0], signature.args[5], signature.args[6]
    scalar = context.get_value_type(x_type.dtype)
    itemsize = x_type.dtype.bitwidth // 8
    vector = ir.VectorType(scalar, PANEL_BYTES // itemsize)

    x = make_array(x_type)(context, builder, args[0])
    n_features = cgutils.unpack_tuple(builder, x.shape, 2)[1]
    stride = cgutils.unpack_tuple(builder, x.strides, 2)[0]
    base = builder.ptrtoint(x.data, _I64)
    rows = [
        builder.inttoptr(builder.add(base, builder.mul(i, stride)), scalar.as_pointer())
        for i in args[1 : 1 + TILE_ROWS]
    ]
    panel_data = _pointer(context, builder, panel_type, args[5], vector)
    start_data = _pointer(context, builder, start_type, args[6], vector)
    initial = builder.load(start_data, align=itemsize)

    def body(t, sums):
        centroids = _load(builder, panel_data, t, itemsize)
        return [
            _multiply_add(
                builder, splat(builder, _load(builder, row, t, itemsize), vector), centroids, s
            )
            for row, s in zip(rows, sums)
        ]

    def stretch(begin, totals):
        end = builder.add(begin, _I64(STRETCH))
        end = builder.select(builder.icmp_signed("<", end, n_features), end, n_features)
        zero = ir.Constant(vector, [0.0] * vector.count)
        sums = loop(builder, begin, end, 1, [zero] * TILE_ROWS, body)
        return [builder.fadd(total, s) for total, s in zip(totals, sums)]

    totals = loop(builder, _I64(0), n_features, STRETCH, [initial] * TILE_ROWS, stretch)
    return scalar, itemsize, vector, totals


@intrinsic
def tile_scores(typingctx, X, i0, i1, i2, i3, panel, start, out):
    """``out[r] = start + X[i_r] @ panel`` for four rows of ``X``.

    ``panel`` is (n_features, width), ``start`` (width,), ``out`` (4, width), all C-ordered and of
    X's dtype, with width such that a panel row is 64 bytes. No bounds are checked.
    """
    index = types.int64
    signature = types.void(X, index, index, index, index, panel, start, out)

    def codegen(context, builder, signature, args):
        _, itemsize, vector, totals = _emit_tile(context, builder, signature, args)
        out_data = _pointer(context, builder, signature.args[7], args[7], vector)
        for r, total in enumerate(totals):
            builder.store(total, builder.gep(out_data, [_I64(r)]), align=itemsize)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def tile_two_best(typingctx, X, i0, i1, i2, i3, panel, start, skip, best, second, lane):
    """The two smallest of ``start + X[i_r] @ panel`` for four rows, and where the smallest is.

    As :func:`tile_scores`, but the scores never leave the registers. ``skip[r]`` is a lane to leave
    out for row r, or -1. ``best``, ``second`` (X's dtype) and ``lane`` (int32) have four entries.
    """
    index = types.int64
    rows = (index, index, index, index)
    signature = types.void(X, *rows, panel, start, skip, best, second, lane)

    def codegen(context, builder, signature, args):
        scalar, _itemsize, _vector, totals = _emit_tile(context, builder, signature, args)
        skip_data = _pointer(context, builder, signature.args[7], args[7], _I32)
        best_data = _pointer(context, builder, signature.args[8], args[8], scalar)
        second_data = _pointer(context, builder, signature.args[9], args[9], scalar)
        lane_data = _pointer(context, builder, signature.args[10], args[10], _I32)
        for r, scores in enumerate(totals):
            here = _I64(r)
            scores = _without(builder, scores, _load(builder, skip_data, here, 4))
            smallest, following, where = two_smallest(builder, scores)
            builder.store(smallest, builder.gep(best_data, [here]))
            builder.store(following, builder.gep(second_data, [here]))
            builder.store(where, builder.gep(lane_data, [here]))
        return context.get_dummy_value()

    return signature, codegen


def _prefetch(builder, address):
    """Ask for the cache line at an address."""
    byte = ir.IntType(8).as_pointer()
    function = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32]),
        "llvm.prefetch.p0",
    )
    builder.call(function, [builder.inttoptr(address, byte), _I32(0), _I32(3), _I32(1)])


def _distance_intrinsic(exact):
    """``Σ (X[i] - C[j])²``, either in one fixed order in float64 or as fast as it goes."""

    @intrinsic
    def distance(typingctx, X, i, C, j):
        signature = (types.float64 if exact else X.dtype)(X, types.int64, C, types.int64)

        def codegen(context, builder, signature, args):
            scalar = context.get_value_type(signature.args[0].dtype)
            itemsize = signature.args[0].dtype.bitwidth // 8
            lanes = 8 if exact else 128 // itemsize
            working = ir.DoubleType() if exact else scalar
            widen = exact and scalar == _F32

            def row(kind, array, number):
                struct = make_array(kind)(context, builder, array)
                stride = cgutils.unpack_tuple(builder, struct.strides, 2)[0]
                base = builder.ptrtoint(struct.data, _I64)
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
                return _multiply_add(builder, delta, delta, total)

            whole = builder.and_(n_features, _I64(-lanes))
            zero = ir.Constant(ir.VectorType(working, lanes), [0.0] * lanes)
            (sums,) = loop(
                builder, _I64(0), whole, lanes, [zero], lambda t, s: [add_square(t, s[0], lanes)]
            )
            total = _fold(builder, sums, builder.fadd)
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
        possible = builder.fcmp_ordered(">=", splat(builder, args[4], _VECTOR), bounds)
        return builder.zext(builder.bitcast(possible, _I16), _I32)

    return signature, codegen


@intrinsic
def lowest_bit(typingctx, mask):
    """Position of the lowest set bit."""
    signature = types.int64(mask)

    def codegen(context, builder, signature, args):
        position = builder.cttz(args[0], _I1(0))
        return position if position.type == _I64 else builder.zext(position, _I64)

    return signature, codegen


# --- sparse rows -------------------------------------------------------------------------------


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
            entries = ir.VectorType(ir.HalfType() if halves else _F32, LANES)

            index_array = make_array(indices_type)(context, builder, args[0])
            last = cgutils.unpack_tuple(builder, index_array.shape, 1)[0]
            last = builder.sub(last, _I64(1))
            value_data = make_array(values_type)(context, builder, args[1]).data
            table_array = make_array(table_type)(context, builder, args[4])
            stride = cgutils.unpack_tuple(builder, table_array.strides, 2)[0]
            base = builder.ptrtoint(table_array.data, _I64)
            base = builder.add(base, builder.mul(column, _I64(entry_size)))
            out_data = make_array(out_type)(context, builder, args[6]).data
            out_data = builder.bitcast(builder.gep(out_data, [column]), _VECTOR.as_pointer())

            def address(position):
                feature = builder.load(builder.gep(index_array.data, [position]))
                if feature.type != _I64:
                    feature = builder.sext(feature, _I64)
                return builder.add(base, builder.mul(feature, stride))

            def body(p, sums):
                ahead = builder.add(p, _I64(_AHEAD))
                ahead = builder.select(builder.icmp_signed("<", ahead, last), ahead, last)
                soon = address(ahead)
                for line in range(0, n_vectors * LANES * entry_size, 64):
                    _prefetch(builder, builder.add(soon, _I64(line)))
                row = builder.inttoptr(address(p), entries.as_pointer())
                value = splat(builder, builder.load(builder.gep(value_data, [p])), _VECTOR)
                totals = []
                for v, total in enumerate(sums):
                    loaded = _load(builder, row, _I64(v), entry_size)
                    if halves:
                        loaded = builder.fpext(loaded, _VECTOR)
                    totals.append(_multiply_add(builder, value, loaded, total))
                return totals

            zero = ir.Constant(_VECTOR, [0.0] * LANES)
            for v, total in enumerate(loop(builder, begin, end, 1, [zero] * n_vectors, body)):
                builder.store(total, builder.gep(out_data, [_I64(v)]), align=4)
            return context.get_dummy_value()

        return signature, codegen

    return stream


_stream16, _stream32, _stream48, _stream64 = (_make_stream(n) for n in (1, 2, 3, 4))


@kernel
def stream_products(indices, values, begin, end, table, out):
    """``out = Σ values[p] * table[indices[p]]`` over the nonzeros begin:end of one row.

    ``table`` has float32 entries or the bits of IEEE halves (uint16), and a multiple of sixteen
    columns; ``out`` is float32 and as long.
    """
    column = 0
    while column + STREAM_COLUMNS <= table.shape[1]:
        _stream64(indices, values, begin, end, table, column, out)
        column += STREAM_COLUMNS
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
            _pointer(context, builder, kind, array, _VECTOR)
            for kind, array in zip(signature.args, args)
            if isinstance(kind, types.Array)
        )
        shape = make_array(signature.args[-1])(context, builder, args[-1]).shape
        n_vectors = builder.sdiv(cgutils.unpack_tuple(builder, shape, 1)[0], _I64(LANES))
        reach = splat(builder, args[4], _VECTOR)

        def body(v, carried):
            slope, half_norm, spread, floor = (_load(builder, p, v, 4) for p in parameters)
            product = builder.fmul(slope, _load(builder, scores, v, 4))
            score = builder.fsub(half_norm, product)
            error = _multiply_add(builder, reach, spread, floor)
            builder.store(builder.fsub(score, error), builder.gep(scores, [v]), align=4)
            return [smaller(builder, builder.fadd(score, error), carried[0])]

        infinite = ir.Constant(_VECTOR, [np.inf] * LANES)
        (ceiling,) = loop(builder, _I64(0), n_vectors, 1, [infinite], body)
        return _smallest_lane(builder, ceiling)

    return signature, codegen


@intrinsic
def sift(typingctx, scores, ceiling):
    """How many scores are at most ``ceiling``, the last of them, and the smallest of the rest."""
    signature = types.Tuple((types.int32, types.int32, types.float32))(scores, types.float32)

    def codegen(context, builder, signature, args):
        kind = signature.args[0]
        scores = _pointer(context, builder, kind, args[0], _VECTOR)
        shape = make_array(kind)(context, builder, args[0]).shape
        n_vectors = builder.sdiv(cgutils.unpack_tuple(builder, shape, 1)[0], _I64(LANES))
        ceiling = splat(builder, args[1], _VECTOR)
        infinite = ir.Constant(_VECTOR, [np.inf] * LANES)

        def body(v, carried):
            count, last, others = carried
            loaded = _load(builder, scores, v, 4)
            possible = builder.fcmp_ordered("<=", loaded, ceiling)
            mask = builder.bitcast(possible, _I16)
            found = builder.zext(builder.ctpop(mask), _I32)
            leading = builder.zext(builder.ctlz(mask, _I1(0)), _I32)
            position = builder.add(
                builder.trunc(builder.mul(v, _I64(LANES)), _I32),
                builder.sub(_I32(LANES - 1), leading),
            )
            return [
                builder.add(count, found),
                builder.select(builder.icmp_signed("!=", mask, _I16(0)), position, last),
                smaller(builder, builder.select(possible, infinite, loaded), others),
            ]

        count, last, others = loop(
            builder, _I64(0), n_vectors, 1, [_I32(0), _I32(-1), infinite], body
        )
        return context.make_tuple(
            builder, signature.return_type, [count, last, _smallest_lane(builder, others)]
        )

    return signature, codegen


@intrinsic
def half_as_float32(typingctx, bits):
    """The value of an IEEE half given by its bits."""
    signature = types.float32(types.uint16)

    def codegen(context, builder, signature, args):
        return builder.fpext(builder.bitcast(args[0], ir.HalfType()), _F32)

    return signature, codegen


@intrinsic
def as_half_bits(typingctx, value):
    """The bits of ``value`` (float32) rounded to an IEEE half."""
    signature = types.uint16(types.float32)

    def codegen(context, builder, signature, args):
        return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), _I16)

    return signature, codegen
