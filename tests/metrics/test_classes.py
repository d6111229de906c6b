"""Agreement with classes: against brute force, bounds, invariance; size of codebooks."""

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import cluster
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, homogeneity_score

from polymeans import KMeans
from polymeans.metrics import entropy, parameter_ratio, purity, unsupervised_accuracy

AGREEMENT = [unsupervised_accuracy, purity, entropy]

#: Pairs (class, cluster), at most five of each so that every naming can be tried.
pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40)


def accuracy_by_trying(y_true, y_pred, weights):
    """The best of all ways to name clusters, some of them after no class (name -1)."""
    classes, clusters = sorted(set(y_true)), sorted(set(y_pred))
    names = classes + [-1] * len(clusters)
    best = 0
    for naming in set(permutations(names, len(clusters))):
        named = dict(zip(clusters, naming))
        right = sum(w for t, p, w in zip(y_true, y_pred, weights) if named[p] == t)
        best = max(best, right)
    return best / sum(weights)


def shares(y_true, y_pred):
    """Share of each cluster, and of each class inside it."""
    for name in set(y_pred):
        members = [t for t, p in zip(y_true, y_pred) if p == name]
        yield len(members) / len(y_pred), [members.count(t) / len(members) for t in set(members)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=30))
def test_accuracy_is_that_of_the_best_naming(rows):
    y_true, y_pred = zip(*rows)
    expected = accuracy_by_trying(y_true, y_pred, [1] * len(rows))
    assert unsupervised_accuracy(y_true, y_pred) == pytest.approx(expected)
    assert unsupervised_accuracy(y_pred, y_true) == pytest.approx(expected)


@given(pairs)
def test_purity_and_entropy_are_their_definitions(rows):
    y_true, y_pred = zip(*rows)
    expected = sum(size * max(inside) for size, inside in shares(y_true, y_pred))
    assert purity(y_true, y_pred) == pytest.approx(expected)
    q = len(set(y_true))
    disorder = -sum(
        size * sum(p * math.log(p) for p in inside) for size, inside in shares(y_true, y_pred)
    )
    expected = disorder / math.log(q) if q > 1 else 0.0
    assert entropy(y_true, y_pred) == pytest.approx(expected, abs=1e-12)


@given(pairs)
def test_entropy_is_homogeneity_in_another_unit(rows):
    y_true, y_pred = zip(*rows)
    p = np.unique(y_true, return_counts=True)[1] / len(rows)
    if len(p) > 1:
        of_classes = -(p @ np.log(p)) / np.log(len(p))
        expected = of_classes * (1 - homogeneity_score(y_true, y_pred))
        assert entropy(y_true, y_pred) == pytest.approx(expected, abs=1e-9)


@given(pairs)
def test_bounds(rows):
    y_true, y_pred = zip(*rows)
    accuracy, clean = unsupervised_accuracy(y_true, y_pred), purity(y_true, y_pred)
    largest = np.bincount(y_true).max() / len(rows)
    assert 0 < accuracy <= clean <= 1
    assert accuracy >= accuracy_score(y_true, y_pred)
    assert clean >= largest or clean == pytest.approx(largest)
    assert 0 <= entropy(y_true, y_pred) <= 1
    for score in AGREEMENT:
        assert type(score(y_true, y_pred)) is float


@given(pairs, st.permutations(range(5)), st.permutations(["a", "bb", "c", "", "é"]))
def test_names_do_not_matter(rows, numbers, words):
    y_true, y_pred = map(np.array, zip(*rows))
    renamed_true, renamed_pred = np.array(words)[y_true], 7 * np.array(numbers)[y_pred] - 10
    for score in AGREEMENT:
        expected = pytest.approx(score(y_true, y_pred), abs=1e-12)
        assert score(renamed_true, renamed_pred) == expected
        assert score(renamed_true.astype(object), list(renamed_pred)) == expected
        assert score(pd.Series(renamed_true, dtype="category"), renamed_pred / 3) == expected


@given(pairs, st.data())
def test_a_weight_is_a_repetition(rows, data):
    y_true, y_pred = map(np.array, zip(*rows))
    weights = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)).filter(any))
    )
    for score in AGREEMENT:
        repeated = score(np.repeat(y_true, weights), np.repeat(y_pred, weights))
        weighted = score(y_true, y_pred, sample_weight=weights)
        assert weighted == pytest.approx(repeated, abs=1e-12)
        assert score(y_true, y_pred, sample_weight=weights / 7) == pytest.approx(
            repeated, abs=1e-12
        )


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=50))
def test_perfect_is_exact(labels):
    named = [f"cluster {label}" for label in labels]
    assert unsupervised_accuracy(labels, named) == 1
    assert purity(labels, named) == 1
    assert entropy(labels, named) == 0


