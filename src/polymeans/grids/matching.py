"""Matching of centroids with cells: a different cell for each at the least total cost."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

#: Rows squared times columns up to which all cells are considered for each row: 1500 centroids in
#: as many cells. The Hungarian method takes at most that many steps, so its time grows cubically.
_FULL_MATCHING = 1500**3

#: Cells considered for each row above that: the nearest ones, and the present one. The number is a
#: trade-off between time and the chance to exclude the best cell.
_NEAR = 32


def match(cost: NDArray[np.float64], cells: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """A different cell for each row at the least total cost.

    Parameters
    ----------
    cost : ndarray of shape (k, n_cells)
        Cost of each cell for each row, finite.
    cells : ndarray of shape (k,) or None
        Present cells. Where there are too many rows for an optimal matching, the result costs at
        most as much as these.

    Returns
    -------
    ndarray of shape (k,)
    """
    k, n_cells = cost.shape
    if k * k * n_cells <= _FULL_MATCHING:
        return linear_sum_assignment(cost)[1]
    if cells is None:
        cells = _greedy(cost)
    near = np.argpartition(cost, _NEAR, axis=1)[:, :_NEAR]
    considered = np.zeros(cost.shape, dtype=bool)
    np.put_along_axis(considered, near, True, axis=1)
    considered[np.arange(k), cells] = True  # the present matching stays possible
    rows, columns = np.nonzero(considered)
    # Stored zeros would not count as edges; a constant added to all changes no matching.
    edges = cost[rows, columns] + cost.max() + 1.0
    graph = csr_array((edges, (rows, columns)), shape=cost.shape)
    matched = min_weight_full_bipartite_matching(graph)[1]
    every_row = np.arange(k)
    better = cost[every_row, matched].sum() < cost[every_row, cells].sum()
    return matched if better else cells


def _greedy(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give rows their cheapest free cell, round by round.

    Of several rows with the same cheapest cell, the one with the largest cost gets it, because
    other cells cost it even more.
    """
    cost = cost.copy()
    cells = np.full(len(cost), -1)
    unmatched = np.arange(len(cost))
    while len(unmatched):
        cheapest = cost[unmatched].argmin(axis=1)
        order = np.argsort(-cost[unmatched, cheapest], kind="stable")
        taken, first = np.unique(cheapest[order], return_index=True)
        cells[unmatched[order[first]]] = taken
        cost[:, taken] = np.inf
        unmatched = unmatched[cells[unmatched] < 0]
    return cells


def squared_distances(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared distances between all rows of two float64 matrices, from inner products.

    Callers measure rows from a point near them, so that the difference does not cancel.
    """
    squares = np.square(first).sum(axis=1)[:, None] + np.square(second).sum(axis=1)
    return np.maximum(squares - 2 * (first @ second.T), 0.0)
