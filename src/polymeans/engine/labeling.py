"""Labels of rows that are not part of a fit."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids
from polymeans.core.rows import Rows, is_csr
from polymeans.engine.assignment import make_assigner
from polymeans.engine.blocks import Block
from polymeans.engine.nearest import decide_contested, label_exactly

#: Multiplications below which bringing centroids into panels costs more than it saves.
SMALL_WORK = 2**21


def n_multiplications(X: Rows, n_clusters: int) -> int:
    """Multiplications of one pass over the rows: those of all scores."""
    return (X.nnz if is_csr(X) else X.size) * n_clusters


def label_block(block: Block, codebook: Centroids, kind: str | None = None) -> NDArray[np.int32]:
    """The nearest centroid of each row, the lowest index among equals.

    Parameters
    ----------
    block : Block
    codebook : codebook
    kind : str, default=None
        How rows find their centroid; None: as the codebook says.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    labels = np.full(block.n_samples, -1, dtype=np.int32)
    small = block.n_stored * codebook.n_clusters < SMALL_WORK and codebook.kind != "linear"
    # Rows whose norms are not known can only be labeled by exact scores.
    if small or block.has_no_norms:
        label_exactly(block, codebook, labels)
    else:
        make_assigner(block, codebook, "lloyd", kind).assign(codebook, labels, labels)
        decide_contested(block, codebook, labels)
    labels[block.directionless] = 0
    return labels
