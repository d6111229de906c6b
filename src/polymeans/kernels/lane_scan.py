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
    has_many_registers,
    load_at,
    loop,
    multiply_add,
    smaller,
    splat,
)
from polymeans.kernels.lanes import TURN_BYTES, transpose_pieces
from polymeans.kernels.tiles import STRETCH

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
    def scan(typingctx, sources, line, last, values, starts, begin, end, best, second, lane):
        index = types.int64
        signature = types.void(
            sources, index, index, values, starts, index, index, best, second, lane
        )

        def codegen(context, builder, signature, args):
            def pointer(position, pointee):
                return data_pointer(
                    context, builder, signature.args[position], args[position], pointee
                )

            line, last, begin, end = args[1], args[2], args[5], args[6]
            struct = context.make_array(signature.args[0])(context, builder, args[0])
            height = cgutils.unpack_tuple(builder, struct.shape, 3)[1]
            rows = builder.bitcast(struct.data, VECTOR.as_pointer())
            values, starts = pointer(3, F32), pointer(4, F32)
            best, second, lane = pointer(7, VECTOR), pointer(8, VECTOR), pointer(9, _LABELS)

            def end_of(begin):
                end = builder.add(begin, I64(STRETCH))
                return builder.select(builder.icmp_signed("<", end, height), end, height)

            def scan_lines(lines):
                """Emit the scan of some lines at once."""
                sources = [builder.gep(rows, [builder.mul(one, height)]) for one in lines]

                def group(g, carried):
                    first = builder.mul(g, I64(width))
                    base = builder.mul(first, height)
                    initial = [
                        splat(
                            builder, load_at(builder, starts, builder.add(first, I64(c)), 4), VECTOR
                        )
                        for c in range(width)
                    ]

                    def add(t, sums):
                        x = [load_at(builder, source, t, _LINE_BYTES) for source in sources]
                        place = builder.add(base, builder.mul(t, I64(width)))
                        out = []
                        for c in range(width):
                            number = load_at(builder, values, builder.add(place, I64(c)), 4)
                            number = splat(builder, number, VECTOR)
                            for q, row in enumerate(x):
                                total = sums[c * len(x) + q]
                                out.append(multiply_add(builder, row, number, total))
                        return out

                    def stretch(begin, totals):
                        zeros = [ir.Constant(VECTOR, [0.0] * LANES)] * len(totals)
                        sums = loop(builder, begin, end_of(begin), 1, zeros, add)
                        return [builder.fadd(total, s) for total, s in zip(totals, sums)]

                    twice = [start for start in initial for _ in sources]
                    scores = loop(builder, I64(0), end_of(I64(0)), 1, twice, add)
                    scores = loop(builder, I64(STRETCH), height, STRETCH, scores, stretch)
                    found = []
                    for q in range(len(sources)):
                        least, following, where = carried[3 * q : 3 * q + 3]
                        for c, score in enumerate(scores[q :: len(sources)]):
                            nearer = builder.fcmp_ordered("<", score, least)
                            farther = builder.select(nearer, least, score)
                            following = smaller(builder, farther, following)
                            least = builder.select(nearer, score, least)
                            number = builder.trunc(builder.add(first, I64(c)), I32)
                            number = splat(builder, number, _LABELS)
                            where = builder.select(nearer, number, where)
                        found += [least, following, where]
                    return found

                places = [
                    builder.gep(result, [one]) for one in lines for result in (best, second, lane)
                ]
                known = [builder.load(place, align=_LINE_BYTES) for place in places]
                for value, place in zip(loop(builder, begin, end, 1, known, group), places):
                    builder.store(value, place, align=_LINE_BYTES)

            following = builder.add(line, I64(1))
            is_pair = builder.icmp_signed("<", line, last)
            if has_many_registers(context):
                with builder.if_else(is_pair) as (both, one):
                    with both:
                        scan_lines([line, following])
                    with one:
                        scan_lines([line])
            else:
                scan_lines([line])
                with builder.if_then(is_pair):
                    scan_lines([following])
            return context.get_dummy_value()

        return signature, codegen

    scan.__doc__ = f"""Two smallest scores of twice sixteen rows, over groups of {width} centroids.

    ``sources`` (n_lines, height, 16) has the rows side by side; lines ``line`` and ``line + 1`` are
    looked at, the latter if it is not behind ``last``. ``values`` (n_groups, height, {width}) and
    ``starts`` (n_groups, {width}) have the centroids; groups begin:end are looked at. ``best``,
    ``second`` (float32) and ``lane`` (int32) are (n_lines, 16). All begin at multiples of 64 bytes,
    except values and starts.

    On AVX-512 both lines are looked at at once: one alone needs {width} running sums, which would
    wait for each other.
    """
    return scan


scan_by_3, scan_by_4, scan_by_5 = (_scan(width) for width in SCAN_WIDTHS)
