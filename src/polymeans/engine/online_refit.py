"""The best centroids for what is remembered of a stream."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.khatri_rao import AdditiveCodebook, GridCodebook
from polymeans.core.frame import Frame, MeasuredFrame, power_of_two_unit
from polymeans.core.norms import row_lengths
from polymeans.core.statistics import CellStatistics, MarginalStatistics
from polymeans.engine.assignment import make_grid
from polymeans.engine.batch_runner import plain_frame
from polymeans.engine.online import Memory

#: Share of the largest mass below which a cluster does not count in the refit of a structure.
_LIGHTEST = 2.0**-200


def best_centroids(centers: NDArray[Any], memory: Memory, spherical: bool = False) -> NDArray[Any]:
    """Free centroids: the means, or their directions; those without rows stay where they are.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_features)
        The present centroids; not changed.
    memory : Memory
    spherical : bool, default=False

    Returns
    -------
    ndarray of shape (n_clusters, n_features)
    """
    known = memory.mass > 0
    best = memory.means[known]
    if spherical:
        # Directions that cancel out leave no direction: the centroid is zero then.
        lengths = row_lengths(best)
        best /= np.where(lengths > 0, lengths, 1.0)[:, None]
    out = centers.copy()
    out[known] = best
    return out


def best_protocentroids(
    vectors: Sequence[NDArray[Any]], memory: Memory, aggregator: str
) -> list[NDArray[Any]]:
    """Combined centroids: what their codebook's refit gives for the remembered statistics.

    Parameters
    ----------
    vectors : sequence of p ndarray of shape (h_q, n_features)
        The present protocentroids; not changed.
    memory : Memory
    aggregator : {"sum", "product"}

    Returns
    -------
    list of p ndarray of shape (h_q, n_features)
    """
    mass = memory.mass / power_of_two_unit(float(memory.mass.max()))
    mass = np.where(mass >= _LIGHTEST * mass.max(), mass, 0.0)
    own = memory.masses_of_means(mass)
    if not own.any():
        return list(vectors)
    frame = _frame(memory, own, vectors)
    codebook = make_grid(frame, vectors, aggregator)
    assert isinstance(codebook, GridCodebook)
    # Measured from their mean, so that little is lost where rows are far from zero.
    away = np.where(own[:, None] > 0, memory.means / frame.unit - frame.origin, 0.0)
    sums = own[:, None] * away
    counts, rungs = (mass > 0).astype(np.int64), sums[:, None]
    if isinstance(codebook, AdditiveCodebook):
        codebook.refit(
            MarginalStatistics(frame, np.inf, memory.sizes, counts, mass[:, None], rungs, sums)
        )
    else:
        codebook.refit(
            CellStatistics(
                frame,
                np.inf,
                counts,
                mass[:, None],
                rungs,
                np.arange(len(mass)),
                _sums=sums,
                _stale=np.zeros(len(mass), dtype=bool),
            )
        )
    return codebook.to_sets(frame)


def _frame(
    memory: Memory, own: NDArray[np.float64], vectors: Sequence[NDArray[Any]]
) -> MeasuredFrame:
    """All features in the user's order, seen from the mean of everything remembered."""
    known = memory.means[own > 0]
    unit = power_of_two_unit(float(np.abs(known).max()))
    each = own[: memory.sizes[0]] if memory.by_set else own  # every row once
    means = np.where(each[:, None] > 0, memory.means[: len(each)] / unit, 0.0)
    shift = (each / each.sum() @ means).astype(vectors[0].dtype)
    frame = Frame.of_dense(len(known), shift, shifted=True, unit=unit)
    return plain_frame(frame, known.size)
