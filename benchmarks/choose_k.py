"""The number of clusters of generated sets and documents, and none where there are none.

``--repeats`` is the number of sets of each kind. Everyone has one thread. Documents are samples of
1200 rows; ClustPy's methods take dense rows only and get 50 singular directions of them.

Constants of ``choose_n_clusters`` were chosen on other generated sets: other seeds and places, and
mostly other numbers and sizes of clusters and dimensions. The families are the same (blobs, unequal
sizes and spreads, rings, squares, heavy tails; uniform, Gaussian and t data), so these figures say
little about families that neither has.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from benchmarks.data import load, tfidf
from benchmarks.harness import Report
from polymeans import KMeans, TransformedKMeans, choose_n_clusters

#: Numbers of clusters that are compared.
MOST = 15

#: Documents of a sample, and the directions that methods for dense rows see of them.
DOCUMENTS, DIRECTIONS = 1200, 50


@dataclass(frozen=True)
class Case:
    """A kind of rows and the right answer."""

    title: str
    k: int | None
    make: Callable[[np.random.Generator], Any]
    estimator: Any = None


def blobs(
    rng: np.random.Generator,
    k: int,
    n_features: int,
    n_samples: int,
    distance: float,
    shares: Any = None,
) -> NDArray[np.float64]:
    """Round normal clusters; the nearest two are so many standard deviations apart."""
    centers = rng.uniform(-1, 1, size=(k, n_features))
    apart = np.linalg.norm(centers[:, None] - centers, axis=2)
    centers *= distance / apart[np.triu_indices(k, 1)].min()
    labels = rng.choice(k, n_samples, p=shares)
    return centers[labels] + rng.normal(size=(n_samples, n_features))


def rings(rng: np.random.Generator, n_samples: int) -> NDArray[np.float64]:
    """Four rings of different sizes beside each other."""
    centers = np.array([[0.0, 0.0], [7.0, 1.0], [1.0, 8.0], [8.0, 9.0]])
    radii = np.array([2.5, 1.5, 2.0, 3.0])
    labels = rng.choice(4, n_samples, p=[0.3, 0.1, 0.2, 0.4])
    angle = rng.uniform(0, 2 * np.pi, n_samples)
    around = radii[labels, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return centers[labels] + around + 0.15 * rng.normal(size=(n_samples, 2))


def spreads(rng: np.random.Generator, n_samples: int) -> NDArray[np.float64]:
    """Five normal clusters of different spread."""
    centers = 14.0 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1.0]])
    labels = rng.integers(0, 5, n_samples)
    scale = np.array([0.5, 1.0, 1.5, 2.0, 2.5])[labels, None]
    return centers[labels] + scale * rng.normal(size=(n_samples, 3))


def squares(rng: np.random.Generator, n_samples: int) -> NDArray[np.float64]:
    """Six filled squares with gaps between them."""
    corners = np.array([(1.4 * i, 1.4 * j) for i in range(3) for j in range(2)])
    return corners[rng.integers(0, 6, n_samples)] + rng.random((n_samples, 2))


def heavy(rng: np.random.Generator, n_samples: int) -> NDArray[np.float64]:
    """Three clusters with the tails of a t distribution of three degrees of freedom."""
    centers = np.array([[0.0, 0, 0, 0], [14, 0, 0, 0], [0, 14, 0, 0]])
    return centers[rng.integers(0, 3, n_samples)] + rng.standard_t(3, size=(n_samples, 4))


def generated() -> list[Case]:
    """Sets with clusters."""
    cases = []
    for distance in (3.0, 3.5, 4.0, 5.0, 6.0):
        for k, d, n in ((3, 2, 600), (5, 3, 1000), (8, 8, 1600), (10, 2, 3000)):
            cases.append(
                Case(
                    f"{k} blobs in {d} dimensions, nearest {distance:g} sd",
                    k,
                    lambda rng, k=k, d=d, n=n, distance=distance: blobs(rng, k, d, n, distance),
                )
            )
    sizes = [0.5, 0.25, 0.12, 0.08, 0.05]
    cases += [
        Case("sizes 10:5:2.4:1.6:1, 3 dimensions", 5, lambda r: blobs(r, 5, 3, 1500, 6.0, sizes)),
        Case("sizes 10:5:2.4:1.6:1, 15 dimensions", 5, lambda r: blobs(r, 5, 15, 1500, 6.0, sizes)),
        Case("four rings of different sizes", 4, lambda r: rings(r, 1200)),
        Case("spreads 1:2:3:4:5", 5, lambda r: spreads(r, 1000)),
        Case("six squares", 6, lambda r: squares(r, 1200)),
        Case("three clusters with heavy tails", 3, lambda r: heavy(r, 900)),
        Case("four blobs in 100 dimensions", 4, lambda r: blobs(r, 4, 100, 600, 10.0)),
    ]
    return cases


def without_clusters() -> list[Case]:
    """Sets where "none" is right."""
    cases = []
    for d, n in ((2, 500), (6, 1000), (40, 800)):
        cases += [
            Case(f"uniform, {d} dimensions", None, lambda r, n=n, d=d: r.random((n, d))),
            Case(f"Gaussian, {d} dimensions", None, lambda r, n=n, d=d: r.normal(size=(n, d))),
            Case(
                f"elongated Gaussian, {d} dimensions",
                None,
                lambda r, n=n, d=d: r.normal(size=(n, d)) * 0.7 ** np.arange(d),
            ),
            Case(
                f"t(3) features, {d} dimensions",
                None,
                lambda r, n=n, d=d: r.standard_t(3, size=(n, d)),
            ),
            Case(
                f"multivariate t(3), {d} dimensions",
                None,
                lambda r, n=n, d=d: (
                    r.normal(size=(n, d)) / np.sqrt(r.chisquare(3, size=(n, 1)) / 3)
                ),
            ),
        ]
    return cases


# --- contenders ----------------------------------------------------------------------------------


def ours(X: Any, estimator: Any, seed: int) -> int | None:
    """The default decision."""
    found = choose_n_clusters(X, MOST, estimator=estimator, random_state=seed, n_threads=1)
    return found.best_


def sklearn_knee(X: Any, estimator: Any, seed: int) -> int | None:
    """scikit-learn's k-means, and the point farthest from the chord of the curve of inertia."""
    values = np.arange(1, MOST + 1)
    inertia = np.array([SklearnKMeans(int(k), random_state=seed).fit(X).inertia_ for k in values])
    down = (inertia - inertia[-1]) / (inertia[0] - inertia[-1])
    along = (values - 1) / (MOST - 1)
    return int(values[np.argmax(1 - along - down)])


