"""One fit: start labels, autoencoder, centroids, training, and the choice among restarts."""

import copy
import logging
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from polymeans._compat import FitProgress
from polymeans.core.threads import Threads
from polymeans.deep import inference
from polymeans.deep.arrangement import arrange, fix_gauge, search_latent
from polymeans.deep.autoencoder import Autoencoder
from polymeans.deep.codebook import LatentCodebook
from polymeans.deep.comparison import relative_error, row_variance
from polymeans.deep.devices import new_generator
from polymeans.deep.inference import Outcome
from polymeans.deep.networks import NetworkPlan, new_network, pretrained
from polymeans.deep.preparation import Coordinates, find_coordinates, rows_in
from polymeans.deep.rows import ArrayRows, RowSource
from polymeans.deep.schedule import Phase, Schedule
from polymeans.deep.teacher import Lesson, Teacher, target_matrix
from polymeans.deep.training import DivergedError, Trainee
from polymeans.engine.journal import Journal

logger = logging.getLogger("polymeans")

#: Rows whose latent vectors are kept after each phase, for maps of the latent space.
_SHOWN_ROWS = 500


@dataclass(frozen=True)
class Plan:
    """Everything a fit depends on apart from rows and random numbers.

    Parameters
    ----------
    sizes : tuple of int
        Of the sets of protocentroids; one set is free centroids.
    aggregator : {"sum", "product"}
    loss : DKMLoss or IDECLoss
    starts : tuple of str
        Of each restart, "graph" or "latent".
    start_labels : ndarray of shape (n,) or None
    network : NetworkPlan
    schedules : dict of Schedule
        Of each kind of start.
    reconstruction_weight : float
    tol : float or None
    pretrain_once : bool
    verbose : int
    """

    sizes: tuple[int, ...]
    aggregator: str
    loss: Any
    starts: tuple[str, ...]
    start_labels: NDArray[np.int32] | None
    network: NetworkPlan
    schedules: dict[str, Schedule]
    reconstruction_weight: float
    tol: float | None
    pretrain_once: bool
    verbose: int

    @property
    def n_clusters(self) -> int:
        """Number of centroids."""
        return int(np.prod(self.sizes))

    @property
    def n_epochs(self) -> int:
        """Epochs of a restart at most."""
        return max(schedule.n_epochs for schedule in self.schedules.values())

    @property
    def from_graph(self) -> bool:
        """Whether any restart begins with labels of the graph, or of the user."""
        return "graph" in self.starts


@dataclass
class Candidate:
    """What a restart has come to.

    Parameters
    ----------
    network : Autoencoder
        For rows as they are given.
    codebook : LatentCodebook
    outcome : Outcome
        For all rows.
    objective : float
    history : list of tuple
    start_labels : ndarray of shape (n,)
        Cells of the centroids that training began with.
    source : str
        Where they came from.
    maps : list of tuple
        Name of a phase and latent vectors of some rows after it.
    """

    network: Autoencoder
    codebook: LatentCodebook
    outcome: Outcome
    objective: float
    history: list[tuple[Any, ...]]
    start_labels: NDArray[np.int32]
    source: str
    maps: list[tuple[str, NDArray[Any]]] = field(default_factory=list)


def objective_of(loss: Any, outcome: Outcome, reconstruction_weight: float) -> float:
    """The published objective: loss of the clusters plus that of the reconstructions."""
    distances = torch.from_numpy(outcome.distances)
    clustering = float(loss.published(distances, None))
    return clustering + reconstruction_weight * outcome.reconstruction


