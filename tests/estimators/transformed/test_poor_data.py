"""TransformedKMeans: rows with few distinct values, directions or clusters; known clusters."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score

from polymeans import KMeans, TransformedKMeans
from polymeans.datasets import make_documents
from tests.estimators.transformed.checks import EMBEDDINGS, assert_sound
from tests.oracles_transformed import METRICS


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("params", [{}, {"refine": "exchange"}, {"metric": "euclidean"}])
@pytest.mark.parametrize("embedding", ["auto", *EMBEDDINGS])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_empty_documents_work(text, kind, embedding, params):
    X = text[0].toarray()
    X[[0, 17, 50]] = 0.0
    X = X if kind == "dense" else sp.csr_array(X)
    model = TransformedKMeans(3, embedding=embedding, n_init=2, random_state=0, **params).fit(X)
    assert_sound(model, X, 3)
    assert len(np.unique(model.labels_)) == 3


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_empty_documents_count_for_nothing(text, kind, embedding):
    X, start = text
    empty = sp.csr_array((10, 300))
    both = sp.vstack([X, empty], format="csr")
    params = {"rho": 1.0, "embedding": embedding, "metric": "cosine"}
    plain = TransformedKMeans(3, init=start, **params).fit(X)
    more = TransformedKMeans(3, init=np.append(start, np.zeros(10, dtype=int)), **params)
    more.fit(both.toarray() if kind == "dense" else both)
    assert_array_equal(more.labels_[:120], plain.labels_)
    assert_allclose(more.objective_, plain.objective_, rtol=1e-9)
    assert_allclose(more.cluster_centers_, plain.cluster_centers_, atol=1e-12)


@pytest.mark.parametrize(
    ("embedding", "solver"),
    [("auto", "auto"), ("cut", "exact"), ("svd", "exact"), ("svd", "randomized")]
    + [(None, "exact"), (None, "cg")],
)
@pytest.mark.parametrize("value", [0.0, 1.0, 1e8])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_identical_rows_warn_and_work(kind, value, embedding, solver):
    X = np.full((20, 3), value)
    X = X if kind == "dense" else sp.csr_array(X)
    model = TransformedKMeans(2, embedding=embedding, solver=solver, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    assert {warning.category for warning in caught} == {ConvergenceWarning}
    assert "distinct clusters" in str(caught[0].message)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-9 * (1 + value**2))
    assert_sound(model, X, 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("embedding", "value"), [("svd", 1.0), ("svd", 0.0), ("cut", 0.0)])
def test_lanczos_takes_rows_without_spread(embedding, value):
    X = np.full((20, 8), value)
    model = TransformedKMeans(
        2, embedding=embedding, solver="lanczos", n_components=2, metric=METRICS[value == 0]
    )
    assert_sound(model.fit(X), X, 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_identical_rows_are_predicted_as_they_were_labeled():
    for seed in range(20):
        X = np.tile(np.random.default_rng(seed).normal(size=(1, 7)), (5, 1))
        model = TransformedKMeans(4, rho=1.0, embedding="svd", metric="cosine", init="mixed")
        assert_array_equal(model.fit(X).labels_, model.predict(X))


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("init", ["k-means", "k-means++", "mixed", "labels"])
def test_fewer_distinct_rows_than_clusters(init, embedding):
    X = np.repeat(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 5.0]]), 6, axis=0)
    init = np.arange(12) % 3 if init == "labels" else init
    model = TransformedKMeans(3, embedding=embedding, init=init, random_state=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model.fit(X)
    assert_sound(model, X, 3)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-9)
    assert len(np.unique(model.labels_)) == 2


@pytest.mark.parametrize("embedding", ["auto", *EMBEDDINGS])
def test_one_column(embedding):
    X = np.abs(np.random.default_rng(0).normal(size=(30, 1)))
    X[15:] += 9.0
    model = TransformedKMeans(2, embedding=embedding, metric="euclidean", random_state=0)
    if embedding == "cut":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)  # on a line all directions are alike
    else:
        model.fit(X)
        assert_array_equal(model.labels_, np.repeat(model.labels_[[0, 15]], 15))
        assert model.labels_[0] != model.labels_[15]
    assert_sound(model, X, 2)


@pytest.mark.parametrize("embedding", ["auto", *EMBEDDINGS])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_one_row(kind, embedding):
    X = np.array([[1.0, 0.0, 2.0]])
    X = X if kind == "dense" else sp.csr_array(X)
    model = TransformedKMeans(1, embedding=embedding, random_state=0).fit(X)
    assert_sound(model, X, 1)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("embedding", ["auto", *EMBEDDINGS])
def test_one_cluster(text, embedding):
    model = TransformedKMeans(1, embedding=embedding, random_state=0).fit(text[0])
    assert_array_equal(model.labels_, 0)
    assert_sound(model, text[0], 1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("embedding", ["auto", "svd", None])
@pytest.mark.parametrize("refine", [None, "exchange"])
def test_a_cluster_for_each_row(embedding, refine):
    X = np.random.default_rng(0).normal(size=(6, 9))
    model = TransformedKMeans(6, embedding=embedding, refine=refine, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-9)
    assert_sound(model, X, 6)


@pytest.mark.parametrize("solver", ["auto", "exact", "cg"])
def test_fewer_rows_than_features(solver):
    X = np.random.default_rng(0).normal(size=(8, 60))
    model = TransformedKMeans(2, embedding=None, solver=solver, random_state=0).fit(X)
    assert_sound(model, X, 2)
    if solver != "cg":
        assert_sound(TransformedKMeans(2, solver=solver, random_state=0).fit(X), X, 2)


@pytest.mark.parametrize("factor", [1e-100, 1e-12, 1e12, 1e100])
@pytest.mark.parametrize("embedding", ["svd", None])
def test_extreme_scales_are_no_trouble(rows, factor, embedding):
    X, start = rows
    plain = TransformedKMeans(3, embedding=embedding, init=start).fit(X)
    scaled = TransformedKMeans(3, embedding=embedding, init=start).fit(X * factor)
    assert_array_equal(scaled.labels_, plain.labels_)
    assert_allclose(scaled.rho_, plain.rho_ * factor**2, rtol=1e-9)
    assert_allclose(scaled.inertia_, plain.inertia_ * factor**2, rtol=1e-9)
    assert_array_equal(scaled.predict(X * factor), plain.labels_)


@pytest.mark.parametrize("offset", [1e3, 1e6])
@pytest.mark.parametrize("embedding", ["svd", None])
def test_a_large_offset_is_no_trouble(rows, offset, embedding):
    X, start = rows
    near = TransformedKMeans(3, embedding=embedding, init=start).fit(X)
    far = TransformedKMeans(3, embedding=embedding, init=start).fit(X + offset)
    assert_array_equal(near.labels_, far.labels_)
    assert_allclose(far.inertia_, near.inertia_, rtol=1e-6)
    assert_array_equal(far.predict(X + offset), near.labels_)


@settings(max_examples=80, deadline=None)
@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(4, 16), st.integers(1, 5)),
        elements=st.floats(0, 5, width=16) | st.sampled_from([0.0, 0.0, 1.0, 1e6, 1e-6]),
    ),
    k=st.integers(1, 4),
    embedding=st.sampled_from(["auto", "cut", "svd", None]),
    spherical=st.sampled_from([True, False, "auto"]),
    init=st.sampled_from(["k-means", "k-means++", "mixed"]),
    refine=st.sampled_from([None, "exchange"]),
    rho=st.sampled_from(["auto", 1e-3, 10.0]),
    sparse=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_but_numbers_comes_out(X, k, embedding, spherical, init, refine, rho, sparse):
    model = TransformedKMeans(
        k,
        rho=rho,
        embedding=embedding,
        metric=METRICS[spherical],
        init=init,
        n_init=2,
        refine=refine,
        random_state=0,
    )
    X = sp.csr_array(X) if sparse else X
    assert_sound(model.fit(X), X, k)


def long_clusters(seed, n=400, d=10, k=4, condition=10.0):
    """Gaussian clusters that share a covariance, the longest axis ``condition`` times the least."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    scales = np.geomspace(1.0, condition, d)
    centers = 12.0 * rng.normal(size=(k, d)) / np.sqrt(d)
    return centers[labels] + rng.normal(size=(n, d)) * scales @ Q.T, labels


