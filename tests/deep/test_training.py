"""Fits: recovery, equal bits, divergence, early stopping, restarts, callbacks, checkpoints."""

import logging
import threading

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from polymeans.deep import DKM, IDEC, KhatriRaoDKM, KhatriRaoIDEC, inference
from polymeans.deep import training as training_module
from polymeans.deep.schedule import Phase
from polymeans.metrics import unsupervised_accuracy
from tests.deep.checks import QUICK, blobs, quick_models, stick_figures
from tests.marks import long

ignore_vacancies = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def arrays_of(model):
    """Everything fitted that is a number."""
    network = {name: value.numpy() for name, value in model._network.state_dict().items()}
    own = dict(enumerate(model._codebook.to_arrays()))
    history = {name: model.history_[name] for name in model.history_.dtype.names[:-1]}
    return network | own | history | {"labels": model.labels_, "objective": model.objective_}


def assert_same_bits(first, second):
    ours, theirs = arrays_of(first), arrays_of(second)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=str(name))


# --- results -----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [KhatriRaoDKM, *long(KhatriRaoIDEC)])
def test_poses_of_stick_figures_are_recovered_by_the_grid(estimator):
    images, poses = stick_figures()
    model = estimator(
        (3, 3), hidden_sizes=(64, 32), distill_epochs=300, n_threads=1, random_state=0
    ).fit(images)
    assert unsupervised_accuracy(poses, model.labels_) == 1.0
    np.testing.assert_array_equal(model.labels_, model.predict(images))
    np.testing.assert_array_equal(model.labels_, np.ravel_multi_index(model.protolabels_.T, (3, 3)))
    # Decoded centroids look like the mean image of their cluster.
    for cell, picture in enumerate(model.decoded_centroids_):
        mean = images[model.labels_ == cell].mean(axis=0)
        assert np.corrcoef(picture, mean)[0, 1] > 0.95
    # Labels of new rows.
    images, poses = stick_figures(600)
    assert unsupervised_accuracy(poses[300:], model.predict(images[300:])) == 1.0


def test_the_start_in_the_latent_space():
    images, poses = stick_figures()
    options = {"hidden_sizes": (64, 32), "pretrain_epochs": 60, "max_epochs": 10, "n_threads": 1}
    free = IDEC(9, init="latent", random_state=0, **options).fit(images)
    assert adjusted_rand_score(poses, free.labels_) > 0.7
    grid = KhatriRaoDKM((3, 3), init="latent", random_state=0, **options).fit(images)
    assert grid.start_source_ == "latent space"
    assert adjusted_rand_score(grid.start_labels_, grid.labels_) > 0.7
    assert list(dict.fromkeys(grid.history_["phase"])) == ["pretraining", "self-training"]


@pytest.mark.parametrize(
    ("sizes", "aggregator"),
    [
        ((2, 2, 2), "product"),
        ((2, 4), "sum"),
        pytest.param((8,), "sum", marks=pytest.mark.long),
        pytest.param((2, 2, 2), "sum", marks=pytest.mark.long),
        pytest.param((8,), "product", marks=pytest.mark.long),
        pytest.param((2, 4), "product", marks=pytest.mark.long),
    ],
    ids=str,
)
def test_given_labels_are_learned_on_any_grid(sizes, aggregator):
    X = blobs(200, d=5, k=8, seed=1)
    labels = (np.arange(200) % 8).astype(int)
    centers = np.random.default_rng(0).normal(size=(8, 5)) * 2
    X = centers[labels] + 0.1 * np.random.default_rng(1).normal(size=(200, 5))
    model = KhatriRaoIDEC(
        sizes,
        aggregator=aggregator,
        init=labels,
        hidden_sizes=(64,),
        distill_epochs=400,
        n_threads=1,
        random_state=0,
    ).fit(X)
    assert model.start_source_ == "given"
    assert adjusted_rand_score(labels, model.labels_) > 0.95
    assert [part.shape for part in model.protocentroids_] == [(h, 10) for h in sizes]


