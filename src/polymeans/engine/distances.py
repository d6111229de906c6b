"""How far each row of a block is from its own centroid, exactly."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids
from polymeans.codebooks.learned_metric import LearnedMetricCodebook
from polymeans.core.frame import Frame
from polymeans.engine.blocks import Block
from polymeans.engine.linear_assigner import metric_distances
from polymeans.engine.nearest import outer_entries

#: Inertia below which squares of distances may have vanished, in units of the rows.
_LEAST = 2.0**-900


def own_distances(
    block: Block, codebook: Centroids, labels: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Squared distance of each row to its own centroid."""
    if isinstance(codebook, LearnedMetricCodebook):
        return metric_distances(block, codebook, labels)
    from polymeans.kernels import groups, row_distances

    out = np.empty(block.n_samples)
    book, outer = codebook.book, outer_entries(block, codebook)
    starts = np.empty(codebook.n_clusters + 1, dtype=np.int64)
    order = np.empty(block.n_samples, dtype=np.int64)
    groups.group_by_label(labels, starts, order)
    block.each(
        lambda lo, hi: row_distances.own_distances(
            block.arrays, book, outer, block.norms, labels, order, lo, hi, out
        )
    )
    return out


def distances_to_all(block: Block, codebook: Centroids, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Distance of each row to each centroid, (n, k), in the user's units.

    Where only directions count, cosine distances: half the squared ones of rows of length one.
    """
    from polymeans.kernels import row_distances

    frame, book, outer = block.frame, codebook.book, outer_entries(block, codebook)
    out = np.empty((block.n_samples, codebook.n_clusters), dtype=dtype)
    block.each(
        lambda lo, hi: row_distances.all_distances(
            block.arrays, book, outer, block.norms, lo, hi, out
        )
    )
    if frame.spherical:
        out *= out
        out /= 2
        # Nothing is said about the direction of zeros.
        out[block.directionless] = 1.0
        out[:, ~np.any(codebook.to_array(frame), axis=1)] = 1.0
        return out
    if frame.unit != 1.0:
        # In float64: the unit may be no number of a shorter type.
        return np.multiply(out, frame.unit, dtype=np.float64).astype(dtype)
    return out


def is_in_range(frame: Frame, measured: float) -> bool:
    """Whether ``Σ w |x - v|²`` in the engine's units tells what it is in the user's."""
    return frame.unit == 1.0 or _LEAST < measured < np.inf


def distances_in_user_units(
    block: Block, codebook: Centroids, labels: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Squared distance of each row to its own centroid, plain and slow.

    For where squares leave the range of float64 in the engine's units: they are infinite only if
    they are in the user's.
    """
    frame = block.frame
    centers = codebook.to_array(frame).astype(np.float64)
    out = np.empty(block.n_samples)
    for lo in range(0, block.n_samples, 1024):
        chosen = np.arange(lo, min(lo + 1024, block.n_samples))
        rows = frame.external(block.dense_rows(chosen)).astype(np.float64)
        apart = rows - centers[labels[chosen]]
        out[chosen] = np.einsum("ij,ij->i", apart, apart)
    return out


def distances_apart(block: Block, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances, but zero where rounding alone could be one, and for rows of no weight."""
    distances = np.where(block.weights > 0, distances, 0.0)
    away = float(np.linalg.norm(block.frame.origin))
    # A centroid is rounded, so its rows are this far from it though they are equal.
    roundoff = float(np.finfo(block.dtype).eps)
    distances[np.sqrt(distances) <= roundoff * (block.norms + away)] = 0.0
    return distances
