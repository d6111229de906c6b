"""Encoder and decoder as one network: dense layers, the fold of its latent space, and its size."""

import copy
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from polymeans._validation import shown

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "leaky_relu": nn.LeakyReLU,
    "relu": nn.ReLU,
}

#: Deviations of a latent dimension below this are taken for rounding: it is left as it is.
_CONSTANT = 1e-6


class Autoencoder(nn.Module):
    """An encoder, a decoder, and an affine map between them that makes the latent space standard.

    Parameters
    ----------
    encoder, decoder : Module
    n_latent : int
    dtype : torch.dtype
    """

    latent_mean: Tensor
    latent_std: Tensor

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module, n_latent: int, dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.encoder, self.decoder, self.n_latent = encoder, decoder, n_latent
        self.register_buffer("latent_mean", torch.zeros(n_latent, dtype=dtype))
        self.register_buffer("latent_std", torch.ones(n_latent, dtype=dtype))

    def encode(self, rows: Tensor) -> Tensor:
        """Rows in the latent space."""
        return (self.encoder(rows) - self.latent_mean) / self.latent_std

    def decode(self, latent: Tensor) -> Tensor:
        """Points of the latent space as rows."""
        return self.decoder(latent * self.latent_std + self.latent_mean)

    def fold(self, mean: Tensor, std: Tensor) -> None:
        """Give the latent space a new origin and units; reconstructions stay as they are.

        Parameters
        ----------
        mean, std : Tensor of shape (n_latent,)
            Of the encoded rows, in the present units.
        """
        std = torch.where(std > _CONSTANT, std, torch.ones_like(std))
        self.latent_mean.add_(mean * self.latent_std)
        self.latent_std.mul_(std)
        last, first = last_linear(self.encoder), first_linear(self.decoder)
        if last is None or first is None:
            return  # networks that users gave may end in anything
        with torch.no_grad():
            last.bias.copy_((last.bias - self.latent_mean) / self.latent_std)
            last.weight.div_(self.latent_std[:, None])
            first.bias.add_(first.weight @ self.latent_mean)
            first.weight.mul_(self.latent_std)
        self.latent_mean.zero_()
        self.latent_std.fill_(1.0)

    @property
    def n_parameters(self) -> int:
        """Numbers that are stored: weights and biases, and the affine map if it is needed."""
        own = sum(parameter.numel() for parameter in self.parameters())
        plain = bool((self.latent_mean == 0).all() and (self.latent_std == 1).all())
        return own if plain else own + 2 * self.n_latent


def dense_autoencoder(
    n_features: int,
    hidden_sizes: Sequence[int],
    n_latent: int,
    activation: str,
    generator: torch.Generator,
    dtype: torch.dtype,
) -> Autoencoder:
    """Linear layers with an activation between them; the decoder mirrors the encoder."""
    sizes = [n_features, *hidden_sizes, n_latent]
    halves = [
        nn.Sequential(*_layers(widths, activation, generator, dtype))
        for widths in (sizes, sizes[::-1])
    ]
    return Autoencoder(halves[0], halves[1], n_latent, dtype)


def _layers(
    widths: Sequence[int], activation: str, generator: torch.Generator, dtype: torch.dtype
) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(widths):
        layers += [new_linear(n_in, n_out, generator, dtype), ACTIVATIONS[activation]()]
    return layers[:-1]


def new_linear(n_in: int, n_out: int, generator: torch.Generator, dtype: torch.dtype) -> nn.Linear:
    """A linear layer whose weights are drawn as PyTorch draws them, but not from global numbers."""
    layer = nn.utils.skip_init(nn.Linear, n_in, n_out, dtype=dtype)
    reinitialize(layer, n_in, generator)
    return layer


def reinitialize(layer: Any, fan_in: int, generator: torch.Generator) -> None:
    """Draw weights and biases of a layer, uniform within ``1 / sqrt(fan_in)``."""
    bound = 1.0 / math.sqrt(fan_in)
    with torch.no_grad():
        for values in (layer.weight, layer.bias):
            drawn = torch.rand(values.shape, generator=generator, dtype=values.dtype)
            values.copy_(bound * (2.0 * drawn - 1.0))


def given_autoencoder(networks: Any, n_features: int, dtype: torch.dtype) -> Autoencoder:
    """Copies of networks that a user gave, checked for rows of this width."""
    encoder, decoder = (
        copy.deepcopy(network).to(device="cpu", dtype=dtype) for network in networks
    )
    probe = torch.zeros(2, n_features, dtype=dtype)
    was_training = encoder.training, decoder.training
    encoder.eval(), decoder.eval()
    with torch.no_grad():
        latent = _tried(encoder, probe, "encoder", f"rows of n_features={n_features}")
        if latent.ndim != 2 or len(latent) != 2:
            raise ValueError(
                f"The encoder of autoencoder=(encoder, decoder) makes an output of shape "
                f"{tuple(latent.shape)} of 2 rows. It must be (2, n_latent): end it with "
                "torch.nn.Flatten()."
            )
        back = _tried(decoder, latent, "decoder", f"n_latent={latent.shape[1]} numbers")
    if back.shape != probe.shape:
        raise ValueError(
            f"The decoder of autoencoder=(encoder, decoder) makes an output of shape "
            f"{tuple(back.shape)} of 2 rows, but rows have n_features={n_features}. Let its last "
            "layer have this width."
        )
    for network, mode in zip((encoder, decoder), was_training):
        network.train(mode)
    return Autoencoder(encoder, decoder, latent.shape[1], dtype)


def _tried(network: nn.Module, rows: Tensor, name: str, what: str) -> Tensor:
    """What a network makes of rows; an error that says which width does not fit."""
    try:
        made = network(rows)
    except RuntimeError as error:
        raise ValueError(
            f"The {name} of autoencoder=(encoder, decoder) cannot take {what}: "
            f"{str(error).splitlines()[0]}. Let its first layer have this width."
        ) from error
    if not isinstance(made, Tensor):
        raise TypeError(
            f"The {name} of autoencoder=(encoder, decoder) must return one tensor, got "
            f"{shown(type(made).__name__)}."
        )
    return made


def last_linear(network: nn.Module) -> nn.Linear | None:
    """The layer that a network ends with, if it is linear with a bias."""
    return _linear_at(network, -1)


def first_linear(network: nn.Module) -> nn.Linear | None:
    """The layer that a network begins with, if it is linear with a bias."""
    return _linear_at(network, 0)


def _linear_at(network: nn.Module, position: int) -> nn.Linear | None:
    if isinstance(network, nn.Sequential) and len(network):
        network = network[position]
    return network if type(network) is nn.Linear and network.bias is not None else None


def dense_n_parameters(n_features: int, hidden_sizes: Sequence[int], n_latent: int) -> int:
    """Weights and biases of a dense autoencoder of these sizes."""
    sizes = [n_features, *hidden_sizes, n_latent]
    weights = 2 * sum(n_in * n_out for n_in, n_out in pairwise(sizes))
    return weights + sum(sizes[1:]) + sum(sizes[:-1])
