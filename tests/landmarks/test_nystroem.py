"""Kernel features: explicit kernels as the oracle, transforms, conventions, bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import hadamard as hadamard_matrix
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances, laplacian_kernel, pairwise_kernels
from sklearn.pipeline import make_pipeline

from polymeans import KMeans
from polymeans.core.norms import squared_norms
from polymeans.kernel_approximation import ClusterNystroem, HadamardNystroem, nystroem_error
from polymeans.landmarks.hadamard import HadamardLandmarks
from polymeans.landmarks.kernel_features import KERNELS

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:n_components=.*is more than n_samples"),
]


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def landmarks(X, k, **parameters):
    return ClusterNystroem(clusterer=KMeans(k, random_state=0), **parameters).fit(X)


def kinds(X):
    return [X, X.astype(np.float32), sp.csr_matrix(X), sp.csr_array(X.astype(np.float32))]


# --- kernels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_features_are_those_of_the_explicit_kernel(blobs, kernel):
    parameters = {} if kernel in ("linear", "cosine") else {"gamma": 0.02}
    if kernel in ("poly", "polynomial"):
        parameters |= {"degree": 2, "coef0": 0.5}
    for X in kinds(blobs[:300] / 4):
        model = landmarks(X, 10, kernel=kernel, **parameters)
        dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        U = model.components_.astype(np.float64)
        C = pairwise_kernels(dense, U, metric=kernel, **parameters)
        W = pairwise_kernels(U, metric=kernel, **parameters)
        np.testing.assert_allclose(model.kernel_values(dense, U), C, atol=1e-10)
        Z = model.transform(X)
        assert Z.dtype == X.dtype
        assert Z.shape == (300, 10)
        if kernel != "sigmoid":  # has negative eigenvalues, which are left out
            single = X.dtype == np.float32
            expected = C @ np.linalg.pinv(W, rcond=1e-6 if single else 1e-12, hermitian=True) @ C.T
            scale = np.abs(expected).max()
            np.testing.assert_allclose(Z @ Z.T, expected, atol=(2e-3 if single else 1e-8) * scale)
        assert np.isfinite(Z).all()


def test_landmarks_are_represented_exactly(digits):
    X, _ = digits
    model = landmarks(X, 30, gamma="mean")
    Z = model.transform(model.components_)
    np.testing.assert_allclose(Z @ Z.T, model.kernel_values(model.components_), atol=1e-7)


def test_as_good_as_rows_at_random_or_better(digits):
    X, _ = digits
    model = landmarks(X, 40, gamma="mean")
    other = Nystroem(gamma=model.gamma_, n_components=40, random_state=0).fit(X)
    assert nystroem_error(X, model) < nystroem_error(X, other)


def test_all_rows_as_landmarks_are_the_kernel(blobs):
    X = blobs[:60]
    model = landmarks(X, 60, gamma="mean")
    assert nystroem_error(X, model) < 1e-6
    ours = ClusterNystroem(gamma=0.01, clusterer=KMeans(60, init=X)).fit(X)
    theirs = Nystroem(gamma=0.01, n_components=60, random_state=0).fit(X)
    Z = ours.transform(X)
    np.testing.assert_allclose(Z @ Z.T, theirs.transform(X) @ theirs.transform(X).T, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gamma(blobs, dtype):
    for X in (blobs.astype(dtype), sp.csr_matrix(blobs.astype(dtype))):
        model = landmarks(X, 4, gamma="mean")
        assert 1 / model.gamma_ == pytest.approx((euclidean_distances(blobs) ** 2).mean(), rel=1e-5)
        assert landmarks(X, 4).gamma_ == 1 / 12
        assert landmarks(X, 4, gamma=3).gamma_ == 3.0


def test_functions_of_two_sets_of_rows(blobs):
    X = blobs[:200]
    model = landmarks(X, 9, kernel=laplacian_kernel, kernel_params={"gamma": 0.02})
    C = laplacian_kernel(X, model.components_, gamma=0.02)
    W = laplacian_kernel(model.components_, gamma=0.02)
    Z = model.transform(X)
    np.testing.assert_allclose(Z @ Z.T, C @ np.linalg.inv(W) @ C.T, atol=1e-8)
    assert nystroem_error(X, model) < 1


def test_default_clusterer_goes_through_its_operator(digits, monkeypatch):
    X, _ = digits
    model = ClusterNystroem(gamma="mean", n_components=32, random_state=0).fit(X)
    clusterer = model.clusterer_
    assert type(clusterer).__name__ == "QuickKMeans"
    np.testing.assert_allclose(
        model.components_, clusterer.offset_ + clusterer.operator_.toarray(), atol=1e-10
    )
    calls = []
    products = type(clusterer.operator_).products
    monkeypatch.setattr(
        type(clusterer.operator_),
        "products",
        lambda self, *args, **options: calls.append(1) or products(self, *args, **options),
    )
    Z = model.transform(X)
    assert calls
    expected = pairwise_kernels(X, model.components_, metric="rbf", gamma=model.gamma_)
    np.testing.assert_allclose(Z, expected @ model.normalization_, atol=1e-8)
    plain = landmarks(X, 32, gamma="mean")
    assert nystroem_error(X, model) < 1.5 * nystroem_error(X, plain) + 0.01


@pytest.mark.parametrize("offset", ["zero", "median"])
def test_operators_with_an_offset(blobs, offset):
    from polymeans.quick import QuickKMeans

    for X in kinds(blobs[:500] + 3):
        clusterer = QuickKMeans(12, offset=offset, centers="means", random_state=0)
        model = ClusterNystroem(gamma="mean", clusterer=clusterer).fit(X)
        dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        expected = model.kernel_values(dense, model.components_)
        tolerance = 1e-3 if X.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(
            model._values_with_landmarks(X), expected, atol=tolerance, rtol=tolerance
        )


# --- never NaN ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_degenerate_rows(kernel):
    rng = np.random.default_rng(0)
    for X in (np.zeros((6, 3)), np.ones((6, 3)), rng.normal(size=(6, 3))[[0, 0, 0, 1, 1, 1]]):
        for rows in kinds(X):
            for model in (
                landmarks(rows, 4, kernel=kernel, gamma="mean"),
                HadamardNystroem(kernel, n_components=7, random_state=0).fit(rows),
            ):
                Z = model.transform(rows)
                assert np.isfinite(Z).all()
                if kernel != "sigmoid":
                    dense = rows.toarray() if sp.issparse(rows) else rows
                    values = model.kernel_values(dense)
                    assert np.abs(Z @ Z.T).max() <= 1.01 * np.abs(values).max() + 1e-5


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_extreme_magnitudes(blobs, scale):
    X = blobs[:300].astype(np.float32)
    start = KMeans(20, random_state=0).fit(X).cluster_centers_
    a, b = (
        landmarks(rows, 20, gamma="mean").set_params(clusterer=KMeans(20, init=init)).fit(rows)
        for rows, init in ((X, start), (X * np.float32(scale), start * np.float32(scale)))
    )
    np.testing.assert_allclose(b.transform(X * np.float32(scale)), a.transform(X), atol=1e-3)
    huge = landmarks(blobs * 1e100, 5, gamma="mean")
    with pytest.raises(ValueError, match="beyond float64"):
        huge.transform(blobs * 1e200)


def test_error_of_nothing_is_zero():
    X = np.zeros((5, 2))
    assert nystroem_error(X, landmarks(X, 2, kernel="linear")) == 0.0


# --- Hadamard ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 9)), elements=st.floats(-9, 9)),
    st.integers(0, 10_000),
    st.booleans(),
)
def test_transform_is_the_product_with_a_hadamard_matrix(X, seed, sparse):
    rng = np.random.default_rng(seed)
    d = X.shape[1]
    size = 1 << (d - 1).bit_length()
    seeds = rng.normal(size=(2, d))
    picks = [np.arange(size), np.sort(rng.permutation(size)[: max(1, size // 2)])]
    book = HadamardLandmarks(seeds, picks, size)
    H = hadamard_matrix(size)
    expected = np.concatenate([H[rows][:, :d] * v for v, rows in zip(seeds, picks)])
    np.testing.assert_array_equal(book.centers, expected)
    rows = sp.csr_array(X) if sparse else X
    np.testing.assert_allclose(book.products(rows), X @ expected.T, atol=1e-10)


@pytest.mark.parametrize("n_components", [1, 7, 16, 40])
def test_blocks_begin_with_their_seeds(blobs, n_components):
    for seeds in ("uniform", "k-means", blobs[5:9]):
        model = HadamardNystroem(n_components=n_components, seeds=seeds, random_state=0).fit(blobs)
        assert model.components_.shape == (n_components, 12)
        for b, seed in enumerate(model.seeds_):
            np.testing.assert_array_equal(model.components_[16 * b], seed)
        np.testing.assert_allclose(
            np.abs(model.components_), np.abs(model.seeds_).repeat(16, axis=0)[:n_components]
        )
        assert len(np.unique(model.components_, axis=0)) == n_components
        assert np.isfinite(model.transform(blobs)).all()


def test_learned_landmarks_are_better(digits):
    X, _ = digits
    plain = landmarks(X, 64, gamma="mean")
    for seeds in ("uniform", "k-means"):
        fixed = HadamardNystroem(gamma="mean", n_components=64, seeds=seeds, random_state=0).fit(X)
        assert nystroem_error(X, plain) < 0.5 * nystroem_error(X, fixed)


# --- conventions -------------------------------------------------------------------------------


def test_dense_and_sparse_are_the_same(documents):
    dense = documents.toarray()
    clusterer = KMeans(12, random_state=0).fit(documents)
    for make in (
        lambda: ClusterNystroem(gamma="mean", clusterer=clusterer),
        lambda: HadamardNystroem(gamma="mean", n_components=12, random_state=0),
    ):
        a, b = make().fit(documents), make().fit(dense)
        np.testing.assert_allclose(a.transform(dense), b.transform(documents), atol=1e-8)


def test_same_bits_for_any_number_of_threads():
    X = np.random.default_rng(0).normal(size=(10_000, 24)).astype(np.float32)
    clusterer = KMeans(50, random_state=0, max_iter=5).fit(X)
    for model in (
        ClusterNystroem(gamma="mean", clusterer=clusterer).fit(X),
        HadamardNystroem(gamma="mean", n_components=50, random_state=0).fit(X),
    ):
        features = [model.set_params(n_threads=n).transform(X) for n in (1, 2, 5)]
        np.testing.assert_array_equal(features[0], features[1])
        np.testing.assert_array_equal(features[0], features[2])


def test_names_frames_and_pipelines(digits):
    X, y = digits
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(64)])
    model = landmarks(frame, 5).set_output(transform="pandas")
    assert list(model.transform(frame).columns) == [f"clusternystroem{i}" for i in range(5)]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    features = ClusterNystroem(gamma="mean", clusterer=KMeans(80, random_state=0))
    classes = make_pipeline(features, LogisticRegression(C=100, max_iter=500)).fit(
        X[:1200], y[:1200]
    )
    assert classes.score(X[1200:], y[1200:]) > 0.88


def test_more_landmarks_than_rows():
    X = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.warns(UserWarning, match="n_components=9 is more than n_samples=6"):
        model = ClusterNystroem(n_components=9, random_state=0).fit(X)
    assert model.transform(X).shape == (6, 6)
    assert HadamardNystroem(n_components=9, random_state=0).fit(X).transform(X).shape == (6, 9)


def test_squared_norms(documents):
    X = documents[:50].tolil()
    X[[0, 7, 49]] = 0
    X = X.tocsr()
    X.eliminate_zeros()
    np.testing.assert_allclose(squared_norms(X), (X.toarray() ** 2).sum(axis=1))
    np.testing.assert_array_equal(squared_norms(sp.csr_array((3, 4))), 0)


def test_error_of_a_sample(digits):
    X, _ = digits
    model = landmarks(X, 30, gamma="mean")
    K, Z = model.kernel_values(X), model.transform(X)
    expected = np.linalg.norm(K - Z @ Z.T) / np.linalg.norm(K)
    assert nystroem_error(X, model) == pytest.approx(expected)
    assert nystroem_error(X, model, n_samples=400, random_state=0) == pytest.approx(
        expected, rel=0.2
    )


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "laplacian"}, "kernel must be one of 'rbf', 'linear'.*no functions of inner"),
        ({"kernel": None}, "kernel must be"),
        ({"gamma": -1.0}, "gamma must be a finite number larger than 0, got -1.0"),
        ({"gamma": "scale"}, "gamma"),
        ({"degree": 2.5}, "degree"),
        ({"coef0": np.nan}, "coef0"),
        ({"kernel_params": {"gamma": 1}}, "kernel_params"),
        ({"n_components": 0}, "n_components"),
        ({"n_threads": 0}, "n_threads"),
    ],
)
def test_bad_parameters(blobs, parameters, message):
    for kind in (ClusterNystroem, HadamardNystroem):
        with pytest.raises((ValueError, TypeError), match=message):
            kind(**parameters).fit(blobs)


def test_bad_seeds_clusterers_and_calls(blobs):
    with pytest.raises(ValueError, match="seeds must be one of 'uniform', 'k-means'"):
        HadamardNystroem(seeds="random").fit(blobs)
    with pytest.raises(ValueError, match="seeds must have 12 columns"):
        HadamardNystroem(seeds=np.eye(3)).fit(blobs)
    with pytest.raises(ValueError, match="at least 7 rows"):
        HadamardNystroem(seeds=blobs[:3]).fit(blobs)
    with pytest.raises(TypeError, match="clusterer must be"):
        ClusterNystroem(clusterer=3).fit(blobs)
    with pytest.raises(ValueError, match="finite values for all pairs"):
        landmarks(blobs, 3, kernel=lambda X, Y: np.zeros(3))
    with pytest.raises(ValueError, match="with NaN or infinity"):
        landmarks(blobs, 3, kernel=lambda X, Y: np.full((len(X), len(Y)), np.nan))
    with pytest.raises(NotFittedError):
        ClusterNystroem().transform(blobs)


def test_entries_of_csr_rows_that_add_up():
    X = np.random.default_rng(0).normal(size=(50, 3))
    clusterer = KMeans(5, random_state=0).fit(X)
    twice = sp.csr_matrix((np.array([10.0, -9]), np.array([0, 0]), np.array([0, 2])), shape=(1, 3))
    model = ClusterNystroem(clusterer=clusterer).fit(X)
    np.testing.assert_allclose(model.transform(twice), model.transform([[1.0, 0, 0]]), rtol=1e-9)


def test_single_precision_far_from_the_origin():
    X = (np.random.default_rng(0).normal(size=(300, 10)) + 1e4).astype(np.float32)
    model = ClusterNystroem(gamma=0.05, clusterer=KMeans(20, random_state=0)).fit(X)
    wide = ClusterNystroem(gamma=0.05, clusterer=model.clusterer_).fit(X.astype(np.float64))
    np.testing.assert_allclose(model.transform(X), wide.transform(X), atol=5e-3)


@pytest.mark.parametrize(("dtype", "scale"), [(np.float32, 1e8), (np.float64, 1e60)])
def test_kernel_values_beyond_their_range_are_refused(dtype, scale):
    X = (np.random.default_rng(0).normal(size=(100, 5)) * scale).astype(dtype)
    model = ClusterNystroem("polynomial", degree=6, clusterer=KMeans(10, random_state=0))
    with pytest.raises(ValueError, match="polynomial"):
        model.fit_transform(X)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_one_block_by_k_means_is_not_the_mean(container):
    """The mean of centered rows is zero, and so would be all landmarks."""
    X = np.concatenate([np.full((30, 4), 1.0), np.full((20, 4), -1.5)])
    X += 0.1 * np.random.default_rng(0).normal(size=X.shape)
    X -= X.mean(axis=0)
    model = HadamardNystroem(n_components=4, seeds="k-means", random_state=0).fit(container(X))
    np.testing.assert_allclose(model.seeds_, X[:30].mean(axis=0)[None], atol=1e-12)
    np.testing.assert_allclose(model.components_[0], model.seeds_[0])
    features = model.transform(container(X))
    assert np.linalg.matrix_rank(features) == 4


def test_one_block_by_k_means_of_one_row():
    X = np.array([[1.0, 2.0, 3.0]])
    model = HadamardNystroem(n_components=2, seeds="k-means", random_state=0).fit(X)
    np.testing.assert_array_equal(model.seeds_, X)
