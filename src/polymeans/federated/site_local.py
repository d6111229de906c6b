"""What a site does in the local method: a step of k-means of its own."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from polymeans.codebooks.aggregation import split
from polymeans.federated.messages import Message, packed_integers
from polymeans.federated.site import RefusedError, Site
from polymeans.federated.site_starts import LEAST_ROWS
from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.kmeans import KMeans


def local_step(site: Site, request: Message) -> Message:
    """Improve the centroids on the rows of this site; means or protocentroids, with sizes.

    Means of fewer rows than ``min_count`` (and than two) are not sent, and counted.
    """
    if site.rules.privacy is not None or site.rules.secure:
        raise RefusedError("means of a single site do not leave this one")
    sizes, seed = (
        tuple(request["sizes"]),
        int(site.rng("local", request.get("vectors") is None).integers(2**31)),
    )
    vectors = request.get("vectors")
    inertia = np.nan if vectors is None else _inertia(site, request, vectors)
    if request["only_measure"]:
        return {"inertia": inertia}
    with warnings.catch_warnings():  # few rows, or few steps: neither matters here
        warnings.simplefilter("ignore", ConvergenceWarning)
        if len(sizes) == 1:
            found, counts = _free(site, sizes[0], vectors, seed)
        else:
            found, counts = _grid(site, request, vectors, seed)
    least = max(LEAST_ROWS, site.rules.min_count)
    few = (counts > 0) & (counts < least)
    counts = np.where(few, 0, counts)
    if len(sizes) == 1:
        found, counts = found[counts > 0], counts[counts > 0]
    else:
        found = _without_few(found, counts, sizes, vectors)
    return {
        "vectors": found,
        "counts": packed_integers(counts),
        "inertia": inertia,
        "n_suppressed": int(few.sum()),
    }


def _free(
    site: Site, k: int, vectors: NDArray[Any] | None, seed: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Means and sizes after a step of k-means."""
    if vectors is None:
        k = min(k, site.n_samples)
        model = KMeans(k, init="k-means++", n_init=1, max_iter=1, random_state=seed)
    else:
        # Centroids that no row here is nearest to belong to other sites.
        near = np.unique(_given((len(vectors),), "sum", [vectors], site).labels_)
        k, vectors = len(near), vectors[near]
        model = KMeans(k, init=vectors, max_iter=1)
    model.fit(site.rows, sample_weight=site.weights)
    counts = np.bincount(model.labels_[site.weights > 0], minlength=k)
    return model.cluster_centers_, counts.astype(np.int64)


def _grid(
    site: Site, request: Message, vectors: NDArray[Any] | None, seed: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Protocentroids, and the sizes of all their combinations."""
    sizes, aggregator = tuple(request["sizes"]), str(request["aggregator"])
    init: Any = "random" if vectors is None else split(vectors, sizes)
    model = KhatriRaoKMeans(
        sizes, aggregator=aggregator, init=init, n_init=1, max_iter=1, random_state=seed
    )
    model.fit(site.rows, sample_weight=site.weights)
    k = int(np.prod(sizes))
    counts = np.bincount(model.labels_[site.weights > 0], minlength=k)
    return np.concatenate(model.protocentroids_), counts.astype(np.int64)


def _without_few(
    found: NDArray[Any],
    counts: NDArray[np.int64],
    sizes: tuple[int, ...],
    vectors: NDArray[Any] | None,
) -> NDArray[Any]:
    """Protocentroids that serve no released cell are as they were received, or zero."""
    cells, axes = counts.reshape(sizes), range(len(sizes))
    served = np.concatenate([cells.sum(axis=tuple(a for a in axes if a != q)) > 0 for q in axes])
    otherwise = np.zeros_like(found) if vectors is None else vectors
    return np.where(served[:, None], found, otherwise).astype(found.dtype)


def _inertia(site: Site, request: Message, vectors: NDArray[Any]) -> float:
    """Of the rows here, about centroids as they were received."""
    sizes = (len(vectors),) if len(request["sizes"]) == 1 else tuple(request["sizes"])
    model = _given(sizes, str(request["aggregator"]), split(vectors, sizes), site)
    return -model.score(site.rows, sample_weight=site.weights)


class _Given(KhatriRaoKMeans):
    """Protocentroids that were not fitted here."""


def _given(sizes: tuple[int, ...], aggregator: str, sets: Any, site: Site) -> Any:
    model = _Given(sizes, aggregator=aggregator)
    model.protocentroids_ = [np.ascontiguousarray(part) for part in sets]
    model.n_features_in_ = site.rows.shape[1]
    model.labels_ = model.predict(site.rows)
    return model
