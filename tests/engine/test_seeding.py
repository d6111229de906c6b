"""Seeding: what scikit-learn would choose, weighted, and better than chance."""

import numpy as np
import pytest
from sklearn.cluster import kmeans_plusplus

from polymeans import KMeans
from polymeans.core.threads import Threads
from polymeans.engine import seeding
from polymeans.engine.runners import LocalRunner
from tests import oracles

METHODS = list(seeding.METHODS)


def choose(method, X, k, seed=0, weights=None):
    weights = np.ones(X.shape[0]) if weights is None else weights
    with Threads(2):
        runner = LocalRunner(X, weights)
        chosen = seeding.METHODS[method](runner, k, np.random.RandomState(seed))
        return chosen, seeding.potential_of(runner, chosen)


@pytest.mark.parametrize("seed", range(4))
def test_plus_plus_chooses_what_scikit_learn_chooses(blobs, documents, seed):
    weights = np.random.default_rng(seed).random(len(blobs))
    _, theirs = kmeans_plusplus(blobs, 25, sample_weight=weights, random_state=seed)
    np.testing.assert_array_equal(choose("k-means++", blobs, 25, seed, weights)[0], theirs)
    _, theirs = kmeans_plusplus(documents, 25, random_state=seed)
    np.testing.assert_array_equal(choose("k-means++", documents, 25, seed)[0], theirs)


@pytest.mark.parametrize("method", METHODS)
def test_rows_are_distinct_and_potential_is_right(blobs, documents, method):
    for X in (blobs, documents):
        chosen, potential = choose(method, X, 20)
        assert len(np.unique(chosen)) == 20
        rows = X if X is blobs else X.toarray()
        assert potential == pytest.approx(oracles.potential(rows, chosen, np.ones(len(rows))))


@pytest.mark.parametrize("method", ["k-means++", "k-means||", "afk-mc2"])
def test_better_than_random_rows(blobs, method):
    careful = np.median([choose(method, blobs, 40, seed)[1] for seed in range(5)])
    chance = np.median([choose("random", blobs, 40, seed)[1] for seed in range(5)])
    assert careful < chance


@pytest.mark.parametrize("method", METHODS)
def test_rows_without_weight_are_never_chosen(blobs, method):
    weights = np.zeros(len(blobs))
    weights[::7] = 1.0
    for seed in range(3):
        chosen, _ = choose(method, blobs, 30, seed, weights)
        assert (weights[chosen] > 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_weights_count_like_repetition(method):
    # Two far groups; nearly all weight in one of them: sampling by weight prefers it.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(8, 1, (200, 2))])
    weights = np.r_[np.full(200, 1e3), np.full(200, 1e-3)]
    firsts = [choose(method, X, 1, seed, weights)[0][0] < 200 for seed in range(20)]
    assert np.mean(firsts) > 0.9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fewer_distinct_rows_than_clusters(method):
    X = np.repeat(np.arange(4.0)[:, None], 10, axis=0)
    model = KMeans(6, init=method, n_init=1, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert len(np.unique(model.labels_)) == 4


def test_given_and_computed_centroids(blobs):
    def first_rows(X, n_clusters, random_state):
        return X[:n_clusters]

    by_call = KMeans(5, init=first_rows, n_init=1).fit(blobs)
    by_array = KMeans(5, init=blobs[:5]).fit(blobs)
    np.testing.assert_array_equal(by_call.labels_, by_array.labels_)


def test_best_of_several_starts(blobs):
    single = [
        KMeans(20, init="random", n_init=1, random_state=seed).fit(blobs).inertia_
        for seed in range(3)
    ]
    several = KMeans(20, init="random", n_init=10, random_state=0).fit(blobs)
    assert several.inertia_ <= min(single[0], np.median(single))


def test_rows_are_drawn_even_where_masses_are_no_numbers():
    from polymeans.kernels.seeding import rows_of_units

    masses = np.array([1.0, np.nan, np.inf, 2.0])
    found = rows_of_units(masses, 1.0, 1.0, np.array([0, 5, 2**60], dtype=np.int64))
    assert ((found >= 0) & (found < len(masses))).all()
