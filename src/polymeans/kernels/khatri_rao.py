"""Rows and grids of protocentroids: labels for sums, labels and fits for products."""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.dense import load_block, meet, score_error
from polymeans.kernels.exact import add_dense
from polymeans.kernels.grid import SIDE, label_side_by_side
from polymeans.kernels.rows import exact_score
from polymeans.kernels.vector import stream_products, tile_scores

#: Where what a coordinate is multiplied with is this small, squared and compared with its set's
#: others, it is left alone: it would only become huge, in centroids no row uses.
UNDETERMINED = 1e-6


@kernel
def assign_dense_sums(
    rows,  # IN  row container
    frame,  # IN  where rows are measured from
    book,  # IN  the grid's exact form
    panels,  # IN  protocentroids, packed
    grid,  # IN  how they meet
    lo,
    hi,
    previous,  # IN  (n,) labels to begin with, -1: none
    labels,  # OUT (n,)
    block,  # BUFFER (64, d)
    products,  # BUFFER (n_panels, 64, width)
    sides,  # BUFFER
    zeros,  # IN  (1, 64)
):
    n_panels, _, width = products.shape
    n_protocentroids = sides.scores.shape[0]
    for b0 in range(lo, hi, SIDE):
        b1 = min(b0 + SIDE, hi)
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
                for b in range(SIDE):
                    sides.scores[first + lane, b] = products[p, b, lane]
        label_side_by_side(rows, b0, m, frame.norms, book, grid, sides, zeros, previous, labels)


@kernel
def assign_sparse_sums(
    rows,  # IN  row container
    values,  # IN  the nonzeros as float32
    norms,  # IN  (n,)
    book,  # IN  the grid's exact form
    table,  # IN  (d, H padded) protocentroids feature by feature, float32
    half_norms,  # IN  (H,) float32
    grid,  # IN  how they meet
    lo,
    hi,
    previous,  # IN  (n,)
    labels,  # OUT (n,)
    products,  # BUFFER (H padded,) float32
    sides,  # BUFFER
    zeros,  # IN  (1, 64)
):
    for b0 in range(lo, hi, SIDE):
        m = min(SIDE, hi - b0)
        for b in range(m):
            begin, end = rows.indptr[b0 + b], rows.indptr[b0 + b + 1]
            stream_products(rows.indices, values, begin, end, table, products)
            for q in range(half_norms.shape[0]):
                sides.scores[q, b] = half_norms[q] - products[q]
        label_side_by_side(rows, b0, m, norms, book, grid, sides, zeros, previous, labels)


@kernel(fastmath={"nnan", "nsz"})
def meet_more_centroids(
    rows,  # IN  row container
    frame,  # IN  where scores are measured from
    panels,  # IN  some centroids, packed
    base,  # IN  number of the first of them
    lo,
    hi,
    best,  # INOUT (n,) best score so far
    second,  # INOUT (n,) second best
    nearest,  # INOUT (n,) whose the best is
    block,  # BUFFER (block_rows, d)
    tile,  # BUFFER
):
    """Take further centroids into account, of which only a part is in memory at any time."""
    tile.skip[:] = -1
    for b0 in range(lo, hi, block.shape[0]):
        b1 = min(b0 + block.shape[0], hi)
        m = b1 - b0
        x = load_block(rows.values, frame, b0, b1, block)
        for p in range(panels.values.shape[0]):
            for b in range(0, m, 4):
                meet(x, b, min(b + 1, m - 1), min(b + 2, m - 1), min(b + 3, m - 1), panels, p, tile)
                for r in range(min(4, m - b)):
                    i = b0 + b + r
                    if tile.best[r] < best[i]:
                        second[i] = min(best[i], tile.second[r])
                        best[i] = tile.best[r]
                        nearest[i] = base + panels.clusters[p, tile.lane[r]]
                    else:
                        second[i] = min(second[i], tile.best[r])


@kernel
def decide(
    frame,
    best,  # IN  (n,)
    second,  # IN  (n,)
    nearest,  # IN  (n,)
    lo,
    hi,
    labels,  # OUT (n,) -1 where the two best scores are too close
    limits,  # OUT (n,) scores above this are certainly not the nearest's
):
    for i in range(lo, hi):
        reach = score_error(frame, i)
        limits[i] = best[i] + 2 * reach
        labels[i] = nearest[i] if second[i] - best[i] > 2 * reach else -1


