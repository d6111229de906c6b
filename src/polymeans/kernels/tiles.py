"""Scores of a few rows and one panel of centroids, formed in vector registers.

``tile_scores`` runs at about the speed of a tuned matrix product (``python -m benchmarks
kmeans-dense`` prints the bare product beside the fit); ``tile_two_best`` reduces the scores before
they leave the registers, so the product is never stored.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from polymeans.kernels.emit import (
    I32,
    I64,
    data_pointer,
    has_many_registers,
    load_at,
    loop,
    multiply_add,
    splat,
    two_smallest,
    without_lane,
)

#: Bytes in one row of a panel: one cache line, i.e. 16 float32 or 8 float64 centroids side by side.
PANEL_BYTES = 64

#: Rows a tile handles at once. Each has a running sum of 64 bytes: four of them take eight of the
#: sixteen registers of AVX2, and the operands fit into the rest.
TILE_ROWS = 4

#: Rows of :func:`tile_two_best`. On AVX-512 they are handled at once: it has 32 registers of 64
#: bytes, and four running sums would wait for each other. Elsewhere they are two times four.
MOST_ROWS = 2 * TILE_ROWS

#: Features summed up before they join the total: rounding errors grow with the length of a stretch
#: plus the number of stretches, not with the number of features. For d features that is least at
#: the root of d, which is 256 for 65536 of them; shorter stretches would add to the work of all.
STRETCH = 256


def panel_width(itemsize: int) -> int:
    """Number of centroids that lie side by side in one panel."""
    return PANEL_BYTES // itemsize


def tile_terms(n_features: int) -> float:
    """Roundings a tile's score has seen at most."""
    return min(n_features, STRETCH) + -(-n_features // STRETCH) + 8.0


def _emit_tile(context, builder, x, panel, start, numbers):
    """Code for ``start + X[number] @ panel``, for each of some row numbers.

    ``x``, ``panel`` and ``start`` are pairs of a type and a value.
    """
    (x_type, x), (panel_type, panel), (start_type, start) = x, panel, start
    scalar = context.get_value_type(x_type.dtype)
    itemsize = x_type.dtype.bitwidth // 8
    vector = ir.VectorType(scalar, PANEL_BYTES // itemsize)

    x = context.make_array(x_type)(context, builder, x)
    n_features = cgutils.unpack_tuple(builder, x.shape, 2)[1]
    stride = cgutils.unpack_tuple(builder, x.strides, 2)[0]
    base = builder.ptrtoint(x.data, I64)
    rows = [
        builder.inttoptr(builder.add(base, builder.mul(i, stride)), scalar.as_pointer())
        for i in numbers
    ]
    panel_data = data_pointer(context, builder, panel_type, panel, vector)
    start_data = data_pointer(context, builder, start_type, start, vector)
    initial = builder.load(start_data, align=itemsize)

    def body(t, sums):
        centroids = load_at(builder, panel_data, t, itemsize)
        return [
            multiply_add(
                builder, splat(builder, load_at(builder, row, t, itemsize), vector), centroids, s
            )
            for row, s in zip(rows, sums)
        ]

    def stretch(begin, totals):
        end = builder.add(begin, I64(STRETCH))
        end = builder.select(builder.icmp_signed("<", end, n_features), end, n_features)
        zero = ir.Constant(vector, [0.0] * vector.count)
        sums = loop(builder, begin, end, 1, [zero] * len(rows), body)
        return [builder.fadd(total, s) for total, s in zip(totals, sums)]

    return loop(builder, I64(0), n_features, STRETCH, [initial] * len(rows), stretch)


@intrinsic
def tile_scores(typingctx, X, i0, i1, i2, i3, panel, start, out):
    """``out[r] = start + X[i_r] @ panel`` for four rows of ``X``.

    ``panel`` is (n_features, width), ``start`` (width,), ``out`` (4, width), all C-ordered and of
    X's dtype, with width such that a panel row is 64 bytes. No bounds are checked.
    """
    index = types.int64
    signature = types.void(X, index, index, index, index, panel, start, out)

    def codegen(context, builder, signature, args):
        typed = list(zip(signature.args, args))
        totals = _emit_tile(context, builder, typed[0], typed[5], typed[6], args[1:5])
        out_data = data_pointer(context, builder, *typed[7], totals[0].type)
        for r, total in enumerate(totals):
            builder.store(total, builder.gep(out_data, [I64(r)]), align=X.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def tile_two_best(typingctx, X, rows, n_rows, panel, start, skip, best, second, lane):
    """The two smallest of ``start + X[rows[r]] @ panel`` for up to eight rows, and where they are.

    As :func:`tile_scores`, but the scores never leave the registers. ``rows`` (int64) has the
    numbers of four rows, or of eight if ``n_rows`` is above four. ``skip[r]`` is a lane to leave
    out for row r, or -1. ``best``, ``second`` (X's dtype) and ``lane`` (int32, of the smallest)
    have as many entries.
    """
    index = types.int64
    signature = types.void(X, rows, index, panel, start, skip, best, second, lane)

    def codegen(context, builder, signature, args):
        typed = list(zip(signature.args, args))
        scalar = context.get_value_type(X.dtype)
        numbers = data_pointer(context, builder, *typed[1], I64)
        skip_data = data_pointer(context, builder, *typed[5], I32)
        best_data = data_pointer(context, builder, *typed[6], scalar)
        second_data = data_pointer(context, builder, *typed[7], scalar)
        lane_data = data_pointer(context, builder, *typed[8], I32)

        def tile(first, last):
            places = [I64(r) for r in range(first, last)]
            of_rows = [load_at(builder, numbers, here, 8) for here in places]
            totals = _emit_tile(context, builder, typed[0], typed[3], typed[4], of_rows)
            for here, scores in zip(places, totals):
                scores = without_lane(builder, scores, load_at(builder, skip_data, here, 4))
                smallest, following, where = two_smallest(builder, scores)
                builder.store(smallest, builder.gep(best_data, [here]))
                builder.store(following, builder.gep(second_data, [here]))
                builder.store(where, builder.gep(lane_data, [here]))

        is_more = builder.icmp_signed(">", args[2], I64(TILE_ROWS))
        if has_many_registers(context):
            with builder.if_else(is_more) as (more, few):
                with more:
                    tile(0, MOST_ROWS)
                with few:
                    tile(0, TILE_ROWS)
        else:
            tile(0, TILE_ROWS)
            with builder.if_then(is_more):
                tile(TILE_ROWS, MOST_ROWS)
        return context.get_dummy_value()

    return signature, codegen