def nmi(model, X, y):
    return normalized_mutual_info_score(y, model.fit(X).labels_)


@pytest.mark.parametrize("embedding", ["auto", None])
def test_long_clusters_are_found_where_kmeans_fails(embedding):
    ours, theirs = [], []
    for seed in range(4):
        X, y = long_clusters(seed)
        ours.append(nmi(TransformedKMeans(4, embedding=embedding, random_state=0), X, y))
        theirs.append(nmi(KMeans(4, n_init=10, random_state=0), X, y))
    assert np.mean(ours) > np.mean(theirs) + 0.3


def test_documents_are_grouped_better_than_by_kmeans():
    ours, theirs = [], []
    for seed in range(4):
        X, y = make_documents(400, 1500, n_topics=8, length=80, overlap=0.8, random_state=seed)
        ours.append(nmi(TransformedKMeans(8, random_state=0), X, y))
        theirs.append(nmi(KMeans(8, n_init=10, random_state=0), X, y))
    assert np.mean(ours) > np.mean(theirs) + 0.05


def test_equal_centroids_get_new_rows_as_in_the_fit():
    """Rounding of the scores does not decide between two centroids at the same place."""
    places = np.array(
        [
            [-0.4759124989968923, 1.5481221202322553],
            [-1.5492587445195343, 1.2829611641313365],
            [0.6355495047767129, 0.9803772614447163],
            [-0.7660187557476595, 0.8043793545799812],
        ]
    )
    X = places[[0, 1, 2, 1, 2, 3, 1, 0, 1, 3, 1]]
    model = TransformedKMeans(
        5, n_init=1, embedding="white", metric="cosine", random_state=25, tol=0
    )
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model.fit(X)
    assert_array_equal(model.predict(X), model.labels_)
