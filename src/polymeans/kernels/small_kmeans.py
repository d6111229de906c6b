"""k-means of few rows, solved thousands of times in trials of a search and in their starts.

Rows stand side by side: a coordinate of all of them is one line of ``columns``, so that a loop over
rows is what vectorises. Near ties do not matter here.

With ``factors``, row i at center c costs ``Σ_t (columns[t, i] - factors[t, i] c[t])²``: centers
are fitted as one set of a product whose other sets have made the factors.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polymeans.kernels.compile import kernel
from polymeans.kernels.draws import accumulate, draw, n_candidates
from polymeans.kernels.subspaces import dot

#: Rows labeled at a time: with distances, two best and labels they are 7 kB, which stay in the
#: first-level cache together with some coordinates.
_BLOCK = 256

#: A factor below this share of its line's root mean square is too small to divide by: the center
#: would be beyond twenty times the size of a row.
_SMALL = 0.05

#: Masses not above this are taken for zero, and the coordinate stays as it is: quotients might
#: overflow.
_ZERO = 1e-200


class Lines(NamedTuple):
    """Weighted rows, side by side."""

    columns: np.ndarray  # (m, n) float64
    factors: np.ndarray  # (m, n) float64, or without lines: all of them are one
    weights: np.ndarray  # (n,) float64


def side_by_side(
    columns: NDArray[Any],
    weights: NDArray[np.float64],
    factors: NDArray[np.float64] | None = None,
) -> Lines:
    """Rows as the kernels of this file take them.

    Parameters
    ----------
    columns : ndarray of shape (m, n)
        A line for each coordinate.
    weights : ndarray of shape (n,)
    factors : ndarray of shape (m, n), default=None
        What each row multiplies centers with; None: nothing.

    Returns
    -------
    Lines
    """
    columns = np.ascontiguousarray(columns, dtype=np.float64)
    if factors is None:
        factors = np.empty((0, columns.shape[1]))
    return Lines(columns, np.ascontiguousarray(factors), weights)


@kernel(inner=True)
def squares_to(lines, center, lo, hi, out):
    """Squared distances of rows lo:hi to a center."""
    # Slices, since only indices that are never negative make vector instructions.
    out = out[: hi - lo]
    out[:] = 0.0
    plain = lines.factors.shape[0] == 0
    for t in range(lines.columns.shape[0]):
        line, place = lines.columns[t, lo:hi], center[t]
        if plain:
            for i in range(out.shape[0]):
                step = line[i] - place
                out[i] += step * step
        else:
            factor = lines.factors[t, lo:hi]
            for i in range(out.shape[0]):
                step = line[i] - factor[i] * place
                out[i] += step * step


@kernel(inner=True, allocates=True)
def typical_factors(lines):
    """Root mean square of each line of factors."""
    typical = np.zeros(lines.factors.shape[0])
    for t in range(typical.shape[0]):
        typical[t] = np.sqrt(dot(lines.factors[t], lines.factors[t]) / lines.factors.shape[1])
    return typical


@kernel(inner=True)
def center_on(lines, i, typical, center):
    """The center that row i is at; one where factors are too small to divide by."""
    plain = lines.factors.shape[0] == 0
    for t in range(center.shape[0]):
        if plain:
            center[t] = lines.columns[t, i]
        elif abs(lines.factors[t, i]) > _SMALL * typical[t]:
            center[t] = lines.columns[t, i] / lines.factors[t, i]
        else:
            center[t] = 1.0


@kernel(inner=True, allocates=True)
def add_center(
    lines,  # IN  the rows
    typical,  # IN  from typical_factors
    nearest,  # IN  (n,) squared distances to the centers there are, infinite if there are none
    cumulative,  # IN  (n,) rows are drawn in proportion to its increments
    n_draws,  # IN  how many rows are drawn
    center,  # OUT (m,)
    lowered,  # OUT (n,) squared distances to the nearest of all, this one included
):
    """Draw a few rows and place a center on the one that lowers the total cost most."""
    n = nearest.shape[0]
    candidate = np.empty_like(center)
    squares = np.empty(n)
    lowest = np.inf
    for _ in range(n_draws):
        center_on(lines, draw(cumulative), typical, candidate)
        squares_to(lines, candidate, np.int64(0), n, squares)
        for i in range(n):
            squares[i] = min(nearest[i], squares[i])
        total = dot(lines.weights, squares)
        if total < lowest:
            lowest = total
            for t in range(center.shape[0]):
                center[t] = candidate[t]
            for i in range(n):
                lowered[i] = squares[i]


@kernel(inner=True, allocates=True)
def spread_centers(lines, centers):
    """Greedy k-means++."""
    n, k = lines.columns.shape[1], centers.shape[0]
    typical = typical_factors(lines)
    cumulative = np.empty(n)
    nearest, lowered = np.full(n, np.inf), np.zeros(n)
    for g in range(k):
        accumulate(lines.weights, lowered, cumulative)
        n_draws = n_candidates(k) if g > 0 else 1
        add_center(lines, typical, nearest, cumulative, n_draws, centers[g], lowered)
        for i in range(n):
            nearest[i] = lowered[i]


@kernel(inner=True, allocates=True)
def nearest_centers(lines, centers, labels, first, second):
    """Nearest center of each row, and squared distances to it and to the next; how many moved."""
    n, k = lines.columns.shape[1], centers.shape[0]
    squares = np.empty(_BLOCK)
    owner = np.empty(_BLOCK, dtype=np.int32)
    n_moved = 0
    for lo in range(0, n, _BLOCK):
        hi = min(lo + _BLOCK, n)
        best, following, own = first[lo:hi], second[lo:hi], owner[: hi - lo]
        best[:] = np.inf
        following[:] = np.inf
        own[:] = 0
        for c in range(k):
            squares_to(lines, centers[c], lo, hi, squares)
            for i in range(hi - lo):
                here = squares[i]
                closer = here < best[i]
                following[i] = best[i] if closer else min(here, following[i])
                best[i] = here if closer else best[i]
                own[i] = c if closer else own[i]
        for i in range(hi - lo):
            n_moved += labels[lo + i] != own[i]
            labels[lo + i] = own[i]
    return n_moved


@kernel(inner=True)
def move_centers(lines, labels, centers, sums, masses):
    """Centers become the best for their rows; ``sums`` and ``masses`` (k,) are buffers."""
    plain = lines.factors.shape[0] == 0
    weights = lines.weights
    n = weights.shape[0]
    if plain:
        masses[:] = 0.0
        for i in range(n):
            masses[labels[i]] += weights[i]
    for t in range(centers.shape[1]):
        line = lines.columns[t]
        sums[:] = 0.0
        if plain:
            for i in range(n):
                sums[labels[i]] += weights[i] * line[i]
        else:
            factor = lines.factors[t]
            masses[:] = 0.0
            for i in range(n):
                scaled = weights[i] * factor[i]
                sums[labels[i]] += scaled * line[i]
                masses[labels[i]] += scaled * factor[i]
        for c in range(centers.shape[0]):
            if masses[c] > _ZERO:
                centers[c, t] = sums[c] / masses[c]


@kernel(allocates=True)
def refine_centers(lines, centers, max_iter, labels):
    """Lloyd's iterations from these centers, in place; the scatter within clusters."""
    n, k = lines.columns.shape[1], centers.shape[0]
    sums, masses = np.empty(k), np.empty(k)
    first, second = np.empty(n), np.empty(n)
    for iteration in range(max_iter + 1):
        n_moved = nearest_centers(lines, centers, labels, first, second)
        if iteration == max_iter or n_moved == 0:
            break
        move_centers(lines, labels, centers, sums, masses)
    return dot(lines.weights, first)


