"""Choice of a number of clusters by several criteria."""

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans._progress import Progress, Steps, check_feedback
from polymeans._validation import (
    check_choice,
    check_seed,
)
from polymeans.inspection._geometry import Places, places_of
from polymeans.kmeans import KMeans
from polymeans.metrics.centroid_quality import centroid_quality
from polymeans.selection.candidates import Candidates
from polymeans.selection.choice import CRITERIA, RECORD, ChoiceOfK
from polymeans.selection.consensus import Decision, decide
from polymeans.selection.criteria.bic import bic, lowest
from polymeans.selection.criteria.elbow import find_knee
from polymeans.selection.criteria.gap import first_sufficient, gap_statistic
from polymeans.selection.criteria.thresholds import best_beyond, largest_above
from polymeans.selection.halves import Agreement, averaged, compare_halves
from polymeans.selection.pairs import Parts
from polymeans.selection.references import N_REFERENCES, Nothing, cluster_nothing
from polymeans.selection.sampling import check_input, n_rows_of
from polymeans.selection.space import (
    check_clusterer,
    is_cosine,
    is_plain,
    split_pipeline,
)
from polymeans.selection.values import check_values

#: Rows of the sample in which starts are found and halves are compared.
_SAMPLE = 10_000

#: Ways in which the rows are divided into halves.
_DIVISIONS = 3

#: Adjusted Rand index from which two halves count as dividing all rows alike.
_STABLE = 0.9

#: Standard score from which a valley counts by itself: one in a hundred without one.
_CLEAR = 2.33

#: Criteria that are defined for dense rows and plain k-means.
_NEED_REFERENCES = ("bic", "gap")


