"""How many clusterings there are, and of how many clusters: the views worth having.

Independent components of the first q principal components are joined to a tree by how much they
depend on each other. At each node the best clustering is found and judged by what it explains
beyond a single Gaussian (:mod:`polymeans.search.views.gain`) and beyond single peaks along the
node's components; the best way to cut the tree is a set of views. Of the sets for all q, those
whose views repeat each other are discarded, and a much smaller set that tells as much is preferred.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.orthogonal import basis_of
from polymeans.core.threads import running_threads
from polymeans.engine.runners import BaseRunner
from polymeans.search.views.gain import TIGHTEST, entropy, gain, price, scatters
from polymeans.search.views.independent import CONTRASTS, Tree, mutual_information, unmix
from polymeans.search.views.problem import Candidate, Problem, cluster
from polymeans.search.views.sample import Reduced, lift, make_problem, reduce_rows

if TYPE_CHECKING:
    from polymeans.kernels.subspaces import Views

#: Nats for each row and dimension that a view must be worth.
_WORTH = 0.02

#: A view of at least so many clusters, one of which has this share of the rows, may be the tails of
#: a distribution instead.
_TAILS, _BULK = 4, 0.7

#: Clusters looked for at first, before those worth nothing are joined.
_MANY = 16

#: With at least this many clusters left, small numbers of them are tried directly too.
_CROWDED = 8

#: Principal components looked at: at most, and rows there have to be for each.
_COMPONENTS, _ROWS_EACH = 16, 20

#: Views may share this part of their information at most.
REDUNDANT = 0.05

#: A set of views is preferred if it tells this share of the best set's information with this share
#: of its clusters.
_INFORMATION, _SMALLER = 0.95, 0.8

#: Iterations on the sample at most.
_LONG = 300

#: Views that have this share of the gain they would have as one may be left apart.
_APART = 0.9

#: Bins in which the shape of a component is looked at, and rows in the smallest, for its tails.
_BINS, _FEWEST = 32, 4


@dataclass
class View:
    """A clustering in some of the independent components."""

    gain: float
    k: int
    labels: NDArray[np.int32]


@dataclass
class Proposal:
    """A set of views, and what speaks for it."""

    views: list[View]
    n_components: int  #: principal components it was found in
    contrast: str  #: how their independent directions were found
    redundancy: float = 0.0  #: share of the views' information that they have in common
    information: float = 0.0  #: nats that all labels together tell
    chosen: bool = False

    @property
    def gain(self) -> float:
        """Nats saved, for all rows together."""
        return sum(view.gain for view in self.views)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Clusters of each view."""
        return tuple(view.k for view in self.views)

    def as_row(self) -> dict[str, Any]:
        """For a table."""
        return {
            "n_clusters": self.sizes,
            "gain": float(self.gain),
            "redundancy": float(self.redundancy),
            "information": float(self.information),
            "n_components": self.n_components,
            "contrast": self.contrast,
            "chosen": self.chosen,
        }

    @property
    def has_tails(self) -> bool:
        """Whether some view is one large cluster and many small ones, as tails would be."""
        return any(
            view.k >= _TAILS and np.bincount(view.labels).max() > _BULK * len(view.labels)
            for view in self.views
        )


@dataclass
class Choice:
    """The views chosen, and everything that was looked at, the best first."""

    labels: NDArray[np.int32]  #: (n_views, n)
    sizes: tuple[int, ...]
    proposals: list[Proposal] = field(default_factory=list)


