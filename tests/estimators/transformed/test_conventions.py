"""TransformedKMeans: scikit-learn's checks, repeated fits, containers, dtypes, logs."""

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymeans import TransformedKMeans
from polymeans._base import _POOLED
from polymeans.core.threads import PRODUCT_ROWS
from polymeans.datasets import make_documents
from tests.estimators.transformed.checks import EMBEDDINGS, same_bits


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_the_same_seed_gives_the_same_bits(text, embedding):
    for init in ("k-means", "k-means++", "mixed"):
        model = TransformedKMeans(3, embedding=embedding, init=init, n_init=3, random_state=7)
        same_bits(clone(model).fit(text[0]), clone(model).fit(text[0]))
        seeded = clone(model).set_params(random_state=np.random.RandomState(7)).fit(text[0])
        same_bits(seeded, clone(model).fit(text[0]))


@pytest.mark.parametrize(
    ("embedding", "solver"),
    [("cut", "lanczos"), ("svd", "randomized"), (None, "exact"), (None, "cg")],
)
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_the_same_bits_for_any_number_of_threads(kind, embedding, solver):
    X, _ = make_documents(5000, 60, n_topics=5, length=20, random_state=0)
    X = sp.vstack([X] * 4, format="csr")
    assert X.shape[0] // PRODUCT_ROWS >= 3  # more blocks than threads
    assert X.nnz * 10 * 20 > _POOLED  # threads are really used
    X = X.toarray() if kind == "dense" else X
    model = TransformedKMeans(
        10, embedding=embedding, solver=solver, n_init=1, max_iter=3, random_state=0
    )
    one, three = (clone(model).set_params(n_threads=n).fit(X) for n in (1, 3))
    same_bits(one, three)
    assert_array_equal(one.predict(X), three.predict(X))
    if solver != "cg":
        assert_array_equal(one.transform(X), three.transform(X))


def test_clone_and_pickle(rows):
    X, start = rows
    model = TransformedKMeans(3, rho=2.0, mu=3.0, init=start, refine="exchange").fit(X)
    twin = clone(model)
    assert_array_equal(twin.init, start)
    assert not hasattr(twin, "labels_")
    again = pickle.loads(pickle.dumps(model))
    same_bits(again, model)
    assert_array_equal(again.transform(X), model.transform(X))


def test_names_of_columns(rows):
    X, start = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = TransformedKMeans(3, init=start).set_output(transform="pandas").fit(frame)
    out = model.transform(frame)
    expected = [f"transformedkmeans{i}" for i in range(model.n_components_)]
    assert list(out.columns) == list(model.get_feature_names_out()) == expected
    assert list(model.feature_names_in_) == list("abcde")
    assert model.n_features_in_ == 5
    assert "TransformedKMeans" in model._repr_html_()


def test_fit_predict_and_fit_transform(rows):
    X, start = rows
    model = TransformedKMeans(3, init=start)
    assert_array_equal(clone(model).fit_predict(X), model.fit(X).labels_)
    assert_array_equal(clone(model).fit_transform(X), model.transform(X))
    assert np.isfinite(model.score(X))
    weights = np.random.default_rng(0).random(len(X))
    labels = clone(model).fit_predict(X, sample_weight=weights)
    assert_array_equal(labels, clone(model).fit(X, sample_weight=weights).labels_)


def test_a_better_fit_has_a_better_score(rows):
    X, start = rows
    good = TransformedKMeans(3, init=start, rho=10.0).fit(X)
    assert good.score(X) > good.score(X * 3)
    assert good.score(X) > good.score(X + 10.0)


def test_in_a_pipeline(rows):
    X, start = rows
    model = make_pipeline(StandardScaler(), TransformedKMeans(3, init=start)).fit(X)
    direct = TransformedKMeans(3, init=start).fit(StandardScaler().fit_transform(X))
    same_bits(model[-1], direct)


def test_containers(rows):
    X, start = rows
    model = TransformedKMeans(3, init=start).fit(X)
    wide = np.zeros((150, 10))
    wide[:, ::2] = X
    frame = pd.DataFrame(X, columns=list("abcde"))
    for other in (np.asfortranarray(X), wide[:, ::2], X.astype(">f8"), X.tolist(), frame):
        same_bits(TransformedKMeans(3, init=start).fit(other), model)
    for init in (start.tolist(), start.astype(np.float64), pd.Series(start), start.astype(np.int8)):
        same_bits(TransformedKMeans(3, init=init).fit(X), model)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_dtypes(rows, dtype):
    X = (10 * rows[0]).round().astype(dtype)
    model = TransformedKMeans(3, init=rows[1]).fit(X)
    expected = np.float32 if dtype == np.float32 else np.float64
    assert model.cluster_centers_.dtype == expected
    assert model.transform(X).dtype == expected
    exact = TransformedKMeans(3, init=rows[1]).fit(X.astype(np.float64))
    assert_array_equal(model.labels_, exact.labels_)
    assert_allclose(model.objective_, exact.objective_, rtol=1e-5)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_input_is_never_modified(text, embedding, kind):
    X, start = text
    X = X.toarray() if kind == "dense" else X.copy()
    X *= 3.0  # not of length one, so that there would be something to normalize
    before, weights = X.copy(), np.random.default_rng(0).random(120)
    held = weights.copy(), start.copy()
    arrays = [X] if kind == "dense" else [X.data, X.indices, X.indptr]
    for array in (*arrays, weights):
        array.flags.writeable = False
    for params in ({"init": start}, {"n_init": 1}, {"n_init": 1, "refine": "exchange"}):
        model = TransformedKMeans(3, embedding=embedding, metric="cosine", **params)
        model.fit(X, sample_weight=weights)
        model.predict(X)
        model.transform(X)
    assert (before != X).sum() == 0
    assert_array_equal(weights, held[0])
    assert_array_equal(start, held[1])


def test_fitting_leaves_parameters_alone(rows):
    X, start = rows
    model = TransformedKMeans(3, init=start, kernel="rbf", kernel_params={"gamma": 0.1})
    before = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(X)
    assert {name: repr(value) for name, value in model.get_params().items()} == before


def test_a_fitted_model_keeps_its_own_parameters(rows):
    X, start = rows
    model = TransformedKMeans(3, init=start).fit(X)
    labels, Z = model.predict(X), model.transform(X)
    model.set_params(n_clusters=5, rho=1e5, embedding=None, metric="cosine", kernel="rbf")
    assert_array_equal(model.predict(X), labels)
    assert_array_equal(model.transform(X), Z)


def test_verbose_logs_and_does_not_print(rows, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="polymeans"):
        TransformedKMeans(3, verbose=2, n_init=2, random_state=0).fit(rows[0])
    assert caplog.records
    assert capsys.readouterr().out == ""
