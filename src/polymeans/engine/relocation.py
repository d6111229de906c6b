"""Empty clusters get the rows that are worst served where they are."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids
from polymeans.engine.runners import BaseRunner


def members_of_sets(counts: NDArray[np.int64], sizes: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Rows of positive weight of each vector the centroids are made of, set by set."""
    cells = counts.reshape(sizes)
    axes = range(cells.ndim)
    return [cells.sum(axis=tuple(a for a in axes if a != q)) for q in axes]


def relocations(
    runner: BaseRunner, codebook: Centroids, counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """For each empty cluster the farthest row that can be spared, and the label it should get.

    Where centroids are combinations, a vector of one of the sets is empty when no row uses it; a
    row that gets it keeps its other members, and the refit puts their centroid onto the row.

    Parameters
    ----------
    runner : Runner
    codebook : codebook
        The one the runner's labels belong to.
    counts : ndarray of shape (n_clusters,)
        Rows of positive weight under these labels.

    Returns
    -------
    rows : ndarray
        Rows to move. Fewer than there are empty clusters when no row lies apart from its centroid
        any more, i.e. when the data have too few distinct points.
    labels : ndarray
        Where to.
    """
    nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    if counts.all():
        return nothing
    sizes = members_of_sets(counts, codebook.sizes)
    stride = codebook.n_clusters
    vacancies = []  # the set, the distance between labels of its neighbours, and what is empty
    for q, size in enumerate(sizes):
        stride //= len(size)
        vacancies += [(q, stride, g) for g in np.flatnonzero(size == 0)]
    if not vacancies:
        return nothing
    # A row is taken from a cluster only while it leaves others behind.
    n_wanted = 4 * len(vacancies) + sum(map(len, sizes))
    moved: list[int] = []
    targets: list[int] = []
    for row, distance, label in zip(*runner.farthest(codebook, n_wanted)):
        if len(moved) == len(vacancies) or distance == 0:
            break
        q, stride, vacant = vacancies[len(moved)]
        member = label // stride % len(sizes[q])
        if sizes[q][member] > 1:
            sizes[q][member] -= 1
            sizes[q][vacant] = 1
            moved.append(row)
            targets.append(label + (vacant - member) * stride)
    return np.array(moved, dtype=np.int64), np.array(targets, dtype=np.int32)
