"""What a clustering explains beyond a single Gaussian, in nats."""

import numpy as np
from numpy.typing import NDArray

#: Share of a view's covariance that is added to the covariance within its clusters. Clusters with
#: less than a tenth of the view's standard deviation then gain hardly more by being narrower still;
#: without it, splitting clusters that are single points in some direction would pay without limit.
#: See docs/explanation/constants.rst.
WITHIN_FLOOR = 0.01


def scatters(
    points: NDArray[np.float64], weights: NDArray[np.float64], labels: NDArray[np.integer], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Total and within-cluster covariance, and the shares of the clusters."""
    shares = np.bincount(labels, weights, minlength=k) / weights.sum()
    members = np.zeros((len(labels), k))
    members[np.arange(len(labels)), labels] = weights / weights.sum()
    sums = members.T @ points
    mean = sums.sum(axis=0)
    total = (points * (weights / weights.sum())[:, None]).T @ points
    used = shares > 0
    centers = sums[used] / shares[used, None]
    within = total - (centers * shares[used, None]).T @ centers
    return total - np.outer(mean, mean), within, shares


def entropy(shares: NDArray[np.float64]) -> float:
    """Entropy of labels with these shares, in nats."""
    used = shares[shares > 0]
    return float(-np.sum(used * np.log(used)))


def gain(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    labels: NDArray[np.integer],
    k: int,
    n_searched: int | None = None,
    floor: NDArray[np.float64] | float = 0.0,
) -> float:
    """Log-likelihood of k Gaussians with one covariance over that of one Gaussian, penalized.

    **Idea.** Rows of a view are coded by their cluster and a Gaussian about its mean. That is
    shorter than one Gaussian of full covariance only where there are clusters: an elongated cloud
    gains nothing by being cut. Subtracted are the code length of the labels and, as in BIC, that of
    the further means and of the choice of the subspace among ``n_searched`` dimensions.

    Parameters
    ----------
    points : ndarray of shape (n, m)
        Rows in the coordinates of the view.
    weights : ndarray of shape (n,)
        Their mean is one: they add up to a number of rows.
    labels : ndarray of shape (n,)
    k : int
    n_searched : int, default=None
        Dimensions the view was chosen from; None: it was given.
    floor : ndarray of shape (m, m) or 0, default=0
        Covariance that counts as nothing, such as that of a resolution.

    Returns
    -------
    float
        In nats; positive if the clustering is worth having.
    """
    n, m = float(weights.sum()), points.shape[1]
    total, within, shares = scatters(points, weights, labels, k)
    wide = np.linalg.slogdet((1 + WITHIN_FLOOR) * total + floor)[1]
    narrow = np.linalg.slogdet(within + WITHIN_FLOOR * total + floor)[1]
    if not np.isfinite(wide) or not np.isfinite(narrow):
        return -np.inf
    return 0.5 * n * (wide - narrow) - n * entropy(shares) - parameter_penalty(n, m, k, n_searched)


def parameter_penalty(n: float, m: int, k: int, n_searched: int | None = None) -> float:
    """BIC penalty of k means in m dimensions, in nats, and of the subspace if it was searched."""
    n_parameters = (k - 1) * (m + 1)
    if n_searched is not None:
        n_parameters += m * (n_searched - m)
    return 0.5 * np.log(n) * n_parameters
