"""Empty clusters get the rows that are worst served where they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def own_distances(rows: Any, codebook: Any, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Squared distance of each row to its own centroid, exactly."""
    from polymeans.kernels import sums

    out = np.empty(rows.n_samples)
    book = codebook.book
    starts = np.empty(codebook.n_clusters + 1, dtype=np.int64)
    order = np.empty(rows.n_samples, dtype=np.int64)
    sums.group_by_label(labels, starts, order)
    rows.each(
        lambda lo, hi: sums.own_distances(rows.arrays, book, rows.norms, labels, order, lo, hi, out)
    )
    return out


def relocate_empty(
    rows: Any,
    codebook: Any,
    labels: NDArray[np.int32],
    sizes: NDArray[np.int64],
) -> tuple[NDArray[np.int64], float]:
    """Give each empty cluster the farthest row that can be spared.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    codebook : codebook
        The one the labels belong to.
    labels : ndarray of shape (n_samples,)
        Changed in place.
    sizes : ndarray of shape (n_clusters,)
        Rows of positive weight in each cluster; changed in place.

    Returns
    -------
    moved : ndarray
        Rows that were moved. Fewer than there are empty clusters when no row lies apart from its
        centroid any more, i.e. when the data have too few distinct points.
    inertia : float
        Weighted squared distances under the labels as they were given.
    """
    empty = np.flatnonzero(sizes == 0)
    distances = np.where(rows.weights > 0, own_distances(rows, codebook, labels), 0.0)
    # Closer than rounding could put it: not apart from its centroid at all.
    origin = 0.0 if rows.is_sparse else float(np.linalg.norm(rows.arrays.origin))
    distances[distances <= 2.0**-46 * (rows.norms + origin) ** 2] = 0.0
    # A row is taken from a cluster only while it leaves others behind.
    n_wanted = min(len(distances), 4 * len(empty) + len(sizes))
    farthest = np.argpartition(-distances, n_wanted - 1)[:n_wanted]
    farthest = farthest[np.lexsort((farthest, -distances[farthest]))]
    moved = []
    for i in farthest:
        if len(moved) == len(empty) or distances[i] == 0:
            break
        if sizes[labels[i]] > 1:
            sizes[labels[i]] -= 1
            labels[i] = empty[len(moved)]
            sizes[labels[i]] = 1
            moved.append(i)
    return np.array(moved, dtype=np.int64), float(np.sum(distances * rows.weights))
