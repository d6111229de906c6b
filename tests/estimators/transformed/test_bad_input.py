"""TransformedKMeans: parameters, starts and rows that are refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from polymeans import TransformedKMeans
from tests.estimators.transformed.checks import assert_sound


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
        ({"metric": "manhattan"}, "metric"),
        ({"metric": None}, "metric"),
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
        TransformedKMeans(3, embedding="cut", metric="cosine").fit(container(X))
    model = TransformedKMeans(3, embedding="cut", init=text[1]).fit(text[0])
    assert model.predict(container(np.abs(X))).shape == (120,)
