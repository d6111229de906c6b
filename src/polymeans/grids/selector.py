"""How many protocentroids, in how many sets, added or multiplied: grown step by step."""

import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import (
    check_choice,
    check_integer,
    check_n_threads,
    check_real,
    check_rows,
    check_weights,
)
from polymeans.codebooks.aggregation import AGGREGATORS
from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.kmeans import KMeans

logger = logging.getLogger("polymeans")

CRITERIA = ("bic", "aic")

#: How the table calls free centroids.
FREE = "none"

_TABLE = [
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

#: Part of the variance below which tighter clusters are no better: rounding is no merit.
_TIGHTEST = 1e-10

#: Difference of a criterion that says nothing.
_NO_EVIDENCE = 2.0


@dataclass
class _Candidate:
    sizes: tuple[int, ...]
    aggregator: str
    model: Any
    record: tuple[Any, ...]
    criterion: float


class KhatriRaoSelector(ClusterMixin, BaseEstimator):
    """Finds how many protocentroids the data ask for, or that they ask for none.

    **Idea.** As X-means does for clusters: start small, grow while an information criterion
    improves. A grid begins with two protocentroids in each set. Every step tries one more in each
    set, and a further set of two where ``n_sets`` allows; each is fitted from the present grid
    with its most scattered protocentroid split, and afresh. The best of them is the next grid.
    Sums, products and free centroids compete, so "no structure" is a possible answer.

    **Use when** you do not know the sizes of the sets. **Do not use when** clusters are not round:
    like X-means, the criterion then keeps splitting them until ``max_clusters``; and not to find a
    codebook for compression, which is a matter of budget:
    :func:`polymeans.grids.largest_grid`.

    **Cost.** For each grid tried, one search and one descent of
    :class:`polymeans.KhatriRaoKMeans`; about ``Σh`` steps with as many grids as sets for each
    aggregator, and as many fits of :class:`polymeans.KMeans` as there are clusters.

    Parameters
    ----------
    max_clusters : int, default=64
        Most centroids (combinations) of a candidate.
    aggregators : sequence of {"sum", "product"}, default=("sum", "product")
        Which grids compete.
    n_sets : int, default=2
        Most sets of a grid. Grids begin with two.
    free_centroids : bool, default=True
        Whether plain k-means competes, too.
    criterion : {"bic", "aic"}, default="bic"
        What to minimise; see Notes.
    patience : int, default=2
        Steps without improvement after which a family stops growing.
    effort : float, default=0.25
        How hard each fresh fit searches, see :class:`polymeans.KhatriRaoKMeans`.
    random_state : int, RandomState instance or None, default=None
        Determines starts and splits.
    n_threads : int or None, default=None
        Threads to use, see :class:`polymeans.KMeans`.
    verbose : int, default=0
        1 logs each candidate to the logger "polymeans" at level INFO.

    Attributes
    ----------
    best_estimator_ : KhatriRaoKMeans or KMeans
        The fitted winner.
    best_aggregator_ : {"sum", "product", "none"}
        Its aggregator; "none" for free centroids.
    best_sizes_ : tuple of int
        Sizes of its sets; ``(n_clusters,)`` for free centroids.
    labels_ : ndarray of shape (n_samples,)
        Its labels.
    table_ : ndarray
        One record for each candidate in the order they were tried: ``aggregator``, ``sizes``,
        ``n_clusters``, ``n_used`` (centroids that have rows), ``n_parameters`` (free ones),
        ``inertia``, ``log_likelihood``, ``bic``, ``aic`` and ``seconds``.
        ``pandas.DataFrame(table_)`` works.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where X has string names.

    See Also
    --------
    polymeans.diagnose_structure : Whether given sizes fit, and how well.

    Notes
    -----
    Rows are taken to be drawn from round normal clusters of common variance with hard labels
    (X-means). With n rows of m features, ``n_c`` of them in cluster c, the log-likelihood is
    ``L = Σ_c n_c log(n_c / n) - n m / 2 · (1 + log(2π · inertia / (n m)))``. Free parameters are
    ``q = (Σh - p + 1) m`` for protocentroids (what can be shifted, or scaled, from set to set does
    not count), one less than the clusters that have rows for their frequencies, and one for the
    variance. ``BIC = -2 L + q log n`` and ``AIC = -2 L + 2 q``; less is better, but differences
    below two are no evidence [1]_: among equals free centroids win, then the fewest. Such ties are
    the rule, since a grid can hold ``Σh - p + 1`` unrelated centroids and leave the other cells
    empty.
    Sample weights count as repetitions; if they add up to less than the number of rows, they are
    scaled up to it.

    References
    ----------
    .. [1] R. E. Kass and A. E. Raftery, "Bayes factors", JASA 90 (1995).
    .. [2] D. Pelleg and A. Moore, "X-means: extending k-means with efficient estimation of the
       number of clusters", ICML 2000.

    Examples
    --------
    >>> from polymeans.datasets import make_khatri_rao
    >>> from polymeans import KhatriRaoSelector
    >>> X, *_ = make_khatri_rao(400, (2, 3), n_features=5, random_state=0)
    >>> selector = KhatriRaoSelector(12, random_state=0).fit(X)
    >>> selector.best_aggregator_, selector.best_sizes_
    ('sum', (2, 3))
    """

    def __init__(
        self,
        max_clusters: int = 64,
        *,
        aggregators: Sequence[str] = ("sum", "product"),
        n_sets: int = 2,
        free_centroids: bool = True,
        criterion: str = "bic",
        patience: int = 2,
        effort: float = 0.25,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_clusters = max_clusters
        self.aggregators = aggregators
        self.n_sets = n_sets
        self.free_centroids = free_centroids
        self.criterion = criterion
        self.patience = patience
        self.effort = effort
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> "KhatriRaoSelector":
        """Grow the candidates and keep the best.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to cluster.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self : KhatriRaoSelector
            Fitted selector.
        """
        self._check_parameters()
        X = check_rows(self, X, reset=True)
        weights = check_weights(sample_weight, X)
        # A sample of less than itself would reward parameters for their number.
        weights = weights * max(1.0, np.count_nonzero(weights) / weights.sum())
        rng = check_random_state(self.random_state)
        trial = _Trial(self, X, weights, rng)
        with warnings.catch_warnings():
            # Candidates that are too large have clusters without rows; they are not chosen.
            warnings.simplefilter("ignore", ConvergenceWarning)
            for aggregator, sizes in self._families():
                trial.grow(aggregator, sizes)
        if not trial.candidates:
            raise ValueError(
                f"n_samples={X.shape[0]} is too few for a grid, and free_centroids="
                f"{self.free_centroids!r} leaves no other candidate. Give at least four rows."
            )
        best = trial.best()
        self.best_estimator_ = best.model
        self.best_aggregator_ = best.aggregator
        self.best_sizes_ = best.sizes
        self.labels_ = best.model.labels_
        self.table_ = np.array([candidate.record for candidate in trial.candidates], dtype=_TABLE)
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Label rows by the nearest centroid of the best estimator.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the nearest centroid.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(check_rows(self, X, reset=False))

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        check_integer("max_clusters", self.max_clusters, 1)
        if isinstance(self.aggregators, str) or not np.iterable(self.aggregators):
            raise TypeError(
                f"aggregators must be a sequence of names, got {self.aggregators!r}. "
                'Use ("sum",) for one of them.'
            )
        for aggregator in self.aggregators:
            check_choice("Each of aggregators", aggregator, AGGREGATORS)
        check_integer("n_sets", self.n_sets, 2, "One set is free centroids: aggregators=().")
        check_choice("criterion", self.criterion, CRITERIA)
        check_integer("patience", self.patience, 1)
        check_real("effort", self.effort, 0.01)
        check_n_threads(self.n_threads)
        if not self.free_centroids and not (len(self.aggregators) and self.max_clusters >= 4):
            raise ValueError(
                f"free_centroids={self.free_centroids!r} leaves no candidate with "
                f"aggregators={self.aggregators!r} and max_clusters={self.max_clusters}. Allow "
                "free centroids, or at least one aggregator and four clusters."
            )

    def _families(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        if self.free_centroids:
            yield FREE, (1,)
        for aggregator in self.aggregators:
            if self.max_clusters >= 4:
                yield aggregator, (2, 2)


class _Trial:
    """The candidates of one fit."""

    def __init__(self, selector: KhatriRaoSelector, X: Any, weights: Any, rng: Any) -> None:
        self.selector, self.X, self.weights, self.rng = selector, X, weights, rng
        self.candidates: list[_Candidate] = []
        self.total = weights.sum()
        self.variance = KMeans(1, n_threads=1).fit(X, sample_weight=weights).inertia_

    def best(self) -> _Candidate:
        """The simplest of those that are as good as the best."""
        least = min(one.criterion for one in self.candidates)
        equal = [one for one in self.candidates if one.criterion <= least + _NO_EVIDENCE]
        return min(equal, key=lambda one: (one.aggregator != FREE, prod(one.sizes), one.criterion))

    def grow(self, aggregator: str, sizes: tuple[int, ...]) -> None:
        """Try larger and larger grids until they stop being better."""
        if prod(sizes) > self.X.shape[0]:
            return
        current = self.fit(aggregator, {sizes: []})[0]
        least, waited = current.criterion, 0
        while waited < self.selector.patience:
            larger = self.larger(current)
            if not larger:
                return
            current = min(self.fit(aggregator, larger), key=lambda one: one.criterion)
            waited = 0 if current.criterion < least else waited + 1
            least = min(least, current.criterion)

    def larger(self, current: _Candidate) -> dict[tuple[int, ...], list[Any]]:
        """Sizes to try next, each with starts made of the present protocentroids."""
        most = min(self.selector.max_clusters, self.X.shape[0])
        sets = _sets(current.model)
        found: dict[tuple[int, ...], list[Any]] = {}
        moves = [self.split(current.model, q) for q in range(len(sets))]
        if current.aggregator != FREE and len(sets) < self.selector.n_sets:
            moves.append([*sets, self.new_set(current)])
        for grown in moves:
            # Sets have no order: ascending sizes meet the same grid only once.
            grown = sorted(grown, key=len)
            sizes = tuple(len(theta) for theta in grown)
            if prod(sizes) <= most:
                found.setdefault(sizes, []).append(grown)
        return found

    def fit(self, aggregator: str, starts: dict[tuple[int, ...], list[Any]]) -> list[_Candidate]:
        """The best fit of each grid: afresh and from each start."""
        fitted = []
        for sizes, given in starts.items():
            began = time.perf_counter()
            models = [self.model(aggregator, sizes, init) for init in [None, *given]]
            for model in models:
                model.fit(self.X, sample_weight=self.weights)
            model = min(models, key=lambda one: one.inertia_)
            candidate = self.judge(aggregator, sizes, model, time.perf_counter() - began)
            if self.selector.verbose:
                logger.info(
                    "%s %s: %s %.6g",
                    aggregator,
                    sizes,
                    self.selector.criterion,
                    candidate.criterion,
                )
            fitted.append(candidate)
        self.candidates += fitted
        return fitted

    def model(self, aggregator: str, sizes: tuple[int, ...], init: Any) -> Any:
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

    def judge(self, aggregator: str, sizes: tuple[int, ...], model: Any, seconds: float) -> Any:
        """Log-likelihood and criteria; see the Notes of the selector."""
        n, n_features = self.total, self.X.shape[1]
        masses = np.bincount(model.labels_, self.weights)
        masses = masses[masses > 0]
        inertia = max(model.inertia_, _TIGHTEST * self.variance, np.finfo(float).tiny)
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
        return _Candidate(sizes, aggregator, model, record, float(criterion))

    # --- larger grids ------------------------------------------------------------------------

    def split(self, model: Any, q: int) -> list[NDArray[Any]]:
        """The sets, with the most scattered protocentroid of one of them replaced by two."""
        sets = _sets(model)
        scatter, masses = self.scatter(model, q)
        widest = int(scatter.argmax())
        step = self.rng.standard_normal(self.X.shape[1]) * self.reach(
            sets, q, scatter[widest] / max(masses[widest], 1e-300), model
        )
        theta = sets[q]
        halves = np.stack([theta[widest] + step, theta[widest] - step]).astype(theta.dtype)
        sets[q] = np.concatenate([np.delete(theta, widest, axis=0), halves])
        return sets

    def scatter(self, model: Any, q: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
            np.bincount(digits, np.maximum(cells, 0.0), minlength=sizes[q]),
            np.bincount(digits, masses, minlength=sizes[q]),
        )

    def reach(self, sets: list[Any], q: int, variance: float, model: Any) -> Any:
        """How far to move a protocentroid so that centroids move as far as their rows scatter."""
        radius = np.sqrt(variance / self.X.shape[1])
        if getattr(model, "aggregator", "sum") == "sum":
            return radius
        others = np.ones(self.X.shape[1])
        for theta in sets[:q] + sets[q + 1 :]:
            others *= np.sqrt(np.mean(np.square(theta, dtype=np.float64), axis=0))
        return radius / np.maximum(others, 1e-6 * max(others.max(), 1e-300))

    def new_set(self, current: _Candidate) -> NDArray[Any]:
        """Two protocentroids that hardly change the centroids, in opposite directions."""
        sets = _sets(current.model)
        step = self.rng.standard_normal(self.X.shape[1])
        radius = np.sqrt(current.model.inertia_ / self.total / self.X.shape[1])
        if current.aggregator == "sum":
            pair = np.stack([radius * step, -radius * step])
        else:
            pair = np.exp(0.1 * np.stack([step, -step]))
        return pair.astype(sets[0].dtype)


def _sets(model: Any) -> list[NDArray[Any]]:
    if isinstance(model, KMeans):
        return [model.cluster_centers_]
    return list(model.protocentroids_)


def _row_squares(X: Any) -> NDArray[np.float64]:
    if sp.issparse(X):
        return np.ravel(X.multiply(X).sum(axis=1)).astype(np.float64)
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)