class DeepFit:
    """One fit.

    Parameters
    ----------
    plan : Plan
    rows : RowSource
        As they are given.
    device : torch.device
    rng : RandomState
    progress : FitProgress
    attributes : callable
        ``attributes(candidate)``: what a fitted estimator has, for callbacks.
    journal : Journal or None
    warm : tuple of Autoencoder and LatentCodebook, or None
        To go on with, instead of pretraining and a start.
    """

    def __init__(
        self,
        plan: Plan,
        rows: RowSource,
        device: torch.device,
        rng: RandomState,
        progress: FitProgress,
        attributes: Any,
        journal: Journal | None,
        warm: tuple[Autoencoder, LatentCodebook] | None = None,
    ) -> None:
        self.plan, self.given_rows, self.device, self.rng = plan, rows, device, rng
        self.progress, self.attributes, self.journal, self.warm = (
            progress,
            attributes,
            journal,
            warm,
        )
        self.coordinates: Coordinates | None = None
        if plan.network.is_dense and warm is None:
            self.coordinates = find_coordinates(rows)
        self.rows = rows
        if self.coordinates is not None:
            assert isinstance(rows, ArrayRows)
            self.rows = rows_in(self.coordinates, rows)
        step = max(1, rows.n_samples // _SHOWN_ROWS)
        self.shown = np.arange(0, rows.n_samples, step)[:_SHOWN_ROWS]
        self._pretrained: dict[str, tuple[Autoencoder, list[tuple[Any, ...]]]] = {}
        self._stopped = False  # by a callback, while an autoencoder was pretrained

    def run(self) -> Candidate:
        """All restarts; the best of them by an error without units."""
        teacher = self._teacher()
        several = len(self.plan.starts) > 1
        variance = row_variance(self.given_rows) if several else 1.0
        best: tuple[float, Candidate] | None = None
        for number, start in enumerate(self.plan.starts):
            self.progress.begin_run()
            candidate = self._restart(start, teacher)
            weight = self.plan.reconstruction_weight
            error = relative_error(candidate.outcome, variance, weight) if several else 0.0
            if self.plan.verbose:
                self._log(number, candidate, error)
            if best is None or error < best[0]:
                best = error, candidate
            stop = self.progress.end_run(lambda made=candidate: self.attributes(made))
            if stop or self._stopped:
                break
        assert best is not None  # there is one restart at least
        return best[1]

    def _log(self, number: int, candidate: Candidate, error: float) -> None:
        count = len(self.plan.starts)
        text, values = "start %d of %d: objective %.6g", [number + 1, count, candidate.objective]
        if count > 1:
            text, values = text + ", relative error %.6g", [*values, error]
        logger.info(text, *values)

    def _teacher(self) -> Teacher | None:
        if not self.plan.from_graph:
            return None
        # Sums of BLAS would be rounded differently by different numbers of threads.
        with Threads(None, one_blas_thread=True):
            return Teacher(self.rows, self.plan.n_clusters, self.rng, self.plan.start_labels)

    # --- one restart -------------------------------------------------------------------------

    def _restart(self, start: str, teacher: Teacher | None) -> Candidate:
        maps: list[tuple[str, NDArray[Any]]] = []
        schedule = self.plan.schedules[start]
        network, history = self._network(start)
        trainee = self._trainee(network, history, schedule)
        if start == "graph" and self.warm is None:
            self._standardize(network)
        latent = inference.encode(network, self.rows)
        maps.append(("pretraining", latent[self.shown]))
        trainee.codebook, lesson = self._codebook(start, latent, teacher)
        trainee.labels = lesson.labels.astype(np.int64)
        try:
            if start == "graph":
                if self.warm is None:
                    self._distill(trainee, lesson.labels, schedule.distillation)
                    maps.append(("distillation", self._shown_latent(trainee)))
                assert teacher is not None
                self._train_on_own_targets(trainee, teacher, schedule.self_training)
            else:
                self._train_as_published(trainee, schedule.self_training)
        except DivergedError as error:
            # The trainee is as it was before the epoch; its labels still agree with its centroids.
            warnings.warn(
                f"{error} The last state with a finite loss was kept.",
                ConvergenceWarning,
                stacklevel=5,
            )
        maps.append(("self-training", self._shown_latent(trainee)))
        return self._finished(trainee, lesson, maps)

    def _network(self, start: str) -> tuple[Autoencoder, list[tuple[Any, ...]]]:
        """A pretrained network of its own for a restart, and the history so far.

        Starts of one kind may share what they begin with; the two kinds are pretrained differently.
        """
        if self.warm is not None:
            return copy.deepcopy(self.warm[0]).to(self.device, self.rows.dtype), []
        if start not in self._pretrained or not self.plan.pretrain_once:
            schedule = self.plan.schedules[start]
            generator = new_generator(self.rng)
            network = new_network(self.plan.network, self.rows.n_features, generator)
            trainee = self._trainee(network.to(self.device), [], schedule)
            try:
                network = pretrained(trainee, self.plan.network, schedule, generator)
            except DivergedError as error:
                raise ValueError(str(error)) from error
            self._pretrained[start] = network, trainee.history
            self._stopped = trainee.stopped
        network, history = self._pretrained[start]
        return copy.deepcopy(network), list(history)

    def _trainee(
        self, network: Autoencoder, history: list[tuple[Any, ...]], schedule: Schedule
    ) -> Trainee:
        return Trainee(
            network,
            self.rows,
            self.rng,
            schedule.batch_size,
            self.plan.reconstruction_weight,
            history=history,
            on_epoch=self._report,
            journal=self.journal,
            verbose=self.plan.verbose,
            stopped=self._stopped,
        )

    def _report(self, trainee: Trainee) -> bool:
        return self.progress.step(lambda: self.attributes(self._provisional(trainee)))

    def _standardize(self, network: Autoencoder) -> None:
        """Latent dimensions of mean zero and variance one, so that constants have no units."""
        latent = torch.from_numpy(inference.encode(network, self.rows)).double()
        dtype, device = network.latent_mean.dtype, self.device
        mean, std = latent.mean(dim=0), latent.std(dim=0, correction=0)
        network.fold(mean.to(device, dtype), std.to(device, dtype))

    def _codebook(
        self, start: str, latent: NDArray[Any], teacher: Teacher | None
    ) -> tuple[LatentCodebook, Lesson]:
        sizes, aggregator = self.plan.sizes, self.plan.aggregator
        dtype = latent.dtype
        if self.warm is not None:
            codebook = copy.deepcopy(self.warm[1]).to(self.device, self.rows.dtype)
            distances = inference.squared_distances(codebook, latent)
            return codebook, Lesson(distances.argmin(axis=1).astype(np.int32), "warm start")
        with Threads(None, one_blas_thread=True):
            if start == "graph":
                assert teacher is not None
                lesson = teacher.lesson(self.rng)
                sets, cells = arrange(latent, lesson.labels, sizes, aggregator, self.rng)
                lesson = Lesson(cells, lesson.source)
            else:
                sets, labels = search_latent(latent, sizes, aggregator, self.rng)
                lesson = Lesson(labels, "latent space")
        codebook = LatentCodebook([part.astype(dtype) for part in sets], aggregator)
        return codebook.to(self.device), lesson

    def _distill(self, trainee: Trainee, cells: NDArray[np.int32], phase: Phase) -> None:
        """Teach the labels: cell (i, j) is to be where its protocentroids add up to."""
        loss = self.plan.loss
        targets = self._sent(target_matrix(cells, self.plan.n_clusters, loss.smoothing))

        def taught(distances: Tensor, numbers: NDArray[np.int64]) -> Tensor:
            return loss.taught(distances, targets[torch.from_numpy(numbers).to(self.device)])

        trainee.learn(phase, taught)

    def _train_on_own_targets(self, trainee: Trainee, teacher: Teacher, phase: Phase) -> None:
        """Teach the network its own assignments, averaged over the graph and sharpened."""
        loss, targets = self.plan.loss, {}

        def renew() -> None:
            assignments = loss.assignments(self._distances(trainee)).numpy()
            averaged = torch.from_numpy(teacher.neighborhood.averaged(assignments))
            targets["now"] = self._sent(loss.sharpened(averaged).numpy())

        def taught(distances: Tensor, numbers: NDArray[np.int64]) -> Tensor:
            return loss.taught(distances, targets["now"][torch.from_numpy(numbers).to(self.device)])

        trainee.learn(phase, taught, renew, self.plan.tol)

    def _train_as_published(self, trainee: Trainee, phase: Phase) -> None:
        """The paper's losses; targets of IDEC are those of all rows, once an epoch."""
        loss, targets = self.plan.loss, {}

        def renew() -> None:
            assignments = loss.assignments(self._distances(trainee))
            targets["now"] = self._sent(loss.sharpened(assignments).numpy())

        def published(distances: Tensor, numbers: NDArray[np.int64]) -> Tensor:
            own = targets["now"][torch.from_numpy(numbers).to(self.device)] if targets else None
            return loss.published(distances, own)

        renew_targets = renew if loss.needs_targets else None
        trainee.learn(phase, published, renew_targets, self.plan.tol)

    def _distances(self, trainee: Trainee) -> Tensor:
        assert trainee.codebook is not None
        latent = inference.encode(trainee.network, self.rows)
        return torch.from_numpy(inference.squared_distances(trainee.codebook, latent))

    def _sent(self, targets: NDArray[Any]) -> Tensor:
        return torch.from_numpy(targets).to(device=self.device, dtype=self.rows.dtype)

    def _shown_latent(self, trainee: Trainee) -> NDArray[Any]:
        return inference.encode(trainee.network, self.rows)[self.shown]

    # --- results -----------------------------------------------------------------------------

    def _finished(
        self, trainee: Trainee, lesson: Lesson, maps: list[tuple[str, NDArray[Any]]]
    ) -> Candidate:
        """The last step, without gradients: what is kept agrees with itself to the last bit."""
        network, codebook = trainee.network, trainee.codebook
        assert codebook is not None
        if self.coordinates is not None:
            self.coordinates.fold_into(network)
        network, codebook = network.cpu().eval(), codebook.cpu()
        latent = inference.encode(network, self.given_rows)
        labels = inference.squared_distances(codebook, latent).argmin(axis=1)
        fix_gauge(codebook, labels.astype(np.int32))
        outcome = inference.evaluate(network, codebook, self.given_rows)
        objective = objective_of(self.plan.loss, outcome, self.plan.reconstruction_weight)
        return Candidate(
            network,
            codebook,
            outcome,
            objective,
            trainee.history,
            lesson.labels,
            lesson.source,
            maps,
        )

    def _provisional(self, trainee: Trainee) -> Candidate:
        """What would be the result if training ended now; callbacks may ask for it."""
        copied = copy.copy(trainee)
        copied.network = copy.deepcopy(trainee.network)
        copied.history = list(trainee.history)
        latent = inference.encode(copied.network, self.rows)
        if trainee.codebook is None:
            rng = RandomState(0)  # a preview must not change what follows
            sets, labels = search_latent(latent, self.plan.sizes, self.plan.aggregator, rng)
            sets = [part.astype(latent.dtype) for part in sets]
            copied.codebook = LatentCodebook(sets, self.plan.aggregator).to(self.device)
        else:
            copied.codebook = copy.deepcopy(trainee.codebook)
            labels = inference.squared_distances(copied.codebook, latent).argmin(axis=1)
        lesson = Lesson(labels.astype(np.int32), "preview")
        return self._finished(copied, lesson, [])
