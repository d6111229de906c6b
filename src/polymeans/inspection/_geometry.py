"""The clusterings of a fitted model: where their centroids are, and in which coordinates.

Every estimator clusters in some space: its rows, their directions, a learned metric, the subspace
of a view, or the latent space of a network. Distances are measured there, so that a row's label is
its nearest centroid.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_rows
from polymeans.codebooks.aggregation import labels_per_set
from polymeans.inspection._models import in_latent_space


@dataclass(frozen=True)
class Clustering:
    """One grouping of the rows."""

    name: str
    kind: str  #: "clusters", "cells" (combinations of protocentroids) or "view"
    centers: NDArray[np.float64]  #: in the coordinates that :meth:`Geometry.locate` returns
    metric: str  #: "euclidean" or "cosine"
    space: str  #: in words

    @property
    def n_clusters(self) -> int:
        """Number of centroids."""
        return len(self.centers)


class Geometry(ABC):
    """Clusterings of a model, and rows in their coordinates.

    Parameters
    ----------
    model : estimator
        Fitted.
    """

    clusterings: list[Clustering]

    def __init__(self, model: Any) -> None:
        self.model = model
        self.notes: list[str] = []

    @property
    def main(self) -> int:
        """Number of the clustering that ``labels_`` are of."""
        return 0

    @abstractmethod
    def coordinates(self, rows: Any) -> list[Any]:
        """Checked rows in the coordinates of each clustering."""

    @abstractmethod
    def labels(self, rows: Any) -> list[NDArray[np.int64]]:
        """Labels of checked rows in each clustering."""

    def locate(self, rows: Any) -> list[tuple[Any, NDArray[np.int64]]]:
        """Coordinates and labels of checked rows in each clustering."""
        return list(zip(self.coordinates(rows), self.labels(rows)))

    def _predicted(self, rows: Any) -> NDArray[np.int64]:
        label = getattr(self.model, "_predict", None) or self.model.predict
        return np.asarray(label(rows)).astype(np.int64, copy=False)


class OfOneClustering(Geometry):
    """Labels are those that ``predict`` gives."""

    def labels(self, rows: Any) -> list[NDArray[np.int64]]:
        """One array."""
        return [self._predicted(rows)]


class InInputSpace(OfOneClustering):
    """Centroids among the rows themselves, or among their directions."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        cosine = bool(getattr(model, "_spherical", False))
        cosine = cosine or getattr(model, "metric_", "") == "cosine"
        kind = "cells" if hasattr(model, "protocentroids_") else "clusters"
        centers = np.asarray(model.cluster_centers_, dtype=np.float64)
        metric = "cosine" if cosine else "euclidean"
        space = "among directions of the rows" if cosine else "among the features"
        self.clusterings = [Clustering(kind, kind, centers, metric, space)]
        if getattr(model, "centroids_in_space_", ...) is None:
            self.notes.append(
                'solver="cg" computes no coordinates of the learned space: distances are measured '
                "among the features, where labels need not be the nearest centroids."
            )

    def coordinates(self, rows: Any) -> list[Any]:
        """The rows as they are."""
        return [rows]


class InLearnedSpace(OfOneClustering):
    """Centroids in the space of a learned metric, which may be that of a kernel."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        centers = np.asarray(model.centroids_in_space_, dtype=np.float64)
        space = f"in the learned space of {centers.shape[1]} dimensions"
        self.clusterings = [Clustering("clusters", "clusters", centers, "euclidean", space)]

    def coordinates(self, rows: Any) -> list[Any]:
        """Coordinates in which the learned metric is Euclidean."""
        return [self.model._transform(rows)]


class InLatentSpace(OfOneClustering):
    """Centroids among the vectors that a network makes of the rows."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        kind = "cells" if hasattr(model, "protocentroids_") else "clusters"
        centers = np.asarray(model.cluster_centers_, dtype=np.float64)
        m = centers.shape[1]
        space = f"in the latent space of {m} dimension{'s' * (m != 1)}"
        self.clusterings = [Clustering(kind, kind, centers, "euclidean", space)]

    def coordinates(self, rows: Any) -> list[Any]:
        """What the encoder makes of the rows."""
        return [self.model._transform(rows)]

    def locate(self, rows: Any) -> list[tuple[Any, NDArray[np.int64]]]:
        """The same and labels; rows are encoded once."""
        latent = self.model._transform(rows)
        return [(latent, self.model._label(latent).astype(np.int64))]


