"""The nearest of many sums of two numbers and a table entry, for 64 rows at a time.

A row's score for the centroid ``(i, j)`` of a grid of sums is ``alpha[i] + beta[j] + cross[i, j]``:
what the row has to do with the protocentroids is in ``alpha`` and ``beta``, how those meet each
other in the table, which all rows share. Rows lie side by side in vector lanes, so an entry of the
table serves 64 of them with one addition and one comparison each. A row of the table that none of
them can use is passed over.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from polymeans.kernels.compile import kernel
from polymeans.kernels.rows import exact_score
from polymeans.kernels.vector import (
    LANES,
    lane_pointer,
    load_lanes,
    loop,
    lowest_bit,
    smaller,
    splat,
)

#: Rows side by side.
SIDE = 64

_I64 = ir.IntType(64)


class Grid(NamedTuple):
    """How the two sides of a grid of sums meet."""

    cross: np.ndarray  # (L, R) float32
    floors: np.ndarray  # (L,) float32, the smallest entry of each row of the table
    split: int  # sets before this one make up the rows of the table
    starts: np.ndarray  # (p + 1,) where each set's protocentroids begin
    error: np.ndarray  # (3,) a score is wrong by at most error[0] norm + error[1] + error[2] norm²


class Sides(NamedTuple):
    """Room for what 64 rows have to say about the protocentroids; all float32."""

    scores: np.ndarray  # (H, 64) of each protocentroid
    alpha: np.ndarray  # (L, 64)
    beta: np.ndarray  # (R, 64)
    lowest: np.ndarray  # (L, 64) smallest score in each row of the table
    best: np.ndarray  # (1, 64)
    slack: np.ndarray  # (1, 64) scores this close to the best are candidates
    least: np.ndarray  # (1, 64) smallest beta


@intrinsic
def lowest_of_rows(typingctx, beta, cross, i, k, alpha, best, out):
    """``out[i] = alpha[i] + min_j (beta[j] + cross[i, j])`` in 64 lanes, and for row k too.

    Lowers ``best``. Two rows at a time, because what limits one is reading ``beta``; half of the
    lanes at a time, because that is what fits into the registers.
    """
    index = types.int64
    signature = types.void(beta, cross, index, index, alpha, best, out)

    def codegen(context, builder, signature, args):
        beta_type, cross_type, _, _, alpha_type, best_type, out_type = signature.args
        rows, zero = args[2:4], _I64(0)
        n_columns = _length(context, builder, cross_type, args[1])
        entries = [
            builder.bitcast(
                lane_pointer(context, builder, cross_type, args[1], row, zero),
                ir.FloatType().as_pointer(),
            )
            for row in rows
        ]
        columns = lane_pointer(context, builder, beta_type, args[0], None, zero)
        n_vectors = SIDE // LANES
        vector = columns.type.pointee
        infinite = ir.Constant(vector, [np.inf] * LANES)
        for half in range(0, n_vectors, 2):

            def body(j, lowest, half=half):
                first = builder.mul(j, _I64(n_vectors))
                pair = [
                    builder.load(builder.gep(columns, [builder.add(first, _I64(v))]), align=4)
                    for v in (half, half + 1)
                ]
                following = []
                for r, entry in enumerate(entries):
                    entry = splat(builder, builder.load(builder.gep(entry, [j])), vector)
                    for v, values in enumerate(pair):
                        candidate = builder.fadd(values, entry)
                        following.append(smaller(builder, candidate, lowest[2 * r + v]))
                return following

            totals = loop(builder, zero, n_columns, 1, [infinite] * 4, body)
            for position, value in enumerate(totals):
                row, here = rows[position // 2], _I64(LANES * (half + position % 2))
                own = lane_pointer(context, builder, alpha_type, args[4], row, here)
                value = builder.fadd(load_lanes(builder, own), value)
                target = lane_pointer(context, builder, out_type, args[6], row, here)
                builder.store(value, target, align=4)
                where = lane_pointer(context, builder, best_type, args[5], zero, here)
                lower = smaller(builder, value, load_lanes(builder, where))
                builder.store(lower, where, align=4)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def within(typingctx, values, i, floor, offset, best, slack):
    """Bits of the 64 lanes where ``values[i] + floor + offset <= best + slack``."""
    signature = types.uint64(values, types.int64, types.float32, offset, best, slack)

    def codegen(context, builder, signature, args):
        zero = _I64(0)
        mask = zero
        for v in range(SIDE // LANES):
            here = _I64(LANES * v)

            def lanes(position, row=zero, here=here):
                kind, array = signature.args[position], args[position]
                return load_lanes(builder, lane_pointer(context, builder, kind, array, row, here))

            value = lanes(0, args[1])
            floor = splat(builder, args[2], value.type)
            value = builder.fadd(builder.fadd(value, floor), lanes(3))
            limit = builder.fadd(lanes(4), lanes(5))
            possible = builder.fcmp_ordered("<=", value, limit)
            bits = builder.zext(builder.bitcast(possible, ir.IntType(LANES)), _I64)
            mask = builder.or_(mask, builder.shl(bits, here))
        return mask

    return signature, codegen


def _length(context, builder, kind, array):
    from numba.core import cgutils
    from numba.np.arrayobj import make_array

    return cgutils.unpack_tuple(builder, make_array(kind)(context, builder, array).shape, 2)[1]


@kernel
def expand(scores, starts, first, last, out):
    """``out`` = all sums of one score from each of the sets first:last, in C order."""
    n = 1
    out[0] = 0.0
    for q in range(first, last):
        h = starts[q + 1] - starts[q]
        for a in range(n - 1, -1, -1):
            for b in range(h - 1, -1, -1):
                for lane in range(SIDE):
                    out[a * h + b, lane] = out[a, lane] + scores[starts[q] + b, lane]
        n *= h


@kernel
def label_side_by_side(
    rows,  # IN  row container
    b0,  # IN  first row
    n,  # IN  how many of the 64 lanes hold rows
    norms,  # IN  (n_samples,)
    book,  # IN  the grid's exact form
    grid,
    sides,  # IN  scores of the rows; BUFFER the rest
    zeros,  # IN  (1, 64) zeros
    previous,  # IN  (n_samples,) labels to begin with, -1: none
    labels,  # OUT (n_samples,)
):
    """Nearest centroids of up to 64 rows whose protocentroid scores are known."""
    n_rows, n_columns = grid.cross.shape
    n_sets = grid.starts.shape[0] - 1
    alpha, beta = sides.alpha, sides.beta
    if grid.split == 1:  # one set: its scores are the side already
        alpha = sides.scores[:n_rows]
    else:
        expand(sides.scores, grid.starts, 0, grid.split, alpha)
    if grid.split == n_sets - 1:
        beta = sides.scores[grid.starts[grid.split] :]
    else:
        expand(sides.scores, grid.starts, grid.split, n_sets, beta)
    best, slack, least = sides.best[0], sides.slack[0], sides.least[0]
    for lane in range(SIDE):
        least[lane] = np.inf
    for j in range(n_columns):
        for lane in range(SIDE):
            least[lane] = min(least[lane], beta[j, lane])
    for lane in range(SIDE):
        best[lane] = -np.inf  # lanes without a row never ask for anything
        slack[lane] = 0.0
    for lane in range(n):
        norm = norms[b0 + lane]
        error = grid.error[0] * norm + grid.error[1] + grid.error[2] * norm * norm
        slack[lane] = 2 * error * (1 + 2.0**-20) + 1e-37
        best[lane] = np.inf
        code = previous[b0 + lane]
        if code >= 0:
            i = code // n_columns
            j = code % n_columns
            best[lane] = alpha[i, lane] + (beta[j, lane] + grid.cross[i, j])

    waiting = -1
    for i in range(n_rows):
        if within(alpha, i, grid.floors[i], sides.least, sides.best, sides.slack):
            if waiting >= 0:
                lowest_of_rows(beta, grid.cross, waiting, i, alpha, sides.best, sides.lowest)
                waiting = -1
            else:
                waiting = i
        else:
            for lane in range(SIDE):
                sides.lowest[i, lane] = np.inf
    if waiting >= 0:
        lowest_of_rows(beta, grid.cross, waiting, waiting, alpha, sides.best, sides.lowest)

    for lane in range(n):
        labels[b0 + lane] = -1
    settled = np.uint64(0)
    for i in range(n_rows):
        hits = within(sides.lowest, i, np.float32(0.0), zeros, sides.best, sides.slack)
        while hits:
            lane = lowest_bit(hits)
            bit = np.uint64(1) << np.uint64(lane)
            hits ^= bit
            if settled & bit:
                continue
            row = b0 + lane
            limit = best[lane] + slack[lane]
            column, n_near = nearest_column(alpha, beta, grid.cross, i, lane, limit)
            if labels[row] < 0 and n_near == 1:
                labels[row] = i * n_columns + column
            else:
                settled |= bit
                labels[row] = settle(
                    rows, row, book, grid.cross, alpha, beta, sides.lowest, lane, limit
                )


@kernel
def nearest_column(alpha, beta, cross, i, lane, limit):
    """The column of row i of the table with the smallest score, and how many are candidates."""
    best = np.float32(np.inf)
    column = 0
    n_near = 0
    bound = limit - alpha[i, lane]
    for j in range(cross.shape[1]):
        value = beta[j, lane] + cross[i, j]
        if value <= bound:
            n_near += 1
        if value < best:
            best = value
            column = j
    return column, max(n_near, 1)


@kernel
def settle(rows, row, book, cross, alpha, beta, lowest, lane, limit):
    """Nearest by exact score among cells not above ``limit``; the lowest number wins ties."""
    n_rows, n_columns = cross.shape
    best = np.inf
    label = 0
    for i in range(n_rows):
        if lowest[i, lane] > limit:
            continue
        for j in range(n_columns):
            if alpha[i, lane] + (beta[j, lane] + cross[i, j]) <= limit:
                score = exact_score(rows, row, book, i * n_columns + j)
                if score < best:
                    best = score
                    label = i * n_columns + j
    return label
