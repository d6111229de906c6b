"""Which restart is kept: errors without units, because each restart has a latent space of its own.

Losses of two restarts do not compare. Those of the clusters are in the units of a latent space,
and these are arbitrary: the last layer of the encoder may be followed by any invertible linear map
if the first layer of the decoder undoes it. A start from the graph makes its space standard, the
published procedure leaves it as the autoencoder made it. So clusters are measured by what no such
map changes, the share of the variance within them, averaged over all directions; and
reconstructions are measured beside the mean of the rows.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.deep.inference import Outcome
from polymeans.deep.rows import RowSource

#: Variance of a direction, beside the largest one, below which it is rounding of float32.
_ROUNDING = 1e-6


def row_variance(rows: RowSource) -> float:
    """Mean squared error of an entry if every row is reconstructed as the mean of all rows."""
    return mean_square(part.numpy() for part in rows.in_order())


def mean_square(batches: Iterable[NDArray[Any]]) -> float:
    """Mean squared deviation of an entry from the mean of its column, read batch by batch."""
    n, mean, squares = 0, np.zeros(1), np.zeros(1)
    for batch in batches:
        own = batch.astype(np.float64)
        center = own.mean(axis=0)
        gap, total = center - mean, n + len(own)
        # Deviations from the mean of all rows so far, not from zero: rows may be far from it.
        squares = squares + np.square(own - center).sum(axis=0)
        squares = squares + gap**2 * (n * len(own) / total)
        mean, n = mean + gap * (len(own) / total), total
    return float(squares.sum() / (n * len(squares)))


def share_within(latent: NDArray[Any], labels: NDArray[np.int32]) -> float:
    """Share of the variance within clusters, averaged over all directions of the latent space.

    With the covariance T of all rows and W of the rows around the means of their clusters, in r
    dimensions, it is ``trace(T⁻¹ W) / r``: the same after any invertible linear map.

    Parameters
    ----------
    latent : ndarray of shape (n, n_latent)
    labels : ndarray of shape (n,)

    Returns
    -------
    share : float
        From 0, all rows at the mean of their cluster, to 1, clusters whose means are equal.
    """
    centered = latent.astype(np.float64)
    centered -= centered.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered / len(centered))
    kept = values > _ROUNDING * max(float(values[-1]), np.finfo(np.float64).tiny)
    if not kept.any():
        return 1.0
    white = centered @ (vectors[:, kept] / np.sqrt(values[kept]))
    counts = np.maximum(np.bincount(labels), 1)
    totals = np.zeros((len(counts), white.shape[1]))
    np.add.at(totals, labels, white)
    between = np.sum(np.square(totals) / counts[:, None]) / white.size
    return max(0.0, 1.0 - float(between))


def relative_error(outcome: Outcome, variance: float, reconstruction_weight: float) -> float:
    """Share of the latent variance within clusters, plus the relative reconstruction error.

    The weight of the second part is that of the objective. A latent space that shrinks to the
    centroids has a first part of zero whatever the clusters are, but it reconstructs nothing
    except the centroids, which the second part counts.

    Parameters
    ----------
    outcome : Outcome
        For all rows.
    variance : float
        Of an entry of the rows: :func:`row_variance`.
    reconstruction_weight : float

    Returns
    -------
    error : float
        0 is perfect; 1 plus the weight is what a model has that knows only means.
    """
    missed = outcome.reconstruction / variance if variance > 0.0 else 0.0
    return share_within(outcome.latent, outcome.labels) + reconstruction_weight * missed
