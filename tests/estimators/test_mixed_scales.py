"""Rows of very different scales in one matrix: labels, relocation and stopping stay the same."""

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans import KhatriRaoKMeans, KMeans, NonRedundantKMeans

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array])


@containers
@pytest.mark.parametrize("seed", range(6))
def test_products_beside_a_huge_row_are_the_same_in_fit_and_predict(container, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 7))
    X[rng.integers(20)] = 1e180 * rng.normal(size=7)
    model = KhatriRaoKMeans((3, 1, 3), aggregator="product", init="random", random_state=seed)
    model.set_params(n_init=1).fit(container(X))
    np.testing.assert_array_equal(model.predict(container(X)), model.labels_)


@pytest.mark.parametrize(("seed", "refused"), [(34, True), (38, True), (69, True), (0, False)])
def test_products_near_the_largest_number_are_right_or_refused(seed, refused):
    X = 4e307 * np.random.default_rng(seed).uniform(-1, 1, size=(11, 6))
    model = KhatriRaoKMeans((1, 3, 2), aggregator="product", init="k-means++", random_state=seed)
    if refused:
        with pytest.raises(ValueError, match="exceed the largest float64 number"):
            model.fit(X)
        assert not hasattr(model, "labels_")
    else:
        model.fit(X)
        assert np.isfinite(model.cluster_centers_).all()
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(("seed", "refused"), [(117, True), (172, True), (195, True), (0, False)])
def test_views_near_the_largest_number_are_right_or_refused(seed, refused):
    rng = np.random.default_rng(seed)
    X = (3.3e38 * rng.uniform(-1, 1, size=(19, 5))).astype(np.float32)
    labels = rng.integers(0, 3, size=(19, 2))
    model = NonRedundantKMeans((3, 3), init=labels, max_iter=15, tol=0.0, random_state=0)
    if refused:
        with pytest.raises(ValueError, match="exceed the largest float32 number"):
            model.fit(X)
    else:
        model.fit(X)
        assert all(np.isfinite(centers).all() for centers in model.centroids_per_view_)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@containers
@pytest.mark.parametrize("scale", [1e-300, 1e-244])
def test_a_huge_row_without_weight_leaves_tiny_rows_their_digits(container, scale):
    rng = np.random.default_rng(0)
    X = scale * rng.normal(size=(40, 2))
    weights = rng.uniform(0.5, 2.0, 40)
    start = X[:6]
    alone = KMeans(6, init=start).fit(container(X), sample_weight=weights)
    together = container(np.vstack([X, np.full((1, 2), 1e110)]))
    model = KMeans(6, init=start).fit(together, sample_weight=np.r_[weights, 0.0])
    assert alone.n_iter_ > 1
    np.testing.assert_array_equal(model.labels_[:-1], alone.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, alone.cluster_centers_)
    np.testing.assert_array_equal(model.predict(together), model.labels_)


@pytest.mark.parametrize("seed", [15, 54, 65, 116])
def test_stopping_does_not_depend_on_whether_squares_overflow(seed):
    """In the unit of the middle entry squares of the largest are infinite, or not."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (7, 6)) * 10.0 ** rng.uniform(-140, 130, (7, 6))
    counts = 2 ** rng.integers(0, 3, 7)
    weighted = KMeans(3, init=X[:3], max_iter=8).fit(X, sample_weight=counts.astype(float))
    repeated = KMeans(3, init=X[:3], max_iter=8).fit(np.repeat(X, counts, axis=0))
    assert weighted.n_iter_ == repeated.n_iter_
    np.testing.assert_array_equal(weighted.cluster_centers_, repeated.cluster_centers_)
