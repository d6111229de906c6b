"""Restarts: each has the schedule of its kind, and they are compared without units."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from polymeans.deep import DKM, IDEC
from polymeans.deep import fitting as fitting_module
from polymeans.deep.comparison import mean_square, relative_error, row_variance, share_within
from polymeans.deep.inference import Outcome
from polymeans.deep.parameters import make_plan
from polymeans.deep.rows import ArrayRows
from tests.deep.checks import QUICK, blobs, explicit_distances
from tests.marks import long

ignore_vacancies = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_mean_squares_are_those_of_all_rows_whatever_the_batches():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 2.0, 0.0] + [1e6, -3.0, 5.0]
    expected = ((X - X.mean(axis=0)) ** 2).mean()
    for edges in ([], [7], [1, 2, 30]):
        np.testing.assert_allclose(mean_square(np.split(X, edges)), expected, rtol=1e-9)
    np.testing.assert_allclose(row_variance(ArrayRows(X, torch.float64)), expected, rtol=1e-9)


def outcome_of(latent, centroids, reconstruction):
    return Outcome(latent, explicit_distances(latent, centroids), reconstruction)


def test_shares_within_clusters_are_those_of_the_formula():
    latent = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 5.0, 0.1]
    labels = np.arange(40) % 4 + (np.arange(40) % 4 == 3)  # one cluster is empty
    within = np.zeros((3, 3))
    for label in np.unique(labels):
        within += np.sum(labels == label) * np.cov(latent[labels == label].T, bias=True)
    expected = np.trace(np.linalg.solve(40 * np.cov(latent.T, bias=True), within)) / 3
    np.testing.assert_allclose(share_within(latent, labels), expected)
    assert share_within(latent, np.zeros(40, dtype=int)) == pytest.approx(1.0)
    assert share_within(latent[labels], labels) == pytest.approx(0.0, abs=1e-10)
    assert share_within(np.ones((40, 3)), labels) == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_linear_maps_of_the_latent_space_do_not_count(dtype):
    rng = np.random.default_rng(0)
    latent, labels = rng.normal(size=(60, 3)), np.arange(60) % 5
    expected = share_within(latent.astype(dtype), labels)
    moved = latent @ rng.normal(size=(3, 3)) * 1e-3 + 0.01
    np.testing.assert_allclose(share_within(moved.astype(dtype), labels), expected, rtol=1e-3)


def test_both_parts_are_shares_of_what_means_leave():
    X, latent = blobs(), blobs(d=2, seed=1)
    outcome = outcome_of(latent, latent[:4], 0.01)
    missed = 0.01 * X.size / ((X - X.mean(axis=0)) ** 2).sum()
    found = relative_error(outcome, X.var(axis=0).mean(), 2.0)
    np.testing.assert_allclose(found, share_within(latent, outcome.labels) + 2.0 * missed)
    # A model that has means only, and rows that do not vary.
    means = outcome_of(latent, latent.mean(axis=0, keepdims=True), 5.0)
    np.testing.assert_allclose(relative_error(means, 5.0, 2.0), 3.0)
    assert relative_error(outcome_of(np.zeros((5, 2)), np.zeros((1, 2)), 0.0), 0.0, 1.0) == 1.0


def plan_of(init):
    model = IDEC(4, init=init, n_init=2)
    return make_plan(model, ArrayRows(blobs(2000), torch.float32), (4,), "sum")


def test_each_kind_of_start_has_a_schedule_of_its_own():
    mixed = plan_of("mixed")
    assert mixed.starts == ("graph", "latent")
    assert mixed.schedules == plan_of("graph").schedules | plan_of("latent").schedules
    published = mixed.schedules["latent"]
    assert published.batch_size == 512
    assert published.pretraining.n_epochs == published.self_training.n_epochs == 150
    assert published.self_training.codebook_rate == 10.0
    assert mixed.schedules["graph"].batch_size == 256
    assert mixed.n_epochs == max(part.n_epochs for part in mixed.schedules.values())


@ignore_vacancies
@pytest.mark.parametrize("n_kept", [0, 1])
def test_the_restart_of_least_error_is_kept(n_kept, monkeypatch):
    errors = iter([float(n_kept), 0.5])
    monkeypatch.setattr(fitting_module, "relative_error", lambda *_: next(errors))
    model = IDEC(4, init="mixed", n_init=2, **QUICK).fit(blobs())
    phases = list(dict.fromkeys(model.history_["phase"]))
    if n_kept == 0:
        assert phases == ["pretraining", "distillation", "self-training"]
    else:
        assert phases == ["pretraining", "self-training"]
        assert model.start_source_ == "latent space"


@pytest.mark.parametrize("estimator", [DKM, *long(IDEC)])
def test_mixed_starts_are_not_worse_than_those_of_the_graph(estimator):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300] / 16, y[:300]
    options = {"hidden_sizes": (48,), "n_threads": 1, "random_state": 0}
    options |= {"pretrain_epochs": 40, "distill_epochs": 100, "max_epochs": 10}
    graph = estimator(10, init="graph", **options).fit(X)
    mixed = estimator(10, init="mixed", n_init=2, **options).fit(X)
    assert adjusted_rand_score(y, graph.labels_) > 0.6
    assert adjusted_rand_score(y, mixed.labels_) > adjusted_rand_score(y, graph.labels_) - 0.02
