"""Graphs run in onnxruntime: the labels and distances of the models they were made of."""

import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

import polymeans
from polymeans import KhatriRaoKMeans, KMeans, QuickKMeans, TransformedKMeans
from polymeans.datasets import make_posts
from tests.persistence.models import fitted, rows

NAMES = [
    "kmeans",
    "kmeans-cosine",
    "khatri-rao-sum",
    "khatri-rao-product",
    "quick",
    "quick-means",
    "l1",
    "l1-mean",
    "transformed",
    "transformed-full",
]
CONTAINERS = ["float64", "float32", "csr_matrix", "frame"]


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def run(model, X, path):
    polymeans.export_onnx(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["label", "distances"], {"X": X})


def distances_of(model, X):
    if isinstance(model, TransformedKMeans):
        apart = model.transform(X)[:, None, :] - model.centroids_in_space_
        return np.sqrt(np.square(apart).sum(axis=2))
    return model.transform(X)


def check(model, X, path):
    label, distances = run(model, X, path)
    assert label.dtype == np.int64
    np.testing.assert_array_equal(label, model.predict(X))
    assert distances.dtype == X.dtype
    single = X.dtype == np.float32
    tolerance = {"rtol": 2e-4, "atol": 2e-4} if single else {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(distances, distances_of(model, X), **tolerance)


@pytest.mark.filterwarnings("ignore::UserWarning")  # rows here have no names
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_graph_predicts_what_the_model_does(name, container, tmp_path):
    X = dense(rows(container))
    check(fitted(name, container), X, tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    assert model.producer_name == "polymeans"
    assert [value.name for value in model.graph.output] == ["label", "distances"]


def test_three_sets_of_protocentroids(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 7)) + 5
    check(KhatriRaoKMeans((2, 3, 2), random_state=0).fit(X), X, tmp_path / "m")
    X = np.abs(X)
    model = KhatriRaoKMeans((2, 2, 2), aggregator="product", random_state=0).fit(X)
    check(model, X, tmp_path / "m")
    check(KhatriRaoKMeans((5,), random_state=0).fit(X), X, tmp_path / "m")


def test_rows_of_zeros_have_no_direction(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[::7] = 0
    check(KMeans(4, metric="cosine", random_state=0).fit(X), X, tmp_path / "m")


def test_rows_far_from_the_origin(tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 5)) + 1e6
    model = KMeans(8, random_state=0).fit(X)
    np.testing.assert_array_equal(run(model, X, tmp_path / "m")[0], model.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_images_and_documents(tmp_path):
    X = load_digits().data
    check(KMeans(64, random_state=0).fit(X), X, tmp_path / "m")
    check(QuickKMeans(64, n_nonzeros=1200, random_state=0).fit(X), X, tmp_path / "m")
    from sklearn.feature_extraction.text import TfidfVectorizer

    posts, _ = make_posts(200, n_topics=5, random_state=0)
    X = TfidfVectorizer().fit_transform(posts)
    model = TransformedKMeans(5, random_state=0).fit(X)
    assert model.embedding_ == "cut"
    check(model, X.toarray(), tmp_path / "m")


def test_sparse_factors_stay_small(tmp_path):
    X = np.random.default_rng(0).normal(size=(600, 256)).astype(np.float32)
    model = QuickKMeans(128, n_nonzeros=1500, random_state=0, max_iter=2).fit(X)
    check(model, X, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 128 * 256 * 4 / 2


def test_one_row_and_none(tmp_path):
    model = fitted("kmeans", "float64")
    X = rows("float64")
    label, distances = run(model, X[:1], tmp_path / "m")
    assert label[0] == model.labels_[0]
    assert distances.shape == (1, 4)
    assert run(model, X[:0], tmp_path / "m")[0].shape == (0,)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nonredundant", "must be one of KMeans"),
        ("neighbors", "must be one of KMeans"),
        ("transformed-rbf", "kernel='rbf'"),
        ("transformed-cg", "solver='cg'"),
    ],
)
def test_what_has_no_graph_is_refused(name, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        polymeans.export_onnx(fitted(name, "float64"), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_without_onnx(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "polymeans\[onnx\]"'):
        polymeans.export_onnx(fitted("kmeans", "float64"), tmp_path / "m")
