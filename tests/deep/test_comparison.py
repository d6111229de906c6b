"""Restarts: each has the schedule of its kind, and they are compared without units."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from polymeans.deep import DKM, IDEC
from polymeans.deep import fitting as fitting_module
from polymeans.deep.comparison import mean_square, relative_error, row_variance
from polymeans.deep.inference import Outcome
from polymeans.deep.parameters import make_plan
from polymeans.deep.rows import ArrayRows
from tests.deep.checks import QUICK, blobs, explicit_distances

ignore_vacancies = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_mean_squares_are_those_of_all_rows_whatever_the_batches():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 2.0, 0.0] + [1e6, -3.0, 5.0]
    expected = ((X - X.mean(axis=0)) ** 2).mean()
    for edges in ([], [7], [1, 2, 30]):
        np.testing.assert_allclose(mean_square(np.split(X, edges)), expected, rtol=1e-9)
    np.testing.assert_allclose(row_variance(ArrayRows(X, torch.float64)), expected, rtol=1e-9)


def test_errors_are_shares_of_what_means_leave():
    X, latent = blobs(), blobs(d=2, seed=1)
    centroids, back = latent[:4], X + 0.1
    outcome = Outcome(latent, explicit_distances(latent, centroids), 0.01)
    within = explicit_distances(latent, centroids).min(axis=1).sum()
    spread = ((latent - latent.mean(axis=0)) ** 2).sum()
    missed = ((X - back) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
    found = relative_error(outcome, X.var(axis=0).mean(), 2.0)
    np.testing.assert_allclose(found, within / spread + 2.0 * missed)
    # A model that has means only.
    means = explicit_distances(latent, latent.mean(axis=0, keepdims=True))
    np.testing.assert_allclose(relative_error(Outcome(latent, means, 5.0), 5.0, 2.0), 3.0)


@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_units_of_rows_and_of_the_latent_space_do_not_count(unit):
    latent = blobs(d=2)
    outcome = Outcome(latent, explicit_distances(latent, latent[:4]), 0.3)
    expected = relative_error(outcome, 1.5, 0.7)
    other = replace(outcome, latent=unit * latent + 3, distances=unit**2 * outcome.distances)
    np.testing.assert_allclose(relative_error(other, 1.5, 0.7), expected, rtol=1e-6)
    other = replace(outcome, reconstruction=0.3 * unit)
    np.testing.assert_allclose(relative_error(other, 1.5 * unit, 0.7), expected)


def test_rows_that_do_not_vary_leave_nothing_to_explain():
    outcome = Outcome(np.zeros((5, 2)), np.zeros((5, 1)), 0.0)
    assert relative_error(outcome, 0.0, 1.0) == 0.0


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


@pytest.mark.parametrize("estimator", [DKM, IDEC])
def test_mixed_starts_are_not_worse_than_those_of_the_graph(estimator):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16, y[:400]
    options = {"hidden_sizes": (64, 32), "random_state": 0}
    options |= {"pretrain_epochs": 40, "distill_epochs": 100, "max_epochs": 20}
    graph = estimator(10, init="graph", **options).fit(X)
    mixed = estimator(10, init="mixed", n_init=2, **options).fit(X)
    assert adjusted_rand_score(y, graph.labels_) > 0.6
    assert adjusted_rand_score(y, mixed.labels_) > adjusted_rand_score(y, graph.labels_) - 0.02
