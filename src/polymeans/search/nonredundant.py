"""Where several clusterings of the same rows may begin, and how to get out of poor optima.

Random subspaces rarely lead to the best set of clusterings, and never when there are many views.
Starts from independent components do; random ones and kicks fill the gaps: on correlated views, on
many clusters, on clusters that overlap. All of it runs on a sample of the rows in a few principal
components; the winner is then refined on everything.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from polymeans.codebooks.orthogonal import basis_of, make_views
from polymeans.search.gain import gain
from polymeans.search.independent import Tree, mutual_information, unmix
from polymeans.search.summary import draw_rows, principal_axes

#: Rows searched at most; more would not change which start wins.
ROWS = 3000

#: Principal components computed in any case, for data that have few.
_ALL = 16

#: Rows independent components are estimated from at most.
_UNMIXED = 2000

#: Starts of a batch: independent components, and random.
_BATCH = ("independent", "independent", "random", "random")

#: Batches, and kicks in a row that may fail, at the effort of one.
_BATCHES, _PATIENCE = 3, 40

#: Further failures allowed for each cluster in a crowd: more of them can be in a wrong place.
_CLUSTER_PATIENCE = 20

#: Multiplications of a pass below which a search does more than it has to.
_SMALL = 2e5

#: And below which it is done in one thread.
_TINY = 1e5

#: Multiplications in one iteration of each of those further failures, at most.
_AFFORDABLE = 4e8

#: Clusters above which several optima are improved before the best is taken, and how many.
_CROWDED, _ISLANDS = 18, 4

#: Kicks tried from the same state. Independent of the number of threads.
_KICKS = 4

#: Iterations of a start before the best of them go on.
_SHORT, _LONG = 30, 300

#: Components of this share of another's spread count as being as wide.
_AS_WIDE = 0.95

#: Costs closer than this share are the same optimum; an improvement must exceed the other share.
_SAME, _BETTER = 1e-5, 1e-6

#: An improvement by this share makes exchanging views worth trying again.
_AFRESH = 1e-3


@dataclass
class Candidate:
    """Labels in all views, their subspaces, and the cost."""

    labels: NDArray[np.int32]  #: (S, n)
    views: Any
    cost: float


class Problem:
    """A sample of the rows in principal components, and the clusterings wanted.

    Parameters
    ----------
    points : ndarray of shape (n, q)
        Rows about their mean, in principal components, the largest first.
    weights : ndarray of shape (n,)
    sizes : tuple of int
        Clusters of each view.
    unseen : float, default=0
        Scatter outside of the components.
    """

    def __init__(
        self,
        points: NDArray[np.float64],
        weights: NDArray[np.float64],
        sizes: tuple[int, ...],
        unseen: float = 0.0,
    ) -> None:
        from polymeans.kernels.views import Sample

        self.sample = Sample(np.ascontiguousarray(points), weights)
        self.points, self.weights, self.sizes = self.sample.points, weights, sizes
        self.total = unseen + float(weights @ np.einsum("ij,ij->i", points, points))

    @cached_property
    def pass_cost(self) -> float:
        """Multiplications of an iteration, about: scores of all rows, and turning all pairs."""
        q, k = self.points.shape[1], sum(self.sizes)
        pairs = [s + t for s, t in combinations(self.sizes, 2)]
        return self.points.size * k + sum(4 * both * k * q + 10 * both**3 for both in pairs)

    @cached_property
    def n_wanted(self) -> int:
        """Components in which to begin: as many as views may need, and those as wide as the last.

        Whitened rows are equally wide everywhere: then no component is to be left out.
        """
        q = min(max(1, sum(self.sizes) - len(self.sizes)), self.points.shape[1])
        return int(np.count_nonzero(self.spread >= _AS_WIDE * self.spread[q - 1]))

    @cached_property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviation of each component."""
        squares = self.weights @ self.points**2 / self.weights.sum()
        return np.sqrt(np.maximum(squares, 1e-300))

    def white(self, q: int) -> NDArray[np.float64]:
        """The first components, all with the same spread."""
        return self.points[:, :q] / self.spread[:q]

    def plain(self, q: int) -> NDArray[np.float64]:
        """The first components as they are."""
        return self.points[:, :q]

    def empty_views(self) -> Any:
        """Views that have no subspace yet."""
        return make_views(self.sizes, self.points.shape[1])

    def descend(
        self,
        labels: NDArray[np.int32],
        max_iter: int,
        views: Any = None,
        rival: float = np.inf,
    ) -> Candidate:
        """Alternate means, subspaces and labels; give up where ``rival`` will not be undercut."""
        from polymeans.kernels.views import descend_views

        views = views or self.empty_views()
        explained, _ = descend_views(self.sample, labels, views, max_iter, self.total - rival)
        return Candidate(labels, views, self.total - explained)

    def cluster(
        self, points: NDArray[np.float64], k: int, rng: np.random.Generator, n_starts: int = 1
    ) -> NDArray[np.int32]:
        """Labels of plain k-means in some coordinates."""
        from polymeans.kernels.views import small_kmeans

        labels = np.zeros(len(points), dtype=np.int32)
        columns = np.ascontiguousarray(points.T)
        seed = int(rng.integers(2**31))
        small_kmeans(columns, self.weights, k, n_starts, 10 if n_starts == 1 else 20, seed, labels)
        return labels


