"""KhatriRaoKMeans: what default fits find, and every way to start."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.datasets import make_khatri_rao, make_stick_figures
from tests.estimators.khatri_rao.checks import AGGREGATORS, starting_sets
from tests.marks import long
from tests.oracles import inertia


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 3)])
def test_a_default_fit_finds_hidden_structure(aggregator, sizes):
    X, protolabels, _ = make_khatri_rao(
        800, sizes, 8, aggregator=aggregator, noise=0.02, random_state=1
    )
    model = KhatriRaoKMeans(sizes, aggregator=aggregator, random_state=0).fit(X)
    codes = np.ravel_multi_index(tuple(protolabels.T), sizes)
    C = np.stack([X[codes == c].mean(axis=0) for c in range(int(np.prod(sizes)))])
    assert model.inertia_ <= 1.02 * inertia(X, C, codes)


def test_stick_figures_come_apart_into_bodies():
    images, poses = make_stick_figures(450, random_state=0)
    for aggregator in AGGREGATORS:
        model = KhatriRaoKMeans((3, 3), aggregator=aggregator, random_state=0).fit(images)
        free = KMeans(9, n_init=10, random_state=0).fit(images)
        assert model.inertia_ <= 1.01 * free.inertia_
        pairs = {tuple(pair) for pair in np.c_[model.labels_, poses @ [3, 1]]}
        assert len(pairs) == 9


@pytest.mark.parametrize("n_rows", [600, *long(3000)])
def test_the_search_is_as_good_as_the_best_of_twenty_plain_runs(blobs, n_rows):
    X = blobs[:n_rows]
    for aggregator in AGGREGATORS:
        plain = KhatriRaoKMeans(
            (4, 4), aggregator=aggregator, init="random", n_init=20, random_state=0
        ).fit(X)
        search = KhatriRaoKMeans((4, 4), aggregator=aggregator, random_state=0).fit(X)
        assert search.inertia_ <= plain.inertia_ * 1.001
        assert search.n_passes_ > search.n_iter_


@pytest.mark.parametrize("n_rows", [600, *long(3000)])
def test_more_effort_is_not_worse_on_average(blobs, n_rows):
    X = blobs[:n_rows]
    values = [
        np.mean(
            [
                KhatriRaoKMeans((4, 5), effort=effort, random_state=seed).fit(X).inertia_
                for seed in range(3)
            ]
        )
        for effort in (0.05, 1.0)
    ]
    assert values[1] <= values[0] * (1 + 1e-6)


@pytest.mark.parametrize("init", ["search", "residual", "k-means++", "random", "naive"])
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_every_start_works_on_every_kind_of_rows(documents, blobs, aggregator, init):
    for X in (blobs[:300].astype(np.float32), documents[:300]):
        model = KhatriRaoKMeans(
            (2, 3), aggregator=aggregator, init=init, effort=0.05, n_init=1, random_state=0
        ).fit(X)
        again = clone(model).fit(X)
        assert_array_equal(model.labels_, again.labels_)
        assert np.isfinite(model.inertia_)


def test_many_centroids_are_started_cheaply():
    X, _ = make_blobs(4000, n_features=8, centers=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KhatriRaoKMeans((40, 40), random_state=0, max_iter=20).fit(X)
        plain = KhatriRaoKMeans((40, 40), init="random", n_init=1, random_state=0, max_iter=20)
        assert model.inertia_ < plain.fit(X).inertia_


def test_a_callable_start_is_called(blobs):
    def start(X, n_protocentroids, random_state):
        assert n_protocentroids == (2, 3)
        return starting_sets(X, n_protocentroids, "sum", random_state.randint(100))

    model = KhatriRaoKMeans((2, 3), init=start, n_init=3, random_state=0).fit(blobs)
    assert model.labels_.max() <= 5
