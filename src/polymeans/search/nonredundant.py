"""Where several clusterings of the same rows may begin, and how to get out of poor optima.

Random subspaces rarely lead to the best set of clusterings, and never when there are many views.
Starts from independent components do; random ones and kicks fill the gaps: on correlated views, on
many clusters, on clusters that overlap. All of it runs on a sample of the rows in a few principal
components; the winner is then refined on everything.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
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

#: Rows independent components are estimated from at most.
_UNMIXED = 2000

#: Starts of a batch: independent components, and random.
_BATCH = ("independent", "independent", "random", "random")

#: Batches, and kicks in a row that may fail, at the effort of one.
_BATCHES, _PATIENCE = 3, 20

#: Kicks tried from the same state. Independent of the number of threads.
_KICKS = 4

#: Iterations of a start before the best of them go on.
_SHORT, _LONG = 30, 300

#: Costs closer than this share are the same optimum; an improvement must exceed the other share.
_SAME, _BETTER = 1e-5, 1e-6


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
        self.n_wanted = min(max(1, sum(sizes) - len(sizes)), points.shape[1])

    @cached_property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviation of each component."""
        squares = self.weights @ self.points**2 / self.weights.sum()
        return np.sqrt(np.maximum(squares, 1e-300))

    def white(self, q: int) -> NDArray[np.float64]:
        """The first components, all with the same spread."""
        return self.points[:, :q] / self.spread[:q]

    def empty_views(self) -> Any:
        """Views that have no subspace yet."""
        return make_views(self.sizes, self.points.shape[1])

    def descend(self, labels: NDArray[np.int32], max_iter: int, views: Any = None) -> Candidate:
        """Alternate means, subspaces and labels."""
        from polymeans.kernels.views import descend_views

        views = views or self.empty_views()
        explained, _ = descend_views(self.sample, labels, views, max_iter)
        return Candidate(labels, views, self.total - explained)

    def cluster(
        self, points: NDArray[np.float64], k: int, rng: np.random.Generator, n_starts: int = 1
    ) -> NDArray[np.int32]:
        """Labels of plain k-means in some coordinates."""
        from polymeans.kernels.views import small_kmeans

        labels = np.zeros(len(points), dtype=np.int32)
        points = np.ascontiguousarray(points)
        seed = int(rng.integers(2**31))
        small_kmeans(points, self.weights, k, n_starts, 10 if n_starts == 1 else 20, seed, labels)
        return labels


# --- starts ---------------------------------------------------------------------------------------


