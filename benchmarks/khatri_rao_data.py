"""The data sets of the Khatri-Rao paper, prepared as its experiments do, with its figures."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs, make_classification
from sklearn.model_selection import train_test_split

from benchmarks.data import load


@dataclass(frozen=True)
class Case:
    """One row of Table 2: sizes of the two sets, and inertia over that of k-means(h1 h2)."""

    name: str
    sizes: tuple[int, int]
    make: Callable[[Path | None], tuple[np.ndarray, np.ndarray]]
    paper_sum: float | None
    paper_product: float | None
    paper_ari: tuple[float, float] | None = None  #: of sum and product


def standardized(X: np.ndarray) -> np.ndarray:
    """Columns less their mean, over their deviation."""
    X = X.astype(np.float64)
    return (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-8)


def scaled(X: np.ndarray) -> np.ndarray:
    """Everything over the largest value."""
    return X / np.float64(X.max())


def _file(name: str, prepare: Callable[[np.ndarray], np.ndarray]) -> Callable:
    def make(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
        file = load(folder, name)
        return prepare(file["X"]), file["y"]

    return make


def _first_label(make: Callable) -> Callable:
    def first(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
        X, y = make(folder)
        return X, y[:, 0]

    return first


def _stickfigures(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    file = load(folder, "stickfigures")
    return scaled(file["X"]), file["y"] @ [3, 1]


def _mnist(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    file = load(folder, "mnist")
    X, _, y, _ = train_test_split(
        file["X"], file["y"], train_size=25000, stratify=file["y"], random_state=42
    )
    return scaled(X).astype(np.float32), y


def _double_mnist(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    file = load(folder, "mnist")
    rng = np.random.RandomState(42)
    left, right = rng.randint(len(file["X"]), size=(2, 10000))
    X = np.hstack([file["X"][left], file["X"][right]])
    return scaled(X).astype(np.float32), 10 * file["y"][left].astype(int) + file["y"][right]


def _blobs(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(5000, centers=100, n_features=2, random_state=42)
    return standardized(X), y


def _classification(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        5000,
        n_features=10,
        n_informative=10,
        n_redundant=0,
        n_classes=100,
        n_clusters_per_class=1,
        random_state=42,
    )
    return standardized(X), y


CASES = [
    Case("Blobs", (10, 10), _blobs, 1.45, 1.34, (0.236, 0.242)),
    Case("R15", (3, 5), _file("r15", standardized), 3.44, 1.68, (0.787, 0.919)),
    Case("Chameleon", (2, 5), _file("chameleon_t7_10k", standardized), 1.07, 1.06, (0.318, 0.307)),
    Case("Soybean", (3, 5), _file("soybean_large", standardized), 1.49, 1.29, (0.331, 0.368)),
    Case("Stickfigures", (3, 3), _stickfigures, 1.00, 4.79, (1.0, 0.885)),
    Case("optdigits", (2, 5), _file("optdigits", standardized), 1.12, 1.07, (0.477, 0.457)),
    Case("Symbols", (2, 3), _file("symbols", standardized), 1.52, 1.35, (0.459, 0.693)),
    Case("Classification", (10, 10), _classification, 1.12, 1.10, (0.041, 0.044)),
    Case(
        "CMU faces",
        (4, 5),
        _first_label(_file("cmu_faces", standardized)),
        1.52,
        1.52,
        (0.414, 0.463),
    ),
    Case("Olivetti", (5, 8), _file("olivetti", standardized), 1.34, 1.41, (0.248, 0.239)),
    Case("MNIST", (2, 5), _mnist, 1.05, 1.07, (0.298, 0.309)),
    Case("Double MNIST", (10, 10), _double_mnist, 1.16, 1.07, (0.109, 0.068)),
]
