"""Independent component analysis: directions in which whitened rows are least Gaussian.

Clusterings that have nothing to do with each other are independent sources, so their directions
are independent components of the rows.
"""

import numpy as np
from numpy.typing import NDArray

#: Names of the functions whose expectations tell a source from a Gaussian. The first two are the
#: usual ones for many peaks and for heavy tails, the third is the kurtosis.
CONTRASTS = ("tanh", "gauss", "cube")


def _contrast(name: str, y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The contrast function and its derivative."""
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
