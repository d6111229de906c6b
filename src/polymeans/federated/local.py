"""The local method: FkM of Garst & Reinders, and KR-FkM of the Khatri-Rao paper.

In each round sites run a step of k-means from the centroids they are sent, and return means (or
protocentroids) with sizes; the server clusters what all sites have sent. As published, the server
starts anew from random points in every round, so nothing makes a round better than the one before,
and a fixed number of rounds is run. Repaired, the first centroids come from summaries of all sites
(:mod:`polymeans.federated.starts`), later ones from those that were sent before; sites report the
inertia of these, the best ones are kept, and the run ends when they no longer improve.
"""

import logging
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polymeans._rows import RowsInfo
from polymeans._validation import check_seed
from polymeans.codebooks.aggregation import combine, split
from polymeans.federated.coordinator import Coordinator
from polymeans.federated.messages import (
    InvalidMessageError,
    Message,
    checked_array,
    checked_number,
    unpacked_integers,
)
from polymeans.federated.starts import fitted_to, gather_summaries
from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.kmeans import KMeans
from polymeans.search.summary import FEWEST, MOST, PER_CENTROID

logger = logging.getLogger("polymeans")

#: Rounds unless told otherwise, and rounds without gain after which the repaired method ends.
_ROUNDS, _NO_GAIN = 20, 2


def fit_locally(
    estimator: Any,
    coordinator: Coordinator,
    *,
    rounds: int | None = None,
    as_published: bool = False,
) -> Any:
    """Fit by local steps and a clustering of their outcomes.

    Parameters
    ----------
    estimator : KMeans or KhatriRaoKMeans
    coordinator : Coordinator
    rounds : int or None, default=None
        At most; None: 20.
    as_published : bool, default=False
        Without the repairs.

    Returns
    -------
    estimator
        A fitted copy without labels.
    """
    task = _Task(estimator, coordinator, as_published)
    n_rounds = _ROUNDS if rounds is None else int(rounds)
    vectors: NDArray[Any] | None = None
    best, best_inertia, since = None, np.inf, 0
    for _ in range(n_rounds):
        points, weights, inertia = task.begin() if vectors is None else task.ask(vectors)
        if vectors is not None:
            coordinator.rounds[-1].inertia = inertia
            if inertia < best_inertia * (1 - float(estimator.tol)):
                since = 0
            else:
                since += 1
            if inertia < best_inertia or as_published:
                best, best_inertia = vectors, inertia
            logger.info("inertia %.6g", inertia)
            if since >= _NO_GAIN and not as_published:
                break
        vectors = task.cluster(points, weights, vectors)
    inertia = task.measure(vectors)
    if best is None or inertia < best_inertia or as_published:
        best, best_inertia = vectors, inertia
    coordinator.rounds[-1].inertia = best_inertia
    return task.finished(best, best_inertia)


