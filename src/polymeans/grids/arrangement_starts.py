"""First cells of a search, from the effects of the centroids.

The effects are the centroids themselves or, for products, the logarithms of their absolute values.
Each function takes a problem and a source of random numbers and returns the cell of each centroid.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polymeans.grids.arrangement import DecompositionProblem
from polymeans.grids.matching import squared_distances
from polymeans.kmeans import KMeans

#: Centroids up to which parallelograms are searched for: tables of all pairs of centroids, 72 MB
#: each at 3000, are gone through once for each centroid that is tried as a corner (see below).
MOST_FOR_CORNERS = 3000

#: Centroids tried as neighbors of the corner in the first step, and members of a group that are
#: used to select the other group. Each takes ``k²`` operations, so both numbers are a trade-off
#: between time and the reliability of the selection.
_FIRST_NEIGHBORS, _MOST_SELECTORS = 200, 64

#: Rounds at most in which each of the two groups is selected by the other.
_ROUNDS = 5


def from_random(problem: DecompositionProblem, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Random cells.

    The other starts ignore the signs of products, because effects are absolute values; this one
    does not.
    """
    return rng.permutation(problem.n_cells)[: len(problem.centers)]


def from_residuals(problem: DecompositionProblem, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Cluster the effects, then their residuals, set by set in random order."""
    rest = problem.effects
    sets: list[Any] = [None] * len(problem.sizes)
    for q in rng.permutation(len(sets)):
        size = min(problem.sizes[q], len(rest))
        model = KMeans(size, random_state=rng.randint(2**31 - 1), n_threads=1)
        with warnings.catch_warnings():
            # Equal residuals leave clusters empty, which does no harm here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rest, sample_weight=problem.weights)
        surplus = rest[rng.randint(len(rest), size=problem.sizes[q] - size)]
        sets[q] = np.concatenate([model.cluster_centers_, surplus])
        rest = rest - model.cluster_centers_[model.labels_]
    return problem.nearest_cells(sets)


def from_corners(problem: DecompositionProblem, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Find the centroids that share all protocentroids but one with a random centroid.

    If a and b differ from that corner in different sets, the fourth corner of the parallelogram is
    a centroid, too. So two groups are searched for, of ``h_1 - 1`` and of ``h_2 · ... · h_p - 1``
    centroids, whose fourth corners are nearest to centroids; the second group is a smaller grid,
    which is split in the same way.
    """
    effects = problem.effects
    corner = rng.randint(len(effects))
    group = np.arange(len(effects))
    sets = []
    for q, size in enumerate(problem.sizes):
        if q < len(problem.sizes) - 1:
            axis, group = _split_corners(effects, corner, group, size, rng)
        else:
            axis = group
        missing = max(size - len(axis), 0)
        axis = np.concatenate([axis[:size], rng.randint(len(effects), size=missing)])
        sets.append(effects[axis] - (effects[corner] if q else 0.0))
    return problem.nearest_cells(sets)


def _split_corners(
    effects: NDArray[np.float64],
    corner: int,
    group: NDArray[np.int64],
    size: int,
    rng: np.random.RandomState,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split a grid around one of its centroids into an axis and the slice orthogonal to it."""
    others = group[group != corner]
    n_axis = min(size - 1, len(others))
    n_slice = min(-(-len(group) // size) - 1, len(others))
    alone = np.array([corner])
    if n_axis == 0:
        return alone, group
    if n_slice <= 0:
        return np.append(alone, others[:n_axis]), alone
    steps = effects[others] - effects[corner]
    gaps = squared_distances(steps, steps)
    np.fill_diagonal(gaps, np.inf)  # b itself is not the fourth corner of a and b
    # The centroid with the best fourth corners is on the axis; then each group selects the other.
    sample = rng.permutation(len(others))[:_FIRST_NEIGHBORS]
    misfits = _corner_misfits(steps, gaps, sample)
    best = np.partition(misfits, n_slice - 1, axis=1)[:, :n_slice].sum(axis=1).argmin()
    axis = across = sample[[best]]
    for _ in range(_ROUNDS):
        across = _best_partners(steps, gaps, axis, n_slice)
        chosen = _best_partners(steps, gaps, across, n_axis)
        if set(chosen) == set(axis):
            break
        axis = chosen
    return np.append(alone, others[axis]), np.append(alone, others[across])


def _best_partners(
    steps: NDArray[np.float64], gaps: NDArray[np.float64], group: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Centroids whose fourth corners with a group are nearest to centroids."""
    misfits = _corner_misfits(steps, gaps, group[:_MOST_SELECTORS])
    return np.argsort(misfits.sum(axis=0), kind="stable")[:size]


def _corner_misfits(
    steps: NDArray[np.float64], gaps: NDArray[np.float64], group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Squared distance of ``corner + s_a + s_b`` to the nearest centroid other than a and b.

    For each a in the group and each b; s are differences from the corner.
    """
    products = steps[group] @ steps.T
    misfits = np.empty_like(products)
    for row, a in enumerate(group):
        # |s_a + s_b - s_c|² = |s_b - s_c|² + 2 s_a·(s_b - s_c) + |s_a|²
        found = gaps - 2 * products[row]
        found[:, a] = np.inf
        misfits[row] = found.min(axis=1) + 2 * products[row] + products[row, a]
        misfits[row, a] = np.inf
    return np.maximum(misfits, 0.0)