class InViews(Geometry):
    """Centroids of several views, each in a subspace."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._edges = np.cumsum((0, *model.n_dims_)).tolist()
        self.clusterings = []
        for s, centers in enumerate(model.centroids_per_view_):
            lo, hi = self._edges[s : s + 2]
            inside = model._transform(np.asarray(centers))[:, lo:hi].astype(np.float64)
            space = f"in the subspace of view {s}, of {hi - lo} dimension{'s' * (hi - lo != 1)}"
            self.clusterings.append(Clustering(f"view {s}", "view", inside, "euclidean", space))
        if not self.clusterings:
            self.notes.append("No views were found: all rows are one cluster.")
            centers = np.asarray(model.mean_, dtype=np.float64)[None]
            self.clusterings.append(
                Clustering("clusters", "clusters", centers, "euclidean", "among the features")
            )

    @property
    def main(self) -> int:
        """The view that explains most of the scatter."""
        return int(self.model.main_view_) if self.model.n_views_ else 0

    def coordinates(self, rows: Any) -> list[Any]:
        """Coordinates of each view."""
        if self.model.n_views_ == 0:
            return [rows]
        inside = self.model._transform(rows)
        return [inside[:, lo:hi] for lo, hi in pairwise(self._edges)]

    def labels(self, rows: Any) -> list[NDArray[np.int64]]:
        """Labels in each view."""
        if self.model.n_views_ == 0:
            return [np.zeros(rows.shape[0], dtype=np.int64)]
        joint = self._predicted(rows).astype(np.int32)
        return list(labels_per_set(joint, self.model.n_clusters_).astype(np.int64).T)


def geometry_of(model: Any) -> Geometry:
    """The clusterings of a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted; the last step of a Pipeline, not the Pipeline.

    Returns
    -------
    Geometry
    """
    if in_latent_space(model):
        return InLatentSpace(model)
    if hasattr(model, "centroids_per_view_"):
        return InViews(model)
    if getattr(model, "centroids_in_space_", None) is not None:
        return InLearnedSpace(model)
    if getattr(model, "cluster_centers_", None) is not None:
        return InInputSpace(model)
    if hasattr(model, "centroids_in_space_"):
        raise TypeError(
            f"{model!r} has neither centroids among the features nor coordinates in the learned "
            "space, so there is nothing to measure distances from. Fit it with another solver."
        )
    raise TypeError(
        f"model must be a fitted clustering with centroids, got {type(model).__name__}, which has "
        "no cluster_centers_. Use one of the estimators of polymeans."
    )


class Places(NamedTuple):
    """Rows and centroids in one space, and the metric there."""

    rows: Any
    centers: NDArray[np.float64]
    metric: str  #: "euclidean" or "cosine"


def places_of(model: Any, rows: Any) -> Places:
    """Rows and centroids in the coordinates where the nearest centroid is a row's label.

    Parameters
    ----------
    model : estimator
        Fitted; the last step of a Pipeline, not the Pipeline.
    rows : array-like, CSR or frame

    Returns
    -------
    Places
        :class:`~polymeans.TransformedKMeans`, also with a kernel: in the learned space.
        :class:`~polymeans.NonRedundantKMeans`: in the subspace of the main view. Those of
        :mod:`polymeans.deep`: in the latent space. Others: in the space of the features.
    """
    geometry = geometry_of(model)
    inside = geometry.coordinates(check_rows(model, rows, reset=False))[geometry.main]
    clustering = geometry.clusterings[geometry.main]
    return Places(inside, clustering.centers, clustering.metric)
