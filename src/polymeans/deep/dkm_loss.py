"""The loss of deep k-means (DKM): squared distances, weighted by a softmax of themselves."""

from dataclasses import dataclass

import torch
from torch import Tensor


def softmax_assignment(distances: Tensor, alpha: float) -> Tensor:
    """Share of each centroid in each row: ``softmax(-alpha d²)``."""
    return torch.softmax(-alpha * distances, dim=1)


def dkm_loss(distances: Tensor, alpha: float) -> Tensor:
    """Mean over rows of ``Σ_c d_c² softmax_c(-alpha d²)``.

    Parameters
    ----------
    distances : Tensor of shape (n, k)
        Squared.
    alpha : float
        The larger, the harder rows are assigned.
    """
    return (distances * softmax_assignment(distances, alpha)).sum(dim=1).mean()


def taught_dkm_loss(distances: Tensor, targets: Tensor) -> Tensor:
    """Squared distances to the given centroids, and the cross-entropy of a softmax of ``-d²``.

    The first term is that of DKM. Alone it would shrink the latent space and undo what was learned
    from the labels; the second one keeps the cells apart.

    Parameters
    ----------
    distances : Tensor of shape (n, k)
        Squared.
    targets : Tensor of shape (n, k)
        Share of each centroid in each row.
    """
    logs = torch.log_softmax(-distances, dim=1)
    return (targets * (distances - logs)).sum(dim=1).mean()


@dataclass(frozen=True)
class DKMLoss:
    """What DKM minimizes, in both procedures.

    Parameters
    ----------
    alpha : float
    """

    alpha: float = 1000.0

    #: Share of each target that is spread over all clusters while labels are taught.
    smoothing = 0.0
    #: Learning rate of self-training, relative to that of pretraining.
    self_training_rate = 0.1
    #: Whether the published loss has targets.
    needs_targets = False
    #: Steps of distillation at least, for few rows.
    steps_for_few_rows = 1000

    def assignments(self, distances: Tensor) -> Tensor:
        """Share of each centroid in each row."""
        return softmax_assignment(distances, self.alpha)

    def sharpened(self, assignments: Tensor) -> Tensor:
        """Targets of self-training."""
        squares = assignments.square()
        return squares / squares.sum(dim=1, keepdim=True)

    def taught(self, distances: Tensor, targets: Tensor) -> Tensor:
        """Loss of distillation and of self-training."""
        return taught_dkm_loss(distances, targets)

    def published(self, distances: Tensor, targets: Tensor | None) -> Tensor:
        """The paper's loss, which needs no targets."""
        return dkm_loss(distances, self.alpha)
