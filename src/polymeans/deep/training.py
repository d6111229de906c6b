"""The training loop: all phases of both procedures run through it."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.random import RandomState
from numpy.typing import NDArray
from torch import Tensor

from polymeans.deep.autoencoder import Autoencoder
from polymeans.deep.codebook import LatentCodebook
from polymeans.deep.rows import RowSource
from polymeans.deep.schedule import Phase
from polymeans.engine.journal import Journal, Page

logger = logging.getLogger("polymeans")

#: Multiple of the first epoch's loss above which training diverges; a NaN always does.
_DIVERGED = 1e4

#: Epochs in a row with few label changes after which self-training ends.
_STEADY_EPOCHS = 5

#: Seconds between two checkpoints at least: writing a large network takes a while.
_CHECKPOINT_SECONDS = 2.0

HISTORY = np.dtype(
    [
        ("phase", "U13"),
        ("loss", "f8"),
        ("clustering", "f8"),
        ("reconstruction", "f8"),
        ("n_moved", "i8"),
        ("seconds", "f8"),
    ]
)


class DivergedError(Exception):
    """The loss of a phase is not finite, or far above where it began.

    Parameters
    ----------
    phase : str
    epoch : int
        From 1.
    loss : float
    """

    def __init__(self, phase: str, epoch: int, loss: float) -> None:
        super().__init__(
            f"The loss diverged in epoch {epoch} of {phase} (loss {loss:.4g}). Use a smaller "
            "learning_rate, or bring the columns of X to similar scales, by StandardScaler for "
            "example."
        )


#: Loss of the squared distances of a batch, given the numbers of its rows.
BatchLoss = Callable[[Tensor, NDArray[np.int64]], Tensor]


@dataclass
class Trainee:
    """A network and its centroids while they learn.

    Parameters
    ----------
    network : Autoencoder
    rows : RowSource
    rng : RandomState
        For the order of rows.
    batch_size : int
    reconstruction_weight : float
        Of the reconstruction beside the clusters.
    codebook : LatentCodebook or None, default=None
        None: only the network learns, to reconstruct.
    labels : ndarray of shape (n,) or None, default=None
        Nearest centroids when rows were last seen.
    history : list of tuple
        One for each epoch, with the fields of :data:`HISTORY`.
    """

    network: Autoencoder
    rows: RowSource
    rng: RandomState
    batch_size: int
    reconstruction_weight: float
    codebook: LatentCodebook | None = None
    labels: NDArray[np.int64] | None = None
    history: list[tuple[Any, ...]] = field(default_factory=list)
    on_epoch: Callable[["Trainee"], bool] | None = None  #: True: stop here
    journal: Journal | None = None
    verbose: int = 0
    stopped: bool = False  #: by a callback

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.network.latent_mean.device

    def learn(
        self,
        phase: Phase,
        loss: BatchLoss | None = None,
        before_epoch: Callable[[], None] | None = None,
        tol: float | None = None,
    ) -> None:
        """Go through the epochs of a phase.

        Parameters
        ----------
        phase : Phase
        loss : callable or None, default=None
            Of the centroids; None: only reconstructions count.
        before_epoch : callable or None, default=None
            Called at the beginning of each epoch, to renew targets.
        tol : float or None, default=None
            End when so small a share of the labels changes in several epochs; None: never.
        """
        if phase.n_epochs == 0 or self.stopped:
            return
        run = _PhaseRun(self, phase, loss)
        page = None if self.journal is None else self.journal.page()
        first = 0 if page is None else run.resume(page)
        saved = time.monotonic()
        self.network.train()
        for epoch in range(first, phase.n_epochs):
            if before_epoch is not None:
                before_epoch()
            run.epoch(epoch)
            stop = self.on_epoch is not None and self.on_epoch(self)
            self.stopped = self.stopped or stop
            done = stop or (tol is not None and run.is_steady(tol))
            self._log(phase, epoch, self.verbose > 1)
            last = done or epoch == phase.n_epochs - 1
            if page is not None and (last or time.monotonic() - saved > _CHECKPOINT_SECONDS):
                run.record(page, phase.n_epochs if last else epoch + 1)
                saved = time.monotonic()
            if done:
                break
        self.network.eval()
        self._log(phase, len(self.history) - run.n_recorded - 1, self.verbose == 1)

    def _log(self, phase: Phase, epoch: int, wanted: bool) -> None:
        if wanted:
            _, loss, clustering, reconstruction, n_moved, _ = self.history[-1]
            logger.info(
                "%s, epoch %d of %d: loss %.4g (clusters %.4g, reconstruction %.4g), %d rows moved",
                phase.name,
                epoch + 1,
                phase.n_epochs,
                loss,
                clustering,
                reconstruction,
                n_moved,
            )


class _PhaseRun:
    """One phase of one trainee: the optimizer, and what is needed to go back or go on."""

    def __init__(self, trainee: Trainee, phase: Phase, loss: BatchLoss | None) -> None:
        self.trainee, self.phase, self.loss = trainee, phase, loss
        self.n_batches = trainee.rows.n_batches(trainee.batch_size)
        groups = [{"params": list(trainee.network.parameters()), "relative": 1.0}]
        if trainee.codebook is not None:
            own = list(trainee.codebook.parameters())
            groups.append({"params": own, "relative": phase.codebook_rate})
        fused = trainee.device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.Adam(groups, lr=phase.rate, fused=fused)
        self.first_loss = np.inf
        #: Numbers at the beginning of the last two epochs, the older ones first.
        self.states = [self._copied_state()] * 2
        self.n_recorded = len(trainee.history)

    # --- one epoch ---------------------------------------------------------------------------

    def epoch(self, number: int) -> None:
        """Go through all rows once; if the loss diverges, go back to where it was finite."""
        trainee, began = self.trainee, time.perf_counter()
        self.states = [self.states[1], self._copied_state()]
        step = number * self.n_batches
        n_steps = self.phase.n_epochs * self.n_batches
        totals, n_moved = np.zeros(3), 0
        for numbers, batch in trainee.rows.shuffled(trainee.batch_size, trainee.rng):
            rate, momentum = self.phase.at(step, n_steps)
            for group in self.optimizer.param_groups:
                group["lr"], group["betas"] = rate * group["relative"], (momentum, 0.999)
            losses, labels = self._step(numbers, batch.to(trainee.device))
            if not np.isfinite(losses).all():
                # If the first loss is not finite, the last step of the epoch before was too far.
                self._restore(self.states[0 if step == number * self.n_batches else 1])
                raise DivergedError(self.phase.name, number + 1, losses[0])
            totals += len(numbers) * losses
            if labels is not None:
                n_moved += self._count_moved(numbers, labels)
            step += 1
        totals /= trainee.rows.n_samples
        if number == 0:
            self.first_loss = float(totals[0])
        if totals[0] > _DIVERGED * max(self.first_loss, 1e-3):
            self._restore(self.states[0])
            raise DivergedError(self.phase.name, number + 1, float(totals[0]))
        seconds = time.perf_counter() - began
        trainee.history.append((self.phase.name, *map(float, totals), n_moved, seconds))

    def _step(
        self, numbers: NDArray[np.int64], batch: Tensor
    ) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
        trainee = self.trainee
        latent = trainee.network.encode(batch)
        reconstruction = (trainee.network.decode(latent) - batch).square().mean()
        labels = None
        if self.loss is None or trainee.codebook is None:
            total, clustering = reconstruction, reconstruction.new_zeros(())
        else:
            distances = trainee.codebook(latent)
            clustering = self.loss(distances, numbers)
            total = trainee.reconstruction_weight * reconstruction + clustering
            labels = distances.detach().argmin(dim=1).cpu().numpy()
        self.optimizer.zero_grad(set_to_none=True)
        total.backward()
        self.optimizer.step()
        losses = torch.stack([total.detach(), clustering.detach(), reconstruction.detach()])
        return losses.double().cpu().numpy(), labels

    def _count_moved(self, numbers: NDArray[np.int64], labels: NDArray[np.int64]) -> int:
        trainee = self.trainee
        if trainee.labels is None:
            trainee.labels = np.full(trainee.rows.n_samples, -1, dtype=np.int64)
        moved = int(np.count_nonzero(trainee.labels[numbers] != labels))
        trainee.labels[numbers] = labels
        return moved

    def is_steady(self, tol: float) -> bool:
        """Whether few labels changed in each of the last epochs, the warm-up aside."""
        recent = self.trainee.history[self.n_recorded :]
        if len(recent) < max(_STEADY_EPOCHS, self.phase.n_epochs // 4):
            return False
        allowed = tol * self.trainee.rows.n_samples
        return all(record[4] <= allowed for record in recent[-_STEADY_EPOCHS:])

    # --- going back, and going on ------------------------------------------------------------

    def _named(self) -> dict[str, Tensor]:
        """All numbers of network and codebook by name."""
        named = {f"network.{k}": v for k, v in self.trainee.network.state_dict().items()}
        if self.trainee.codebook is not None:
            states = self.trainee.codebook.state_dict()
            named |= {f"codebook.{k}": v for k, v in states.items()}
        return named

    def _copied_state(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self._named().items()}

    def _restore(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for name, value in self._named().items():
                value.copy_(torch.as_tensor(state[name]))

    def _moments(self) -> list[tuple[str, Tensor]]:
        """Moments of the optimizer by name, in the order of its parameters."""
        return [
            (f"adam.{number}.{key}", value)
            for number, parameter in enumerate(self._parameters())
            for key, value in sorted(self.optimizer.state[parameter].items())
        ]

    def _parameters(self) -> list[Any]:
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def record(self, page: Page, n_done: int) -> None:
        """Write a checkpoint after so many epochs."""
        trainee = self.trainee
        tensors = self._named() | dict(self._moments())
        arrays = {name: value.detach().cpu().numpy() for name, value in tensors.items()}
        arrays["n_done"] = np.array(n_done)
        arrays["first_loss"] = np.array(self.first_loss)
        arrays["history"] = np.array(trainee.history[self.n_recorded :], dtype=HISTORY)
        if trainee.labels is not None:
            arrays["labels"] = trainee.labels
        page.save(arrays, trainee.rng)

    def resume(self, page: Page) -> int:
        """Go on from a checkpoint if there is one; how many epochs are done."""
        found = page.load(self.trainee.rng)
        if found is None:
            return 0
        self._restore(found)
        for number, parameter in enumerate(self._parameters()):
            prefix = f"adam.{number}."
            self.optimizer.state[parameter] = {
                name.removeprefix(prefix): torch.from_numpy(value).to(parameter.device)
                for name, value in found.items()
                if name.startswith(prefix)
            }
        self.first_loss = float(found["first_loss"])
        self.trainee.history += [tuple(record.item()) for record in found["history"]]
        if "labels" in found:
            self.trainee.labels = found["labels"]
        return int(found["n_done"])
