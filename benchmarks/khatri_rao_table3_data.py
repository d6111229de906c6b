"""The Khatri-Rao paper's Table 3 as printed, and data sets that nothing was tuned on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from benchmarks.data import load
from benchmarks.khatri_rao_data import scaled, standardized
from polymeans.datasets import (
    make_colored_letters,
    make_double_digits,
    make_khatri_rao,
    make_stick_figures,
)

#: ARI, ACC and NMI as the paper prints them.
Scores = tuple[float, float, float]


@dataclass(frozen=True)
class Printed:
    """One row of Table 3: best of 20 runs, scored by labels of free centroids."""

    idec: Scores
    khatri_rao_idec: Scores
    dkm: Scores
    khatri_rao_dkm: Scores
    parameters: float  #: of the Khatri-Rao models over those of the free ones

    def of(self, method: str) -> Scores:
        """The figures of a class of polymeans.deep."""
        return {
            "IDEC": self.idec,
            "KhatriRaoIDEC": self.khatri_rao_idec,
            "DKM": self.dkm,
            "KhatriRaoDKM": self.khatri_rao_dkm,
        }[method]


PRINTED = {
    "MNIST": Printed(
        (0.616, 0.771, 0.682),
        (0.630, 0.746, 0.712),
        (0.574, 0.718, 0.693),
        (0.645, 0.788, 0.719),
        0.74,
    ),
    "Double MNIST": Printed(
        (0.174, 0.285, 0.532),
        (0.180, 0.292, 0.536),
        (0.178, 0.295, 0.537),
        (0.201, 0.330, 0.553),
        0.79,
    ),
    "Olivetti": Printed(
        (0.399, 0.517, 0.746),
        (0.371, 0.510, 0.734),
        (0.437, 0.570, 0.769),
        (0.387, 0.542, 0.736),
        0.88,
    ),
    "CMU faces": Printed(
        (0.564, 0.646, 0.782),
        (0.648, 0.707, 0.823),
        (0.690, 0.761, 0.852),
        (0.525, 0.631, 0.743),
        0.66,
    ),
    "Symbols": Printed(
        (0.655, 0.684, 0.779),
        (0.689, 0.722, 0.798),
        (0.662, 0.693, 0.786),
        (0.711, 0.746, 0.813),
        0.47,
    ),
    "Stickfigures": Printed(
        (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), 0.47
    ),
    "optdigits": Printed(
        (0.688, 0.809, 0.751),
        (0.645, 0.775, 0.721),
        (0.634, 0.733, 0.742),
        (0.681, 0.774, 0.766),
        0.22,
    ),
    "Classification": Printed(
        (0.032, 0.124, 0.336),
        (0.007, 0.070, 0.245),
        (0.044, 0.144, 0.369),
        (0.040, 0.133, 0.356),
        0.16,
    ),
    "Chameleon": Printed(
        (0.321, 0.466, 0.564),
        (0.312, 0.415, 0.550),
        (0.329, 0.474, 0.589),
        (0.319, 0.476, 0.540),
        0.15,
    ),
    "Soybean": Printed(
        (0.391, 0.562, 0.657),
        (0.451, 0.617, 0.696),
        (0.373, 0.546, 0.661),
        (0.445, 0.635, 0.693),
        0.19,
    ),
    "Blobs": Printed(
        (0.182, 0.214, 0.597),
        (0.188, 0.239, 0.609),
        (0.226, 0.314, 0.653),
        (0.215, 0.307, 0.650),
        0.15,
    ),
    "R15": Printed(
        (0.986, 0.993, 0.988),
        (0.989, 0.995, 0.991),
        (0.830, 0.850, 0.926),
        (0.993, 0.997, 0.994),
        0.15,
    ),
}


@dataclass(frozen=True)
class Elsewhere:
    """Rows with classes that no constant was chosen on."""

    name: str
    sizes: tuple[int, ...]
    make: Callable[[Path | None], tuple[np.ndarray, np.ndarray]]


def _bundled(loader: Callable, prepare: Callable) -> Callable:
    def make(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
        X, y = loader(return_X_y=True)
        return prepare(X), y

    return make


def _swiss_roll(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    X, along = datasets.make_swiss_roll(2000, noise=0.3, random_state=0)
    edges = np.quantile(along, [1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6])
    return standardized(X), np.digitize(along, edges)


def _rings(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(2400) % 4
    angle = rng.uniform(0, 2 * np.pi, len(y))
    radius = 1.0 + y + 0.08 * rng.normal(size=len(y))
    return standardized(np.c_[radius * np.cos(angle), radius * np.sin(angle)]), y


def _moons(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    parts = [datasets.make_moons(600, noise=0.06, random_state=seed) for seed in (0, 1)]
    X = np.concatenate([rows + [0.0, 3.0 * i] for i, (rows, _) in enumerate(parts)])
    return standardized(X), np.concatenate([y + 2 * i for i, (_, y) in enumerate(parts)])


def _made(maker: Callable, *arguments: Any, **options: Any) -> Callable:
    def make(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
        X, labels, *_ = maker(*arguments, **options, random_state=0)
        labels = np.asarray(labels)
        if labels.ndim == 2:
            _, labels = np.unique(labels, axis=0, return_inverse=True)
        return X, labels.ravel()

    return make


def _fashion(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    file = load(folder, "fashion_mnist")
    first = np.concatenate([np.flatnonzero(file["y"] == label)[:400] for label in range(10)])
    return scaled(file["X"][first]).astype(np.float32), file["y"][first]


def _coil(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    file = load(folder, "coil20")
    return scaled(file["X"]), np.asarray(file["y"]).ravel()


ELSEWHERE = [
    Elsewhere("digits", (2, 5), _bundled(datasets.load_digits, lambda X: X / 16)),
    Elsewhere("wine", (1, 3), _bundled(datasets.load_wine, standardized)),
    Elsewhere("iris", (1, 3), _bundled(datasets.load_iris, standardized)),
    Elsewhere("breast cancer", (1, 2), _bundled(datasets.load_breast_cancer, standardized)),
    Elsewhere("swiss roll, 6 parts", (2, 3), _swiss_roll),
    Elsewhere("four rings", (2, 2), _rings),
    Elsewhere("two pairs of moons", (2, 2), _moons),
    Elsewhere("make_stick_figures", (3, 3), _made(make_stick_figures)),
    Elsewhere("make_khatri_rao", (4, 5), _made(make_khatri_rao, 2000, (4, 5), 8, noise=0.2)),
    Elsewhere("make_colored_letters", (3, 4, 6), _made(make_colored_letters, 1500)),
    Elsewhere("make_double_digits", (10, 10), _made(make_double_digits, 3000)),
    Elsewhere("Fashion-MNIST 4000", (2, 5), _fashion),
    Elsewhere("COIL-20", (4, 5), _coil),
]
