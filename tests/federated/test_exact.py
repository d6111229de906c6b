"""The exact method returns the bits of a fit of all rows in one place."""

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans import KhatriRaoKMeans, KMeans, L1KMeans, QuickKMeans
from polymeans.federated import simulate


def rows_of(dtype=np.float32, n=420, d=9, seed=0):
    rng = np.random.default_rng(seed)
    centers = 4 * rng.normal(size=(12, d))
    X = centers[rng.integers(12, size=n)] + rng.normal(size=(n, d))
    return np.ascontiguousarray(X + 3, dtype=dtype)


def cut(X, n_sites, seed=0, sort_by=None):
    """Uneven sites; sorted rows leave some of them without some clusters."""
    if sort_by is not None:
        X = X[np.argsort(sort_by, kind="stable")]
    rng = np.random.default_rng(seed)
    n = X.shape[0]
    edges = np.sort(rng.choice(np.arange(5, n - 5), n_sites - 1, replace=False))
    return X, [X[lo:hi] for lo, hi in zip([0, *edges], [*edges, n])]


def spread_out(X, k, seed=1):
    X = X.toarray() if sp.issparse(X) else X
    return X[np.random.default_rng(seed).choice(len(X), k, replace=False)]


def estimators(X, tilt=0.3):
    start = spread_out(X, 6)
    sets = [start[:3], start[3:] - X.mean(axis=0)]
    tilts = np.random.default_rng(2).uniform(1 - tilt, 1 + tilt, start[3:].shape).astype(X.dtype)
    positive = [start[:3], tilts]
    three = [start[:2], start[2:4] - X.mean(axis=0), start[4:] - X.mean(axis=0)]
    return {
        "euclidean": KMeans(6, init=start),
        "cosine": KMeans(6, init=start, metric="cosine"),
        "sum": KhatriRaoKMeans((3, 3), init=sets),
        "product": KhatriRaoKMeans((3, 3), init=positive, aggregator="product"),
        "three sets": KhatriRaoKMeans((2, 2, 2), init=three),
        "l1": L1KMeans(6, init=start, n_nonzeros=25),
        "l1 radius": L1KMeans(6, init=start, radius=20.0),
        "quick": QuickKMeans(6, init=start, n_nonzeros=40, random_state=0),
    }


NAMES = list(estimators(rows_of()))
VECTORS = ("cluster_centers_", "protocentroids_", "factors_", "inertia_", "n_iter_")


def assert_same_model(model, central):
    for name in VECTORS:
        if name == "factors_" and hasattr(central, name):
            for ours, theirs in zip(model.factors_, central.factors_):
                assert (ours != theirs).nnz == 0
        elif hasattr(central, name):
            ours, theirs = getattr(model, name), getattr(central, name)
            for a, b in zip(np.atleast_1d(ours), np.atleast_1d(theirs)):
                np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_sites", [1, 3, 10])
def test_sites_give_the_bits_of_all_rows_in_one_place(name, n_sites):
    X = rows_of()
    X, sites = cut(X, n_sites, sort_by=X[:, 0])
    estimator = estimators(X)[name]
    run = simulate(estimator, sites)
    assert_same_model(run.model, estimator.fit(X))
    assert (run.history.n_sites == n_sites).all()
    assert not hasattr(run.model, "labels_")
    np.testing.assert_array_equal(run.model.predict(X), estimator.labels_)


@pytest.mark.parametrize("name", NAMES)
def test_bits_for_double_precision_and_weights(name):
    X = rows_of(np.float64)
    weights = np.random.default_rng(3).uniform(0.1, 3, len(X))
    estimator = estimators(X)[name]
    sites = [(X[i::3], weights[i::3]) for i in range(3)]
    central = estimator.fit(X, sample_weight=weights)
    assert_same_model(simulate(estimator, sites).model, central)


@pytest.mark.parametrize("name", ["euclidean", "cosine", "sum", "product", "l1"])
def test_bits_for_sparse_rows(name):
    X = np.maximum(rows_of() - 1, 0)
    sparse = sp.csr_array(X)
    estimator = estimators(X)[name]
    run = simulate(estimator, [sparse[:100], sparse[100:130], sparse[130:]])
    assert_same_model(run.model, estimator.fit(sparse))


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_bits_for_extreme_values(scale):
    X = (rows_of(np.float64) * scale).copy()
    estimator = KMeans(6, init=spread_out(X, 6))
    assert_same_model(simulate(estimator, [X[:50], X[50:]]).model, estimator.fit(X))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_far_from_the_origin(name, dtype):
    X = np.ascontiguousarray(rows_of() + 100, dtype=dtype)
    sites = [X[:50], X[50:]]
    estimator = estimators(X, tilt=0.01)[name]
    run = simulate(estimator, sites)
    assert "square_about" in run.history.kind or name == "cosine"
    assert "scatter" not in run.history.kind  # what is relocated is not
    assert_same_model(run.model, estimator.fit(X))


def test_the_order_of_sites_does_not_matter():
    X = rows_of()
    sites = [X[:50], X[50:300], X[300:]]
    estimator = estimators(X)["sum"]
    one = simulate(estimator, sites).model
    other = simulate(estimator, sites[::-1]).model
    assert_same_model(one, other)


@pytest.mark.parametrize("name", NAMES)
def test_masks_change_nothing(name):
    X = rows_of()
    sites = [X[:50], X[50:300], X[300:]]
    estimator = estimators(X)[name]
    run = simulate(estimator, sites, secure=True)
    assert_same_model(run.model, estimator.fit(X))


def test_sums_send_marginals_and_pairs_only():
    X = rows_of(d=40)
    h, rounds = 5, 4
    start = spread_out(X, 3 * h)
    sets = [start[:h], 0.1 * start[h : 2 * h], 0.1 * start[2 * h :]]
    estimator = KhatriRaoKMeans((h, h, h), init=sets)
    run = simulate(estimator, [X[:200], X[200:]], rounds=rounds)
    steps = run.history[run.history.kind == "step"]
    down = 3 * h * 40 * 4
    assert (steps.bytes_down[1:] < 2 * (down + 200)).all()
    up = 3 * h * 40 * 8 + 3 * h * h * 8
    assert (steps.bytes_up < 2 * (up + 1200)).all()
