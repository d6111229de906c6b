"""Rows in files give the bits that the same rows give in memory."""

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans import KhatriRaoKMeans, KMeans, QuickKMeans
from polymeans.blocks import from_npy
from tests.blocks import conftest as files
from tests.out_of_core.sources import MODELS, assert_same_bits, in_sequence, rows, uneven

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

#: Each estimator reads files of one format and uneven blocks; each format is read by KMeans.
FORMATS = [
    files.npy_files,
    files.parquet_files,
    files.arrow_lists,
    files.hdf5_file,
    files.zarr_folder,
    files.sequence,
]


@pytest.mark.parametrize("source", FORMATS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_format(source, dtype, tmp_path):
    X = rows(dtype, 103)
    model = KMeans(9, init="k-means||", random_state=0).fit(X)
    blocks = source(X, tmp_path)
    assert len(blocks) > 1
    assert_same_bits(model, KMeans(9, random_state=0).fit(blocks))


@pytest.mark.parametrize("source", files.SPARSE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_every_sparse_format(source, metric, tmp_path):
    X = files.sparse_matrix()  # some rows are empty

    def make(init):
        return KMeans(9, metric=metric, init=init, random_state=0)

    assert_same_bits(make("k-means||").fit(X), make("auto").fit(source(X, tmp_path)))


@pytest.fixture(autouse=True)
def _short_products(monkeypatch):
    """Rows go through products in chunks that are shorter than most blocks."""
    monkeypatch.setattr("polymeans.core.threads.PRODUCT_ROWS", 32)


@pytest.mark.parametrize("kind", ["float32", "csr"])
@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_on_uneven_weighted_blocks(name, kind):
    if name == "product" and kind == "csr":
        pytest.skip("as dense rows: products are kept in a table")
    X = rows(kind)
    rng = np.random.default_rng(1)
    weights = rng.random(X.shape[0]) * rng.integers(0, 4, X.shape[0])
    model = MODELS[name](random_state=0).fit(X, sample_weight=weights)
    assert_same_bits(model, MODELS[name](random_state=0).fit(uneven(X, weights)))
    other = MODELS[name](random_state=0).fit(uneven(X), sample_weight=weights)
    assert_same_bits(model, other)


@pytest.mark.parametrize("kind", ["float64", "csr32"])
@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_without_weights(name, kind):
    X = rows(kind)
    model = MODELS[name](random_state=0, n_threads=2).fit(X)
    assert_same_bits(model, MODELS[name](random_state=0, n_threads=1).fit(in_sequence(X)))


@pytest.mark.parametrize("init", ["k-means++", "k-means||", "afk-mc2", "random"])
@pytest.mark.parametrize("kind", ["float32", "csr"])
def test_every_seeding(init, kind):
    X = rows(kind)

    def make():
        return KMeans(9, init=init, n_init=2, random_state=3)

    assert_same_bits(make().fit(X), make().fit(uneven(X)))


@pytest.mark.parametrize("kind", ["float64", "csr"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_empty_clusters_get_the_same_rows(kind, metric):
    X = rows(kind)
    start = X[:12].toarray() if sp.issparse(X) else X[:12].copy()
    start[5:] = -1000

    def make():
        return KMeans(12, metric=metric, init=start)

    model = make().fit(X)
    assert len(np.unique(model.labels_)) == 12
    assert_same_bits(model, make().fit(uneven(X)))


def test_empty_protocentroids_get_the_same_rows():
    X = rows("float64")
    start = [X[:3].copy(), np.zeros((4, 5))]
    start[0][2] = start[1][3] = -1000

    def make():
        return KhatriRaoKMeans((3, 4), init=start)

    assert_same_bits(make().fit(X), make().fit(uneven(X)))


def test_quick_kmeans_with_means_and_empty_clusters():
    X = rows("float64")

    def make():
        return QuickKMeans(30, centers="means", init="k-means||", n_nonzeros=40, random_state=0)

    assert_same_bits(make().fit(X), make().fit(uneven(X)))


def test_products_that_are_not_stored():
    X = rows("float32")

    def make():
        return KhatriRaoKMeans(
            (3, 4), aggregator="product", store_centroids=False, effort=0.02, random_state=0
        )

    assert_same_bits(make().fit(X), make().fit(uneven(X)))


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X * 1e30,  # another unit
        lambda X: X * 1e-40,
        lambda X: X + 1e6,  # far from zero: norms about the mean
        lambda X: np.where(np.arange(len(X))[:, None] == 7, 1e300, X),  # a ladder with gaps
        lambda X: np.where(np.arange(len(X))[:, None] == 7, 1e-300, X),
    ],
    ids=["large", "small", "far", "one huge row", "one tiny row"],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_extreme_values(change, sparse):
    X = change(rows("float64"))
    X = sp.csr_array(X) if sparse else X

    def make():
        return KMeans(5, init="k-means||", random_state=0)

    assert_same_bits(make().fit(X), make().fit(uneven(X)))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_extreme_weights(scale):
    X = rows("float64")
    weights = scale * np.random.default_rng(0).random(len(X))

    def make():
        return KMeans(5, init="k-means||", random_state=0)

    model = make().fit(X, sample_weight=weights)
    assert_same_bits(model, make().fit(uneven(X, weights)))


def test_rows_of_zeros_have_no_direction_in_blocks_either():
    X = rows("float64")
    X[::3] = 0

    def make():
        return KMeans(4, metric="cosine", init="k-means||", random_state=0)

    model = make().fit(X)
    assert (model.labels_[::3] == 0).all()
    assert_same_bits(model, make().fit(uneven(X)))


def test_nothing_but_rows_of_zeros():
    X = np.zeros((300, 3))

    def make():
        return KMeans(2, metric="cosine", init="k-means||", random_state=0)

    assert_same_bits(make().fit(X), make().fit(uneven(X)))


def test_more_clusters_than_distinct_rows():
    X = np.repeat(rows("float64")[:7], 43, axis=0)[:300]

    def make():
        return KMeans(12, init="k-means||", random_state=0)

    assert_same_bits(make().fit(X), make().fit(uneven(X)))


def test_several_files_are_one_matrix(tmp_path):
    X = rows("float32")
    for i, part in enumerate(np.split(X, [100, 170])):
        np.save(tmp_path / f"part-{i}.npy", part)
    blocks = from_npy(tmp_path, block_bytes=2000)
    labels = KMeans(9, random_state=0).fit_predict(blocks)
    same = KMeans(9, init="k-means||", random_state=0).fit_predict(X)
    np.testing.assert_array_equal(labels, same)
