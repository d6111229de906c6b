"""How much clusters depend on the rows and on the seed that they were found with."""

import warnings
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from polymeans._progress import Progress, Steps, check_feedback
from polymeans._validation import (
    check_choice,
    check_integer,
    check_real,
    check_seed,
    shown,
)
from polymeans.inspection._models import in_latent_space
from polymeans.metrics.labelings import labelings_confusion
from polymeans.selection.pairs import Parts
from polymeans.selection.sampling import check_input, draw_numbers, draw_rows, n_rows_of
from polymeans.selection.space import split_pipeline
from polymeans.selection.tables import html_table, text_table

#: Rows of blocks that are drawn into memory.
_SAMPLE = 20_000

#: Mean Jaccard index below which Hennig (2007) calls a cluster dissolved, and from which stable.
DISSOLVED, STABLE = 0.5, 0.75


@dataclass(frozen=True, eq=False)
class Stability:
    """Agreement of repeated fits; :func:`stability` returns it.

    Parameters
    ----------
    mean_ : float
        Mean adjusted Rand index of all pairs of fits: 1 if all are the same, 0 if they agree as
        much as random labels.
    scores_ : ndarray of shape (n_runs, n_runs)
        That of each pair.
    per_cluster_ : ndarray of shape (n_clusters,)
        Mean Jaccard index of each cluster of the first fit with the most similar cluster of each
        other fit. NonRedundantKMeans: clusters of the main view.
    sizes_ : ndarray of shape (n_clusters,)
        Rows of each cluster of the first fit.
    vary_ : {"rows", "seeds"}
        What differed from fit to fit.
    estimator_ : estimator
        The first fit: to all rows.

    See Also
    --------
    stability : Makes it.
    polymeans.report : Shows it, with ``stability=``.

    Examples
    --------
    >>> from polymeans import KMeans, stability
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> found = stability(KMeans(3), X, 5, random_state=0)
    >>> found.per_cluster_, found.scores_.shape
    (array([1., 1., 1.]), (5, 5))
    """

    mean_: float
    scores_: NDArray[np.float64]
    per_cluster_: NDArray[np.float64]
    sizes_: NDArray[np.int64]
    vary_: str
    estimator_: Any

    def __str__(self) -> str:
        """A sentence, and a line for each cluster."""
        return f"{self._sentence()}\n\n{text_table(*self._cells())}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return f"<div><p>{escape(self._sentence())}</p>{html_table(*self._cells())}</div>"

    def _sentence(self) -> str:
        dissolved = np.flatnonzero(self.per_cluster_ < DISSOLVED).tolist()
        verdict = (
            f"clusters that other fits do not have: {dissolved}"
            if dissolved
            else ("every cluster is found again")
        )
        return (
            f"stability {self.mean_:.3f} (mean adjusted Rand index of {len(self.scores_)} fits "
            f"with other {self.vary_}); {verdict}"
        )

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        lines = []
        for number, (size, value) in enumerate(zip(self.sizes_, self.per_cluster_)):
            word = "stable" if value >= STABLE else "dissolved" if value < DISSOLVED else "doubtful"
            lines.append([str(number), str(size), f"{value:.3f}", word])
        return ["cluster", "rows", "Jaccard", "found again"], lines


