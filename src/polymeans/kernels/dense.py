"""Nearest centroids of dense rows, four rows and one panel of centroids at a time.

Scores are halved squared distances without the row's own part: ``|c|²/2 - x·c``, so the smallest
score is the nearest centroid. They are computed in the rows' precision; ``reach`` bounds their
rounding error, and rows whose two best scores are closer than that are decided by
``exact_score``. Panels hold ``-(c - shift)``: subtracting the data's mean when it is large keeps
float32 scores meaningful.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.exact import add_dense
from polymeans.kernels.rows import exact_score
from polymeans.kernels.vector import (
    PANEL_BYTES,
    lowest_bit,
    possible_groups,
    quick_squared_distance,
    tile_scores,
    tile_two_best,
)

# Bounds are float32 whatever the rows are: rounded outwards by a few units in the last place.
UP = np.float32(1 + 2.0**-21)
DOWN = np.float32(1 - 2.0**-21)

# Below this, units in the last place are no longer relative; and a distance that still has a
# square in float32.
LEAST = np.float32(1e-37)
FAR = np.float32(1e19)

# Scores may be infinite (padding lanes), never NaN.
_FAST = {"nnan", "nsz"}


class ScoreFrame(NamedTuple):
    """Where rows are measured from, and how far off a score can be; see :func:`score_error`."""

    shift: np.ndarray  # (d,)
    shifted: bool  # whether the shift is not zero
    norms: np.ndarray  # (n,) norms of the shifted rows
    error: np.ndarray  # (7,) from whoever makes it: terms, squares, faint, own, longest, shortest,
    # and the share of a group's distance that is certain


class Panels(NamedTuple):
    """Centroids side by side, a cache line of them at a time."""

    values: np.ndarray  # (n_panels, d, width) minus the shifted centroids
    starts: np.ndarray  # (n_panels, width) half their squared norms, infinite for padding
    clusters: np.ndarray  # (n_panels, width) whose centroid a lane holds, -1: padding


class Tile(NamedTuple):
    """Room for what four rows and one panel have to say to each other."""

    scores: np.ndarray  # (4, width)
    skip: np.ndarray  # (4,) int32
    best: np.ndarray  # (4,)
    second: np.ndarray  # (4,)
    lane: np.ndarray  # (4,) int32


@kernel
def load_block(values, frame, lo, hi, block):
    """Rows lo:hi less the shift; the rows themselves where nothing is to be subtracted."""
    if not frame.shifted:
        return values[lo:hi]
    for i in range(lo, hi):
        for t in range(frame.shift.shape[0]):
            block[i - lo, t] = values[i, t] - frame.shift[t]
    return block[: hi - lo]


@kernel
def score_error(frame, i):
    """How far off row i's score can be for any centroid that might be its nearest.

    With c the shortest centroid, nothing longer than 2|x| + |c| can be nearest. Scores of
    centroids twice that long may be further off, but not by as much as they lie behind.
    """
    norm = frame.norms[i]
    error = frame.error
    reach = min(error[4], 4.0 * norm + 2.0 * error[5])
    return (error[0] * norm + error[1] * reach) * reach + error[2] + error[3] * norm * norm


@kernel
def pack_panels(
    centers,  # IN  (k, d)
    shift,  # IN  (d,)
    panels,  # OUT values and starts; IN clusters
    norms,  # OUT (k,) norms of the shifted centroids
):
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


@kernel
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
    best,  # IN  exact score to beat, and whose it is
    label,
    tile,  # BUFFER
):
    """Nearest by exact score among the lanes that could be; the lowest index wins ties."""
    for p in range(first, last):
        tile_scores(block, b, b, b, b, panels.values[p], panels.starts[p], tile.scores)
        for lane in range(panels.clusters.shape[1]):
            j = panels.clusters[p, lane]
            if j >= 0 and tile.scores[0, lane] <= limit:
                score = exact_score(rows, i, book, j)
                if score < best or (score == best and j < label):
                    best = score
                    label = j
    return best, label


@kernel
def meet(block, q0, q1, q2, q3, panels, p, tile):
    """The two best lanes of panel p for four rows of a block, lanes in ``tile.skip`` aside."""
    tile_two_best(
        block,
        q0,
        q1,
        q2,
        q3,
        panels.values[p],
        panels.starts[p],
        tile.skip,
        tile.best,
        tile.second,
        tile.lane,
    )


@kernel(fastmath=_FAST)
def assign_all(
    rows,  # IN  row container
    frame,  # IN  where scores are measured from
    book,  # IN  centroids
    panels,  # IN  the same, packed
    lo,
    hi,
    labels,  # OUT (n,)
    block,  # BUFFER (block_rows, d)
    best,  # BUFFER (block_rows,)
    second,  # BUFFER (block_rows,)
    lane_of,  # BUFFER (block_rows,) int32
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
        for p in range(n_panels):
            for b in range(0, m, 4):
                meet(x, b, min(b + 1, m - 1), min(b + 2, m - 1), min(b + 3, m - 1), panels, p, tile)
                for r in range(min(4, m - b)):
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
            if second[b] - best[b] > 2 * reach:
                labels[i] = panels.clusters[lane_of[b] // width, lane_of[b] % width]
            else:
                n_settled += 1
                limit = best[b] + 2 * reach
                _, labels[i] = settle(
                    rows, i, x, b, panels, 0, n_panels, limit, book, np.inf, -1, tile
                )
    return n_settled


@kernel
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


@kernel(fastmath=_FAST)
def assign_lazy(
    rows,  # IN  row container
    frame,  # IN  where scores are measured from
    book,  # IN  centroids
    panels,  # IN  the same, packed
    cluster_lane,  # IN  (k,) position of each centroid among the lanes
    panels_per_group,  # IN
    drift,  # IN  (k,) how far each centroid moved since the last call, rounded up
    travelled,  # IN  (n_padded,) total of the largest drift in each group, rounded up
    lo,
    hi,
    previous,  # IN  (n,) labels of the last call, -1: none
    labels,  # OUT (n,)
    upper,  # INOUT (n,) bound on the distance to the own centroid
    lower,  # INOUT (n, n_padded) bound on the distance to a group's other centroids + travelled
    block,  # BUFFER (block_rows, d)
    queue,  # BUFFER (n_groups, block_rows) int32
    queued,  # BUFFER (n_groups,) int32
    first,  # BUFFER (block_rows, n_groups) best score of a group
    runner_up,  # BUFFER (block_rows, n_groups)
    lane_of,  # BUFFER (block_rows, n_groups) int32
    pending,  # BUFFER (block_rows,) int32 rows of the block that are not decided by bounds
    own,  # BUFFER (block_rows,) float64 their squared distance to the own centroid, nearly
    own_lane,  # BUFFER (block_rows,) int32
    masks,  # BUFFER (block_rows, n_chunks) uint32 groups to look at, sixteen to an entry
    tile,  # BUFFER
):
    """Label of every row, looking only at groups of centroids its bounds cannot rule out.

    Returns the number of row-group pairs that were looked at.
    """
    width = PANEL_BYTES // first.itemsize
    n_groups = queued.shape[0]
    n_panels = panels.values.shape[0]
    # Own distances are quick ones: this is how far they can be off, relatively.
    blur = (rows.values.shape[1] + 8) * (2.0**-24 if width == 16 else 2.0**-53)
    faint = (rows.values.shape[1] + 8) * (1e-37 if width == 16 else 1e-307)
    certain = np.float32(frame.error[6])
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
                for q in range(0, count, 4):
                    q0 = waiting[q]
                    q1 = waiting[min(q + 1, last)]
                    q2 = waiting[min(q + 2, last)]
                    q3 = waiting[min(q + 3, last)]
                    # A lane of another panel is out of range here and skips nothing.
                    tile.skip[0] = own_lane[q0] - p * width
                    tile.skip[1] = own_lane[q1] - p * width
                    tile.skip[2] = own_lane[q2] - p * width
                    tile.skip[3] = own_lane[q3] - p * width
                    meet(x, q0, q1, q2, q3, panels, p, tile)
                    for r in range(min(4, count - q)):
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
            if candidate - 2 * reach > own_high:
                label = a
            elif candidate + 2 * reach < own_low and second - best > 2 * reach:
                label = panels.clusters[lane // width, lane % width]
                upper[i] = np.float32(np.sqrt(max(0.0, candidate + 2 * reach))) * UP + LEAST
            else:
                label = a
                exact = exact_score(rows, i, book, a) if a >= 0 else np.inf
                limit = min(best, 0.5 * (own_high - square) + reach) + 2 * reach
                for g in range(n_groups):
                    looked = masks[b, g // 16] >> np.uint32(g % 16) & np.uint32(1)
                    if looked and first[b, g] <= limit:
                        panel = g * panels_per_group
                        end = min(panel + panels_per_group, n_panels)
                        exact, label = settle(
                            rows, i, x, b, panels, panel, end, limit, book, exact, label, tile
                        )
                upper[i] = np.float32(np.sqrt(exact)) * UP + LEAST
            labels[i] = label
            least = square - 2 * reach
            base = np.float32(least - abs(least) * 2.0**-22)
            for c in range(masks.shape[1]):
                mask = masks[b, c]
                while mask:
                    g = 16 * c + lowest_bit(mask)
                    mask &= mask - np.uint32(1)
                    s = runner_up[b, g] if lane_of[b, g] == cluster_lane[label] else first[b, g]
                    distance = certain * np.sqrt(max(np.float32(0.0), base + np.float32(s + s)))
                    # Squares beyond float32 are far, but not for ever.
                    distance = min(distance, FAR)
                    lower[i, g] = (distance + travelled[g]) * DOWN - LEAST
            if a >= 0 and label != a:
                g = cluster_lane[a] // width // panels_per_group
                distance = np.float32(np.sqrt(own_low)) * DOWN
                lower[i, g] = min(lower[i, g], (distance + travelled[g]) * DOWN - LEAST)
    return examined


@kernel
def sums_and_norms(
    values,  # IN  (n, d)
    weights,  # IN  (n,)
    magics,  # IN  (n_rungs - 1,)
    lo,
    hi,
    total,  # INOUT (n_rungs, d) += Σ w x, exactly
    norms,  # OUT (n,)
):
    for i in range(lo, hi):
        if weights[i] != 0.0:
            add_dense(values[i], weights[i], magics, total)
        norms[i] = np.sqrt(_square_about_zero(values[i]))


@kernel
def _square_about_zero(x):
    # In the order of shifted_norms: the same bits where the shift is zero.
    s0 = s1 = 0.0
    d = x.shape[0]
    for t in range(0, d - 1, 2):
        d0, d1 = np.float64(x[t]), np.float64(x[t + 1])
        s0 += d0 * d0
        s1 += d1 * d1
    if d % 2:
        d0 = np.float64(x[d - 1])
        s0 += d0 * d0
    return s0 + s1


@kernel
def shifted_norms(values, shift, lo, hi, out):
    for i in range(lo, hi):
        s0 = s1 = 0.0
        d = values.shape[1]
        for t in range(0, d - 1, 2):
            d0 = np.float64(values[i, t]) - np.float64(shift[t])
            d1 = np.float64(values[i, t + 1]) - np.float64(shift[t + 1])
            s0 += d0 * d0
            s1 += d1 * d1
        if d % 2:
            d0 = np.float64(values[i, d - 1]) - np.float64(shift[d - 1])
            s0 += d0 * d0
        out[i] = np.sqrt(s0 + s1)
