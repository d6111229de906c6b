"""Which autoencoder a fit trains, and how it is pretrained."""

from dataclasses import dataclass
from typing import Any

import torch

from polymeans.deep.autoencoder import (
    Autoencoder,
    dense_autoencoder,
    dense_n_parameters,
    given_autoencoder,
)
from polymeans.deep.compression import compress
from polymeans.deep.convolutional import convolutional_autoencoder
from polymeans.deep.inference import reconstruction_error
from polymeans.deep.schedule import Phase, Schedule
from polymeans.deep.training import Trainee

#: Hidden layers by rule: narrow dense ones are as good as wide ones that are compressed.
HIDDEN_SIZES = (256, 128)

#: Hidden layers of the paper, which Hadamard layers are made for.
WIDE_HIDDEN_SIZES = (1024, 512, 256)

KINDS = ("dense", "hadamard", "convolutional")


@dataclass(frozen=True)
class NetworkPlan:
    """What the autoencoder is.

    Parameters
    ----------
    kind : str
        "dense", "hadamard", "convolutional" or "given".
    hidden_sizes : tuple of int
    n_latent : int
    activation : str
    n_factors : int
        Of Hadamard layers.
    rank : int or None
        Of their factors; None: by rule.
    image_shape : tuple of int or None
        Channels, height and width, for convolutions.
    given : tuple of Module or None
        Encoder and decoder of the user's own.
    dtype : torch.dtype
    """

    kind: str
    hidden_sizes: tuple[int, ...]
    n_latent: int
    activation: str
    n_factors: int
    rank: int | None
    image_shape: tuple[int, int, int] | None
    given: Any
    dtype: torch.dtype

    @property
    def is_dense(self) -> bool:
        """Whether first and last layers are linear, so that other coordinates can be folded in."""
        return self.kind in ("dense", "hadamard")

    def uncompressed_n_parameters(self, network: Autoencoder, n_features: int) -> int:
        """Numbers of the network without Hadamard layers."""
        if self.kind != "hadamard":
            return network.n_parameters
        return dense_n_parameters(n_features, self.hidden_sizes, self.n_latent)


def new_network(plan: NetworkPlan, n_features: int, generator: torch.Generator) -> Autoencoder:
    """An untrained autoencoder; of Hadamard layers, the dense one they will be made from."""
    if plan.kind == "given":
        return given_autoencoder(plan.given, n_features, plan.dtype)
    if plan.kind == "convolutional":
        assert plan.image_shape is not None
        return convolutional_autoencoder(
            plan.image_shape, plan.n_latent, plan.activation, generator, plan.dtype
        )
    return dense_autoencoder(
        n_features, plan.hidden_sizes, plan.n_latent, plan.activation, generator, plan.dtype
    )


def pretrained(
    trainee: Trainee, plan: NetworkPlan, schedule: Schedule, generator: torch.Generator
) -> Autoencoder:
    """The autoencoder after it has learned to reconstruct, compressed if that was asked for."""
    trainee.learn(schedule.pretraining)
    if plan.kind != "hadamard":
        return trainee.network
    dense = trainee.network

    def train(network: Autoencoder, share: float) -> float:
        usual = schedule.pretraining
        trainee.network = network
        n_epochs = max(1, round(share * usual.n_epochs))
        trainee.learn(Phase("compression", n_epochs, usual.rate, usual.one_cycle))
        return reconstruction_error(network, trainee.rows)

    dense_error = reconstruction_error(dense, trainee.rows)
    network, _ = compress(dense, dense_error, plan.rank, plan.n_factors, generator, train)
    trainee.network = network
    return network
