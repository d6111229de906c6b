"""Documents with known classes: what the benchmark of transformed k-means runs on.

The papers' collections as counts of words, subsets of their classes, and the two steps before
clustering: tf-idf, and an embedding of few dimensions made here from scratch, so that k-means can
be asked in the space that transformed k-means uses.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds
from sklearn.preprocessing import normalize

from benchmarks.data import load
from polymeans.datasets import make_documents

SIZES = (2, 4, 6, 8, 10)  #: numbers of classes, as in the paper
MOST_ROWS = 3000  #: of a subset
FEWEST_OF_CLASS = 10  #: documents; classes with fewer are not drawn

Labeled = tuple[sp.csr_matrix, np.ndarray]  #: rows and their classes


@dataclass(frozen=True)
class Collection:
    """A file of documents, and the purities the paper prints for its SIZES."""

    name: str
    file: str
    paper: tuple[float, ...]
    most_of_class: int | None = None  #: documents of a class in a subset
    whole: bool = True  #: whether all of it is clustered, too

    def counts(self, folder: Path | None) -> Labeled:
        """How often each word is in each document, and the documents' classes."""
        file = load(folder, self.file)
        counts = sp.csr_matrix(
            (file["data"].astype(np.float64), file["indices"].astype(np.int32), file["indptr"]),
            shape=tuple(file["shape"]),
        )
        return counts, file["y"].astype(np.int64)


COLLECTIONS = [
    Collection("TDT2", "tdt2", (1.0, 1.0, 0.9971, 0.9901, 0.9854)),
    Collection(
        "Reuters-21578", "reuters21578", (0.9912, 0.9061, 0.8995, 0.9524, 0.8331), whole=False
    ),
    # The paper's purities are multiples of 1/(300 k): 300 documents of each class.
    Collection("20 Newsgroups", "20newsgroups", (0.9233, 0.8575, 0.9028, 0.8859, 0.9100), 300),
]


def collection(file: str) -> Collection:
    """The one of that file, for a process of its own."""
    return next(one for one in COLLECTIONS if one.file == file)


def asked_for(part: str, options: Any) -> list[Collection]:
    """Those whose title, such as "subsets tdt2", contains what --only says."""
    return [one for one in COLLECTIONS if options.only.lower() in f"{part} {one.file}"]


def tf_idf(counts: sp.csr_matrix, y: np.ndarray) -> Labeled:
    """``count · ln(n / n_w)`` in rows of length one; words and documents without any are gone.

    n_w is the number of documents that have the word, among those given.
    """
    n_with_word = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log(counts.shape[0] / np.maximum(n_with_word, 1))
    X = sp.csr_matrix(counts @ sp.diags(idf))
    X.eliminate_zeros()  # words that are in every document
    full = np.diff(X.indptr) > 0
    X = X[full]
    X = X[:, np.bincount(X.indices, minlength=X.shape[1]) > 0]
    X.sort_indices()
    return normalize(X), y[full]


def subset(counts: sp.csr_matrix, y: np.ndarray, k: int, seed: int, most: int | None) -> Labeled:
    """tf-idf of the documents of k classes drawn at random; the same for the same seed."""
    rng = np.random.default_rng([k, seed])
    names, sizes = np.unique(y, return_counts=True)
    chosen = rng.choice(names[sizes >= FEWEST_OF_CLASS], k, replace=False)
    rows = np.concatenate([_some(rng, np.flatnonzero(y == name), most) for name in chosen])
    rows = np.sort(_some(rng, rows, MOST_ROWS))
    return tf_idf(counts[rows], y[rows])


def _some(rng: np.random.Generator, rows: np.ndarray, most: int | None) -> np.ndarray:
    if most is None or len(rows) <= most:
        return rows
    return rng.choice(rows, most, replace=False)


def cut_embedding(X: sp.csr_matrix, r: int) -> np.ndarray:
    """Rows on the r leading right singular vectors of ``diag(g)^-1/2 X``, brought to length one.

    g are the degrees of the documents, ``X Xᵀ 1``: the embedding of the normalized cut.
    """
    degrees = X @ np.asarray(X.sum(axis=0)).ravel()
    scaled = sp.diags(1 / np.sqrt(degrees)) @ X
    start = np.random.default_rng(0).uniform(-1, 1, min(X.shape))
    right = svds(scaled, min(r, min(X.shape) - 1), v0=start)[2]
    return normalize(X @ right.T)


# --- growth ----------------------------------------------------------------------------------

GROWTH_TOPICS = 10
GROWTH_ROWS, GROWTH_FEATURES = 4000, 8000  #: of what does not grow

#: Rows and features of each measurement.
GROWTH: dict[str, list[tuple[int, int]]] = {
    "n": [(1000 * 2**i, GROWTH_FEATURES) for i in range(5)],
    "d": [(GROWTH_ROWS, 2000 * 2**i) for i in range(6)],
}


def growing(n: int, d: int) -> sp.csr_array:
    """Documents about ten topics."""
    return make_documents(n, d, GROWTH_TOPICS, random_state=0)[0]
