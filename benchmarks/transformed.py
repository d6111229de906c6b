"""Transformed k-means on documents: quality on subsets of classes, time and memory on all, growth.

Everybody gets as many starts and keeps the run its own objective likes best; nobody sees the
classes. k-means on rows of length one is not spherical k-means, and a good embedding helps any
method, so both stand beside: what is left over k-means in the same embedding is what the transform
itself is worth.

Parts are chosen with ``--only``: "subsets", "full", "growth", the name of a data file, or both
("subsets tdt2"). "full cg" are only the comparisons of both solvers.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import transformed_full, transformed_growth
from benchmarks.harness import MissingRequirementError, Report
from benchmarks.transformed_data import (
    FEWEST_OF_CLASS,
    MOST_ROWS,
    SIZES,
    Collection,
    Labeled,
    asked_for,
    cut_embedding,
    subset,
)
from benchmarks.transformed_full import MEASURES, N_INIT, OURS, PLAIN, SPHERICAL, fitted, yes
from polymeans import KMeans, TransformedKMeans
from polymeans.datasets import make_documents

N_SUBSETS = 20  #: of each number of classes, unless --repeats says otherwise
TIE = 0.002  #: differences up to this are neither won nor lost


def run(options: Any, report: Report) -> None:
    """All three parts. ``--repeats``, where given, is the number of subsets of each size."""
    n_subsets = options.repeats if options.repeats != 3 else N_SUBSETS
    asked = asked_for("subsets", options)
    # The files are read at once, so that a missing one is noticed before time is spent.
    documents = {one: one.counts(options.data) for one in asked}
    transformed_full.check(options)
    if documents:
        _compile()
        _subsets(documents, n_subsets, report)
    transformed_full.run(options, report)
    transformed_growth.run(options, report)
    if not report.tables:
        raise MissingRequirementError(f"nothing to run for --only {options.only!r}.")


def _compile() -> None:
    """Fits of the kinds to be timed, on few rows."""
    X = make_documents(200, 300, 3, random_state=0)[0]
    for method in METHODS:
        method.labels(X, 3, 0)


# --- methods ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """Somebody who clusters documents: rows, number of clusters and seed give labels."""

    name: str
    labels: Callable[[sp.csr_matrix, int, int], np.ndarray]


def _fits(estimator: type, **parameters: Any) -> Callable[[Any, int, int], np.ndarray]:
    """Labels by an estimator with ten starts."""

    def labels(X: Any, k: int, seed: int) -> np.ndarray:
        return fitted(estimator(k, n_init=N_INIT, random_state=seed, **parameters), X).labels_

    return labels


_plain = _fits(KMeans, tol=0)


def _embedded(X: sp.csr_matrix, k: int, seed: int) -> np.ndarray:
    """k-means where transformed k-means is at home."""
    return _plain(cut_embedding(X, 2 * k), k, seed)


EMBEDDED, WHOLE = "k-means, same embedding", OURS + ", no embedding"
METHODS = [
    Method(PLAIN, _plain),
    Method(SPHERICAL, _fits(KMeans, metric="cosine", tol=0)),
    Method(EMBEDDED, _embedded),
    Method(OURS, _fits(TransformedKMeans)),
    # The research behind the default found this one better on unbalanced classes, worse on others.
    Method(
        OURS + ", k components",
        lambda X, k, seed: _fits(TransformedKMeans, n_components=k)(X, k, seed),
    ),
    Method(WHOLE, _fits(TransformedKMeans, embedding=None)),
]


# --- subsets ---------------------------------------------------------------------------------

#: Who is compared with whom in what, and by how much the first one should be better.
WANTED = [
    (OURS, PLAIN, "purity", 0.05),
    (OURS, PLAIN, "NMI", 0.07),
    (OURS, SPHERICAL, "purity", None),
    (OURS, SPHERICAL, "NMI", 0.03),
    (OURS, EMBEDDED, "purity", None),
    (OURS, EMBEDDED, "NMI", 0.0),
    (WHOLE, PLAIN, "purity", None),
    (WHOLE, PLAIN, "NMI", None),
]


@dataclass
class Scores:
    """What all methods reach on the subsets of one collection."""

    values: dict[tuple[str, str], np.ndarray]  #: of a method and measure: sizes by subsets
    seconds: dict[str, float]
    n_rows: list[int]

    def difference(self, one: str, other: str, measure: str) -> np.ndarray:
        """Of two methods, for each subset."""
        return (self.values[one, measure] - self.values[other, measure]).ravel()


def _subsets(documents: dict[Collection, Labeled], n_subsets: int, report: Report) -> None:
    scores = {}
    for one, labeled in documents.items():
        scores[one] = _scores(one, labeled, n_subsets)
        _score_table(one, scores[one], report)
    _difference_table(scores, report)
    _paper_table(scores, report)
    rows = [
        {
            "": method.name,
            **{one.name: score.seconds[method.name] for one, score in scores.items()},
            "all": sum(score.seconds[method.name] for score in scores.values()),
        }
        for method in METHODS
    ]
    report.table(f"subsets: seconds of all fits with {N_INIT} starts", rows)


def _scores(one: Collection, labeled: Labeled, n_subsets: int) -> Scores:
    """All methods on all subsets, in turns."""
    empty = np.zeros((len(SIZES), n_subsets))
    values = {(method.name, measure): empty.copy() for method in METHODS for measure in MEASURES}
    scores = Scores(values, {method.name: 0.0 for method in METHODS}, [])
    for place, k in enumerate(SIZES):
        for seed in range(n_subsets):
            X, y = subset(*labeled, k, seed, one.most_of_class)
            scores.n_rows.append(X.shape[0])
            for method in METHODS:
                began = time.perf_counter()
                labels = method.labels(X, k, seed)
                scores.seconds[method.name] += time.perf_counter() - began
                for measure, score in MEASURES.items():
                    values[method.name, measure][place, seed] = score(y, labels)
        shown = ", ".join(
            f"{method.name} {np.mean(values[method.name, 'NMI'][place]):.3f}" for method in METHODS
        )
        print(f"  {one.name} k={k}: NMI: {shown}", flush=True)
    print()
    return scores


def _score_table(one: Collection, scores: Scores, report: Report) -> None:
    rows = []
    for measure in MEASURES:
        for method in METHODS:
            cells = map(_mean_and_error, scores.values[method.name, measure])
            rows.append({"": measure, "by": method.name, **_by_size(cells)})
        if measure == "purity":
            paper = (f"{value:.4f}" for value in one.paper)
            rows.append({"": measure, "by": "paper, other documents", **_by_size(paper)})
    report.table(
        f"subsets of {one.name}",
        rows,
        f"mean ± standard error of {scores.values[OURS, 'NMI'].shape[1]} random subsets of k "
        f"classes with at least {FEWEST_OF_CLASS} documents, {min(scores.n_rows)} to "
        f"{max(scores.n_rows)} documents each (at most {MOST_ROWS}); low entropy is good; paper: "
        "its proposed method, on classes and documents it does not name",
    )


def _by_size(cells: Any) -> dict[str, Any]:
    return {f"k={k}": cell for k, cell in zip(SIZES, cells, strict=True)}


def _mean_and_error(values: np.ndarray) -> str:
    return f"{values.mean():.3f} ±{_error(values):.3f}"


def _signed_mean_and_error(values: np.ndarray) -> str:
    return f"{values.mean():+.4f} ±{_error(values):.4f}"


def _error(values: np.ndarray) -> float:
    """Standard error of the mean."""
    if len(values) < 2:
        return np.nan
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _difference_table(scores: dict[Collection, Scores], report: Report) -> None:
    rows = []
    for method, other, measure, wanted in WANTED:
        parts = {one: score.difference(method, other, measure) for one, score in scores.items()}
        all_of_them = np.concatenate(list(parts.values()))
        mean = float(all_of_them.mean())
        rows.append(
            {
                "": method,
                "minus": other,
                "in": measure,
                "mean": f"{mean:+.4f}",
                "s.e.": f"{_error(all_of_them):.4f}",
                "wanted": "" if wanted is None else _at_least(wanted),
                "reached": "" if wanted is None else yes(mean >= wanted and mean > 0),
                "subsets": len(all_of_them),
                "won": int((all_of_them > TIE).sum()),
                "lost": int((all_of_them < -TIE).sum()),
                **{
                    one.name: f"{part.mean():+.4f} ±{_error(part):.4f}"
                    for one, part in parts.items()
                },
            }
        )
    report.table(
        "subsets: mean differences",
        rows,
        f"on the same subsets; s.e.: standard error; won, lost: by more than {TIE:g}",
    )


def _at_least(wanted: float) -> str:
    return f"{wanted:+.2f}" if wanted else "> 0"


def _paper_table(scores: dict[Collection, Scores], report: Report) -> None:
    rows = []
    for one, score in scores.items():
        for place, (k, paper) in enumerate(zip(SIZES, one.paper, strict=True)):
            ours = score.values[OURS, "purity"][place]
            others = {
                method.name: score.values[method.name, "purity"][place].mean() for method in METHODS
            }
            best = max(others, key=others.__getitem__)
            rows.append(
                {
                    "": one.name,
                    "k": k,
                    "paper": paper,
                    "ours": float(ours.mean()),
                    "reached": yes(ours.mean() >= paper),
                    "subsets": f"{(ours >= paper).sum()}/{len(ours)}",
                    "best": float(others[best]),
                    "best by": best,
                }
            )
    n_reached = sum(row["reached"] == "yes" for row in rows)
    report.table(
        "subsets: purity beside the paper's",
        rows,
        f"reached by our mean: {n_reached} of {len(rows)}; subsets: those in which ours reaches "
        "it; best: highest mean of any method here that ran on all subsets",
    )
