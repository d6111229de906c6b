"""The same rows in memory and in files of every format, and estimators that fit both."""

import numpy as np
import scipy.sparse as sp

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)
from polymeans.blocks import from_sequence

#: Estimators with starts that blocks and memory have in common.
MODELS = {
    "kmeans": lambda **o: KMeans(9, init="k-means||", **o),
    "cosine": lambda **o: KMeans(9, metric="cosine", init="k-means||", **o),
    "l1": lambda **o: L1KMeans(6, init="k-means||", **o),
    "quick": lambda **o: QuickKMeans(9, init="k-means||", **o),
    "sum": lambda **o: KhatriRaoKMeans((3, 4), effort=0.02, **o),
    "product": lambda **o: KhatriRaoKMeans((3, 4), aggregator="product", effort=0.02, **o),
    "views": lambda **o: NonRedundantKMeans((3, 2), effort=0.1, **o),
    "whitened views": lambda **o: NonRedundantKMeans((3, 2), whiten=True, effort=0.1, **o),
    "cut or svd": lambda **o: TransformedKMeans(4, n_init=2, **o),
    "svd": lambda **o: TransformedKMeans(4, n_init=2, embedding="svd", **o),
}


def rows(kind, n=300):
    """Overlapping clusters with duplicates, away from the origin; text-like for CSR."""
    rng = np.random.default_rng(0)
    if kind.startswith("csr"):
        X = sp.random(n, 40, 0.15, "csr", random_state=0)
        X.data[:] = np.round(X.data, 3) + 1e-3
        return sp.csr_array(X.astype(np.float32) if kind == "csr32" else X)
    X = rng.normal(size=(n, 5)) + 4 * rng.integers(0, 3, size=(n, 1)) + 3
    X[::20] = X[3]
    return X.astype(kind)


class Counted:
    """Blocks that count how often each of them is read, and fail where they are told to."""

    def __init__(self, X, cuts, weights=None):
        self.parts = np.split(np.arange(X.shape[0]), cuts)
        self.X, self.weights = X, weights
        self.n_samples, self.n_features = X.shape
        self.dtype, self.is_sparse = X.dtype, sp.issparse(X)
        self.sizes = tuple(len(part) for part in self.parts)
        self.reads = []
        self.interrupt_at = None

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, i):
        if len(self.reads) == self.interrupt_at:
            raise KeyboardInterrupt
        self.reads.append(i)
        block = self.X[self.parts[i]]
        if not self.is_sparse:
            block = block.copy()
        return block if self.weights is None else (block, self.weights[self.parts[i]])


def uneven(X, weights=None):
    """Blocks of very different sizes."""
    return Counted(X, [1, 2, 90, 91, 250], weights)


def vectors(model):
    if isinstance(model, KhatriRaoKMeans):
        return np.concatenate(model.protocentroids_)
    if isinstance(model, QuickKMeans):
        return np.concatenate([factor.toarray().ravel() for factor in model.factors_])
    if isinstance(model, NonRedundantKMeans):
        return np.concatenate(
            [part.ravel() for part in (*model.centroids_per_view_, model.rotation_)]
        )
    return model.cluster_centers_


def assert_same_bits(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(vectors(one), vectors(other))
    assert one.inertia_ == other.inertia_
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_array_equal(one.history_["inertia"], other.history_["inertia"])
    np.testing.assert_array_equal(one.history_["n_moved"], other.history_["n_moved"])


def in_sequence(X, block_rows=37, **options):
    return from_sequence(X, block_rows=block_rows, **options)
