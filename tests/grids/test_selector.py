"""Sizes found on data made with known ones; the criterion against its formula; conventions."""

import logging

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.base import clone
from sklearn.cluster import KMeans as ReferenceKMeans
from sklearn.datasets import make_blobs

from polymeans.datasets import make_khatri_rao
from polymeans.grids.selector import KhatriRaoSelector
from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.kmeans import KMeans
from tests.marks import long


def rows(sizes=(3, 4), aggregator="sum", seed=0, n_samples=500):
    return make_khatri_rao(
        n_samples, sizes, 6, aggregator=aggregator, noise=0.1, spread=0.7, random_state=seed
    )[0]


@pytest.mark.parametrize("aggregator", ["sum", "product"])
@pytest.mark.parametrize("seed", [0, *long(1)])
def test_sizes_and_aggregator_of_clean_data_are_found(aggregator, seed):
    X = rows(aggregator=aggregator, seed=seed)
    selector = KhatriRaoSelector(20, random_state=seed).fit(X)
    assert selector.best_aggregator_ == aggregator
    assert selector.best_sizes_ == (3, 4)
    assert isinstance(selector.best_estimator_, KhatriRaoKMeans)


def test_a_third_set_is_added_where_it_is_allowed():
    X = rows((2, 2, 3))
    selector = KhatriRaoSelector(24, n_sets=3, aggregators=("sum",), random_state=0).fit(X)
    assert selector.best_sizes_ == (2, 2, 3)


@pytest.mark.parametrize("seed", [0, *long(2)])
def test_clusters_without_structure_stay_free(seed):
    X, _ = make_blobs(400, centers=7, n_features=4, cluster_std=0.6, random_state=seed)
    selector = KhatriRaoSelector(16, random_state=0).fit(X)
    assert selector.best_aggregator_ == "none"
    assert selector.best_sizes_ == (7,)
    assert isinstance(selector.best_estimator_, KMeans)


def test_one_cluster_is_an_answer():
    X = np.random.default_rng(0).normal(size=(300, 8))
    assert KhatriRaoSelector(16, random_state=0).fit(X).best_sizes_ == (1,)


def test_table_and_winner_agree():
    X = rows((2, 3), n_samples=200)
    selector = KhatriRaoSelector(9, random_state=0).fit(X)
    frame = pd.DataFrame(selector.table_)
    assert not frame.duplicated(["aggregator", "sizes"]).any()
    assert set(frame.aggregator) == {"none", "sum", "product"}
    assert (frame.n_clusters <= 9).all()
    assert (frame.n_used <= frame.n_clusters).all()
    won = frame[(frame.aggregator == selector.best_aggregator_)]
    won = won[won.sizes == selector.best_sizes_].iloc[0]
    assert won.bic <= frame.bic.min() + 2
    assert won.inertia == selector.best_estimator_.inertia_
    np.testing.assert_array_equal(selector.labels_, selector.best_estimator_.labels_)
    np.testing.assert_array_equal(selector.predict(X), selector.labels_)


def test_likelihood_is_that_of_round_normal_clusters():
    X = rows((2, 2), n_samples=100)
    selector = KhatriRaoSelector(4, random_state=0).fit(X)
    record = next(r for r in selector.table_ if r["sizes"] == (4,))
    reference = ReferenceKMeans(4, n_init=10, random_state=0).fit(X)
    centers, counts = reference.cluster_centers_[reference.labels_], np.bincount(reference.labels_)
    scale = np.sqrt(reference.inertia_ / X.size)
    expected = norm.logpdf(X, centers, scale).sum() + counts @ np.log(counts / 100)
    assert record["log_likelihood"] == pytest.approx(expected)
    n_parameters = 4 * 6 + 3 + 1
    assert record["n_parameters"] == n_parameters
    assert record["bic"] == pytest.approx(-2 * expected + n_parameters * np.log(100))
    assert record["aic"] == pytest.approx(-2 * expected + 2 * n_parameters)
    grid = next(r for r in selector.table_ if r["sizes"] == (2, 2))
    assert grid["n_parameters"] == 3 * 6 + 3 + 1


def test_weights_count_as_repetitions_in_the_criterion():
    X = rows((2, 2), n_samples=80)
    weights = np.random.default_rng(0).integers(1, 4, size=80)
    options = {"max_clusters": 4, "aggregators": (), "random_state": 0}
    weighted = KhatriRaoSelector(**options).fit(X, sample_weight=weights)
    repeated = KhatriRaoSelector(**options).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.table_["bic"], repeated.table_["bic"])


def test_sparse_rows_are_the_same_rows():
    X = rows((2, 3), n_samples=200)
    options = {"max_clusters": 8, "aggregators": ("sum",), "random_state": 0}
    dense, sparse = KhatriRaoSelector(**options).fit(X), KhatriRaoSelector(**options)
    sparse.fit(csr_array(X))
    assert sparse.best_sizes_ == dense.best_sizes_
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), sparse.labels_)


def test_duplicates_constants_and_few_rows_give_numbers():
    for X in (np.ones((6, 2)), np.repeat(np.eye(3), 4, axis=0), np.eye(2)):
        selector = KhatriRaoSelector(8, random_state=0).fit(X)
        assert np.isfinite(selector.table_["bic"]).all()
        assert selector.labels_.shape == (len(X),)


def test_too_few_rows_for_any_candidate():
    with pytest.raises(ValueError, match="n_samples=3 is too few for a grid"):
        KhatriRaoSelector(free_centroids=False).fit(np.eye(3))


def test_same_seed_same_table():
    X = rows((2, 3), n_samples=150)
    selector = KhatriRaoSelector(8, random_state=3)
    first, second = (clone(selector).fit(X).table_["bic"] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_verbose_logs_candidates(caplog):
    with caplog.at_level(logging.INFO, logger="polymeans"):
        KhatriRaoSelector(4, aggregators=(), verbose=1, random_state=0).fit(rows(n_samples=50))
    assert "none (1,): bic" in caplog.text


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"max_clusters": 0}, ValueError, "max_clusters must be"),
        ({"aggregators": "sum"}, TypeError, r"aggregators must be a sequence.*\(\"sum\",\)"),
        ({"aggregators": ("max",)}, ValueError, "aggregators must be one of"),
        ({"n_sets": 1}, ValueError, "n_sets must be an integer of at least 2"),
        ({"criterion": "mdl"}, ValueError, "criterion must be one of 'bic', 'aic'"),
        ({"patience": 0}, ValueError, "patience must be"),
        ({"free_centroids": False, "aggregators": ()}, ValueError, "leaves no candidate"),
    ],
)
def test_errors_name_the_parameter(change, error, message):
    with pytest.raises(error, match=message):
        KhatriRaoSelector(**change).fit(np.eye(8))
