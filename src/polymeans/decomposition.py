"""Given centroids as sums or products of few vectors: which belongs where in the grid, and of what.

For a fixed place of every centroid the best protocentroids follow from
:mod:`polymeans.codebooks`. The places are a matching problem: the hard part, and the one that a
decomposition in whatever order k-means numbered its clusters leaves out.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state

from polymeans._validation import check_choice, check_integer, check_weights
from polymeans.codebooks.additive import fit_additive
from polymeans.codebooks.aggregation import AGGREGATORS, combine
from polymeans.codebooks.multiplicative import fit_multiplicative
from polymeans.kmeans import KMeans

#: Steps of a full matching at most (rows squared times columns); beyond, only near cells compete.
_FULL_MATCHING = 1500**3

#: Cells that compete for a centroid where a full matching is too dear.
_NEAR = 32

#: Centroids up to which corners are looked for, and trades: both compare all pairs, repeatedly.
_CORNERS, _TRADES = 3000, 400

#: Centroids asked for corners at first, and later.
_SAMPLED, _ASKED = 200, 64

#: Trades tried, in order of their forecast gain, before a start is done.
_TRIED_TRADES = 24

#: Cells up to which all pairings are tried: at most 120, by symmetry the first centroid is at 0.
_ALL_PAIRINGS = 6

#: Relative gain that counts as one, and the share of the variance that counts as nothing.
_GAIN, _NOTHING = 1e-10, 1e-22


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Centroids as a grid of protocentroids; what :func:`decompose_centroids` returns.

    Parameters
    ----------
    protocentroids : list of p ndarrays of shape (h_q, n_features)
        The sets. In a sum all sets but the first have weighted mean zero, in a product unit root
        mean square.
    cells : ndarray of shape (k,)
        Where in the grid each centroid belongs, in C order: ``numpy.unravel_index(cells, sizes)``
        are the indices of its protocentroids. No two centroids share a cell.
    error : float
        Weighted sum of squared distances between the centroids and their cells.
    share : float
        Part of the weighted variance of the centroids that the grid keeps, at most 1.
    history : ndarray
        Error after each step of the best start; never rises.
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
    the protocentroids to the matched centroids. Then pairs of centroids trade places while that
    helps. Starts look for corners of parallelograms, ``u_a + u_b - u_c = u_d``, of which a grid
    has many; others cluster the centroids and then what remains of them, or begin at random. Grids
    of up to six cells try all pairings.

    **Use when** you have centroids (of any method) and want to know how well few vectors replace
    them, or a start for :class:`polymeans.KhatriRaoKMeans`.

    **Do not use when** you have the data and want the best grid: centroids found without regard to
    the structure may be far from it. Fit :class:`polymeans.KhatriRaoKMeans`.

    **Cost.** A matching takes up to ``k² · Πh`` steps; above 1500 centroids only the 32 nearest
    cells compete for each, which still never raises the error. Corners take a few hundred times
    ``k²`` operations and are left out above 3000 centroids, trades above 400. Memory:
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
        How much each centroid counts, such as the size of its cluster. Those without weight take
        the nearest cells the others leave.
    cells : array-like of shape (k,), default=None
        The pairing, if it is known: the cell of each centroid in C order, none twice. Then only
        the protocentroids are fitted.
    n_init : int, default=8
        Number of starts, of which the best is kept; none follow an exact decomposition.
    max_iter : int, default=100
        Steps of one start at most: matchings with fits, and trades.
    random_state : int, RandomState instance or None, default=None
        Determines the starts.

    Returns
    -------
    decomposition : Decomposition
        Protocentroids, the cell of each centroid, and how much they miss.

    See Also
    --------
    polymeans.structure.diagnose_centroids : Whether the share kept is more than chance.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.decomposition import decompose_centroids
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
    centers = check_array(centers, dtype=np.float64, input_name="centers")
    weights = check_weights(weights, centers)
    if len(centers) > np.prod(sizes, dtype=object):
        raise ValueError(
            f"n_protocentroids={tuple(sizes)} makes {np.prod(sizes)} cells, too few for "
            f"{len(centers)} centers. Sizes that are enough: "
            f"polymeans.structure.balanced_sizes({len(centers)})."
        )
    rng = check_random_state(random_state)
    counts = weights > 0
    problem = _Problem(centers[counts], weights[counts], sizes, aggregator)
    if cells is not None:
        cells = _check_cells(cells, len(centers), problem.n_cells)
        best = _fit_only(problem, cells[counts], max_iter)
    elif len(sizes) == 1:
        best = problem.trivial()
    elif problem.n_cells <= _ALL_PAIRINGS:
        best = _enumerate(problem, max_iter)
    else:
        best = _search(problem, n_init, max_iter, rng)
    return problem.result(best, centers, weights, cells)


def check_sizes(n_protocentroids: Any) -> tuple[int, ...]:
    """Sizes of sets as a tuple of int.

    Parameters
    ----------
    n_protocentroids : sequence of int
        What the user gave.

    Returns
    -------
    tuple of int
    """
    try:
        sizes = tuple(n_protocentroids)
    except TypeError:
        sizes = ()
    if not sizes or isinstance(n_protocentroids, str):
        raise TypeError(
            "n_protocentroids must be a sequence with the size of each set, such as (3, 4), "
            f"got {n_protocentroids!r}."
        )
    for size in sizes:
        check_integer("Each of n_protocentroids", size, 1)
    return tuple(int(size) for size in sizes)


def _check_cells(cells: ArrayLike, k: int, n_cells: int) -> NDArray[np.int64]:
    cells = np.array(cells)
    fit = cells.shape == (k,) and np.issubdtype(cells.dtype, np.integer)
    if not fit or len(np.unique(cells)) < k or cells.min() < 0 or cells.max() >= n_cells:
        raise ValueError(
            f"cells must be {k} different integers from 0 to {n_cells - 1}, one for each center, "
            f"got {cells}. numpy.ravel_multi_index makes them from one index for each set."
        )
    return cells.astype(np.int64)


# --- the problem ---------------------------------------------------------------------------------


@dataclass(eq=False)
class _State:
    """A grid, where the centroids are in it, and what it misses."""

    protocentroids: list[NDArray[np.float64]]
    cells: NDArray[np.int64]
    error: float
    history: list[float]


class _Problem:
    """Centroids that count, in units in which squares neither overflow nor cancel."""

    def __init__(
        self,
        centers: NDArray[np.float64],
        weights: NDArray[np.float64],
        sizes: tuple[int, ...],
        aggregator: str,
    ) -> None:
        self.sizes, self.aggregator = sizes, aggregator
        self.weight_unit = weights.max()
        self.weights = weights / self.weight_unit
        self.unit = np.abs(centers).max() or 1.0
        centers = centers / self.unit
        self.mean = self.weights @ centers / self.weights.sum()
        # A sum may be measured from anywhere; a product only from zero.
        self.origin = self.mean if aggregator == "sum" else np.zeros_like(self.mean)
        self.centers = centers - self.origin
        self.variance = float(self.weights @ np.square(centers - self.mean).sum(axis=1))
        self.effects = self.centers if aggregator == "sum" else _logarithms(centers)

    @property
    def n_cells(self) -> int:
        return int(np.prod(self.sizes))

    @property
    def forecast_is_exact(self) -> bool:
        full = len(self.centers) == self.n_cells and np.ptp(self.weights) == 0
        return full and self.aggregator == "sum"

    def _on_grid(
        self, cells: NDArray[np.int64], rows: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        targets, masses = np.zeros((self.n_cells, rows.shape[1])), np.zeros(self.n_cells)
        targets[cells], masses[cells] = rows, self.weights
        return targets, masses

    def fit(
        self,
        cells: NDArray[np.int64],
        protocentroids: Sequence[NDArray[np.float64]],
        anew: bool = False,
    ) -> tuple[list[NDArray[np.float64]], float]:
        """Best protocentroids for these cells, and their error.

        Products have many optima, feature by feature; ``anew`` looks for better ones elsewhere.
        """
        targets, masses = self._on_grid(cells, self.centers)
        if self.aggregator == "sum":
            fitted = fit_additive(targets, masses, protocentroids)
        else:
            sums = masses[:, None] * targets
            fitted = fit_multiplicative(sums, masses, protocentroids)
            if anew:
                ones = [np.ones_like(theta) for theta in fitted]
                for start in (_leading_vectors(targets, self.sizes), ones):
                    other = fit_multiplicative(sums, masses, start)
                    better = self._errors(other, cells) < self._errors(fitted, cells)
                    fitted = [np.where(better, new, old) for new, old in zip(other, fitted)]
        return fitted, float(self._errors(fitted, cells).sum())

    def _errors(
        self, protocentroids: Sequence[NDArray[np.float64]], cells: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Error of each feature."""
        missed = self.centers - combine(protocentroids, self.aggregator)[cells]
        return self.weights @ np.square(missed)

    def start(self, cells: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Protocentroids to begin with: what the effects say about these cells."""
        targets, masses = self._on_grid(cells, self.effects)
        zeros = [np.zeros((size, targets.shape[1])) for size in self.sizes]
        fitted = fit_additive(targets, masses, zeros)
        return fitted if self.aggregator == "sum" else [np.exp(theta) for theta in fitted]

    def nearest_cells(self, sets: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
        """Matching of the effects with the grid of protocentroids of effects."""
        gaps = _squared_distances(self.effects, combine(sets, "sum"))
        return _match(self.weights[:, None] * gaps, None)

    def match(
        self, protocentroids: Sequence[NDArray[np.float64]], cells: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """Cells of least total error for given protocentroids, no worse than the present ones."""
        grid = combine(protocentroids, self.aggregator)
        # About their mean, so that the squares do not cancel.
        middle = self.mean - self.origin
        gaps = _squared_distances(self.centers - middle, grid - middle)
        return _match(self.weights[:, None] * gaps, cells)

    def trivial(self) -> _State:
        """One set: every centroid is a protocentroid, surplus ones are their mean."""
        only = np.tile(self.mean - self.origin, (self.sizes[0], 1))
        only[: len(self.centers)] = self.centers
        return _State([only], np.arange(len(self.centers)), 0.0, [0.0])

    def _unit_of(self, q: int) -> float:
        return self.unit if q == 0 or self.aggregator == "sum" else 1.0

    def result(
        self,
        state: _State,
        centers: NDArray[np.float64],
        weights: NDArray[np.float64],
        given: NDArray[np.int64] | None,
    ) -> Decomposition:
        """In the user's units, and with the centroids that do not count."""
        protocentroids = [theta * self._unit_of(q) for q, theta in enumerate(state.protocentroids)]
        protocentroids[0] += self.origin * self.unit
        cells = np.empty(len(centers), dtype=np.int64) if given is None else given
        cells[weights > 0] = state.cells
        if given is None and not weights.all():
            free = np.setdiff1d(np.arange(self.n_cells), state.cells)
            grid = combine(protocentroids, self.aggregator)[free]
            # In the unit of those that count; what is far beyond it is far from all cells alike.
            spare = np.clip(centers[weights == 0] / self.unit, -1e100, 1e100)
            gaps = _squared_distances(spare - self.mean, grid / self.unit - self.mean)
            cells[weights == 0] = free[_match(gaps, None)]
            if len(self.sizes) == 1:  # nothing else claims these rows
                protocentroids[0][cells] = centers
        # One factor at a time: a large unit squared is infinite, and zero times that no number.
        history = np.array(state.history) * self.unit * self.unit * self.weight_unit
        share = 1.0 - state.error / self.variance if self.variance > 0 else 1.0
        return Decomposition(protocentroids, cells, float(history[-1]), share, history)


def _logarithms(centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of absolute values, in which a product is a sum; values near zero are lifted."""
    size = np.abs(centers)
    floor = 1e-3 * np.sqrt(np.mean(size**2, axis=0))
    return np.log(np.maximum(size, np.where(floor > 0, floor, 1.0)))


def _squared_distances(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    squares = np.square(first).sum(axis=1)[:, None] + np.square(second).sum(axis=1)
    return np.maximum(squares - 2 * (first @ second.T), 0.0)


def _leading_vectors(
    targets: NDArray[np.float64], sizes: Sequence[int]
) -> list[NDArray[np.float64]]:
    """Leading singular vector of each feature's grid along each set: its best product if full."""
    grid = targets.reshape(*sizes, -1)
    sets = []
    for q, size in enumerate(sizes):
        flat = np.moveaxis(grid, (-1, q), (0, 1)).reshape(targets.shape[1], size, -1)
        sets.append(np.linalg.eigh(flat @ flat.transpose(0, 2, 1))[1][:, :, -1].T)
    return sets


def _match(cost: NDArray[np.float64], cells: NDArray[np.int64] | None) -> NDArray[np.int64]:
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


# --- the search ----------------------------------------------------------------------------------


def _fit_only(problem: _Problem, cells: NDArray[np.int64], max_iter: int) -> _State:
    fitted, error = problem.fit(cells, problem.start(cells), anew=True)
    history = [error]
    while problem.aggregator == "product" and len(history) < max_iter:
        again, error = problem.fit(cells, fitted)
        if not error < history[-1] * (1 - _GAIN):
            break
        fitted = again
        history.append(error)
    return _State(fitted, cells, history[-1], history)


def _enumerate(problem: _Problem, max_iter: int) -> _State:
    best, least = None, np.inf
    for following in permutations(range(1, problem.n_cells), len(problem.centers) - 1):
        cells = np.array([0, *following])
        fitted, error = problem.fit(cells, problem.start(cells), anew=True)
        if best is None or error < least:
            best, least = (fitted, cells), error
    assert best is not None
    return _descend(problem, *best, [], max_iter)


def _search(problem: _Problem, n_init: int, max_iter: int, rng: np.random.RandomState) -> _State:
    k = len(problem.centers)
    starts: tuple[Callable[..., NDArray[np.int64]], ...] = (_from_residuals, _from_random)
    if k <= _CORNERS:
        starts = (_from_corners, _from_residuals, _from_corners, _from_random)
    best: _State | None = None
    reached: list[float] = []
    for number in range(n_init):
        cells = starts[number % len(starts)](problem, rng)
        state = _descend(problem, problem.start(cells), cells, [], max_iter)
        if np.isclose(state.error, reached, rtol=1e-9, atol=0.0).any():
            continue  # where it leads is known
        reached.append(state.error)
        if k <= _TRADES:
            state = _trade(problem, state, max_iter)
            reached.append(state.error)
        if best is None or state.error < best.error:
            best = state
        if best.error <= _NOTHING * problem.variance:
            break
    assert best is not None
    return best


def _descend(
    problem: _Problem,
    protocentroids: Sequence[NDArray[np.float64]],
    cells: NDArray[np.int64],
    history: list[float],
    max_iter: int,
) -> _State:
    """Fit and match in turn until neither helps."""
    fitted, error = problem.fit(cells, protocentroids, anew=True)
    state = _State(fitted, cells, error, [*history, error])
    while len(state.history) < max_iter and state.error > _NOTHING * problem.variance:
        cells = problem.match(state.protocentroids, state.cells)
        fitted, error = problem.fit(cells, state.protocentroids)
        if not error < state.error * (1 - _GAIN):
            break
        state = _State(fitted, cells, error, [*state.history, error])
    return state


def _trade(problem: _Problem, state: _State, max_iter: int) -> _State:
    """Let pairs of centroids trade places while that lowers the error after a new fit.

    A matching sees only the present protocentroids; what a trade gains once they follow is known
    in closed form for a sum of equally weighted centroids. It serves as a forecast elsewhere.
    """
    while len(state.history) < max_iter and state.error > _NOTHING * problem.variance:
        gains = _forecast(problem, state.cells)
        first, second = np.triu_indices(len(gains), 1)
        gains = gains[first, second]
        for trade in np.argsort(-gains, kind="stable")[:_TRIED_TRADES]:
            if gains[trade] <= 0 and problem.forecast_is_exact:
                return state
            a, b = first[trade], second[trade]
            cells = state.cells.copy()
            cells[[a, b]] = cells[[b, a]]
            fitted, error = problem.fit(cells, state.protocentroids, anew=True)
            if error < state.error * (1 - _GAIN):
                state = _descend(problem, fitted, cells, state.history, max_iter)
                break
        else:
            return state
    return state


def _forecast(problem: _Problem, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """Gain of each trade: a sum keeps ``Σ_q Σ_i |R_qi|² h_q / Πh``, R the sums of its slices.

    With ``δ = u_b - u_a``, trading a in slice i for b in slice j of set q adds
    ``2 δ · (R_qi - R_qj) + 2 |δ|²`` to the squares.
    """
    effects = problem.effects
    gaps = _squared_distances(effects, effects)
    gains = np.zeros_like(gaps)
    for index, size in zip(np.unravel_index(cells, problem.sizes), problem.sizes):
        slices = np.zeros((size, effects.shape[1]))
        np.add.at(slices, index, effects)
        along = (effects @ slices.T)[:, index]  # u_a · R of the slice of b
        own = np.diag(along)
        gain = along + along.T - own[:, None] - own + gaps
        gains += np.where(index[:, None] != index, 2 * size * gain, 0.0)
    return gains


# --- starts: cells for the effects, which are the centroids or, for products, their logarithms ---


def _from_random(problem: _Problem, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Any cells: the only start that does not take products of unlike signs for alike."""
    return rng.permutation(problem.n_cells)[: len(problem.centers)]


def _from_residuals(problem: _Problem, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Cluster the effects, then what remains of them, set by set in random order."""
    rest = problem.effects
    sets: list[Any] = [None] * len(problem.sizes)
    for q in rng.permutation(len(sets)):
        size = min(problem.sizes[q], len(rest))
        model = KMeans(size, random_state=rng.randint(2**31 - 1), n_threads=1)
        with warnings.catch_warnings():
            # Residuals may repeat, and clusters without any stay where they are: no concern here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rest, sample_weight=problem.weights)
        surplus = rest[rng.randint(len(rest), size=problem.sizes[q] - size)]
        sets[q] = np.concatenate([model.cluster_centers_, surplus])
        rest = rest - model.cluster_centers_[model.labels_]
    return problem.nearest_cells(sets)


def _from_corners(problem: _Problem, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Find the centroids that share all protocentroids but one with a random one of them.

    If a and b differ from it in different sets, the fourth corner of their parallelogram is a
    centroid, too. So look for the group of ``h_1 - 1`` and the one of ``h_2 · ... · h_p - 1`` whose
    corners are nearest to centroids; the second group is a smaller grid.
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
    """Split a grid around one of its centroids into an axis and the slice across it."""
    others = group[group != corner]
    n_axis = min(size - 1, len(others))
    n_slice = min(-(-len(group) // size) - 1, len(others))
    alone = np.array([corner])
    if n_axis == 0:
        return alone, group
    if n_slice <= 0:
        return np.append(alone, others[:n_axis]), alone
    steps = effects[others] - effects[corner]
    gaps = _squared_distances(steps, steps)
    np.fill_diagonal(gaps, np.inf)  # u_b itself is no fourth corner of a and b
    # The one whose best corners fit best is on the axis; then each group in turn picks the other.
    sample = rng.permutation(len(others))[:_SAMPLED]
    misfits = _corner_misfits(steps, gaps, sample)
    best = np.partition(misfits, n_slice - 1, axis=1)[:, :n_slice].sum(axis=1).argmin()
    axis = across = sample[[best]]
    for _ in range(5):
        across = _best_partners(steps, gaps, axis, n_slice)
        chosen = _best_partners(steps, gaps, across, n_axis)
        if set(chosen) == set(axis):
            break
        axis = chosen
    return np.append(alone, others[axis]), np.append(alone, others[across])


def _best_partners(
    steps: NDArray[np.float64], gaps: NDArray[np.float64], group: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    misfits = _corner_misfits(steps, gaps, group[:_ASKED])
    return np.argsort(misfits.sum(axis=0), kind="stable")[:size]


def _corner_misfits(
    steps: NDArray[np.float64], gaps: NDArray[np.float64], group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Squared distance of ``corner + s_a + s_b`` to the nearest centroid but a and b.

    For a in the group and any b, with steps s from the corner.
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