def stability(
    estimator: Any,
    X: Any,
    n_runs: int = 10,
    *,
    vary: str = "rows",
    share: float = 0.8,
    random_state: Any = None,
    n_threads: int | None = None,
    verbose: int = 0,
    progress: Progress = False,
) -> Stability:
    """Fit an estimator several times to parts of the rows, and compare the clusters.

    **Idea.** The first fit is to all rows, the others are to random parts of them, with other
    seeds. Each fit labels all rows. Pairs of fits are compared by the adjusted Rand index; each
    cluster of the first fit by its Jaccard index with the most similar cluster of the others [1]_.

    **Use when** you want to know which clusters to trust. **Do not use** as the only criterion for
    the number of clusters: few clusters of rows without any structure can be stable, see
    :func:`choose_n_clusters`.

    **Cost.** ``n_runs`` fits, and labels of all rows from each.

    Parameters
    ----------
    estimator : estimator
        Not fitted, or fitted; it is not changed. Any estimator with ``predict``, or a pipeline that
        ends with one; its other steps are fitted once.
    X : {array-like, CSR matrix or array} of shape (n_samples, n_features) or Blocks
        Rows. Of blocks, at most 20 000 rows are drawn into memory. With ``kernel="precomputed"``
        the values of all pairs of rows, of which parts are taken in both directions.
    n_runs : int, default=10
        Number of fits.
    vary : {"rows", "seeds"}, default="rows"
        "rows": parts of the rows and seeds differ. "seeds": only seeds do, which shows how much the
        result depends on the start.
    share : float, default=0.8
        Share of the rows in each part.
    random_state : int, RandomState instance or None, default=None
        Determines all random draws. An integer makes results repeatable.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. Networks (:mod:`polymeans.deep`), whose
        last digits do, keep their own number if this is None.
    verbose : int, default=0
        1 logs each fit, to the logger "polymeans" at level INFO.
    progress : bool or callable, default=False
        True draws a bar (``pip install "polymeans[progress]"``). A function is called with the
        steps that are done, the number of all steps and a text.

    Returns
    -------
    result : Stability
        ``mean_``, ``scores_`` of all pairs of fits, and ``per_cluster_``.

    See Also
    --------
    choose_n_clusters : Stability is one of its criteria.
    compare : Fits of other structures to the same rows.
    report : Shows it, with ``stability=``.

    References
    ----------
    .. [1] C. Hennig, "Cluster-wise assessment of cluster stability", Comput. Stat. Data Anal. 52
       (2007).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from polymeans import KMeans, stability
    >>> X, _ = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> stability(KMeans(3), X, 5, random_state=0).mean_
    1.0
    >>> stability(KMeans(7), X, 5, random_state=0).mean_ < 0.9
    True
    """
    check_integer("n_runs", n_runs, 2, "Fits are compared in pairs.")
    check_choice("vary", vary, ("rows", "seeds"))
    share = check_real("share", share, 0.1, largest=1.0)
    check_feedback(n_threads, verbose, progress)
    rng = np.random.default_rng(check_seed(random_state).randint(2**31))
    X, estimator = split_pipeline(X, estimator)
    if isinstance(estimator, type) or not (
        hasattr(estimator, "get_params") and hasattr(estimator, "predict")
    ):
        raise TypeError(
            f"estimator must be a clusterer with predict, got {shown(estimator)}. Pass an instance "
            "such as polymeans.KMeans(8)."
        )
    rows, names = check_input(X)
    parts = Parts(estimator)
    parts.check(rows)
    rows = draw_rows(rows, n_rows_of(rows) if hasattr(rows, "shape") else _SAMPLE, rng)
    models: list[Any] = []
    tables: list[NDArray[Any]] = []
    with Steps("stability", n_runs, int(verbose), progress) as steps:
        for run in range(n_runs):
            part = seen = rows
            if run and vary == "rows":
                n = rows.shape[0]
                chosen = draw_numbers(n, max(1, round(share * n)), rng)
                part, seen = parts.take(rows, chosen), parts.seen(rows, chosen)
                _check_part(part, tables[0], share)
            models.append(_fitted(estimator, part, int(rng.integers(2**31)), n_threads))
            tables.append(labels_of(models[-1], seen))
            steps.advance(f"inertia {getattr(models[-1], 'inertia_', np.nan):.6g}")
    scores = np.array([[agreement(a, b) for b in tables] for a in tables])
    labels = _main_columns(models[0], tables)
    names.hand_on(models[0])
    n_pairs = n_runs * (n_runs - 1)
    return Stability(
        float((scores.sum() - np.trace(scores)) / n_pairs),
        scores,
        _recovered(labels[0], labels[1:]),
        np.bincount(labels[0]),
        vary,
        models[0],
    )


def _check_part(part: Any, labels: NDArray[Any], share: float) -> None:
    """Raise if a part has fewer rows than there are clusters."""
    k = int(labels.max()) + 1
    if part.shape[0] < k:
        raise ValueError(
            f"share={share:g} leaves {part.shape[0]} of {len(labels)} rows, too few for {k} "
            "clusters. Use a larger share, or more rows."
        )


def _fitted(estimator: Any, rows: Any, seed: int, n_threads: int | None) -> Any:
    """A new estimator, fitted with another seed."""
    model = clone(estimator)
    given = {"random_state": seed, "n_threads": n_threads}
    if n_threads is None and in_latent_space(model):
        del given["n_threads"]  # the bits of networks depend on it: they keep their own
    model.set_params(**{name: given[name] for name in given.keys() & model.get_params().keys()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows)


def labels_of(model: Any, rows: Any) -> NDArray[Any]:
    """Labels of rows, a column for each view."""
    if hasattr(model, "predict_views") and model.n_views_ > 0:
        return np.asarray(model.predict_views(rows))
    return np.asarray(model.predict(rows))[:, None]


def agreement(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Adjusted Rand index of labels; of several views, the mean of those that match best."""
    if first.shape[1] == second.shape[1] == 1:
        return float(adjusted_rand_score(first[:, 0], second[:, 0]))
    return float(labelings_confusion(first, second, score="ari").mean)


def _main_columns(model: Any, tables: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Labels of the first fit, in its main view, and in the most similar view of each other fit."""
    main = int(getattr(model, "main_view_", 0)) if tables[0].shape[1] > 1 else 0
    first = tables[0][:, main]
    found = [first]
    for table in tables[1:]:
        scores = [adjusted_rand_score(first, column) for column in table.T]
        found.append(table[:, int(np.argmax(scores))])
    return found


def _recovered(labels: NDArray[Any], others: list[NDArray[Any]]) -> NDArray[np.float64]:
    """Mean Jaccard index of each cluster with the most similar one of each other labeling."""
    found = np.zeros(int(labels.max()) + 1)
    for other in others:
        n_other = int(other.max()) + 1
        table = np.bincount(labels.astype(np.int64) * n_other + other, minlength=0)
        table = np.pad(table, (0, len(found) * n_other - len(table))).reshape(len(found), n_other)
        both = table.sum(axis=1)[:, None] + table.sum(axis=0) - table
        found += (table / np.maximum(both, 1)).max(axis=1) / len(others)
    return found
