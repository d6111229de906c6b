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
from polymeans.selection.comparison import RECORD, Comparison, pareto, recommend
from polymeans.selection.sampling import check_input, draw_rows, n_rows_of
from polymeans.selection.stable import agreement, labels_of
from polymeans.selection.structures import Structure, bytes_of, n_clusters_of, structures

#: Rows on which each structure is tried first, to foresee how long it takes. At least three times
#: as many as clusters are used.
_TRIED_ROWS = 300

#: Rows at most. Differences between structures do not need more, and searches do not use them.
_SAMPLE = 50_000

#: Multiple of the foreseen time that a fit may take: times of searches vary.
_CAUTION = 1.5


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
    agreement of several seeds, and agreement with each other.

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
        Seconds that the comparison may take. Each structure is first fitted to 300 rows; what that
        took tells how many rows, runs and structures there is time for. The compilation of
        kernels, on their first use after the installation, is not foreseen.
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
    'KhatriRaoKMeans, sum/k'
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
    rows = draw_rows(rows, _SAMPLE, rng)
    asked = structures(int(n_clusters), rows)
    contest = _Contest(rows, asked, int(n_runs), rng, n_threads, began, budget)
    n_steps = len(asked) * (2 if budget is not None else 1)
    with Steps("compare", n_steps, int(verbose), progress) as steps:
        if budget is not None:
            contest.rehearse(steps)
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
        self.foreseen: dict[tuple[str, str], float] = {}
        self.models: list[Any] = []
        self.records: list[tuple[Any, ...]] = []
        self.skipped: dict[str, str] = {}

    @property
    def left(self) -> float:
        """Seconds that are left."""
        if self.budget is None:
            return np.inf
        return self.budget - (time.perf_counter() - self.began)

    def rehearse(self, steps: Steps) -> None:
        """Foresee how long fits take, and draw as many rows as there is time for."""
        n_rows = self.rows.shape[0]
        for one in self.asked:
            n_tried = min(n_rows, max(_TRIED_ROWS, 3 * n_clusters_of(one.estimator)))
            few = draw_rows(self.rows, n_tried, np.random.default_rng(0))
            if self.left < self.foreseen.get((one.name, "k"), 0.0):
                self.skipped[f"{one.name}/{one.equal}"] = "no time left to try it"
                steps.advance(f"{one.name} left out")
                continue
            seconds = self._timed(one, few)
            if seconds is not None:
                # Searches work on a sample of their own, so this is rather too much.
                self.foreseen[one.name, one.equal] = seconds * n_rows / few.shape[0]
            steps.advance(f"{one.name} tried")
        total = sum(self.foreseen.values()) * self.n_runs * _CAUTION
        if total > self.left:
            share = max(0.0, self.left) / total
            n_drawn = max(min(n_rows, _TRIED_ROWS), round(n_rows * max(share, 0.05)))
            self.rows = draw_rows(self.rows, n_drawn, self.rng)
            shrunk = self.rows.shape[0] / n_rows
            self.foreseen = {key: value * shrunk for key, value in self.foreseen.items()}

    def _timed(self, one: Structure, rows: Any) -> float | None:
        """Seconds of a fit to few rows; None if it is not possible."""
        began = time.perf_counter()
        if self._fitted(one, rows, 0) is None:
            return None
        return time.perf_counter() - began

    def run(self, steps: Steps) -> None:
        """Fit all structures that can be, the quickest first; free centroids before all others."""
        order = sorted(
            range(len(self.asked)),
            key=lambda at: self.foreseen.get((self.asked[at].name, self.asked[at].equal), 0.0),
        )
        for at in [0, *(at for at in order if at)]:
            one = self.asked[at]
            name = f"{one.name}/{one.equal}"
            if name in self.skipped:
                continue
            expected = self.foreseen.get((one.name, one.equal), 0.0) * _CAUTION
            if expected > self.left and self.models:
                self.skipped[name] = (
                    f"about {expected:.1f} s for a fit, {max(self.left, 0.0):.1f} s left"
                )
                steps.advance(f"{name} left out")
                continue
            self._measure(one, expected)
            text = "not possible" if name in self.skipped else f"inertia {self.records[-1][3]:.6g}"
            steps.advance(f"{name} {text}")

    def _measure(self, one: Structure, expected: float) -> None:
        """Fit with several seeds as long as there is time; keep the best."""
        fits: list[tuple[float, float, Any]] = []
        for _ in range(self.n_runs):
            if fits and expected > self.left:
                break
            began = time.perf_counter()
            model = self._fitted(one, self.rows, int(self.rng.integers(2**31)))
            if model is None:
                return
            fits.append((_inertia(model, self.rows), time.perf_counter() - began, model))
            expected = max(fits[-1][1], 0.0)
        inertia, _, best = min(fits, key=lambda fit: fit[0])
        began = time.perf_counter()
        best.predict(self.rows)
        predicting = time.perf_counter() - began
        tables = [labels_of(model, self.rows) for _, _, model in fits]
        pairs = [agreement(a, b) for i, a in enumerate(tables) for b in tables[:i]]
        free = labels_of(self.models[0], self.rows) if self.models else tables[0]
        self.models.append(best)
        self.records.append(
            (
                one.name,
                one.equal,
                n_clusters_of(best),
                inertia,
                int(best.n_parameters_),
                bytes_of(best),
                float(np.median([fit[1] for fit in fits])),
                predicting,
                float(np.mean(pairs)) if pairs else np.nan,
                agreement(free[:, :1], labels_of(best, self.rows)[:, :1]),
                False,
            )
        )

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