def peers() -> tuple[dict[str, Callable[[Any, Any, int], int | None]], list[str]]:
    """Other libraries that are installed, and what is missing."""
    found: dict[str, Callable[[Any, Any, int], int | None]] = {"scikit-learn + knee": sklearn_knee}
    missing = []
    try:
        from yellowbrick.cluster import KElbowVisualizer
    except ImportError as error:
        missing.append(f"yellowbrick: {error}")
    else:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib.figure import Figure

        def elbow(X: Any, estimator: Any, seed: int) -> int | None:
            model = SklearnKMeans(random_state=seed)
            # Its check of the kind of estimator does not know scikit-learn 1.6 and newer.
            options = {"timings": False, "force_model": True, "ax": Figure().add_subplot()}
            return KElbowVisualizer(model, k=(1, MOST + 1), **options).fit(X).elbow_value_

        found["yellowbrick KElbowVisualizer"] = elbow
    try:
        from clustpy.centroid import GMeans, ProjectedDipMeans, XMeans
    except ImportError as error:
        missing.append(f"clustpy: {error}")
    else:
        for kind in (XMeans, GMeans, ProjectedDipMeans):
            found[f"ClustPy {kind.__name__}"] = _growing(kind)
    return found, missing


def _growing(kind: Any) -> Callable[[Any, Any, int], int | None]:
    """One of ClustPy's methods that begin with one cluster; they take dense rows only."""

    def choose(X: Any, estimator: Any, seed: int) -> int | None:
        if sp.issparse(X):
            X = normalize(TruncatedSVD(DIRECTIONS, random_state=seed).fit_transform(X))
        k = int(kind(max_n_clusters=MOST, random_state=seed).fit(X).n_clusters_)
        return None if k == 1 else k

    return choose


