"""Centroids that are sums of protocentroids.

For fixed labels the best protocentroids solve one small linear system. With ``N`` the masses of
the grid of centroids, the system matrix holds each set's marginal masses on its diagonal and the
masses of pairs of protocentroids beside it; the right-hand side holds the sums of the rows of each
protocentroid. Nothing of size k x d is needed.
"""

from collections.abc import Sequence

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import center_later_sets, split

#: Share of the largest eigenvalue of the normalized system below which the rows do not determine a
#: direction: of the sixteen digits of float64, fewer than six would be left along it.
_UNDETERMINED = 1e-10

#: Smallest squared pivot of a Cholesky factor for which the inverse is taken from it; below, the
#: eigenvalues decide which directions are determined.
_POORLY_DETERMINED = 1e-7

#: Smallest squared pivot for which applying the inverse once leaves an error of rounding only.
_WELL_DETERMINED = 1e-2


def pair_masses(masses: NDArray[np.float64], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Mass that protocentroids share, two by two: the matrix of the linear system.

    Parameters
    ----------
    masses : ndarray of shape (k,)
        Weight of the rows of each centroid.
    sizes : sequence of p int

    Returns
    -------
    ndarray of shape (h_1 + ... + h_p, h_1 + ... + h_p)
    """
    from polymeans.kernels import cells

    masses = np.ascontiguousarray(masses, dtype=np.float64)
    n_protocentroids = sum(sizes)
    system = np.empty((n_protocentroids, n_protocentroids))
    cells.pair_masses(masses, np.array(sizes, dtype=np.int64), system)
    return system


def solve_additive(
    system: NDArray[np.float64],
    sums: NDArray[np.float64],
    stacked: NDArray[np.float64],
    sizes: Sequence[int],
) -> NDArray[np.float64]:
    """Best protocentroids for given labels, as near as possible to the present ones.

    Directions the rows do not determine (a shift from one set to another, protocentroids without
    rows, parts of the grid that share none) stay as they are.

    Parameters
    ----------
    system : ndarray of shape (H, H)
        From :func:`pair_masses`.
    sums : ndarray of shape (H, n_features)
        Weighted sum of the rows of each protocentroid.
    stacked : ndarray of shape (H, n_features)
        Present protocentroids, all sets on top of each other.
    sizes : sequence of p int

    Returns
    -------
    ndarray of shape (H, n_features)
    """
    from polymeans.kernels.additive import make_definite

    # Measured in their own mass, light protocentroids are as well determined as heavy ones.
    definite, root = system.copy(), np.empty(len(system))
    make_definite(definite, np.array(sizes, dtype=np.int64), root)
    inverse, rounds = _inverse(definite)
    inverse = inverse / root / root[:, None]
    result, rest = stacked.copy(), np.empty_like(stacked)
    for _ in range(rounds):
        np.matmul(system, result, out=rest)
        np.subtract(sums, rest, out=rest)
        result += inverse @ rest
    return result


def _inverse(system: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """The pseudo-inverse of a normalized system, and how often to apply it.

    A second application removes rounding errors of the first. The solve of the search's trials
    (``polymeans.kernels.additive.refit_quickly``) has the same system but a ridge, which bounds
    steps along poorly determined directions; here they are exact, and undetermined ones zero.
    """
    # Where only shifts between sets were not determined, the system is positive definite by now,
    # and a Cholesky factor suffices.
    try:
        factor = scipy.linalg.cho_factor(system, lower=True, check_finite=False)
        pivot = float(np.diag(factor[0]).min()) ** 2
        if pivot > _POORLY_DETERMINED:
            inverse = scipy.linalg.cho_solve(factor, np.eye(len(system)), check_finite=False)
            return inverse, 1 if pivot > _WELL_DETERMINED else 2
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(system)
    kept = values > _UNDETERMINED * max(values[-1], 1.0)
    values, vectors = values[kept], vectors[:, kept]
    return (vectors / values) @ vectors.T, 2


def fit_additive(
    targets: NDArray[np.float64],
    masses: NDArray[np.float64],
    protocentroids: Sequence[NDArray[np.float64]],
) -> list[NDArray[np.float64]]:
    """Protocentroids whose sums approximate given centroids best, in weighted least squares.

    Parameters
    ----------
    targets : ndarray of shape (k, n_features)
        Centroids to approximate, in C order.
    masses : ndarray of shape (k,)
        How much each counts.
    protocentroids : sequence of p arrays
        Where to start; directions that the targets do not determine keep these values.

    Returns
    -------
    list of p arrays
    """
    from polymeans.kernels.cells import member_sums

    sizes = [len(theta) for theta in protocentroids]
    system = pair_masses(masses, sizes)
    sums = np.empty((len(system), targets.shape[1]))
    member_sums(masses[:, None] * targets, np.array(sizes, dtype=np.int64), sums)
    stacked = solve_additive(system, sums, np.concatenate(protocentroids), sizes)
    fitted = split(stacked, sizes)
    center_later_sets(fitted, split(np.diag(system).copy(), sizes))
    return fitted
