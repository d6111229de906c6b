"""Nearest centroids of dense rows, four rows and one panel of centroids at a time.

Scores are halved squared distances without the row's own part: ``|c|²/2 - x·c``, so the smallest
score is the nearest centroid. They are computed in the rows' precision; ``score_error`` bounds
their rounding error, and rows whose two best scores are closer than that are decided by
``exact_score``. Panels hold ``-(c - shift)``: subtracting the data's mean when it is large keeps
float32 scores meaningful.
"""

from typing import Any, NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.rows import as_contested, exact_score, score_rounding
from polymeans.kernels.tiles import (
    MOST_ROWS,
    PANEL_BYTES,
    TILE_ROWS,
    panel_width,
    tile_scores,
    tile_two_best,
)

# Scores may be infinite (padding lanes), never NaN.
FINITE_OR_INFINITE = {"nnan", "nsz"}


class ScoreError(NamedTuple):
    """Coefficients of a bound on the error of scores, see :func:`score_error`; none by default."""

    product: float = 0.0  # relative error of an inner product
    score: float = 0.0  # and of a whole score, the exact one's own error included
    faint: float = 0.0  # what numbers too small for their type can add up to
    own: float = 0.0  # error relative to the row's squared norm
    longest: float = 0.0  # largest norm of a centroid
    shortest: float = 0.0  # smallest norm of a centroid, infinite if it must not be used
    certain: float = 0.0  # share of a distance formed from a score that is certain


class ScoreFrame(NamedTuple):
    """Where rows are measured from, and how far off a score can be."""

    shift: np.ndarray  # (d,)
    shifted: bool  # whether the shift is not zero
    norms: np.ndarray  # (n,) norms of the shifted rows
    error: ScoreError


class Panels(NamedTuple):
    """Centroids side by side, a cache line of them at a time."""

    values: np.ndarray  # (n_panels, d, width) minus the shifted centroids
    starts: np.ndarray  # (n_panels, width) half their squared norms, infinite for padding
    clusters: np.ndarray  # (n_panels, width) cluster whose centroid a lane holds, -1: padding


class Tile(NamedTuple):
    """Buffers for the scores of a few rows and one panel."""

    scores: np.ndarray  # (TILE_ROWS, width)
    rows: np.ndarray  # (MOST_ROWS,) int64 rows whose two best scores are wanted
    skip: np.ndarray  # (MOST_ROWS,) int32 lane each row leaves out
    best: np.ndarray  # (MOST_ROWS,) smallest score of each row
    second: np.ndarray  # (MOST_ROWS,) and the next
    lane: np.ndarray  # (MOST_ROWS,) int32 lane of the smallest


def tile_buffers(dtype: np.dtype[Any]) -> Tile:
    """Buffers for rows of a type."""
    return Tile(
        scores=np.empty((TILE_ROWS, panel_width(dtype.itemsize)), dtype=dtype),
        rows=np.zeros(MOST_ROWS, dtype=np.int64),
        skip=np.full(MOST_ROWS, -1, dtype=np.int32),
        best=np.empty(MOST_ROWS, dtype=dtype),
        second=np.empty(MOST_ROWS, dtype=dtype),
        lane=np.empty(MOST_ROWS, dtype=np.int32),
    )


@kernel(inline="always", inner=True)
def load_block(values, frame, lo, hi, block):
    """Rows lo:hi less the shift; the rows themselves where nothing is to be subtracted."""
    if not frame.shifted:
        return values[lo:hi]
    for i in range(lo, hi):
        for t in range(frame.shift.shape[0]):
            block[i - lo, t] = values[i, t] - frame.shift[t]
    return block[: hi - lo]


@kernel(inner=True)
def reach_of(error, norm):
    """How far off a row's score can be for any centroid that might be its nearest.

    With c the shortest centroid, nothing longer than 2|x| + |c| can be nearest. Scores of
    centroids twice that long may be further off, but not by as much as they exceed the smallest.
    """
    reach = min(error.longest, 4.0 * norm + 2.0 * error.shortest)
    return (
        (error.product * norm + error.score * reach) * reach + error.faint + error.own * norm * norm
    )


@kernel(inner=True)
def score_error(frame, i):
    """The same for row i of those that the frame has the norms of."""
    return reach_of(frame.error, frame.norms[i])


@kernel
def pack_panels(
    centers,  # IN  (k, d)
    shift,  # IN  (d,)
    panels,  # OUT values and starts; IN clusters
    norms,  # OUT (k,) norms of the shifted centroids
):
    """Write minus the shifted centroids, and half their squared norms, into panels."""
    d = centers.shape[1]
    for p in range(panels.clusters.shape[0]):
        for lane in range(panels.clusters.shape[1]):
            j = panels.clusters[p, lane]
            if j < 0:
                panels.starts[p, lane] = np.inf
                for t in range(d):
                    panels.values[p, t, lane] = 0.0
                continue
            square = 0.0
            for t in range(d):
                c = np.float64(centers[j, t]) - np.float64(shift[t])
                panels.values[p, t, lane] = -c
                square += c * c
            panels.starts[p, lane] = 0.5 * square
            norms[j] = np.sqrt(square)


