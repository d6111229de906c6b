"""Nearest centroids of dense rows, most centroids being ruled out by products of bytes.

Rows and centroids, less a common shift, are rounded to bytes (:mod:`polymeans.kernels.byte_tiles`).
With x = y + e and c = b + f, where y and b are what was rounded to,

    |x·c - y·b| = |x·f + e·b| <= |x| |f| + |e| |b|,

so each score ``|c|²/2 - x·c`` has a lower bound. Centroids whose bound is above the score of one
that is known cannot be nearest. In practice one to three are left of a thousand, and these are
compared by their distances as the rows are: quick ones, and exact ones where those do not decide.
Labels are those of exact scores; only time depends on how well bytes can tell centroids apart.

A row may carry a *gap*, see :mod:`polymeans.kernels.dense_lanes`.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.byte_rounding import LARGEST_SQUARE, UNIT, to_bytes
from polymeans.kernels.byte_tiles import (
    BIAS,
    BYTE_ROWS,
    BYTES,
    CENTROID_LEVELS,
    ROW_LEVELS,
    byte_tile,
)
from polymeans.kernels.compile import kernel
from polymeans.kernels.dense import FINITE_OR_INFINITE, settled
from polymeans.kernels.distances import quick_squared_distance
from polymeans.kernels.masks import lowest_bit
from polymeans.kernels.rounding import round_up
from polymeans.kernels.rows import exact_score

#: What vanishes because it is too small for float32.
_TINY = 2.0**-126

#: Centroids that a row can keep in mind; there are more only where many are equally near.
MOST_CANDIDATES = 64


class BytePanels(NamedTuple):
    """Centroids in groups of sixteen, as multiples of their scales; the last group is padded."""

    values: np.ndarray  # (n_panels, n_quarters, 16) int32: four bytes each, plus the bias
    lines: np.ndarray  # (n_panels, 4, 16) float32, see byte_tile


class ByteBuffers(NamedTuple):
    """Rows that wait to be looked at, as bytes, and their candidates; capacity: a multiple of 8."""

    queue: np.ndarray  # (capacity,) int64 numbers of rows
    flat: np.ndarray  # (whole lines,) float32, one row less the shift, and zeros
    bytes: np.ndarray  # (capacity, 4 * n_quarters) int8; up to 12 more bytes can be written
    factors: np.ndarray  # (capacity, 3) float32 scale, how far off, norm
    sums: np.ndarray  # (capacity,) int32
    limits: np.ndarray  # (capacity,) float32, no less than the smallest score
    likely: np.ndarray  # (capacity,) int32 label of before, or -1
    own: np.ndarray  # (capacity,) float64 quick squared distance to the centroid of that label
    rest: np.ndarray  # (capacity, 16) float32 smallest bound of those that are no candidates
    low: np.ndarray  # (8, 16) float32
    masks: np.ndarray  # (8,) int32
    n_candidates: np.ndarray  # (capacity,) int32; above MOST_CANDIDATES: too many
    candidates: np.ndarray  # (capacity, MOST_CANDIDATES) int32
    bounds: np.ndarray  # (capacity, MOST_CANDIDATES) float32 lower bounds on their scores
    nears: np.ndarray  # (capacity, MOST_CANDIDATES) float64 quick squared distances, -1: not known


@kernel(inline="always", inner=True)
def _faint(n_quarters):
    """What products too small for float32 can add up to, and more."""
    return 8 * (n_quarters * BYTES + 8) * _TINY


@kernel(inline="always", inner=True)
def _take_row(rows, frame, i, b, buffers):
    """Bring row i to place b as bytes; whether float32 scores of it are numbers."""
    scale, total, off, norm, square = to_bytes(
        rows.values[i], frame.shift, ROW_LEVELS, 0, buffers.flat, buffers.bytes[b]
    )
    buffers.factors[b, 0] = scale
    buffers.factors[b, 1] = round_up(off)
    buffers.factors[b, 2] = round_up(norm)
    buffers.sums[b] = -BIAS * total
    return square <= LARGEST_SQUARE  # not if it is NaN


@kernel
def pack_byte_panels(
    centers,  # IN  (k, d)
    shift,  # IN  (d,)
    first,  # IN  panels first:last are written
    last,
    panels,  # OUT
    flat,  # BUFFER (whole lines,) float32, zeros
    packed,  # BUFFER (as many bytes,) int32
):
    """Write the shifted centroids into panels, as whole multiples of their scales."""
    k = centers.shape[0]
    n_quarters = panels.values.shape[1]
    out = packed.view(np.int8)
    for p in range(first, last):
        lines = panels.lines[p]
        for lane in range(16):
            j = 16 * p + lane
            if j >= k:
                lines[0, lane] = np.inf
                for line in range(1, 4):
                    lines[line, lane] = 0.0
                for t in range(n_quarters):
                    panels.values[p, t, lane] = 0
                continue
            scale, _, off, norm, square = to_bytes(
                centers[j], shift, CENTROID_LEVELS, BIAS, flat, out
            )
            for t in range(n_quarters):
                panels.values[p, t, lane] = packed[t]
            if not square <= LARGEST_SQUARE:  # nothing is known: it is a candidate of every row
                scale, norm, off, square = np.float32(0.0), 0.0, 0.0, -np.inf
            # What the centroid was rounded to is no longer than it and what rounding is off by.
            least = 0.5 * square * (1 - (centers.shape[1] + 16) * 4 * UNIT)
            lines[0, lane] = np.float32(least - _faint(n_quarters))
            lines[1, lane] = -scale
            lines[2, lane] = -round_up(norm + off)
            lines[3, lane] = -round_up(off)


class Blur(NamedTuple):
    """How far off a quick squared distance can be: relatively, and where numbers are too small."""

    relative: float
    faint: float


@kernel(inline="always", inner=True)
def _limit_by(b, near, blur, buffers):
    """No less than the score of a centroid at this quick squared distance."""
    norm = np.float64(buffers.factors[b, 2])
    square = norm * norm
    # The norm is no less than the true one, by a few roundings.
    least = square * (1 - (buffers.flat.shape[0] + 16) * 4 * UNIT)
    score = 0.5 * (near * (1 + blur.relative) + blur.faint - least)
    return round_up(score + 2.0**-40 * (near + square) + 1e-36)


@kernel(inline="always", inner=True)
def _keep(b, j, low, near, buffers):
    """Keep a centroid in mind that may be nearest, and its distance if it is known, else -1."""
    count = buffers.n_candidates[b]
    if count == MOST_CANDIDATES:  # some of them may have been ruled out since
        count = 0
        for q in range(MOST_CANDIDATES):
            bound = buffers.bounds[b, q]
            if bound < buffers.limits[b]:
                buffers.candidates[b, count] = buffers.candidates[b, q]
                buffers.bounds[b, count] = bound
                buffers.nears[b, count] = buffers.nears[b, q]
                count += 1
            else:
                buffers.rest[b, 0] = min(buffers.rest[b, 0], bound)
    if count < MOST_CANDIDATES:
        buffers.candidates[b, count] = j
        buffers.bounds[b, count] = low
        buffers.nears[b, count] = near
        buffers.n_candidates[b] = count + 1
    else:
        buffers.n_candidates[b] = MOST_CANDIDATES + 1


@kernel(inline="always", inner=True)
def _note_candidates(rows, book, b, r, first_cluster, blur, buffers):
    """Centroids of a panel below the limit of row b: one may lower it, the rest is kept in mind."""
    low, mask = buffers.low[r], np.uint32(buffers.masks[r])
    lowest = lowest_bit(mask)
    if mask & (mask - np.uint32(1)):
        for lane in range(16):
            if low[lane] < low[lowest]:
                lowest = lane
    nearest = first_cluster + lowest
    near = buffers.own[b]
    if nearest != buffers.likely[b]:
        near = np.float64(
            quick_squared_distance(rows.values, buffers.queue[b], book.numerators, nearest)
        )
        buffers.limits[b] = min(buffers.limits[b], _limit_by(b, near, blur, buffers))
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - np.uint32(1)
        if low[lane] < buffers.limits[b] and buffers.n_candidates[b] <= MOST_CANDIDATES:
            known = near if lane == lowest else -1.0
            _keep(b, first_cluster + lane, low[lane], known, buffers)
        else:
            buffers.rest[b, 0] = min(buffers.rest[b, 0], low[lane])


@kernel(inner=True)
def _scan(rows, book, panels, n_queued, blur, buffers):
    """Find the candidates of the queued rows."""
    for p in range(panels.values.shape[0]):
        panel, lines = panels.values[p], panels.lines[p]
        for first in range(0, n_queued, BYTE_ROWS):
            found = byte_tile(
                buffers.bytes,
                first,
                buffers.factors,
                buffers.sums,
                panel,
                lines,
                buffers.limits,
                buffers.low,
                buffers.rest,
                buffers.masks,
            )
            if found:
                for r in range(min(BYTE_ROWS, n_queued - first)):
                    if buffers.masks[r]:
                        _note_candidates(rows, book, first + r, r, 16 * p, blur, buffers)


@kernel(inner=True)
def _label_exactly(rows, i, book):
    """The nearest of all centroids by exact scores, marked if rounding could have decided."""
    best, label, rival = np.inf, -1, np.inf  # scores of very long rows may be infinite
    for j in range(book.numerators.shape[0]):
        exact = exact_score(rows, i, book, j)
        if exact < best:
            best, label, rival = exact, j, best
        else:
            rival = min(rival, exact)
    return settled(rows, i, book, best, label, rival)


@kernel(fastmath=FINITE_OR_INFINITE, inline="always", inner=True)
def _decide(rows, i, b, book, blur, buffers):
    """Label of a row whose candidates are known, and the gap; whether exact scores were needed."""
    count = buffers.n_candidates[b]
    limit = buffers.limits[b]
    rest = np.float32(np.inf)
    for lane in range(16):
        rest = min(rest, buffers.rest[b, lane])
    best = second = np.inf
    label = -1
    for q in range(count):
        bound = buffers.bounds[b, q]
        j = buffers.candidates[b, q]
        if not bound < limit:
            rest = min(rest, bound)
            continue
        near = buffers.nears[b, q]
        if near < 0:
            near = buffers.own[b]
            if j != buffers.likely[b]:
                near = np.float64(quick_squared_distance(rows.values, i, book.numerators, j))
        if near < best:
            best, label, second = near, j, best
        else:
            second = min(second, near)
        buffers.bounds[b, q] = -np.inf  # it is one of those that are compared
    high = best * (1 + blur.relative) + blur.faint
    low = second * (1 - blur.relative) - blur.faint
    if label >= 0 and low > high:
        norm = np.float64(buffers.factors[b, 2])
        # The norm is no less than the true one, by a few roundings.
        least = norm * norm * (1 - (rows.values.shape[1] + 16) * 4 * UNIT)
        apart = least + 2.0 * np.float64(rest)
        nearest = np.sqrt(high)
        gap = min(np.sqrt(low), np.sqrt(max(0.0, apart)))
        gap = min(gap, 1e18) * (1 - 2.0**-20) - nearest * (1 + 2.0**-20) - 1e-37
        return label, np.float32(max(0.0, gap * (1 - 2.0**-20))), False
    exact, nearest, rival = np.inf, -1, np.inf
    for q in range(count):
        if buffers.bounds[b, q] == -np.inf:
            j = buffers.candidates[b, q]
            score = exact_score(rows, i, book, j)
            if score < exact:
                exact, nearest, rival = score, j, exact
            else:
                rival = min(rival, score)
    if nearest < 0:
        return _label_exactly(rows, i, book), np.float32(0.0), True
    return settled(rows, i, book, exact, nearest, rival), np.float32(0.0), True


@kernel(inner=True)
def _label_queue(rows, frame, book, panels, n_queued, previous, labels, gaps, buffers):
    """Labels of the queued rows; how many needed exact scores, and how many allow no others."""
    d, n_clusters = rows.values.shape[1], book.numerators.shape[0]
    is_float32 = rows.values.itemsize == 4
    blur = Blur(
        (d + 8) * (UNIT if is_float32 else 2.0**-53), (d + 8) * (1e-37 if is_float32 else 1e-307)
    )
    n_exact = n_extreme = 0
    for b in range(-(-n_queued // BYTE_ROWS) * BYTE_ROWS):
        buffers.n_candidates[b] = 0
        for lane in range(16):
            buffers.rest[b, lane] = np.inf
        buffers.limits[b] = -np.inf  # nothing is a candidate of a row that is not there
        if b >= n_queued:
            continue
        i = buffers.queue[b]
        if not _take_row(rows, frame, i, b, buffers):
            buffers.n_candidates[b] = MOST_CANDIDATES + 1
            n_extreme += 1
            continue
        a = previous[i] if previous.shape[0] else -1
        if 0 <= a < n_clusters:
            near = np.float64(quick_squared_distance(rows.values, i, book.numerators, a))
            buffers.likely[b] = a
            buffers.own[b] = near
            buffers.limits[b] = _limit_by(b, near, blur, buffers)
        else:
            buffers.likely[b] = -1
            buffers.limits[b] = np.inf
    _scan(rows, book, panels, n_queued, blur, buffers)
    for b in range(n_queued):
        i = buffers.queue[b]
        if buffers.n_candidates[b] > MOST_CANDIDATES:
            labels[i] = _label_exactly(rows, i, book)
            n_exact += 1
            if gaps.shape[0]:
                gaps[i] = 0.0
            continue
        label, gap, is_exact = _decide(rows, i, b, book, blur, buffers)
        labels[i] = label
        n_exact += is_exact
        if gaps.shape[0]:
            gaps[i] = gap
    return n_exact, n_extreme


@kernel
def assign_by_bytes(
    rows,  # IN  row container
    frame,  # IN  where scores are measured from; norms are not needed
    book,  # IN  centroids
    panels,  # IN  the same, packed
    lo,
    hi,
    previous,  # IN  (n,) labels that are likely, -1: not known; (0,): none is known
    labels,  # OUT (n,), may be the same
    gaps,  # OUT (n,) float32, how much farther the next centroid is at least; (0,): not wanted
    buffers,  # BUFFER
):
    """Label of every row.

    Returns how many rows needed exact scores, and how many were too long for any others. Rows that
    are not finite are among the latter, and their labels mean nothing.
    """
    capacity = buffers.queue.shape[0]
    n_exact = n_extreme = 0
    for begin in range(lo, hi, capacity):
        n_queued = min(capacity, hi - begin)
        for b in range(n_queued):
            buffers.queue[b] = begin + b
        few, out = _label_queue(
            rows, frame, book, panels, n_queued, previous, labels, gaps, buffers
        )
        n_exact += few
        n_extreme += out
    return n_exact, n_extreme
