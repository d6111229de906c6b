"""How long and how fast networks learn, in the two procedures."""

import math
from dataclasses import dataclass
from typing import Any

from polymeans._validation import is_name

#: Part of a phase in which the learning rate rises, and how far below its peak it begins and ends.
_WARM_UP, _BEGIN, _END = 0.2, 1 / 25, 1 / 25e4

#: Momentum of Adam: low while the rate is high.
_HIGH_MOMENTUM, _LOW_MOMENTUM = 0.95, 0.85

#: Rows below which some losses need more steps of distillation.
_FEW_ROWS = 4000


@dataclass(frozen=True)
class Phase:
    """One part of the training.

    Parameters
    ----------
    name : str
        "pretraining", "compression", "distillation" or "self-training".
    n_epochs : int
    rate : float
        Learning rate, at its peak if it varies.
    one_cycle : bool
        Whether the rate rises and falls; else it stays.
    codebook_rate : float, default=1.0
        Learning rate of the centroids, relative to that of the network.
    """

    name: str
    n_epochs: int
    rate: float
    one_cycle: bool
    codebook_rate: float = 1.0

    def at(self, step: int, n_steps: int) -> tuple[float, float]:
        """Learning rate and momentum of a step."""
        if not self.one_cycle:
            return self.rate, 0.9
        turn = _WARM_UP * n_steps - 1
        if step <= turn:
            share = step / max(turn, 1.0)
            low, high, momenta = _BEGIN, 1.0, (_HIGH_MOMENTUM, _LOW_MOMENTUM)
        else:
            share = (step - turn) / max(n_steps - 1 - turn, 1.0)
            low, high, momenta = 1.0, _END, (_LOW_MOMENTUM, _HIGH_MOMENTUM)
        wave = 0.5 * (1.0 - math.cos(math.pi * share))
        rate = self.rate * (low + (high - low) * wave)
        return rate, momenta[0] + (momenta[1] - momenta[0]) * wave


@dataclass(frozen=True)
class Schedule:
    """All phases of a fit.

    Parameters
    ----------
    batch_size : int
    pretraining, distillation, self_training : Phase
    """

    batch_size: int
    pretraining: Phase
    distillation: Phase
    self_training: Phase

    @property
    def n_epochs(self) -> int:
        """Epochs of all phases, those of a compression aside."""
        return sum(
            phase.n_epochs for phase in (self.pretraining, self.distillation, self.self_training)
        )


def make_schedule(model: Any, start: str, n_batches: Any, k: int, loss: Any, n: int) -> Schedule:
    """The phases of a fit, by rule where the user gave no numbers.

    Short data sets need steps, not epochs: 60 epochs of 600 rows are too few.

    Parameters
    ----------
    model : estimator
        With ``batch_size``, ``learning_rate``, ``pretrain_epochs``, ``distill_epochs``,
        ``max_epochs``.
    start : {"graph", "latent"}
    n_batches : callable
        Batches of an epoch for a given size of a batch.
    k : int
        Number of clusters.
    loss : DKMLoss or IDECLoss
    n : int
        Number of rows.
    """
    from_graph = start == "graph"
    batch_size = _number(model.batch_size, 256 if from_graph else 512)
    rate = float(_number(model.learning_rate, 2e-3 if from_graph else 1e-3))
    per_epoch = n_batches(batch_size)

    def epochs(n_steps: int, at_least: int) -> int:
        return max(at_least, -(-n_steps // per_epoch))

    few = loss.steps_for_few_rows if n < _FEW_ROWS else 500
    if from_graph:
        pretraining, distillation = epochs(600, 15), epochs(max(few, 10 * k), 10)
        self_training = epochs(150, 5)
    else:
        pretraining, distillation, self_training = 150, 0, 150
    last_rate = rate * (loss.self_training_rate if from_graph else 0.1)
    return Schedule(
        batch_size,
        Phase("pretraining", _number(model.pretrain_epochs, pretraining), rate, from_graph),
        Phase("distillation", _number(model.distill_epochs, distillation), rate, True),
        Phase(
            "self-training",
            _number(model.max_epochs, self_training),
            last_rate,
            from_graph,
            1.0 if from_graph else 10.0,
        ),
    )


def _number(given: Any, by_rule: Any) -> Any:
    return by_rule if is_name(given, "auto") else given
