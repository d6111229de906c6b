"""Choice of a number of clusters: the right one, or none; for every estimator and kind of rows."""

import logging

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polymeans
from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
    choose_n_clusters,
)
from polymeans.blocks import from_sequence
from polymeans.selection import ChoiceOfK
from polymeans.selection.choice import CRITERIA
from tests.marks import long

CENTERS = np.array([[0, 0, 0], [9, 0, 0], [0, 9, 0], [9, 9, 9]], dtype=float)


@pytest.fixture(scope="module")
def four():
    return make_blobs(240, centers=CENTERS, random_state=0)[0]


def nothing(kind, seed, n=400, d=3):
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(n, d))
    return {
        "uniform": lambda: rng.random((n, d)),
        "Gaussian": lambda: normal,
        "elongated": lambda: normal * 3.0 ** np.arange(d),
        "t": lambda: rng.standard_t(3, size=(n, d)),
        "multivariate t": lambda: normal / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3),
        "wide": lambda: rng.normal(size=(80, 200)),
    }[kind]()


@pytest.mark.parametrize("seed", [0, *long(1, 2)])
@pytest.mark.parametrize(
    "kind", ["uniform", "Gaussian", "elongated", "t", "multivariate t", "wide"]
)
def test_rows_without_clusters_get_none(kind, seed):
    choice = choose_n_clusters(nothing(kind, seed), 8, random_state=seed, n_threads=1)
    assert choice.best_ is None
    assert choice.best_estimator_ is None
    assert "no sign of clusters" in choice.reason_ or "never divided alike" in choice.reason_


@pytest.mark.parametrize(
    ("k", "d"),
    [
        (2, 10),
        (3, 2),
        (5, 10),
        (8, 2),
        *(
            pytest.param(k, d, marks=pytest.mark.long)
            for k, d in [(2, 2), (3, 10), (5, 2), (8, 10)]
        ),
    ],
)
def test_separate_clusters_are_counted(k, d):
    rng = np.random.default_rng(k + d)
    centers = rng.normal(size=(k, d))
    apart = np.linalg.norm(centers[:, None] - centers, axis=2) + 1e9 * np.eye(k)
    X, _ = make_blobs(100 * k, centers=centers * 7 / apart.min(), random_state=0)
    choice = choose_n_clusters(X, k + 4, random_state=0, n_threads=1)
    assert choice.best_ == k
    assert len(choice.best_estimator_.cluster_centers_) == k
    assert choice.choices_["prediction_strength"] == k


