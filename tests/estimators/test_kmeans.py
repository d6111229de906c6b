"""KMeans as users meet it: conventions, containers, weights, bad input."""

import logging
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polymeans
from polymeans import KMeans


def same(a, b):
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-12)


# --- containers --------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_containers(documents, container, index, dtype):
    X = container(documents.astype(dtype))
    if hasattr(X, "indptr"):
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    model = KMeans(6, random_state=0).fit(X)
    assert model.cluster_centers_.dtype == dtype
    reference = KMeans(6, random_state=0).fit(documents.astype(dtype))
    same(model, reference)


def test_unsorted_and_duplicate_entries(documents):
    clean = documents[:500].copy()
    clean.sort_indices()
    rng = np.random.default_rng(0)
    indices, data, indptr = [], [], [0]
    for i in range(500):
        row = clean[i]
        columns = np.concatenate([row.indices, row.indices[:3]])
        values = np.concatenate([row.data, np.zeros(3)])
        values[:3] -= 0.25
        values[-3:] += 0.25
        order = rng.permutation(len(columns))
        indices.append(columns[order])
        data.append(values[order])
        indptr.append(indptr[-1] + len(columns))
    messy = sp.csr_matrix(
        (np.concatenate(data), np.concatenate(indices), indptr), shape=clean.shape
    )
    before = messy.indices.copy(), messy.data.copy()
    same(KMeans(5, random_state=0).fit(messy), KMeans(5, random_state=0).fit(clean))
    np.testing.assert_array_equal(messy.indices, before[0])
    np.testing.assert_array_equal(messy.data, before[1])


def test_dense_containers(blobs, tmp_path):
    reference = KMeans(6, random_state=0).fit(blobs)
    frozen = blobs.copy()
    frozen.flags.writeable = False
    np.save(tmp_path / "X.npy", blobs)
    wide = np.zeros((len(blobs), 24))
    wide[:, ::2] = blobs
    for X in [
        frozen,
        np.asfortranarray(blobs),
        wide[:, ::2],
        blobs.astype(">f8"),
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        blobs.tolist(),
        pd.DataFrame(blobs, columns=[f"f{i}" for i in range(12)]),
        pl.DataFrame(blobs, schema=[f"f{i}" for i in range(12)]),
    ]:
        same(KMeans(6, random_state=0).fit(X), reference)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float16, bool])
def test_other_dtypes_become_float64(dtype):
    X = (np.random.default_rng(0).random((200, 5)) * 20).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(3, random_state=0).fit(X)
        assert model.cluster_centers_.dtype == np.float64
        same(model, KMeans(3, random_state=0).fit(X.astype(np.float64)))


def test_input_is_never_modified(blobs, documents):
    for X in (blobs + 1e5, documents):
        for metric in ("euclidean", "cosine"):
            before = X.copy()
            weights = np.random.default_rng(0).random(X.shape[0])
            KMeans(5, metric=metric, random_state=0).fit(X, sample_weight=weights).predict(X)
            assert (before != X).sum() == 0


def test_set_output_and_feature_names(blobs):
    frame = pd.DataFrame(blobs, columns=[f"f{i}" for i in range(12)])
    model = KMeans(3, random_state=0).set_output(transform="pandas").fit(frame)
    out = model.transform(frame)
    assert list(out.columns) == ["kmeans0", "kmeans1", "kmeans2"]
    np.testing.assert_array_equal(out.to_numpy().argmin(axis=1), model.labels_)
    assert "KMeans" in model._repr_html_()


def test_in_a_pipeline_with_routed_weights(blobs):
    weights = np.random.default_rng(0).random(len(blobs))
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            KMeans(4, random_state=0).set_fit_request(sample_weight=True),
        ).fit(blobs, sample_weight=weights)
    direct = KMeans(4, random_state=0).fit(
        StandardScaler().fit_transform(blobs), sample_weight=weights
    )
    same(model[-1], direct)


def test_pickle(documents):
    model = KMeans(5, random_state=0).fit(documents)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(documents), model.labels_)


# --- meaning -----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_predict_score_and_transform_agree(blobs, documents, metric):
    for X in (blobs, documents, documents.astype(np.float32)):
        model = KMeans(7, metric=metric, random_state=0).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_array_equal(model.predict(X[:3]), model.labels_[:3])
        distances = model.transform(X)
        nearest = distances[np.arange(X.shape[0]), model.labels_]
        assert (nearest <= distances.min(axis=1) + 1e-5).all()
        total = nearest.sum() if metric == "cosine" else (nearest**2).sum()
        assert total == pytest.approx(model.inertia_, rel=1e-4)
        assert -model.score(X) == pytest.approx(model.inertia_, rel=1e-5)
        np.testing.assert_array_equal(
            KMeans(7, metric=metric, random_state=0).fit_transform(X), distances
        )


