"""Where centroids begin: clusters on the cells of a grid, or k-means in the latent space."""

import warnings
from typing import Any

import numpy as np
import torch
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polymeans.codebooks.aggregation import center_later_sets, combine, scale_later_sets
from polymeans.deep.codebook import LatentCodebook
from polymeans.grids.decomposition import decompose_centroids
from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.kmeans import KMeans

#: Starts of the search for cells, for up to so many clusters, and for more.
_STARTS, _MANY_CLUSTERS, _STARTS_FOR_MANY = 20, 40, 5

#: Starts of k-means in the latent space.
_KMEANS_STARTS = 20


def arrange(
    latent: NDArray[Any],
    labels: NDArray[np.int32],
    sizes: tuple[int, ...],
    aggregator: str,
    rng: RandomState,
) -> tuple[list[NDArray[np.float64]], NDArray[np.int32]]:
    """Give each cluster a cell of the grid, and the grid the best protocentroids for the rows.

    Which cells is decided by the means of the clusters, all counting alike: the arrangement with
    the least squared error (:func:`polymeans.decompose_centroids`).

    Parameters
    ----------
    latent : ndarray of shape (n, n_latent)
    labels : ndarray of shape (n,)
    sizes : tuple of int
    aggregator : {"sum", "product"}
    rng : RandomState

    Returns
    -------
    sets : list of ndarray of shape (h_q, n_latent)
    cells : ndarray of shape (n,)
        Cell of each row in C order.
    """
    used, members = np.unique(labels, return_inverse=True)
    counts = np.bincount(members).astype(np.float64)
    means = np.zeros((len(used), latent.shape[1]))
    np.add.at(means, members, latent.astype(np.float64))
    means /= counts[:, None]
    if len(sizes) == 1:
        # Clusters without rows are where the rows' mean is, and can move from there.
        centers = np.tile(latent.mean(axis=0, dtype=np.float64), (sizes[0], 1))
        centers[used] = means
        return [centers], labels
    n_init = _STARTS if len(used) <= _MANY_CLUSTERS else _STARTS_FOR_MANY
    found = decompose_centroids(
        means, sizes, aggregator=aggregator, n_init=n_init, random_state=rng
    )
    fitted = decompose_centroids(
        means, sizes, aggregator=aggregator, weights=counts, cells=found.cells
    )
    return fitted.protocentroids, found.cells[members].astype(np.int32)


def search_latent(
    latent: NDArray[Any], sizes: tuple[int, ...], aggregator: str, rng: RandomState
) -> tuple[list[NDArray[np.float64]], NDArray[np.int32]]:
    """Cluster the latent space itself, where the centroids will be used.

    Parameters
    ----------
    latent : ndarray of shape (n, n_latent)
    sizes : tuple of int
    aggregator : {"sum", "product"}
    rng : RandomState

    Returns
    -------
    sets : list of ndarray of shape (h_q, n_latent)
    labels : ndarray of shape (n,)
    """
    latent = latent.astype(np.float64)
    with warnings.catch_warnings():
        # The fit warns of clusters without rows when it ends.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if len(sizes) == 1:
            free = KMeans(sizes[0], n_init=_KMEANS_STARTS, random_state=rng).fit(latent)
            return [free.cluster_centers_], free.labels_
        grid = KhatriRaoKMeans(sizes, aggregator=aggregator, random_state=rng).fit(latent)
    return grid.protocentroids_, grid.labels_


def fix_gauge(codebook: LatentCodebook, labels: NDArray[np.int32]) -> None:
    """Remove what could be shifted from set to set, in place; centroids stay where they are.

    Sums: all sets but the first get mean zero, weighted by their rows. Products: they get unit root
    mean square in each dimension. As in :class:`polymeans.KhatriRaoKMeans`.
    """
    sets = [part.astype(np.float64) for part in codebook.to_arrays()]
    if len(sets) == 1:
        return
    if codebook.aggregator == "sum":
        sizes = tuple(len(part) for part in sets)
        masses = np.bincount(labels, minlength=int(np.prod(sizes))).reshape(sizes)
        marginals = [
            masses.sum(axis=tuple(s for s in range(len(sizes)) if s != q)).astype(np.float64)
            for q in range(len(sizes))
        ]
        center_later_sets(sets, marginals)
    else:
        scale_later_sets(sets)
    with torch.no_grad():
        for parameter, part in zip(codebook.sets, sets):
            parameter.copy_(torch.from_numpy(part))


def members_beside_the_mean(
    sets: list[NDArray[Any]], aggregator: str, labels: NDArray[np.int32]
) -> list[NDArray[np.float64]]:
    """Each protocentroid combined with the average of all other sets, weighted by their rows.

    That is a latent vector which can be decoded: what rows with this protocentroid have in common.
    """
    sizes = tuple(len(part) for part in sets)
    masses = np.bincount(labels, minlength=int(np.prod(sizes))).reshape(sizes).astype(np.float64)
    grid = combine([part.astype(np.float64) for part in sets], aggregator).reshape(*sizes, -1)
    shown = []
    for q, size in enumerate(sizes):
        others = tuple(s for s in range(len(sizes)) if s != q)
        weights = masses.sum(axis=q, keepdims=True) + 1e-12 if others else np.ones((1,))
        weights = np.broadcast_to(weights, sizes)[..., None]
        total = (grid * weights).sum(axis=others) / weights.sum(axis=others)
        shown.append(total.reshape(size, -1))
    return shown
