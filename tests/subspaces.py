"""Rows with labels, and orthogonal subspaces, for the tests of several clusterings."""

import numpy as np
from numpy.testing import assert_allclose

from polymeans.codebooks.orthogonal import basis_of, make_views
from polymeans.kernels.view_descent import (
    Sample,
    weighted_means,
)
from tests.oracles import mean_of


def random_rows(sizes, n=80, d=9, seed=0):
    """Rows, labels in views that have nothing to do with them, and weights, some of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(1, 3, d)
    labels = np.stack([rng.permutation(n) % k for k in sizes]).astype(np.int32)
    weights = rng.integers(0, 4, n).astype(float)
    return X, labels, weights


def means_of(X, labels, sizes, weights):
    """What the kernels call weighted means, and the masses of the clusters."""
    means = np.empty((sum(sizes), X.shape[1]))
    masses = np.empty(sum(sizes))
    starts = np.cumsum([0, *sizes]).astype(np.int64)
    centered = np.ascontiguousarray(X - mean_of(X, weights))
    weighted_means(Sample(centered, weights), labels, starts, means, masses)
    return means, masses


def random_views(sizes, d, seed=0):
    """Orthogonal subspaces without meaning, as large as they may be."""
    views = make_views(sizes, d)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    used = 0
    for s, k in enumerate(sizes):
        m = min(k - 1, d - used)
        views.basis[views.places[s] : views.places[s] + m] = Q[:, used : used + m].T
        views.dims[s] = m
        used += m
    return views


def copy_of(views):
    return views._replace(dims=views.dims.copy(), basis=views.basis.copy())


def columns(views, chosen=None):
    """Basis vectors of some views, or of all, as columns."""
    chosen = range(len(views.dims)) if chosen is None else chosen
    parts = [basis_of(views, s) for s in chosen]
    return np.concatenate([np.zeros((0, views.basis.shape[1])), *parts]).T


def assert_orthonormal(V, atol=1e-10):
    assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=atol, rtol=0)