def choose_n_clusters(
    X: Any,
    n_clusters: Any = range(2, 21),
    *,
    estimator: Any = None,
    criterion: str = "auto",
    random_state: Any = None,
    n_threads: int | None = None,
    verbose: int = 0,
    progress: Progress = False,
) -> ChoiceOfK:
    """Choose a number of clusters; none is a possible answer.

    **Idea.** Fit every number of clusters, each from the one before (a cluster is divided), and
    ask several criteria. The default decision is the largest number of clusters that other rows
    confirm: two disjoint halves of the rows are clustered independently; each half finds the
    clusters of the other, there is a valley of density between clusters, and no two clusters are
    one heap of rows. Valleys are tested with rows that the centroids were not fitted to; data
    without clusters (uniform, Gaussian, t, with any covariance) pass that test about once in a
    hundred times for each number of clusters. Where clusters overlap so much that there is no
    valley, four of six criteria of another kind have to name the same number; that way is no test.
    All criteria are in the result with their own answers.

    **Use when** you do not know the number of clusters, or whether there are any. **Do not use**
    for the size of a codebook, which is a matter of budget, nor with clusters that the estimator
    cannot have: k-means makes round ones.

    **Cost.** For each number of clusters, one fit to all rows from a good start; that start and
    those of three divisions into halves are found in at most 10 000 rows. Estimators that search
    for their starts (:class:`KhatriRaoKMeans`, :class:`NonRedundantKMeans`,
    :class:`TransformedKMeans`) are fitted seven times for each number.

    Parameters
    ----------
    X : {array-like, CSR matrix or array} of shape (n_samples, n_features) or Blocks
        Rows. float32 stays float32; anything else becomes float64. With ``kernel="precomputed"``
        the values of all pairs of rows, of which halves are taken in both directions.
    n_clusters : int or iterable of int, default=range(2, 21)
        Numbers of clusters to compare. An integer: from 2 to this. For
        :class:`KhatriRaoKMeans` the nearest sizes of a grid.
    estimator : estimator, default=None
        What is fitted, with its other parameters: any estimator of this package but networks
        (:mod:`polymeans.deep`), :class:`sklearn.cluster.KMeans`, or a pipeline that ends with one
        of them, whose other steps are fitted once. :class:`NonRedundantKMeans` gets as many
        clusters in each view. None: :class:`KMeans`.
    criterion : {"auto", "elbow", "silhouette", "calinski_harabasz", "davies_bouldin", "bic", \
            "gap", "prediction_strength", "stability", "valley"}, default="auto"
        Which answer becomes ``best_``. "auto": the decision described above.
    random_state : int, RandomState instance or None, default=None
        Determines all random draws. An integer makes results repeatable.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. None: all cores, or one inside a joblib
        worker. -1: all cores.
    verbose : int, default=0
        1 logs each step, to the logger "polymeans" at level INFO.
    progress : bool or callable, default=False
        True draws a bar (``pip install "polymeans[progress]"``). A function is called with the
        steps that are done, the number of all steps and a text.

    Returns
    -------
    choice : ChoiceOfK
        ``best_``, ``reason_``, the answers of all criteria (``choices_``), what they agree on
        (``agreement_``), the values (``table_``), ``best_estimator_`` and ``plot()``.

    See Also
    --------
    KhatriRaoSelector : Chooses the sizes of a grid of protocentroids.
    NonRedundantKMeans : With "auto" it chooses the numbers of clusters of several views.

    Notes
    -----
    Criteria and when they answer None:

    - "elbow": where the power with which the inertia falls drops most; None unless it halves.
    - "silhouette", "calinski_harabasz", "davies_bouldin": the best value (of
      :func:`polymeans.metrics.centroid_quality`); None if rows drawn evenly from a box reach it.
    - "bic": the least value for round normal clusters of common variance (X-means); None for one
      cluster or if it still falls at the end.
    - "gap": the rule of [1]_ with ten references; None for one cluster or if it still rises.
    - "prediction_strength": the largest number with at least 0.8 [2]_. Elongated rows without
      clusters may reach it.
    - "stability": the largest number for which halves agree with an adjusted Rand index of 0.9.
    - "valley": the largest number with a significant valley between all neighboring clusters.

    References and the BIC are for dense rows and plain :class:`KMeans`.

    References
    ----------
    .. [1] R. Tibshirani, G. Walther, T. Hastie, "Estimating the number of clusters in a data set
       via the gap statistic", J. R. Stat. Soc. B 63 (2001).
    .. [2] R. Tibshirani, G. Walther, "Cluster validation by prediction strength", J. Comput.
       Graph. Stat. 14 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from polymeans import choose_n_clusters
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> choice = choose_n_clusters(X, 8, random_state=0)
    >>> choice.best_, choice.choices_["elbow"], choice.choices_["gap"]
    (3, 3, 3)
    >>> nothing = np.random.default_rng(0).normal(size=(300, 2))
    >>> print(choose_n_clusters(nothing, 8, random_state=0).best_)
    None
    """
    began = time.perf_counter()
    rng = np.random.default_rng(check_seed(random_state).randint(2**31))
    check_feedback(n_threads, verbose, progress)
    check_choice("criterion", criterion, ("auto", *CRITERIA))
    X, estimator = split_pipeline(X, KMeans() if estimator is None else estimator)
    check_clusterer(estimator)
    rows, names = check_input(X)
    Parts(estimator).check(rows)
    values = check_values(n_clusters, estimator, n_rows_of(rows))
    search = _Search(rows, values, estimator, rng, n_threads)
    search.check_defined(criterion)
    n_several = sum(k > 1 for k in values)
    n_steps = len(values) + _DIVISIONS * n_several + search.uses_references * (N_REFERENCES + 1)
    with Steps("choose_n_clusters", n_steps, int(verbose), progress) as steps:
        search.run(steps)
    choices = search.choices()
    decision = search.decision(choices)
    if criterion != "auto":
        decision = Decision(choices[criterion], f"the answer of {CRITERIA[criterion]}")
    best = None
    if decision.best is not None:
        best = search.models[decision.best]
        names.hand_on(best)
    seconds = time.perf_counter() - began
    return ChoiceOfK(
        decision.best, decision.reason, criterion, choices, search.table(), best, seconds
    )


