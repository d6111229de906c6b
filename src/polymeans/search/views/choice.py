"""The choice among proposed sets of views: not redundant, large gain, few clusters."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polymeans._progress import Steps
from polymeans.search.views.gain import entropy
from polymeans.search.views.independent_components import CONTRASTS
from polymeans.search.views.proposals import Proposal, propose

#: Principal components that are searched at most, and rows for each of them at least. Each further
#: component costs three proposals; 20 rows for a dimension keep covariances regular. See
#: docs/explanation/constants.rst.
MAX_COMPONENTS, _ROWS_PER_COMPONENT = 16, 20

#: Share of the information of its views that a set may have in common. Independent components of
#: too many dimensions find the same grouping twice; see docs/explanation/constants.rst.
MAX_REDUNDANCY = 0.05

#: A set of views is preferred if it has this share of the best set's information with this share of
#: its clusters; see docs/explanation/constants.rst.
_MIN_INFORMATION, _MAX_CLUSTERS = 0.95, 0.8


@dataclass
class Choice:
    """The chosen views, and all proposals, the best first."""

    labels: NDArray[np.int32]  #: (n_views, n)
    sizes: tuple[int, ...]
    proposals: list[Proposal] = field(default_factory=list)


def choose_views(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    resolution: float,
    rng: np.random.Generator,
    map_: Callable[..., list[list[Proposal]]],
    verbose: int = 0,
) -> Choice:
    """The set of views with the largest gain, unless a simpler one has as much information.

    Parameters
    ----------
    points : ndarray of shape (n, q)
        Rows about their mean in principal components, the largest first.
    weights : ndarray of shape (n,)
    resolution : float
        Share of the largest standard deviation below which structure is ignored.
    rng : Generator
    map_ : callable
        Applies a function to a list of tasks.
    verbose : int, default=0
        Above 0, each proposal is logged.

    Returns
    -------
    Choice
    """
    n = len(points)
    counted = weights * (n / weights.sum())
    variances = counted @ points**2 / n
    floor = resolution**2 * variances[0]
    n_visible = int(np.count_nonzero((variances > floor) & (variances > 1e-12 * variances[0])))
    most = max(1, min(n_visible, n // _ROWS_PER_COMPONENT, MAX_COMPONENTS))
    jobs = [(q, contrast) for q in range(1, most + 1) for contrast in CONTRASTS]
    if n_visible == 0:
        jobs = []
    tasks = list(zip(jobs, rng.spawn(len(jobs))))
    # The longest first, so that threads end at about the same time.
    order = sorted(range(len(tasks)), key=lambda i: -tasks[i][0][0])
    with Steps("views", len(tasks), verbose) as steps:

        def proposed(i: int) -> list[Proposal]:
            (q, contrast), generator = tasks[i]
            made = propose(points, counted, variances, floor, q, contrast, generator)
            sizes = [p.sizes for p in made if p.views]
            steps.advance(f"{q} components, {contrast}: {sizes or 'no views'}")
            return made

        found = map_(proposed, order)
    proposals = [p for pair in found for p in pair if p.views]
    for proposal in proposals:
        _measure(proposal, counted)
    proposals.sort(key=lambda p: (-p.gain, p.n_components, p.contrast))
    chosen = _prefer([p for p in proposals if p.redundancy <= MAX_REDUNDANCY])
    if chosen is None:
        return Choice(np.empty((0, n), dtype=np.int32), (), proposals)
    chosen.chosen = True
    return Choice(np.stack([view.labels for view in chosen.views]), chosen.sizes, proposals)


def _prefer(proposals: list[Proposal]) -> Proposal | None:
    """The proposal of largest gain, or repeatedly a simpler one with as much information."""
    if not proposals:
        return None
    best = proposals[0]
    while True:
        simpler = [p for p in proposals if _is_simpler(p, best)]
        if not simpler:
            return best
        best = simpler[0]


def _is_simpler(proposal: Proposal, best: Proposal) -> bool:
    """Whether a proposal has as much information with fewer clusters, or with more views."""
    if proposal.information < _MIN_INFORMATION * best.information:
        return False
    n_clusters, n_best = sum(proposal.sizes), sum(best.sizes)
    # Two views of two clusters are equivalent to one of four, but describe rows by two properties.
    more_views = len(proposal.sizes) > len(best.sizes) and n_clusters <= n_best
    return more_views or n_clusters <= _MAX_CLUSTERS * n_best


def _measure(proposal: Proposal, weights: NDArray[np.float64]) -> None:
    """Joint entropy of the labels of all views, and the share that several views repeat."""
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
