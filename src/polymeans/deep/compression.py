"""A dense autoencoder with Hadamard layers inside, of a rank that reconstructs as well.

A layer stays dense where its factors would be no smaller, so a network never grows by it.
"""

import copy
import logging
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from polymeans.deep.autoencoder import Autoencoder
from polymeans.deep.hadamard import HadamardLinear, largest_rank, rank_by_rule

logger = logging.getLogger("polymeans")

#: Multiples of the first rank that are tried at most.
_MULTIPLES = 10

#: Share of the epochs after which two ways to begin are compared.
_PROBE = 0.1

#: Trains a network for a share of the usual epochs; returns its reconstruction error.
Train = Callable[[Autoencoder, float], float]


def with_hadamard_layers(
    network: Autoencoder,
    rank: int | None,
    multiple: int,
    n_factors: int,
    generator: torch.Generator,
    from_dense: bool,
) -> Autoencoder:
    """A copy whose inner layers are Hadamard products, where that is smaller.

    First and last of each half stay dense.

    Parameters
    ----------
    network : Autoencoder
        Of dense layers.
    rank : int or None
        Of each factor. None: by rule.
    multiple : int
        Of the rank by rule.
    n_factors : int
    generator : torch.Generator
    from_dense : bool
        Whether they begin as the best approximation of the dense ones.
    """
    made = copy.deepcopy(network)
    for half in (made.encoder, made.decoder):
        assert isinstance(half, nn.Sequential)
        for position in inner_layers(half):
            layer: Any = half[position]
            n_in, n_out = layer.in_features, layer.out_features
            size = rank or multiple * rank_by_rule(n_in, n_out)
            if size > largest_rank(n_in, n_out, n_factors):
                continue
            if from_dense:
                compact = HadamardLinear.of_layer(layer, size, n_factors, generator)
            else:
                compact = HadamardLinear(
                    n_in, n_out, size, n_factors, generator, layer.weight.dtype
                )
            half[position] = compact.to(layer.weight.device)
    return made


def inner_layers(half: nn.Sequential) -> list[int]:
    """Positions of the linear layers but for the first and the last."""
    kinds = nn.Linear | HadamardLinear
    return [i for i, layer in enumerate(half) if isinstance(layer, kinds)][1:-1]


def ranks_of(half: Any) -> list[int | None]:
    """Ranks of the inner layers; None: dense."""
    layers = [half[position] for position in inner_layers(half)]
    return [layer.rank if isinstance(layer, HadamardLinear) else None for layer in layers]


def compress(
    dense: Autoencoder,
    dense_error: float,
    rank: int | None,
    n_factors: int,
    generator: torch.Generator,
    train: Train,
) -> tuple[Autoencoder, float]:
    """Hadamard layers of the smallest multiple of the rank by rule that reconstruct as well.

    Each begins both from the trained dense layers and at random, and goes on with what is better
    after a tenth of the epochs. Where no rank is smaller than the dense layers, they are kept.

    Parameters
    ----------
    dense : Autoencoder
        Trained.
    dense_error : float
        Of its reconstructions.
    rank : int or None
        None: grows until the error is at most that of the dense network.
    n_factors : int
    generator : torch.Generator
    train : callable
        ``train(network, share)`` trains for this share of the usual epochs and returns the error.

    Returns
    -------
    network : Autoencoder
    error : float
    """
    best: tuple[Autoencoder, float] | None = None
    for multiple in range(1, _MULTIPLES + 1):
        probes = []
        for from_dense in (True, False):
            network = with_hadamard_layers(dense, rank, multiple, n_factors, generator, from_dense)
            if network.n_parameters >= dense.n_parameters:
                return best or (dense, dense_error)
            probes.append((train(network, _PROBE), from_dense, network))
        _, from_dense, network = min(probes, key=lambda probe: probe[0])
        error = train(network, 1.0)
        logger.debug(
            "multiple %d of the rank, begun from %s: error %.4g, dense %.4g",
            multiple,
            "the dense layers" if from_dense else "random numbers",
            error,
            dense_error,
        )
        best = network, error
        if rank is not None or error <= dense_error:
            break
    assert best is not None
    return best
