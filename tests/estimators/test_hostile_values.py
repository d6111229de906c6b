"""Rows far out, values at the ends of their type's range, rows far from zero: labels stay right."""

import warnings

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

MODELS = [
    KMeans(8, random_state=0),
    KMeans(8, random_state=0, algorithm="elkan"),
    KMeans(8, random_state=0, algorithm="lazy"),
    KhatriRaoKMeans((2, 4), random_state=0, effort=0.1),
    KhatriRaoKMeans((2, 4), aggregator="product", random_state=0, effort=0.1),
    QuickKMeans(8, random_state=0),
    L1KMeans(8, random_state=0),
    NonRedundantKMeans((3, 2), random_state=0, effort=0.1),
]
every_model = pytest.mark.parametrize(
    "model", MODELS, ids=lambda m: f"{type(m).__name__}-{getattr(m, 'algorithm', '')}"
)
containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n=300, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@every_model
@containers
@pytest.mark.parametrize("value", [1e300, 1e200, -1e160, 1e30])
def test_a_huge_row_changes_no_other_label(model, container, value):
    X = rows()
    expected = model.fit(container(X)).predict(container(X))
    np.testing.assert_array_equal(expected, model.labels_)
    together = np.vstack([X, np.full((1, 5), value)])
    np.testing.assert_array_equal(model.predict(container(together))[:-1], expected)


@containers
def test_a_huge_row_among_many_changes_no_other_label(container):
    X = rows(20_000, 8).astype(np.float32)
    model = KMeans(20, random_state=0, max_iter=5).fit(container(X))
    expected = model.predict(container(X))
    together = np.vstack([X, np.full((1, 8), 3e38, dtype=np.float32)])
    np.testing.assert_array_equal(model.predict(container(together))[:-1], expected)


@every_model
@containers
@pytest.mark.parametrize("value", [1e200, 1e30])
def test_a_huge_row_without_weight_changes_nothing(model, container, value):
    X = rows(60, 4)
    model.fit(container(X))
    labels, inertia = model.labels_.copy(), model.inertia_
    together = container(np.vstack([X, np.full((1, 4), value)]))
    model.fit(together, sample_weight=np.r_[np.ones(60), 0.0])
    np.testing.assert_array_equal(model.labels_[:-1], labels)
    assert model.inertia_ == pytest.approx(inertia, rel=1e-9)


@pytest.mark.parametrize("algorithm", ["lloyd", "lazy", "elkan"])
@pytest.mark.parametrize("value", [1e300, 1e20])
def test_a_huge_constant_column_changes_nothing(algorithm, value):
    X = rows(60, 4)
    start = X[:8]
    plain = KMeans(8, init=start, algorithm=algorithm, tol=0).fit(X)
    wide = np.c_[X, np.full(60, value)]
    model = KMeans(8, init=np.c_[start, np.full(8, value)], algorithm=algorithm, tol=0).fit(wide)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.cluster_centers_[:, :4], plain.cluster_centers_, rtol=1e-12)
    assert model.inertia_ == pytest.approx(plain.inertia_, rel=1e-12)


@every_model
@containers
@pytest.mark.parametrize("value", [2.0**47, 2.0**531, 2.0**664])  # whose means are not rounded
def test_inertia_is_minus_score_beside_a_huge_constant_column(model, container, value):
    X = container(np.c_[rows(60, 5), np.full(60, value)])
    model = clone(model).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert -model.score(X) == pytest.approx(model.inertia_, rel=1e-9)
    if not isinstance(model, L1KMeans):  # whose centroids cannot reach that far
        scatter = np.sum((rows(60, 5) - rows(60, 5).mean(axis=0)) ** 2)
        assert 0 < model.inertia_ < 1.2 * scatter


@containers
@pytest.mark.parametrize("value", [2.0**47, 2.0**66, 2.0**332])
def test_factors_keep_clusters_apart_beside_a_huge_constant_column(container, value):
    X = container(np.c_[rows(60, 5), np.full(60, value)])
    model = QuickKMeans(4, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 4
    assert model.inertia_ == pytest.approx(model.kmeans_inertia_, rel=0.01)


@containers
@pytest.mark.parametrize("algorithm", ["lloyd", "lazy", "elkan"])
def test_a_huge_row_gets_a_cluster_and_leaves_the_others_their_digits(container, algorithm):
    X = np.vstack([rows(80, 4), np.full((1, 4), 1e200)])
    model = KMeans(6, init=X[-6:], algorithm=algorithm, tol=0).fit(container(X))
    rest = KMeans(5, init=X[-6:-1], algorithm=algorithm, tol=0).fit(container(X[:-1]))
    np.testing.assert_array_equal(model.labels_[:-1], rest.labels_)
    assert model.labels_[-1] == 5
    np.testing.assert_allclose(model.cluster_centers_[:5], rest.cluster_centers_, rtol=1e-12)
    assert model.inertia_ == pytest.approx(rest.inertia_, rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e21])
def test_products_of_float32_csr_rows_are_the_same_in_fit_and_predict(scale):
    X = sp.csr_matrix(np.array([[0, 1, 0], [1, 1, 0], [1, 1, 0]], np.float32) * np.float32(scale))
    weights = (8595.27833459, 1548.10670862, 7107.0043537)
    for seed in range(20):
        model = KhatriRaoKMeans(
            (2, 3, 4), aggregator="product", init="naive", random_state=seed, n_threads=1
        ).fit(X, sample_weight=weights)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


