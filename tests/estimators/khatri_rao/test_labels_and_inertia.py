"""Labels, vectors and inertia of KhatriRaoKMeans against slow and obvious versions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.codebooks.aggregation import combine, digits_of
from tests.estimators.khatri_rao.checks import AGGREGATORS, SIZES, one_step, starting_sets
from tests.oracles import inertia, nearest


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_labels_are_those_of_brute_force(blobs, aggregator, sizes, dtype):
    X = blobs[:400].astype(dtype)
    start = starting_sets(X, sizes, aggregator)
    model = KhatriRaoKMeans(sizes, aggregator=aggregator, init=start).fit(X)
    C = combine([theta.astype(np.float64) for theta in model.protocentroids_], aggregator)
    assert_array_equal(model.labels_, nearest(X.astype(np.float64), C))
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.inertia_, inertia(X.astype(np.float64), C, model.labels_), rtol=1e-6)
    assert_allclose(model.inertia_, -model.score(X), rtol=1e-6)
    assert_allclose(model.cluster_centers_, C, rtol=1e-5, atol=1e-6)
    assert model.cluster_centers_.dtype == dtype


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_inertia_never_rises(blobs, aggregator, sizes):
    start = starting_sets(blobs, sizes, aggregator, seed=1)
    model = KhatriRaoKMeans(sizes, aggregator=aggregator, init=start, tol=0).fit(blobs)
    history = model.history_["inertia"]
    assert len(history) > 3
    assert (np.diff(history) <= 1e-10 * history[0]).all()
    assert model.inertia_ <= history[-1] * (1 + 1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_joint_solve_is_least_squares(blobs, sizes, weighted):
    X = blobs[:300]
    weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float) if weighted else None
    start = starting_sets(X, sizes, "sum", seed=3)
    labels, expected = one_step(X, start, "sum", weights)
    # Nobody to be relocated, which would be another problem.
    assert all(len(np.unique(d)) == h for d, h in zip(digits_of(labels, sizes), sizes))
    model = KhatriRaoKMeans(sizes, init=start, max_iter=1, tol=0)
    model.fit(X, sample_weight=weights)
    C = model.cluster_centers_
    assert_allclose(inertia(X, C, labels, weights), expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sizes", [(4, 5), (3, 2, 4), (40, 30)])
def test_streamed_products_equal_stored_ones(blobs, sizes, dtype):
    X = blobs.astype(dtype)
    start = starting_sets(X, sizes, "product")
    fits = [
        KhatriRaoKMeans(
            sizes, aggregator="product", init=start, store_centroids=stored, max_iter=8
        ).fit(X)
        for stored in (True, False)
    ]
    assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert_allclose(fits[0].inertia_, fits[1].inertia_, rtol=1e-9)
    assert_array_equal(fits[0].predict(X), fits[1].predict(X))
    for one, other in zip(fits[0].protocentroids_, fits[1].protocentroids_):
        assert_allclose(one, other, rtol=1e-4 if dtype == np.float32 else 1e-9, atol=1e-6)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_one_set_is_plain_kmeans(blobs, aggregator):
    ours = KhatriRaoKMeans((12,), aggregator=aggregator, random_state=3).fit(blobs)
    plain = KMeans(12, random_state=3).fit(blobs)
    assert_array_equal(ours.labels_, plain.labels_)
    assert_array_equal(ours.cluster_centers_, plain.cluster_centers_)
    assert ours.inertia_ == plain.inertia_
    assert_array_equal(ours.predict(blobs), plain.predict(blobs))
    given = KhatriRaoKMeans(12, init=[blobs[:12]]).fit(blobs)
    assert_array_equal(given.labels_, KMeans(12, init=blobs[:12]).fit(blobs).labels_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_sparse_equals_dense(documents, aggregator, container, dtype):
    X = container(documents[:800]).astype(dtype)
    rng = np.random.default_rng(0)
    start = [rng.random((h, X.shape[1])).astype(dtype) * scale for h, scale in ((3, 0.1), (4, 1.0))]
    if aggregator == "sum":
        start = starting_sets(X, (3, 4), aggregator)
    sparse = KhatriRaoKMeans((3, 4), aggregator=aggregator, init=start, max_iter=15).fit(X)
    dense = KhatriRaoKMeans((3, 4), aggregator=aggregator, init=start, max_iter=15)
    dense.fit(X.toarray())
    assert_array_equal(sparse.labels_, dense.labels_)
    assert_allclose(sparse.inertia_, dense.inertia_, rtol=1e-6)
    assert_array_equal(sparse.predict(X), sparse.labels_)
    assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_features_new_sparse_rows_lack_still_count(documents, aggregator):
    model = KhatriRaoKMeans((3, 3), aggregator=aggregator, random_state=0, effort=0.1)
    model.fit(documents)
    few = documents[:40]
    assert (np.asarray(few.sum(axis=0)).ravel() == 0).any()
    assert_array_equal(model.predict(few), model.predict(few.toarray()))