@kernel(allocates=True)
def swap_center(lines, centers, n_draws, seed):
    """Move a center whose removal costs little onto a row that is far from all centers.

    The row is the best of several drawn by their distance; the center is, among a random half of
    them, the one whose rows lose least when each goes to its second nearest center.
    """
    np.random.seed(seed)
    n, k = lines.columns.shape[1], centers.shape[0]
    labels = np.zeros(n, dtype=np.int32)
    nearest, second = np.empty(n), np.empty(n)
    nearest_centers(lines, centers, labels, nearest, second)
    cumulative = np.empty(n)
    if not accumulate(lines.weights, nearest, cumulative) > 0.0:
        return
    missed = np.zeros(k)
    for i in range(n):
        missed[labels[i]] += lines.weights[i] * (second[i] - nearest[i])
    chosen, lowered = np.empty(centers.shape[1]), np.empty(n)
    add_center(lines, typical_factors(lines), nearest, cumulative, n_draws, chosen, lowered)
    lowest, leaving = np.inf, np.random.randint(k)
    for c in range(k):
        if missed[c] < lowest and np.random.random() < 0.5:
            lowest, leaving = missed[c], c
    for t in range(chosen.shape[0]):
        centers[leaving, t] = chosen[t]


@kernel(allocates=True)
def small_kmeans(
    lines,  # IN  the rows
    n_starts,
    max_iter,  # IN  iterations of each run
    seed,
    centers,  # OUT (k, m)
    labels,  # OUT (n,) int32
):
    """The best of a few runs of k-means; the scatter within its clusters."""
    np.random.seed(seed)
    lowest = np.inf
    trial = np.empty_like(centers)
    owners = np.empty_like(labels)
    for _ in range(n_starts):
        spread_centers(lines, trial)
        owners[:] = -1
        total = refine_centers(lines, trial, max_iter, owners)
        if total < lowest:
            lowest = total
            for c in range(centers.shape[0]):
                for t in range(centers.shape[1]):
                    centers[c, t] = trial[c, t]
            for i in range(labels.shape[0]):
                labels[i] = owners[i]
    return lowest
