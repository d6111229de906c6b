"""Centroids that are elementwise products of protocentroids.

Given labels, features are independent of each other: each is a weighted rank-one approximation of
the grid of cell means. Each set in turn has a closed form while the others are fixed. A sweep over
the sets is cheap beside a pass over the rows, so sweeps are repeated until they converge.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import scale_later_sets, split

#: Sweeps at most, and the relative gain at which they stop: the next refit continues from here, so
#: the last digits are not worth a sweep.
SWEEPS, SWEEP_TOL = 20, 1e-6

#: Features fitted together at most: enough for full vector registers.
_BLOCK = 64

#: Numbers a block of features may take for all cells, 16 MiB of float64, where sums are formed anew
#: for each block.
_BLOCK_NUMBERS = 2**21


def feature_blocks(n_features: int, n_clusters: int) -> list[tuple[int, int]]:
    """Blocks of features, the same for any number of threads."""
    width = int(np.clip(_BLOCK_NUMBERS // n_clusters, 4, _BLOCK))
    return [(lo, min(lo + width, n_features)) for lo in range(0, n_features, width)]


def sweep_block(
    sums: NDArray[np.float64],
    masses: NDArray[np.float64],
    origin: NDArray[np.float64],
    sizes: Sequence[int],
    block: tuple[int, int],
    stacked: NDArray[np.float64],
    base: int = 0,
    sweeps: int = SWEEPS,
) -> None:
    """Fit the protocentroids' features of one block, in place.

    Parameters
    ----------
    sums : ndarray of shape (k, n)
        Weighted sum of the rows of each cell about the origin, from feature ``base`` on.
    masses : ndarray of shape (k,)
        Weight of the rows of each cell.
    origin : ndarray of shape (n_features,)
    sizes : sequence of p int
    block : tuple of int
        First feature, and one past the last.
    stacked : ndarray of shape (h_1 + ... + h_p, n_features)
        Changed in place.
    base : int
        Feature the sums' first column belongs to.
    sweeps : int
        Rounds over all sets at most.
    """
    from polymeans.kernels.multiplicative import SweepBuffers, sweep_products

    width = block[1] - block[0]
    sweep_products(
        sums,
        base,
        masses,
        origin,
        np.asarray(sizes, dtype=np.int64),
        *block,
        sweeps,
        SWEEP_TOL,
        stacked,
        SweepBuffers(np.empty((max(sizes), width)), np.empty((max(sizes), width)), np.empty(width)),
    )


def fit_multiplicative(
    sums: NDArray[np.float64],
    masses: NDArray[np.float64],
    protocentroids: Sequence[NDArray[np.float64]],
    sweeps: int = SWEEPS,
) -> list[NDArray[np.float64]]:
    """Protocentroids whose products are nearest to the rows of each cell.

    Minimizes ``Σ_c masses[c] |v_c|² - 2 sums[c] · v_c`` over products ``v_c``, by alternating exact
    solves, and never ends above where it started. A coordinate the rows do not determine keeps its
    value.

    Parameters
    ----------
    sums : ndarray of shape (k, n_features)
        Weighted sum of the rows of each cell, in C order.
    masses : ndarray of shape (k,)
        Their weight.
    protocentroids : sequence of p arrays
        Where to start.
    sweeps : int
        Rounds over all sets at most.

    Returns
    -------
    list of p arrays
        In the gauge of :func:`~polymeans.codebooks.aggregation.scale_later_sets`.
    """
    sizes = [len(theta) for theta in protocentroids]
    stacked = np.concatenate(protocentroids).astype(np.float64)
    sums = np.ascontiguousarray(sums, dtype=np.float64)
    masses = np.ascontiguousarray(masses, dtype=np.float64)
    for block in feature_blocks(sums.shape[1], len(masses)):
        sweep_block(sums, masses, np.zeros(sums.shape[1]), sizes, block, stacked, sweeps=sweeps)
    fitted = split(stacked, sizes)
    scale_later_sets(fitted)
    return fitted
