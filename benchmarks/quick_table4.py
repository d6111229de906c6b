"""Table 4 of the QuicK-means paper: what clusters with few non-zeros are good for.

At the paper's numbers of non-zeros (its sparsity level 3): classification by the nearest neighbor
inside the query's cluster, Nyström features with the centroids as landmarks (error of the kernel
matrix, and a linear SVM on them), agreement of clusters with classes, and the time of ``predict``.
Beside k-means and Sculley's sparse centroids stand landmarks drawn at random and those of a
Hadamard transform, and the search that looks at all rows.

``--only`` chooses a data set.
"""

import statistics
import time
import warnings
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.svm import LinearSVC

from benchmarks.harness import MissingRequirementError, Report
from benchmarks.quick_data import (
    CASES,
    EXACT,
    HADAMARD,
    HADAMARD_MEANS,
    K_MEANS,
    L1,
    QUICK,
    UNIFORM,
    Case,
    Split,
    found,
)
from polymeans import KMeans, L1KMeans, QuickKMeans
from polymeans.kernel_approximation import ClusterNystroem, HadamardNystroem, nystroem_error
from polymeans.neighbors import ClusterKNeighborsClassifier

ERROR_ROWS = 5000  #: of the kernel matrix, as in the paper
SLICE = 1000  #: rows among which the mean distance is measured, as in the paper
MOST_FIT_ROWS = 100000  #: of the largest data set, to save time
MOST_SVM_ROWS, SVM_ITERATIONS = 20000, 50
TIMED_ROWS = 20000
EXACT_ROWS = 60000  #: at most, to search all of them

#: A method's figures of one seed, by column.
Figures = dict[str, float]
NEIGHBOR, ERROR, SVM, AMI = "1-NN", "Nystroem error", "SVM", "AMI"


def run(options: Any, report: Report) -> None:
    """All data sets. ``--repeats`` is the number of seeds."""
    seeds = range(1, options.repeats + 1)
    summary = []
    for case in found([case for case in CASES if options.only.lower() in case.title], options):
        split = _thinned(case.split(options.data, hold_out=True))
        figures: dict[str, list[Figures]] = {}
        for seed in seeds:
            for name, values in _seed(case, split, seed).items():
                figures.setdefault(name, []).append(values)
        means = {name: _mean(values) for name, values in figures.items()}
        _case_table(case, split, means, len(seeds), report)
        summary += _summary_rows(case, means)
    if not summary:
        raise MissingRequirementError(f"nothing to run for --only {options.only!r}.")
    report.table("k-means -> QuickKMeans", summary, _NOTE)


def _thinned(split: Split) -> Split:
    """Rows are in random order, so the first ones are a sample."""
    n = MOST_FIT_ROWS
    return Split(split.X[:n], split.y[:n], split.X_test, split.y_test)


def _mean(values: list[Figures]) -> Figures:
    return {name: statistics.mean(one[name] for one in values) for name in values[0]}


# --- one seed --------------------------------------------------------------------------------


def _seed(case: Case, split: Split, seed: int) -> dict[str, Figures]:
    """Figures of every method."""
    began = time.perf_counter()
    budget = case.table4.n_nonzeros
    plain = _fitted(KMeans(case.k, random_state=seed), split.X)
    start = {"init": plain.cluster_centers_, "random_state": seed}
    quick = _fitted(QuickKMeans(case.k, n_nonzeros=budget, **start), split.X)
    sparse = _fitted(L1KMeans(case.k, n_nonzeros=budget, offset="mean", **start), split.X)
    clusterers = {K_MEANS: plain, L1: sparse, QUICK: quick}
    gamma = _gamma(split.X)
    landmarks: dict[str, Any] = {
        name: ClusterNystroem(gamma=gamma, clusterer=model) for name, model in clusterers.items()
    }
    common: dict[str, Any] = {"gamma": gamma, "n_components": case.k, "random_state": seed}
    landmarks[UNIFORM] = Nystroem(**common)
    landmarks[HADAMARD] = HadamardNystroem(**common)
    # Signs make sense about the mean of the rows; the paper's code subtracts it for everybody, but
    # the RBF kernel does not notice.
    mean = split.X.mean(axis=0)
    centered = Split(split.X - mean, split.y, split.X_test - mean, split.y_test)
    landmarks[HADAMARD_MEANS] = HadamardNystroem(seeds=plain.cluster_centers_ - mean, **common)
    # scikit-learn divides by singular values that float32 does not know.
    some, exact = slice(MOST_SVM_ROWS), np.float64
    doubled = Split(
        split.X[some].astype(exact), split.y[some], split.X_test.astype(exact), split.y_test
    )
    rows = {UNIFORM: doubled, HADAMARD: centered, HADAMARD_MEANS: centered}
    figures = {
        name: _kernel_figures(model, rows.get(name, split), seed)
        for name, model in landmarks.items()
    }
    for name, model in clusterers.items():
        nonzeros = getattr(model, "n_nonzeros_", plain.cluster_centers_.size)
        figures[name] |= {
            "non-zeros": nonzeros,
            NEIGHBOR: _neighbor_accuracy(split, model, 1),
            AMI: float(adjusted_mutual_info_score(split.y, model.labels_)),
        }
    if len(split.X) <= EXACT_ROWS:
        figures[EXACT] = {NEIGHBOR: _neighbor_accuracy(split, plain, "exact")}
    figures[QUICK]["predict"] = _times_faster(split.X, plain, quick)
    seconds = time.perf_counter() - began
    print(f"  {case.name}: seed {seed}, {seconds:.3g} s", flush=True)
    return figures


