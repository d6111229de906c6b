"""Groups of independent directions: where separate clusterings of the same rows would live.

Clusterings that have nothing to do with each other are independent sources. Independent component
analysis finds directions in which rows are least Gaussian; those that depend on each other belong
to the same clustering, those that do not to different ones.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

#: Bins of equal frequency in which components are compared.
_BINS = 6

#: Functions whose expectations tell a source from a Gaussian, and their derivatives.
CONTRASTS = ("tanh", "gauss", "cube")


def _contrast(name: str, y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if name == "tanh":
        g = np.tanh(y)
        return g, 1 - g * g
    if name == "gauss":
        bell = np.exp(-0.5 * y * y)
        return y * bell, (1 - y * y) * bell
    return y**3, 3 * y * y


def unmix(
    white: NDArray[np.float64],
    weights: NDArray[np.float64],
    contrast: str,
    rng: np.random.Generator,
    max_iter: int = 40,
    tol: float = 1e-4,
) -> NDArray[np.float64]:
    """Rotation (q, q) of whitened rows into independent components: symmetric FastICA [1]_.

    References
    ----------
    .. [1] A. Hyvarinen, "Fast and robust fixed-point algorithms for independent component
       analysis", IEEE Transactions on Neural Networks 10(3), 1999.
    """
    q = white.shape[1]
    shares = weights / weights.sum()
    weighted = white * shares[:, None]
    rotation = _orthogonal(rng.standard_normal((q, q)))
    for _ in range(max_iter):
        g, slope = _contrast(contrast, white @ rotation.T)
        following = _orthogonal(g.T @ weighted - (shares @ slope)[:, None] * rotation)
        change = np.abs(np.abs(np.sum(following * rotation, axis=1)) - 1).max()
        rotation = following
        if change < tol:
            break
    return rotation


def _orthogonal(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest orthogonal matrix."""
    left, _, right = np.linalg.svd(matrix)
    return left @ right


def mutual_information(
    components: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mutual information of all pairs of columns, in nats, less what chance alone would show."""
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


class Tree:
    """Components joined step by step, those that depend on each other most first.

    Parameters
    ----------
    information : ndarray of shape (q, q)
        Mutual information of the components.
    """

    def __init__(self, information: NDArray[np.float64]) -> None:
        # Loaded when needed: importing polymeans is to stay cheap.
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