def test_more_clusters_than_classes():
    y_true = [0] * 50 + [1] * 50
    each_its_own = np.arange(100)
    assert unsupervised_accuracy(y_true, each_its_own) == 0.02
    assert purity(y_true, each_its_own) == 1
    assert entropy(y_true, each_its_own) == 0


def test_one_cluster_for_all():
    y_true = ["a"] * 30 + ["b"] * 30 + ["c"] * 30
    assert unsupervised_accuracy(y_true, [0] * 90) == pytest.approx(1 / 3)
    assert purity(y_true, [0] * 90) == pytest.approx(1 / 3)
    assert entropy(y_true, [0] * 90) == pytest.approx(1)
    assert entropy([5] * 90, np.arange(90)) == 0


def test_the_best_naming_is_not_the_greedy_one():
    # Both clusters would have class 0. The one with most of it must take class 1.
    y_true = [0] * 10 + [1] * 9 + [0] * 8
    y_pred = [0] * 19 + [1] * 8
    assert unsupervised_accuracy(y_true, y_pred) == pytest.approx(17 / 27)
    assert purity(y_true, y_pred) == pytest.approx(18 / 27)


def test_many_clusters_are_cheap():
    # A full table of classes and clusters would have 10^10 cells.
    labels = np.arange(100_000)
    assert purity(labels, labels[::-1]) == 1
    assert entropy(labels, labels[::-1]) == 0


@pytest.mark.parametrize("score", AGREEMENT)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([], [], "y_true must have at least one label"),
        ([0, 1], [0], "got 2 and 1 labels"),
        ([0, 1], [], "y_pred must have at least one label"),
        ([0, 1], [[0, 1], [1, 0]], r"y_pred must have one dimension, got shape \(2, 2\)"),
        (3, [1], r"y_true must have one dimension, got shape \(\)"),
        ([0.0, math.nan], [0, 1], "y_true must not have missing labels, got 1 NaN"),
        ([0, 1], ["a", None], "y_pred must have labels that can be sorted.* NoneType, str"),
    ],
)
def test_bad_labels(score, y_true, y_pred, message):
    with pytest.raises((ValueError, TypeError), match=message):
        score(y_true, y_pred)


@pytest.mark.parametrize("score", AGREEMENT)
@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, math.nan]])
def test_bad_weights(score, weights):
    with pytest.raises(ValueError, match=r"(?i)sample.?weight"):
        score([0, 1], [0, 1], sample_weight=weights)


# --- parameters --------------------------------------------------------------------------------


class Structured(ClusterMixin, BaseEstimator):
    """Sixteen centroids of two sets of four, whose centroids must not be asked for."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.n_clusters_ = 16
        self.n_parameters_ = 8 * X.shape[1]
        return self

    @property
    def cluster_centers_(self):
        raise AssertionError("centroids were built only to be counted")


def test_parameters_of_a_structured_codebook():
    assert parameter_ratio(Structured().fit(np.zeros((3, 5)))) == 0.5


def test_free_centroids_have_ratio_one():
    X = np.random.default_rng(0).normal(size=(60, 3))
    for model in (
        KMeans(4, random_state=0),
        cluster.KMeans(4, random_state=0),
        cluster.MeanShift(bandwidth=2.0),  # has no n_clusters
    ):
        ratio = parameter_ratio(model.fit(X))
        assert type(ratio) is float
        assert ratio == 1


def test_models_that_cannot_be_counted():
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(NotFittedError):
        parameter_ratio(KMeans(4))
    with pytest.raises(TypeError, match=r"n_parameters_ or cluster_centers_, got Agglom.*neither"):
        parameter_ratio(cluster.AgglomerativeClustering(3).fit(X))
    with pytest.raises(TypeError, match="n_clusters_, an integer n_clusters"):
        parameter_ratio(cluster.DBSCAN().fit(X))
    with pytest.raises(TypeError, match="estimator"):
        parameter_ratio(4)
    model = KMeans(4, random_state=0).fit(X)
    del model.n_features_in_
    with pytest.raises(TypeError, match="n_features_in_"):
        parameter_ratio(model)
