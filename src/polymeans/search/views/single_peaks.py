"""What a density with a single peak explains of one component, beyond a Gaussian."""

import numpy as np
from numpy.typing import NDArray

#: Bins of equally many rows, a power of two so that the tails can go on by halving. From 640 rows
#: on each has 20 or more, so its share is known to about a fifth; finer bins add noise.
_BINS = 32

#: Rows in the smallest bin of the tails, about: fewer would fit single rows.
_MIN_TAIL_ROWS = 4

#: Parameters that a single peak is charged for, as in BIC. It is fitted without parameters; three,
#: as for a place and a width on each side, is an assumption.
_N_PARAMETERS = 3


def single_peak_gain(
    column: NDArray[np.float64],
    weights: NDArray[np.float64],
    blur: float,
    rng: np.random.Generator,
) -> float:
    """Nats that a density with a single peak of any shape saves over a Gaussian.

    Skewed columns and heavy tails are not clusters, so this is subtracted from the gain of a view.
    Rows are blurred as much as covariances of clusters are; otherwise a narrow peak would gain more
    than a narrow cluster can.
    """
    from polymeans.kernels.single_peak import single_peak

    n = float(weights.sum())
    smeared = column + blur * rng.standard_normal(len(column))
    order = np.argsort(smeared)
    reached = np.cumsum(weights[order]) / n
    tail = 2.0 ** -np.arange(np.log2(_BINS) + 1, max(np.log2(_BINS), np.log2(n / _MIN_TAIL_ROWS)))
    marks = np.concatenate([tail[::-1], np.arange(1, _BINS) / _BINS, 1 - tail])
    places = np.minimum(np.searchsorted(reached, marks), len(order) - 1)
    edges = np.unique(np.concatenate([[smeared.min()], smeared[order][places], [smeared.max()]]))
    if len(edges) < 3:
        return 0.0
    bins = np.clip(np.searchsorted(edges, smeared, side="right") - 1, 0, len(edges) - 2)
    shares = np.bincount(bins, weights, minlength=len(edges) - 1) / n
    variance = weights @ smeared**2 / n - (weights @ smeared / n) ** 2
    gaussian = -0.5 * np.log(2 * np.pi * np.e * variance)
    saved = n * (single_peak(shares, np.diff(edges)) - gaussian)
    return max(0.0, saved - 0.5 * np.log(n) * _N_PARAMETERS)
