"""Small problems, solved thousands of times: trial descents and moves of the search.

The rows are few (a summary of the data) and a trial is one call: perturb, then Lloyd until it has
converged or cannot win any more. Labels come from float32 scores, sums and fits are float64; near
ties do not matter here, since whatever wins is refined on the data by the exact engine.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.khatri_rao import sweep_products
from polymeans.kernels.vector import LANES, tile_scores, tile_two_best

#: Rounds over the sets when products are refitted within a trial.
_SWEEPS = 3

#: Iterations of the moves, and rows that judge where a swapped vector should go.
SHAKES, MELTS = 6, 10
SAMPLED = 2000

#: Makes the system of a sum solvable where rows leave a direction open, which then stays put.
_RIDGE = 1e-9


class Problem(NamedTuple):
    """Weighted rows and the shape of the grid that is to serve them."""

    points: np.ndarray  # (n, r) float32
    squares: np.ndarray  # (n,) float64 squared norms
    weights: np.ndarray  # (n,) float64
    total: float  # Σ w |x|²
    sizes: np.ndarray  # (p,) int64
    multiply: bool


class Desk(NamedTuple):
    """Room to work in, one for each thread."""

    panels: np.ndarray  # (n_panels, r, 16) float32, minus the centroids
    starts: np.ndarray  # (n_panels, 16) float32, half their squared norms
    table: np.ndarray  # (n_panels, n padded to 4, 16) float32 scores of everything
    labels: np.ndarray  # (n,) int64
    best: np.ndarray  # (n,) float32
    masses: np.ndarray  # (k,)
    sums: np.ndarray  # (k, r)
    pair: np.ndarray  # (H, H)
    right: np.ndarray  # (H, r)
    numerators: np.ndarray  # (max h, r)
    denominators: np.ndarray  # (max h, r)
    row: np.ndarray  # (r,)
    digits: np.ndarray  # (p,) int64
    skip: np.ndarray  # (4,) int32
    tile_best: np.ndarray  # (4,) float32
    tile_second: np.ndarray  # (4,) float32
    tile_lane: np.ndarray  # (4,) int32


@kernel
def decode(code, sizes, digits):
    for q in range(sizes.shape[0] - 1, -1, -1):
        digits[q] = code % sizes[q]
        code //= sizes[q]


@kernel
def member(theta, problem, digits, t):
    """Coordinate t of the centroid with these digits."""
    value = 1.0 if problem.multiply else 0.0
    start = 0
    for q in range(problem.sizes.shape[0]):
        if problem.multiply:
            value *= theta[start + digits[q], t]
        else:
            value += theta[start + digits[q], t]
        start += problem.sizes[q]
    return value


@kernel
def pack(theta, problem, desk):
    """Bring all centroids into panels."""
    k = desk.masses.shape[0]
    for c in range(desk.panels.shape[0] * LANES):
        p = c // LANES
        lane = c % LANES
        if c >= k:
            desk.starts[p, lane] = np.inf
            for t in range(theta.shape[1]):
                desk.panels[p, t, lane] = 0.0
            continue
        decode(c, problem.sizes, desk.digits)
        square = 0.0
        for t in range(theta.shape[1]):
            value = member(theta, problem, desk.digits, t)
            desk.panels[p, t, lane] = -value
            square += value * value
        desk.starts[p, lane] = 0.5 * square


@kernel(fastmath={"nnan", "nsz"})
def assign(problem, desk):
    """Nearest centroid of each row, all panels looked at."""
    n = problem.points.shape[0]
    desk.skip[:] = -1
    for b in range(n):
        desk.best[b] = np.inf
        desk.labels[b] = 0
    for b0 in range(0, n, 64):
        b1 = min(b0 + 64, n)
        for p in range(desk.panels.shape[0]):
            for b in range(b0, b1, 4):
                tile_two_best(
                    problem.points,
                    b,
                    min(b + 1, n - 1),
                    min(b + 2, n - 1),
                    min(b + 3, n - 1),
                    desk.panels[p],
                    desk.starts[p],
                    desk.skip,
                    desk.tile_best,
                    desk.tile_second,
                    desk.tile_lane,
                )
                for r in range(min(4, n - b)):
                    if desk.tile_best[r] < desk.best[b + r]:
                        desk.best[b + r] = desk.tile_best[r]
                        desk.labels[b + r] = p * LANES + desk.tile_lane[r]


@kernel
def fill_table(problem, desk):
    """Scores of all rows and centroids."""
    n = problem.points.shape[0]
    for b in range(0, n, 4):
        for p in range(desk.panels.shape[0]):
            tile_scores(
                problem.points,
                b,
                min(b + 1, n - 1),
                min(b + 2, n - 1),
                min(b + 3, n - 1),
                desk.panels[p],
                desk.starts[p],
                desk.table[p, b : b + 4],
            )


@kernel
def distance(problem, score, i):
    return max(0.0, problem.squares[i] + 2.0 * np.float64(score))


@kernel
def employ_all(problem, desk):
    """Give every unused protocentroid the row that is served worst, as the engine does."""
    n = problem.points.shape[0]
    k = desk.masses.shape[0]
    stride = k
    for q in range(problem.sizes.shape[0]):
        h = problem.sizes[q]
        stride //= h
        count = np.zeros(h, dtype=np.int64)
        for i in range(n):
            count[desk.labels[i] // stride % h] += 1
        for g in range(h):
            if count[g] > 0:
                continue
            worst = -1
            farthest = 0.0
            for i in range(n):
                d = distance(problem, desk.best[i], i) * problem.weights[i]
                if d > farthest and count[desk.labels[i] // stride % h] > 1:
                    farthest = d
                    worst = i
            if worst >= 0:
                old = desk.labels[worst] // stride % h
                count[old] -= 1
                count[g] = 1
                desk.labels[worst] += (g - old) * stride
                desk.best[worst] = -0.5 * problem.squares[worst]


@kernel
def gather(problem, desk):
    """Masses and sums of all cells."""
    desk.masses[:] = 0.0
    desk.sums[:] = 0.0
    for i in range(problem.points.shape[0]):
        w = problem.weights[i]
        c = desk.labels[i]
        desk.masses[c] += w
        for t in range(problem.points.shape[1]):
            desk.sums[c, t] += w * problem.points[i, t]


@kernel
def refit(theta, problem, desk):
    """Best protocentroids for the sums on the desk; how far the rows stay from them in total."""
    if problem.multiply:
        origin = desk.row
        origin[:] = 0.0
        sweep_products(
            desk.sums,
            0,
            desk.masses,
            origin,
            problem.sizes,
            0,
            theta.shape[1],
            _SWEEPS,
            1e-9,
            theta,
            desk.numerators,
            desk.denominators,
            desk.right[0],
        )
    else:
        refit_sum(theta, problem, desk)
    return remaining(theta, problem, desk)


@kernel
def remaining(theta, problem, desk):
    total = problem.total
    for c in range(desk.masses.shape[0]):
        mass = desk.masses[c]
        if mass > 0.0:
            decode(c, problem.sizes, desk.digits)
            for t in range(theta.shape[1]):
                value = member(theta, problem, desk.digits, t)
                total += value * (mass * value - 2.0 * desk.sums[c, t])
    return max(0.0, total)


@kernel
def refit_sum(theta, problem, desk):
    """One Cholesky solve for the increment; see ``polymeans.codebooks.additive``."""
    sizes = problem.sizes
    n_sets, k, r = sizes.shape[0], desk.masses.shape[0], theta.shape[1]
    system, right = desk.pair, desk.right
    H = theta.shape[0]
    system[:] = 0.0
    right[:] = 0.0
    for c in range(k):
        mass = desk.masses[c]
        if mass <= 0.0:
            continue
        decode(c, sizes, desk.digits)
        for t in range(r):  # what the present centroid leaves of this cell's sum
            desk.row[t] = desk.sums[c, t] - mass * member(theta, problem, desk.digits, t)
        start = 0
        for q in range(n_sets):
            a = start + desk.digits[q]
            for t in range(r):
                right[a, t] += desk.row[t]
            other = 0
            for s in range(n_sets):
                system[a, other + desk.digits[s]] += mass
                other += sizes[s]
            start += sizes[q]
    # In units of their own mass; unused protocentroids are tied to where they are.
    root = np.empty(H)
    for a in range(H):
        root[a] = np.sqrt(system[a, a]) if system[a, a] > 0.0 else 1.0
    for a in range(H):
        for b in range(H):
            system[a, b] /= root[a] * root[b]
        for t in range(r):
            right[a, t] /= root[a]
        if system[a, a] == 0.0:
            system[a, a] = 1.0
        system[a, a] += _RIDGE
    # A shift from the first set to another is free: give it an eigenvalue.
    start = sizes[0]
    for q in range(1, n_sets):
        length = 0.0
        for a in range(H):
            if a < sizes[0] or (a >= start and a < start + sizes[q]):
                length += root[a] * root[a]
        for a in range(H):
            in_first = a < sizes[0]
            if not in_first and not (a >= start and a < start + sizes[q]):
                continue
            for b in range(H):
                b_first = b < sizes[0]
                if not b_first and not (b >= start and b < start + sizes[q]):
                    continue
                sign = 1.0 if in_first == b_first else -1.0
                system[a, b] += sign * root[a] * root[b] / length
        start += sizes[q]
    for a in range(H):
        for b in range(a):
            s = system[a, b]
            for c in range(b):
                s -= system[a, c] * system[b, c]
            system[a, b] = s / system[b, b]
        s = system[a, a]
        for c in range(a):
            s -= system[a, c] * system[a, c]
        system[a, a] = np.sqrt(max(s, 1e-12))
        for b in range(a):
            for t in range(r):
                right[a, t] -= system[a, b] * right[b, t]
        for t in range(r):
            right[a, t] /= system[a, a]
    for a in range(H - 1, -1, -1):
        for b in range(a + 1, H):
            for t in range(r):
                right[a, t] -= system[b, a] * right[b, t]
        for t in range(r):
            right[a, t] /= system[a, a]
    for a in range(H):
        for t in range(r):
            theta[a, t] += right[a, t] / root[a]


@kernel
def step(theta, problem, desk):
    """One Lloyd iteration; the objective after it."""
    pack(theta, problem, desk)
    assign(problem, desk)
    employ_all(problem, desk)
    gather(problem, desk)
    return refit(theta, problem, desk)


@kernel
def lloyd(theta, problem, desk, max_iter, tol, rival):
    """Descend in place; the objective and the number of passes.

    Ends when a step gains less than ``tol`` of the objective, or when five more steps like the
    last would not bring it below ``rival``.
    """
    before = np.inf
    value = np.inf
    for n in range(max_iter):
        value = step(theta, problem, desk)
        gain = before - value
        if n > 0 and gain <= tol * value:
            return value, n + 1
        if n >= 2 and value - 5.0 * gain > rival:
            return value, n + 1
        before = value
    return value, max_iter


# --- moves -------------------------------------------------------------------------------------


@kernel
def draw(cumulative):
    """Index drawn in proportion to what is accumulated."""
    u = np.random.random() * cumulative[-1]
    low = 0
    high = cumulative.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def accumulate(weights, values, cumulative):
    """``cumulative`` = running sums of weights times values; the total."""
    total = 0.0
    for i in range(weights.shape[0]):
        total += weights[i] * values[i]
        cumulative[i] = total
    return total


@kernel
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


@kernel
def removal_costs(
    theta,
    problem,
    desk,
    costs,  # OUT (H,) how much worse all rows would be served without each protocentroid
    nearest,  # OUT (n, p) the member each row prefers, set by set
    first,  # OUT (n, p) squared distance with it
    second,  # OUT (n, p) and without it
):
    """What each protocentroid is worth, from one table of all distances."""
    pack(theta, problem, desk)
    fill_table(problem, desk)
    n, k = problem.points.shape[0], desk.masses.shape[0]
    costs[:] = 0.0
    for i in range(n):
        stride = k
        start = 0
        for q in range(problem.sizes.shape[0]):
            h = problem.sizes[q]
            stride //= h
            lowest = np.inf
            following = np.inf
            who = 0
            for g in range(h):
                value = np.float32(np.inf)
                for outer in range(0, k, stride * h):
                    for c in range(outer + g * stride, outer + (g + 1) * stride):
                        value = min(value, desk.table[c // LANES, i, c % LANES])
                if value < lowest:
                    following = lowest
                    lowest = np.float64(value)
                    who = g
                else:
                    following = min(following, np.float64(value))
            nearest[i, q] = who
            first[i, q] = distance(problem, lowest, i)
            second[i, q] = distance(problem, following, i) if h > 1 else first[i, q]
            costs[start + who] += problem.weights[i] * (second[i, q] - first[i, q])
            start += h


@kernel
def propose(theta, problem, desk, q, i, digits, out):
    """The vector of set q that, with these other members, would sit right on row i."""
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
        elif abs(rest) > 0.05 * np.sqrt(typical):
            out[t] = x / rest
        # elsewhere dividing says nothing: what stands in out stays


@kernel
def potential(theta, problem, desk, q, vector, after, sample):
    """What the rows would cost if ``vector`` joined set q, ``after`` being their cost without."""
    sizes = problem.sizes
    k = desk.masses.shape[0]
    n_cells = k // sizes[q]
    r = theta.shape[1]
    n_panels = -(-n_cells // LANES)
    start = 0
    for s in range(q):
        start += sizes[s]
    stride = 1
    for s in range(q + 1, sizes.shape[0]):
        stride *= sizes[s]
    kept = theta[start].copy()
    theta[start] = vector
    for c in range(n_panels * LANES):
        p = c // LANES
        lane = c % LANES
        if c >= n_cells:
            desk.starts[p, lane] = np.inf
            desk.panels[p, :, lane] = 0.0
            continue
        # Cells whose member of set q is the first one, which the vector now stands in for.
        decode(c // stride * stride * sizes[q] + c % stride, sizes, desk.digits)
        square = 0.0
        for t in range(r):
            value = member(theta, problem, desk.digits, t)
            desk.panels[p, t, lane] = -value
            square += value * value
        desk.starts[p, lane] = 0.5 * square
    theta[start] = kept
    total = 0.0
    m = sample.shape[0]
    lowest = np.empty(4)
    desk.skip[:] = -1
    for b in range(0, m, 4):
        lowest[:] = np.inf
        for p in range(n_panels):
            tile_two_best(
                problem.points,
                sample[b],
                sample[min(b + 1, m - 1)],
                sample[min(b + 2, m - 1)],
                sample[min(b + 3, m - 1)],
                desk.panels[p],
                desk.starts[p],
                desk.skip,
                desk.tile_best,
                desk.tile_second,
                desk.tile_lane,
            )
            for s in range(4):
                lowest[s] = min(lowest[s], np.float64(desk.tile_best[s]))
        for s in range(min(4, m - b)):
            i = sample[b + s]
            total += problem.weights[i] * min(after[i], distance(problem, lowest[s], i))
    return total


@kernel
def swap(theta, problem, desk, rank, seed):
    """Replace the protocentroid of the given rank of dispensability; worth two passes.

    Candidates sit right on rows that are badly served without it; the best of six by potential.
    """
    np.random.seed(seed)
    n, n_sets = problem.points.shape[0], problem.sizes.shape[0]
    k = desk.masses.shape[0]
    costs = np.empty(theta.shape[0])
    nearest = np.empty((n, n_sets), dtype=np.int64)
    first = np.empty((n, n_sets))
    second = np.empty((n, n_sets))
    removal_costs(theta, problem, desk, costs, nearest, first, second)
    victim = nth_smallest(costs, rank % theta.shape[0])
    q = 0
    start = 0
    while victim >= start + problem.sizes[q]:
        start += problem.sizes[q]
        q += 1
    after = np.empty(n)
    cumulative = np.empty(n)
    for i in range(n):
        after[i] = second[i, q] if start + nearest[i, q] == victim else first[i, q]
    total = accumulate(problem.weights, after, cumulative)
    if total > 0.0 and total < np.inf:
        sample = np.empty(min(n, SAMPLED), dtype=np.int64)
        for m in range(sample.shape[0]):
            sample[m] = m if n <= SAMPLED else np.random.randint(n)
        chosen = theta[victim].copy()
        lowest = np.inf
        vector = np.empty(theta.shape[1])
        digits = np.empty(n_sets, dtype=np.int64)
        for _ in range(2):
            i = draw(cumulative)
            for _ in range(3):
                decode(np.random.randint(k), problem.sizes, digits)
                vector[:] = theta[victim]
                propose(theta, problem, desk, q, i, digits, vector)
                value = potential(theta, problem, desk, q, vector, after, sample)
                if value < lowest:
                    lowest = value
                    chosen[:] = vector
        theta[victim] = chosen


@kernel
def shake(theta, problem, desk, strength, seed):
    """Noise that fades over a few iterations."""
    np.random.seed(seed)
    for round_ in range(SHAKES):
        fade = strength * (1.0 - round_ / SHAKES)
        start = 0
        for q in range(problem.sizes.shape[0]):
            h = problem.sizes[q]
            for t in range(theta.shape[1]):
                mean = 0.0
                for g in range(h):
                    mean += theta[start + g, t] / h
                spread = 0.0
                for g in range(h):
                    spread += (theta[start + g, t] - mean) ** 2 / h
                spread = fade * np.sqrt(spread)
                for g in range(h):
                    theta[start + g, t] += spread * np.random.standard_normal()
            start += h
        step(theta, problem, desk)


@kernel
def melt(theta, problem, desk, hottest, scale):
    """Soft assignments that harden over a few iterations.

    Temperatures fall geometrically from ``hottest`` to 0.05 times the present mean distance.
    """
    n, k, r = problem.points.shape[0], desk.masses.shape[0], theta.shape[1]
    share = np.empty(k)
    for round_ in range(MELTS):
        ratio = (0.05 / hottest) ** (round_ / (MELTS - 1))
        temperature = max(hottest * ratio * scale, 1e-300)
        pack(theta, problem, desk)
        fill_table(problem, desk)
        desk.masses[:] = 0.0
        desk.sums[:] = 0.0
        for i in range(n):
            lowest = np.float32(np.inf)
            for c in range(k):
                lowest = min(lowest, desk.table[c // LANES, i, c % LANES])
            total = 0.0
            for c in range(k):
                gap = 2.0 * np.float64(desk.table[c // LANES, i, c % LANES] - lowest)
                # Most centroids are too far to matter, and exponentials are dear.
                share[c] = np.exp(-gap / temperature) if gap < 16.0 * temperature else 0.0
                total += share[c]
            for c in range(k):
                if share[c] > 0.0:
                    w = problem.weights[i] * share[c] / total
                    desk.masses[c] += w
                    for t in range(r):
                        desk.sums[c, t] += w * problem.points[i, t]
        refit(theta, problem, desk)


# --- starts ------------------------------------------------------------------------------------


@kernel
def join(problem, base, vector, i):
    """Squared distance of row i to what its members so far make together with ``vector``."""
    total = 0.0
    for t in range(vector.shape[0]):
        if problem.multiply:
            delta = problem.points[i, t] - base[i, t] * vector[t]
        else:
            delta = problem.points[i, t] - base[i, t] - vector[t]
        total += delta * delta
    return total


@kernel
def fitting_vector(problem, base, i, typical, out):
    """The vector that takes row i's members so far right onto the row, where there is one."""
    for t in range(out.shape[0]):
        if not problem.multiply:
            out[t] = problem.points[i, t] - base[i, t]
        elif abs(base[i, t]) > 0.05 * typical[t]:
            out[t] = problem.points[i, t] / base[i, t]
        else:
            out[t] = 1.0


