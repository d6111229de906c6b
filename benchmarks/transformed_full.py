"""Transformed k-means on whole collections: time, memory, and whether both solvers agree."""

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import normalized_mutual_info_score

from benchmarks.harness import Report, in_new_process
from benchmarks.transformed_data import Collection, Labeled, asked_for, subset, tf_idf
from polymeans import KMeans, TransformedKMeans
from polymeans.datasets import make_documents
from polymeans.metrics import entropy, purity

PLAIN, SPHERICAL, OURS = "k-means", "spherical k-means", "transformed k-means"
N_INIT = 10  #: starts of everybody
MOST_TIMES = 30.0  #: wanted of the default, over spherical k-means
MOST_GIGABYTES = 4.0  #: wanted of our fits

MOST_SEEDS = 3  #: of the fits of everything

CG_ROWS = 2500  #: of the subsets on which both solvers are asked
CG_SIZES = (2, 6, 10)  #: numbers of classes there
RHOS = ("auto", 16.0)  #: the default hardly moves anything from k-means, the other does

MEASURES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "purity": purity,
    "entropy": entropy,
    "NMI": normalized_mutual_info_score,
}


def check(options: Any) -> None:
    """Read what will be needed, so that a missing file is noticed before time is spent."""
    for one in asked_for("full", options) + asked_for("full cg", options):
        one.counts(options.data)


def run(options: Any, report: Report) -> None:
    """Whole collections, then both solvers on subsets."""
    whole = [one for one in asked_for("full", options) if one.whole]
    halves = asked_for("full cg", options)
    if whole or halves:
        X = make_documents(200, 300, 3, random_state=0)[0]
        for fitter in FITTERS:
            fitted(fitter.model(3, 0), X)  # compile
    for one in whole:
        _whole(one, options, report)
    if halves:
        _solvers({one: one.counts(options.data) for one in halves}, report)


