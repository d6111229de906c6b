"""Small problems, solved thousands of times: the trial descents of the search.

The rows are few (a summary of the data) and a trial is one call: perturb, then Lloyd until it has
converged or cannot win any more. Labels come from float32 scores, sums and fits are float64; near
ties do not matter here, since whatever wins is refined on the data by the exact engine.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.additive import refit_quickly
from polymeans.kernels.cells import decode, member_sums, pair_masses
from polymeans.kernels.compile import kernel
from polymeans.kernels.khatri_rao import sweep_products
from polymeans.kernels.vacancies import count_members, fill_vacant
from polymeans.kernels.vector import LANES, tile_scores, tile_two_best

#: Rounds over the sets when products are refitted within a trial.
_SWEEPS = 3


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
def pack_cell(theta, problem, desk, place, code):
    """Write the centroid of a cell to a place of the panels; -1: padding, infinitely far."""
    p, lane = place // LANES, place % LANES
    if code < 0:
        desk.starts[p, lane] = np.inf
        for t in range(theta.shape[1]):
            desk.panels[p, t, lane] = 0.0
        return
    decode(code, problem.sizes, desk.digits)
    square = 0.0
    for t in range(theta.shape[1]):
        value = member(theta, problem, desk.digits, t)
        desk.panels[p, t, lane] = -value
        square += value * value
    desk.starts[p, lane] = 0.5 * square


@kernel
def pack(theta, problem, desk):
    """Bring all centroids into panels."""
    k = desk.masses.shape[0]
    for place in range(desk.panels.shape[0] * LANES):
        pack_cell(theta, problem, desk, place, place if place < k else -1)


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
    """Give every unused protocentroid the row that adds most to the objective."""
    n = problem.points.shape[0]
    stride = desk.masses.shape[0]
    costs = np.empty(0)
    for q in range(problem.sizes.shape[0]):
        stride //= problem.sizes[q]
        counts = np.empty(problem.sizes[q], dtype=np.int64)
        if count_members(desk.labels, problem.weights, stride, counts) == 0:
            continue
        if costs.shape[0] == 0:
            costs = np.empty(n)
            for i in range(n):
                costs[i] = distance(problem, desk.best[i], i) * problem.weights[i]
        fill_vacant(desk.labels, stride, counts, costs)


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
        pair_masses(desk.masses, problem.sizes, desk.pair)
        member_sums(desk.sums, problem.sizes, desk.right)
        refit_quickly(desk.pair, desk.right, problem.sizes, theta)
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