@ignore_vacancies
@pytest.mark.parametrize("model", quick_models(), ids=lambda model: type(model).__name__)
def test_labels_centroids_and_scores_agree(model):
    X = blobs()
    model.fit(X)
    latent = model.transform(X)
    gaps = ((latent[:, None].astype(float) - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, gaps.argmin(axis=1))
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    np.testing.assert_array_equal(model.labels_[:5], model.predict(X[:5]))
    np.testing.assert_allclose(model.inertia_, gaps.min(axis=1).sum(), rtol=1e-4)
    np.testing.assert_allclose(model.score(X), -model.objective_, rtol=1e-12)
    error = np.mean((model.reconstruct(X) - X) ** 2)
    np.testing.assert_allclose(model.reconstruction_error_, error, rtol=1e-5)
    np.testing.assert_array_equal(model.decoded_centroids_, model.decode(model.cluster_centers_))
    assert np.isfinite(model.history_["loss"]).all()
    assert model.history_.dtype.names[0] == "phase"


# --- equal bits --------------------------------------------------------------------------------


@ignore_vacancies
@pytest.mark.parametrize("start", ["graph", "latent"])
@pytest.mark.parametrize("model", quick_models(), ids=lambda model: type(model).__name__)
def test_same_seed_same_bits(model, start):
    X = blobs()
    model = clone(model).set_params(init=start)
    assert_same_bits(clone(model).fit(X), clone(model).fit(X))


@ignore_vacancies
def test_global_numbers_and_threads_are_left_alone():
    X = blobs()
    drops = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(6, 2))
    threads = torch.get_num_threads()
    models = [
        DKM(4, **(QUICK | {"n_threads": threads + 1})),
        DKM(4, autoencoder=(drops, torch.nn.Linear(2, 6)), **QUICK),
        KhatriRaoDKM((2, 2), **(QUICK | {"autoencoder": "hadamard", "hidden_sizes": (8, 8)})),
        IDEC(4, autoencoder="convolutional", image_shape=(2, 3), **QUICK),
    ]
    torch.manual_seed(3)
    np.random.seed(3)
    ours, theirs = torch.get_rng_state(), np.random.get_state()[1].copy()
    for model in models:
        model.fit(X).predict(X)
        assert torch.equal(torch.get_rng_state(), ours)
        np.testing.assert_array_equal(np.random.get_state()[1], theirs)
        assert torch.get_num_threads() == threads
    torch.manual_seed(77)  # even dropout follows random_state
    again = clone(models[1]).fit(X)
    assert_same_bits(models[1], again)


@ignore_vacancies
@pytest.mark.parametrize("method", ["fit", "predict", "transform", "distances", "score"])
def test_all_products_use_the_threads_that_were_asked_for(method, monkeypatch):
    seen = []

    def watched(function):
        def call(*arguments):
            seen.append(torch.get_num_threads())
            return function(*arguments)

        return call

    model = DKM(4, **QUICK).fit(blobs())
    for name in ("encode", "squared_distances", "reconstruction_error"):
        monkeypatch.setattr(inference, name, watched(getattr(inference, name)))
    before = torch.get_num_threads()
    torch.set_num_threads(before + 2)
    try:
        getattr(model, method)(blobs())
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}


# --- divergence, stopping, restarts --------------------------------------------------------------


@ignore_vacancies
def test_divergence_in_pretraining_is_an_error_and_changes_nothing():
    model = DKM(4, **QUICK).fit(blobs())
    before = dict(vars(model))
    model.set_params(learning_rate=1e30)
    with pytest.raises(ValueError, match=r"epoch \d+ of pretraining \(loss .*learning_rate"):
        model.fit(blobs())
    model.set_params(learning_rate="auto")
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items() if name[-1] == "_")


def test_divergence_later_keeps_the_last_good_state():
    X = blobs(200)
    model = DKM(4, **(QUICK | {"pretrain_epochs": 0, "distill_epochs": 30, "learning_rate": 1e30}))
    with pytest.warns(ConvergenceWarning, match=r"epoch \d of distillation.*was kept"):
        model.fit(X)
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.objective_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    # What was kept are the centroids before training: means of the taught clusters.
    assert adjusted_rand_score(model.start_labels_, model.labels_) > 0.5


@ignore_vacancies
def test_a_loss_that_grows_without_end_is_noticed(monkeypatch):
    monkeypatch.setattr(training_module, "_DIVERGED", 0.0)
    with pytest.raises(ValueError, match="diverged in epoch 1 of pretraining"):
        DKM(4, **QUICK).fit(blobs())


@ignore_vacancies
def test_training_stops_when_labels_stay():
    X = blobs(200)
    options = QUICK | {"max_epochs": 40, "distill_epochs": 60}
    assert DKM(4, **options).fit(X).n_iter_ < 40
    assert DKM(4, tol=None, **options).fit(X).n_iter_ == 40


@ignore_vacancies
def test_restarts_share_an_autoencoder_unless_asked_otherwise():
    X = blobs()
    shared = IDEC(4, n_init=3, **QUICK).fit(X)
    first = IDEC(4, **QUICK).fit(X)
    pretraining = shared.history_["phase"] == "pretraining"
    np.testing.assert_array_equal(
        shared.history_["loss"][pretraining],
        first.history_["loss"][first.history_["phase"] == "pretraining"],
    )
    own = IDEC(4, n_init=2, pretrain_once=False, **QUICK).fit(X)
    assert np.isfinite(own.objective_)


