"""Nested clusterings for rising numbers of clusters."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from polymeans import KMeans
from polymeans.selection.path import nested_path
from polymeans.selection.points import Points


def clusterings(X, values, cosine=False):
    return list(nested_path(Points(X, cosine, 1), values, 0))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_labels_centroids_and_inertia_agree(make):
    X = np.random.default_rng(0).random((150, 5))
    for k, found in zip(range(1, 8), clusterings(make(X), range(1, 8)), strict=True):
        assert len(found.centers) == k
        squares = ((X[:, None] - found.centers) ** 2).sum(axis=2)
        assert (
            squares.argmin(axis=1) == found.labels
        ).mean() > 0.98  # the last shift may move some
        assert found.inertia == pytest.approx(squares.min(axis=1).sum(), rel=2e-2)


@pytest.mark.parametrize("seed", range(5))
def test_nested_clusterings_are_as_good_as_many_starts(seed):
    X, _ = make_blobs(400, centers=9, n_features=3, cluster_std=1.0, random_state=seed)
    for k, found in zip(range(2, 13), clusterings(X, range(2, 13)), strict=True):
        best = KMeans(k, n_init=20, random_state=0, n_threads=1).fit(X).inertia_
        assert found.inertia <= 1.05 * best


def test_many_features_and_directions():
    X = np.random.default_rng(0).random((120, 100))
    assert [len(one.centers) for one in clusterings(X, [2, 5, 9])] == [2, 5, 9]
    found = clusterings(sp.csr_array(X), [3, 6], cosine=True)
    assert [len(one.centers) for one in found] == [3, 6]
    assert np.linalg.norm(found[0].centers, axis=1) == pytest.approx(np.ones(3))


def test_values_may_be_far_apart():
    X = np.random.default_rng(0).random((500, 2))
    assert [len(one.centers) for one in clusterings(X, [3, 40, 100])] == [3, 40, 100]


def test_equal_rows_cannot_be_divided():
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 10, axis=0)
    assert [len(one.centers) for one in clusterings(X, [1, 2, 3, 4])] == [1, 2]
