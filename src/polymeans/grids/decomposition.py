"""Decomposition of given centroids into sums or products of few vectors.

If the cell of every centroid is known, the best protocentroids follow from
:mod:`polymeans.codebooks`. Finding the cells is a matching problem, which a decomposition that
keeps the order in which k-means numbered its clusters does not solve.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from polymeans._validation import (
    check_choice,
    check_integer,
    check_seed,
    check_weights,
    errors_that_name,
    shown,
)
from polymeans.codebooks.aggregation import AGGREGATORS, combine
from polymeans.grids.arrangement import Arrangement, DecompositionProblem
from polymeans.grids.arrangement_search import fit_cells, search_cells, try_all_cells
from polymeans.grids.matching import match, squared_distances
from polymeans.grids.sizes import check_sizes

#: Cells up to which all pairings are tried: at most 5! = 120, because by symmetry the first
#: centroid is in cell 0. Eight cells would have 5040, each of which takes a fit.
_ALL_PAIRINGS = 6

#: Coordinates of centroids without weight, in the unit of the others, are cut off here, so that
#: their squares do not overflow. They are equally far from all cells then.
_FARTHEST = 1e100


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Centroids as a grid of protocentroids; what :func:`decompose_centroids` returns.

    Parameters
    ----------
    protocentroids : list of p ndarrays of shape (h_q, n_features)
        The sets. In a sum all sets but the first have weighted mean zero, in a product unit root
        mean square.
    cells : ndarray of shape (k,)
        Cell of each centroid, in C order: ``numpy.unravel_index(cells, sizes)``
        are the indices of its protocentroids. No two centroids share a cell.
    error : float
        Weighted sum of squared distances between the centroids and their cells.
    share : float
        Share of the weighted variance of the centroids that the grid explains, at most 1.
    history : ndarray
        Error after each step of the best start; never rises.

    See Also
    --------
    polymeans.decompose_centroids : Makes it.
    diagnose_centroids : Whether the share explained is more than chance.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import decompose_centroids
    >>> rows, columns = np.array([[0.0, 0], [0, 10]]), np.array([[1.0, 0], [2, 0], [5, 0]])
    >>> centers = (rows[:, None] + columns).reshape(6, 2)[[3, 1, 5, 0, 2, 4]]
    >>> found = decompose_centroids(centers, (2, 3), random_state=0)
    >>> i, j = np.unravel_index(found.cells, (2, 3))
    >>> np.allclose(found.protocentroids[0][i] + found.protocentroids[1][j], centers)
    True
    """

    protocentroids: list[NDArray[np.float64]]
    cells: NDArray[np.int64]
    error: float
    share: float
    history: NDArray[np.float64]


