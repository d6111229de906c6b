"""Nearest sums of protocentroids, for 64 rows at a time.

A row's score for the centroid ``(i, j)`` of a grid of sums is ``alpha[i] + beta[j] + cross[i, j]``:
``alpha`` and ``beta`` come from the row's products with the protocentroids. The table ``cross``,
which all rows share, comes from the protocentroids' products with each other. Rows lie side by side
in vector lanes, so an entry of the table serves 64 of them with one addition and one comparison
each. A row of the table that cannot hold the nearest centroid of any of them is skipped.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from polymeans.kernels.compile import kernel
from polymeans.kernels.dense import load_block
from polymeans.kernels.emit import I64, LANES, lane_pointer, load_lanes, loop, smaller, splat
from polymeans.kernels.masks import lowest_bit
from polymeans.kernels.rows import as_contested, exact_score, score_rounding
from polymeans.kernels.streams import stream_products
from polymeans.kernels.tiles import tile_scores

#: Rows side by side: four vectors, and as many as an integer has bits to mark them by.
SCAN_ROWS = 64


class ScanError(NamedTuple):
    """A score is wrong by at most ``by_norm |x| + constant + by_square |x|²``."""

    by_norm: float
    constant: float
    by_square: float


class ScanTable(NamedTuple):
    """What the two sides of a grid of sums, its first sets and its last ones, have in common."""

    cross: np.ndarray  # (L, R) float32
    floors: np.ndarray  # (L,) float32, the smallest entry of each row of the table
    split: int  # sets before this one make up the rows of the table
    starts: np.ndarray  # (p + 1,) where each set's protocentroids begin
    error: ScanError


class ScanBuffers(NamedTuple):
    """Buffers for the scores of 64 rows; all float32."""

    scores: np.ndarray  # (H, 64) of each protocentroid
    alpha: np.ndarray  # (L, 64)
    beta: np.ndarray  # (R, 64)
    lowest: np.ndarray  # (L, 64) smallest score in each row of the table
    best: np.ndarray  # (1, 64)
    slack: np.ndarray  # (1, 64) scores this close to the best are candidates
    least: np.ndarray  # (1, 64) smallest beta
    zeros: np.ndarray  # (1, 64) never written


class ProtocentroidTable(NamedTuple):
    """Protocentroids feature by feature, for CSR rows."""

    values: np.ndarray  # (d, H padded) float32
    half_norms: np.ndarray  # (H,) float32 half their squared norms


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
        rows, zero = args[2:4], I64(0)
        n_columns = _length(context, builder, cross_type, args[1])
        entries = [
            builder.bitcast(
                lane_pointer(context, builder, cross_type, args[1], row, zero),
                ir.FloatType().as_pointer(),
            )
            for row in rows
        ]
        columns = lane_pointer(context, builder, beta_type, args[0], None, zero)
        n_vectors = SCAN_ROWS // LANES
        vector = columns.type.pointee
        infinite = ir.Constant(vector, [np.inf] * LANES)
        for half in range(0, n_vectors, 2):

            def body(j, lowest, half=half):
                first = builder.mul(j, I64(n_vectors))
                pair = [
                    builder.load(builder.gep(columns, [builder.add(first, I64(v))]), align=4)
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
                row, here = rows[position // 2], I64(LANES * (half + position % 2))
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
        zero = I64(0)
        mask = zero
        for v in range(SCAN_ROWS // LANES):
            here = I64(LANES * v)

            def lanes(position, row=zero, here=here):
                kind, array = signature.args[position], args[position]
                return load_lanes(builder, lane_pointer(context, builder, kind, array, row, here))

            value = lanes(0, args[1])
            floor = splat(builder, args[2], value.type)
            value = builder.fadd(builder.fadd(value, floor), lanes(3))
            limit = builder.fadd(lanes(4), lanes(5))
            possible = builder.fcmp_ordered("<=", value, limit)
            bits = builder.zext(builder.bitcast(possible, ir.IntType(LANES)), I64)
            mask = builder.or_(mask, builder.shl(bits, here))
        return mask

    return signature, codegen


def _length(context, builder, kind, array):
    return cgutils.unpack_tuple(
        builder, context.make_array(kind)(context, builder, array).shape, 2
    )[1]


@kernel(inner=True)
def expand(scores, starts, first, last, out):
    """``out`` = all sums of one score from each of the sets first:last, in C order."""
    n = 1
    out[0] = 0.0
    for q in range(first, last):
        h = starts[q + 1] - starts[q]
        for a in range(n - 1, -1, -1):
            for b in range(h - 1, -1, -1):
                for lane in range(SCAN_ROWS):
                    out[a * h + b, lane] = out[a, lane] + scores[starts[q] + b, lane]
        n *= h


@kernel(inner=True)
def label_scan_rows(
    rows,  # IN  row container
    b0,  # IN  first row
    n,  # IN  how many of the 64 lanes hold rows
    norms,  # IN  (n_samples,)
    book,  # IN  the grid's exact form
    table,
    buffers,  # IN  scores of the rows, zeros; BUFFER the rest
    previous,  # IN  (n_samples,) labels to begin with, -1: none
    labels,  # OUT (n_samples,)
):
    """Nearest centroids of up to 64 rows whose protocentroid scores are known."""
    n_rows, n_columns = table.cross.shape
    n_sets = table.starts.shape[0] - 1
    alpha, beta = buffers.alpha, buffers.beta
    if table.split == 1:  # one set: its scores are the side already
        alpha = buffers.scores[:n_rows]
    else:
        expand(buffers.scores, table.starts, np.int64(0), table.split, alpha)
    if table.split == n_sets - 1:
        beta = buffers.scores[table.starts[table.split] :]
    else:
        expand(buffers.scores, table.starts, table.split, n_sets, beta)
    best, slack, least = buffers.best[0], buffers.slack[0], buffers.least[0]
    for lane in range(SCAN_ROWS):
        least[lane] = np.inf
    for j in range(n_columns):
        for lane in range(SCAN_ROWS):
            least[lane] = min(least[lane], beta[j, lane])
    for lane in range(SCAN_ROWS):
        best[lane] = -np.inf  # lanes without a row have no candidates
        slack[lane] = 0.0
    bound = table.error
    for lane in range(n):
        norm = norms[b0 + lane]
        error = bound.by_norm * norm + bound.constant + bound.by_square * norm * norm
        # Twice, for the best and the candidate; rounded up to float32.
        slack[lane] = 2 * error * (1 + 2.0**-20) + 1e-37
        best[lane] = np.inf
        code = previous[b0 + lane]
        if code >= 0:
            i = code // n_columns
            j = code % n_columns
            best[lane] = alpha[i, lane] + (beta[j, lane] + table.cross[i, j])

    # Rows of the table are scanned in pairs.
    waiting = -1
    for i in range(n_rows):
        if within(alpha, i, table.floors[i], buffers.least, buffers.best, buffers.slack):
            if waiting >= 0:
                lowest_of_rows(beta, table.cross, waiting, i, alpha, buffers.best, buffers.lowest)
                waiting = -1
            else:
                waiting = i
        else:
            for lane in range(SCAN_ROWS):
                buffers.lowest[i, lane] = np.inf
    if waiting >= 0:
        lowest_of_rows(beta, table.cross, waiting, waiting, alpha, buffers.best, buffers.lowest)

    for lane in range(n):
        labels[b0 + lane] = -1
    settled = np.uint64(0)
    for i in range(n_rows):
        hits = within(
            buffers.lowest, i, np.float32(0.0), buffers.zeros, buffers.best, buffers.slack
        )
        while hits:
            lane = lowest_bit(hits)
            bit = np.uint64(1) << np.uint64(lane)
            hits ^= bit
            if settled & bit:
                continue
            row = b0 + lane
            limit = best[lane] + slack[lane]
            column, n_near = nearest_column(alpha, beta, table.cross, i, lane, limit)
            if labels[row] < 0 and n_near == 1:
                labels[row] = i * n_columns + column
            else:
                settled |= bit
                labels[row] = settle(
                    rows,
                    row,
                    norms[row],
                    book,
                    table.cross,
                    alpha,
                    beta,
                    buffers.lowest,
                    lane,
                    limit,
                )


@kernel(inner=True)
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


@kernel(inner=True)
def settle(rows, row, norm, book, cross, alpha, beta, lowest, lane, limit):
    """Nearest by exact score among cells not above ``limit``, or that it is contested."""
    n_rows, n_columns = cross.shape
    best = rival = np.inf
    label = 0
    for i in range(n_rows):
        if lowest[i, lane] > limit:
            continue
        for j in range(n_columns):
            if alpha[i, lane] + (beta[j, lane] + cross[i, j]) <= limit:
                score = exact_score(rows, row, book, i * n_columns + j)
                if score < best:
                    rival = best
                    best = score
                    label = i * n_columns + j
                else:
                    rival = min(rival, score)
    if rival - best > score_rounding(rows, row, norm, book, rival, label, best, label):
        return label
    return as_contested(label)


@kernel
def assign_dense_sums(
    rows,  # IN  row container
    frame,  # IN  where rows are measured from
    book,  # IN  the grid's exact form
    panels,  # IN  protocentroids, packed
    table,
    lo,
    hi,
    previous,  # IN  (n,) labels to begin with, -1: none
    labels,  # OUT (n,)
    block,  # BUFFER (64, d)
    products,  # BUFFER (n_panels, 64, width)
    buffers,  # BUFFER
):
    """Nearest sums of protocentroids of dense rows lo:hi."""
    n_panels, _, width = products.shape
    n_protocentroids = buffers.scores.shape[0]
    for b0 in range(lo, hi, SCAN_ROWS):
        b1 = min(b0 + SCAN_ROWS, hi)
        m = b1 - b0
        x = load_block(rows.values, frame, b0, b1, block)
        for p in range(n_panels):
            for b in range(0, m, 4):
                tile_scores(
                    x,
                    b,
                    min(b + 1, m - 1),
                    min(b + 2, m - 1),
                    min(b + 3, m - 1),
                    panels.values[p],
                    panels.starts[p],
                    products[p, b : b + 4],
                )
            first = p * width
            for lane in range(min(width, n_protocentroids - first)):
                for b in range(SCAN_ROWS):
                    buffers.scores[first + lane, b] = products[p, b, lane]
        label_scan_rows(rows, b0, m, frame.norms, book, table, buffers, previous, labels)


@kernel
def assign_sparse_sums(
    rows,  # IN  row container
    values,  # IN  the nonzeros as float32
    norms,  # IN  (n,)
    book,  # IN  the grid's exact form
    protocentroids,  # IN  their table
    table,
    lo,
    hi,
    previous,  # IN  (n,)
    labels,  # OUT (n,)
    products,  # BUFFER (H padded,) float32
    buffers,  # BUFFER
):
    """Nearest sums of protocentroids of CSR rows lo:hi."""
    for b0 in range(lo, hi, SCAN_ROWS):
        m = min(SCAN_ROWS, hi - b0)
        for b in range(m):
            begin, end = rows.indptr[b0 + b], rows.indptr[b0 + b + 1]
            stream_products(rows.indices, values, begin, end, protocentroids.values, products)
            for q in range(protocentroids.half_norms.shape[0]):
                buffers.scores[q, b] = protocentroids.half_norms[q] - products[q]
        label_scan_rows(rows, b0, m, norms, book, table, buffers, previous, labels)
