"""Perturbations of a grid in a poor optimum: replace a vector, add noise, soften assignments."""

import numpy as np

from polymeans.kernels.cells import decode
from polymeans.kernels.compile import kernel
from polymeans.kernels.dense import two_best_lanes
from polymeans.kernels.draws import accumulate, draw
from polymeans.kernels.emit import LANES
from polymeans.kernels.grid_descent import (
    distance_of_score,
    fill_table,
    pack_cell,
    pack_centroids,
)
from polymeans.kernels.tiles import MOST_ROWS

#: Gaps beyond so many temperatures count as infinite: exp(-16) is 1e-7, about what float32 scores
#: resolve.
_NEGLIGIBLE_GAP = 16.0

#: Rows drawn as places for a swapped vector, and members of the other sets tried with each: six
#: candidates, each of which costs a look at sampled rows. At most so many rows are sampled: they
#: only have to rank the candidates, and all rows would take a pass for each.
_SWAP_ROWS, _SWAP_PARTNERS = 2, 3
SAMPLED = 2000

#: Factors below this share of their typical size are too small to divide by: the quotient would be
#: beyond twenty times the size of a row.
_SMALL = 0.05


@kernel(inner=True)
def nth_smallest(values, n):
    """Position of the n-th smallest value, counting from 0; equal ones in order."""
    for i in range(values.shape[0]):
        before = 0
        for j in range(values.shape[0]):
            if values[j] < values[i] or (values[j] == values[i] and j < i):
                before += 1
        if before == n:
            return i
    return 0  # values that do not compare