# --- starts ---------------------------------------------------------------------------------------


def independent_start(
    problem: Problem, number: int, n_starts: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Labels from groups of independent components, each matched with a number of clusters."""
    n_views = len(problem.sizes)
    most = problem.n_wanted
    fewest = min(most, max(n_views, -(-most // 2)))
    q = most - (most - fewest) * number // max(1, n_starts - 1)
    if q < n_views:  # fewer dimensions than views: nothing to take apart
        return random_start(problem, number, rng)
    white, weights = problem.white(q), problem.weights
    few = slice(None)
    if len(white) > _UNMIXED:
        few = rng.choice(len(white), _UNMIXED, replace=False)
    contrast = ("tanh", "gauss")[number % 2]
    components = white @ unmix(white[few], weights[few], contrast, rng).T
    tree = Tree(mutual_information(components[few], weights[few]))
    # Rows count as one each on average, whatever their weights add up to.
    counted = weights * (len(weights) / weights.sum())
    known: dict[tuple[int, int], tuple[float, NDArray[np.int32]]] = {}

    def fit(node: int, k: int) -> tuple[float, NDArray[np.int32]]:
        if (node, k) not in known:
            group = components[:, tree.members[node]]
            labels = problem.cluster(group, k, rng, n_starts=3)
            known[node, k] = gain(group, counted, labels, k), labels
        return known[node, k]

    best, chosen = -np.inf, None
    for n_groups in range(n_views, min(n_views + 3, q) + 1):
        nodes = tree.cut(n_groups)
        gains = np.array([[fit(node, k)[0] for k in problem.sizes] for node in nodes])
        groups, views = linear_sum_assignment(np.maximum(gains, -1e300), maximize=True)
        if gains[groups, views].sum() > best or chosen is None:
            best = gains[groups, views].sum()
            chosen = {view: nodes[group] for group, view in zip(groups, views)}
    return np.stack([fit(chosen[s], k)[1] for s, k in enumerate(problem.sizes)])


def random_start(problem: Problem, number: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Labels in random subspaces of several kinds, in turn."""
    return _RANDOM_STARTS[number % len(_RANDOM_STARTS)](problem, rng)


def _orthogonal_parts(problem: Problem, points: NDArray, rng: Any) -> NDArray[np.int32]:
    """k-means in subspaces that are orthogonal, and as large as they may become."""
    q = points.shape[1]
    rooms = [max(1, min(k - 1, q)) for k in problem.sizes]
    if sum(rooms) > q:
        return _any_parts(problem, points, rng)
    turned = points @ np.linalg.qr(rng.standard_normal((q, q)))[0]
    parts = [turned[:, lo:hi] for lo, hi in pairwise(np.cumsum([0, *rooms]))]
    return np.stack([problem.cluster(part, k, rng) for part, k in zip(parts, problem.sizes)])


def _any_parts(problem: Problem, points: NDArray, rng: Any) -> NDArray[np.int32]:
    """k-means in subspaces that have nothing to do with each other, of any size."""
    labels = []
    for k in problem.sizes:
        n_dims = int(rng.integers(1, max(1, min(k - 1, points.shape[1])) + 1))
        axes = np.linalg.qr(rng.standard_normal((points.shape[1], n_dims)))[0]
        labels.append(problem.cluster(points @ axes, k, rng))
    return np.stack(labels)


def _thin_parts(problem: Problem, points: NDArray, rng: Any) -> NDArray[np.int32]:
    """k-means along few directions of much spread, each view orthogonal to those before.

    Where a few dimensions have nearly all of the scatter, the best views share them.
    """
    labels = np.zeros((len(problem.sizes), len(points)), dtype=np.int32)
    rest = points.copy()
    for s in rng.permutation(len(problem.sizes)):
        k = problem.sizes[s]
        n_dims = int(rng.integers(1, max(1, min(k - 1, 2)) + 1))
        # Random mixtures of rows point where the rows are spread.
        mixed = rng.standard_normal((n_dims, len(rest))) @ (problem.weights[:, None] * rest)
        axes = np.linalg.qr(mixed.T)[0]
        inside = rest @ axes
        labels[s] = problem.cluster(inside, k, rng)
        rest -= inside @ axes.T
    return labels


def _one_after_another(
    problem: Problem, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int32]:
    """k-means, then again in what is orthogonal to its means, and so on."""
    labels = np.zeros((len(problem.sizes), len(points)), dtype=np.int32)
    rest = points.copy()
    for s in rng.permutation(len(problem.sizes)):
        k = problem.sizes[s]
        labels[s] = problem.cluster(rest, k, rng)
        masses = np.bincount(labels[s], problem.weights, minlength=k)
        sums = np.zeros((k, rest.shape[1]))
        np.add.at(sums, labels[s], problem.weights[:, None] * rest)
        means = sums[masses > 0] / masses[masses > 0, None]
        _, lengths, axes = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
        axes = axes[lengths > 1e-9 * max(lengths.max(), 1e-300)]
        rest = rest - rest @ axes.T @ axes
    return labels


#: In turn, for whitened and for plain components: each kind has its data.
_RANDOM_STARTS = (
    lambda problem, rng: _orthogonal_parts(problem, problem.white(problem.n_wanted), rng),
    lambda problem, rng: _thin_parts(problem, problem.plain(problem.n_wanted), rng),
    lambda problem, rng: _any_parts(problem, problem.white(problem.n_wanted), rng),
    lambda problem, rng: _orthogonal_parts(problem, problem.plain(problem.n_wanted), rng),
    lambda problem, rng: _one_after_another(problem, problem.white(problem.n_wanted), rng),
    lambda problem, rng: _thin_parts(problem, problem.plain(problem.n_wanted), rng),
    lambda problem, rng: _any_parts(problem, problem.plain(problem.n_wanted), rng),
    lambda problem, rng: _one_after_another(problem, problem.plain(problem.n_wanted), rng),
)


# --- kicks ----------------------------------------------------------------------------------------


def kick(problem: Problem, state: Candidate, rng: np.random.Generator) -> Candidate:
    """Disturb a state at random and descend again."""
    labels = state.labels.copy()
    kinds, chances = (
        (_move_center, _restart_view, _relabel_view, _turn_pair),
        (0.4, 0.25, 0.2, 0.15),
    )
    which = rng.choice(len(kinds), p=chances)
    kinds[0 if len(problem.sizes) == 1 else which](problem, state, labels, rng)
    return _descend_from(problem, state, labels)


def exchange(
    problem: Problem, state: Candidate, s: int, t: int, rng: np.random.Generator
) -> Candidate:
    """Two views take each other's subspace, start anew there, and descend again.

    Which number of clusters belongs to which subspace is not settled by small steps.
    """
    labels = state.labels.copy()
    for view, other in ((s, t), (t, s)):
        inside = problem.points @ basis_of(state.views, other).T
        labels[view] = problem.cluster(inside, problem.sizes[view], rng, n_starts=3)
    return _descend_from(problem, state, labels)


def _descend_from(problem: Problem, state: Candidate, labels: NDArray[np.int32]) -> Candidate:
    views = state.views._replace(dims=state.views.dims.copy(), basis=state.views.basis.copy())
    return problem.descend(labels, _LONG, views, state.cost)


def _move_center(problem: Problem, state: Candidate, labels: Any, rng: Any) -> None:
    """A center of some view goes to where it is needed more."""
    from polymeans.kernels.views import settle_centers, swap_center

    # The more clusters a view has, the more of them can be in the wrong place.
    chances = np.array(problem.sizes) - 1.0
    s = int(rng.choice(len(chances), p=chances / chances.sum())) if chances.any() else 0
    k = problem.sizes[s]
    inside = basis_of(state.views, s) @ problem.points.T
    if len(inside) == 0:
        return _relabel_view(problem, state, labels, rng)
    masses = np.bincount(labels[s], problem.weights, minlength=k)
    sums = [np.bincount(labels[s], problem.weights * y, minlength=k) for y in inside]
    centers = np.stack(sums, axis=1) / np.maximum(masses, 1e-300)[:, None]
    swap_center(inside, problem.weights, centers, 1 + int(rng.integers(4)), rng.integers(2**31))
    settle_centers(inside, problem.weights, centers, 3, labels[s])
    return None


def _restart_view(problem: Problem, state: Candidate, labels: Any, rng: Any) -> None:
    """A view starts anew in all that the others leave."""
    s = int(rng.integers(len(problem.sizes)))
    rest = problem.points
    for t in range(len(problem.sizes)):
        if t != s:
            others = basis_of(state.views, t)
            rest = rest - rest @ others.T @ others
    labels[s] = problem.cluster(rest, problem.sizes[s], rng)


def _relabel_view(problem: Problem, state: Candidate, labels: Any, rng: Any) -> None:
    """A view starts anew in a random subspace apart from the others."""
    s = int(rng.integers(len(problem.sizes)))
    k, q = problem.sizes[s], problem.n_wanted
    n_dims = int(rng.integers(1, max(1, min(k - 1, q)) + 1))
    directions = np.zeros((n_dims, problem.points.shape[1]))
    # Components count alike, by their spread, or all the more by it.
    power = int(rng.integers(-1, 2))
    directions[:, :q] = rng.standard_normal((n_dims, q)) * problem.spread[:q] ** power
    for t in range(len(problem.sizes)):
        if t != s:
            others = basis_of(state.views, t)
            directions -= directions @ others.T @ others
    labels[s] = problem.cluster(problem.points @ directions.T, k, rng)


def _turn_pair(problem: Problem, state: Candidate, labels: Any, rng: Any) -> None:
    """Two views mix their subspaces, part them at random, and start anew there."""
    s, t = rng.choice(len(problem.sizes), 2, replace=False)
    both = np.concatenate([basis_of(state.views, s), basis_of(state.views, t)])
    if len(both) < 2:
        return _relabel_view(problem, state, labels, rng)
    turned = np.linalg.qr(rng.standard_normal((len(both), len(both))))[0] @ both
    n_first = min(max(1, int(state.views.dims[s])), len(both) - 1)
    labels[s] = problem.cluster(problem.points @ turned[:n_first].T, problem.sizes[s], rng)
    labels[t] = problem.cluster(problem.points @ turned[n_first:].T, problem.sizes[t], rng)
    return None


# --- the search -----------------------------------------------------------------------------------


def search(
    problem: Problem,
    effort: float,
    rng: np.random.Generator,
    map_: Callable[..., list[Any]],
) -> list[Candidate]:
    """The best clusterings found, and the runner-up.

    Every start and every kick has random numbers of its own, and kicks come in batches of a fixed
    number, so the outcome does not depend on the number of threads.
    """
    if problem.pass_cost < _TINY:
        # Handing a trial to another thread would take longer than the trial.
        map_ = _one_by_one
    # Where a trial takes no time to speak of, a few times as many of them.
    effort *= float(np.clip(_SMALL / problem.pass_cost, 1.0, 4.0))
    n_batches = max(1, round(_BATCHES * effort))
    n_starts = 2 * n_batches

    def begin(job: tuple[int, str, np.random.Generator]) -> Candidate:
        number, kind, own = job
        if kind == "independent":
            labels = independent_start(problem, number, n_starts, own)
        else:
            labels = random_start(problem, number, own)
        return problem.descend(labels, _SHORT)

    states: list[Candidate] = []
    for batch in range(n_batches):
        jobs = [
            (2 * batch + position % 2, kind, own)
            for position, (kind, own) in enumerate(zip(_BATCH, rng.spawn(len(_BATCH))))
        ]
        states = sorted(states + map_(begin, jobs), key=lambda state: state.cost)
        # An optimum that so many starts find needs no further ones.
        n_same = sum(state.cost <= (1 + _SAME) * states[0].cost for state in states)
        if n_same >= 3:
            break
    crowded = sum(problem.sizes) > _CROWDED
    finalists = _distinct(states, _ISLANDS if crowded else 2)
    finalists = map_(lambda s: problem.descend(s.labels, _LONG, s.views), finalists)
    finalists.sort(key=lambda state: state.cost)
    further = _CLUSTER_PATIENCE * max(0, sum(problem.sizes) - _CROWDED)
    patience = _PATIENCE + min(further, _AFFORDABLE / problem.pass_cost)
    patience = max(1, round(patience * effort))
    if (
        crowded and len(problem.sizes) > 1
    ):  # optima are many and deep: what looks best at first rarely is
        finalists = [improve(problem, s, patience // 2, rng, map_) for s in finalists]
        finalists.sort(key=lambda state: state.cost)
    best = improve(problem, finalists[0], patience, rng, map_)
    return [best, *(state for state in finalists if state.cost > (1 + _SAME) * best.cost)]


def _one_by_one(function: Callable[..., Any], tasks: Any) -> list[Any]:
    return [function(task) for task in tasks]


def improve(
    problem: Problem, best: Candidate, patience: int, rng: np.random.Generator, map_: Any
) -> Candidate:
    """Kick the best state until that has failed often enough."""
    sizes = problem.sizes
    pairs = [(s, t) for s, t in combinations(range(len(sizes)), 2) if sizes[s] != sizes[t]]
    failed, n_kicks, exchanged = 0, 0, False
    while failed < patience and n_kicks < 10 * patience:
        if exchanged or not pairs:
            tried = map_(lambda own, best=best: kick(problem, best, own), rng.spawn(_KICKS))
            n_kicks += _KICKS
            failed += _KICKS
        else:
            jobs = list(zip(pairs, rng.spawn(len(pairs))))
            tried = map_(lambda job, best=best: exchange(problem, best, *job[0], job[1]), jobs)
            exchanged = True
        winner = min(tried, key=lambda state: state.cost)
        if winner.cost < best.cost - _BETTER * abs(best.cost):
            # Far enough from before that other views may be better off elsewhere.
            exchanged = exchanged and winner.cost > best.cost * (1 - _AFRESH)
            best, failed = winner, 0
    return best


def _distinct(states: list[Candidate], n: int) -> list[Candidate]:
    kept: list[Candidate] = []
    for state in states:
        if len(kept) < n and all(state.cost > (1 + _SAME) * other.cost for other in kept):
            kept.append(state)
    return kept


# --- the sample -----------------------------------------------------------------------------------


@dataclass
class Reduced:
    """A sample of the rows in principal components, and the way back."""

    points: NDArray[np.float64]  #: (n, q)
    weights: NDArray[np.float64]  #: (n,)
    axes: NDArray[np.float64]  #: (q, d) orthonormal
    mean: NDArray[np.float64]  #: (d,)
    unseen: float  #: scatter outside of the axes
    chosen: NDArray[np.int64]  #: rows of the sample


def reduce_rows(
    rows: Any,
    n_axes: int,
    rng: np.random.Generator,
    n_rows: int = ROWS,
    exact: int | None = None,
) -> Reduced:
    """Principal components of a sample of the rows, in engine coordinates.

    They are exact where neither rows nor columns are more than ``exact``.
    """
    n_axes = min(n_axes, rows.n_features)
    exact = 4 * n_axes if exact is None else exact
    chosen = np.flatnonzero(rows.weights > 0)
    # Only their ratios matter, and sums of extreme ones would leave the range of numbers.
    weights = rows.weights[chosen] / rows.weights.max()
    if len(chosen) > n_rows:
        chosen, weights = draw_rows(chosen, weights, n_rows, rng)
    shares = weights / weights.sum()
    X = rows.matrix()[chosen]
    mean = np.asarray(shares @ X, dtype=np.float64).ravel()
    if sp.issparse(X):
        axes = _sparse_axes(X, shares, mean, n_axes, max(exact, 512), rng)
        points = X @ axes.T - axes @ mean
        squares = float(shares @ np.asarray(X.multiply(X).sum(axis=1)).ravel()) - mean @ mean
    else:
        X = X - mean
        axes = principal_axes(X * np.sqrt(shares)[:, None], rng, n_axes, exact=exact)
        points = X @ axes.T
        squares = float(shares @ np.einsum("ij,ij->i", X, X))
    spread, turn = np.linalg.eigh((points * shares[:, None]).T @ points)
    kept = np.flatnonzero(spread > 1e-12 * max(spread[-1], 1e-300))[::-1][:n_axes]
    if len(kept) == 0:
        kept = np.arange(1)
    turn = turn[:, kept]
    # Signs are chance: the largest entry of an axis is to be positive.
    axes = turn.T @ axes
    signs = np.sign(axes[np.arange(len(axes)), np.argmax(np.abs(axes), axis=1)])
    axes, turn = axes * signs[:, None], turn * signs
    points = points @ turn
    seen = float(shares @ np.einsum("ij,ij->i", points, points))
    unseen = max(0.0, squares - seen) * float(weights.sum())
    return Reduced(points, weights, axes, mean, unseen, chosen)


def _sparse_axes(
    X: Any, shares: Any, mean: Any, n_axes: int, exact: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Directions in which sparse rows spread most about their mean."""
    scaled = sp.diags_array(np.sqrt(shares)) @ X
    if X.shape[1] <= exact:
        covariance = (scaled.T @ scaled).toarray() - np.outer(mean, mean)
        return np.linalg.eigh(covariance)[1][:, ::-1][:, :n_axes].T
    # The mean stays in: subtracting it would fill the rows. One axis more makes up for it.
    return principal_axes(scaled, rng, n_axes + 1)


def n_axes(sizes: tuple[int, ...]) -> int:
    """Principal components to search for clusterings of these sizes."""
    n_needed = sum(sizes) - len(sizes)
    return max(2 * n_needed, n_needed + 5)


def make_problem(reduced: Reduced, sizes: tuple[int, ...]) -> Problem:
    """The search for clusterings of these sizes, in as many components as that takes."""
    points, weights = reduced.points, reduced.weights
    spread = np.sqrt(weights @ points**2)
    q = min(n_axes(sizes), len(spread))
    # None that is as wide as the last one: which of them comes first is chance.
    q = int(np.count_nonzero(spread >= _AS_WIDE * spread[q - 1]))
    left = float(weights @ np.sum(points[:, q:] ** 2, axis=1))
    return Problem(points[:, :q], weights, sizes, reduced.unseen + left)


# --- what the estimator asks ----------------------------------------------------------------------


def starting_vectors(
    rows: Any,
    sizes: tuple[int, ...],
    start: str,
    effort: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], Any]:
    """Centers of all views on top of each other, and their subspaces, in engine coordinates.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    sizes : tuple of int
    start : {"search", "random"}
        How to begin.
    effort : float
    rng : Generator

    Returns
    -------
    theta : ndarray of shape (sum(sizes), n_features)
        Within the subspaces; those of the first view from the origin, the others from the mean.
    views : Views
    """
    reduced = reduce_rows(rows, max(n_axes(sizes), min(rows.n_features, _ALL)), rng)
    problem = make_problem(reduced, sizes)
    if start == "random":
        plain = problem.plain(problem.n_wanted)
        best = problem.descend(_orthogonal_parts(problem, plain, rng), _SHORT)
    else:
        best = search(problem, effort, rng, rows.threads.map)[0]
    return lift(problem, best, reduced)


def lift(problem: Problem, state: Candidate, reduced: Reduced) -> tuple[NDArray[np.float64], Any]:
    """Centers and subspaces of a state in all coordinates."""
    from polymeans.kernels.subspaces import flatten_means
    from polymeans.kernels.views import weighted_means

    views = state.views
    means = np.empty((int(views.starts[-1]), problem.points.shape[1]))
    masses, centers = np.empty(len(means)), np.empty_like(means)
    weighted_means(problem.sample, state.labels, views.starts, means, masses)
    flatten_means(means, masses, views, centers)
    axes = reduced.axes[: problem.points.shape[1]]
    theta = centers @ axes
    theta[: problem.sizes[0]] += reduced.mean
    return theta, views._replace(basis=views.basis @ axes)
