"""Empty clusters get the rows that are worst served where they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.engine.statistics import count


def own_distances(rows: Any, codebook: Any, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Squared distance of each row to its own centroid, exactly."""
    if not codebook.by_rows:
        return codebook.own_distances(rows, labels)
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


def count_members(rows: Any, codebook: Any, labels: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """Rows of positive weight of each vector the codebook is made of, set by set."""
    cells = count(rows, labels, codebook.n_clusters).reshape(codebook.sizes)
    axes = range(cells.ndim)
    return [cells.sum(axis=tuple(a for a in axes if a != q)) for q in axes]


def relocate_empty(
    rows: Any,
    codebook: Any,
    labels: NDArray[np.int32],
    sizes: list[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], float]:
    """Give each empty cluster the farthest row that can be spared.

    Where centroids are combinations, a vector of one of the sets is empty when no row uses it; a
    row that gets it keeps its other members, and the refit puts their centroid onto the row.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    codebook : codebook
        The one the labels belong to.
    labels : ndarray of shape (n_samples,)
        Changed in place.
    sizes : list of p ndarray
        From :func:`count_members`; changed in place.

    Returns
    -------
    moved : ndarray
        Rows that were moved. Fewer than there are empty clusters when no row lies apart from its
        centroid any more, i.e. when the data have too few distinct points.
    inertia : float
        Weighted squared distances under the labels as they were given.
    """
    stride = codebook.n_clusters
    vacancies = []  # the set, the distance between labels of its neighbours, and who is empty
    for q, size in enumerate(sizes):
        stride //= len(size)
        vacancies += [(q, stride, g) for g in np.flatnonzero(size == 0)]
    distances = np.where(rows.weights > 0, own_distances(rows, codebook, labels), 0.0)
    inertia = float(np.sum(distances * rows.weights))
    # Closer than rounding could put it: not apart from its centroid at all.
    origin = 0.0 if rows.is_sparse else float(np.linalg.norm(rows.arrays.origin))
    distances[distances <= 2.0**-46 * (rows.norms + origin) ** 2] = 0.0
    # A row is taken from a cluster only while it leaves others behind.
    n_wanted = min(len(distances), 4 * len(vacancies) + sum(map(len, sizes)))
    farthest = np.argpartition(-distances, n_wanted - 1)[:n_wanted]
    farthest = farthest[np.lexsort((farthest, -distances[farthest]))]
    moved = []
    for i in farthest:
        if len(moved) == len(vacancies) or distances[i] == 0:
            break
        q, stride, vacant = vacancies[len(moved)]
        member = labels[i] // stride % len(sizes[q])
        if sizes[q][member] > 1:
            sizes[q][member] -= 1
            sizes[q][vacant] = 1
            labels[i] += (vacant - member) * stride
            moved.append(i)
    return np.array(moved, dtype=np.int64), inertia
