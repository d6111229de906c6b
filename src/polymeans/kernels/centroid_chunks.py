"""Nearest centroids of dense rows where only some of the centroids are in memory at a time.

Chunks of centroids come one after another: all of them are scored first, then the rows whose two
best scores are too close go through the chunks again, with exact scores.
"""

from polymeans.kernels.compile import kernel
from polymeans.kernels.dense import (
    FINITE_OR_INFINITE,
    load_block,
    score_error,
    settled,
    take_rows,
    two_best_lanes,
)
from polymeans.kernels.rows import exact_score
from polymeans.kernels.tiles import MOST_ROWS, tile_scores


@kernel(fastmath=FINITE_OR_INFINITE)
def score_chunk(
    rows,  # IN  row container
    frame,  # IN  where scores are measured from
    panels,  # IN  some centroids, packed
    base,  # IN  number of the first of them
    lo,
    hi,
    best,  # INOUT (n,) best score so far
    second,  # INOUT (n,) second best
    nearest,  # INOUT (n,) centroid of the best
    block,  # BUFFER (block_rows, d)
    tile,  # BUFFER
):
    """Take the centroids of one more chunk into account."""
    tile.skip[:] = -1
    for b0 in range(lo, hi, block.shape[0]):
        b1 = min(b0 + block.shape[0], hi)
        m = b1 - b0
        x = load_block(rows.values, frame, b0, b1, block)
        for p in range(panels.values.shape[0]):
            for b in range(0, m, MOST_ROWS):
                n_rows = take_rows(tile, b, m - 1)
                two_best_lanes(x, panels.values[p], panels.starts[p], tile, n_rows)
                for r in range(n_rows):
                    i = b0 + b + r
                    if tile.best[r] < best[i]:
                        second[i] = min(best[i], tile.second[r])
                        best[i] = tile.best[r]
                        nearest[i] = base + panels.clusters[p, tile.lane[r]]
                    else:
                        second[i] = min(second[i], tile.best[r])


@kernel
def decide_labels(
    frame,
    best,  # IN  (n,)
    second,  # IN  (n,)
    nearest,  # IN  (n,)
    lo,
    hi,
    labels,  # OUT (n,) -1 where the two best scores are too close
    limits,  # OUT (n,) scores above this are certainly not the nearest's
):
    """Labels of rows lo:hi as far as scores decide them."""
    for i in range(lo, hi):
        reach = score_error(frame, i)
        limits[i] = best[i] + 2 * reach
        labels[i] = nearest[i] if second[i] - best[i] > 2 * reach else -1


@kernel
def settle_chunk(
    rows,  # IN  row container
    frame,
    book,  # IN  the grid's exact form
    panels,  # IN  some centroids, packed
    base,  # IN  number of the first of them
    chosen,  # IN  (m,) rows that are not decided
    limits,  # IN  (n,)
    exact,  # INOUT (m,) best exact score so far
    rivals,  # INOUT (m,) and the next
    labels,  # INOUT (n,) the centroid that the best belongs to
    block,  # BUFFER (1, d)
    tile,  # BUFFER
):
    """Exact scores of those centroids that could be nearest."""
    for position in range(chosen.shape[0]):
        i = chosen[position]
        x = load_block(rows.values, frame, i, i + 1, block)
        for p in range(panels.values.shape[0]):
            tile_scores(x, 0, 0, 0, 0, panels.values[p], panels.starts[p], tile.scores)
            for lane in range(panels.clusters.shape[1]):
                if panels.clusters[p, lane] >= 0 and tile.scores[0, lane] <= limits[i]:
                    j = base + panels.clusters[p, lane]
                    score = exact_score(rows, i, book, j)
                    if score < exact[position]:
                        rivals[position] = exact[position]
                        exact[position] = score
                        labels[i] = j
                    else:
                        rivals[position] = min(rivals[position], score)


@kernel
def mark_contested(
    rows,  # IN  row container
    book,
    chosen,  # IN  (m,) rows that exact scores decided
    exact,  # IN  (m,)
    rivals,  # IN  (m,)
    labels,  # INOUT (n,)
):
    """Mark the labels that rounding of exact scores could have decided."""
    for position in range(chosen.shape[0]):
        i = chosen[position]
        labels[i] = settled(rows, i, book, exact[position], labels[i], rivals[position])
