"""The structures that are compared: at equal numbers of clusters, and of parameters."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from polymeans.grids.sizes import balanced_sizes, largest_grid
from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.kmeans import KMeans
from polymeans.l1 import L1KMeans
from polymeans.nonredundant import NonRedundantKMeans
from polymeans.quick import QuickKMeans
from polymeans.transformed import TransformedKMeans

#: Name of free centroids, which the others are compared with.
FREE = "KMeans"

#: Effort of searches for a start, and the same where time is limited.
_EFFORT, _HURRIED = 0.25, 0.1

#: Clusters of sparse structures at equal parameters, as a multiple of those of free centroids.
_MORE_CLUSTERS = 2


@dataclass(frozen=True)
class Structure:
    """An estimator to be compared.

    Parameters
    ----------
    name : str
    equal : {"k", "parameters"}
        What it has in common with free centroids.
    estimator : estimator
        Not fitted.
    """

    name: str
    equal: str
    estimator: Any


def structures(n_clusters: int, rows: Any, hurried: bool = False) -> list[Structure]:
    """All structures for these rows, free centroids first, and then those that are usually quick.

    At equal k every structure has as many clusters as free centroids (a grid at least as many); at
    equal parameters it has about as many numbers, and mostly more clusters.
    """
    n_features = rows.shape[1]
    effort = _HURRIED if hurried else _EFFORT
    numbers = n_clusters * n_features
    found = [
        Structure(FREE, "k", KMeans(n_clusters)),
        Structure("L1KMeans", "k", L1KMeans(n_clusters)),
        Structure("TransformedKMeans", "k", TransformedKMeans(n_clusters, n_init=3)),
        Structure("QuickKMeans", "k", QuickKMeans(n_clusters, effort=effort)),
        Structure(
            "QuickKMeans",
            "parameters",
            QuickKMeans(
                _MORE_CLUSTERS * n_clusters,
                n_nonzeros=max(1, numbers - n_features),  # the offset counts, too
                effort=effort,
            ),
        ),
        Structure(
            "L1KMeans",
            "parameters",
            L1KMeans(_MORE_CLUSTERS * n_clusters, n_nonzeros=numbers),
        ),
    ]
    grids = {"k": balanced_sizes(n_clusters)}
    larger = largest_grid(n_clusters, 2) if n_clusters >= 4 else ()
    if larger and prod(larger) > prod(grids["k"]):
        grids["parameters"] = larger
    signed = _has_negative(rows)
    for equal, sizes in grids.items():
        if min(sizes) < 2:
            continue
        for aggregator in ("sum", "product"):
            if aggregator == "product" and signed:
                continue  # products of vectors cannot follow values around zero
            name = f"KhatriRaoKMeans, {aggregator}"
            model = KhatriRaoKMeans(sizes, aggregator=aggregator, effort=effort)
            found.append(Structure(name, equal, model))
        if equal == "k":
            model = NonRedundantKMeans(sizes, effort=effort)
            found.append(Structure("NonRedundantKMeans", equal, model))
    most = rows.shape[0]
    return [one for one in found if n_clusters_of(one.estimator) <= most]


def n_clusters_of(estimator: Any) -> int:
    """Clusters that an estimator asks for: all combinations, where there are sets or views."""
    asked = getattr(estimator, "n_protocentroids", None) or estimator.n_clusters
    return int(prod(asked)) if isinstance(asked, tuple) else int(asked)


def numbers_of(model: Any) -> int:
    """Numbers that are needed to label rows; those of a learned space include the map into it."""
    needed = int(model.n_parameters_)
    if isinstance(model, TransformedKMeans):
        needed += int(model.n_features_in_) * int(model.n_components_)
    return needed


def bytes_of(model: Any) -> int:
    """Memory that the fitted structure needs: its numbers, and where they are if it is sparse."""
    factors = getattr(model, "factors_", None)
    if factors is None and hasattr(model, "sparse_centroids_"):
        factors = [model.sparse_centroids_]
    if factors is None:
        centers = model.cluster_centers_
        itemsize = 8 if centers is None else np.asarray(centers).dtype.itemsize
        return numbers_of(model) * itemsize
    stored = sum(one.data.nbytes + one.indices.nbytes + one.indptr.nbytes for one in factors)
    return int(stored + (model.offset_.nbytes if np.any(model.offset_) else 0))


def _has_negative(rows: Any) -> bool:
    values = rows.data if sp.issparse(rows) else rows
    return bool(values.size and values.min() < 0)
