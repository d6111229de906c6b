"""Data for benchmarks: the papers' sets from a folder, and rows made on the spot."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.harness import MissingRequirementError


def load(folder: Path | None, name: str) -> Any:
    """One of the papers' data sets."""
    if folder is None:
        raise MissingRequirementError(
            f"needs the data set {name}.npz; pass its folder with --data DIR "
            "(CSR: data, indices, indptr, shape; dense: X)."
        )
    path = folder / f"{name}.npz"
    if not path.exists():
        raise MissingRequirementError(
            f"{path} does not exist; --data must name a folder that holds {name}.npz."
        )
    return np.load(path)


def tfidf(folder: Path | None, name: str) -> sp.csr_matrix:
    """Documents as tf-idf with sublinear counts, rows of length one, float64."""
    file = load(folder, name)
    counts = sp.csr_matrix(
        (file["data"].astype(np.float64), file["indices"].astype(np.int32), file["indptr"]),
        shape=tuple(file["shape"]),
    )
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    X.sort_indices()
    return X


def mixture(n: int, d: int, k: int, seed: int = 0) -> np.ndarray:
    """float32 rows with overlapping clusters and a spectrum that decays, as real features do."""
    rng = np.random.default_rng(seed)
    shape = rng.standard_normal((d, d)) / np.sqrt(d) * np.exp(-np.arange(d) / (d / 4))[:, None]
    centers = rng.standard_normal((k // 2, d))
    rows = centers[rng.integers(0, k // 2, n)] + rng.standard_normal((n, d))
    return (rows @ shape).astype(np.float32)


def noise(n: int, d: int, seed: int = 0) -> np.ndarray:
    """float32 rows without any structure: the worst case for every bound."""
    return np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)
