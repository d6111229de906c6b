"""Where to begin without seeing rows.

``"summaries"``: each site makes micro-centroids of at least ``min_count`` rows; the server fits the
estimator to these, with the same search as a local fit, and begins where that ends. One round.

``"k-means||"``: a few rounds in which sites offer candidates far from those there are, each the
mean of ``min_count`` neighboring rows, and then count how many of their rows are nearest to each.
The server thins the candidates by these counts. Less is sent than for summaries if clusters are
few; of the structure of the rows less is known.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polymeans._rows import RowsInfo
from polymeans._validation import check_choice
from polymeans.federated.coordinator import Coordinator
from polymeans.federated.messages import (
    InvalidMessageError,
    Message,
    checked_array,
    unpacked_integers,
)
from polymeans.federated.placement import SitesPlacement
from polymeans.kmeans import KMeans
from polymeans.search.summary import FEWEST, MOST, PER_CENTROID

STARTS = ("auto", "summaries", "k-means||")

#: Rounds of k-means|| and candidates in each, as a multiple of the centroids: as in a local fit.
_N_ROUNDS, _OVERSAMPLING = 3, 2.0

#: Starts of the server's k-means on what sites have offered.
_N_INIT = 10


def given_start(model: Any) -> bool:
    """Whether the estimator brings centroids to begin from."""
    if callable(model.init):
        raise ValueError(
            f"init={model.init!r} is called with all rows, which never leave their sites. Give an "
            "array, or the name of a method."
        )
    return not isinstance(model.init, str)


def start_vectors(
    model: Any, coordinator: Coordinator, placement: SitesPlacement, start: str
) -> list[NDArray[Any]]:
    """Centroids, or sets of protocentroids, to begin from."""
    check_choice("start", start, STARTS)
    if start == "auto":
        start = "k-means||" if model.init == "k-means||" else "summaries"
    spherical = bool(model._spherical)
    if start == "summaries":
        n_micro = max(FEWEST, min(MOST, PER_CENTROID * model._n_requested))
        points, weights = gather_summaries(coordinator, placement, n_micro, spherical)
    else:
        points, weights = gather_candidates(coordinator, placement, model)
    return fitted_to(model, points, weights, placement.dtype)


def fitted_to(
    model: Any, points: NDArray[Any], weights: NDArray[np.float64], dtype: np.dtype[Any]
) -> list[NDArray[Any]]:
    """What the estimator finds for weighted points: centroids, or sets of protocentroids."""
    n_distinct = len(np.unique(points, axis=0))
    if hasattr(model, "n_protocentroids"):
        worker = clone(model)
        with warnings.catch_warnings():  # some combinations of few points have none
            warnings.simplefilter("ignore", ConvergenceWarning)
            worker.fit(points, sample_weight=weights)
        return [part.astype(dtype) for part in worker.protocentroids_]
    k = model.n_clusters
    if n_distinct < k:
        raise ValueError(
            f"Sites offered {n_distinct} different points to begin from, but n_clusters={k}. "
            "Ask for fewer clusters or lower min_count."
        )
    metric = getattr(model, "metric", "euclidean")
    # Points are few: several starts cost less than a round of messages.
    worker = KMeans(
        k, metric=metric, init="k-means++", n_init=_N_INIT, random_state=model.random_state
    )
    return [worker.fit(points, sample_weight=weights).cluster_centers_.astype(dtype)]


def gather_summaries(
    coordinator: Coordinator, placement: SitesPlacement | RowsInfo, n_micro: int, spherical: bool
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Micro-centroids of all sites and their masses, in the order of the sites' names."""
    found: dict[str, tuple[NDArray[Any], NDArray[np.float64]]] = {}

    def take(name: str, reply: Message) -> None:
        found[name] = _points(reply, placement, coordinator.announced[name].n_samples)

    n_sites = len(coordinator.announced)
    share = max(1, -(-n_micro // n_sites))
    coordinator.ask("summary", {"n_micro": share, "spherical": spherical}, check_reply=take)
    parts = [found[name] for name in sorted(found) if len(found[name][0])]
    if not parts:
        raise ValueError(
            "No site could release a summary: all have too few rows for min_count. Lower "
            "min_count, or give starting centroids by init."
        )
    return np.concatenate([p for p, _ in parts]), np.concatenate([w for _, w in parts])


def gather_candidates(
    coordinator: Coordinator, placement: SitesPlacement, model: Any
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Candidates of a few rounds, weighted by the rows that are nearest to each."""
    k, n_features = int(model._n_requested), placement.shape[1]
    known: NDArray[Any] = np.empty((0, n_features), dtype=placement.dtype)
    for number in range(_N_ROUNDS + 1):
        offered: dict[str, NDArray[Any]] = {}

        def take(name: str, reply: Message) -> None:
            n_samples = coordinator.announced[name].n_samples
            offered[name] = _points(reply, placement, n_samples)[0]  # noqa: B023

        # The first round is one point of each site; later ones go by distance.
        wanted = 1.0 if number == 0 else _OVERSAMPLING * k / len(coordinator.announced)
        asked = {"known": known, "expected": wanted, "spherical": bool(model._spherical)}
        coordinator.ask("candidates", asked, check_reply=take)
        new = [offered[name] for name in sorted(offered)]
        known = np.unique(np.concatenate([known, *new]), axis=0)
    asked = {"known": known, "spherical": bool(model._spherical)}
    shapes: dict[str, tuple[int, ...]] = {"counts": (len(known),)}
    counts = coordinator.ask("nearest_counts", asked, shapes).totals["counts"].astype(np.float64)
    used = counts > 0
    return known[used], counts[used]


def _points(
    reply: Message, placement: SitesPlacement | RowsInfo, n_samples: int
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    points = reply.get("points")
    if not isinstance(points, np.ndarray) or points.ndim != 2:
        raise InvalidMessageError("it sends no points")
    shape = (len(points), placement.shape[1])
    points = checked_array(reply, "points", shape)
    counts = unpacked_integers(reply.get("counts"), (len(points),))
    if (counts < 0).any():
        raise InvalidMessageError("it counts fewer than zero rows around a point")
    if int(counts.sum()) > n_samples:
        raise InvalidMessageError(f"it counts {int(counts.sum())} rows, but has {n_samples}")
    return points.astype(placement.dtype), counts.astype(np.float64)
