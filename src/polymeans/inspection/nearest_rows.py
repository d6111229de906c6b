"""The rows that are nearest to centroids."""

from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_integer
from polymeans.inspection._accounts import Extremes
from polymeans.inspection._geometry import Geometry, geometry_of
from polymeans.inspection._row_parts import RowParts
from polymeans.metrics.centroid_quality import QualityAccount


class NearestSamples(NamedTuple):
    """What :func:`polymeans.nearest_samples` returns.

    Parameters
    ----------
    indices : ndarray of shape (n_clusters, n)
        Numbers of rows, the nearest first; -1 where a cluster has fewer rows.
    distances : ndarray of shape (n_clusters, n)
        Their distances to the centroid; infinite where a cluster has fewer rows.

    See Also
    --------
    polymeans.nearest_samples : Makes it.
    polymeans.describe : Also the farthest rows, and what sets clusters apart.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans, nearest_samples
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0], [11.0]])
    >>> found = nearest_samples(KMeans(2, random_state=0).fit(X), X, 4)
    >>> found.indices[:, 0].tolist(), found.distances[:, 0].tolist(), found.indices[0, 3]
    ([5, 1], [0.0, 0.0], np.int64(-1))
    """

    indices: NDArray[np.int64]
    distances: NDArray[np.float64]


def nearest_samples(model: Any, X: Any, n: int = 1, *, view: int | None = None) -> NearestSamples:
    """The rows of each cluster that are nearest to its centroid.

    **Idea.** A centroid is an average that need not exist; the row next to it does. Distances are
    measured where the model clusters: among the rows, their directions, in a learned space or in a
    view.

    **Use when** you want examples to look at, or prototypes: ``X[indices[:, 0]]`` has one row for
    each cluster. **Do not use** as neighbors of any row: :mod:`polymeans.neighbors` finds those.

    **Cost.** Labels of the rows, and one distance for each. Blocks and Dask collections are read
    once.

    Parameters
    ----------
    model : estimator
        A fitted clustering, or a Pipeline that ends in one.
    X : array-like, CSR matrix or array, frame, Blocks or Dask collection
        Rows, as ``predict`` takes them.
    n : int, default=1
        Rows of each cluster.
    view : int or None, default=None
        Which view of :class:`NonRedundantKMeans`. None: the one of ``labels_``.

    Returns
    -------
    nearest : NearestSamples
        ``indices`` and ``distances``, one line for each cluster.

    See Also
    --------
    describe : Also the farthest rows, and what sets clusters apart.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans, nearest_samples
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [12.0], [11.0]])
    >>> model = KMeans(2, random_state=0).fit(X)
    >>> indices, distances = nearest_samples(model, X, 2)
    >>> X[indices[:, 0]].ravel()
    array([11.,  1.])
    """
    check_integer("n", n, 1)
    n = int(n)
    parts = RowParts(model, X, None, None)
    geometry = geometry_of(parts.last)
    number = _number_of(geometry, view)
    part = geometry.clusterings[number]
    extremes = Extremes(part.n_clusters, n)
    account = QualityAccount(part.centers, part.metric)
    with closing(iter(parts)) as stream:
        for some in stream:
            places, labels = geometry.locate(some.rows)[number]
            found = account.add(places, some.weights, labels)
            extremes.add(some.first, labels, found.own)
    indices = np.full((part.n_clusters, n), -1, dtype=np.int64)
    distances = np.full((part.n_clusters, n), np.inf)
    for c, (rows, own) in enumerate(extremes.rows_of()[0]):
        indices[c, : len(rows)], distances[c, : len(rows)] = rows, own
    return NearestSamples(indices, distances)


def _number_of(geometry: Geometry, view: int | None) -> int:
    n_views = sum(part.kind == "view" for part in geometry.clusterings)
    if view is None:
        return geometry.main
    if not n_views:
        raise ValueError(
            f"view={view!r} was given, but {type(geometry.model).__name__} has no views. Leave it "
            "out."
        )
    check_integer("view", view, 0, largest=n_views - 1)
    return int(view)
