"""Nearest centroids of dense rows with few features, sixteen rows at a time.

Scores are those of :mod:`polymeans.kernels.dense`, in float32 for rows of either precision, and the
bound on their error is the same; rows whose two best scores are closer than that are decided by
``exact_score``.

A row may carry a *gap*: at least how much farther its second nearest centroid is than the nearest.
It sinks by what centroids move; as long as it is positive, the row keeps its label and is not
looked at (Hamerly's bound).
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.dense import FINITE_OR_INFINITE, gap_of, reach_of, settled
from polymeans.kernels.lane_scan import gather_lanes, scan_by_3, scan_by_4, scan_by_5
from polymeans.kernels.rows import exact_score

#: Squared norms up to which float32 scores are numbers: centroids of new rows are no longer than
#: 2**60, see :data:`polymeans.core.frame.LONGEST`.
_LARGEST_SQUARE = 2.0**120


class LanePanels(NamedTuple):
    """Centroids in groups that are scored at once; the last group is padded."""

    values: np.ndarray  # (n_groups, d, width) float32, minus the shifted centroids
    starts: np.ndarray  # (n_groups, width) float32, half their squared norms, infinite for padding


class Drift(NamedTuple):
    """How far centroids went since gaps were current."""

    own: np.ndarray  # (k,) float64
    farthest: int  # the centroid that went farthest
    second: float  # how far any of the others went


class LaneBuffers(NamedTuple):
    """Rows that wait to be looked at, and their scores; capacity is a multiple of sixteen."""

    queue: np.ndarray  # (capacity,) int64 numbers of rows
    rows: np.ndarray  # (capacity / 16, d, 16) float32, aligned
    best: np.ndarray  # (capacity / 16, 16) float32, aligned
    second: np.ndarray  # (capacity / 16, 16) float32, aligned
    lane: np.ndarray  # (capacity / 16, 16) int32, aligned
    squares: np.ndarray  # (capacity / 16, 16) float32, aligned: squared norms
    reach: np.ndarray  # (capacity,) how far off scores can be
    is_open: np.ndarray  # (capacity,) bool
    again: np.ndarray  # (d * the widest group,) float32, one row that is scored again
    sums: np.ndarray  # (16 * the widest group,) float32


@kernel
def pack_lane_panels(
    centers,  # IN  (k, d)
    shift,  # IN  (d,)
    panels,  # OUT
):
    """Write minus the shifted centroids, and half their squared norms, into groups.

    Returns the largest and the smallest norm of the shifted centroids.
    """
    k, d = centers.shape
    largest, smallest = 0.0, np.inf
    n_groups, _, width = panels.values.shape
    for j in range(n_groups * width):
        g, c = j // width, j % width
        if j >= k:
            panels.starts[g, c] = np.inf
            for t in range(d):
                panels.values[g, t, c] = 0.0
            continue
        square = 0.0
        for t in range(d):
            x = np.float64(centers[j, t]) - np.float64(shift[t])
            panels.values[g, t, c] = -x
            square += x * x
        panels.starts[g, c] = 0.5 * square
        largest = max(largest, square)
        smallest = min(smallest, square)
    return np.sqrt(largest), np.sqrt(smallest)


@kernel
def middle_of(
    centers,  # IN  (k, d)
    middle,  # OUT (d,) zeros, or the mean of the centroids
):
    """Where to measure rows from that are near centroids; whether that is not zero.

    It costs a little; what rounding leaves open would have to be much more without it.
    """
    k, d = centers.shape
    away = spread = 0.0
    for t in range(d):
        mean = 0.0
        for j in range(k):
            mean += np.float64(centers[j, t])
        mean /= k
        for j in range(k):
            apart = np.float64(centers[j, t]) - mean
            spread += apart * apart
        away += mean * mean
        middle[t] = mean
    shifted = away > 16 * spread / k
    if not shifted:
        middle[:] = 0.0
    return shifted


@kernel(inner=True)
def _scan_lines(panels, n_lines, at_once, buffers):
    """The two best of all centroids for the first lines of sixteen rows."""
    n_groups, _, width = panels.values.shape
    values, starts, last = panels.values, panels.starts, n_lines - 1
    rows, best, second, lane = buffers.rows, buffers.best, buffers.second, buffers.lane
    for q in range(n_lines):
        for r in range(16):
            buffers.best[q, r] = np.inf
            buffers.second[q, r] = np.inf
            buffers.lane[q, r] = 0  # a label, even where no score is a number
    for begin in range(0, n_groups, at_once):
        end = min(begin + at_once, n_groups)
        for q in range(0, n_lines, 2):
            if width == 4:
                scan_by_4(rows, q, last, values, starts, begin, end, best, second, lane)
            elif width == 5:
                scan_by_5(rows, q, last, values, starts, begin, end, best, second, lane)
            else:
                scan_by_3(rows, q, last, values, starts, begin, end, best, second, lane)


@kernel(inner=True)
def _score_again(again, values, g, sums):
    """Products of one row and a group of centroids, in sixteen parts each.

    ``again`` has each number of the row as often as there are centroids in a group, so that both
    are read in order; a part has fewer roundings than the scores of a scan.
    """
    n_sums = 16 * values.shape[2]
    flat = values[g].reshape(values.shape[1] * values.shape[2])
    for u in range(n_sums):
        sums[u] = 0.0
    for first in range(0, flat.shape[0], n_sums):
        # Slices, whose numbers begin at zero: with others this is compiled without vectors.
        row, centroids = again[first : first + n_sums], flat[first : first + n_sums]
        for u in range(centroids.shape[0]):
            sums[u] += row[u] * centroids[u]


@kernel(inner=True)
def _settle(rows, i, source, r, panels, limit, book, buffers):
    """Nearest by exact score among the centroids that could be, marked if rounding decided."""
    n_clusters = book.numerators.shape[0]
    n_groups, height, width = panels.values.shape
    sums = buffers.sums
    for t in range(height):
        for c in range(width):
            buffers.again[t * width + c] = source[t, r]
    best, label, rival = np.inf, -1, np.inf
    for g in range(n_groups):
        _score_again(buffers.again, panels.values, g, sums)
        for c in range(min(width, n_clusters - g * width)):
            score = np.float64(panels.starts[g, c])
            for u in range(c, 16 * width, width):
                score += np.float64(sums[u])
            if score <= limit:
                j = g * width + c
                exact = exact_score(rows, i, book, j)
                if exact < best:
                    rival = best
                    best = exact
                    label = j
                else:
                    rival = min(rival, exact)
    return settled(rows, i, book, best, label, rival)


@kernel(inner=True)
def _norm(square, height):
    """No less than the norm of a row, from its square as float32 added it up."""
    # One rounding for each addition, one for the row; squares below the smallest number vanish.
    return np.sqrt(np.float64(square) * (1 + (height + 8) * 2.0**-23) + height * 2.0**-148)


@kernel(inner=True)
def _clear_extreme(n_lines, buffers):
    """Write zeros over rows too long for float32 scores; how many there are.

    Their scores would not be numbers. Their squares become infinite, which leaves them open.
    """
    n_extreme = 0
    height = buffers.rows.shape[1]
    for q in range(n_lines):
        for r in range(16):
            if not buffers.squares[q, r] <= _LARGEST_SQUARE:  # not if it is NaN
                n_extreme += 1
                buffers.squares[q, r] = np.inf
                for t in range(height):
                    buffers.rows[q, t, r] = 0.0
    return n_extreme


@kernel(inner=True)
def gather_queue(rows, frame, n_queued, buffers):
    """Bring the queued rows side by side; how many are too long for float32 scores."""
    n_lines = (n_queued + 15) // 16
    for q in range(n_lines):
        gather_lanes(
            rows.values,
            buffers.queue,
            16 * q,
            n_queued - 1,
            frame.shift,
            buffers.rows[q],
            buffers.squares[q],
        )
    return _clear_extreme(n_lines, buffers)


@kernel(fastmath=FINITE_OR_INFINITE, inner=True)
def label_gathered(rows, frame, book, panels, n_queued, at_once, labels, gaps, buffers):
    """Labels, and gaps if they are wanted, of rows side by side; how many needed exact scores."""
    queue, error = buffers.queue, frame.error
    height = rows.values.shape[1]
    _scan_lines(panels, (n_queued + 15) // 16, at_once, buffers)
    n_lanes = buffers.best.size
    best, second = buffers.best.reshape(n_lanes), buffers.second.reshape(n_lanes)
    lane, squares = buffers.lane.reshape(n_lanes), buffers.squares.reshape(n_lanes)
    n_open = 0
    for b in range(n_queued):
        reach = reach_of(error, _norm(squares[b], height))
        reach = reach if squares[b] < np.inf else np.inf
        buffers.reach[b] = reach
        is_open = not (np.float64(second[b]) - np.float64(best[b]) > 2 * reach)
        buffers.is_open[b] = is_open
        n_open += is_open
    for b in range(n_queued):
        labels[queue[b]] = lane[b]
    if gaps.shape[0]:
        for b in range(n_queued):
            norm = _norm(squares[b], height)
            gap = gap_of(error, norm, buffers.reach[b], np.float64(best[b]), np.float64(second[b]))
            gaps[queue[b]] = np.float32(0.0) if buffers.is_open[b] else gap
    if n_open:
        for b in range(n_queued):
            if buffers.is_open[b]:
                i = queue[b]
                limit = np.float64(best[b]) + 2 * buffers.reach[b]
                source = buffers.rows[b // 16]
                labels[i] = _settle(rows, i, source, b % 16, panels, limit, book, buffers)
    return n_open


@kernel(inner=True)
def _label_queue(rows, frame, book, panels, n_queued, at_once, labels, gaps, buffers):
    """The same for queued rows; also how many were too long for float32 scores."""
    n_extreme = gather_queue(rows, frame, n_queued, buffers)
    n_open = label_gathered(rows, frame, book, panels, n_queued, at_once, labels, gaps, buffers)
    return n_open, n_extreme


@kernel
def assign_lanes(
    rows,  # IN  row container
    frame,  # IN  where scores are measured from; norms are not needed
    book,  # IN  centroids
    panels,  # IN  the same, packed
    at_once,  # IN  groups of centroids that stay in cache while rows are scored
    lo,
    hi,
    labels,  # OUT (n,)
    gaps,  # OUT (n,) float32, how much farther the next centroid is at least; (0,): not wanted
    buffers,  # BUFFER
):
    """Label of every row, all centroids looked at.

    Returns how many rows needed exact scores, and how many were too long for any others. Rows that
    are not finite are among the latter, and their labels mean nothing.
    """
    capacity = buffers.queue.shape[0]
    n_settled = 0
    n_extreme = 0
    for begin in range(lo, hi, capacity):
        n_queued = min(capacity, hi - begin)
        for b in range(n_queued):
            buffers.queue[b] = begin + b
        n_open, n_out = _label_queue(
            rows, frame, book, panels, n_queued, at_once, labels, gaps, buffers
        )
        n_settled += n_open
        n_extreme += n_out
    return n_settled, n_extreme


@kernel
def assign_open_lanes(
    rows,  # IN  row container
    frame,  # IN  where scores are measured from; norms are not needed
    book,  # IN  centroids
    panels,  # IN  the same, packed
    at_once,  # IN  groups of centroids that stay in cache while rows are scored
    drift,  # IN  how far centroids went since the last call
    lo,
    hi,
    previous,  # IN  (n,) labels of the last call
    labels,  # OUT (n,), may be the same
    gaps,  # INOUT (n,) of the last call; of this one
    buffers,  # BUFFER
):
    """The same, leaving rows alone whose gaps stay positive. Returns also how many were not."""
    capacity = buffers.queue.shape[0]
    n_settled = 0
    n_looked_at = 0
    widest = drift.own[drift.farthest]
    i = lo
    while i < hi:
        n_queued = 0
        while i < hi and n_queued < capacity:
            a = previous[i]
            others = drift.second if a == drift.farthest else widest
            gap = np.float64(gaps[i]) - (drift.own[a] + others) * (1 + 2.0**-40)
            gap = gap - abs(gap) * 2.0**-20 - 1e-37
            if gap > 0.0:
                gaps[i] = np.float32(gap)
                labels[i] = a
            else:
                buffers.queue[n_queued] = i
                n_queued += 1
            i += 1
        if n_queued:
            n_open, _ = _label_queue(
                rows, frame, book, panels, n_queued, at_once, labels, gaps, buffers
            )
            n_settled += n_open
            n_looked_at += n_queued
    return n_settled, n_looked_at
