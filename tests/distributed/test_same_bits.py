"""Rows on a cluster give the bits that the same rows give in memory."""

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from polymeans import KhatriRaoKMeans, KMeans, NonRedundantKMeans, TransformedKMeans
from tests.distributed.chunked import UNEVEN, in_chunks, random_weights
from tests.distributed.conftest import cluster_of
from tests.marks import long
from tests.out_of_core.sources import MODELS, assert_same_bits, rows

#: All estimators on dense rows, and two on CSR rows; the long run has all combinations.
CASES = [(name, "float32") for name in MODELS] + [("kmeans", "csr"), ("cosine", "csr")]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_estimator_on_uneven_weighted_chunks(name, kind, client):
    X, weights = rows(kind), random_weights(300)
    model = MODELS[name](random_state=0).fit(X, sample_weight=weights)
    lazy = da.from_array(weights, chunks=70)
    on_workers = MODELS[name](random_state=0).fit(in_chunks(X), sample_weight=lazy)
    assert_same_bits(model, on_workers)
    assert on_workers.labels_.chunks == (UNEVEN,)
    assert isinstance(on_workers.inertia_, float)


@pytest.mark.parametrize("kind", ["float64", "csr32"])
@pytest.mark.parametrize("name", ["kmeans", *long("cosine", "quick", "sum")])
def test_the_threaded_scheduler_and_weights_in_memory(name, kind):
    X, weights = rows(kind), random_weights(300)
    model = MODELS[name](random_state=0).fit(X, sample_weight=weights)
    with dask.config.set(scheduler="threads"):
        local = MODELS[name](random_state=0).fit(in_chunks(X), sample_weight=weights)
        assert_same_bits(model, local)
        assert local.labels_.chunks == (UNEVEN,)


def test_one_worker_process():
    X = rows("float32")
    with cluster_of(1):
        model = KMeans(9, random_state=0).fit(in_chunks(X))
        assert_same_bits(KMeans(9, init="k-means||", random_state=0).fit(X), model)


@pytest.mark.parametrize("init", ["k-means++", *long("afk-mc2", "random")])
def test_every_seeding(init, client):
    X = rows("float64")

    def make():
        return KMeans(4, init=init, random_state=3)

    assert_same_bits(make().fit(X), make().fit(in_chunks(X)))


def test_threads_of_a_task_make_no_difference(client):
    X = rows("float64")
    model = KMeans(9, random_state=0, n_threads=2).fit(in_chunks(X))
    assert_same_bits(KMeans(9, init="k-means||", random_state=0).fit(X), model)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_empty_clusters_get_the_same_rows(metric, client):
    X = rows("float64")
    start = X[:12].copy()
    start[5:] = -1000

    def make():
        return KMeans(12, metric=metric, init=start)

    model = make().fit(X)
    assert len(np.unique(model.labels_)) == 12
    assert_same_bits(model, make().fit(in_chunks(X)))


@pytest.mark.parametrize(
    "change", [lambda X: X * 1e30, lambda X: X + 1e6], ids=["another unit", "far from zero"]
)
def test_extreme_values(change, client):
    X = change(rows("float64"))

    def make():
        return KMeans(5, init="k-means||", random_state=0)

    assert_same_bits(make().fit(X), make().fit(in_chunks(X)))


@pytest.mark.parametrize("sparse", [False, *long(True)])
@pytest.mark.parametrize(
    "make",
    [
        lambda: NonRedundantKMeans((3, 2), whiten=True, effort=0.1, random_state=0),
        lambda: TransformedKMeans(4, embedding="svd", random_state=0),
    ],
    ids=["whitened views", "svd"],
)
def test_blocks_that_begin_elsewhere_than_chunks(make, sparse, client):
    X = rows("csr" if sparse else "float64", 9000)
    lengths = (10, 3990, 4500, 500)  # products take 4096 rows at a time
    assert_same_bits(make().fit(X), make().fit(in_chunks(X, lengths)))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["float32", "float64", "csr", "csr32"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_combination(name, kind, weighted, client):
    if name == "product" and kind.startswith("csr"):
        pytest.skip("as dense rows: products are kept in a table")
    X, weights = rows(kind), random_weights(300) if weighted else None
    model = MODELS[name](random_state=0).fit(X, sample_weight=weights)
    for lengths in [(300,), (150, 150), UNEVEN, (30,) * 10]:
        other = MODELS[name](random_state=0).fit(in_chunks(X, lengths), sample_weight=weights)
        assert_same_bits(model, other)
    with dask.config.set(scheduler="threads"):
        other = MODELS[name](random_state=0).fit(in_chunks(X), sample_weight=weights)
    assert_same_bits(model, other)


def test_protolabels_are_chunked_too(client):
    X = rows("float64")
    model = KhatriRaoKMeans((3, 4), effort=0.02, random_state=0).fit(in_chunks(X))
    assert model.protolabels_.chunks == (UNEVEN, (2,))
    predicted = model.predict_protolabels(in_chunks(sp.csr_array(X)))
    np.testing.assert_array_equal(predicted.compute(), model.protolabels_.compute())