@kernel
def add_set(problem, base, seed, n_iter, vectors):
    """One more set for rows whose members so far make up ``base``: k-means on what they leave.

    Greedy k-means++, then a few Lloyd iterations; ``base`` is brought up to date. On entry it is
    zero (or one, for products) if there are no members yet, which is plain k-means.
    """
    np.random.seed(seed)
    n, r = problem.points.shape
    h = vectors.shape[0]
    n_trials = 2 + int(np.log(h))
    typical = np.zeros(r)
    for i in range(n):
        for t in range(r):
            typical[t] += np.float64(base[i, t]) ** 2 / n
    typical[:] = np.sqrt(typical)
    ones = np.ones(n)
    cumulative = np.empty(n)
    accumulate(problem.weights, ones, cumulative)
    nearest = np.empty(n)
    nearest[:] = np.inf
    candidate = np.empty(r)
    distances = np.empty(n)
    kept = np.empty(n)
    for g in range(h):
        lowest = np.inf
        for _ in range(n_trials if g > 0 else 1):
            fitting_vector(problem, base, draw(cumulative), typical, candidate)
            value = 0.0
            for i in range(n):
                distances[i] = min(nearest[i], join(problem, base, candidate, i))
                value += problem.weights[i] * distances[i]
            if value < lowest:
                lowest = value
                vectors[g] = candidate
                kept[:] = distances
        nearest[:] = kept
        if not accumulate(problem.weights, nearest, cumulative) > 0.0:
            accumulate(problem.weights, ones, cumulative)
    labels = np.zeros(n, dtype=np.int64)
    numerators = np.empty((h, r))
    denominators = np.empty((h, r))
    for round_ in range(n_iter + 1):
        for i in range(n):
            lowest = np.inf
            for g in range(h):
                d = join(problem, base, vectors[g], i)
                if d < lowest:
                    lowest = d
                    labels[i] = g
        if round_ == n_iter:
            break
        numerators[:] = 0.0
        denominators[:] = 0.0
        for i in range(n):
            w = problem.weights[i]
            g = labels[i]
            for t in range(r):
                b = np.float64(base[i, t])
                if problem.multiply:
                    numerators[g, t] += w * b * problem.points[i, t]
                    denominators[g, t] += w * b * b
                else:
                    numerators[g, t] += w * (problem.points[i, t] - b)
                    denominators[g, t] += w
        for g in range(h):
            for t in range(r):
                if denominators[g, t] > 1e-200:
                    vectors[g, t] = numerators[g, t] / denominators[g, t]
    for i in range(n):
        for t in range(r):
            if problem.multiply:
                base[i, t] *= vectors[labels[i], t]
            else:
                base[i, t] += vectors[labels[i], t]


