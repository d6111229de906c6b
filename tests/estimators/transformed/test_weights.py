"""TransformedKMeans: weights of rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from polymeans import TransformedKMeans
from polymeans.datasets import make_documents
from tests.estimators.transformed.checks import EMBEDDINGS


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("rho", ["auto", 0.7])
def test_weights_count_like_repeated_rows(text, rho, embedding, kind):
    X, start = text
    X = X.toarray() if kind == "dense" else X
    weights = np.random.default_rng(0).integers(0, 4, 120)
    again = np.repeat(np.arange(120), weights)
    model = TransformedKMeans(3, rho=rho, embedding=embedding, metric="cosine", init=start)
    weighted = clone(model).fit(X, sample_weight=weights)
    repeated = clone(model).set_params(init=start[again]).fit(X[again])
    assert_array_equal(weighted.labels_[again], repeated.labels_)
    for name in ("objective_", "log_det_", "inertia_"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-8)
    assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-10)


@pytest.mark.parametrize("embedding", ["cut", "svd"])
@pytest.mark.parametrize("scale", [2.0**-400, 1e-100, 1e100, 2.0**400])
def test_weights_of_any_size_give_the_same_labels(text, scale, embedding):
    X, start = text
    model = TransformedKMeans(3, embedding=embedding, init=start)
    plain = clone(model).fit(X)
    scaled = clone(model).fit(X, sample_weight=np.full(120, scale))
    assert_array_equal(scaled.labels_, plain.labels_)
    assert_allclose(scaled.rho_, plain.rho_ * scale, rtol=1e-9)
    assert_allclose(scaled.inertia_, plain.inertia_ * scale, rtol=1e-9)


@pytest.mark.parametrize("solver", ["exact", "cg"])
def test_rows_of_weight_zero_are_ignored(rows, solver):
    X, start = rows
    far = np.concatenate([X, np.full((20, 5), 1e3)])
    weights = np.concatenate([np.ones(150), np.zeros(20)])
    for embedding in ("svd", None):
        if solver == "cg" and embedding:
            continue
        model = TransformedKMeans(3, rho=2.0, embedding=embedding, solver=solver, init=start)
        plain = clone(model).fit(X)
        model.set_params(init=np.concatenate([start, np.zeros(20, dtype=int)]))
        model.fit(far, sample_weight=weights)
        assert_array_equal(model.labels_[:150], plain.labels_)
        for name in ("objective_", "log_det_", "inertia_"):
            assert_allclose(getattr(model, name), getattr(plain, name), rtol=1e-7)
        assert_allclose(model.cluster_centers_, plain.cluster_centers_, rtol=1e-9)
        assert_array_equal(model.predict(far), model.labels_)


def test_rows_of_weight_zero_are_ignored_among_documents(text):
    X, start = text
    other, _ = make_documents(30, 300, n_topics=2, random_state=5)
    both = sp.vstack([X, other], format="csr")
    weights = np.concatenate([np.ones(120), np.zeros(30)])
    for embedding in EMBEDDINGS:
        model = TransformedKMeans(3, rho=1.0, embedding=embedding, metric="cosine", init=start)
        plain = clone(model).fit(X)
        model.set_params(init=np.concatenate([start, np.zeros(30, dtype=int)]))
        model.fit(both, sample_weight=weights)
        assert_array_equal(model.labels_[:120], plain.labels_)
        assert_allclose(model.objective_, plain.objective_, rtol=1e-8)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (-np.ones(150), r"Negative values.*sample_weight"),
        (np.zeros(150), "at least one non-zero"),
        (np.ones(7), r"sample_weight\.shape"),
        (np.full(150, np.nan), "NaN"),
    ],
)
def test_bad_weights_are_refused(rows, weights, match):
    with pytest.raises(ValueError, match=match):
        TransformedKMeans(3).fit(rows[0], sample_weight=weights)
