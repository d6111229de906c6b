"""The same bits for any order of the rows, any blocks, any number of threads, any algorithm."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)
from polymeans._validation import check_rows, check_weights
from polymeans.engine.placement import Held
from tests.marks import long

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

KINDS = ["float32", "float64", "csr", "csr32"]

#: The default run weights the rows of every second kind; the long run has the other half.
WEIGHTED = {"float32": True, "float64": False, "csr": True, "csr32": False}
CASES = [
    *WEIGHTED.items(),
    *(pytest.param(kind, not w, marks=pytest.mark.long) for kind, w in WEIGHTED.items()),
]


def rows_of(kind):
    """Overlapping clusters, some far from the origin, with duplicates; text-like for CSR."""
    rng = np.random.default_rng(0)
    if kind.startswith("csr"):
        X = sp.random(700, 60, 0.15, "csr", random_state=0, dtype=np.float64)
        X.data[:] = np.round(X.data, 3) + 1e-3 * rng.random(len(X.data))
        return X.astype(np.float32) if kind == "csr32" else X
    X = make_blobs(700, 5, centers=12, cluster_std=2.5, random_state=0)[0]
    X[::50] = X[3]
    return (X + 20).astype(kind)


def weights_for(n, weighted):
    rng = np.random.default_rng(1)
    return rng.random(n) * rng.integers(0, 4, n) if weighted else np.ones(n)


def fit_in_blocks(model, X, weights, n_blocks):
    """The same fit through the runner that adds up blocks, cut unevenly."""
    plain = isinstance(model, KMeans | L1KMeans | QuickKMeans)
    if plain and isinstance(model.init, str) and model.init == "auto":
        model.set_params(init="k-means++")  # as for rows in memory
    model._check_parameters()
    X = check_rows(model, X, reset=True)
    weights = check_weights(weights, X)
    cuts = np.random.default_rng(n_blocks).choice(np.arange(1, X.shape[0]), n_blocks - 1, False)
    edges = [0, *np.sort(cuts), X.shape[0]]
    sources = [(X[lo:hi], weights[lo:hi]) for lo, hi in pairwise(edges)]
    model._fit(Held(sources), {"X": X, "metadata": {}})
    return model


def vectors_of(model):
    if isinstance(model, KhatriRaoKMeans):
        return np.concatenate(model.protocentroids_)
    if isinstance(model, QuickKMeans):
        return np.concatenate([factor.toarray().ravel() for factor in model.factors_])
    if isinstance(model, NonRedundantKMeans):
        return np.concatenate(model.centroids_per_view_)
    return model.cluster_centers_


def assert_same(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(vectors_of(one), vectors_of(other))
    assert one.inertia_ == other.inertia_
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_array_equal(one.history_["inertia"], other.history_["inertia"])
    np.testing.assert_array_equal(one.history_["shift"], other.history_["shift"])


def start_of(X, k):
    """Rows to begin with; one is far away from all rows, so that it has to be relocated."""
    C = X[:k].toarray() if sp.issparse(X) else X[:k].copy()
    C[-1] = 1000
    return C


MODELS = {
    "kmeans": lambda **o: KMeans(9, **o),
    "cosine": lambda **o: KMeans(9, metric="cosine", **o),
    "sum": lambda **o: KhatriRaoKMeans((3, 4), effort=0.02, **o),
    "product": lambda **o: KhatriRaoKMeans((3, 4), aggregator="product", effort=0.02, **o),
    "products not stored": lambda **o: KhatriRaoKMeans(
        (3, 4), aggregator="product", store_centroids=False, effort=0.02, **o
    ),
    "quick": lambda **o: QuickKMeans(9, **o),
    "quick means": lambda **o: QuickKMeans(9, centers="means", **o),
    "l1": lambda **o: L1KMeans(9, **o),
    "l1 budget": lambda **o: L1KMeans(9, n_nonzeros=30, **o),
}


@pytest.mark.parametrize(("kind", "weighted"), CASES)
@pytest.mark.parametrize("name", MODELS)
def test_shuffled_rows_from_a_given_start(name, kind, weighted):
    X = rows_of(kind)
    n = X.shape[0]
    weights = weights_for(n, weighted)
    start = start_of(X, 9)
    if name in ("sum", "product", "products not stored"):
        start = [start[:3], start[3:7] - 20 if name == "sum" else np.sqrt(np.abs(start[3:7]))]
    models = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(n) if seed else np.arange(n)
        model = MODELS[name](init=start, random_state=0).fit(X[order], sample_weight=weights[order])
        back = np.empty(n, dtype=np.int32)
        back[order] = model.labels_
        model.labels_ = back
        models.append(model)
    for other in models[1:]:
        assert_same(models[0], other)


@pytest.mark.parametrize(
    "cut",
    [
        {"n_threads": [3], "n_blocks, n_threads": [(7, 2)]},
        *long({"n_threads": [2, 5], "n_blocks, n_threads": [(1, 1), (2, 2), (7, 5), (100, 1)]}),
    ],
    ids=["one cut", "several"],
)
@pytest.mark.parametrize(("kind", "weighted"), CASES)
@pytest.mark.parametrize("name", MODELS)
def test_blocks_and_threads_from_a_seeded_start(name, kind, weighted, cut, monkeypatch):
    monkeypatch.setattr("polymeans._base._POOLED", 0)  # threads although there is little to do
    X = rows_of(kind)
    weights = weights_for(X.shape[0], weighted)
    reference = MODELS[name](random_state=0, n_threads=1).fit(X, sample_weight=weights)
    for n_threads in cut["n_threads"]:
        model = MODELS[name](random_state=0, n_threads=n_threads)
        assert_same(reference, model.fit(X, sample_weight=weights))
    for n_blocks, n_threads in cut["n_blocks, n_threads"]:
        model = MODELS[name](random_state=0, n_threads=n_threads)
        assert_same(reference, fit_in_blocks(model, X, weights, n_blocks))


@pytest.mark.parametrize("init", ["k-means++", "k-means||", "afk-mc2", "random"])
@pytest.mark.parametrize("kind", ["float32", "csr"])
def test_every_seeding_in_blocks(init, kind):
    X = rows_of(kind)
    weights = weights_for(X.shape[0], True)
    reference = KMeans(9, init=init, n_init=1, random_state=3).fit(X, sample_weight=weights)
    for n_blocks in (2, 40):
        model = KMeans(9, init=init, n_init=1, random_state=3)
        assert_same(reference, fit_in_blocks(model, X, weights, n_blocks))


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan", "lazy"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_algorithm_and_the_blocks_agree(kind, metric, algorithm):
    X = rows_of(kind)
    weights = weights_for(X.shape[0], True)
    options = {"metric": metric, "init": start_of(X, 30), "tol": 0}
    model = KMeans(30, algorithm=algorithm, **options).fit(X, sample_weight=weights)
    blocks = fit_in_blocks(KMeans(30, **options), X, weights, 7)
    assert_same(model, blocks)


@pytest.mark.parametrize(
    "make",
    [
        lambda **o: NonRedundantKMeans((3, 2), **o),
        lambda **o: NonRedundantKMeans((3, 2), whiten=True, **o),
        lambda **o: TransformedKMeans(4, n_init=2, **o),
        lambda **o: TransformedKMeans(4, embedding=None, n_init=1, **o),
    ],
)
def test_spaces_in_blocks_and_threads(make, monkeypatch):
    monkeypatch.setattr("polymeans._base._POOLED", 0)
    X = rows_of("float64")
    weights = weights_for(len(X), True)
    reference = make(random_state=0, n_threads=1).fit(X, sample_weight=weights)
    assert_same(reference, make(random_state=0, n_threads=2).fit(X, sample_weight=weights))
    if isinstance(reference, TransformedKMeans) or reference.whiten:
        return  # their blocks begin at certain rows, see tests/out_of_core
    for n_blocks in (1, 7):
        assert_same(reference, fit_in_blocks(make(random_state=0), X, weights, n_blocks))


@pytest.mark.parametrize(
    ("make", "n_views"),
    [
        (lambda **o: NonRedundantKMeans((3, 2), **o), 2),
        (lambda **o: TransformedKMeans(4, n_init=1, **o), 1),
    ],
)
def test_spaces_with_shuffled_rows(make, n_views):
    X = rows_of("float64")
    n, rng = len(X), np.random.default_rng(0)
    labels = np.stack([rng.integers(0, 2, n) for _ in range(n_views)], axis=1)
    labels = labels if n_views > 1 else labels[:, 0]
    model = make(init=labels, random_state=0).fit(X)
    order = rng.permutation(n)
    other = make(init=labels[order], random_state=0).fit(X[order])
    np.testing.assert_array_equal(model.labels_[order], other.labels_)
    assert model.inertia_ == pytest.approx(other.inertia_, rel=1e-10)
    np.testing.assert_allclose(vectors_of(model), vectors_of(other), rtol=1e-8, atol=1e-8)


def test_relocation_in_blocks():
    X = np.repeat(load_digits().data[:40], 3, axis=0)
    start = np.zeros((12, 64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = KMeans(12, init=start).fit(X)
        for n_blocks in (2, 9):
            weights = np.ones(len(X))
            assert_same(reference, fit_in_blocks(KMeans(12, init=start), X, weights, n_blocks))
