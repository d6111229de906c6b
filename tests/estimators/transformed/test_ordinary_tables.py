"""Defaults on tables as people have them: in any units, with clusters of any common shape."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from polymeans import KMeans, TransformedKMeans


def oblique_streaks(seed=0, n_dims=2):
    rng = np.random.default_rng(seed)
    known = np.repeat([0, 1, 2], 100)
    X = rng.normal(size=(300, n_dims)) * 0.3
    X[:, 0] *= 33
    X[:, 1] += 3 * known
    return X @ np.linalg.qr(rng.normal(size=(n_dims, n_dims)))[0], known


def common_shape(seed=0):
    """Four clusters that an invertible matrix has made elongated."""
    rng = np.random.default_rng(seed)
    known = np.repeat(np.arange(4), 80)
    X = rng.normal(size=(320, 8)) + 3 * rng.normal(size=(4, 8))[known]
    left, _, right = np.linalg.svd(rng.normal(size=(8, 8)))
    return X @ (left * np.geomspace(1, 30, 8)) @ right, known


def round_clusters():
    return make_blobs(400, 8, centers=5, random_state=0, cluster_std=3)


def other_units():
    X, known = make_blobs(600, 6, centers=3, random_state=5, cluster_std=2)
    return X * np.geomspace(1e-3, 1e3, 6), known


def noise_beside():
    X, known = make_blobs(400, 3, centers=4, random_state=3, cluster_std=1.2)
    return np.hstack([X, np.random.default_rng(0).normal(size=(400, 20))]), known


TABLES = {
    "wine": load_wine(return_X_y=True),
    "iris": load_iris(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "streaks": oblique_streaks(),
    "common shape": common_shape(),
    "round": round_clusters(),
    "other units": other_units(),
    "noise beside": noise_beside(),
}


def agreement(known, labels):
    return normalized_mutual_info_score(known, labels)


def scores(name):
    """Of our default, of k-means and of a Gaussian mixture, all with ten starts."""
    X, known = TABLES[name]
    k = len(np.unique(known))
    ours = TransformedKMeans(k, random_state=0).fit(X)
    plain = KMeans(k, n_init=10, random_state=0).fit(X)
    mixture = GaussianMixture(k, n_init=10, random_state=0).fit(X)
    assert ours.embedding_ == "white"
    return tuple(
        agreement(known, labels) for labels in (ours.labels_, plain.labels_, mixture.predict(X))
    )


def test_default_is_the_best_of_three_on_tables():
    found = {name: scores(name) for name in TABLES}
    ours, plain, mixture = np.array(list(found.values())).T
    assert ours.mean() > plain.mean() + 0.15, found
    assert ours.mean() > mixture.mean() + 0.1, found
    assert (ours > plain - 0.01).all(), found  # nowhere worse than k-means
    assert (ours > mixture - 0.06).all(), found


@pytest.mark.parametrize("name", ["wine", "iris", "breast cancer"])
def test_scaling_the_features_first_changes_no_label(name):
    X, known = TABLES[name]
    k = len(np.unique(known))
    raw = TransformedKMeans(k, random_state=0).fit(X)
    scaled = TransformedKMeans(k, random_state=0).fit(StandardScaler().fit_transform(X))
    units = TransformedKMeans(k, random_state=0).fit(X * np.geomspace(1e-6, 1e6, X.shape[1]))
    assert_array_equal(raw.labels_, scaled.labels_)
    assert_array_equal(raw.labels_, units.labels_)
    assert_allclose([scaled.objective_, units.objective_], raw.objective_, rtol=1e-6)
    assert_allclose(raw.rho_, 0.01 * len(X), rtol=1e-12)


def test_correlations_change_nothing_once_labels_are_given():
    X, known = TABLES["iris"]
    mixed = X @ np.random.default_rng(0).normal(size=(4, 4)) + 100
    one, other = (TransformedKMeans(3, init=known).fit(rows) for rows in (X, mixed))
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.objective_, other.objective_, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_elongated_clusters_are_found(seed):
    X, known = oblique_streaks(seed)
    assert adjusted_rand_score(known, TransformedKMeans(3, random_state=seed).fit_predict(X)) == 1


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_white_coordinates_have_variance_one(container):
    X, _ = TABLES["wine"]
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    rows = container(X)
    model = TransformedKMeans(3, random_state=0).fit(rows, sample_weight=weights)
    white = model._space.coordinates(rows)
    scatter = (white * weights[:, None]).T @ white
    assert_allclose(scatter, weights.sum() * np.eye(13), atol=1e-6 * weights.sum())
    centered = X - np.average(X, axis=0, weights=weights)
    inside = model.transform(rows)
    assert_allclose(inside, centered @ model.components_.T, rtol=1e-6, atol=1e-8)
    away = ((inside[:, None] - model.centroids_in_space_) ** 2).sum(axis=2)
    assert_array_equal(away.argmin(axis=1), model.labels_)


def test_a_constant_feature_is_left_out():
    X, _ = TABLES["iris"]
    more = np.column_stack([X, np.full(len(X), 0.1)])
    plain, with_it = (TransformedKMeans(3, random_state=0).fit(rows) for rows in (X, more))
    assert with_it.n_components_ == plain.n_components_ == 4
    assert_array_equal(plain.labels_, with_it.labels_)


def test_auto_whitens_tables_and_not_pictures_or_numbers_with_units():
    X, _ = TABLES["wine"]
    kinds = {
        "few rows": TransformedKMeans(3, random_state=0).fit(X[::2]).embedding_,
        "a number": TransformedKMeans(3, rho=1.0, random_state=0).fit(X).embedding_,
        "lam": TransformedKMeans(3, lam=1.0, random_state=0).fit(X).embedding_,
        "components": TransformedKMeans(3, n_components=4, random_state=0).fit(X).embedding_,
        "asked for": TransformedKMeans(3, embedding="white", rho=1.0).fit(X).embedding_,
    }
    assert kinds == {
        "few rows": "svd",
        "a number": "svd",
        "lam": "svd",
        "components": "svd",
        "asked for": "white",
    }


def test_a_kernel_has_no_features_to_whiten():
    with pytest.raises(ValueError, match=r'embedding="white".*kernel.*Use embedding="svd"'):
        TransformedKMeans(3, kernel="rbf", embedding="white").fit(TABLES["iris"][0])