def _fitted(model: Any, *data: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an SVM that was stopped, clusters left empty
        return model.fit(*data)


def _gamma(X: np.ndarray) -> float:
    """One over the mean squared distance between rows of a slice, over all slices."""
    # Among rows of a slice, |x - y|² has mean 2 (E|x|² - |Ex|²).
    slices = [X[lo : lo + SLICE] for lo in range(0, len(X), SLICE)]
    return 1 / statistics.mean(
        2 * float(rows.var(axis=0, dtype=np.float64).sum()) for rows in slices
    )


def _kernel_figures(model: Any, split: Split, seed: int) -> Figures:
    rows = slice(MOST_SVM_ROWS)
    features = _fitted(model, split.X).transform(split.X[rows])
    svm = LinearSVC(class_weight="balanced", dual=True, max_iter=SVM_ITERATIONS, random_state=seed)
    _fitted(svm, features, split.y[rows])
    return {
        ERROR: nystroem_error(split.X, model, n_samples=ERROR_ROWS, random_state=seed),
        SVM: float(svm.score(model.transform(split.X_test), split.y_test)),
    }


def _neighbor_accuracy(split: Split, clusterer: Any, n_probe: Any) -> float:
    model = ClusterKNeighborsClassifier(1, n_probe=n_probe, clusterer=clusterer)
    return float(model.fit(split.X, split.y).score(split.X_test, split.y_test))


def _times_faster(X: np.ndarray, plain: Any, quick: Any) -> float:
    """Time of ``predict`` of k-means over that of ours, in turns."""
    X = np.resize(X, (TIMED_ROWS, X.shape[1]))  # again and again, where there are fewer
    best = {plain: np.inf, quick: np.inf}
    for _ in range(5):
        for model in best:
            began = time.perf_counter()
            model.predict(X)
            best[model] = min(best[model], time.perf_counter() - began)
    return best[plain] / best[quick]


# --- tables ----------------------------------------------------------------------------------

_NOTE = (
    "means of the seeds, beside or below them the paper; 1-NN: accuracy of the nearest neighbor "
    "inside the query's cluster, on the rows kept back; Nystroem error: relative, of the RBF "
    f"kernel of {ERROR_ROWS} rows; SVM: accuracy of LinearSVC on these features, fitted to at most "
    f"{MOST_SVM_ROWS} rows; AMI: of clusters and classes, rows of the fit; predict: time of "
    f"k-means over that of QuickKMeans, {TIMED_ROWS} rows; L1KMeans and Hadamard: about the mean "
    f"of the rows, as in the paper's code. Rows to fit are at most {MOST_FIT_ROWS}; the paper has "
    "576012 of Covtype and says 4.9 million of Kddcup99."
)


def _case_table(
    case: Case, split: Split, means: dict[str, Figures], n_seeds: int, report: Report
) -> None:
    paper = case.table4
    printed = {NEIGHBOR: paper.neighbor, ERROR: paper.error, SVM: paper.svm, AMI: paper.ami}
    dense = case.k * split.X.shape[1]
    order = (K_MEANS, L1, QUICK, UNIFORM, HADAMARD, HADAMARD_MEANS, EXACT)
    rows = []
    for name in order:
        if name not in means:
            continue
        values = means[name]
        row: dict[str, Any] = {"by": name}
        if "non-zeros" in values:
            row["non-zeros"] = round(values["non-zeros"])
            row["compression"] = f"{dense / values['non-zeros']:.1f}"
        for column, figures in printed.items():
            if column in values:
                row[column] = _beside(values[column], figures.get(name))
        if "predict" in values:
            row["predict"] = f"x{values['predict']:.2f}"
        rows.append(row)
    n, d = split.X.shape
    title = f"{case.name}: {n} x {d}, {len(split.X_test)} kept back, k={case.k}, {n_seeds} seeds"
    report.table(title, rows)


def _shown(value: float) -> str:
    return f"{value:.4f}" if value >= 1e-3 else f"{value:.0e}"


def _beside(value: float, paper: float | None) -> str:
    return _shown(value) if paper is None else f"{_shown(value)} ({_shown(paper)})"


def _summary_rows(case: Case, means: dict[str, Figures]) -> list[dict[str, Any]]:
    paper = case.table4
    ours: dict[str, Any] = {"": case.name, "non-zeros": round(means[QUICK]["non-zeros"])}
    theirs: dict[str, Any] = {"": "paper", "non-zeros": paper.n_nonzeros}
    printed = {NEIGHBOR: paper.neighbor, ERROR: paper.error, SVM: paper.svm, AMI: paper.ami}
    for column, figures in printed.items():
        ours[column] = _shown(means[K_MEANS][column]) + " -> " + _shown(means[QUICK][column])
        theirs[column] = _shown(figures[K_MEANS]) + " -> " + _shown(figures[QUICK])
    ours["predict"] = f"x{means[QUICK]['predict']:.2f}"
    return [ours, theirs]