@kernel(inner=True)
def removal_costs(
    theta,
    problem,
    workspace,
    costs,  # OUT (H,) by how much the objective would rise without each protocentroid
    nearest,  # OUT (n, p) the member each row is nearest to, set by set
    first,  # OUT (n, p) squared distance with it
    second,  # OUT (n, p) and without it
):
    """What removing each protocentroid costs, from one table of all distances."""
    pack_centroids(theta, problem, workspace)
    fill_table(problem, workspace)
    n, k = problem.points.shape[0], workspace.masses.shape[0]
    costs[:] = 0.0
    for i in range(n):
        stride = k
        start = 0
        for q in range(problem.sizes.shape[0]):
            h = problem.sizes[q]
            stride //= h
            lowest = np.inf
            following = np.inf
            closest = 0
            for g in range(h):
                value = np.float32(np.inf)
                for outer in range(0, k, stride * h):
                    for c in range(outer + g * stride, outer + (g + 1) * stride):
                        value = min(value, workspace.table[c // LANES, i, c % LANES])
                if value < lowest:
                    following = lowest
                    lowest = np.float64(value)
                    closest = g
                else:
                    following = min(following, np.float64(value))
            nearest[i, q] = closest
            first[i, q] = distance_of_score(problem, lowest, i)
            second[i, q] = distance_of_score(problem, following, i) if h > 1 else first[i, q]
            costs[start + closest] += problem.weights[i] * (second[i, q] - first[i, q])
            start += h


@kernel(inner=True)
def propose(theta, problem, q, i, digits, out):
    """The vector of set q that makes row i a centroid together with these other members."""
    sizes = problem.sizes
    for t in range(theta.shape[1]):
        x = np.float64(problem.points[i, t])
        rest = 1.0 if problem.multiply else 0.0
        typical = 1.0
        start = 0
        for s in range(sizes.shape[0]):
            if s != q:
                if problem.multiply:
                    rest *= theta[start + digits[s], t]
                    spread = 0.0
                    for g in range(sizes[s]):
                        spread += theta[start + g, t] ** 2
                    typical *= spread / sizes[s]
                else:
                    rest += theta[start + digits[s], t]
            start += sizes[s]
        if not problem.multiply:
            out[t] = x - rest
        elif abs(rest) > _SMALL * np.sqrt(typical):
            out[t] = x / rest
        # Otherwise the quotient means nothing, and out keeps its value.


@kernel(inner=True, allocates=True)
def potential(theta, problem, workspace, q, vector, after, sample):
    """What the rows would cost if ``vector`` joined set q, ``after`` being their cost without."""
    sizes = problem.sizes
    k = workspace.masses.shape[0]
    n_cells = k // sizes[q]
    n_panels = -(-n_cells // LANES)
    start = 0
    for s in range(q):
        start += sizes[s]
    stride = 1
    for s in range(q + 1, sizes.shape[0]):
        stride *= sizes[s]
    d = theta.shape[1]
    kept = np.empty(d)
    for t in range(d):
        kept[t] = theta[start, t]
        theta[start, t] = vector[t]
    for c in range(n_panels * LANES):
        # Cells whose member of set q is the first one, which the vector has replaced for now.
        code = c // stride * stride * sizes[q] + c % stride
        pack_cell(theta, problem, workspace, c, code if c < n_cells else -1)
    for t in range(d):
        theta[start, t] = kept[t]
    total = 0.0
    m = sample.shape[0]
    lowest = np.empty(MOST_ROWS)
    tile = workspace.tile
    tile.skip[:] = -1
    for b in range(0, m, MOST_ROWS):
        lowest[:] = np.inf
        n_rows = min(MOST_ROWS, m - b)
        for r in range(MOST_ROWS):
            tile.rows[r] = sample[min(b + r, m - 1)]
        for p in range(n_panels):
            panel, start = workspace.panels[p], workspace.starts[p]
            two_best_lanes(problem.points, panel, start, tile, n_rows)
            for r in range(n_rows):
                lowest[r] = min(lowest[r], np.float64(tile.best[r]))
        for r in range(n_rows):
            i = sample[b + r]
            total += problem.weights[i] * min(after[i], distance_of_score(problem, lowest[r], i))
    return total


@kernel(inner=True, allocates=True)
def place_vector(
    theta,  # INOUT
    problem,
    workspace,
    q,
    place,  # IN  the protocentroid, of set q, that is to be placed
    after,  # IN  (n,) squared distances of the rows without it
    cumulative,  # IN  (n,) rows are drawn in proportion to its increments
    n_rows,  # IN  how many rows are drawn
    n_partners,  # IN  how many choices of the other sets' members are tried for each
):
    """Greedy k-means++ for a grid: of vectors that put a centroid onto a row, the best one.

    ``add_center`` of ``polymeans.kernels.small_kmeans`` does this for plain centers. A vector of a
    grid makes a centroid with each combination of the other sets' members, so its cost is computed
    in tiles and on a sample of the rows; only the draws are common to both.
    """
    n, k = problem.points.shape[0], workspace.masses.shape[0]
    sample = np.empty(min(n, SAMPLED), dtype=np.int64)
    for m in range(sample.shape[0]):
        sample[m] = m if n <= SAMPLED else np.random.randint(n)
    d = theta.shape[1]
    chosen, vector = np.empty(d), np.empty(d)
    for t in range(d):
        chosen[t] = theta[place, t]
    digits = np.empty(problem.sizes.shape[0], dtype=np.int64)
    lowest = np.inf
    for _ in range(n_rows):
        i = draw(cumulative)
        for _ in range(n_partners):
            decode(np.random.randint(k), problem.sizes, digits)
            for t in range(d):
                vector[t] = theta[place, t]
            propose(theta, problem, q, i, digits, vector)
            value = potential(theta, problem, workspace, q, vector, after, sample)
            if value < lowest:
                lowest = value
                for t in range(d):
                    chosen[t] = vector[t]
    for t in range(d):
        theta[place, t] = chosen[t]


@kernel(allocates=True)
def swap_protocentroid(theta, problem, workspace, rank, seed):
    """Replace a protocentroid whose removal costs little, ``rank`` others less; worth two passes.

    Candidates make centroids of rows that are far from all centroids without it; the one with the
    smallest potential is taken.
    """
    np.random.seed(seed)
    n, n_sets = problem.points.shape[0], problem.sizes.shape[0]
    costs = np.empty(theta.shape[0])
    nearest = np.empty((n, n_sets), dtype=np.int64)
    first = np.empty((n, n_sets))
    second = np.empty((n, n_sets))
    removal_costs(theta, problem, workspace, costs, nearest, first, second)
    removed = nth_smallest(costs, rank % theta.shape[0])
    q = 0
    start = 0
    while removed >= start + problem.sizes[q]:
        start += problem.sizes[q]
        q += 1
    after = np.empty(n)
    cumulative = np.empty(n)
    for i in range(n):
        after[i] = second[i, q] if start + nearest[i, q] == removed else first[i, q]
    total = accumulate(problem.weights, after, cumulative)
    if total > 0.0 and total < np.inf:
        place_vector(
            theta, problem, workspace, q, removed, after, cumulative, _SWAP_ROWS, _SWAP_PARTNERS
        )


@kernel(inner=True)
def add_noise(theta, sizes, strength):
    """Noise in proportion to the spread of each set."""
    start = 0
    for q in range(sizes.shape[0]):
        h = sizes[q]
        for t in range(theta.shape[1]):
            mean = 0.0
            for g in range(h):
                mean += theta[start + g, t] / h
            spread = 0.0
            for g in range(h):
                spread += (theta[start + g, t] - mean) ** 2 / h
            spread = strength * np.sqrt(spread)
            for g in range(h):
                theta[start + g, t] += spread * np.random.standard_normal()
        start += h


@kernel(inner=True, allocates=True)
def sum_softly(problem, workspace, temperature):
    """Masses and sums of all cells, to which rows belong the more the nearer they are."""
    n, r = problem.points.shape
    k = workspace.masses.shape[0]
    share = np.empty(k)
    fill_table(problem, workspace)
    workspace.masses[:] = 0.0
    workspace.sums[:] = 0.0
    for i in range(n):
        lowest = np.float32(np.inf)
        for c in range(k):
            lowest = min(lowest, workspace.table[c // LANES, i, c % LANES])
        total = 0.0
        for c in range(k):
            gap = 2.0 * np.float64(workspace.table[c // LANES, i, c % LANES] - lowest)
            # Most centroids are too far to matter, and exponentials take long.
            near = gap < _NEGLIGIBLE_GAP * temperature
            share[c] = np.exp(-gap / temperature) if near else 0.0
            total += share[c]
        for c in range(k):
            if share[c] > 0.0:
                w = problem.weights[i] * share[c] / total
                workspace.masses[c] += w
                for t in range(r):
                    workspace.sums[c, t] += w * problem.points[i, t]
