"""Labels by the largest of k linear functions: nearest centers in a metric other than Euclid's."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.learned_metric import LearnedMetricCodebook
from polymeans.core.norms import squared_norms
from polymeans.core.rows import Rows
from polymeans.core.threads import product_blocks, running_threads
from polymeans.engine.blocks import Block
from polymeans.engine.stateless import StatelessAssigner


class LinearScores(StatelessAssigner):
    """Computes every score of every row.

    Parameters
    ----------
    rows : Block
    """

    def __init__(self, rows: Block) -> None:
        self.matrix = rows.matrix()

    def assign(
        self,
        codebook: LearnedMetricCodebook,
        previous: NDArray[np.int32],
        labels: NDArray[np.int32],
    ) -> None:
        """Write every row's label."""
        slopes = np.ascontiguousarray(codebook.slopes.T)
        labels[:] = linear_labels(self.matrix, slopes, codebook.offsets)


def metric_distances(
    block: Block, codebook: LearnedMetricCodebook, labels: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Squared distance of each row to its center in the learned metric, in the rows' units.

    Where rows were not divided beforehand ``x' (T + rho I)^-1 x`` is replaced by its upper bound
    ``|x|^2 / rho``: good enough to find rows that lie far out.
    """
    X, scale = block.matrix(), codebook.scale
    length = squared_norms(X) / scale + codebook.spread_of(X @ codebook.solved.T)
    own = np.asarray(X @ codebook.slopes.T)[np.arange(len(labels)), labels]
    offsets = np.where(np.isfinite(codebook.offsets), codebook.offsets, 0.0)[labels]
    return scale * np.maximum(length - 2 * own + offsets, 0.0)


def linear_labels(
    X: Rows, slopes: NDArray[np.float64], offsets: NDArray[np.float64]
) -> NDArray[np.int32]:
    """For each row the c with the smallest ``offsets[c] - 2 x @ slopes[:, c]``.

    The lowest c among equals. Rows go through products of a fixed height, so that rounding does
    not depend on threads.
    """
    labels = np.empty(X.shape[0], dtype=np.int32)

    def label(block: tuple[int, int]) -> None:
        part = slice(*block)
        labels[part] = np.argmin(offsets - 2.0 * np.asarray(X[part] @ slopes), axis=1)

    running_threads().map(label, product_blocks(len(labels)))
    return labels
