"""QuickKMeans: what is exact, what never rises, what fits into the budget, and poor input."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning

from polymeans import KMeans, QuickKMeans
from polymeans.factorization import guaranteed_n_nonzeros
from tests import oracles


@pytest.fixture(scope="module")
def digits():
    return load_digits().data


@pytest.fixture(scope="module")
def model(digits):
    return QuickKMeans(40, n_nonzeros=900, random_state=0).fit(digits)


# --- what the attributes promise ---------------------------------------------------------------


def assert_consistent(model, X, weights=None):
    """Labels, centroids, factors and inertia say the same."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    product = model.factors_[0].astype(np.float64).toarray()
    for factor in model.factors_[1:]:
        product = product @ factor.toarray()
    table = (model.offset_ + product).astype(dense.dtype)
    assert_allclose(
        model.operator_.toarray() + model.offset_, table, atol=1e-6 * np.abs(table).max()
    )
    if model.centers == "factored":
        assert_allclose(model.cluster_centers_, table, atol=1e-6 * np.abs(table).max())
    assert_array_equal(model.predict(X), model.labels_)
    wide = dense.astype(np.float64)
    distances = ((wide[:, None] - table.astype(np.float64)) ** 2).sum(axis=2)
    own = distances[np.arange(len(dense)), model.labels_]
    assert (own <= distances.min(axis=1) + 1e-6 * (wide**2).sum(axis=1).max()).all()
    centers = model.cluster_centers_.astype(np.float64)
    expected = oracles.inertia(wide, centers, model.labels_, weights)
    assert model.inertia_ == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert model.n_nonzeros_ == sum(factor.nnz for factor in model.factors_)
    assert model.compression_ == pytest.approx(table.size / max(1, model.n_nonzeros_))
    steps = np.diff(model.history_["inertia"])
    assert (steps <= 1e-9 * model.history_["inertia"][0]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("offset", ["auto", "zero", "median"])
def test_everything_agrees(digits, dtype, container, offset):
    X = container(digits[:700].astype(dtype))
    model = QuickKMeans(30, n_nonzeros=700, offset=offset, random_state=0).fit(X)
    assert model.n_nonzeros_ <= 700
    assert all(factor.dtype == dtype for factor in model.factors_)
    assert model.cluster_centers_.dtype == dtype
    assert_consistent(model, X)


def test_loses_little_and_less_with_more_nonzeros(digits):
    ratios = []
    for n_nonzeros in (500, 900, 1500):
        model = QuickKMeans(40, n_nonzeros=n_nonzeros, random_state=0).fit(digits)
        ratios.append(model.inertia_ / model.kmeans_inertia_)
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[1] < 1.05
    assert ratios[2] < 1.01


def test_starts_from_converged_kmeans(digits, model):
    plain = KMeans(40, random_state=0).fit(digits)
    assert model.kmeans_inertia_ == pytest.approx(plain.inertia_)
    given = QuickKMeans(40, n_nonzeros=900, init=plain.cluster_centers_, random_state=0)
    assert given.fit(digits).kmeans_inertia_ == pytest.approx(plain.inertia_, rel=1e-3)


def test_sparsity_level_stands_for_what_the_paper_guarantees(digits):
    model = QuickKMeans(40, sparsity_level=3, random_state=0).fit(digits)
    budget = guaranteed_n_nonzeros(KMeans(40, random_state=0).fit(digits).cluster_centers_, 3)
    assert 0.98 * budget <= model.n_nonzeros_ <= budget


def test_exact_means_of_the_routed_rows(digits):
    factored = QuickKMeans(40, n_nonzeros=500, random_state=0).fit(digits)
    routed = clone(factored).set_params(centers="means").fit(digits)
    assert_array_equal(routed.labels_, factored.labels_)
    for j in np.unique(routed.labels_):
        mean = digits[routed.labels_ == j].mean(axis=0)
        assert_allclose(routed.cluster_centers_[j], mean, atol=1e-12)
    assert routed.inertia_ < factored.inertia_
    assert_consistent(routed, digits)
    assert routed.score(digits) == pytest.approx(-routed.inertia_)
    new = digits[::7] + 0.3
    assert_array_equal(routed.predict(new), factored.predict(new))


def test_without_refit_the_factors_are_those_of_kmeans(digits):
    model = QuickKMeans(40, n_nonzeros=900, refit=False, random_state=0).fit(digits)
    assert model.n_iter_ == 1
    fitted = QuickKMeans(40, n_nonzeros=900, random_state=0).fit(digits)
    assert fitted.history_["inertia"][0] == pytest.approx(model.inertia_)
    assert fitted.inertia_ <= model.inertia_
    assert_consistent(model, digits)


@pytest.mark.parametrize(("method", "n_factors"), [("select", 4), ("palm4msa", "auto")])
def test_chains_and_the_papers_method(digits, method, n_factors):
    model = QuickKMeans(
        30, sparsity_level=3, method=method, n_factors=n_factors, max_iter=6, random_state=0
    ).fit(digits)
    assert len(model.factors_) == (4 if n_factors == 4 else 6)
    assert_consistent(model, digits)
    two = QuickKMeans(30, n_nonzeros=model.n_nonzeros_, random_state=0).fit(digits)
    assert two.inertia_ < model.inertia_


def test_weights_are_repeated_rows(digits):
    X, weights = digits[:300], np.random.default_rng(0).integers(0, 4, 300).astype(float)
    start = KMeans(12, random_state=0).fit(X).cluster_centers_
    options = {"n_nonzeros": 300, "init": start, "random_state": 0}
    weighted = QuickKMeans(12, **options).fit(X, sample_weight=weights)
    assert_consistent(weighted, X, weights)
    repeated = QuickKMeans(12, **options).fit(np.repeat(X, weights.astype(int), axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=0.01)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_same_bits_for_any_number_of_threads(container):
    X = make_blobs(6000, 60, centers=50, random_state=0)[0].astype(np.float32)
    X = container(np.where(np.abs(X) < 4, 0, X).astype(np.float32))
    models = [
        QuickKMeans(50, n_nonzeros=1200, random_state=0, max_iter=2, n_threads=n).fit(X)
        for n in (1, 3)
    ]
    for other in models[1:]:
        assert_array_equal(models[0].labels_, other.labels_)
        assert models[0].inertia_ == other.inertia_
        assert_array_equal(models[0].cluster_centers_, other.cluster_centers_)


@pytest.mark.parametrize("assignment", ["factored", "dense"])
def test_predict_is_the_same_either_way(digits, model, assignment):
    other = pickle.loads(pickle.dumps(model))
    other.assignment_ = assignment
    X = np.tile(digits, (20, 1)) + np.random.default_rng(0).normal(size=(35940, 64))
    assert_array_equal(other.predict(X), model.predict(X))
    assert_array_equal(other.predict(sp.csr_array(digits)), model.labels_)
    assert_array_equal(other.predict(digits.astype(np.float32)), model.labels_)


def test_one_row_at_a_time(digits, model):
    for dtype in (np.float32, np.float64):
        fitted = QuickKMeans(20, n_nonzeros=500, offset="median", max_iter=3, random_state=0)
        X = digits.astype(dtype)
        fitted.fit(X)
        assert [fitted.predict_one(x) for x in X[:300]] == fitted.labels_[:300].tolist()


def test_nan_in_many_rows_is_refused(digits, model):
    X = np.tile(digits, (20, 1))
    X[-1, -1] = np.nan
    other = pickle.loads(pickle.dumps(model))
    other.assignment_ = "factored"
    with pytest.raises(ValueError, match="NaN"):
        other.predict(X)


@pytest.mark.parametrize("scale", [1e-200, 1e20, 1e200])
def test_new_rows_of_another_size(digits, model, scale):
    X = np.tile(digits, (20, 1)) * scale
    other = pickle.loads(pickle.dumps(model))
    other.assignment_ = "factored"
    assert_array_equal(other.predict(X), KMeans.predict(other, X))


def test_pickles_hold_factors_not_tables(model):
    copy = pickle.loads(pickle.dumps(model))
    assert copy._known_table is None
    assert_array_equal(copy.cluster_centers_, model.cluster_centers_)


def test_new_sparse_rows_may_lack_features(digits, model):
    X = np.where(np.arange(64) % 5 == 0, digits, 0.0)
    X = np.tile(X, (20, 1))
    other = pickle.loads(pickle.dumps(model))
    other.assignment_ = "factored"
    assert_array_equal(other.predict(sp.csr_array(X)), KMeans.predict(model, X))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_random_problems(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(8, 60), rng.integers(1, 12), rng.integers(1, 8)
    X = rng.normal(size=(n, d)) * rng.choice([1, 1e-6, 1e6]) + rng.choice([0, 5, 1e4])
    X[rng.random((n, d)) < rng.choice([0, 0.7])] = 0
    X = X.astype(rng.choice([np.float32, np.float64]))
    weights = None if rng.random() < 0.5 else rng.random(n) * (rng.random(n) < 0.8)
    if weights is not None and not weights.any():
        weights = None
    before = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = QuickKMeans(int(k), n_nonzeros=int(rng.integers(2, 40)), random_state=0)
        model.fit(X, sample_weight=weights)
    assert_array_equal(X, before)
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.inertia_)
    assert_array_equal(model.predict(X), model.labels_)
    scale = float((X.astype(np.float64) ** 2).sum(axis=1).max()) + 1e-300
    steps = np.diff(model.history_["inertia"])
    assert (steps <= 1e-9 * scale * n).all()


# --- poor input --------------------------------------------------------------------------------


def test_rows_that_are_all_alike():
    X = np.ones((20, 5))
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = QuickKMeans(3, n_nonzeros=10, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0, abs=1e-12)
    with pytest.warns(ConvergenceWarning):
        model = QuickKMeans(3, n_nonzeros=10, random_state=0).fit(np.zeros((20, 5)))
    assert not model.cluster_centers_.any()


@pytest.mark.parametrize("shape", [(30, 1), (1, 6), (2, 1)])
def test_one_row_or_one_feature(shape):
    X = np.random.default_rng(0).normal(size=shape)
    model = QuickKMeans(1, n_nonzeros=20, random_state=0).fit(X)
    assert model.predict(X).tolist() == [0] * len(X)
    expected = ((X - X.mean(axis=0)) ** 2).sum()
    assert model.inertia_ == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_extreme_size(digits, scale, dtype):
    X = (digits[:300] * scale).astype(dtype)
    model = QuickKMeans(10, n_nonzeros=300, random_state=0).fit(X)
    plain = QuickKMeans(10, n_nonzeros=300, random_state=0).fit(digits[:300])
    assert np.isfinite(model.cluster_centers_).all()
    assert_array_equal(model.predict(X), model.labels_)
    assert model.inertia_ / model.kmeans_inertia_ == pytest.approx(
        plain.inertia_ / plain.kmeans_inertia_, rel=0.05
    )


def test_a_level_beyond_the_data_becomes_dense_and_is_said_once():
    X = make_blobs(100, 4, centers=5, random_state=0)[0]
    with pytest.warns(UserWarning, match="sparsity_level=50") as said:
        model = QuickKMeans(5, sparsity_level=50, n_init=3, random_state=0).fit(X)
    assert len([w for w in said if "sparsity_level" in str(w.message)]) == 1
    assert model.inertia_ == pytest.approx(model.kmeans_inertia_, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sparsity_level": 0}, "sparsity_level"),
        ({"sparsity_level": 1.5}, "sparsity_level"),
        ({"n_nonzeros": 1}, "n_nonzeros"),
        ({"n_factors": 1}, "n_factors"),
        ({"n_factors": "three"}, "n_factors"),
        ({"method": "svd"}, "method"),
        ({"centers": "median"}, "centers"),
        ({"offset": "mean"}, "offset"),
        ({"offset": 3.0}, "offset"),
        ({"refit": "yes"}, "refit"),
        ({"effort": 0}, "effort"),
        ({"method": "palm4msa", "n_nonzeros": 50}, "n_nonzeros=50"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 1000}, "n_clusters=1000"),
        ({"tol": -1}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"init": "farthest"}, "init"),
    ],
)
def test_errors_name_what_is_wrong(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        QuickKMeans(**{"n_clusters": 4, **options}).fit(np.eye(30))


def test_centroids_are_there_after_fit_only():
    with pytest.raises(AttributeError, match="after fit"):
        _ = QuickKMeans().cluster_centers_


def test_empty_clusters_get_rows_if_that_helps():
    # Many tight clusters and too few non-zeros: some centroids end up where nobody is.
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 30)), 10, axis=0) + 0.01 * rng.normal(size=(400, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = QuickKMeans(40, n_nonzeros=150, random_state=0).fit(X)
    assert_consistent(model, X)


@pytest.mark.parametrize("options", [{}, {"method": "palm4msa"}, {"n_factors": 3}])
def test_weights_of_any_size(digits, options):
    X, rng = digits[:200], np.random.default_rng(0)
    for weights in (np.full(200, 1e300), 10.0 ** rng.uniform(-100, -41, 200)):
        model = QuickKMeans(6, max_iter=3, random_state=0, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, sample_weight=weights)
        assert np.abs(model.cluster_centers_).max() < 50
        assert model.n_iter_ <= 3


def test_names_of_features_are_asked_for_once(digits):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(digits, columns=[f"pixel{i}" for i in range(64)])
    model = QuickKMeans(10, n_nonzeros=300, random_state=0).fit(frame)
    with pytest.warns(UserWarning, match="feature names") as said:
        model.predict(digits)
    assert len(said) == 1


def test_warnings_point_at_the_call_of_fit():
    with pytest.warns(ConvergenceWarning, match="duplicate points") as caught:
        QuickKMeans(4, random_state=0).fit(np.ones((20, 3)))
    assert [Path(one.filename).name for one in caught] == [Path(__file__).name]