def independent_start(
    problem: Problem, number: int, n_starts: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Labels from groups of independent components, each matched with a number of clusters."""
    n_views = len(problem.sizes)
    most, fewest = problem.n_wanted, max(n_views, -(-problem.n_wanted // 2))
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
    q, sizes = problem.n_wanted, problem.sizes
    kind = number % 6
    base = problem.white(q) if kind in (0, 1, 3) else problem.points[:, :q]
    if kind in (3, 5):
        return _one_after_another(problem, base, rng)
    rooms = [max(1, min(k - 1, q)) for k in sizes]
    if kind in (0, 2) and sum(rooms) <= q:
        turned = base @ np.linalg.qr(rng.standard_normal((q, q)))[0]
        edges = np.cumsum([0, *rooms])
        parts = [turned[:, lo:hi] for lo, hi in itertools.pairwise(edges)]
    else:
        parts = [
            base @ np.linalg.qr(rng.standard_normal((q, int(rng.integers(1, room + 1)))))[0]
            for room in rooms
        ]
    return np.stack([problem.cluster(part, k, rng) for part, k in zip(parts, sizes)])


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


# --- kicks ----------------------------------------------------------------------------------------


def kick(problem: Problem, state: Candidate, rng: np.random.Generator) -> Candidate:
    """Disturb a state and descend again."""
    labels = state.labels.copy()
    dice = rng.random()
    if dice < 0.5 or len(problem.sizes) == 1:
        _move_center(problem, state, labels, rng)
    elif dice < 0.8:
        _relabel_view(problem, state, labels, rng)
    else:
        _turn_pair(problem, state, labels, rng)
    views = state.views._replace(dims=state.views.dims.copy(), basis=state.views.basis.copy())
    return problem.descend(labels, _LONG, views)


def _move_center(problem: Problem, state: Candidate, labels: Any, rng: Any) -> None:
    """A center of some view goes to a row drawn by its distance in that view."""
    from polymeans.kernels.views import settle_centers

    s = int(rng.integers(len(problem.sizes)))
    k = problem.sizes[s]
    inside = np.ascontiguousarray(problem.points @ basis_of(state.views, s).T)
    if inside.shape[1] == 0:
        return _relabel_view(problem, state, labels, rng)
    masses = np.bincount(labels[s], problem.weights, minlength=k)
    centers = (
        np.stack(
            [np.bincount(labels[s], problem.weights * y, minlength=k) for y in inside.T], axis=1
        )
        / np.maximum(masses, 1e-300)[:, None]
    )
    distances = problem.weights * np.sum((inside - centers[labels[s]]) ** 2, axis=1)
    if not distances.sum() > 0:
        return None
    row = rng.choice(len(inside), p=distances / distances.sum())
    centers[rng.integers(k)] = inside[row]
    settle_centers(inside, problem.weights, centers, 3, labels[s])
    return None


def _relabel_view(problem: Problem, state: Candidate, labels: Any, rng: Any) -> None:
    """A view starts anew in a random subspace apart from the others."""
    s = int(rng.integers(len(problem.sizes)))
    k, q = problem.sizes[s], problem.n_wanted
    directions = np.zeros((max(1, min(k - 1, q)), problem.points.shape[1]))
    directions[:, :q] = rng.standard_normal((len(directions), q))
    if rng.random() < 0.5:
        directions[:, :q] /= problem.spread[:q]
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
    given: list[NDArray[np.int32]] = (),
) -> list[Candidate]:
    """The best clusterings found, and the runner-up.

    Every start and every kick has random numbers of its own, and kicks come in batches of a fixed
    number, so the outcome does not depend on the number of threads.
    """
    n_batches = max(1, round(_BATCHES * effort))
    n_starts = 2 * n_batches

    def begin(job: tuple[int, str, np.random.Generator]) -> Candidate:
        number, kind, own = job
        if kind == "independent":
            labels = independent_start(problem, number, n_starts, own)
        else:
            labels = random_start(problem, number, own)
        return problem.descend(labels, _SHORT)

    states = [problem.descend(labels.copy(), _SHORT) for labels in given]
    for batch in range(n_batches):
        jobs = [
            (2 * batch + position % 2, kind, own)
            for position, (kind, own) in enumerate(zip(_BATCH, rng.spawn(len(_BATCH))))
        ]
        states = sorted(states + map_(begin, jobs), key=lambda state: state.cost)
        # An optimum that most starts find needs no further ones.
        if sum(state.cost <= (1 + _SAME) * states[0].cost for state in states) >= 3:
            break
    finalists = _distinct(states, 2)
    finalists = map_(lambda s: problem.descend(s.labels, _LONG, s.views), finalists)
    finalists.sort(key=lambda state: state.cost)
    best = improve(problem, finalists[0], max(1, round(_PATIENCE * effort)), rng, map_)
    return [best, *(state for state in finalists if state.cost > (1 + _SAME) * best.cost)]


def improve(
    problem: Problem, best: Candidate, patience: int, rng: np.random.Generator, map_: Any
) -> Candidate:
    """Kick the best state until that has failed often enough."""
    failed, n_kicks = 0, 0
    while failed < patience and n_kicks < 10 * patience:
        tried = map_(lambda own, best=best: kick(problem, best, own), rng.spawn(_KICKS))
        n_kicks += _KICKS
        winner = min(tried, key=lambda state: state.cost)
        if winner.cost < best.cost - _BETTER * abs(best.cost):
            best, failed = winner, 0
        else:
            failed += _KICKS
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


def reduce_rows(rows: Any, n_axes: int, rng: np.random.Generator, n_rows: int = ROWS) -> Reduced:
    """Principal components of a sample of the rows, in engine coordinates."""
    chosen = np.flatnonzero(rows.weights > 0)
    weights = rows.weights[chosen]
    if len(chosen) > n_rows:
        chosen, weights = draw_rows(chosen, weights, n_rows, rng)
    shares = weights / weights.sum()
    X = rows.matrix()[chosen]
    mean = np.asarray(shares @ X, dtype=np.float64).ravel()
    if sp.issparse(X):
        # The mean stays in: subtracting it would fill the rows. One axis more makes up for it.
        axes = principal_axes(sp.diags_array(np.sqrt(shares)) @ X, rng, n_axes + 1)
        points = X @ axes.T - axes @ mean
        squares = float(shares @ np.asarray(X.multiply(X).sum(axis=1)).ravel()) - mean @ mean
    else:
        X = X - mean
        axes = principal_axes(X * np.sqrt(shares)[:, None], rng, n_axes, exact=4 * n_axes)
        points = X @ axes.T
        squares = float(shares @ np.einsum("ij,ij->i", X, X))
    spread, turn = np.linalg.eigh((points * shares[:, None]).T @ points)
    kept = np.flatnonzero(spread > 1e-12 * max(spread[-1], 1e-300))[::-1][:n_axes]
    if len(kept) == 0:
        kept = np.arange(1)
    turn = turn[:, kept]
    points = points @ turn
    seen = float(shares @ np.einsum("ij,ij->i", points, points))
    unseen = max(0.0, squares - seen) * float(weights.sum())
    return Reduced(points, weights, turn.T @ axes, mean, unseen, chosen)


# --- what the estimator asks ----------------------------------------------------------------------


def starting_vectors(
    rows: Any,
    sizes: tuple[int, ...],
    start: Any,
    effort: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], Any]:
    """Centers of all views on top of each other, and their subspaces, in engine coordinates.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    sizes : tuple of int
    start : {"search", "random"} or ndarray of shape (n_views, n_samples)
        How to begin, or labels to begin with.
    effort : float
    rng : Generator

    Returns
    -------
    theta : ndarray of shape (sum(sizes), n_features)
        Within the subspaces; those of the first view from the origin, the others from the mean.
    views : Views
    """
    given = not isinstance(start, str)
    n_wanted = sum(sizes) - len(sizes)
    n_axes = max(2 * n_wanted, n_wanted + 5)
    reduced = reduce_rows(rows, n_axes, rng, rows.n_samples if given else ROWS)
    problem = Problem(reduced.points, reduced.weights, sizes, reduced.unseen)
    if given:
        best = problem.descend(np.ascontiguousarray(start[:, reduced.chosen]), 1)
    elif start == "random":
        best = problem.descend(random_start(problem, 2, rng), _SHORT)
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
    theta = centers @ reduced.axes
    theta[: problem.sizes[0]] += reduced.mean
    return theta, views._replace(basis=views.basis @ reduced.axes)
