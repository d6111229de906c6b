"""Which restart is kept: errors without units, because each restart has a latent space of its own.

Losses of two restarts do not compare. Those of the clusters are in the units of a latent space:
a start from the graph makes its space standard, the published procedure leaves it as the
autoencoder made it, and a network that halves its latent vectors halves them without better
clusters. So both parts of the objective are divided by what they would be of a model that knows
nothing: one centroid, the mean of the latent vectors, and one reconstruction, the mean of the rows.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.deep.inference import Outcome
from polymeans.deep.rows import RowSource


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


def row_variance(rows: RowSource) -> float:
    """Mean squared error of an entry if every row is reconstructed as the mean of all rows."""
    return mean_square(part.numpy() for part in rows.in_order())


def relative_error(outcome: Outcome, variance: float, reconstruction_weight: float) -> float:
    """Share of the latent variance within clusters, plus the relative reconstruction error.

    The weight of the second part is that of the objective. The first one is made of squared
    distances for IDEC, too: degrees of membership depend on the units of the latent space.
    A latent space that shrinks to the centroids has a first part of zero whatever the clusters
    are, but it reconstructs nothing except the centroids, which the second part counts.

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
        The same for rows and latent vectors of any unit; 0 is perfect, and 1 plus the weight is
        what a model has that knows only means.
    """
    latent = outcome.latent
    within = outcome.inertia / latent.size
    clusters = _share(within, mean_square([latent]))
    return clusters + reconstruction_weight * _share(outcome.reconstruction, variance)


def _share(part: float, whole: float) -> float:
    """A part of a whole; of nothing, nothing is left to explain."""
    return part / whole if whole > 0.0 else 0.0
