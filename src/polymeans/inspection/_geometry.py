"""The clusterings of a fitted model: where their centroids are, and in which coordinates.

Every estimator clusters in some space: its rows, their directions, a learned metric, or the
subspace of a view. Distances are measured there, so that a row's label is its nearest centroid.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import labels_per_set


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

    @abstractmethod
    def locate(self, rows: Any) -> list[tuple[Any, NDArray[np.int64]]]:
        """Coordinates and labels of checked rows in each clustering."""

    def _labels(self, rows: Any) -> NDArray[np.int64]:
        label = getattr(self.model, "_predict", None) or self.model.predict
        return np.asarray(label(rows)).astype(np.int64, copy=False)


class InInputSpace(Geometry):
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

    def locate(self, rows: Any) -> list[tuple[Any, NDArray[np.int64]]]:
        """The rows as they are."""
        return [(rows, self._labels(rows))]


class InLearnedSpace(Geometry):
    """Centroids in the space of a learned metric, which may be that of a kernel."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        centers = np.asarray(model.centroids_in_space_, dtype=np.float64)
        space = f"in the learned space of {centers.shape[1]} dimensions"
        self.clusterings = [Clustering("clusters", "clusters", centers, "euclidean", space)]

    def locate(self, rows: Any) -> list[tuple[Any, NDArray[np.int64]]]:
        """Coordinates in which the learned metric is Euclidean."""
        return [(self.model._transform(rows), self._labels(rows))]


class InViews(Geometry):
    """Centroids of several views, each in a subspace."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._edges = np.cumsum((0, *model.n_dims_))
        self.clusterings = []
        for s, centers in enumerate(model.centroids_per_view_):
            lo, hi = self._edges[s : s + 2].tolist()
            inside = model._transform(np.asarray(centers))[:, lo:hi].astype(np.float64)
            space = f"in the subspace of view {s}, of {hi - lo} dimension{'s' * (hi - lo != 1)}"
            self.clusterings.append(Clustering(f"view {s}", "view", inside, "euclidean", space))
        if not self.clusterings:
            self.notes.append("No views were found: all rows are one cluster.")
            centers = np.asarray(model.mean_, dtype=np.float64)[None]
            self.clusterings.append(
                Clustering("clusters", "clusters", centers, "euclidean", "among the features")
            )

    def locate(self, rows: Any) -> list[tuple[Any, NDArray[np.int64]]]:
        """Coordinates of each view."""
        model = self.model
        if model.n_views_ == 0:
            return [(rows, np.zeros(rows.shape[0], dtype=np.int64))]
        joint = self._labels(rows).astype(np.int32)
        labels = labels_per_set(joint, model.n_clusters_).astype(np.int64)
        inside = model._transform(rows)
        return [
            (inside[:, lo:hi], labels[:, s])
            for s, (lo, hi) in enumerate(zip(self._edges[:-1], self._edges[1:]))
        ]


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