class _Search:
    """Fits for all numbers of clusters, and what criteria make of them."""

    def __init__(
        self,
        rows: Any,
        values: list[int],
        estimator: Any,
        rng: np.random.Generator,
        n_threads: int | None,
    ) -> None:
        self.rows, self.values, self.rng, self.n_threads = rows, values, rng, n_threads
        self.estimator = estimator
        self.parts = Parts(estimator)
        self.sample = self.parts.sample(rows, _SAMPLE, rng)
        self.candidates = Candidates(estimator, n_threads)
        self.uses_references = is_plain(estimator) and not sp.issparse(self.sample)
        self.models: dict[int, Any] = {}
        self.records: dict[int, dict[str, float]] = {}
        self.halves: list[Agreement] = []
        self.nothing: Nothing | None = None

    def check_defined(self, criterion: str) -> None:
        """Raise if a criterion will have no answer, before anything is fitted."""
        if criterion in _NEED_REFERENCES and not self.uses_references:
            defined = [name for name in ("auto", *CRITERIA) if name not in _NEED_REFERENCES]
            raise ValueError(
                f"criterion={criterion!r} is not defined for these rows and this estimator. Use "
                f"one of {', '.join(map(repr, defined))}."
            )

    def run(self, steps: Steps) -> None:
        """Fit everything."""
        seed = int(self.rng.integers(2**31))
        fits = self.candidates.on(self.rows, self.sample, self.values, seed)
        last = time.perf_counter()
        for k, model in zip(self.values, fits):
            now = time.perf_counter()
            self.models[k] = model
            self.records[k] = self._measured(model, now - last)
            last = time.perf_counter()
            steps.advance(f"{k} clusters, inertia {model.inertia_:.6g}")
        several = [k for k in self.models if k > 1]
        divisions = []
        for _ in range(_DIVISIONS):
            division = []
            found = compare_halves(self.sample, several, self.candidates, self.rng, self.parts)
            for k, agreement in zip(several, found):
                division.append(agreement)
                steps.advance(
                    f"{k} clusters of halves, prediction strength "
                    f"{agreement.prediction_strength:.2f}"
                )
            divisions.append(division)
        self.halves = [averaged(same) for same in zip(*divisions)]
        if self.uses_references:
            tried = sorted({1, *self.models})
            for outcome in cluster_nothing(self.sample, tried, self.rng, self.n_threads):
                self.nothing = outcome
                steps.advance("reference rows without clusters")

    def _measured(self, model: Any, seconds: float) -> dict[str, float]:
        """Values of criteria that need one fit only."""
        record = {"inertia": float(model.inertia_), "seconds": seconds}
        labels = np.asarray(model.labels_)
        if hasattr(self.rows, "shape"):
            places = places_of(model, self.rows)
        else:  # blocks are measured in the space of the features
            metric = "cosine" if is_cosine(model) else "euclidean"
            places = Places(self.rows, np.asarray(model.cluster_centers_), metric)
        centers = places.centers
        if len(centers) > 1:
            quality = centroid_quality(places.rows, centers, labels, metric=places.metric)
            for name in ("silhouette", "calinski_harabasz", "davies_bouldin"):
                value = getattr(quality, name)
                record[name] = np.nan if value is None else float(value)
        if self.uses_references:
            sizes = np.bincount(labels, minlength=len(centers))
            single = float(self.models[1].inertia_) if 1 in self.models else 0.0
            record["bic"] = bic(record["inertia"], sizes, centers.shape[1], single)
        return record

    def table(self) -> NDArray[Any]:
        """One record for each number of clusters."""
        table = np.zeros(len(self.records), dtype=RECORD)
        for name, kind in RECORD:
            table[name] = 0 if kind is np.int64 else np.nan
        for line, (k, record) in zip(table, self.records.items()):
            line["n_clusters"] = k
            for name, value in record.items():
                line[name] = value
        several = np.flatnonzero(table["n_clusters"] > 1)
        for at, found in zip(several, self.halves):
            table["prediction_strength"][at] = found.prediction_strength
            table["stability"][at] = found.stability
            table["valley"][at] = found.shallowest
        if self.nothing is not None:
            gap = gap_statistic(self.nothing.inertia, self.nothing.references)
            n_known = min(len(table), len(gap.gap))
            table["gap"][:n_known] = gap.gap[:n_known]
            table["gap_error"][:n_known] = gap.error[:n_known]
        return table

    def decision(self, choices: dict[str, int | None]) -> Decision:
        """The default choice, given the answers of all criteria."""
        values = np.array([k for k in self.models if k > 1], dtype=np.int64)
        return decide(values, self.halves, choices)

    def choices(self) -> dict[str, int | None]:
        """The answer of each criterion."""
        table = self.table()
        values = table["n_clusters"]
        nothing = self.nothing
        answers: dict[str, int | None] = {"elbow": find_knee(values, table["inertia"])}
        levels = (-np.inf, -np.inf, np.inf)
        if nothing is not None:
            scaled = nothing.calinski_harabasz * n_rows_of(self.rows)
            levels = (nothing.silhouette, scaled, nothing.davies_bouldin)
        answers["silhouette"] = best_beyond(values, table["silhouette"], levels[0])
        answers["calinski_harabasz"] = best_beyond(values, table["calinski_harabasz"], levels[1])
        answers["davies_bouldin"] = best_beyond(values, -table["davies_bouldin"], -levels[2])
        if nothing is not None:
            answers["bic"] = lowest(values, table["bic"])
            known = np.isfinite(table["gap"])
            gap = gap_statistic(nothing.inertia, nothing.references)
            answers["gap"] = first_sufficient(values[known], gap)
        answers["prediction_strength"] = largest_above(values, table["prediction_strength"], 0.8)
        answers["stability"] = largest_above(values, table["stability"], _STABLE)
        answers["valley"] = largest_above(values, table["valley"], _CLEAR)
        return answers
