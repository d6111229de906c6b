"""The two nearest of all centroids for sixteen rows that lie side by side.

Each row is one lane of a vector, so that smallest scores are found without looking across lanes:
what that costs does not depend on the number of features, and few features are where tiles of four
rows by sixteen centroids (:mod:`polymeans.kernels.tiles`) spend most of their time. Scores are
float32 for rows of either precision; whoever calls knows a bound on their error.

No bounds of arrays are checked here.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from polymeans.kernels.emit import (
    F32,
    I32,
    I64,
    LANES,
    VECTOR,
    data_pointer,
    load_at,
    loop,
    multiply_add,
    smaller,
    splat,
)
from polymeans.kernels.lanes import TURN_BYTES, transpose_pieces

#: Numbers of centroids that are scored at once; each has a running sum of two registers of AVX2.
#: The one that leaves the fewest lanes of the last group empty is taken.
SCAN_WIDTHS = (3, 4, 5)

_LABELS = ir.VectorType(I32, LANES)
_LINE_BYTES = 64


def scan_width(n_clusters: int) -> int:
    """How many centroids to score at once: the fewest empty lanes, then the widest."""
    return min(SCAN_WIDTHS, key=lambda width: (-n_clusters % width, -width))


def joined(builder, parts):
    """Vectors of equal length one behind the other, by pairs."""
    while len(parts) > 1:
        positions = list(range(2 * parts[0].type.count))
        mask = ir.Constant(ir.VectorType(I32, len(positions)), positions)
        parts = [
            builder.shuffle_vector(one, two, mask) for one, two in zip(parts[::2], parts[1::2])
        ]
    return parts[0]


@intrinsic
def gather_lanes(typingctx, X, queue, first, last, shift, target, squares):
    """``target[t, r] = X[queue[min(first + r, last)], t] - shift[t]`` for sixteen rows, in float32.

    ``target`` is C-ordered, (n_features, 16), float32; ``squares`` (16,) receives the squared norms
    of what is written, as float32 adds them up. Both begin at multiples of 64 bytes.
    """
    index = types.int64
    signature = types.void(X, queue, index, index, shift, target, squares)

    def codegen(context, builder, signature, args):
        scalar = context.get_value_type(signature.args[0].dtype)
        itemsize = signature.args[0].dtype.bitwidth // 8
        width = TURN_BYTES // itemsize
        piece = ir.VectorType(scalar, width)
        narrow = ir.VectorType(F32, width)

        x = context.make_array(signature.args[0])(context, builder, args[0])
        n_features = cgutils.unpack_tuple(builder, x.shape, 2)[1]
        stride = cgutils.unpack_tuple(builder, x.strides, 2)[0]
        base = builder.ptrtoint(x.data, I64)
        numbers = data_pointer(context, builder, signature.args[1], args[1], I64)
        shifts = data_pointer(context, builder, signature.args[4], args[4], scalar)
        target = data_pointer(context, builder, signature.args[5], args[5], F32)
        squares = data_pointer(context, builder, signature.args[6], args[6], VECTOR)

        rows = []
        for r in range(LANES):
            i = builder.add(args[2], I64(r))
            i = builder.select(builder.icmp_signed("<", i, args[3]), i, args[3])
            address = builder.add(base, builder.mul(load_at(builder, numbers, i, 8), stride))
            rows.append(builder.inttoptr(address, scalar.as_pointer()))

        def rounded(values, kind):
            return values if itemsize == 4 else builder.fptrunc(values, kind)

        def turn(t, totals):
            totals = list(totals)
            for part, begin in enumerate(range(0, LANES, width)):
                values = [
                    builder.load(
                        builder.bitcast(builder.gep(row, [t]), piece.as_pointer()), align=itemsize
                    )
                    for row in rows[begin : begin + width]
                ]
                for c, column in enumerate(transpose_pieces(builder, values)):
                    here = builder.add(t, I64(c))
                    off = splat(builder, load_at(builder, shifts, here, itemsize), piece)
                    column = rounded(builder.fsub(column, off), narrow)
                    totals[part] = multiply_add(builder, column, column, totals[part])
                    place = builder.add(builder.mul(here, I64(LANES)), I64(begin))
                    where = builder.bitcast(builder.gep(target, [place]), narrow.as_pointer())
                    builder.store(column, where, align=4 * width)
            return totals

        def gather(t, totals):
            # Lane by lane into a register: a vector that is read back from sixteen separate
            # stores would wait for all of them.
            column = ir.Constant(ir.VectorType(scalar, LANES), ir.Undefined)
            for r, row in enumerate(rows):
                column = builder.insert_element(column, load_at(builder, row, t, itemsize), I32(r))
            off = splat(builder, load_at(builder, shifts, t, itemsize), column.type)
            column = rounded(builder.fsub(column, off), VECTOR)
            where = builder.gep(target, [builder.mul(t, I64(LANES))])
            where = builder.bitcast(where, VECTOR.as_pointer())
            builder.store(column, where, align=_LINE_BYTES)
            return [multiply_add(builder, column, column, totals[0])]

        whole = builder.and_(n_features, I64(-width))
        zeros = [ir.Constant(narrow, [0.0] * width)] * (LANES // width)
        parts = loop(builder, I64(0), whole, width, zeros, turn)
        total = joined(builder, parts)
        (total,) = loop(builder, whole, n_features, 1, [total], gather)
        builder.store(total, squares, align=_LINE_BYTES)
        return context.get_dummy_value()

    return signature, codegen


def _scan(width):
    """The scan for so many centroids at once."""

    @intrinsic
    def scan(typingctx, source, height, values, starts, begin, end, best, second, lane):
        index = types.int64
        signature = types.void(source, index, values, starts, index, index, best, second, lane)

        def codegen(context, builder, signature, args):
            def pointer(position, pointee):
                return data_pointer(
                    context, builder, signature.args[position], args[position], pointee
                )

            height, begin, end = args[1], args[4], args[5]
            source = pointer(0, VECTOR)
            values, starts = pointer(2, F32), pointer(3, F32)
            best, second, lane = pointer(6, VECTOR), pointer(7, VECTOR), pointer(8, _LABELS)

            def group(g, carried):
                least, following, where = carried
                first = builder.mul(g, I64(width))
                base = builder.mul(first, height)
                initial = [
                    splat(builder, load_at(builder, starts, builder.add(first, I64(c)), 4), VECTOR)
                    for c in range(width)
                ]

                def add(t, sums):
                    x = load_at(builder, source, t, _LINE_BYTES)
                    place = builder.add(base, builder.mul(t, I64(width)))
                    out = []
                    for c, total in enumerate(sums):
                        number = load_at(builder, values, builder.add(place, I64(c)), 4)
                        out.append(multiply_add(builder, x, splat(builder, number, VECTOR), total))
                    return out

                for c, score in enumerate(loop(builder, I64(0), height, 1, initial, add)):
                    nearer = builder.fcmp_ordered("<", score, least)
                    farther = builder.select(nearer, least, score)
                    following = smaller(builder, farther, following)
                    least = builder.select(nearer, score, least)
                    number = builder.trunc(builder.add(first, I64(c)), I32)
                    where = builder.select(nearer, splat(builder, number, _LABELS), where)
                return [least, following, where]

            known = [builder.load(pointer, align=_LINE_BYTES) for pointer in (best, second, lane)]
            found = loop(builder, begin, end, 1, known, group)
            for value, pointer_ in zip(found, (best, second, lane)):
                builder.store(value, pointer_, align=_LINE_BYTES)
            return context.get_dummy_value()

        return signature, codegen

    scan.__doc__ = f"""Two smallest scores of sixteen rows, over groups of {width} centroids.

    ``source`` (height, 16) has the rows side by side; ``values`` (n_groups, height, {width}) and
    ``starts`` (n_groups, {width}) the centroids; groups begin:end are looked at. ``best``,
    ``second`` (float32) and ``lane`` (int32) have sixteen entries. All begin at multiples of 64
    bytes, except values and starts.
    """
    return scan


scan_by_3, scan_by_4, scan_by_5 = (_scan(width) for width in SCAN_WIDTHS)
