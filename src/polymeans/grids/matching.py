"""A different cell for each centroid at the least total cost."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

#: Steps of a full matching at most (rows squared times columns); beyond, only near cells compete.
_FULL_MATCHING = 1500**3

#: Cells that compete for a centroid where a full matching is too dear.
_NEAR = 32


def match(cost: NDArray[np.float64], cells: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """A cell for each row of the costs, no cell twice: the cheapest, or cheaper than ``cells``."""
    k, n_cells = cost.shape
    if k * k * n_cells <= _FULL_MATCHING:
        return linear_sum_assignment(cost)[1]
    if cells is None:
        cells = _greedy(cost)
    near = np.argpartition(cost, _NEAR, axis=1)[:, :_NEAR]
    competing = np.zeros(cost.shape, dtype=bool)
    np.put_along_axis(competing, near, True, axis=1)
    competing[np.arange(k), cells] = True  # the present matching stays possible
    rows, columns = np.nonzero(competing)
    # Stored zeros would not count as edges; a constant added to all changes no matching.
    edges = cost[rows, columns] + cost.max() + 1.0
    graph = csr_array((edges, (rows, columns)), shape=cost.shape)
    matched = min_weight_full_bipartite_matching(graph)[1]
    everyone = np.arange(k)
    better = cost[everyone, matched].sum() < cost[everyone, cells].sum()
    return matched if better else cells


def _greedy(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows ask for their cheapest free cell, round by round; the one that saves most gets it."""
    cost = cost.copy()
    cells = np.full(len(cost), -1)
    waiting = np.arange(len(cost))
    while len(waiting):
        wanted = cost[waiting].argmin(axis=1)
        asked = cost[waiting, wanted]
        order = np.argsort(-asked, kind="stable")  # the dearest first: elsewhere they cost more
        granted, first = np.unique(wanted[order], return_index=True)
        cells[waiting[order[first]]] = granted
        cost[:, granted] = np.inf
        waiting = waiting[cells[waiting] < 0]
    return cells


def squared_distances(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    squares = np.square(first).sum(axis=1)[:, None] + np.square(second).sum(axis=1)
    return np.maximum(squares - 2 * (first @ second.T), 0.0)
