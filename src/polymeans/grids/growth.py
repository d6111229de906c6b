"""Growing grids: candidates with more and more protocentroids, and their information criteria."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.kmeans import KMeans

#: Name of free centroids in the table of candidates.
FREE = "none"

#: Fields of a candidate's record.
RECORD = [
    ("aggregator", "U7"),
    ("sizes", object),
    ("n_clusters", np.int64),
    ("n_used", np.int64),
    ("n_parameters", np.int64),
    ("inertia", np.float64),
    ("log_likelihood", np.float64),
    ("bic", np.float64),
    ("aic", np.float64),
    ("seconds", np.float64),
]

#: Share of the variance to which a smaller inertia is raised: below it differences are rounding,
#: and the logarithm in the likelihood would reward them.
_LEAST_INERTIA = 1e-10

#: Difference of a criterion up to which candidates count as equally good: according to Kass and
#: Raftery (1995), differences of BIC below two are "not worth more than a bare mention".
_NO_EVIDENCE = 2.0

#: Standard deviation of the logarithms of a new set of a product: its two members differ from one
#: by about a tenth, so that centroids change little and the descent decides where they go.
_NEW_FACTOR_SPREAD = 0.1

#: Smallest factor, relative to the largest, by which the step of a product's member is divided.
_SMALLEST_FACTOR = 1e-6

#: Stands for zero in a divisor.
_TINY = 1e-300


@dataclass
class Candidate:
    """A fitted grid, or free centroids, and its value of the criterion.

    Parameters
    ----------
    sizes : tuple of int
        Sizes of the sets.
    aggregator : {"sum", "product", "none"}
    model : KhatriRaoKMeans or KMeans
        Fitted.
    record : tuple
        Values of the fields in ``RECORD``.
    criterion : float
        Lower is better.
    """

    sizes: tuple[int, ...]
    aggregator: str
    model: Any
    record: tuple[Any, ...]
    criterion: float


class Growth:
    """The candidates of one fit of a selector.

    Parameters
    ----------
    selector : KhatriRaoSelector
        Whose parameters count.
    X : ndarray or CSR matrix or array of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
    rng : RandomState
    tell : callable
        Called with a text for each candidate.
    """

    def __init__(
        self, selector: Any, X: Any, weights: Any, rng: Any, tell: Callable[[str], None]
    ) -> None:
        self.selector, self.X, self.weights, self.rng, self.tell = selector, X, weights, rng, tell
        self.candidates: list[Candidate] = []
        self.total = weights.sum()
        self.variance = KMeans(1, n_threads=1).fit(X, sample_weight=weights).inertia_

    def best(self) -> Candidate:
        """The best candidate; among equally good ones free centroids, then the fewest clusters."""
        least = min(one.criterion for one in self.candidates)
        equal = [one for one in self.candidates if one.criterion <= least + _NO_EVIDENCE]
        return min(equal, key=lambda one: (one.aggregator != FREE, prod(one.sizes), one.criterion))

    def grow(self, aggregator: str, sizes: tuple[int, ...]) -> None:
        """Fit larger and larger grids until the criterion stops improving.

        Parameters
        ----------
        aggregator : {"sum", "product", "none"}
        sizes : tuple of int
            Of the first grid.
        """
        if prod(sizes) > self.X.shape[0]:
            return
        current = self._fit(aggregator, {sizes: []})[0]
        least, n_worse = current.criterion, 0
        while n_worse < self.selector.patience:
            larger = self._larger(current)
            if not larger:
                return
            current = min(self._fit(aggregator, larger), key=lambda one: one.criterion)
            n_worse = 0 if current.criterion < least else n_worse + 1
            least = min(least, current.criterion)

    def _larger(self, current: Candidate) -> dict[tuple[int, ...], list[Any]]:
        """Sizes to try next, each with starts made of the present protocentroids."""
        most = min(self.selector.max_clusters, self.X.shape[0])
        sets = _sets(current.model)
        found: dict[tuple[int, ...], list[Any]] = {}
        moves = [self._split(current.model, q) for q in range(len(sets))]
        if current.aggregator != FREE and len(sets) < self.selector.n_sets:
            moves.append([*sets, self._new_set(current)])
        for grown in moves:
            # The order of sets is arbitrary: with ascending sizes the same grid is fitted once.
            grown = sorted(grown, key=len)
            sizes = tuple(len(theta) for theta in grown)
            if prod(sizes) <= most:
                found.setdefault(sizes, []).append(grown)
        return found

    def _fit(self, aggregator: str, starts: dict[tuple[int, ...], list[Any]]) -> list[Candidate]:
        """The best fit of each grid: without a given start, and from each given start."""
        fitted: list[Candidate] = []
        for sizes, given in starts.items():
            began = time.perf_counter()
            models = [self._model(aggregator, sizes, init) for init in [None, *given]]
            for model in models:
                model.fit(self.X, sample_weight=self.weights)
            model = min(models, key=lambda one: one.inertia_)
            candidate = self._judge(aggregator, sizes, model, time.perf_counter() - began)
            fitted.append(candidate)
            self.tell(
                f"candidate {len(self.candidates) + len(fitted)}, {aggregator} {sizes}: "
                f"{self.selector.criterion} {candidate.criterion:.6g}"
            )
        self.candidates += fitted
        return fitted

    def _model(self, aggregator: str, sizes: tuple[int, ...], init: Any) -> Any:
        """An estimator that is not fitted yet; ``init`` None: its default start."""
        common = {
            "random_state": self.rng.randint(2**31 - 1),
            "n_threads": self.selector.n_threads,
        }
        if aggregator == FREE:
            return KMeans(sizes[0], init="k-means++" if init is None else init[0], **common)
        return KhatriRaoKMeans(
            sizes,
            aggregator=aggregator,
            init="search" if init is None else init,
            effort=self.selector.effort,
            **common,
        )

    def _judge(
        self, aggregator: str, sizes: tuple[int, ...], model: Any, seconds: float
    ) -> Candidate:
        """A candidate with its log-likelihood and criteria; see the Notes of the selector."""
        n, n_features = self.total, self.X.shape[1]
        masses = np.bincount(model.labels_, self.weights)
        masses = masses[masses > 0]
        inertia = max(model.inertia_, _LEAST_INERTIA * self.variance, np.finfo(float).tiny)
        spread = 1 + np.log(2 * np.pi * inertia / (n * n_features))
        likelihood = masses @ np.log(masses / n) - n * n_features / 2 * spread
        n_parameters = (sum(sizes) - len(sizes) + 1) * n_features + len(masses)
        bic = -2 * likelihood + n_parameters * np.log(n)
        aic = -2 * likelihood + 2 * n_parameters
        record = (
            aggregator,
            sizes,
            prod(sizes),
            len(masses),
            n_parameters,
            model.inertia_,
            likelihood,
            bic,
            aic,
            seconds,
        )
        criterion = bic if self.selector.criterion == "bic" else aic
        return Candidate(sizes, aggregator, model, record, float(criterion))

    # --- larger grids ------------------------------------------------------------------------

    def _split(self, model: Any, q: int) -> list[NDArray[Any]]:
        """The sets, with the most scattered protocentroid of one of them replaced by two."""
        sets = _sets(model)
        scatter, masses = self._scatter(model, q)
        widest = int(scatter.argmax())
        step = self.rng.standard_normal(self.X.shape[1]) * self._step_size(
            sets, q, scatter[widest] / max(masses[widest], _TINY), model
        )
        theta = sets[q]
        halves = np.stack([theta[widest] + step, theta[widest] - step]).astype(theta.dtype)
        sets[q] = np.concatenate([np.delete(theta, widest, axis=0), halves])
        return sets

    def _scatter(self, model: Any, q: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sum of squared distances of the rows of each protocentroid of a set, and their weight."""
        sets = _sets(model)
        sizes = tuple(len(theta) for theta in sets)
        labels, weights = model.labels_, self.weights
        centers = np.asarray(model.cluster_centers_, dtype=np.float64)
        squares = _row_squares(self.X)
        members = sp.csr_array(
            (weights, (labels, np.arange(len(labels)))), shape=(len(centers), len(labels))
        )
        sums = members @ self.X
        crossed = (
            sums.multiply(centers).sum(axis=1) if sp.issparse(sums) else (sums * centers).sum(1)
        )
        masses = np.bincount(labels, weights, minlength=len(centers))
        cells = np.bincount(labels, weights * squares, minlength=len(centers))
        cells = cells - 2 * np.ravel(crossed) + masses * np.square(centers).sum(axis=1)
        digits = np.unravel_index(np.arange(len(centers)), sizes)[q]
        return (
            np.bincount(digits, np.maximum(cells, 0.0), minlength=sizes[q]).astype(np.float64),
            np.bincount(digits, masses, minlength=sizes[q]).astype(np.float64),
        )

    def _step_size(self, sets: list[Any], q: int, variance: float, model: Any) -> Any:
        """Step of a protocentroid that moves its centroids by the spread of their rows."""
        radius = np.sqrt(variance / self.X.shape[1])
        if getattr(model, "aggregator", "sum") == "sum":
            return radius
        others = np.ones(self.X.shape[1])
        for theta in sets[:q] + sets[q + 1 :]:
            others *= np.sqrt(np.mean(np.square(theta, dtype=np.float64), axis=0))
        return radius / np.maximum(others, _SMALLEST_FACTOR * max(others.max(), _TINY))

    def _new_set(self, current: Candidate) -> NDArray[Any]:
        """Two protocentroids that change the centroids little, in opposite directions."""
        sets = _sets(current.model)
        step = self.rng.standard_normal(self.X.shape[1])
        radius = np.sqrt(current.model.inertia_ / self.total / self.X.shape[1])
        if current.aggregator == "sum":
            pair = np.stack([radius * step, -radius * step])
        else:
            pair = np.exp(_NEW_FACTOR_SPREAD * np.stack([step, -step]))
        return pair.astype(sets[0].dtype)


def _sets(model: Any) -> list[NDArray[Any]]:
    """The sets of a fitted model; free centroids are one set."""
    if isinstance(model, KMeans):
        return [model.cluster_centers_]
    return list(model.protocentroids_)


def _row_squares(X: Any) -> NDArray[np.float64]:
    """Squared norm of each row."""
    if sp.issparse(X):
        return np.ravel(X.multiply(X).sum(axis=1)).astype(np.float64)
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)
