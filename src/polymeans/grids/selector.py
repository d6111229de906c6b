"""Selection of a grid: number of sets, their sizes and the aggregator."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from polymeans._fit_state import all_or_nothing
from polymeans._progress import Progress, Steps, check_progress
from polymeans._validation import (
    MOST_EFFORT,
    check_boolean,
    check_choice,
    check_integer,
    check_n_threads,
    check_real,
    check_rows,
    check_seed,
    check_verbose,
    check_weights,
    shown,
)
from polymeans.codebooks.aggregation import AGGREGATORS
from polymeans.grids.growth import FREE, RECORD, Growth

CRITERIA = ("bic", "aic")


class KhatriRaoSelector(ClusterMixin, BaseEstimator):
    """Selects the sizes and the aggregator of a grid, or free centroids.

    **Idea.** As X-means does for clusters: start small, grow while an information criterion
    improves. A grid begins with two protocentroids in each set. Every step tries one more in each
    set, and a further set of two where ``n_sets`` allows; each is fitted from the present grid
    with its most scattered protocentroid split, and from a search. The best of them is the next
    grid. Sums, products and free centroids are compared, so "no structure" is a possible answer.

    **Use when** you do not know the sizes of the sets. **Do not use when** clusters are not round:
    like X-means, the criterion then keeps splitting them until ``max_clusters``; and not to find a
    codebook for compression, which is a matter of budget:
    :func:`polymeans.grids.largest_grid`. For the number of free centroids alone, use
    :func:`polymeans.choose_n_clusters`.

    **Cost.** For each grid tried, one search and one descent of
    :class:`polymeans.KhatriRaoKMeans`; about ``Σh`` steps with as many grids as sets for each
    aggregator, and as many fits of :class:`polymeans.KMeans` as there are clusters.

    Parameters
    ----------
    max_clusters : int, default=64
        Most centroids (combinations) of a candidate.
    aggregators : sequence of {"sum", "product"}, default=("sum", "product")
        Which grids are compared.
    n_sets : int, default=2
        Most sets of a grid. Grids begin with two.
    free_centroids : bool, default=True
        Whether plain k-means is compared with them, too.
    criterion : {"bic", "aic"}, default="bic"
        What to minimize; see Notes.
    patience : int, default=2
        Steps without improvement after which grids of one aggregator stop growing.
    effort : float, default=0.25
        Multiple of the usual work that goes into finding a start: 0.25 is quick, 4 is thorough.
    random_state : int, RandomState instance or None, default=None
        Determines all random draws. An integer makes results repeatable.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. Resolved anew in each call. None: all
        cores, or one inside a joblib worker. -1: all cores.
    verbose : int, default=0
        1 logs each candidate to the logger "polymeans" at level INFO; the lines appear on the
        standard error stream if the program has not set up logging.

    Attributes
    ----------
    best_estimator_ : KhatriRaoKMeans or KMeans
        The best candidate, fitted.
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
    polymeans.diagnose_structure : Whether centroids form a grid of given sizes.

    Notes
    -----
    Rows are taken to be drawn from round normal clusters of common variance with hard labels
    (X-means). With n rows of m features, ``n_c`` of them in cluster c, the log-likelihood is
    ``L = Σ_c n_c log(n_c / n) - n m / 2 · (1 + log(2π · inertia / (n m)))``. Free parameters are
    ``q = (Σh - p + 1) m`` for protocentroids (what can be shifted, or scaled, from set to set does
    not count), one less than the clusters that have rows for their frequencies, and one for the
    variance. ``BIC = -2 L + q log n`` and ``AIC = -2 L + 2 q``; less is better, but differences
    below two are no evidence [1]_: among equals free centroids are chosen, then the fewest
    clusters. Such ties are common, since a grid can hold ``Σh - p + 1`` unrelated centroids and
    leave the other cells empty.

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
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        progress: Progress = False,
    ) -> "KhatriRaoSelector":
        """Fit growing candidates and keep the best.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows. float32 stays float32; anything else becomes float64.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts. None: all alike.
        progress : bool or callable, default=False
            True draws a bar (``pip install "polymeans[progress]"``). A function is called with
            the kinds of centroids that are done (free, sums, products), the number of kinds and a
            text about the last candidate.

        Returns
        -------
        self : KhatriRaoSelector
            Fitted selector. If the fit fails or is interrupted, it is as it was.
        """
        self._check_parameters()
        check_progress(progress)
        with all_or_nothing(self):
            self._fit(X, sample_weight, progress)
        return self

    def _fit(self, X: Any, sample_weight: ArrayLike | None, progress: Progress) -> None:
        X = check_rows(self, X, reset=True)
        weights = check_weights(sample_weight, X)
        # A total weight below the number of rows would count too few rows in the criterion.
        weights = weights * max(1.0, np.count_nonzero(weights) / weights.sum())
        rng = check_seed(self.random_state)
        families = list(self._families())
        with (
            Steps("selection", len(families), int(self.verbose), progress) as steps,
            warnings.catch_warnings(),
        ):
            # Candidates that are too large have clusters without rows; they are not chosen.
            warnings.simplefilter("ignore", ConvergenceWarning)
            growth = Growth(self, X, weights, rng, steps.tell)
            for aggregator, sizes in families:
                growth.grow(aggregator, sizes)
                steps.advance(
                    "free centroids are done" if aggregator == FREE else f"{aggregator}s are done"
                )
        if not growth.candidates:
            raise ValueError(
                f"n_samples={X.shape[0]} is too few for a grid, and free_centroids="
                f"{self.free_centroids!r} leaves no other candidate. Give at least four rows."
            )
        best = growth.best()
        self.best_estimator_ = best.model
        self.best_aggregator_ = best.aggregator
        self.best_sizes_ = best.sizes
        self.labels_ = best.model.labels_
        self.table_ = np.array([candidate.record for candidate in growth.candidates], dtype=RECORD)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Label rows by the nearest centroid of the best estimator.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the nearest centroid.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(check_rows(self, X, reset=False))

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # A table with tuples in it is no plain array.
        state = dict(super().__getstate__())
        return {**state, "table_": state["table_"].tolist()} if "table_" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "table_" in state:
            self.table_ = np.array(state["table_"], dtype=RECORD)

    def _check_parameters(self) -> None:
        check_integer("max_clusters", self.max_clusters, 1)
        if isinstance(self.aggregators, str | bytes) or not np.iterable(self.aggregators):
            raise TypeError(
                f"aggregators must be a sequence of names, got {shown(self.aggregators)}. "
                'Use ("sum",) for one of them.'
            )
        for aggregator in self.aggregators:
            check_choice("Each of aggregators", aggregator, AGGREGATORS)
        check_integer("n_sets", self.n_sets, 2, "One set is free centroids: choose_n_clusters.")
        check_boolean("free_centroids", self.free_centroids)
        check_choice("criterion", self.criterion, CRITERIA)
        check_integer("patience", self.patience, 1)
        check_real("effort", self.effort, 0.01, largest=MOST_EFFORT)
        check_seed(self.random_state)
        check_n_threads(self.n_threads)
        check_verbose(self.verbose)
        if not self.free_centroids and not (len(self.aggregators) and self.max_clusters >= 4):
            raise ValueError(
                f"free_centroids={self.free_centroids!r} leaves no candidate with "
                f"aggregators={self.aggregators!r} and max_clusters={self.max_clusters}. Allow "
                "free centroids, or at least one aggregator and four clusters."
            )

    def _families(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Aggregators to compare, and the sizes from which their grids grow."""
        if self.free_centroids:
            yield FREE, (1,)
        for aggregator in self.aggregators:
            if self.max_clusters >= 4:
                yield aggregator, (2, 2)