@pytest.mark.parametrize(
    "estimator",
    [
        KMeans(),
        KMeans(metric="cosine"),
        L1KMeans(),
        QuickKMeans(n_nonzeros=40),
        KhatriRaoKMeans(effort=0.02),
        NonRedundantKMeans(2, effort=0.1),
        TransformedKMeans(),
        SklearnKMeans(n_init=1),
        make_pipeline(PCA(2), KMeans()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator(estimator):
    rng = np.random.default_rng(0)
    grid = np.array([[5, 5, 5, 5], [14, 5, 5, 5], [5, 14, 5, 5], [14, 14, 5, 5]])
    X = np.repeat(grid, 40, axis=0) + rng.normal(size=(160, 4)) * 0.5
    choice = choose_n_clusters(X, [2, 4, 6], estimator=estimator, random_state=0, n_threads=1)
    assert choice.best_ == 4
    assert len(np.unique(choice.best_estimator_.labels_)) == 4
    assert set(choice.choices_) <= set(CRITERIA)


KINDS = {
    "list": lambda X: X.tolist(),
    "float32": lambda X: X.astype(np.float32),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abc")),
    "polars": lambda X: pl.DataFrame(X, schema=list("abc")),
    "CSR": sp.csr_array,
    "CSR matrix": sp.csr_matrix,
    "blocks": lambda X: from_sequence(X, block_rows=100),
    "sparse blocks": lambda X: from_sequence(sp.csr_array(X), block_rows=50),
}


@pytest.mark.parametrize(
    "kind", ["float32", "polars", "CSR", "blocks", *long("list", "CSR matrix", "sparse blocks")]
)
def test_kinds_of_rows(kind, four):
    choice = choose_n_clusters(KINDS[kind](four), 5, random_state=0, n_threads=1)
    assert choice.best_ == 4


def test_names_of_columns_are_kept(four):
    frame = KINDS["pandas"](four)
    choice = choose_n_clusters(frame, 5, random_state=0)
    assert choice.best_ == 4
    model = choice.best_estimator_
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert len(model.predict(frame)) == 240


def test_more_rows_than_the_sample(monkeypatch, four):
    from polymeans.selection import choosing

    monkeypatch.setattr(choosing, "_SAMPLE", 100)
    for X in (four, from_sequence(four, block_rows=100)):
        choice = choose_n_clusters(X, 7, random_state=0, n_threads=1)
        assert choice.best_ == 4
        assert len(choice.best_estimator_.labels_) == 240


def test_same_seed_same_bits_for_any_number_of_threads(four):
    tables = [
        choose_n_clusters(four, 5, random_state=3, n_threads=n_threads).table_
        for n_threads in (1, 2)
    ]
    for name in tables[0].dtype.names:
        if name != "seconds":
            np.testing.assert_array_equal(tables[0][name], tables[1][name])


def test_input_and_estimator_are_not_changed(four):
    before, estimator = four.copy(), KMeans(5, random_state=1)
    choose_n_clusters(four, 3, estimator=estimator, random_state=0)
    np.testing.assert_array_equal(four, before)
    assert estimator.get_params() == KMeans(5, random_state=1).get_params()
    assert not hasattr(estimator, "labels_")


def test_iris_has_two_heaps():
    assert choose_n_clusters(load_iris().data, 8, random_state=0).best_ == 2


def test_few_and_equal_rows():
    assert choose_n_clusters([[0.0], [0.0], [9.0], [9.0]], random_state=0).best_ is None
    choice = choose_n_clusters(np.ones((10, 2)), 4, random_state=0)
    assert choice.best_ is None
    with pytest.raises(ValueError, match="Give more rows"):
        choose_n_clusters([[0.0], [1.0], [2.0]])


def test_results_can_be_read(four):
    choice = choose_n_clusters(four, 6, random_state=0)
    assert isinstance(choice, ChoiceOfK)
    assert list(choice.table_["n_clusters"]) == [1, 2, 3, 4, 5, 6]
    text = str(choice)
    assert text.startswith("number of clusters: 4 (both halves")
    assert "simplified silhouette" in text
    assert repr(choice) == text
    html = choice._repr_html_()
    assert html.count("<table>") == html.count("</table>") == 2
    assert "font-weight:bold" in html
    assert next(iter(choice.agreement_)) == 4
    assert len(pd.DataFrame(choice.table_)) == 6


def test_a_criterion_can_decide(four):
    choice = choose_n_clusters(four, 6, criterion="bic", random_state=0)
    assert choice.best_ == 4
    assert choice.reason_ == "the answer of BIC"
    with pytest.raises(ValueError, match="criterion='bic' is not defined"):
        choose_n_clusters(sp.csr_array(four), 4, criterion="bic", random_state=0)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"n_clusters": "many"}, TypeError, "n_clusters must be an integer or a sequence"),
        ({"n_clusters": 1}, ValueError, "n_clusters must be an integer of at least 2"),
        ({"n_clusters": [2, 0]}, ValueError, "Each of n_clusters"),
        ({"n_clusters": [500]}, ValueError, "from 2 to 120"),
        ({"estimator": StandardScaler()}, TypeError, "estimator must be a clusterer"),
        ({"estimator": KMeans}, TypeError, "estimator must be a clusterer"),
        ({"criterion": "best"}, ValueError, "criterion must be one of"),
        ({"progress": "bar"}, TypeError, "progress must be True, False or a function"),
        ({"n_threads": 0}, ValueError, "n_threads"),
    ],
)
def test_errors_name_the_parameter(four, given, error, text):
    with pytest.raises(error, match=text):
        choose_n_clusters(four, **given)


def test_progress_is_reported(four, caplog):
    seen = []
    with caplog.at_level(logging.INFO, logger="polymeans"):
        choose_n_clusters(
            four, 4, random_state=0, verbose=1, progress=lambda *step: seen.append(step)
        )
    done, total, texts = zip(*seen)
    assert list(done) == list(range(1, total[0] + 1))
    assert len(set(total)) == 1
    assert "4 clusters, inertia" in texts[3]
    assert len(caplog.records) == total[0]


def test_the_name_is_imported_on_first_use():
    assert "choose_n_clusters" in dir(polymeans)
    with pytest.raises(AttributeError, match="no attribute 'choose'"):
        _ = polymeans.choose