@ignore_vacancies
def test_warm_start_goes_on():
    X = blobs()
    model = KhatriRaoIDEC((2, 2), warm_start=True, **QUICK).fit(X)
    before = {name: value.clone() for name, value in model._network.state_dict().items()}
    objective = model.objective_
    model.set_params(max_epochs=20).fit(X)
    assert model.start_source_ == "warm start"
    assert set(model.history_["phase"]) == {"self-training"}
    assert model.objective_ < objective
    assert any(not torch.equal(before[k], v) for k, v in model._network.state_dict().items())
    model.set_params(n_protocentroids=(2, 3))
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X)


def test_one_cycle_is_that_of_pytorch():
    phase = Phase("any", 1, 2e-3, True)
    layer = torch.nn.Linear(1, 1)
    optimizer = torch.optim.Adam(layer.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=50, pct_start=0.2)
    for step in range(50):
        rate, momentum = phase.at(step, 50)
        group = optimizer.param_groups[0]
        np.testing.assert_allclose((rate, momentum), (group["lr"], group["betas"][0]), rtol=1e-6)
        optimizer.step()
        if step < 49:
            schedule.step()


# --- callbacks, logs, checkpoints ----------------------------------------------------------------


class Watch:
    """Uses the fitted estimator after each task, and stops after some epochs."""

    def __init__(self, stop_after=10**9):
        self.seen, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        labels = fitted_estimator.predict(X)
        np.testing.assert_array_equal(labels, fitted_estimator.labels_)
        assert np.isfinite(fitted_estimator.score(X))
        self.seen.append((context.task_name, len(fitted_estimator.history_)))
        return len(self.seen) >= self.stop_after

    def teardown(self, estimator, context):
        pass


@ignore_vacancies
@pytest.mark.parametrize("model", quick_models(), ids=lambda model: type(model).__name__)
def test_callbacks_see_a_fitted_estimator_after_each_epoch(model):
    pytest.importorskip("sklearn.callback")
    X = blobs()
    plain = clone(model).fit(X)
    watch = Watch()
    watched = clone(model).set_callbacks(watch).fit(X)
    assert [count for task, count in watch.seen if task == "iter"] == [1, 2, 3, 4, 5, 6]
    assert_same_bits(plain, watched)


@ignore_vacancies
def test_a_callback_ends_the_training():
    pytest.importorskip("sklearn.callback")
    X = blobs()
    stopped = DKM(4, **QUICK).set_callbacks(Watch(stop_after=3)).fit(X)
    assert len(stopped.history_) == 3
    np.testing.assert_array_equal(stopped.predict(X), stopped.labels_)


@ignore_vacancies
def test_a_callback_ends_the_pretraining_and_all_that_follows():
    pytest.importorskip("sklearn.callback")
    X = blobs()
    stopped = DKM(4, **QUICK).set_callbacks(Watch(stop_after=1)).fit(X)
    assert stopped.history_["phase"].tolist() == ["pretraining"]
    np.testing.assert_array_equal(stopped.predict(X), stopped.labels_)


@ignore_vacancies
def test_logs(caplog):
    with caplog.at_level(logging.INFO, logger="polymeans"):
        DKM(4, **QUICK).fit(blobs())
        assert not caplog.records
        DKM(4, verbose=1, **QUICK).fit(blobs())
        assert [record.getMessage().split(",")[0] for record in caplog.records][:3] == [
            "pretraining",
            "distillation",
            "self-training",
        ]
        caplog.clear()
        DKM(4, verbose=2, **QUICK).fit(blobs())
        assert len(caplog.records) == 7


class Interrupt(Watch):
    """Raises after some epochs, as a killed process would end."""

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.seen.append(context.task_name)
        if len(self.seen) == self.stop_after:
            raise KeyboardInterrupt
        return False


@ignore_vacancies
@pytest.mark.parametrize("when", [1, *long(3), 5])
@pytest.mark.parametrize("estimator", [DKM(4, **QUICK), KhatriRaoIDEC((2, 2), **QUICK)])
def test_a_checkpoint_goes_on_to_the_same_bits(estimator, when, tmp_path, monkeypatch):
    pytest.importorskip("sklearn.callback")
    monkeypatch.setattr(training_module, "_CHECKPOINT_SECONDS", 0.0)
    X, folder = blobs(), tmp_path / "record"
    expected = clone(estimator).fit(X)
    with pytest.raises(KeyboardInterrupt):
        clone(estimator).set_callbacks(Interrupt(when)).fit(X, checkpoint=folder)
    assert folder.exists()
    with pytest.raises(ValueError, match="belongs to another fit"):
        clone(estimator).fit(X + 1, checkpoint=folder)
    again = clone(estimator).fit(X, checkpoint=folder)
    assert_same_bits(expected, again)
    assert not folder.exists()


@ignore_vacancies
def test_fits_in_threads_do_not_disturb_each_other():
    X, found = blobs(), {}

    def work(seed):
        found[seed] = DKM(4, **(QUICK | {"random_state": seed})).fit(X)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for seed in (0, 1):
        assert_same_bits(found[seed], DKM(4, **(QUICK | {"random_state": seed})).fit(X))
