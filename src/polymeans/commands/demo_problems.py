"""The six problems of the demo: rows, an estimator, and how well it finds what is known."""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
    report,
)
from polymeans.commands.compiling import Compiling
from polymeans.datasets import make_colored_letters, make_posts, make_stick_figures
from polymeans.metrics import labelings_confusion, purity


@dataclass(frozen=True)
class Problem:
    """Rows, an estimator, and what is known about the rows."""

    estimator: Any
    rows: Any
    rows_are: str  #: what they are, in words
    known: NDArray[Any]  #: groups of the rows, one column for each way to group them
    idea: str  #: of the structure, in one sentence
    settings: dict[str, Any] = field(default_factory=dict)  #: of the report

    @property
    def name(self) -> str:
        """Class of the estimator."""
        return type(self.estimator).__name__


@dataclass(frozen=True)
class Outcome:
    """A fitted problem."""

    problem: Problem
    model: Any
    seconds: float  #: without compiling
    html: str  #: the report

    HEADER: ClassVar[list[str]] = [
        "structure",
        "rows",
        "size",
        "clusters",
        "numbers",
        "free",
        "found",
        "seconds",
    ]

    @property
    def n_clusters(self) -> tuple[int, ...]:
        """Clusters, of each view or set."""
        found = getattr(self.model, "n_clusters_", None)
        if isinstance(found, tuple):
            return found
        return tuple(map(len, getattr(self.model, "protocentroids_", [range(self._n_labels)])))

    @property
    def _n_labels(self) -> int:
        return int(self.model._n_centroids)

    @property
    def n_stored(self) -> int:
        """Numbers that labels of new rows are computed with, the map into a space included."""
        space = getattr(self.model, "_space", None)
        mapped = 0 if space is None else space.map.directions.size + space.mean.size
        return int(self.model.n_parameters_) + mapped

    @property
    def n_free(self) -> int:
        """Numbers of as many centroids without a structure."""
        sizes = self.n_clusters
        total = sum(sizes) if self.problem.known.ndim > 1 and self._views else int(np.prod(sizes))
        return total * self.problem.rows.shape[1]

    @property
    def _views(self) -> bool:
        return hasattr(self.model, "labels_per_view_")

    @property
    def agreement(self) -> float:
        """How well known groups are found: purity, or what views share with them."""
        known = self.problem.known
        if self._views:
            return float(np.mean(labelings_confusion(known, self.model.labels_per_view_).matched))
        return float(purity(known, self.model.labels_))

    def facts(self) -> dict[str, Any]:
        """A line of the table, for programs."""
        n, d = self.problem.rows.shape
        return {
            "structure": self.problem.name,
            "rows": self.problem.rows_are,
            "n_samples": n,
            "n_features": d,
            "n_clusters": list(self.n_clusters),
            "n_parameters": self.n_stored,
            "n_free": self.n_free,
            "agreement": self.agreement,
            "seconds": self.seconds,
        }

    def cells(self) -> list[str]:
        """A line of the table."""
        facts = self.facts()
        joint = " + " if self._views else " x "
        return [
            facts["structure"],
            facts["rows"],
            f"{facts['n_samples']} x {facts['n_features']}",
            joint.join(map(str, facts["n_clusters"])),
            str(facts["n_parameters"]),
            str(facts["n_free"]),
            f"{facts['agreement']:.2f}",
            f"{facts['seconds']:.2f}",
        ]


def problems(seed: int, quick: bool) -> Iterator[Problem]:
    """All six, one after the other.

    Parameters
    ----------
    seed : int
        Of the rows that are generated, and of all fits.
    quick : bool
        Fewer rows.

    Yields
    ------
    Problem
    """
    digits = load_digits()
    step = 3 if quick else 1
    images, classes = digits.data[::step], digits.target[::step]
    of_digits: dict[str, Any] = {"image_shape": (8, 8), "y": classes}
    yield Problem(
        KMeans(20, random_state=seed),
        images,
        "handwritten digits",
        classes,
        "Free centroids: each one is the mean of its rows.",
        of_digits,
    )
    figures, poses = make_stick_figures(900 // step, random_state=seed)
    yield Problem(
        KhatriRaoKMeans((3, 3), random_state=seed),
        figures,
        "stick figures",
        3 * poses[:, 0] + poses[:, 1],
        "Nine centroids are sums of three upper and three lower bodies.",
        {"image_shape": (20, 20)},
    )
    yield Problem(
        QuickKMeans(32 if quick else 64, n_nonzeros=700 if quick else 1400, random_state=seed),
        images,
        "handwritten digits",
        classes,
        "All centroids together are a product of two sparse matrices.",
        of_digits,
    )
    yield Problem(
        L1KMeans(20, n_nonzeros=500, random_state=seed),
        images,
        "handwritten digits",
        classes,
        "Centroids have few entries other than zero: 25 of 64 on average.",
        of_digits,
    )
    letters, known = make_colored_letters(999 // step, random_state=seed)
    yield Problem(
        NonRedundantKMeans((6, 3, 4), random_state=seed),
        letters,
        "colored letters",
        known,
        "Three groupings of the same images, each in a subspace of its own.",
        {"image_shape": (9, 7, 3)},
    )
    posts, topics = make_posts(999 // step, n_topics=12, overlap=0.7, random_state=seed)
    vectorizer = TfidfVectorizer(stop_words="english")
    yield Problem(
        TransformedKMeans(12, random_state=seed),
        vectorizer.fit_transform(posts),
        "posts",
        np.asarray(topics),
        "Clusters and the metric in which they are compact, learned together.",
        {"texts": posts, "feature_names": list(vectorizer.get_feature_names_out()), "y": topics},
    )


def solve(problem: Problem, compiling: Compiling) -> Outcome:
    """Fit a problem and write its report.

    Parameters
    ----------
    problem : Problem
    compiling : Compiling
        Counts the seconds that are not the fit's.

    Returns
    -------
    Outcome
    """
    model, seconds = _timed(lambda: problem.estimator.fit(problem.rows), compiling)
    return Outcome(problem, model, seconds, report(model, problem.rows, **problem.settings).html())


def _timed(work: Callable[[], Any], compiling: Compiling) -> tuple[Any, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled, began = compiling.seconds, time.perf_counter()
        result = work()
    return result, time.perf_counter() - began - (compiling.seconds - compiled)
