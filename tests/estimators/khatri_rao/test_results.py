"""KhatriRaoKMeans: attributes, weights, threads, scales, and fits of any small rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs

from polymeans import KhatriRaoKMeans
from polymeans.codebooks.aggregation import combine, digits_of
from polymeans.datasets import make_khatri_rao
from tests.estimators.khatri_rao.checks import AGGREGATORS, SIZES, starting_sets


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_the_gauge_is_fixed(blobs, aggregator, sizes):
    weights = np.random.default_rng(1).random(len(blobs))
    start = starting_sets(blobs, sizes, aggregator)
    model = KhatriRaoKMeans(sizes, aggregator=aggregator, init=start, max_iter=5, tol=0)
    model.fit(blobs, sample_weight=weights)
    step = KhatriRaoKMeans(sizes, aggregator=aggregator, init=start, max_iter=4, tol=0)
    labels = step.fit(blobs, sample_weight=weights).labels_  # those the last refit was for
    for q, theta in enumerate(model.protocentroids_[1:], start=1):
        if aggregator == "sum":
            digit = digits_of(labels, sizes)[q]
            mass = np.bincount(digit, weights, minlength=len(theta))
            assert_allclose(mass @ theta / mass.sum(), 0.0, atol=1e-10)
        else:
            assert_allclose(np.sqrt((theta**2).mean(axis=0)), 1.0)
            assert (theta.sum(axis=0) >= 0).all()


def test_attributes_describe_each_other(blobs):
    model = KhatriRaoKMeans((3, 4, 2), init="residual", random_state=0).fit(blobs)
    assert model.n_clusters_ == 24
    assert model.cluster_centers_.shape == (24, blobs.shape[1])
    assert model.protolabels_.shape == (len(blobs), 3)
    codes = np.ravel_multi_index(tuple(model.protolabels_.T), (3, 4, 2))
    assert_array_equal(codes, model.labels_)
    assert_array_equal(model.predict_protolabels(blobs), model.protolabels_)
    assert model.n_parameters_ == 9 * blobs.shape[1]
    assert model.compression_ == 24 / 9
    assert "cluster_centers_" not in vars(model)
    assert model.transform(blobs).shape == (len(blobs), 24)
    assert_allclose(model.transform(blobs).min(axis=1) ** 2 @ np.ones(len(blobs)), model.inertia_)
    assert len(model.get_feature_names_out()) == 24


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_weights_count_like_repeated_rows(blobs, aggregator):
    X = blobs[:200]
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    start = starting_sets(X, (3, 4), aggregator)
    model = KhatriRaoKMeans((3, 4), aggregator=aggregator, init=start, max_iter=4, tol=0)
    weighted = clone(model).fit(X, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-9)
    assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_any_number_of_threads_gives_the_same_bits(aggregator):
    X, _ = make_blobs(6000, n_features=20, centers=30, random_state=0)
    fits = [
        KhatriRaoKMeans(
            (6, 7), aggregator=aggregator, effort=0.1, random_state=0, n_threads=n_threads
        ).fit(X)
        for n_threads in (1, 3)
    ]
    assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].inertia_ == fits[1].inertia_
    for one, other in zip(fits[0].protocentroids_, fits[1].protocentroids_):
        assert_array_equal(one, other)


@settings(max_examples=40, deadline=None)
@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(6, 30), st.integers(1, 4)),
        elements=st.floats(-5, 5, width=16) | st.sampled_from([0.0, 1.0, 1e6, -1e-6]),
    ),
    aggregator=st.sampled_from(AGGREGATORS),
    sizes=st.sampled_from([(2, 2), (2, 3), (1, 3), (2, 1, 2)]),
    init=st.sampled_from(["search", "residual", "k-means++", "random", "naive"]),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_but_numbers_comes_out(X, aggregator, sizes, init):
    before = X.copy()
    model = KhatriRaoKMeans(
        sizes, aggregator=aggregator, init=init, effort=0.02, n_init=1, random_state=0
    )
    model.fit(X)
    assert_array_equal(X, before)
    assert all(np.isfinite(theta).all() for theta in model.protocentroids_)
    assert np.isfinite(model.inertia_)
    C = combine(model.protocentroids_, aggregator)
    distances = ((X[:, None, :] - C[None]) ** 2).sum(axis=-1)
    own = distances[np.arange(len(X)), model.labels_]
    scale = 1e-9 * (1 + (X**2).sum(axis=1).max() + (C**2).sum(axis=1).max())
    assert (own <= distances.min(axis=1) + scale).all()
    assert abs(own.sum() - model.inertia_) <= scale * len(X)


def test_extreme_scales_are_no_trouble(blobs):
    for factor in (1e-150, 1e18, 1e150):
        for aggregator in AGGREGATORS:
            start = starting_sets(blobs, (3, 4), aggregator)
            plain = KhatriRaoKMeans((3, 4), aggregator=aggregator, init=start, max_iter=5)
            plain.fit(blobs)
            scaled = [theta.copy() for theta in start]
            for theta in scaled if aggregator == "sum" else scaled[:1]:
                theta *= factor
            far = clone(plain).set_params(init=scaled).fit(blobs * factor)
            assert_array_equal(far.labels_, plain.labels_)
            assert_allclose(far.protocentroids_[0], plain.protocentroids_[0] * factor, rtol=1e-6)


def test_sums_do_not_mind_a_large_offset():
    X, *_ = make_khatri_rao(600, (3, 4), 5, random_state=0)
    near = KhatriRaoKMeans((3, 4), random_state=0, effort=0.2).fit(X)
    far = KhatriRaoKMeans((3, 4), random_state=0, effort=0.2).fit(X + 1e6)
    assert_allclose(far.inertia_, near.inertia_, rtol=1e-4)
