"""The nearest of many sums of two numbers and a table entry, without looking at most of them.

A row's score for the centroid ``(i, j)`` of a grid of sums is ``alpha[i] + beta[j] + cross[i, j]``:
what the row has to do with the protocentroids is in ``alpha`` and ``beta``, how those meet each
other in the table, which all rows share. Columns of the table lie in groups of sixteen whose
smallest entries are known, so whole rows of the table and whole groups are passed over.
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
    lowest_bit,
    possible_groups,
    two_smallest,
)


class Grid(NamedTuple):
    """How the two sides of a grid of sums meet; padded to multiples of sixteen."""

    cross: np.ndarray  # (L, R_padded) float32, as are the next two
    group_floors: np.ndarray  # (L, G_padded) smallest entry of each group of sixteen columns
    minus_row_floors: np.ndarray  # (L_padded,) minus the smallest entry of each row
    n_columns: int  # R
    split: int  # sets before this one make up the rows of the table
    starts: np.ndarray  # (p + 1,) where each set's protocentroids begin
    error: np.ndarray  # (3,) a score is wrong by at most error[0] norm + error[1] + error[2] norm²


class Sides(NamedTuple):
    """Room for what one row has to say about the protocentroids."""

    alpha: np.ndarray  # (1, L_padded) float32
    beta: np.ndarray  # (R_padded,) float32
    minus_beta_floors: np.ndarray  # (G_padded,) float32
    scores: np.ndarray  # (H,) float32


@intrinsic
def two_best_of_group(typingctx, beta, cross, i, first):
    """The two smallest of ``beta + cross[i]`` over sixteen columns, and where the smallest is."""
    index = types.int64
    signature = types.Tuple((types.float32, types.float32, types.int64))(beta, cross, index, index)

    def codegen(context, builder, signature, args):
        beta_lanes = lane_pointer(context, builder, signature.args[0], args[0], None, args[3])
        cross_lanes = lane_pointer(context, builder, signature.args[1], args[1], args[2], args[3])
        values = builder.fadd(load_lanes(builder, beta_lanes), load_lanes(builder, cross_lanes))
        best, second, where = two_smallest(builder, values)
        where = builder.zext(where, ir.IntType(64))
        return context.make_tuple(builder, signature.return_type, [best, second, where])

    return signature, codegen


@kernel
def expand(scores, starts, first, last, out):
    """``out`` = all sums of one score from each of the sets first:last, in C order."""
    n = 1
    out[0] = 0.0
    for q in range(first, last):
        h = starts[q + 1] - starts[q]
        for a in range(n - 1, -1, -1):
            base = out[a]
            for b in range(h):
                out[a * h + b] = base + scores[starts[q] + b]
        n *= h


@kernel
def take_sides(grid, sides):
    """Spread the scores of protocentroids over the two sides of the grid; the smallest beta."""
    n_sets = grid.starts.shape[0] - 1
    expand(sides.scores, grid.starts, 0, grid.split, sides.alpha[0])
    expand(sides.scores, grid.starts, grid.split, n_sets, sides.beta)
    lowest = np.float32(np.inf)
    for g in range(sides.beta.shape[0] // LANES):
        smallest = sides.beta[LANES * g]
        for lane in range(1, LANES):
            smallest = min(smallest, sides.beta[LANES * g + lane])
        sides.minus_beta_floors[g] = -smallest
        lowest = min(lowest, smallest)
    return lowest


@kernel
def guess(grid, sides):
    """A good score to begin with: the best of the row of the table that promises most."""
    alpha = sides.alpha[0]
    row = 0
    promise = np.float32(np.inf)
    for i in range(grid.cross.shape[0]):
        value = alpha[i] - grid.minus_row_floors[i]
        if value < promise:
            promise = value
            row = i
    best = np.float32(np.inf)
    for first in range(0, grid.cross.shape[1], LANES):
        value, _, _ = two_best_of_group(sides.beta, grid.cross, row, first)
        best = min(best, value)
    return alpha[row] + best


@kernel
def scan(grid, sides, previous, slack):
    """Best and second best score of the grid and the best one's number.

    Scores further than ``slack`` above the best may be missing from the second.
    """
    lowest = take_sides(grid, sides)
    alpha = sides.alpha[0]
    if previous >= 0:
        i = previous // grid.n_columns
        j = previous % grid.n_columns
        limit = alpha[i] + sides.beta[j] + grid.cross[i, j] + slack
    else:
        limit = guess(grid, sides) + slack
    best = np.float32(np.inf)
    second = np.float32(np.inf)
    code = 0
    for first_row in range(0, alpha.shape[0], LANES):
        rows = possible_groups(
            sides.alpha, 0, grid.minus_row_floors, first_row, np.float32(limit - lowest)
        )
        while rows:
            i = first_row + lowest_bit(rows)
            rows &= rows - np.uint32(1)
            for first in range(0, sides.minus_beta_floors.shape[0], LANES):
                groups = possible_groups(
                    grid.group_floors, i, sides.minus_beta_floors, first, limit - alpha[i]
                )
                while groups:
                    column = LANES * (first + lowest_bit(groups))
                    groups &= groups - np.uint32(1)
                    low, next_low, lane = two_best_of_group(sides.beta, grid.cross, i, column)
                    low += alpha[i]
                    if low < best:
                        second = min(best, next_low + alpha[i])
                        best = low
                        code = i * grid.n_columns + column + lane
                        limit = min(limit, best + slack)
                    else:
                        second = min(second, low)
    return best, second, code


@kernel
def settle(rows, i, book, grid, sides, limit):
    """Nearest by exact score among cells not above ``limit``; the lowest number wins ties."""
    alpha = sides.alpha[0]
    best = np.inf
    label = -1
    for row in range(grid.cross.shape[0]):
        if alpha[row] - grid.minus_row_floors[row] - sides_top(sides) > limit:
            continue
        for column in range(grid.n_columns):
            if alpha[row] + (sides.beta[column] + grid.cross[row, column]) <= limit:
                code = row * grid.n_columns + column
                score = exact_score(rows, i, book, code)
                if score < best:
                    best = score
                    label = code
    return label


@kernel
def sides_top(sides):
    """Minus the smallest beta."""
    top = -np.float32(np.inf)
    for value in sides.minus_beta_floors:
        top = max(top, value)
    return top


@kernel
def label_row(rows, i, norm, book, grid, sides, previous):
    """Nearest centroid of a row whose protocentroid scores are in ``sides``."""
    error = grid.error[0] * norm + grid.error[1] + grid.error[2] * norm * norm
    slack = np.float32(2 * error * (1 + 2.0**-20) + 1e-37)
    best, second, code = scan(grid, sides, previous, slack)
    if second - best > slack:
        return code
    return settle(rows, i, book, grid, sides, best + slack)
