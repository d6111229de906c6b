"""How far each row of a block is from its own centroid, exactly."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.learned_metric import LearnedMetricCodebook
from polymeans.engine.blocks import Block
from polymeans.engine.linear_assigner import metric_distances


def own_distances(
    block: Block, codebook: BaseCodebook, labels: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Squared distance of each row to its own centroid."""
    if isinstance(codebook, LearnedMetricCodebook):
        return metric_distances(block, codebook, labels)
    from polymeans.kernels import exact_labels, groups

    out = np.empty(block.n_samples)
    book = codebook.book
    starts = np.empty(codebook.n_clusters + 1, dtype=np.int64)
    order = np.empty(block.n_samples, dtype=np.int64)
    groups.group_by_label(labels, starts, order)
    block.each(
        lambda lo, hi: exact_labels.own_distances(
            block.arrays, book, block.norms, labels, order, lo, hi, out
        )
    )
    return out


def distances_apart(
    block: Block, codebook: BaseCodebook, labels: NDArray[np.int32]
) -> NDArray[np.float64]:
    """The same, but zero where rounding alone could be the distance, and for rows of no weight."""
    distances = np.where(block.weights > 0, own_distances(block, codebook, labels), 0.0)
    away = float(np.linalg.norm(block.frame.origin))
    distances[distances <= 2.0**-46 * (block.norms + away) ** 2] = 0.0
    return distances
