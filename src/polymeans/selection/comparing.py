"""Comparison of all structures on the same rows, within a given time."""

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from polymeans._progress import Progress, Steps, check_feedback
from polymeans._validation import (
    check_integer,
    check_positive,
    check_seed,
)
from polymeans.metrics.centroid_quality import centroid_quality
from polymeans.nonredundant import NonRedundantKMeans
from polymeans.selection.comparison import RECORD, Comparison, pareto
from polymeans.selection.recommendation import recommend
from polymeans.selection.sampling import check_input, draw_rows, n_rows_of
from polymeans.selection.stable import agreement, labels_of
from polymeans.selection.structures import (
    Structure,
    bytes_of,
    n_clusters_of,
    numbers_of,
    structures,
)

#: Rows on which a structure is tried, to foresee how long it takes. At least three times as many as
#: clusters are used.
_TRIED_ROWS = 300

#: Rows at most. Differences between structures do not need more, and searches do not use them.
_SAMPLE = 50_000

#: Share of the time that one fit of free centroids may take; otherwise fewer rows are drawn.
_FREE_SHARE = 0.05

#: Multiple of the foreseen time that a fit may take: times of searches vary.
_CAUTION = 1.5

#: Predictions that are timed, of which the shortest counts: the first of a process loads kernels.
_PREDICTIONS = 2


def compare(
    X: Any,
    n_clusters: int = 16,
    *,
    budget: float | None = None,
    n_runs: int = 3,
    random_state: Any = None,
    n_threads: int | None = None,
    verbose: int = 0,
    progress: Progress = False,
) -> Comparison:
    """Fit every structure to the same rows, and recommend one.

    **Idea.** Free centroids, sums and products of protocentroids, sparse factors, sparse centroids,
    several views and a learned metric are fitted with the same number of clusters, and, where
    that means something else, with the same number of parameters. All are judged alike: squared
    distances of the rows to the centroids of their clusters, numbers and bytes stored, seconds,
    agreement of several seeds, and agreement with each other. A structure is recommended that is
    smaller or has less inertia; not one that takes more memory or is less stable, unless it has
    much less inertia. If fits of no structure agree from seed to seed, the reason says so.

    **Use when** you wonder whether a structure would help with your rows. **Do not use** to choose
    the number of clusters: see :func:`choose_n_clusters`.

    **Cost.** ``n_runs`` fits of each of about ten structures to at most 50 000 rows; searches have
    a quarter of their usual effort. With ``budget``, structures that are foreseen to take too long
    are left out, and the result says which.

    Parameters
    ----------
    X : {array-like, CSR matrix or array} of shape (n_samples, n_features) or Blocks
        Rows. Of more than 50 000, as many are drawn at random.
    n_clusters : int, default=16
        Clusters of free centroids.
    budget : float or None, default=None
        Seconds that the comparison may take. Each structure is first tried on 300 rows, which
        tells whether there is time for a fit, and for how many; searches have a tenth of their
        usual effort. If a fit to all rows takes more than a twentieth of the time, some of them are
        drawn, and the result says how many. Kernels that are used for the first time after the
        installation have to be compiled, which is not foreseen.
    n_runs : int, default=3
        Fits of each structure with different seeds, of which the best counts.
    random_state : int, RandomState instance or None, default=None
        Determines all random draws. An integer makes results repeatable, without a budget.
    n_threads : int or None, default=None
        Threads to use. None: all cores, or one inside a joblib worker. -1: all cores.
    verbose : int, default=0
        1 logs each structure, to the logger "polymeans" at level INFO.
    progress : bool or callable, default=False
        True draws a bar (``pip install "polymeans[progress]"``). A function is called with the
        steps that are done, the number of all steps and a text.

    Returns
    -------
    comparison : Comparison
        ``best_`` and ``reason_``, ``table_``, ``agreement_`` between structures, ``skipped_``,
        ``best_estimator_`` and ``plot()``.

    See Also
    --------
    diagnose_structure : Whether centroids form a grid.
    polymeans.inspection.ComparisonDisplay : Inertia against numbers stored.

    Examples
    --------
    >>> from polymeans import compare
    >>> from polymeans.datasets import make_stick_figures
    >>> images, poses = make_stick_figures(300, random_state=0)
    >>> result = compare(images, 9, n_runs=1, random_state=0)
    >>> result.best_
    'NonRedundantKMeans/k'
    """
    began = time.perf_counter()
    check_integer("n_clusters", n_clusters, 2)
    check_integer("n_runs", n_runs, 1)
    if budget is not None:
        budget = check_positive("budget", budget, "It is a number of seconds.")
    check_feedback(n_threads, verbose, progress)
    rng = np.random.default_rng(check_seed(random_state).randint(2**31))
    rows, names = check_input(X)
    if n_rows_of(rows) < n_clusters:
        raise ValueError(
            f"n_samples={n_rows_of(rows)} should be >= n_clusters={n_clusters}. Ask for fewer "
            "clusters or give more rows."
        )
    n_given = n_rows_of(rows)
    rows = draw_rows(rows, _SAMPLE, rng)
    asked = structures(int(n_clusters), rows, hurried=budget is not None)
    contest = _Contest(rows, asked, int(n_runs), rng, n_threads, began, budget)
    with Steps("compare", len(asked), int(verbose), progress) as steps:
        contest.run(steps)
    table = contest.table()
    at, reason = recommend(table)
    best = None if at is None else contest.models[at]
    for model in contest.models:
        names.hand_on(model)
    labels = [labels_of(model, contest.rows)[:, :1] for model in contest.models]
    return Comparison(
        None if at is None else f"{table['structure'][at]}/{table['equal'][at]}",
        reason,
        table,
        np.array([[agreement(a, b) for b in labels] for a in labels]).reshape(-1, len(labels)),
        contest.skipped,
        contest.models,
        best,
        contest.rows.shape[0],
        time.perf_counter() - began,
        n_given,
    )


