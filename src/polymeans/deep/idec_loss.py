"""The loss of IDEC: the divergence of soft assignments from sharper ones."""

from dataclasses import dataclass

import torch
from torch import Tensor


def _log_student_t(distances: Tensor, alpha: float) -> Tensor:
    """Logarithms of the shares by Student's t, stable for far rows."""
    logits = -0.5 * (alpha + 1.0) * torch.log1p(distances / alpha)
    return torch.log_softmax(logits, dim=1)


def student_t_assignment(distances: Tensor, alpha: float) -> Tensor:
    """Share of each centroid in each row: ``(1 + d²/alpha)^(-(alpha+1)/2)``, rows summing to 1."""
    return torch.exp(_log_student_t(distances, alpha))


def target_distribution(assignments: Tensor) -> Tensor:
    """Sharper shares: squares over the mass of the cluster, rows summing to 1."""
    weighted = assignments.square() / assignments.sum(dim=0)
    return weighted / weighted.sum(dim=1, keepdim=True)


def idec_loss(distances: Tensor, targets: Tensor, alpha: float) -> Tensor:
    """Mean over rows of the divergence ``KL(targets || assignments)``.

    Parameters
    ----------
    distances : Tensor of shape (n, k)
        Squared.
    targets : Tensor of shape (n, k)
        Of :func:`target_distribution`; no gradient flows through them.
    alpha : float
        Degrees of freedom.
    """
    own = torch.xlogy(targets, targets)
    return (own - targets * _log_student_t(distances, alpha)).sum(dim=1).mean()


@dataclass(frozen=True)
class IDECLoss:
    """What IDEC minimizes, in both procedures.

    Parameters
    ----------
    alpha : float
    """

    alpha: float = 1.0

    #: Share of each target that is spread over all clusters while labels are taught.
    smoothing = 0.05
    #: Learning rate of self-training, relative to that of pretraining.
    self_training_rate = 0.25
    #: Whether the published loss has targets.
    needs_targets = True
    #: Steps of distillation at least, for few rows.
    steps_for_few_rows = 500

    def assignments(self, distances: Tensor) -> Tensor:
        """Share of each centroid in each row."""
        return student_t_assignment(distances, self.alpha)

    def sharpened(self, assignments: Tensor) -> Tensor:
        """Targets of self-training."""
        return target_distribution(assignments)

    def taught(self, distances: Tensor, targets: Tensor) -> Tensor:
        """Loss of distillation and of self-training."""
        return idec_loss(distances, targets, self.alpha)

    def published(self, distances: Tensor, targets: Tensor | None) -> Tensor:
        """The paper's loss; targets are those of all rows at the beginning of the epoch."""
        if targets is None:
            targets = target_distribution(self.assignments(distances)).detach()
        return idec_loss(distances, targets, self.alpha)
