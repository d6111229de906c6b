"""What ``polymeans demo`` computes and draws; printing is left to the command line.

Dense rows (handwritten digits) and sparse rows (generated documents) are clustered twice from the
same starting centroids, here and by scikit-learn, until no label changes. The outcome should be the
same, so that the times can be compared.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.datasets import load_digits

from polymeans.datasets import make_documents
from polymeans.inspection import plot_centers_as_images, plot_convergence
from polymeans.inspection._matplotlib import load
from polymeans.kmeans import KMeans

#: Rounds of timing for each data set, and the seconds after which no further one begins: together
#: with compilation, the demo should end within a minute.
_ROUNDS, _MOST_SECONDS = 3, 5.0


@dataclass(frozen=True)
class Problem:
    """Rows, and the centroids both libraries start from."""

    name: str
    X: Any
    starts: NDArray[np.float64]

    @property
    def ours(self) -> KMeans:
        """Our estimator, not yet fitted."""
        return KMeans(len(self.starts), init=self.starts, tol=0)

    @property
    def theirs(self) -> SklearnKMeans:
        """scikit-learn's estimator, not yet fitted."""
        return SklearnKMeans(len(self.starts), init=self.starts, n_init=1, tol=0)


@dataclass(frozen=True)
class Comparison:
    """Both fits of one problem and how long they took."""

    problem: Problem
    ours: KMeans
    theirs: SklearnKMeans
    our_seconds: float
    their_seconds: float

    @property
    def ratio(self) -> float:
        """How many times longer scikit-learn took."""
        return self.their_seconds / self.our_seconds

    @property
    def equal_labels(self) -> float:
        """Share of rows with the same label."""
        return float(np.mean(self.ours.labels_ == self.theirs.labels_))


def make_problems(seed: int, quick: bool) -> list[Problem]:
    """Dense and sparse rows with their starting centroids."""
    rng = np.random.RandomState(seed)
    size = (1500, 1000, 10) if quick else (20_000, 10_000, 50)
    documents, _ = make_documents(*size, random_state=rng)
    problems = [("digits", load_digits().data, 64), ("documents", documents, 2 * size[2])]
    return [Problem(name, X, _starts(X, n_clusters, rng)) for name, X, n_clusters in problems]


def _starts(X: Any, n_clusters: int, rng: np.random.RandomState) -> NDArray[np.float64]:
    """Random rows, moved towards the mean by a tenth of the distance.

    Pixels are whole numbers: unmoved rows would lie at equal distances from many others. polymeans
    gives ties to the lowest index, scikit-learn's choice depends on rounding, so that the two fits
    would differ.
    """
    chosen = rng.choice(X.shape[0], n_clusters, replace=False)
    rows = X[chosen].toarray() if sp.issparse(X) else X[chosen]
    return 0.9 * rows + 0.1 * np.asarray(X.mean(axis=0)).ravel()


def compile_kernels(problems: list[Problem]) -> float:
    """Fit small parts of the problems, so that no compilation is timed later; seconds it took."""
    began = perf_counter()
    for problem in problems:
        # Enough rows for a fit of many iterations, the late ones of which use other kernels.
        problem.ours.fit(problem.X[: 20 * len(problem.starts)])
    return perf_counter() - began


def compare(problem: Problem) -> Comparison:
    """Fit in turns, and keep the fastest of each: slower ones shared the machine."""
    times: list[tuple[float, float]] = []
    while len(times) < _ROUNDS and np.sum(times) < _MOST_SECONDS:
        ours, our_seconds = _timed(problem.ours, problem.X)
        theirs, their_seconds = _timed(problem.theirs, problem.X)
        times.append((our_seconds, their_seconds))
    return Comparison(problem, ours, theirs, *map(float, np.min(times, axis=0)))


def _timed(model: Any, X: Any) -> tuple[Any, float]:
    began = perf_counter()
    model.fit(X)
    return model, perf_counter() - began


def table(comparisons: list[Comparison]) -> Iterator[list[str]]:
    """Lines of text cells: what is measured, then one cell for each data set."""
    lines = {
        "": lambda c: c.problem.name,
        "rows x features": lambda c: " x ".join(map(str, c.problem.X.shape)),
        "clusters": lambda c: str(len(c.problem.starts)),
        "iterations": lambda c: str(c.ours.n_iter_),
        "seconds, polymeans": lambda c: f"{c.our_seconds:.3g}",
        "seconds, scikit-learn": lambda c: f"{c.their_seconds:.3g}",
        "ratio": lambda c: f"{c.ratio:.1f}",
        "inertia, polymeans": lambda c: f"{c.ours.inertia_:.8g}",
        "inertia, scikit-learn": lambda c: f"{c.theirs.inertia_:.8g}",
        "equal labels": lambda c: f"{100 * c.equal_labels:.2f} %",
    }
    for name, cell in lines.items():
        yield [name, *(cell(comparison) for comparison in comparisons)]


def new_figure() -> Any:
    """An empty figure without a window or global state."""
    return load("matplotlib.figure").Figure(figsize=(11, 5.5), layout="constrained")


def draw(figure: Any, comparisons: list[Comparison]) -> None:
    """Centroids of the dense fit, convergence of the sparse one, and the seconds of both."""
    dense, sparse = comparisons
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.15])
    ax = plot_centers_as_images(dense.ours, (8, 8), order="size", ax=left.add_subplot())
    ax.set_title(f"{len(dense.problem.starts)} centroids of handwritten digits, largest first")
    top, bottom = right.subfigures(2, 1, height_ratios=[1.4, 1])
    ax = plot_convergence(sparse.ours, ax=top.add_subplot())
    ax.set_title(f"{len(sparse.problem.starts)} clusters of {sparse.problem.X.shape[0]} documents")
    for ax, comparison in zip(bottom.subplots(1, len(comparisons)), comparisons):
        _draw_seconds(ax, comparison)


def _draw_seconds(ax: Any, comparison: Comparison) -> None:
    seconds = [comparison.our_seconds, comparison.their_seconds]
    bars = ax.barh(["polymeans", "scikit-learn"], seconds, color=["#1f5a8a", "#b0b0b0"])
    ax.bar_label(bars, fmt="%.3g", padding=3)
    ax.set_xlim(right=1.25 * max(seconds))  # space for the figures
    ax.invert_yaxis()
    ax.set_title(f"{comparison.problem.name}: seconds", fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)


def save(figure: Any, path: Path) -> None:
    """Write the figure in the format of the file name's ending."""
    figure.savefig(path, dpi=120)
