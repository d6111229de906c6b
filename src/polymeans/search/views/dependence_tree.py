"""Groups of components that depend on each other, as a tree.

Independent components of the same clustering still depend on each other, through its labels;
components of different clusterings do not. So components are joined by their mutual information.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

#: Bins of equal frequency in which two components are compared. A table of 36 cells has an average
#: of more than 50 rows in each from 2000 rows on, and its bias, 25 / (2 n) nats, is subtracted.
_BINS = 6


def mutual_information(
    components: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mutual information of all pairs of columns, in nats, less its expectation by chance."""
    n, q = components.shape
    ranks = np.argsort(np.argsort(components, axis=0, kind="stable"), axis=0, kind="stable")
    bins = ranks * _BINS // n + _BINS * np.arange(q)
    # One column for each bin of each component: their products are all joint tables at once.
    members = np.zeros((n, q * _BINS))
    members[np.arange(n)[:, None], bins] = 1.0
    joint = members.T @ (members * (weights / weights.sum())[:, None])
    single = np.diag(joint)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = joint * np.log(joint / np.outer(single, single))
    terms[joint <= 0] = 0.0
    information = terms.reshape(q, _BINS, q, _BINS).sum(axis=(1, 3))
    information = np.maximum(information - (_BINS - 1) ** 2 / (2 * n), 0.0)
    return 0.5 * (information + information.T)


class DependenceTree:
    """Components joined step by step, the most dependent ones first (average linkage).

    Parameters
    ----------
    information : ndarray of shape (q, q)
        Mutual information of the components.
    """

    def __init__(self, information: NDArray[np.float64]) -> None:
        # Imported here because loading scipy.cluster would slow down the import of polymeans.
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        q = len(information)
        self.members: list[tuple[int, ...]] = [(c,) for c in range(q)]
        self.children: list[tuple[int, int] | None] = [None] * q
        if q > 1:
            apart = information.max() - information
            np.fill_diagonal(apart, 0.0)
            for left, right, *_ in linkage(squareform(apart, checks=False), "average"):
                pair = (int(left), int(right))
                self.children.append(pair)
                both = self.members[pair[0]] + self.members[pair[1]]
                self.members.append(tuple(sorted(both)))

    @cached_property
    def n_leaves(self) -> int:
        """Number of components."""
        return (len(self.members) + 1) // 2

    def cut(self, n_groups: int) -> list[int]:
        """Nodes that remain when joining stops at this many groups."""
        nodes = {len(self.members) - 1}
        # Later joins have higher numbers: undo them in that order.
        while len(nodes) < n_groups:
            node = max(nodes)
            nodes.remove(node)
            pair = self.children[node]
            assert pair is not None  # there are no more groups than components
            nodes.update(pair)
        return sorted(nodes)
