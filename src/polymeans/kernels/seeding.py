"""Distances from all rows to a few candidate rows, and draws, for k-means++ and its variants."""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.dense import load_block, score_error
from polymeans.kernels.rows import exact_score
from polymeans.kernels.tiles import tile_scores

#: Distances up to so many errors of a score are computed exactly: a copy of a candidate must come
#: out at zero, and others to a few per cent.
_ERRORS = 32

#: Squared distances below this share of the squared norms are what float32 products leave of a copy
#: of the candidate: about 170 roundings of 6e-8 each.
_COPY = 1e-5


@kernel
def candidate_distances_dense(
    rows,  # IN  row container
    frame,  # IN  where scores are measured from
    book,  # IN  the candidates as centroids
    panels,  # IN  the candidates, packed
    lo,
    hi,
    distances,  # OUT (n_candidates, n) squared distances
    block,  # BUFFER (block_rows, d)
    tile,  # BUFFER
):
    """Distances of rows lo:hi to all candidates."""
    for b0 in range(lo, hi, block.shape[0]):
        b1 = min(b0 + block.shape[0], hi)
        last = b1 - b0 - 1
        x = load_block(rows.values, frame, b0, b1, block)
        for p in range(panels.values.shape[0]):
            for b in range(0, last + 1, 4):
                quartet = (b, min(b + 1, last), min(b + 2, last), min(b + 3, last))
                tile_scores(x, *quartet, panels.values[p], panels.starts[p], tile.scores)
                for r in range(min(4, last + 1 - b)):
                    i = b0 + b + r
                    square = frame.norms[i] * frame.norms[i]
                    reach = score_error(frame, i)
                    for lane in range(panels.clusters.shape[1]):
                        j = panels.clusters[p, lane]
                        if j >= 0:
                            distance = square + 2 * np.float64(tile.scores[r, lane])
                            if distance <= _ERRORS * reach:
                                distance = exact_score(rows, i, book, j)
                            distances[j, i] = distance


@kernel
def candidate_distances_sparse(
    starts,  # IN  (d + 1,) where each feature's entries begin
    owners,  # IN  rows of the entries
    entries,  # IN  float32
    features,  # IN  nonzeros of the candidate
    values,  # IN
    square,  # IN  its squared norm
    norms,  # IN  (n,)
    out,  # OUT (n,) float32 squared distances
):
    """Distances of all rows to one candidate, by way of the rows that share its features."""
    out[:] = 0.0
    for p in range(features.shape[0]):
        v = values[p]
        for e in range(starts[features[p]], starts[features[p] + 1]):
            out[owners[e]] += v * entries[e]
    for i in range(out.shape[0]):
        scale = norms[i] * norms[i] + square
        distance = scale - 2.0 * out[i]
        out[i] = distance if distance > _COPY * scale else 0.0


@kernel
def potentials(
    distances,  # IN  (m, n)
    closest,  # IN  (n,)
    weights,  # IN  (n,)
    magic,  # IN  of the upper rung
    second,  # IN  of the lower one
    lo,
    hi,
    rungs,  # INOUT (m, 2) += Σ w min(closest, distances[j]) over rows lo:hi
):
    """Potentials of candidates: exact sums, whatever the order of the rows."""
    for j in range(distances.shape[0]):
        own = distances[j]
        # Four sums of each kind, so that no addition waits for the one before.
        h0 = h1 = h2 = h3 = 0.0
        l0 = l1 = l2 = l3 = 0.0
        i = lo
        while i + 4 <= hi:
            t0 = weights[i] * min(closest[i], np.float64(own[i]))
            t1 = weights[i + 1] * min(closest[i + 1], np.float64(own[i + 1]))
            t2 = weights[i + 2] * min(closest[i + 2], np.float64(own[i + 2]))
            t3 = weights[i + 3] * min(closest[i + 3], np.float64(own[i + 3]))
            p0, p1 = (t0 + magic) - magic, (t1 + magic) - magic
            p2, p3 = (t2 + magic) - magic, (t3 + magic) - magic
            h0 += p0
            h1 += p1
            h2 += p2
            h3 += p3
            l0 += ((t0 - p0) + second) - second
            l1 += ((t1 - p1) + second) - second
            l2 += ((t2 - p2) + second) - second
            l3 += ((t3 - p3) + second) - second
            i += 4
        while i < hi:
            t0 = weights[i] * min(closest[i], np.float64(own[i]))
            p0 = (t0 + magic) - magic
            h0 += p0
            l0 += ((t0 - p0) + second) - second
            i += 1
        rungs[j, 0] += (h0 + h1) + (h2 + h3)
        rungs[j, 1] += (l0 + l1) + (l2 + l3)


@kernel
def lower_closest(distances, weights, lo, hi, closest, masses):
    """Take one more row into account in the distances to the closest ones, and ``w d²``."""
    for i in range(lo, hi):
        closest[i] = min(closest[i], np.float64(distances[i]))
        masses[i] = weights[i] * closest[i]


@kernel
def total_units(masses, low, high):
    """Sum of masses as whole numbers of a unit, the inverse of ``low * high``."""
    total = np.int64(0)
    for i in range(masses.shape[0]):
        total += np.int64(masses[i] * low * high)
    return total


@kernel(allocates=True)
def rows_of_units(
    masses,  # IN  (n,)
    low,  # IN  factors that make whole numbers of masses
    high,
    targets,  # IN  (m,) ascending, below the total
):
    """For each target the first row up to which the masses add up to more than it."""
    # The last row where masses are no numbers: what is returned is always a row.
    found = np.empty(targets.shape[0], dtype=np.int64)
    found[:] = masses.shape[0] - 1
    position = 0
    total = np.int64(0)
    for i in range(masses.shape[0]):
        total += np.int64(masses[i] * low * high)
        while position < targets.shape[0] and targets[position] < total:
            found[position] = i
            position += 1
        if position == targets.shape[0]:
            break
    return found