def test_float32_rows_against_a_float64_model(blobs):
    model = KMeans(5, random_state=0).fit(blobs)
    assert np.mean(model.predict(blobs.astype(np.float32)) == model.labels_) > 0.999


def test_cosine_ignores_length(documents):
    lengths = np.random.default_rng(0).uniform(0.1, 10, documents.shape[0])
    stretched = sp.csr_matrix(sp.diags(lengths) @ documents)
    a = KMeans(8, metric="cosine", random_state=0).fit(documents)
    b = KMeans(8, metric="cosine", random_state=0).fit(stretched)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(np.linalg.norm(a.cluster_centers_, axis=1), 1.0)


def test_cosine_with_rows_of_zeros():
    X = np.array([[1.0, 0], [0, 1], [0, 0], [2, 0.1], [0.1, 3]])
    for rows in (X, sp.csr_matrix(X)):
        model = KMeans(2, metric="cosine", random_state=0).fit(rows)
        assert np.isfinite(model.cluster_centers_).all()
        assert model.labels_[0] == model.labels_[3] != model.labels_[1]


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("algorithm", ["lloyd", "elkan", "lazy"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_are_never_left_by_relocation(kind, algorithm):
    cases = [
        # A row without direction is the farthest, and would be relocated for ever.
        (np.array([[1.0, 0], [2, 0], [3, 0], [0, 0]]), [[1.0, 0], [1, 0]], "cosine", 10),
        (np.array([[1, -0.3]] * 5 + [[0.52, 0.854], [0, 0]]), [[1.0, 0], [1, 0]], "cosine", 1),
        # Directions that cancel out.
        (np.array([[1.0, 0], [-1, 0], [0, 1], [0, 1]]), [[1.0, 0.1], [0, 1]], "cosine", 5),
        (np.repeat([[0.1, 0.7], [0.7, 0.1]], 10, axis=0), [[0.1, 0.7]] * 3, "euclidean", 50),
        # Centroids that reach into a feature no row uses, and stay empty.
        (np.array([[1.0, 0, 0], [1, 0, 0]]), [[1.0, 0, 5], [1, 0, 0]], "euclidean", 5),
    ]
    for X, init, metric, max_iter in cases:
        rows = X if kind == "dense" else sp.csr_matrix(X)
        model = KMeans(
            len(init), init=init, metric=metric, max_iter=max_iter, tol=0, algorithm=algorithm
        ).fit(rows)
        np.testing.assert_array_equal(model.labels_, model.predict(rows))
        np.testing.assert_array_equal(
            model.labels_,
            KMeans(len(init), init=init, metric=metric, max_iter=max_iter, tol=0, algorithm="lloyd")
            .fit(rows)
            .labels_,
        )
        assert np.isfinite(model.cluster_centers_).all()
        assert -model.score(rows) == pytest.approx(model.inertia_, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("algorithm", ["lloyd", "elkan", "lazy"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # scikit-learn's finite check
def test_magnitudes_at_the_edge(blobs, dtype, kind, algorithm):
    largest = 1e38 / 40 if dtype == np.float32 else 1e200
    for scale, start_scale in [(largest, 1), (1 / largest, 1), (1, 1e25), (1e-25, 1e25)]:
        X = (blobs[:300] * scale).astype(dtype)
        C = (X[:5] * dtype(start_scale)).astype(dtype)
        rows = X if kind == "dense" else sp.csr_matrix(X)
        model = KMeans(5, init=C, max_iter=5, algorithm=algorithm).fit(rows)
        assert np.isfinite(model.cluster_centers_).all()
        assert not np.isnan(model.inertia_)
        np.testing.assert_array_equal(model.predict(rows), model.labels_)
        assert model.labels_.min() >= 0
        assert model.labels_.max() < 5
    far = KMeans(20, random_state=0).fit((blobs * 1e25).astype(dtype))
    near = far.predict((np.tile(blobs, (4, 1)) / 1e3).astype(dtype))
    assert near.min() >= 0
    assert near.max() < 20


def test_far_from_the_origin_in_float64():
    X = 1.6e9 + np.random.default_rng(0).normal(size=(20_000, 4))
    model = KMeans(6, random_state=0, max_iter=20).fit(X)
    mine = model.labels_ == 0
    shifted = (X[mine] - 1.6e9).mean(axis=0)
    if model.history_["n_moved"][-1] == 0:
        np.testing.assert_allclose(model.cluster_centers_[0] - 1.6e9, shifted, atol=1e-6)
    assert model.inertia_ == pytest.approx(-model.score(X), rel=1e-9)


def test_near_ties_of_rows_close_to_the_origin():
    # Products of such rows vanish in float32 next to |c|²: only honest bounds keep labels right.
    rng = np.random.default_rng(0)
    X = rng.choice([-1e-5, 1e-5], size=(400, 1024)).astype(np.float32)
    X[:40] = rng.choice([-1.0, 1.0], size=(40, 1024))
    C = X[:40].copy()
    reference = KMeans(40, init=C, algorithm="elkan", max_iter=8, tol=0).fit(X)
    lazy = KMeans(40, init=C, algorithm="lazy", max_iter=8, tol=0).fit(X)
    np.testing.assert_array_equal(lazy.labels_, reference.labels_)


def test_weights_equal_repetition(blobs):
    counts = np.random.default_rng(0).integers(0, 4, len(blobs))
    C = blobs[:10]
    weighted = KMeans(10, init=C).fit(blobs, sample_weight=counts)
    repeated = KMeans(10, init=C).fit(np.repeat(blobs, counts, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-9)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    scaled = KMeans(10, init=C).fit(blobs, sample_weight=counts * 7.0)
    np.testing.assert_array_equal(scaled.labels_, weighted.labels_)


def test_empty_clusters_are_relocated(blobs):
    C = np.concatenate([blobs[:5], np.full((3, 12), 1e6)])
    for X in (blobs, sp.csr_matrix(blobs)):
        for algorithm in ("lloyd", "elkan", "lazy"):
            model = KMeans(8, init=C, algorithm=algorithm).fit(X)
            assert len(np.unique(model.labels_)) == 8
            np.testing.assert_array_equal(model.predict(X), model.labels_)
    inertias = model.history_["inertia"]
    assert (np.diff(inertias) <= 1e-9 * inertias[0]).all()


def test_too_few_distinct_rows_warns():
    X = np.array([[0.0, 1], [0, 1], [2, 2], [2, 2]])
    for rows in (X, sp.csr_matrix(X)):
        with pytest.warns(ConvergenceWarning, match=r"clusters \(2\).*n_clusters \(3\)"):
            model = KMeans(3, random_state=0).fit(rows)
        assert model.inertia_ == 0
        assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_that_are_all_zero():
    for X in (np.zeros((6, 4)), sp.csr_matrix((6, 4))):
        for algorithm in ("lloyd", "elkan", "lazy"):
            for metric in ("euclidean", "cosine"):
                model = KMeans(2, algorithm=algorithm, metric=metric, random_state=0).fit(X)
                np.testing.assert_array_equal(model.labels_, 0)
                np.testing.assert_array_equal(model.cluster_centers_, 0)
                np.testing.assert_array_equal(model.predict(X), 0)


def test_heavy_rows_leave_no_rounding_behind(blobs):
    X = sp.csr_matrix(np.abs(blobs[:400]))
    weights = np.where(np.arange(400) % 20 == 0, 1e12, 1e-3)
    model = KMeans(8, init=X[:8].toarray(), tol=0).fit(X, sample_weight=weights)
    rows = X.toarray()
    for j in range(8):
        mine = model.labels_ == j
        mean = weights[mine] @ rows[mine] / weights[mine].sum()
        np.testing.assert_allclose(model.cluster_centers_[j], mean, rtol=1e-11)


def test_one_cluster_is_the_mean(blobs, documents):
    np.testing.assert_allclose(KMeans(1).fit(blobs).cluster_centers_[0], blobs.mean(axis=0))
    mean = np.asarray(documents.mean(axis=0)).ravel()
    np.testing.assert_allclose(KMeans(1).fit(documents).cluster_centers_[0], mean, atol=1e-12)


def test_as_many_clusters_as_rows():
    X = np.random.default_rng(0).random((20, 3))
    model = KMeans(20, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert sorted(model.labels_) == list(range(20))


def test_history(blobs):
    model = KMeans(10, random_state=0, tol=0).fit(blobs)
    assert len(model.history_) == model.n_iter_
    assert model.history_["n_moved"][0] == len(blobs)
    assert model.history_["n_moved"][-1] == 0
    assert (model.history_["seconds"] > 0).all()


def test_tol_stops_early(blobs):
    strict = KMeans(20, random_state=0, tol=0).fit(blobs)
    loose = KMeans(20, random_state=0, tol=1e-1).fit(blobs)
    assert loose.n_iter_ < strict.n_iter_
    assert loose.history_["shift"][-1] <= 1e-1 * blobs.var(axis=0).mean()
    assert loose.history_["shift"][-2] > 1e-1 * blobs.var(axis=0).mean()


# --- progress ----------------------------------------------------------------------------------


def test_nothing_is_printed(blobs, capfd):
    KMeans(4, random_state=0, verbose=2).fit(blobs)
    assert capfd.readouterr().out == ""


def test_verbose_logs(blobs, caplog):
    with caplog.at_level(logging.INFO, logger="polymeans"):
        model = KMeans(4, random_state=0, verbose=2).fit(blobs)
    assert len(caplog.records) == model.n_iter_ + 1


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_callbacks_see_iterations_and_can_stop(blobs, documents, kind, metric):
    pytest.importorskip("sklearn.callback")
    X = blobs if kind == "dense" else documents

    class Watch:
        def __init__(self, stop_after):
            self.stop_after, self.names, self.inertias = stop_after, [], []

        def setup(self, estimator, context):
            self.names.append("setup")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
            self.names.append(context.task_name)
            if context.task_name == "iter":
                self.inertias.append(-fitted_estimator.score(X))
                return len(self.inertias) >= self.stop_after
            return False

        def teardown(self, estimator, context):
            self.names.append("teardown")

    watch = Watch(stop_after=3)
    model = KMeans(12, metric=metric, random_state=0, tol=0).set_callbacks(watch).fit(X)
    assert model.n_iter_ == 3
    assert watch.names == ["setup", "iter", "iter", "iter", "init", "fit", "teardown"]
    assert watch.inertias == sorted(watch.inertias, reverse=True)
    # What a callback sees after an iteration is what the next one starts from.
    np.testing.assert_allclose(watch.inertias[:2], model.history_["inertia"][1:], rtol=1e-9)
    assert watch.inertias[-1] == pytest.approx(model.inertia_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_clusters": 2.5}, "n_clusters"),
        ({"n_clusters": "many"}, "n_clusters"),
        ({"metric": "manhattan"}, r"metric must be one of 'euclidean', 'cosine', got 'manhattan'"),
        ({"init": "kmeans"}, "init must be one of 'auto', 'k-means"),
        ({"init": np.zeros((3, 2))}, "does not match"),
        ({"init": np.full((2, 12), np.nan)}, "init contains NaN"),
        ({"init": object()}, "init must be"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"tol": float("nan")}, "tol"),
        ({"algorithm": "full"}, "algorithm must be one of 'auto', 'lloyd'"),
        ({"n_threads": 0}, "n_threads"),
        ({"n_clusters": 10_000}, "n_samples=3000 should be >= n_clusters=10000"),
    ],
)
def test_bad_parameters(blobs, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        KMeans(**{"n_clusters": 2, **parameters}).fit(blobs)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity(blobs, documents, bad):
    dense = blobs.copy()
    dense[3, 4] = bad
    sparse = documents.copy()
    sparse.data[7] = bad
    for X in (dense, sparse):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            KMeans(2).fit(X)
    model = KMeans(2, random_state=0).fit(blobs)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(dense)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(3000), r"Negative values.*sample_weight"),
        (np.zeros(3000), "at least one non-zero"),
        (np.ones(7), r"sample_weight\.shape"),
        (np.full(3000, np.nan), "NaN"),
    ],
)
def test_bad_weights(blobs, weights, message):
    with pytest.raises(ValueError, match=message):
        KMeans(2).fit(blobs, sample_weight=weights)


def test_bad_rows(blobs):
    for X in (np.empty((0, 3)), np.empty((3, 0)), np.arange(5.0), np.zeros((2, 2, 2))):
        with pytest.raises(ValueError, match=r"0 sample|0 feature|[Ee]xpected 2D|dim 3"):
            KMeans(2).fit(X)
    with pytest.raises(ValueError, match=r"convert|float"):
        KMeans(1).fit(np.array([["a", "b"], ["c", "d"]], dtype=object))
    with pytest.raises(NotFittedError):
        KMeans(2).predict(blobs)
    with pytest.raises(ValueError, match="features"):
        KMeans(2).fit(blobs).predict(blobs[:, :5])


def test_array_with_several_starts_warns(blobs):
    with pytest.warns(RuntimeWarning, match="performing only one init"):
        KMeans(2, init=blobs[:2], n_init=5).fit(blobs)


def test_version():
    assert polymeans.__version__