@kernel(inner=True)
def settle(
    rows,  # IN  row container
    i,  # IN  row
    block,  # IN  shifted rows
    b,  # IN  position of row i in the block
    panels,
    first,  # IN  panels first:last are searched
    last,
    limit,  # IN  lanes scoring above this are certainly not nearest
    book,
    best,  # IN  exact score to beat, and the cluster it belongs to
    label,
    rival,  # IN  smallest exact score of the others
    tile,  # BUFFER
):
    """Nearest by exact score among the lanes that could be, its score, and the next score."""
    for p in range(first, last):
        tile_scores(block, b, b, b, b, panels.values[p], panels.starts[p], tile.scores)
        for lane in range(panels.clusters.shape[1]):
            j = panels.clusters[p, lane]
            if j >= 0 and tile.scores[0, lane] <= limit:
                score = exact_score(rows, i, book, j)
                if score < best:
                    rival = best
                    best = score
                    label = j
                elif j != label:
                    rival = min(rival, score)
    return best, label, rival


@kernel(inner=True)
def settled(rows, i, book, best, label, rival):
    """A label by exact scores, marked as contested if rounding could be what decided."""
    if rival == np.inf:  # no other centroid could be nearest
        return label
    if rival - best > score_rounding(rows, i, 0.0, book, rival, label, best, label):
        return label
    return as_contested(label)


@kernel(inner=True)
def take_rows(tile, first, last):
    """Have the rows from ``first`` on in the tile, at most eight; how many are there up to last."""
    for r in range(MOST_ROWS):
        tile.rows[r] = min(first + r, last)
    return min(MOST_ROWS, last + 1 - first)


@kernel(inner=True)
def two_best_lanes(block, panel, start, tile, n_rows):
    """The two best lanes of a panel for the tile's first rows, lanes in ``tile.skip`` aside."""
    tile_two_best(
        block, tile.rows, n_rows, panel, start, tile.skip, tile.best, tile.second, tile.lane
    )


@kernel(inner=True)
def gap_of(error, norm, reach, best, second):
    """How much farther the next centroid is than the nearest, by their scores; at least."""
    square = norm * norm
    high = np.sqrt(max(0.0, square + 2.0 * best + 2.0 * reach))
    least = square - 2.0 * reach
    low = error.certain * np.sqrt(max(0.0, least - abs(least) * 2.0**-22 + 2.0 * second))
    # Distances whose squares float32 cannot hold are as good as this far.
    gap = min(low, 1e18) * (1 - 2.0**-20) - high * (1 + 2.0**-20) - 1e-37
    return np.float32(max(0.0, gap * (1 - 2.0**-20)))


@kernel
def sink_gaps(
    gaps,  # IN  (n,) how much farther the next centroid was than the nearest, at least
    labels,  # IN  (n,)
    drift,  # IN  (k,) how far each centroid went since
    farthest,  # IN  the one that went farthest
    second,  # IN  how far any of the others went
    out,  # OUT (n,) the same now
):
    """Let gaps sink by what the own centroid and the others moved, rounded down."""
    for i in range(gaps.shape[0]):
        a = labels[i]
        others = second if a == farthest else drift[farthest]
        gap = np.float64(gaps[i]) - (drift[a] + others) * (1 + 2.0**-40)
        out[i] = np.float32(gap - abs(gap) * 2.0**-20 - 1e-37)


@kernel(fastmath=FINITE_OR_INFINITE)
def assign_all(
    rows,  # IN  row container
    frame,  # IN  where scores are measured from
    book,  # IN  centroids
    panels,  # IN  the same, packed
    lo,
    hi,
    labels,  # OUT (n,)
    gaps,  # OUT (n,) float32, how much farther the next centroid is at least; (0,): not wanted
    block,  # BUFFER (block_rows, d) shifted rows
    best,  # BUFFER (block_rows,) smallest score so far
    second,  # BUFFER (block_rows,) and the next
    lane_of,  # BUFFER (block_rows,) int32 lane of the smallest, counted over all panels
    tile,  # BUFFER
):
    """Label of every row, all centroids looked at. Returns how many rows needed exact scores."""
    width = PANEL_BYTES // best.itemsize
    n_panels = panels.values.shape[0]
    tile.skip[:] = -1
    n_settled = 0
    for b0 in range(lo, hi, block.shape[0]):
        b1 = min(b0 + block.shape[0], hi)
        m = b1 - b0
        x = load_block(rows.values, frame, b0, b1, block)
        for b in range(m):
            best[b] = np.inf
            second[b] = np.inf
            lane_of[b] = 0  # of a centroid, even where no score is a number
        for p in range(n_panels):
            for b in range(0, m, MOST_ROWS):
                n_rows = take_rows(tile, b, m - 1)
                two_best_lanes(x, panels.values[p], panels.starts[p], tile, n_rows)
                for r in range(n_rows):
                    q = b + r
                    if tile.best[r] < best[q]:
                        second[q] = min(best[q], tile.second[r])
                        best[q] = tile.best[r]
                        lane_of[q] = p * width + tile.lane[r]
                    elif tile.best[r] < second[q]:
                        second[q] = tile.best[r]
        for b in range(m):
            i = b0 + b
            reach = score_error(frame, i)
            if gaps.shape[0]:
                gaps[i] = 0.0
            if second[b] - best[b] > 2 * reach:
                labels[i] = panels.clusters[lane_of[b] // width, lane_of[b] % width]
                if gaps.shape[0]:
                    gaps[i] = gap_of(
                        frame.error,
                        frame.norms[i],
                        reach,
                        np.float64(best[b]),
                        np.float64(second[b]),
                    )
            else:
                n_settled += 1
                limit = best[b] + 2 * reach
                exact, label, rival = settle(
                    rows, i, x, b, panels, 0, n_panels, limit, book, np.inf, -1, np.inf, tile
                )
                labels[i] = settled(rows, i, book, exact, label, rival)
    return n_settled
