"""What the tests of NonRedundantKMeans compute row by row, and what every fit must fulfil."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from tests.oracles import views_cost

SIZES = [(3, 4), (2, 2), (2, 3, 3), (4,)]
KINDS = pytest.mark.parametrize("kind", ["float64", "float32", "csr"])


def spaces_of(model):
    """Columns of the rotation that belong to each view."""
    edges = np.cumsum((0, *model.n_dims_))
    return [model.rotation_[:, lo:hi] for lo, hi in itertools.pairwise(edges)]


def direct_cost(model, X, weights=None):
    X = X.toarray() if sp.issparse(X) else X
    return views_cost(
        X.astype(np.float64),
        model.labels_per_view_,
        [centers.astype(np.float64) for centers in model.centroids_per_view_],
        spaces_of(model),
        model.mean_.astype(np.float64),
        weights,
    )


def same_bits(one, other):
    for name in ("labels_per_view_", "rotation_", "mean_", "explained_variance_ratio_"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for a, b in zip(one.centroids_per_view_, other.centroids_per_view_):
        assert_array_equal(a, b)
    assert one.inertia_ == other.inertia_
    assert_array_equal(one.history_["inertia"], other.history_["inertia"])


def assert_sound(model, n, d):
    """Shapes agree, directions are orthonormal, and everything is a number."""
    m = sum(model.n_dims_)
    assert model.rotation_.shape == (d, m)
    assert_allclose(model.rotation_.T @ model.rotation_, np.eye(m), atol=1e-10, rtol=0)
    assert model.labels_per_view_.shape == (n, model.n_views_)
    assert model.labels_per_view_.dtype == model.labels_.dtype == np.int32
    assert model.explained_variance_ratio_.shape == (model.n_views_,)
    assert (model.explained_variance_ratio_ >= 0).all()
    assert model.explained_variance_ratio_.sum() <= 1 + 100 * np.finfo(model.mean_.dtype).eps
    for k, centers in zip(model.n_clusters_, model.centroids_per_view_):
        assert centers.shape == (k, d)
        assert np.isfinite(centers).all()
    for value in (model.rotation_, model.mean_, model.explained_variance_ratio_, model.inertia_):
        assert np.isfinite(value).all()
    assert np.isfinite(model.history_["inertia"]).all()


def whitened(model, X):
    """Rows in the coordinates they are clustered in."""
    X = X.toarray() if sp.issparse(X) else X
    return (X.astype(np.float64) - model.mean_.astype(np.float64)) @ model.whitening_


def whitened_cost(model, X, weights=None):
    return views_cost(
        whitened(model, X),
        model.labels_per_view_,
        [whitened(model, centers) for centers in model.centroids_per_view_],
        spaces_of(model),
        np.zeros(model.whitening_.shape[1]),
        weights,
    )


def of_kind(X, kind):
    return {"float64": X, "float32": X.astype(np.float32), "csr": sp.csr_array(X)}[kind]
