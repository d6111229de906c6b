"""One proposed set of views: clusterings in groups of independent components.

Independent components of the first q principal components are joined to a tree by how much they
depend on each other. At each node the clustering of largest gain is found
(:mod:`polymeans.search.views.cluster_count`), less what single peaks along the node's components
explain; the best cut of the tree is a set of views.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.search.views.cluster_count import View, best_clustering
from polymeans.search.views.dependence_tree import DependenceTree, mutual_information
from polymeans.search.views.gain import WITHIN_FLOOR
from polymeans.search.views.independent_components import unmix
from polymeans.search.views.single_peaks import single_peak_gain

#: Nats for each row and dimension that a view must gain. Two clusters six standard deviations apart
#: gain 0.46; this rejects gains that are positive only because there are many rows.
_MIN_GAIN = 0.02

#: A view of at least so many clusters, one of which has more than this share of the rows, may be
#: the tails of a distribution. Only a warning follows; both are round numbers.
_TAIL_CLUSTERS, _BULK_SHARE = 4, 0.7

#: Share of the gain of one joint view at which two separate ones are proposed as well. A round
#: number: it only adds a proposal, which is then compared with the others by its information.
_SEPARATE_GAIN = 0.9

#: Iterations of independent component analysis at most; more than for starts, because no search
#: follows that could correct the directions.
_ICA_ITERATIONS = 200


@dataclass
class Proposal:
    """A set of views and the figures it is compared by."""

    views: list[View]
    n_components: int  #: principal components it was found in
    contrast: str  #: how their independent directions were found
    redundancy: float = 0.0  #: share of the views' information that they have in common
    information: float = 0.0  #: joint entropy of all labels, in nats
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
        """One row of the table of candidates."""
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
            view.k >= _TAIL_CLUSTERS
            and np.bincount(view.labels).max() > _BULK_SHARE * len(view.labels)
            for view in self.views
        )


def propose(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    variances: NDArray[np.float64],
    floor: float,
    q: int,
    contrast: str,
    rng: np.random.Generator,
) -> list[Proposal]:
    """The best views among the independent directions of the first q components.

    Also the finest set of views, if it is another one: views that depend on each other slightly
    gain more as one view, but may carry as much information with far fewer clusters.
    """
    white = points[:, :q] / np.sqrt(variances[:q])
    rotation = unmix(white, weights, contrast, rng, max_iter=_ICA_ITERATIONS)
    components = white @ rotation.T
    # The covariance of the resolution in the coordinates of the components.
    ground = floor * (rotation / variances[:q]) @ rotation.T
    blur = np.sqrt(WITHIN_FLOOR + np.diag(ground))
    peaks = np.array([single_peak_gain(y, weights, b, rng) for y, b in zip(components.T, blur)])
    tree = DependenceTree(mutual_information(components, weights))
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


def _cut(tree: DependenceTree, fits: list[View], finest: bool) -> list[View]:
    """Nodes of the tree, none above another, of the largest gain; finer ones if that is close."""
    values: list[float] = []
    chosen: list[list[View]] = []
    for node, fit in enumerate(fits):
        worthwhile = fit.gain > _MIN_GAIN * len(fit.labels) * len(tree.members[node])
        value, views = (fit.gain, [fit]) if worthwhile else (0.0, [])
        children = tree.children[node]
        if children is not None:
            left, right = children
            separate = values[left] + values[right]
            split = finest and chosen[left] and chosen[right] and separate > _SEPARATE_GAIN * value
            if separate > value or split:
                value, views = separate, chosen[left] + chosen[right]
        values.append(value)
        chosen.append(views)
    return chosen[-1]