def choose_views(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    resolution: float,
    rng: np.random.Generator,
    map_: Callable[..., list[list[Proposal]]],
) -> Choice:
    """The set of views that explains most.

    Parameters
    ----------
    points : ndarray of shape (n, q)
        Rows about their mean in principal components, the largest first.
    weights : ndarray of shape (n,)
    resolution : float
        Share of the largest standard deviation below which structure counts as nothing.
    rng : Generator
    map_ : callable
        Applies a function to a list of tasks.

    Returns
    -------
    Choice
    """
    n = len(points)
    counted = weights * (n / weights.sum())
    variances = counted @ points**2 / n
    floor = resolution**2 * variances[0]
    n_visible = int(np.count_nonzero((variances > floor) & (variances > 1e-12 * variances[0])))
    most = max(1, min(n_visible, n // _ROWS_EACH, _COMPONENTS))
    jobs = [(q, contrast) for q in range(1, most + 1) for contrast in CONTRASTS]
    if n_visible == 0:
        jobs = []
    tasks = list(zip(jobs, rng.spawn(len(jobs))))
    # The longest first, so that no thread is left with one at the end.
    order = sorted(range(len(tasks)), key=lambda i: -tasks[i][0][0])
    found = map_(
        lambda i: _propose(points, counted, variances, floor, *tasks[i][0], tasks[i][1]), order
    )
    proposals = [p for pair in found for p in pair if p.views]
    for proposal in proposals:
        _judge(proposal, counted)
    proposals.sort(key=lambda p: (-p.gain, p.n_components, p.contrast))
    chosen = _prefer([p for p in proposals if p.redundancy <= REDUNDANT])
    if chosen is None:
        return Choice(np.empty((0, n), dtype=np.int32), (), proposals)
    chosen.chosen = True
    return Choice(np.stack([view.labels for view in chosen.views]), chosen.sizes, proposals)


def _prefer(proposals: list[Proposal]) -> Proposal | None:
    """The largest gain, unless far fewer clusters tell as much, or more views with no more."""
    if not proposals:
        return None
    best = proposals[0]
    while True:
        simpler = [p for p in proposals if _is_simpler(p, best)]
        if not simpler:
            return best
        best = simpler[0]


def _is_simpler(proposal: Proposal, best: Proposal) -> bool:
    if proposal.information < _INFORMATION * best.information:
        return False
    here, there = sum(proposal.sizes), sum(best.sizes)
    # Two views of two clusters are one of four, but say more about how rows differ.
    parted = len(proposal.sizes) > len(best.sizes) and here <= there
    return parted or here <= _SMALLER * there


def _judge(proposal: Proposal, weights: NDArray[np.float64]) -> None:
    """How much the labels tell together, and what part of it more than once."""
    labels = np.stack([view.labels for view in proposal.views])
    single = [_label_entropy(row[None], weights) for row in labels]
    joint = _label_entropy(labels, weights)
    proposal.information = joint
    if len(single) > 1 and sum(single) > 0:
        proposal.redundancy = max(0.0, 1 - joint / sum(single))


def _label_entropy(labels: NDArray[np.int32], weights: NDArray[np.float64]) -> float:
    """Entropy of joint labels, corrected for their number (Miller and Madow)."""
    _, codes = np.unique(labels, axis=1, return_inverse=True)
    shares = np.bincount(codes.ravel(), weights) / weights.sum()
    return entropy(shares) + (np.count_nonzero(shares) - 1) / (2 * labels.shape[1])


# --- what the estimator asks ---------------------------------------------------------------------


@dataclass
class Outcome:
    """What is kept of a choice."""

    sizes: tuple[int, ...]
    table: list[dict[str, Any]]
    has_tails: bool


def automatic_start(
    runner: BaseRunner, resolution: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], "Views | None", Outcome]:
    """Centers and subspaces of the views worth having, in engine coordinates, and how chosen.

    From there it is only downhill: the lowest cost of all would often give the dimensions with the
    most scatter to several views, and lose what was just found.
    """
    map_ = running_threads().map
    reduced = reduce_rows(runner, 2 * _COMPONENTS, rng)
    choice = choose_views(reduced.points, reduced.weights, resolution, rng, map_)
    outcome = Outcome((), [p.as_row() for p in choice.proposals], False)
    if not choice.sizes:
        return reduced.mean[None, :], None, outcome
    outcome.has_tails = any(p.has_tails for p in choice.proposals if p.chosen)
    _sort_views(choice, reduced)
    while True:
        problem = make_problem(reduced, choice.sizes)
        best = problem.descend(choice.labels.copy(), _LONG)
        if not _shrink(choice, problem, best, resolution, rng):
            outcome.sizes = choice.sizes
            return *lift(problem, best, reduced), outcome


def _sort_views(choice: Choice, reduced: Reduced) -> None:
    """The view that explains most of the scatter first."""
    state = make_problem(reduced, choice.sizes).descend(choice.labels.copy(), 1)
    explained = []
    for s, k in enumerate(choice.sizes):
        inside = reduced.points[:, : state.views.basis.shape[1]] @ basis_of(state.views, s).T
        total, within, _ = scatters(inside, reduced.weights, choice.labels[s], k)
        explained.append(np.trace(total - within))
    order = np.argsort(-np.array(explained), kind="stable")
    choice.labels = np.ascontiguousarray(choice.labels[order])
    choice.sizes = tuple(choice.sizes[s] for s in order)


def _shrink(
    choice: Choice,
    problem: Problem,
    state: Candidate,
    resolution: float,
    rng: np.random.Generator,
) -> bool:
    """Fewer clusters where the final subspace of a view is better off with them."""
    weights = problem.weights * (len(problem.weights) / problem.weights.sum())
    q = problem.points.shape[1]
    sizes, labels = list(choice.sizes), state.labels.copy()
    for s, k in enumerate(choice.sizes):
        inside = np.ascontiguousarray(problem.points @ basis_of(state.views, s).T)
        floor = resolution**2 * problem.spread[0] ** 2 * np.eye(inside.shape[1])
        best = gain(inside, weights, labels[s], k, q, floor)
        for fewer in range(2, k if k >= 4 else 2):
            trial = cluster(inside, weights, fewer, rng, n_starts=3, max_iter=20)
            value = gain(inside, weights, trial, fewer, q, floor)
            if value > best:
                best, sizes[s], labels[s] = value, fewer, trial
    changed = tuple(sizes) != choice.sizes
    choice.sizes, choice.labels = tuple(sizes), labels
    return changed


# --- one set of views -----------------------------------------------------------------------------


def _propose(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    variances: NDArray[np.float64],
    floor: float,
    q: int,
    contrast: str,
    rng: np.random.Generator,
) -> list[Proposal]:
    """The best views among the independent directions of the first q components.

    And the finest, if they are others: views that depend on each other a little gain more as one,
    but may tell as much with far fewer clusters.
    """
    white = points[:, :q] / np.sqrt(variances[:q])
    rotation = unmix(white, weights, contrast, rng, max_iter=200)
    components = white @ rotation.T
    # What the resolution is worth in the scale of the components.
    ground = floor * (rotation / variances[:q]) @ rotation.T
    blur = np.sqrt(TIGHTEST + np.diag(ground))
    peaks = np.array([_peak_gain(y, weights, b, rng) for y, b in zip(components.T, blur)])
    tree = Tree(mutual_information(components, weights))
    fits = []
    for node in tree.members:
        members = list(node)
        view = best_clustering(
            np.ascontiguousarray(components[:, members]),
            weights,
            q,
            ground[np.ix_(members, members)],
            rng,
        )
        view.gain -= float(peaks[members].sum())
        fits.append(view)
    best, finest = _cut(tree, fits, finest=False), _cut(tree, fits, finest=True)
    cuts = [best] if len(best) == len(finest) else [best, finest]
    return [Proposal(cut, q, contrast) for cut in cuts]


def _cut(tree: Tree, fits: list[View], finest: bool) -> list[View]:
    """Nodes of the tree, none above another, of the largest gain; finer ones if those are close."""
    values: list[float] = []
    chosen: list[list[View]] = []
    for node, fit in enumerate(fits):
        worthwhile = fit.gain > _WORTH * len(fit.labels) * len(tree.members[node])
        value, views = (fit.gain, [fit]) if worthwhile else (0.0, [])
        children = tree.children[node]
        if children is not None:
            left, right = children
            apart = values[left] + values[right]
            split = finest and chosen[left] and chosen[right] and apart > _APART * value
            if apart > value or split:
                value, views = apart, chosen[left] + chosen[right]
        values.append(value)
        chosen.append(views)
    return chosen[-1]


def _peak_gain(
    column: NDArray[np.float64],
    weights: NDArray[np.float64],
    blur: float,
    rng: np.random.Generator,
) -> float:
    """Nats that a density with a single peak of any shape saves over a Gaussian.

    Skewed columns and heavy tails are not clusters: what a single peak explains is no merit of
    theirs. Rows are blurred by what counts as nothing for clusters too, lest a spike be worth more
    than a cluster.
    """
    from polymeans.kernels.merging import single_peak

    n = float(weights.sum())
    smeared = column + blur * rng.standard_normal(len(column))
    order = np.argsort(smeared)
    reached = np.cumsum(weights[order]) / n
    tail = 2.0 ** -np.arange(np.log2(_BINS) + 1, max(np.log2(_BINS), np.log2(n / _FEWEST)))
    marks = np.concatenate([tail[::-1], np.arange(1, _BINS) / _BINS, 1 - tail])
    places = np.minimum(np.searchsorted(reached, marks), len(order) - 1)
    edges = np.unique(np.concatenate([[smeared.min()], smeared[order][places], [smeared.max()]]))
    if len(edges) < 3:
        return 0.0
    bins = np.clip(np.searchsorted(edges, smeared, side="right") - 1, 0, len(edges) - 2)
    shares = np.bincount(bins, weights, minlength=len(edges) - 1) / n
    variance = weights @ smeared**2 / n - (weights @ smeared / n) ** 2
    gaussian = -0.5 * np.log(2 * np.pi * np.e * variance)
    return max(0.0, n * (single_peak(shares, np.diff(edges)) - gaussian) - 0.5 * np.log(n) * 3)


def best_clustering(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_searched: int,
    floor: NDArray[np.float64],
    rng: np.random.Generator,
) -> View:
    """The number of clusters with the largest gain, and those clusters."""
    n = len(points)
    k = min(_MANY, n // 4)
    best = View(-np.inf, 1, np.zeros(n, dtype=np.int32))
    if k < 2:
        return best
    labels = cluster(points, weights, k, rng, n_starts=2, max_iter=20)
    best = _merged(points, weights, labels, k, n_searched, floor)
    tried = range(2, _CROWDED + 1) if best.k >= _CROWDED else ()
    for k in tried:
        labels = cluster(points, weights, k, rng, n_starts=2, max_iter=20)
        value = gain(points, weights, labels, k, n_searched, floor)
        if value > best.gain:
            best = View(value, k, labels)
    return best


def _merged(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    labels: NDArray[np.int32],
    k: int,
    n_searched: int,
    floor: NDArray[np.float64],
) -> View:
    """Join clusters as long as that pays, then settle the rows."""
    from polymeans.kernels.merging import merge_clusters
    from polymeans.kernels.small_kmeans import settle_centers, side_by_side

    total, within, shares = scatters(points, weights, labels, k)
    n, m = float(weights.sum()), points.shape[1]
    used = np.flatnonzero(shares > 0)
    labels = (np.cumsum(shares > 0) - 1)[labels].astype(np.int32)
    k = len(used)
    masses = shares[used] * n
    sums = np.stack([np.bincount(labels, weights * y, minlength=k) for y in points.T], axis=1)
    gains, joined = np.empty(k), np.zeros((k, 2), dtype=np.int64)
    inverse = np.linalg.pinv(within + TIGHTEST * total + floor)
    each = price(n, m, 2) - price(n, m, 1)
    merge_clusters(sums / masses[:, None], masses.copy(), inverse, each, gains, joined)
    # One cluster is worth nothing by definition; among more, whatever gains most.
    best_k = 2 + int(np.argmax(gains[1:])) if k > 1 else 1
    owner = np.arange(k)
    for left in range(k - 1, best_k - 1, -1):
        owner[owner == joined[left - 1, 1]] = joined[left - 1, 0]
    _, numbers = np.unique(owner[labels], return_inverse=True)
    labels = numbers.astype(np.int32)
    masses = np.asarray(np.bincount(labels, weights, minlength=best_k), dtype=np.float64)
    sums = np.stack([np.bincount(labels, weights * y, minlength=best_k) for y in points.T], axis=1)
    before = View(gain(points, weights, labels, best_k, n_searched, floor), best_k, labels)
    settled = labels.copy()
    settle_centers(side_by_side(points.T, weights), sums / masses[:, None], 20, settled)
    if len(np.unique(settled)) < best_k:
        return before
    value = gain(points, weights, settled, best_k, n_searched, floor)
    return View(value, best_k, settled) if value > before.gain else before