def decompose_centroids(
    centers: ArrayLike,
    n_protocentroids: Sequence[int],
    *,
    aggregator: str = "sum",
    weights: ArrayLike | None = None,
    cells: ArrayLike | None = None,
    n_init: int = 8,
    max_iter: int = 100,
    random_state: Any = None,
) -> Decomposition:
    """Approximate given centroids by sums or products of protocentroids.

    **Idea.** The second phase of the two-phase method (Khatri-Rao clustering, section 5), with the
    step that decides its quality: which centroid belongs in which cell of the grid. Two steps
    alternate, and neither can raise the error: match centroids with cells (Hungarian method), fit
    the protocentroids to the matched centroids. Then pairs of centroids are swapped while that
    lowers the error. Some starts search for parallelograms, ``u_a + u_b - u_c = u_d``, of which a
    grid has many; others cluster the centroids and then their residuals, or are random. For grids
    of up to six cells all pairings are tried.

    **Use when** you have centroids (of any method) and want to know how well few vectors
    approximate them, or need a start for :class:`polymeans.KhatriRaoKMeans`.

    **Do not use when** you have the data and want the best grid: centroids found without regard to
    the structure may be far from it. Fit :class:`polymeans.KhatriRaoKMeans`.

    **Cost.** A matching takes up to ``k² · Πh`` steps; above 1500 centroids only the 32 nearest
    cells are considered for each, which still never raises the error. Parallelograms take a few
    hundred times ``k²`` operations and are left out above 3000 centroids, swaps above 400. Memory:
    ``Πh · (k + n_features)`` numbers.

    Parameters
    ----------
    centers : array-like of shape (k, n_features)
        Centroids, in any order.
    n_protocentroids : sequence of p int
        Sizes ``(h_1, ..., h_p)`` of the sets, with ``Πh >= k``. Surplus cells stay empty and count
        for nothing.
    aggregator : {"sum", "product"}, default="sum"
        How protocentroids make centroids.
    weights : array-like of shape (k,), default=None
        How much each centroid counts, such as the size of its cluster. Centroids without weight
        get the nearest of the remaining cells.
    cells : array-like of shape (k,), default=None
        The pairing, if it is known: the cell of each centroid in C order, none twice. Then only
        the protocentroids are fitted.
    n_init : int, default=8
        Number of starts, of which the best is kept; an exact decomposition ends them early.
    max_iter : int, default=100
        Steps of one start at most: matchings with fits, and swaps.
    random_state : int, RandomState instance or None, default=None
        Determines the starts.

    Returns
    -------
    decomposition : Decomposition
        Protocentroids, the cell of each centroid, and the error.

    See Also
    --------
    polymeans.grids.diagnose_centroids : Whether the share explained is more than chance.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import decompose_centroids
    >>> rows, columns = np.array([[0.0, 0], [0, 10]]), np.array([[1.0, 0], [2, 0], [5, 0]])
    >>> centers = (rows[:, None] + columns).reshape(6, 2)[[3, 1, 5, 0, 2, 4]]
    >>> found = decompose_centroids(centers, (2, 3), random_state=0)
    >>> round(found.share, 6)
    1.0
    >>> [theta.shape for theta in found.protocentroids]
    [(2, 2), (3, 2)]
    """
    sizes = check_sizes(n_protocentroids)
    check_choice("aggregator", aggregator, AGGREGATORS)
    check_integer("n_init", n_init, 1)
    check_integer("max_iter", max_iter, 1)
    with errors_that_name("centers"):
        rows = check_array(centers, dtype=np.float64, input_name="centers")
    with errors_that_name("weights"):
        weights = check_weights(weights, rows)
    if len(rows) > np.prod(sizes, dtype=object):
        raise ValueError(
            f"n_protocentroids={tuple(sizes)} makes {np.prod(sizes)} cells, too few for "
            f"{len(rows)} centers. Sizes that are enough: "
            f"polymeans.balanced_sizes({len(rows)})."
        )
    rng = check_seed(random_state)
    counts = weights > 0
    problem = DecompositionProblem(rows[counts], weights[counts], sizes, aggregator)
    given = None
    if cells is not None:
        given = _check_cells(cells, len(rows), problem.n_cells)
        best = fit_cells(problem, given[counts], max_iter)
    elif len(sizes) == 1:
        best = problem.trivial()
    elif problem.n_cells <= _ALL_PAIRINGS:
        best = try_all_cells(problem, max_iter)
    else:
        best = search_cells(problem, n_init, max_iter, rng)
    return _result(problem, best, rows, weights, given)


def _check_cells(cells: ArrayLike, k: int, n_cells: int) -> NDArray[np.int64]:
    with errors_that_name("cells"):
        cells = np.array(cells)
    fit = cells.shape == (k,) and np.issubdtype(cells.dtype, np.integer)
    if not fit or len(np.unique(cells)) < k or cells.min() < 0 or cells.max() >= n_cells:
        raise ValueError(
            f"cells must be {k} different integers from 0 to {n_cells - 1}, one for each center, "
            f"got {shown(cells)}. numpy.ravel_multi_index makes them from one index for each set."
        )
    return cells.astype(np.int64)


def _result(
    problem: DecompositionProblem,
    state: Arrangement,
    centers: NDArray[np.float64],
    weights: NDArray[np.float64],
    given: NDArray[np.int64] | None,
) -> Decomposition:
    """The result in the user's units, with cells for centroids without weight."""
    protocentroids = [theta * problem.unit_of(q) for q, theta in enumerate(state.protocentroids)]
    protocentroids[0] += problem.origin * problem.unit
    cells = np.empty(len(centers), dtype=np.int64) if given is None else given
    cells[weights > 0] = state.cells
    if given is None and not weights.all():
        free = np.setdiff1d(np.arange(problem.n_cells), state.cells)
        grid = combine(protocentroids, problem.aggregator)[free]
        spare = np.clip(centers[weights == 0] / problem.unit, -_FARTHEST, _FARTHEST)
        gaps = squared_distances(spare - problem.mean, grid / problem.unit - problem.mean)
        cells[weights == 0] = free[match(gaps, None)]
        if len(problem.sizes) == 1:  # each protocentroid belongs to one centroid only
            protocentroids[0][cells] = centers
    # One factor at a time: a large unit squared is infinite, and zero times infinity is NaN.
    history = np.array(state.history) * problem.unit * problem.unit * problem.weight_unit
    share = 1.0 - state.error / problem.variance if problem.variance > 0 else 1.0
    return Decomposition(protocentroids, cells, float(history[-1]), share, history)