@kernel
def spread_out(theta, problem, desk, seed):
    """Protocentroids one after another, each putting a centroid onto a row far from all so far.

    k-means++ for grids: rows are drawn in proportion to their squared distance from the grid of
    those already there. The newcomer takes the next free place, sets in turn, and makes the row a
    centroid together with some member of each other set; of several, the one that leaves least to
    the others is taken. Places not taken yet repeat the first of their set.
    """
    np.random.seed(seed)
    n, n_sets = problem.points.shape[0], problem.sizes.shape[0]
    k, r = desk.masses.shape[0], theta.shape[1]
    theta[:] = 1.0 if problem.multiply else 0.0
    after = np.ones(n)
    cumulative = np.empty(n)
    accumulate(problem.weights, after, cumulative)
    first = draw(cumulative)
    for g in range(problem.sizes[0]):
        for t in range(r):
            theta[g, t] = problem.points[first, t]
    sample = np.empty(min(n, SAMPLED), dtype=np.int64)
    for m in range(sample.shape[0]):
        sample[m] = m if n <= SAMPLED else np.random.randint(n)
    vector = np.empty(r)
    chosen = np.empty(r)
    digits = np.empty(n_sets, dtype=np.int64)
    largest = 0
    for q in range(n_sets):
        largest = max(largest, problem.sizes[q])
    for place in range(1, largest):
        start = 0
        for q in range(n_sets):
            if place < problem.sizes[q]:
                pack(theta, problem, desk)
                assign(problem, desk)
                for i in range(n):
                    after[i] = distance(problem, desk.best[i], i)
                total = accumulate(problem.weights, after, cumulative)
                lowest = np.inf
                for _ in range(2 + int(np.log(theta.shape[0]))):
                    i = draw(cumulative) if total > 0.0 else np.random.randint(n)
                    decode(np.random.randint(k), problem.sizes, digits)
                    vector[:] = theta[start]
                    propose(theta, problem, desk, q, i, digits, vector)
                    value = potential(theta, problem, desk, q, vector, after, sample)
                    if value < lowest:
                        lowest = value
                        chosen[:] = vector
                if lowest < np.inf:
                    theta[start + place] = chosen
            start += problem.sizes[q]