class _Task:
    """What is asked of sites, and what the server makes of it."""

    def __init__(self, estimator: Any, coordinator: Coordinator, as_published: bool) -> None:
        self.model = clone(estimator)
        self.model._check_parameters()
        self.model._fix_parameters()
        is_grid = isinstance(self.model, KhatriRaoKMeans)
        if not is_grid and not (isinstance(self.model, KMeans) and not self.model._spherical):
            raise ValueError(
                'method="local" is for KMeans with metric="euclidean" and KhatriRaoKMeans, not '
                f"{self.model!r}."
            )
        self.is_grid, self.coordinator, self.as_published = is_grid, coordinator, as_published
        self.sizes = tuple(self.model._sizes) if is_grid else (int(self.model.n_clusters),)
        self.aggregator = self.model.aggregator if is_grid else "sum"
        self.n_features, self.dtype, _, n_samples = coordinator.gather()
        self.kind = RowsInfo((n_samples, self.n_features), self.dtype, 0, False)
        self.rng = check_seed(self.model.random_state)

    def begin(self) -> tuple[NDArray[Any], NDArray[np.float64], float]:
        """What the first centroids are made of."""
        if self.as_published:
            return self.ask(None)
        n_micro = max(FEWEST, min(MOST, PER_CENTROID * self.model._n_requested))
        points, weights = gather_summaries(self.coordinator, self.kind, n_micro, False)
        return points, weights, np.nan

    def ask(self, vectors: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[np.float64], float]:
        """Points and weights of all sites, and the inertia of what was sent."""
        found: dict[str, tuple[NDArray[Any], NDArray[np.int64], float]] = {}

        def take(name: str, reply: Message) -> None:
            found[name] = self._points(reply, self.coordinator.announced[name].n_samples, vectors)

        self.coordinator.ask("local", self._asked(vectors, False), check_reply=take)
        parts = [found[name] for name in sorted(found)]
        points = np.concatenate([part[0] for part in parts])
        weights = np.concatenate([part[1] for part in parts]).astype(np.float64)
        if not len(points):
            raise ValueError(
                "All sites have fewer rows in each cluster than min_count. Ask for fewer clusters, "
                "or lower min_count."
            )
        return points, weights, float(sum(part[2] for part in parts))

    def measure(self, vectors: NDArray[Any] | None) -> float:
        """The inertia of all rows about centroids."""
        inertias: dict[str, float] = {}

        def take(name: str, reply: Message) -> None:
            inertias[name] = float(checked_number(reply, "inertia", 0.0))

        self.coordinator.ask("local", self._asked(vectors, True), check_reply=take)
        return float(sum(inertias[name] for name in sorted(inertias)))

    def _asked(self, vectors: NDArray[Any] | None, only_measure: bool) -> Message:
        asked: Message = {
            "sizes": list(self.sizes),
            "aggregator": self.aggregator,
            "only_measure": only_measure,
        }
        return asked if vectors is None else asked | {"vectors": vectors}

    def _points(
        self, reply: Message, n_samples: int, sent: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[np.int64], float]:
        vectors = reply.get("vectors")
        if not isinstance(vectors, np.ndarray) or vectors.ndim != 2:
            raise InvalidMessageError("it sends no centroids")
        n = sum(self.sizes) if self.is_grid else len(vectors)
        vectors = checked_array(reply, "vectors", (n, self.n_features))
        k = int(np.prod(self.sizes)) if self.is_grid else n
        counts = unpacked_integers(reply.get("counts"), (k,))
        if (counts < 0).any() or int(counts.sum()) > n_samples:
            raise InvalidMessageError(
                f"its clusters have {int(counts.sum())} rows, but it announced {n_samples}"
            )
        inertia = np.nan if sent is None else checked_number(reply, "inertia", 0.0)
        if self.is_grid:
            sets = [part.astype(np.float64) for part in split(vectors, self.sizes)]
            vectors = combine(sets, self.aggregator)
        used = counts > 0
        return vectors[used].astype(self.dtype), counts[used], float(inertia)

    def cluster(
        self, points: NDArray[Any], weights: NDArray[np.float64], before: NDArray[Any] | None
    ) -> NDArray[Any]:
        """The server's centroids of what sites have sent."""
        if before is None and not self.as_published:
            return np.concatenate(fitted_to(self.model, points, weights, self.dtype))
        worker = clone(self.model)
        worker.set_params(random_state=int(self.rng.randint(2**31)), n_init="auto")
        if not self.is_grid:
            worker.set_params(n_clusters=min(self.sizes[0], len(points)), init="k-means++")
        if self.as_published or before is None:
            worker.set_params(init="random", n_init=1)
        elif self.is_grid or len(before) == self.sizes[0]:
            worker.set_params(init=split(before, self.sizes) if self.is_grid else before)
        with warnings.catch_warnings():  # points of few sites may be fewer than centroids
            warnings.simplefilter("ignore", ConvergenceWarning)
            worker.fit(points, sample_weight=weights)
        if self.is_grid:
            return np.concatenate(worker.protocentroids_)
        return worker.cluster_centers_

    def finished(self, vectors: NDArray[Any] | None, inertia: float) -> Any:
        """The model with these centroids."""
        assert vectors is not None
        model = self.model
        if self.is_grid:
            model.protocentroids_ = [np.ascontiguousarray(p) for p in split(vectors, self.sizes)]
            model.n_clusters_ = int(np.prod(self.sizes))
            model.compression_ = model.n_clusters_ / sum(self.sizes)
        else:
            model.cluster_centers_ = vectors
        model.n_parameters_ = int(vectors.size)
        model.inertia_ = inertia
        model.n_features_in_ = self.n_features
        model.n_iter_ = len(self.coordinator.rounds)
        return model