class _Contest:
    """Fits structures one after the other, and looks at the clock."""

    def __init__(
        self,
        rows: Any,
        asked: list[Structure],
        n_runs: int,
        rng: np.random.Generator,
        n_threads: int | None,
        began: float,
        budget: float | None,
    ) -> None:
        self.rows, self.asked, self.n_runs, self.rng = rows, asked, n_runs, rng
        self.n_threads, self.began, self.budget = n_threads, began, budget
        self.models: list[Any] = []
        self.records: list[tuple[Any, ...]] = []
        self.skipped: dict[str, str] = {}

    @property
    def left(self) -> float:
        """Seconds that are left."""
        if self.budget is None:
            return np.inf
        return self.budget - (time.perf_counter() - self.began)

    def run(self, steps: Steps) -> None:
        """Fit all structures that can be and that there is time for, free centroids first."""
        for number, one in enumerate(self.asked):
            name = f"{one.name}/{one.equal}"
            expected = self._foreseen(one) if number == 0 or self.left > 0 else np.inf
            if number == 0 and expected * _CAUTION > _FREE_SHARE * self.left:
                self._draw_fewer(_FREE_SHARE * self.left / (expected * _CAUTION))
            elif number and expected * _CAUTION > self.left:
                self.skipped[name] = (
                    f"{max(self.left, 0.0):.1f} s left, too short for a fit"
                    if np.isfinite(expected)
                    else "no time left"
                )
            if name not in self.skipped:
                self._measure(one, expected, self.left / (len(self.asked) - number))
            done = name not in self.skipped
            outcome = f"inertia {self.records[-1][3]:.6g}" if done else self.skipped[name]
            steps.advance(f"{name}: {outcome}")

    def _foreseen(self, one: Structure) -> float:
        """Seconds that a fit will take, about; 0 if there is no limit."""
        if self.budget is None:
            return 0.0
        n_tried = max(_TRIED_ROWS, 3 * n_clusters_of(one.estimator))
        few = draw_rows(self.rows, n_tried, np.random.default_rng(0))
        began = time.perf_counter()
        self._fitted(one, few, 0)
        # Searches work on a sample of their own, so for many rows this is rather too much.
        return (time.perf_counter() - began) * self.rows.shape[0] / few.shape[0]

    def _draw_fewer(self, share: float) -> None:
        """Go on with some of the rows."""
        least = max(_TRIED_ROWS, 3 * max(n_clusters_of(one.estimator) for one in self.asked))
        n_drawn = max(least, round(share * self.rows.shape[0]))
        self.rows = draw_rows(self.rows, n_drawn, self.rng)

    def _measure(self, one: Structure, expected: float, share: float) -> None:
        """Fit with several seeds as long as there is time in its share; keep the best."""
        fits: list[tuple[float, float, Any]] = []
        for _ in range(self.n_runs):
            if fits and _CAUTION * expected * (1 + len(fits)) > share:
                break
            began = time.perf_counter()
            model = self._fitted(one, self.rows, int(self.rng.integers(2**31)))
            if model is None:
                return
            fits.append((_inertia(model, self.rows), time.perf_counter() - began, model))
            expected = fits[-1][1]
        inertia, _, best = min(fits, key=lambda fit: fit[0])
        predicting = min(self._seconds_to_predict(best) for _ in range(_PREDICTIONS))
        tables = [labels_of(model, self.rows) for _, _, model in fits]
        pairs = [agreement(a, b) for i, a in enumerate(tables) for b in tables[:i]]
        self.models.append(best)
        free = labels_of(self.models[0], self.rows)
        self.records.append(
            (
                one.name,
                one.equal,
                n_clusters_of(best),
                inertia,
                numbers_of(best),
                bytes_of(best),
                float(np.median([fit[1] for fit in fits])),
                predicting,
                float(np.mean(pairs)) if pairs else np.nan,
                agreement(free[:, :1], labels_of(best, self.rows)[:, :1]),
                False,
            )
        )

    def _seconds_to_predict(self, model: Any) -> float:
        began = time.perf_counter()
        model.predict(self.rows)
        return time.perf_counter() - began

    def _fitted(self, one: Structure, rows: Any, seed: int) -> Any:
        """A fitted estimator; None if these rows cannot be fitted, and the reason is kept."""
        model = clone(one.estimator).set_params(random_state=seed, n_threads=self.n_threads)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return model.fit(rows)
        except (ValueError, TypeError, MemoryError) as error:
            self.skipped[f"{one.name}/{one.equal}"] = str(error).splitlines()[0]
            return None

    def table(self) -> Any:
        """One record for each structure that was fitted."""
        table = np.array(self.records, dtype=RECORD)
        table["pareto"] = pareto(table["n_parameters"], table["inertia"])
        return table


def _inertia(model: Any, rows: Any) -> float:
    """Squared distances of rows to the centroids of their clusters, whatever the model minimizes.

    Those of several views are the sums of their centers, for which the model has the inertia.
    """
    if isinstance(model, NonRedundantKMeans):
        return float(model.inertia_)
    quality = centroid_quality(rows, model.cluster_centers_, model.labels_)
    return float(quality.inertia.sum())
