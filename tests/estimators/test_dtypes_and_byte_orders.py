"""float32 stays float32: at any scale, in any byte order and in any container."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = {
    "KMeans": KMeans(3, random_state=0),
    "KMeans, cosine": KMeans(3, metric="cosine", random_state=0),
    "KhatriRaoKMeans": KhatriRaoKMeans((2, 2), random_state=0, effort=0.1),
    "QuickKMeans": QuickKMeans(4, random_state=0),
    "QuickKMeans, means": QuickKMeans(4, centers="means", random_state=0),
    "L1KMeans": L1KMeans(3, random_state=0),
    "NonRedundantKMeans": NonRedundantKMeans((2, 2), random_state=0, effort=0.1),
    "TransformedKMeans": TransformedKMeans(3, random_state=0, n_init=1),
    "TransformedKMeans, spherical": TransformedKMeans(3, metric="cosine", random_state=0, n_init=1),
    "TransformedKMeans, cg": TransformedKMeans(
        3, embedding=None, solver="cg", random_state=0, n_init=1
    ),
}


def rows(scale=1.0):
    X = np.random.default_rng(0).normal(size=(60, 8)) + 2.0
    return (np.where(X > 1.5, X, 0.0) * scale).astype(np.float32)


@pytest.mark.parametrize("scale", [1.0, 1e20, 1e-26])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("name", MODELS)
def test_float32_stays_float32(name, container, scale):
    X = container(rows(scale))
    model = clone(MODELS[name]).fit(X)
    assert model.cluster_centers_.dtype == np.float32
    assert np.isfinite(model.cluster_centers_).all()
    if "cg" not in name:
        assert model.transform(X).dtype == np.float32


def in_other_order(X):
    """The same rows in a byte order that is not this machine's."""
    other = X.dtype.newbyteorder("S")
    if not sp.issparse(X):
        return X.astype(other)
    X = X.copy()
    X.data = X.data.astype(other)  # scipy makes no such matrices, but works with them
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("name", MODELS)
def test_the_byte_order_does_not_matter(name, container, dtype):
    X = container(rows().astype(dtype))
    other = in_other_order(X)
    assert not other.dtype.isnative
    expected, model = (clone(MODELS[name]).fit(each) for each in (X, other))
    assert model.cluster_centers_.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(model.predict(other), expected.predict(X))
    assert model.score(other) == expected.score(X) if "cg" not in name else True
    assert not other.dtype.isnative  # the caller's array is as it was
