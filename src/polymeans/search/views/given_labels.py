"""The start of several clusterings from labels that are given."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.orthogonal import OrthogonalCodebook, make_views
from polymeans.engine.assignment import make_codebook
from polymeans.engine.runners import BaseRunner


def codebook_of_labels(
    runner: BaseRunner, labels: NDArray[np.int32], sizes: tuple[int, ...]
) -> BaseCodebook:
    """The best centers and subspaces for given labels.

    Parameters
    ----------
    runner : BaseRunner
    labels : ndarray of shape (n_views, n_samples)
    sizes : tuple of int
        Clusters of each view.

    Returns
    -------
    codebook
        Free centroids for a single view.
    """
    frame = runner.frame
    codes = np.ravel_multi_index(tuple(labels), sizes).astype(np.int32)
    if len(sizes) == 1:
        placeholder = DenseCodebook(np.zeros((sizes[0], frame.n_used)))
        statistics = runner.statistics_of(codes, placeholder)
        masses = np.where(statistics.mass > 0, statistics.mass, 1.0)[:, None]
        return make_codebook(frame, frame.external(statistics.sums / masses + frame.origin))
    theta = np.zeros((sum(sizes), frame.n_used), dtype=frame.dtype)
    views = make_views(sizes, frame.n_used)
    codebook = OrthogonalCodebook(theta, sizes, views, None, frame.is_sparse)
    codebook.refit(runner.statistics_of(codes, codebook))
    return codebook
