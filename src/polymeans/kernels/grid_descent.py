"""Steps of Lloyd descents of small grids of protocentroids, run thousands of times by a search.

The rows are few (a summary of the data). Labels come from float32 scores, sums and fits are
float64; near ties do not matter here, since the winner is refined on the data by the exact engine.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.additive import refit_quickly
from polymeans.kernels.cells import decode, member_sums, pair_masses
from polymeans.kernels.compile import kernel, overload
from polymeans.kernels.dense import FINITE_OR_INFINITE, Tile, take_rows, two_best_lanes
from polymeans.kernels.emit import LANES
from polymeans.kernels.multiplicative import SweepBuffers, sweep_products
from polymeans.kernels.rows import is_kind
from polymeans.kernels.tiles import MOST_ROWS, tile_scores
from polymeans.kernels.vacancies import count_members, fill_vacant

#: Rounds over the sets when products are refitted within a trial, and the gain of a round, relative
#: to what is fitted, at which to stop. Iterations follow, each of which goes on where the last one
#: stopped, so a refit need not converge.
_SWEEPS, _SWEEP_TOL = 3, 1e-9

#: Rows that go through all panels before the next ones are looked at: with the 128 columns of a
#: summary they are 32 kB, which the first-level cache holds.
_BLOCK = 64


class SumProblem(NamedTuple):
    """Weighted rows, and the shape of the grid of sums that is fitted to them."""

    points: np.ndarray  # (n, r) float32
    squares: np.ndarray  # (n,) float64 squared norms
    weights: np.ndarray  # (n,) float64
    total: float  # Σ w |x|²
    sizes: np.ndarray  # (p,) int64
    multiply: bool = False


class ProductProblem(NamedTuple):
    """The same for products; of another type, so that a search compiles one kind of refit only."""

    points: np.ndarray
    squares: np.ndarray
    weights: np.ndarray
    total: float
    sizes: np.ndarray
    multiply: bool = True


class Workspace(NamedTuple):
    """Buffers for trials, one set for each thread."""

    panels: np.ndarray  # (n_panels, r, 16) float32, minus the centroids
    starts: np.ndarray  # (n_panels, 16) float32, half their squared norms
    table: np.ndarray  # (n_panels, n padded to 4, 16) float32 scores of everything
    labels: np.ndarray  # (n,) int64
    best: np.ndarray  # (n,) float32
    masses: np.ndarray  # (k,)
    sums: np.ndarray  # (k, r)
    pair: np.ndarray  # (H, H)
    right: np.ndarray  # (H, r)
    sweep: SweepBuffers  # for r features
    row: np.ndarray  # (r,)
    digits: np.ndarray  # (p,) int64
    tile: Tile


@kernel(inner=True)
def centroid_coordinate(theta, problem, digits, t):
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


@kernel(inner=True)
def pack_cell(theta, problem, workspace, place, code):
    """Write the centroid of a cell to a place of the panels; -1: padding, infinitely far."""
    p, lane = place // LANES, place % LANES
    if code < 0:
        workspace.starts[p, lane] = np.inf
        for t in range(theta.shape[1]):
            workspace.panels[p, t, lane] = 0.0
        return
    decode(code, problem.sizes, workspace.digits)
    square = 0.0
    for t in range(theta.shape[1]):
        value = centroid_coordinate(theta, problem, workspace.digits, t)
        workspace.panels[p, t, lane] = -value
        square += value * value
    workspace.starts[p, lane] = 0.5 * square


@kernel
def pack_centroids(theta, problem, workspace):
    """Write all centroids into panels."""
    k = workspace.masses.shape[0]
    for place in range(workspace.panels.shape[0] * LANES):
        pack_cell(theta, problem, workspace, place, place if place < k else -1)


@kernel(fastmath=FINITE_OR_INFINITE)
def assign_nearest(problem, workspace):
    """Nearest centroid of each row, all panels looked at."""
    n = problem.points.shape[0]
    tile = workspace.tile
    tile.skip[:] = -1
    for b in range(n):
        workspace.best[b] = np.inf
        workspace.labels[b] = 0
    for b0 in range(0, n, _BLOCK):
        b1 = min(b0 + _BLOCK, n)
        for p in range(workspace.panels.shape[0]):
            for b in range(b0, b1, MOST_ROWS):
                n_rows = take_rows(tile, b, b1 - 1)
                two_best_lanes(
                    problem.points, workspace.panels[p], workspace.starts[p], tile, n_rows
                )
                for r in range(n_rows):
                    if tile.best[r] < workspace.best[b + r]:
                        workspace.best[b + r] = tile.best[r]
                        workspace.labels[b + r] = p * LANES + tile.lane[r]


@kernel(inner=True)
def fill_table(problem, workspace):
    """Scores of all rows and centroids."""
    n = problem.points.shape[0]
    for b in range(0, n, 4):
        for p in range(workspace.panels.shape[0]):
            tile_scores(
                problem.points,
                b,
                min(b + 1, n - 1),
                min(b + 2, n - 1),
                min(b + 3, n - 1),
                workspace.panels[p],
                workspace.starts[p],
                workspace.table[p, b : b + 4],
            )


@kernel(inner=True)
def distance_of_score(problem, score, i):
    """The squared distance of row i that a score stands for."""
    return max(0.0, problem.squares[i] + 2.0 * np.float64(score))


@kernel(inner=True, allocates=True)
def relocate_unused(problem, workspace):
    """Give every unused protocentroid the row that adds most to the objective."""
    n = problem.points.shape[0]
    stride = workspace.masses.shape[0]
    costs = np.empty(0)
    for q in range(problem.sizes.shape[0]):
        stride //= problem.sizes[q]
        counts = np.empty(problem.sizes[q], dtype=np.int64)
        if count_members(workspace.labels, problem.weights, stride, counts) == 0:
            continue
        if costs.shape[0] == 0:
            costs = np.empty(n)
            for i in range(n):
                costs[i] = distance_of_score(problem, workspace.best[i], i) * problem.weights[i]
        fill_vacant(workspace.labels, stride, counts, costs)


@kernel(inner=True)
def sum_cells(problem, workspace):
    """Masses and sums of all cells."""
    workspace.masses[:] = 0.0
    workspace.sums[:] = 0.0
    for i in range(problem.points.shape[0]):
        w = problem.weights[i]
        c = workspace.labels[i]
        workspace.masses[c] += w
        for t in range(problem.points.shape[1]):
            workspace.sums[c, t] += w * problem.points[i, t]


def refit_members(theta, problem, workspace):
    """Best protocentroids for the sums in the workspace."""
    raise RuntimeError("refit_members is compiled")  # pragma: no cover


@overload(refit_members)
def _refit_members(theta, problem, workspace):
    if is_kind(problem, ProductProblem):

        def refit_products(theta, problem, workspace):
            origin = workspace.row
            origin[:] = 0.0
            sweep_products(
                workspace.sums,
                0,
                workspace.masses,
                origin,
                problem.sizes,
                0,
                theta.shape[1],
                _SWEEPS,
                _SWEEP_TOL,
                theta,
                workspace.sweep,
            )

        return refit_products
    if is_kind(problem, SumProblem):

        def refit_sums(theta, problem, workspace):
            pair_masses(workspace.masses, problem.sizes, workspace.pair)
            member_sums(workspace.sums, problem.sizes, workspace.right)
            refit_quickly(workspace.pair, workspace.right, problem.sizes, theta)

        return refit_sums


@kernel(inner=True)
def refit_protocentroids(theta, problem, workspace):
    """Best protocentroids for the sums in the workspace; the objective with them."""
    refit_members(theta, problem, workspace)
    return cell_objective(theta, problem, workspace)


@kernel(inner=True)
def cell_objective(theta, problem, workspace):
    """Weighted squared distances of all rows to their cells' centroids, from the sums."""
    total = problem.total
    for c in range(workspace.masses.shape[0]):
        mass = workspace.masses[c]
        if mass > 0.0:
            decode(c, problem.sizes, workspace.digits)
            for t in range(theta.shape[1]):
                value = centroid_coordinate(theta, problem, workspace.digits, t)
                total += value * (mass * value - 2.0 * workspace.sums[c, t])
    return max(0.0, total)