# --- documents -----------------------------------------------------------------------------------


def documents(folder: Any) -> list[Case]:
    """Subsets of 20 Newsgroups with groups that differ much."""
    X, groups = tfidf(folder, "20newsgroups"), load(folder, "20newsgroups")["y"]
    chosen = {
        3: [1, 10, 16],
        4: [2, 7, 9, 15],
        6: [0, 1, 7, 10, 14, 16],
    }
    cases = []
    for k, numbers in chosen.items():
        rows = np.flatnonzero(np.isin(groups, numbers))

        def draw(rng: np.random.Generator, rows: Any = rows) -> Any:
            return X[np.sort(rng.choice(rows, DOCUMENTS, replace=False))]

        cases.append(Case(f"20 Newsgroups, {k} groups, cosine", k, draw, KMeans(metric="cosine")))
        cases.append(
            Case(
                f"20 Newsgroups, {k} groups, embedded",
                k,
                draw,
                TransformedKMeans(n_init=3),
            )
        )
    return cases


def run(options: Any, report: Report) -> None:
    """Print hits and seconds of all contenders."""
    warnings.filterwarnings("ignore")
    others, missing = peers()
    contenders = {"polymeans": ours, **others}
    for title, cases in (
        ("sets with clusters", generated()),
        ("sets without clusters: none is right", without_clusters()),
    ):
        _table(report, title, cases, contenders, options, "; ".join(missing))
    if options.data is None:
        print("20 Newsgroups needs --data DIR: the folder with 20newsgroups.npz\n")
        return
    note = (
        f"samples of {DOCUMENTS} documents; ClustPy takes dense rows only: it gets {DIRECTIONS} "
        "singular directions, found in its time"
    )
    _table(report, "documents", documents(options.data), contenders, options, note)


def _table(
    report: Report,
    title: str,
    cases: list[Case],
    contenders: dict[str, Callable[[Any, Any, int], int | None]],
    options: Any,
    note: str,
) -> None:
    cases = [case for case in cases if options.only in case.title]
    n_seeds = options.repeats
    if not cases:
        return
    lines, hits, seconds = [], dict.fromkeys(contenders, 0), dict.fromkeys(contenders, 0.0)
    for number, case in enumerate(cases):
        line: dict[str, Any] = {"rows": case.title, "k": "none" if case.k is None else case.k}
        for name, choose in contenders.items():
            right = 0
            for seed in range(n_seeds):
                X = case.make(np.random.default_rng([number, seed]))
                began = time.perf_counter()
                try:
                    with threadpool_limits(1):
                        answer = choose(X, case.estimator, seed)
                except (ValueError, TypeError, MemoryError):
                    answer = -1
                seconds[name] += time.perf_counter() - began
                right += answer == case.k
            hits[name] += right
            line[name] = f"{right}/{n_seeds}"
        lines.append(line)
        print(f"  {case.title}: {', '.join(f'{n} {line[n]}' for n in contenders)}", flush=True)
    total = n_seeds * len(cases)
    lines.append({"rows": "all", "k": ""} | {n: f"{hits[n]}/{total}" for n in contenders})
    lines.append(
        {"rows": "seconds for each", "k": ""} | {n: f"{seconds[n] / total:.2f}" for n in contenders}
    )
    report.table(title, lines, note)