@kernel
def settle_more_centroids(
    rows,  # IN  row container
    frame,
    book,  # IN  the grid's exact form
    panels,  # IN  some centroids, packed
    base,  # IN  number of the first of them
    chosen,  # IN  (m,) rows that are not decided
    limits,  # IN  (n,)
    exact,  # INOUT (m,) best exact score so far
    labels,  # INOUT (n,) and whose it is
    block,  # BUFFER (1, d)
    tile,  # BUFFER
):
    """Exact scores of those centroids that could be nearest; lower numbers come first."""
    for position in range(chosen.shape[0]):
        i = chosen[position]
        x = load_block(rows.values, frame, i, i + 1, block)
        for p in range(panels.values.shape[0]):
            tile_scores(x, 0, 0, 0, 0, panels.values[p], panels.starts[p], tile.scores)
            for lane in range(panels.clusters.shape[1]):
                if panels.clusters[p, lane] >= 0 and tile.scores[0, lane] <= limits[i]:
                    j = base + panels.clusters[p, lane]
                    score = exact_score(rows, i, book, j)
                    if score < exact[position] or (score == exact[position] and j < labels[i]):
                        exact[position] = score
                        labels[i] = j


@kernel
def cell_sums(
    values,  # IN  (n, d) dense rows
    weights,  # IN  (n,)
    magics,  # IN  ladder of the sums
    labels,  # IN  (n,)
    first,  # IN  features first:last are summed
    last,
    rungs,  # INOUT (k, n_rungs, last - first)
):
    for i in range(values.shape[0]):
        if weights[i] != 0.0:
            add_dense(values[i, first:last], weights[i], magics, rungs[labels[i]])


@kernel
def sweep_products(
    sums,  # IN  (k, >= last - base) cell sums about the origin, from feature base on
    base,
    masses,  # IN  (k,)
    origin,  # IN  (d,)
    sizes,  # IN  (p,)
    first,  # IN  features first:last are fitted
    last,
    n_sweeps,
    tol,  # IN  relative gain of a sweep at which to stop
    stacked,  # INOUT (H, d) protocentroids
    numerators,  # BUFFER (H, last - first)
    denominators,  # BUFFER (H, last - first)
    others,  # BUFFER (last - first,) product of the other sets' protocentroids
):
    """Alternate over the sets, each in closed form, feature by feature.

    Setting coordinate u to num / den gains ``den (new - old)²``; the sum of gains tells when a
    feature has converged, whatever the others of its block do.
    """
    n_sets, n_cells, width = sizes.shape[0], masses.shape[0], last - first
    targets = np.empty((n_cells, width))
    scale = np.zeros(width)
    gain = np.zeros(width)
    active = np.ones(width, dtype=np.bool_)
    member_mass = np.empty(sizes.max())
    heaviest = masses.max() if n_cells else 0.0  # weights may be of any size
    for c in range(n_cells):
        if masses[c] > 0.0:
            for t in range(width):
                s = (sums[c, first + t - base] + masses[c] * origin[first + t]) / heaviest
                targets[c, t] = s
                scale[t] += s * s / (masses[c] / heaviest)
    for _ in range(n_sweeps):
        gain[:] = 0.0
        start = 0
        stride = n_cells
        for q in range(n_sets):
            stride //= sizes[q]
            numerators[: sizes[q]] = 0.0
            denominators[: sizes[q]] = 0.0
            member_mass[:] = 0.0
            for c in range(n_cells):
                mass = masses[c] / heaviest
                if mass <= 0.0:
                    continue
                member_mass[c // stride % sizes[q]] += mass
                fresh = True
                other_start = 0
                other_stride = n_cells
                for r in range(n_sets):
                    other_stride //= sizes[r]
                    if r != q:
                        theta = stacked[other_start + c // other_stride % sizes[r]]
                        if fresh:
                            for t in range(width):
                                others[t] = theta[first + t]
                        else:
                            for t in range(width):
                                others[t] *= theta[first + t]
                        fresh = False
                    other_start += sizes[r]
                if fresh:  # a single set
                    others[:] = 1.0
                target = targets[c]
                numerator = numerators[c // stride % sizes[q]]
                denominator = denominators[c // stride % sizes[q]]
                for t in range(width):
                    numerator[t] += target[t] * others[t]
                    denominator[t] += mass * others[t] * others[t]
            for t in range(width):
                others[t] = 1e-200
                for g in range(sizes[q]):
                    if member_mass[g] > 0.0:
                        share = denominators[g, t] / member_mass[g]
                        others[t] = max(others[t], UNDETERMINED * share)
            for g in range(sizes[q]):
                for t in range(width):
                    den = denominators[g, t]
                    # Where the rows say next to nothing about a coordinate it stays as it is.
                    if active[t] and den > others[t] * member_mass[g] and den > 1e-200:
                        new = numerators[g, t] / den
                        step = new - stacked[start + g, first + t]
                        gain[t] += den * step * step
                        stacked[start + g, first + t] = new
            start += sizes[q]
        any_active = False
        for t in range(width):
            active[t] = active[t] and gain[t] > tol * scale[t]
            any_active = any_active or active[t]
        if not any_active:
            break
