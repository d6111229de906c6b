"""Greedy k-means++ over small dense rows in one call.

The same operations as in :mod:`polymeans.engine.plus_plus`, in the same order, hence the same rows:
there each centroid takes a dozen calls, which small data do not fill with work.
"""

import math

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.dense import ScoreError, ScoreFrame, pack_panels
from polymeans.kernels.seeding import (
    candidate_distances_dense,
    lower_closest,
    potentials,
    rows_of_units,
    total_units,
)

#: Bits of a total of whole numbers that rows are drawn by, see :mod:`polymeans.engine.drawing`.
_DRAWN_BITS = 61


@kernel
def share_of(draw, total):
    """``int(draw * 2**53) * total >> 53`` for a number below one, and a total below 2**62."""
    m = np.int64(draw * 9007199254740992.0)
    m_high, m_low = m >> 27, m & ((1 << 27) - 1)
    high, low = total >> 31, total & ((1 << 31) - 1)
    # Four products of at most 58 bits, each cut where the shift cuts it.
    first, second, third, fourth = m_high * high, m_high * low, m_low * high, m_low * low
    rest = (second & ((1 << 26) - 1)) << 27
    rest += (third & ((1 << 22) - 1)) << 31
    rest += fourth & ((1 << 53) - 1)
    return (first << 5) + (second >> 26) + (third >> 22) + (fourth >> 53) + (rest >> 53)


@kernel(inner=True, allocates=True)
def _order_of(numbers):
    """Where the smallest of a few numbers is, then the next; numpy's sorts take long to compile."""
    order = np.empty(numbers.shape[0], dtype=np.int64)
    for position in range(numbers.shape[0]):
        before = position
        while before > 0 and numbers[order[before - 1]] > numbers[position]:
            order[before] = order[before - 1]
            before -= 1
        order[before] = position
    return order


@kernel(inner=True, allocates=True)
def _draw(masses, largest, n_bits, draws, found):
    """Write the rows that numbers between 0 and 1 fall on, in proportion to the rows' masses."""
    n_draws = draws.shape[0]
    if not largest > 0:
        found[:] = masses.shape[0] - 1
        return
    bits = _DRAWN_BITS - n_bits - math.frexp(largest)[1]
    low = bits // 2  # one factor could leave the range of numbers
    scales = math.ldexp(1.0, low), math.ldexp(1.0, bits - low)
    total = total_units(masses, *scales)
    order = _order_of(draws)
    targets = np.empty(n_draws, dtype=np.int64)
    for position in range(n_draws):
        targets[position] = share_of(draws[order[position]], total)
    rows = rows_of_units(masses, *scales, targets)
    for position in range(n_draws):
        found[order[position]] = rows[position]


@kernel(inner=True)
def _largest(masses):
    largest = 0.0
    for i in range(masses.shape[0]):
        largest = max(largest, masses[i])
    return largest


@kernel(allocates=True)
def greedy_plus_plus(
    rows,  # IN  row container
    weights,  # IN  (n,)
    frame,  # IN  where scores are measured from, with the errors of any candidates
    book,  # IN  the candidates, the same array as candidates
    draws,  # IN  (1 + (k - 1) m,) numbers between 0 and 1
    draw_bits,  # IN  of the number of rows, for draws
    sum_bits,  # IN  the same for sums
    candidates,  # BUFFER (m, d)
    panels,  # BUFFER
    block,  # BUFFER
    tile,  # BUFFER
    chosen,  # OUT (k,) row numbers
):
    """Draw one row, then m candidates at a time, of which the best is chosen."""
    n, d = rows.values.shape
    m = candidates.shape[0]
    distances = np.empty((m, n), dtype=rows.values.dtype)
    closest, masses = np.empty(n), np.empty(n)
    closest[:] = np.inf
    norms = np.empty(m)
    drawn = np.empty(m, dtype=np.int64)
    rungs = np.empty((m, 2))
    for c in range(chosen.shape[0]):
        if c == 0:
            _draw(weights, _largest(weights), draw_bits, draws[:1], drawn[:1])
            drawn[1:] = drawn[0]
            largest = 0.0
        else:
            largest = _largest(masses)
            own = draws[1 + (c - 1) * m : 1 + c * m]
            _draw(masses, largest, draw_bits, own, drawn)
        for j in range(m):
            for t in range(d):
                candidates[j, t] = rows.values[drawn[j], t]
        pack_panels(candidates, frame.shift, panels, norms)
        e = frame.error
        longest, shortest = 0.0, np.inf
        for j in range(m):
            longest = max(longest, norms[j])
            shortest = min(shortest, norms[j])
        shortest = shortest if e.shortest < np.inf else np.inf
        error = ScoreError(e.product, e.score, e.faint, e.own, longest, shortest, e.certain)
        here = ScoreFrame(frame.shift, frame.shifted, frame.norms, error)
        candidate_distances_dense(rows, here, book, panels, 0, n, distances, block, tile)
        best = 0
        if c > 0:
            upper = max(math.frexp(largest)[1] + sum_bits - 53, -900)
            magic = math.ldexp(1.5, 52 + upper)
            second = math.ldexp(1.5, 52 + upper + sum_bits - 53)
            rungs[:] = 0.0
            potentials(distances, closest, weights, magic, second, 0, n, rungs)
            for j in range(1, m):
                if rungs[j, 0] + rungs[j, 1] < rungs[best, 0] + rungs[best, 1]:
                    best = j
        lower_closest(distances[best], weights, 0, n, closest, masses)
        chosen[c] = drawn[best]