@containers
@pytest.mark.parametrize("offset", [1e7, 1e8, 1e12])
@pytest.mark.parametrize("algorithm", ["lloyd", "lazy", "elkan"])
def test_rows_far_from_zero(container, offset, algorithm):
    X = rows(200, 5) + offset
    model = KMeans(5, random_state=0, algorithm=algorithm).fit(container(X))
    squares = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(squares.argmin(axis=1), model.labels_)
    assert model.inertia_ == pytest.approx(squares.min(axis=1).sum(), rel=1e-9)
    assert model.inertia_ == pytest.approx(KMeans(5, random_state=0).fit(X).inertia_, rel=1e-6)
    assert (model.history_["inertia"] >= model.inertia_ * (1 - 1e-9)).all()


@containers
def test_distances_are_as_careful_as_labels(container):
    X = 1e8 + 0.05 * rows(200, 5)
    model = KMeans(5, random_state=0).fit(container(X))
    distances = model.transform(container(X))
    expected = np.sqrt(((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2))
    np.testing.assert_allclose(distances, expected, rtol=1e-9)
    np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)


@containers
@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e20, "float32"), (1e300, "float64"), (1e-310, "f8")]
)
def test_distances_of_extreme_rows_are_finite(container, scale, dtype):
    X = (rows(100, 5) * scale).astype(dtype)
    model = KMeans(5, random_state=0).fit(container(X))
    distances = model.transform(container(X))
    assert distances.dtype == X.dtype
    assert np.isfinite(distances).all()
    np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)


@every_model
@containers
@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e308, np.float64), (1e150, np.float64), (3e38, np.float32)]
)
def test_values_near_the_largest_float(model, container, scale, dtype):
    X = (np.random.default_rng(1).uniform(-1, 1, size=(60, 4)) * scale).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model.fit(container(X))
        np.testing.assert_array_equal(model.predict(container(X)), model.labels_)
        score = model.score(container(X))
    assert np.isfinite(model.cluster_centers_).all()
    assert not np.isnan(model.inertia_)
    assert score == pytest.approx(-model.inertia_, rel=1e-6)


@every_model
def test_weights_too_far_apart_are_refused(model):
    with pytest.raises(ValueError, match="sample_weight ranges from 1e-70 to 1"):
        model.fit(rows(20, 3), sample_weight=np.r_[1e-70, np.ones(19)])


@every_model
@containers
def test_weights_of_unlike_size(model, container):
    X, weights = rows(40, 3), 10.0 ** np.random.default_rng(2).uniform(100, 150, 40)
    model.fit(container(X), sample_weight=weights)
    np.testing.assert_array_equal(model.predict(container(X)), model.labels_)
    assert np.isfinite(model.history_["inertia"]).all()


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_of_float32_stay_float32(frame):
    module = pytest.importorskip(frame)
    X = module.DataFrame(dict(zip("abc", rows(30, 3).T.astype(np.float32))))
    model = KMeans(3, random_state=0).fit(X)
    assert model.cluster_centers_.dtype == np.float32
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.transform(X).dtype == np.float32


@pytest.mark.parametrize(
    "model",
    [TransformedKMeans(3, random_state=0), NonRedundantKMeans((3, 2), random_state=0, effort=0.1)],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e160, 1e300])
def test_distances_in_learned_spaces_at_any_magnitude(model, scale):
    X = rows() * scale
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = model.fit(X).distances(X)
        model.transform(X)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found.argmin(axis=1), model.labels_)
    expected = np.median(clone(model).fit(rows()).distances(rows()))
    # Lengths in the space of TransformedKMeans have no unit, the others that of the features.
    unit = 1.0 if isinstance(model, TransformedKMeans) else scale
    np.testing.assert_allclose(np.median(found / unit), expected, rtol=0.5)


def test_rows_at_their_own_centers_have_no_inertia_beyond_the_largest_number():
    X = rows(9, 2)
    X *= 1.7e308 / np.abs(X).max()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = TransformedKMeans(9, random_state=0).fit(X)
        assert not np.isnan(model.transform(X)).any()
        assert not np.isnan(model.distances(X)).any()
    assert model.inertia_ == 0.0
    assert model.score(X) == 0.0
    assert not np.isnan(model.history_["inertia"]).any()


def test_distances_in_a_view_without_directions():
    model = NonRedundantKMeans((2,), random_state=0).fit(np.zeros((5, 1)))
    np.testing.assert_array_equal(model.distances(np.zeros((5, 1))), np.zeros((5, 2)))


def test_centers_of_views_beyond_the_largest_number_are_refused():
    rng = np.random.default_rng(0)
    X = (rng.uniform(-1, 1, (60, 19)) * 3.4e38).astype(np.float32)
    weights = 10.0 ** rng.uniform(-30, 0, 60)
    model = NonRedundantKMeans((4, 3, 4), n_init=1, random_state=0, effort=0.02)
    with pytest.raises(ValueError, match=r"Centers of the views .* Divide X"):
        model.fit(X, sample_weight=weights)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_distances_in_a_view_whose_coordinates_leave_the_range():
    X = np.array([[-1.66e308], [0.0], [1.768e308], [-9.534e307]])
    model = NonRedundantKMeans((4,), random_state=34).fit(X)
    distances = model.distances(X)
    assert not np.isnan(distances).any()
    np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)
    # One row has one centroid: the distance to it is zero, to others that of the rows.
    with np.errstate(over="ignore"):  # a distance beyond the largest number is infinite
        expected = 4 * np.abs(X / 4 - model.cluster_centers_.T / 4)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
