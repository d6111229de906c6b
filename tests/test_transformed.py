"""TransformedKMeans as users meet it: conventions, containers, weights, bad and poor input."""

import logging
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymeans import KMeans, TransformedKMeans
from polymeans._base import _POOLED
from polymeans.core.threads import PRODUCT_ROWS
from polymeans.datasets import make_documents

EMBEDDINGS = ["cut", "svd", None]


@pytest.fixture(scope="module")
def rows():
    """Three clusters that share a covariance, and labels with errors to start from."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 150)
    X = 4 * rng.normal(size=(3, 5))[labels] + rng.normal(size=(150, 5)) @ rng.normal(size=(5, 5))
    return X, np.where(rng.random(150) < 0.15, (labels + 1) % 3, labels)


@pytest.fixture(scope="module")
def text():
    """Documents of three topics, and labels with errors to start from."""
    X, topics = make_documents(120, 300, n_topics=3, length=20, overlap=0.3, random_state=0)
    return X, np.where(np.random.default_rng(0).random(120) < 0.15, (topics + 1) % 3, topics)


def same_bits(one, other):
    for name in ("labels_", "cluster_centers_", "centers_in_space_"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("objective_", "log_det_", "inertia_", "rho_", "n_iter_"):
        assert getattr(one, name) == getattr(other, name)
    assert_array_equal(one.history_["inertia"], other.history_["inertia"])


def assert_sound(model, X, k):
    """Shapes agree, and everything is a number."""
    n, d = X.shape
    assert model.labels_.shape == (n,)
    assert model.labels_.dtype == np.int32
    assert model.labels_.min() >= 0
    assert model.labels_.max() < k
    assert model.cluster_centers_.shape == (k, d)
    for name in ("objective_", "log_det_", "inertia_", "rho_", "lam_", "mu_", "discarded_"):
        assert np.isfinite(getattr(model, name)), name
    for value in (model.cluster_centers_, model.history_["inertia"]):
        assert np.isfinite(value).all()
    assert -1e-12 <= model.discarded_ <= 1 + 1e-12
    assert model.rho_ > 0
    if len(np.unique(model.labels_)) == k:
        assert_array_equal(model.predict(X), model.labels_)
    if model.solver != "cg":
        Z = model.transform(X)
        assert Z.shape == (n, model.n_components_)
        assert model.centers_in_space_.shape == (k, model.n_components_)
        assert np.isfinite(Z).all()
        assert np.isfinite(model.centers_in_space_).all()


# --- conventions ----------------------------------------------------------------------------------

# As for KMeans: repeated rows and rows of weight zero change which random numbers meet which rows.
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "seeding draws rows by position",
    "check_sample_weight_equivalence_on_sparse_data": "seeding draws rows by position",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        TransformedKMeans(),
        TransformedKMeans(embedding=None, refine="exchange"),
        TransformedKMeans(kernel="rbf", init="mixed"),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


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
    one, two, three = (clone(model).set_params(n_threads=n).fit(X) for n in (1, 2, 3))
    same_bits(one, two)
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
    X *= 3.0  # not of length one, so that there would be something to normalise
    before, weights = X.copy(), np.random.default_rng(0).random(120)
    held = weights.copy(), start.copy()
    arrays = [X] if kind == "dense" else [X.data, X.indices, X.indptr]
    for array in (*arrays, weights):
        array.flags.writeable = False
    for params in ({"init": start}, {"n_init": 1}, {"n_init": 1, "refine": "exchange"}):
        model = TransformedKMeans(3, embedding=embedding, spherical=True, **params)
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
    model.set_params(n_clusters=5, rho=1e5, embedding=None, spherical=True, kernel="rbf")
    assert_array_equal(model.predict(X), labels)
    assert_array_equal(model.transform(X), Z)


def test_verbose_logs_and_does_not_print(rows, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="polymeans"):
        TransformedKMeans(3, verbose=2, n_init=2, random_state=0).fit(rows[0])
    assert caplog.records
    assert capsys.readouterr().out == ""


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("rho", ["auto", 0.7])
def test_weights_count_like_repeated_rows(text, rho, embedding, kind):
    X, start = text
    X = X.toarray() if kind == "dense" else X
    weights = np.random.default_rng(0).integers(0, 4, 120)
    again = np.repeat(np.arange(120), weights)
    model = TransformedKMeans(3, rho=rho, embedding=embedding, spherical=True, init=start)
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
        model = TransformedKMeans(3, rho=1.0, embedding=embedding, spherical=True, init=start)
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


# --- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"rho": 0}, "rho"),
        ({"rho": -1.0}, "rho"),
        ({"rho": np.nan}, "rho"),
        ({"rho": np.inf}, "rho"),
        ({"rho": "x"}, "rho"),
        ({"rho": None}, "rho"),
        ({"rho": [1.0]}, "rho"),
        ({"lam": 0}, "lam"),
        ({"lam": -1.0}, "lam"),
        ({"lam": np.nan}, "lam"),
        ({"lam": "auto"}, "lam"),
        ({"mu": 0}, "mu"),
        ({"mu": -1.0}, "mu"),
        ({"mu": np.inf}, "mu"),
        ({"mu": None}, "mu"),
        ({"lam": 1.0, "rho": 1.0}, r"rho.*lam|lam.*rho"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 2.5}, "n_clusters"),
        ({"n_clusters": "3"}, "n_clusters"),
        ({"n_clusters": 151}, r"n_clusters|n_samples"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": -2}, "n_components"),
        ({"n_components": 6}, "n_components"),
        ({"n_components": 6, "embedding": None}, "n_components"),
        ({"n_components": 151, "kernel": "rbf"}, "n_components"),
        ({"n_components": 1.5}, "n_components"),
        ({"n_components": "all"}, "n_components"),
        ({"n_components": None}, "n_components"),
        ({"embedding": "pca"}, "embedding"),
        ({"embedding": 3}, "embedding"),
        ({"embedding": "cut"}, r"embedding|cut"),
        ({"spherical": "yes"}, "spherical"),
        ({"spherical": None}, "spherical"),
        ({"kernel": "x"}, "kernel"),
        ({"algorithm": "lloyd"}, "algorithm"),
        ({"algorithm": None}, "algorithm"),
        ({"solver": "arpack"}, "solver"),
        ({"solver": None}, "solver"),
        ({"solver": "cg", "embedding": "svd"}, "solver"),
        ({"init": "random"}, "init"),
        ({"init": None}, "init"),
        ({"init": 3}, "init"),
        ({"refine": "swap"}, "refine"),
        ({"refine": True}, "refine"),
        ({"n_init": 0}, "n_init"),
        ({"n_init": "many"}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"tol": np.nan}, "tol"),
        ({"n_threads": 0}, "n_threads"),
        ({"random_state": "x"}, "x"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_name(rows, params, match):
    with pytest.raises((ValueError, TypeError), match=match):
        TransformedKMeans(**{"n_clusters": 3, **params}).fit(rows[0])


def test_bad_parameters_are_not_refused_before_fit():
    assert TransformedKMeans(rho=-1.0, lam=3.0, kernel=4).rho == -1.0


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda labels: labels[:-1], "init"),
        (lambda labels: np.append(labels, 0), "init"),
        (lambda labels: labels[:, None].repeat(2, axis=1), "init"),
        (lambda labels: labels - 1, "init"),
        (lambda labels: labels + 1, "init"),
        (lambda labels: labels + 0.5, "init"),
        (lambda labels: np.where(labels > 1, np.nan, labels), "init"),
        (lambda labels: np.where(labels > 1, np.inf, labels), "init"),
        (lambda labels: np.full(labels.shape, "a", dtype=object), "init"),
        (lambda labels: labels * 1e300, "init"),
    ],
)
def test_labels_that_cannot_be_a_start_are_refused(rows, change, match):
    X, labels = rows
    with pytest.raises((ValueError, TypeError), match=match):
        TransformedKMeans(3, init=change(labels)).fit(X)


def test_given_labels_with_several_starts_warn(rows):
    with pytest.warns(RuntimeWarning, match="only one init"):
        TransformedKMeans(3, init=rows[1], n_init=5).fit(rows[0])


def test_a_cluster_without_rows_among_given_labels_is_filled(rows):
    X, labels = rows
    model = TransformedKMeans(3, init=np.minimum(labels, 1)).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert_sound(model, X, 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(rows, bad):
    X = rows[0].copy()
    X[3, 4] = bad
    model = TransformedKMeans(3, init=rows[1]).fit(rows[0])
    for other in (X, sp.csr_array(X), X.astype(np.float32)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            TransformedKMeans(3).fit(other)
        for method in (model.predict, model.transform, model.score):
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                method(other)


def test_bad_rows_are_refused(rows):
    for X in (np.empty((0, 3)), np.empty((3, 0)), np.arange(5.0), np.zeros((2, 2, 2))):
        with pytest.raises(ValueError, match=r"0 sample|0 feature|[Ee]xpected 2D|dim 3"):
            TransformedKMeans(2).fit(X)
    for method in ("predict", "transform", "score", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(TransformedKMeans(2), method)(rows[0])
    with pytest.raises(ValueError, match="features"):
        TransformedKMeans(3, init=rows[1]).fit(rows[0]).predict(rows[0][:, :4])


@pytest.mark.parametrize("container", [np.array, sp.csr_array])
def test_cut_refuses_negative_entries(text, container):
    X = text[0].toarray()
    X[5, 7] = -0.1
    with pytest.raises(ValueError, match=r"(?i)negative"):
        TransformedKMeans(3, embedding="cut", spherical=True).fit(container(X))
    model = TransformedKMeans(3, embedding="cut", init=text[1]).fit(text[0])
    assert model.predict(container(np.abs(X))).shape == (120,)


# --- poor data ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("params", [{}, {"refine": "exchange"}, {"spherical": False}])
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
    params = {"rho": 1.0, "embedding": embedding, "spherical": True}
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
        2, embedding=embedding, solver="lanczos", n_components=2, spherical=value == 0
    )
    assert_sound(model.fit(X), X, 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_identical_rows_are_predicted_as_they_were_labelled():
    for seed in range(20):
        X = np.tile(np.random.default_rng(seed).normal(size=(1, 7)), (5, 1))
        model = TransformedKMeans(4, rho=1.0, embedding="svd", spherical=True, init="mixed")
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
    model = TransformedKMeans(2, embedding=embedding, spherical=False, random_state=0)
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
        spherical=spherical,
        init=init,
        n_init=2,
        refine=refine,
        random_state=0,
    )
    X = sp.csr_array(X) if sparse else X
    assert_sound(model.fit(X), X, k)


# --- good clusters --------------------------------------------------------------------------------


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
