"""Nearest centroids of dense rows by bounds: only groups of centroids that they leave possible.

A group is a few panels (:mod:`polymeans.kernels.dense`). Each row keeps an upper bound on the
distance to its own centroid and, for each group, a lower bound on the distance to the group's other
centroids (Yinyang k-means).
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.dense import (
    FINITE_OR_INFINITE,
    Tile,
    load_block,
    score_error,
    settle,
    settled,
    two_best_lanes,
)
from polymeans.kernels.distances import quick_squared_distance
from polymeans.kernels.masks import lowest_bit, possible_groups
from polymeans.kernels.rounding import DOWN, FAR, LEAST, UP
from polymeans.kernels.rows import as_contested, exact_score
from polymeans.kernels.tiles import MOST_ROWS, PANEL_BYTES


class GroupBounds(NamedTuple):
    """Bounds on the distances of all rows, and what has to be known to use them."""

    cluster_lane: np.ndarray  # (k,) position of each centroid among the lanes
    panels_per_group: int
    drift: np.ndarray  # (k,) how far each centroid moved since the last call, rounded up
    travelled: np.ndarray  # (n_padded,) total of the largest drift in each group, rounded up
    upper: np.ndarray  # (n,) bound on the distance to the own centroid
    lower: np.ndarray  # (n, n_padded) bound on the distance to a group's others, plus travelled


class GroupBuffers(NamedTuple):
    """Buffers for one block of rows and all groups."""

    block: np.ndarray  # (block_rows, d)
    queue: np.ndarray  # (n_groups, block_rows) int32
    queued: np.ndarray  # (n_groups,) int32
    first: np.ndarray  # (block_rows, n_groups) best score of a group
    runner_up: np.ndarray  # (block_rows, n_groups)
    lane: np.ndarray  # (block_rows, n_groups) int32
    pending: np.ndarray  # (block_rows,) int32 rows of the block that are not decided by bounds
    own: np.ndarray  # (block_rows,) float64 their squared distance to the own centroid, nearly
    own_lane: np.ndarray  # (block_rows,) int32
    masks: np.ndarray  # (block_rows, n_chunks) uint32 groups to look at, sixteen to an entry
    tile: Tile


@kernel(inner=True)
def find_groups(lower, i, travelled, bound, n_groups, masks):
    """Mark the groups whose bound is not above ``bound``; whether there are any."""
    found = np.uint32(0)
    for c in range(masks.shape[0]):
        mask = possible_groups(lower, i, travelled, 16 * c, bound)
        left = n_groups - 16 * c
        if left < 16:
            mask &= (np.uint32(1) << np.uint32(left)) - np.uint32(1)
        masks[c] = mask
        found |= mask
    return found != 0


@kernel(fastmath=FINITE_OR_INFINITE)
def assign_lazy(
    rows,  # IN  row container
    frame,  # IN  where scores are measured from
    book,  # IN  centroids
    panels,  # IN  the same, packed
    bounds,  # INOUT upper and lower; IN the rest
    lo,
    hi,
    previous,  # IN  (n,) labels of the last call, -1: none
    labels,  # OUT (n,)
    buffers,  # BUFFER
):
    """Label of every row, looking only at groups of centroids its bounds cannot rule out.

    Returns the number of row-group pairs that were looked at.
    """
    cluster_lane, panels_per_group, drift, travelled, upper, lower = bounds
    block, queue, queued, first, runner_up, lane_of, pending, own, own_lane, masks, tile = buffers
    width = PANEL_BYTES // first.itemsize
    n_groups = queued.shape[0]
    n_panels = panels.values.shape[0]
    # Own distances are quick ones: how far they can be off, relatively, and where numbers are too
    # small for their type.
    blur = (rows.values.shape[1] + 8) * (2.0**-24 if width == 16 else 2.0**-53)
    faint = (rows.values.shape[1] + 8) * (1e-37 if width == 16 else 1e-307)
    certain = np.float32(frame.error.certain)
    examined = 0
    for b0 in range(lo, hi, block.shape[0]):
        b1 = min(b0 + block.shape[0], hi)

        # 1. Which groups could hold something nearer than the own centroid?
        queued[:] = 0
        n_pending = 0
        for b in range(b1 - b0):
            i = b0 + b
            a = previous[i]
            bound = np.float32(np.inf)
            own[b] = np.inf
            own_lane[b] = -1
            if a >= 0:
                bound = (upper[i] + drift[a]) * UP + LEAST
                if not find_groups(lower, i, travelled, bound, n_groups, masks[b]):
                    labels[i] = a
                    upper[i] = bound
                    continue
                own[b] = quick_squared_distance(rows.values, i, book.numerators, a)
                own_lane[b] = cluster_lane[a]
                bound = np.float32(np.sqrt(own[b] * (1 + blur) + faint)) * UP + LEAST
                upper[i] = bound
            if not find_groups(lower, i, travelled, bound, n_groups, masks[b]):
                labels[i] = a
                continue
            pending[n_pending] = b
            n_pending += 1
            for c in range(masks.shape[1]):
                mask = masks[b, c]
                while mask:
                    g = 16 * c + lowest_bit(mask)
                    mask &= mask - np.uint32(1)
                    queue[g, queued[g]] = b
                    queued[g] += 1
                    first[b, g] = np.inf
                    runner_up[b, g] = np.inf
        if n_pending == 0:
            continue

        # 2. Scores, group by group, so that a panel serves many rows while it is in cache.
        x = load_block(rows.values, frame, b0, b1, block)
        for g in range(n_groups):
            count = queued[g]
            if count == 0:
                continue
            examined += count
            waiting = queue[g]
            last = count - 1
            for p in range(g * panels_per_group, min((g + 1) * panels_per_group, n_panels)):
                for q in range(0, count, MOST_ROWS):
                    for r in range(MOST_ROWS):
                        b = waiting[min(q + r, last)]
                        tile.rows[r] = b
                        # A lane of another panel is out of range here and skips nothing.
                        tile.skip[r] = own_lane[b] - p * width
                    n_rows = min(MOST_ROWS, count - q)
                    two_best_lanes(x, panels.values[p], panels.starts[p], tile, n_rows)
                    for r in range(n_rows):
                        b = waiting[q + r]
                        if panels_per_group == 1:
                            first[b, g] = tile.best[r]
                            runner_up[b, g] = tile.second[r]
                            lane_of[b, g] = p * width + tile.lane[r]
                        elif tile.best[r] < first[b, g]:
                            runner_up[b, g] = min(first[b, g], tile.second[r])
                            first[b, g] = tile.best[r]
                            lane_of[b, g] = p * width + tile.lane[r]
                        elif tile.best[r] < runner_up[b, g]:
                            runner_up[b, g] = tile.best[r]

        # 3. Decide, and renew the bounds of the groups that were looked at.
        for position in range(n_pending):
            b = pending[position]
            i = b0 + b
            a = previous[i]
            square = frame.norms[i] * frame.norms[i]
            reach = score_error(frame, i)
            best = np.inf
            second = np.inf
            lane = 0
            for c in range(masks.shape[1]):
                mask = masks[b, c]
                while mask:
                    g = 16 * c + lowest_bit(mask)
                    mask &= mask - np.uint32(1)
                    s = np.float64(first[b, g])
                    if s < best:
                        second = min(best, np.float64(runner_up[b, g]))
                        best = s
                        lane = lane_of[b, g]
                    else:
                        second = min(second, s)
            candidate = square + 2 * best
            own_low = max(0.0, own[b] * (1 - blur) - faint)
            own_high = own[b] * (1 + blur) + faint
            decided = True
            if candidate - 2 * reach > own_high:
                label = a
            elif candidate + 2 * reach < own_low and second - best > 2 * reach:
                label = panels.clusters[lane // width, lane % width]
                upper[i] = np.float32(np.sqrt(max(0.0, candidate + 2 * reach))) * UP + LEAST
            else:
                label = a
                exact = exact_score(rows, i, book, a) if a >= 0 else np.inf
                rival = np.inf
                limit = min(best, 0.5 * (own_high - square) + reach) + 2 * reach
                for g in range(n_groups):
                    looked = masks[b, g // 16] >> np.uint32(g % 16) & np.uint32(1)
                    if looked and first[b, g] <= limit:
                        panel = g * panels_per_group
                        end = min(panel + panels_per_group, n_panels)
                        exact, label, rival = settle(
                            rows,
                            i,
                            x,
                            b,
                            panels,
                            panel,
                            end,
                            limit,
                            book,
                            exact,
                            label,
                            rival,
                            tile,
                        )
                upper[i] = np.float32(np.sqrt(exact)) * UP + LEAST
                decided = settled(rows, i, book, exact, label, rival) == label
            labels[i] = label if decided else as_contested(label)
            least = square - 2 * reach
            # Rounding to float32 is relative down to 2**-126, and 2**-150 below.
            base = np.float32(least - abs(least) * 2.0**-22 - 2.0**-146)
            for c in range(masks.shape[1]):
                mask = masks[b, c]
                while mask:
                    g = 16 * c + lowest_bit(mask)
                    mask &= mask - np.uint32(1)
                    s = runner_up[b, g] if lane_of[b, g] == cluster_lane[label] else first[b, g]
                    distance = certain * np.sqrt(max(np.float32(0.0), base + np.float32(s + s)))
                    # Drifts must be able to lower a bound whose square float32 cannot hold.
                    distance = min(distance, FAR)
                    lower[i, g] = (distance + travelled[g]) * DOWN - LEAST
            if a >= 0 and label != a:
                g = cluster_lane[a] // width // panels_per_group
                distance = np.float32(np.sqrt(own_low)) * DOWN
                lower[i, g] = min(lower[i, g], (distance + travelled[g]) * DOWN - LEAST)
    return examined
