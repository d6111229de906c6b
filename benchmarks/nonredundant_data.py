"""Data with several clusterings, and data with none: what the non-redundant benchmark runs on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import load
from polymeans.datasets import make_nonredundant

Labeled = tuple[np.ndarray, np.ndarray]  #: rows and the known labelings, one column for each


def whitened(X: np.ndarray, n_components: int) -> np.ndarray:
    """The first principal components, each with variance one."""
    centered = X - X.mean(axis=0)
    left = np.linalg.svd(centered, full_matrices=False)[0][:, :n_components]
    return left * np.sqrt(len(X))


def _file(name: str) -> Callable[[Path | None], Labeled]:
    def make(folder: Path | None) -> Labeled:
        file = load(folder, name)
        return file["X"].astype(np.float64), file["y"].astype(np.int64)

    return make


def _with_xor(make: Callable[[Path | None], Labeled]) -> Callable[[Path | None], Labeled]:
    """Two labelings by two: which of them agree is a third one, just as good."""

    def made(folder: Path | None) -> Labeled:
        X, y = make(folder)
        return X, np.column_stack([y, y[:, 0] ^ y[:, 1]])

    return made


def _views(seed: int, **options: Any) -> Labeled:
    return make_nonredundant(random_state=seed, **options)[:2]


def _drawn(**options: Any) -> Callable[[Path | None], Labeled]:
    return lambda folder: _views(0, **options)


# --- given numbers of clusters ---------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Rows and the numbers of clusters to fit; figures of the papers are pair-F1 and VI."""

    name: str
    sizes: tuple[int, ...]
    make: Callable[[Path | None], Labeled]
    whiten: int | None = None
    n_seeds: int = 10
    peer_inits: tuple[int, ...] = (10,)  #: restarts ClustPy is given
    original: str = ""
    reimplementation: str = ""

    @property
    def title(self) -> str:
        """What ``--only`` is looked for in."""
        return f"fits {self.name} {self.sizes}"


_ALOI = _file("aloi_small")

#: Centers wherever they fall, so that clusters overlap.
_HARD: dict[str, Any] = {"n_samples": 1500, "n_clusters": (3, 4, 5), "separation": None}
_FIVE = (3, 3, 4, 6, 2)

CASES = [
    Case(
        "stickfigures",
        (3, 3),
        _file("stickfigures"),
        n_seeds=20,
        original="1.00/2.20",
        reimplementation="0.97/0.52",
    ),
    Case("nrletters", (6, 3, 4), _file("nrletters"), n_seeds=20, peer_inits=(1, 10)),
    Case("aloi_small", (2, 2), _ALOI, original="0.77/0.95", reimplementation="0.93/0.33"),
    Case(
        "aloi_small whitened",
        (2, 2),
        _ALOI,
        whiten=8,
        original="1.00/1.39",
        reimplementation="0.64/0.63",
    ),
    Case("aloi_small whitened, xor", (2, 2, 2), _with_xor(_ALOI), whiten=8),
    # Ten restarts of ClustPy take more than a quarter of an hour here.
    Case("cmu_faces", (20, 4, 4, 2), _file("cmu_faces"), peer_inits=(1,)),
    Case("fruit", (3, 3), _file("fruit")),
    Case("made, 8 noise", (3, 4, 5), _drawn(**_HARD, n_noise=8)),
    Case("made, 500 rows, 30 noise", (3, 4, 5), _drawn(**{**_HARD, "n_samples": 500}, n_noise=30)),
    Case("made, scales 6 1 .5", (3, 4, 5), _drawn(**_HARD, n_noise=8, scales=(6.0, 1.0, 0.5))),
    Case("made, five views", _FIVE, _drawn(**{**_HARD, "n_clusters": _FIVE}, n_noise=20)),
]


# --- numbers of clusters to be found ---------------------------------------------------------


@dataclass(frozen=True)
class Hidden:
    """Rows, drawn anew for each seed unless from a file, and what should be found in them."""

    name: str
    sizes: tuple[int, ...]
    make: Callable[[Path | None, int], np.ndarray]
    resolution: float = 0.1
    or_warning: bool = False  #: whether a warning is as good an answer

    @property
    def title(self) -> str:
        """What ``--only`` is looked for in."""
        return f"auto {self.name}"

    @property
    def expected(self) -> str:
        """For the table."""
        return shown(self.sizes) + (" or warning" if self.or_warning else "")


def shown(sizes: tuple[int, ...]) -> str:
    """Numbers of clusters as text."""
    return " ".join(map(str, sizes)) or "nothing"


def _same(name: str) -> Callable[[Path | None, int], np.ndarray]:
    return lambda folder, seed: _file(name)(folder)[0]


def _anew(draw: Callable[[int], Any]) -> Callable[[Path | None, int], np.ndarray]:
    def make(folder: Path | None, seed: int) -> np.ndarray:
        made = draw(seed)
        return made[0] if isinstance(made, tuple) else made

    return make


def _gaussian(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((1500, 12)) * np.linspace(5, 1, 12)


def _uniform(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=(1500, 6))


def _student(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_t(5, size=(1500, 8))


def _exponential(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).exponential(size=(1500, 8))


HIDDEN = [
    Hidden("stickfigures", (3, 3), _same("stickfigures")),
    Hidden("nrletters", (6, 3, 4), _same("nrletters")),
    Hidden("made, 8 noise", (3, 4, 5), _anew(partial(_views, n_samples=1500, n_noise=8))),
    Hidden(
        "made, 500 rows, 30 noise", (3, 4, 5), _anew(partial(_views, n_samples=500, n_noise=30))
    ),
    Hidden("one view", (5,), _anew(partial(_views, n_clusters=5, n_dims=3, n_noise=8))),
    Hidden("Gaussian", (), _anew(_gaussian)),
    Hidden("uniform", (), _anew(_uniform)),
    Hidden("Student t5", (), _anew(_student), or_warning=True),
    Hidden("exponential", (), _anew(_exponential), or_warning=True),
]


def hidden(name: str) -> Hidden:
    """The one of that name, for a process of its own."""
    return next(case for case in HIDDEN if case.name == name)


# --- growth ----------------------------------------------------------------------------------

#: Rows and features of each measurement.
GROWTH: dict[str, list[tuple[int, int]]] = {
    "n": [(1000 * 2**i, 100) for i in range(7)],
    "d": [(4000, 50 * 2**i) for i in range(7)],
}
GROWTH_SIZES = (3, 4, 5)


def growing(n: int, d: int) -> np.ndarray:
    """Three views in d dimensions; not rotated, which costs no method anything."""
    n_noise = d - 2 * len(GROWTH_SIZES)
    return make_nonredundant(n, GROWTH_SIZES, n_noise=n_noise, rotate=False, random_state=0)[0]