def fitted(model: Any, X: Any) -> Any:
    """The model after a fit that does not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def yes(condition: Any) -> str:
    """For a table."""
    return "yes" if condition else "no"


# --- all documents ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitter:
    """Somebody who fits a whole collection."""

    name: str
    estimator: type
    n_init: int
    parameters: tuple[tuple[str, Any], ...]

    @property
    def is_ours(self) -> bool:
        """Whether it is what this benchmark is about."""
        return self.estimator is TransformedKMeans

    def arguments(self, seed: int) -> dict[str, Any]:
        """All parameters but the number of clusters."""
        return {**dict(self.parameters), "n_init": self.n_init, "random_state": seed}

    def model(self, k: int, seed: int) -> Any:
        """One that is not fitted yet."""
        return self.estimator(k, **self.arguments(seed))


_COSINE = (("metric", "cosine"), ("tol", 0))
FITTERS = [
    Fitter(PLAIN, KMeans, N_INIT, (("tol", 0),)),
    Fitter(SPHERICAL, KMeans, N_INIT, _COSINE),
    Fitter(OURS, TransformedKMeans, N_INIT, ()),
    Fitter(SPHERICAL, KMeans, 1, _COSINE),
    Fitter(
        OURS + ", no embedding, cg", TransformedKMeans, 1, (("embedding", None), ("solver", "cg"))
    ),
]

_MEMORY = """
import warnings
from pathlib import Path
import polymeans
from benchmarks.transformed_data import collection, tf_idf
from polymeans.datasets import make_documents
file, folder, estimator, parameters = {arguments!r}
warnings.simplefilter("ignore")
X, y = tf_idf(*collection(file).counts(Path(folder)))
make = getattr(polymeans, estimator)
make(3, **parameters).fit(make_documents(200, 300, 3, random_state=0)[0])  # compile
model = make(len(set(y.tolist())), **parameters)
print(added_peak(lambda: model.fit(X)))
"""


def _whole(one: Collection, options: Any, report: Report) -> None:
    X, y = tf_idf(*one.counts(options.data))
    k = len(np.unique(y))
    models: dict[Fitter, list[Any]] = {fitter: [] for fitter in FITTERS}
    seconds: dict[Fitter, list[float]] = {fitter: [] for fitter in FITTERS}
    for seed in range(min(options.repeats, MOST_SEEDS)):  # in turns
        for fitter in FITTERS:
            began = time.perf_counter()
            models[fitter].append(fitted(fitter.model(k, seed), X))
            seconds[fitter].append(time.perf_counter() - began)
            print(f"  full {one.name}: {fitter.name}: {seconds[fitter][-1]:.3g} s", flush=True)
    yardsticks = {f.n_init: min(seconds[f]) for f in FITTERS if f.name == SPHERICAL}
    rows = []
    for fitter in FITTERS:
        used = statistics.median(seconds[fitter]) if fitter.is_ours else min(seconds[fitter])
        times = used / yardsticks[fitter.n_init]
        megabytes = _added_megabytes(one, fitter, options)
        is_small = yes(megabytes < 1024 * MOST_GIGABYTES)
        labels = [model.labels_ for model in models[fitter]]
        rows.append(
            {
                "": fitter.name,
                "starts": fitter.n_init,
                "seconds": used,
                "times": times,
                f"<= {MOST_TIMES:g}": yes(times <= MOST_TIMES) if fitter.name == OURS else "",
                "added MB": megabytes,
                f"< {MOST_GIGABYTES:g} GB": is_small if fitter.is_ours else "",
                "iterations": statistics.median(model.n_iter_ for model in models[fitter]),
                **{measure: _range(score, y, labels) for measure, score in MEASURES.items()},
            }
        )
    print()
    report.table(
        f"full: all of {one.name}, {X.shape[0]}x{X.shape[1]} nnz {X.nnz}, k={k}",
        rows,
        f"mean (lowest-highest) of {len(labels)} seeds; seconds: ours median, others best; times: "
        "over spherical k-means with as many starts; added MB: peak of the fit in a process of its "
        "own; iterations: median, of the starts that were kept",
    )


def _range(score: Callable, y: np.ndarray, labelings: list[np.ndarray]) -> str:
    values = [score(y, labels) for labels in labelings]
    return f"{statistics.mean(values):.3f} ({min(values):.3f}-{max(values):.3f})"


def _added_megabytes(one: Collection, fitter: Fitter, options: Any) -> float:
    estimator = fitter.estimator.__name__
    arguments = (one.file, str(options.data), estimator, fitter.arguments(0))
    return float(in_new_process(_MEMORY.format(arguments=arguments)))


# --- both solvers ----------------------------------------------------------------------------


def _solvers(documents: dict[Collection, Labeled], report: Report) -> None:
    """The exact form and conjugate gradients from the same labels: do they end with the same?"""
    rows = []
    for one, labeled in documents.items():
        for k in CG_SIZES:
            X, _ = subset(*labeled, k, 0, CG_ROWS // k)
            n_rows = X.shape[0]
            starts = {
                "k-means": fitted(KMeans(k, tol=0, random_state=0), X).labels_,
                "chance": np.random.default_rng(0).permutation(n_rows) % k,
            }
            for name, start in starts.items():
                for rho in RHOS:
                    row = {"": one.name, "k": k, "rows": n_rows, "from": name, "rho": rho}
                    rows.append(row | _both_solvers(X, k, start, rho))
        print(f"  full cg: {one.name} done", flush=True)
    print()
    n_different = sum(row["different"] for row in rows)
    report.table(
        "full cg: labels of conjugate gradients and of the exact form, no embedding",
        rows,
        f"different labels in all: {n_different} (wanted: 0, reached: {yes(n_different == 0)}); "
        "moved: labels of the exact form that differ from the start; iterations and seconds: exact "
        "form, conjugate gradients",
    )


def _both_solvers(X: sp.csr_matrix, k: int, start: np.ndarray, rho: Any) -> dict[str, Any]:
    models, seconds = {}, {}
    for solver in ("exact", "cg"):
        model = TransformedKMeans(k, embedding=None, rho=rho, init=start, solver=solver)
        began = time.perf_counter()
        models[solver] = fitted(model, X)
        seconds[solver] = time.perf_counter() - began
    exact, cg = models["exact"], models["cg"]
    return {
        "different": int((exact.labels_ != cg.labels_).sum()),
        "moved": int((exact.labels_ != start).sum()),
        "iterations": f"{exact.n_iter_}, {cg.n_iter_}",
        "seconds": f"{seconds['exact']:.2f}, {seconds['cg']:.2f}",
    }
