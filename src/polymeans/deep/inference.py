"""What a trained network and its codebook say about rows; nothing is learned here."""

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from polymeans.deep.autoencoder import Autoencoder
from polymeans.deep.codebook import LatentCodebook
from polymeans.deep.rows import FIXED_ROWS, RowSource


@dataclass(frozen=True)
class Outcome:
    """What a model makes of some rows.

    Parameters
    ----------
    latent : ndarray of shape (n, n_latent)
    distances : ndarray of shape (n, k), float64
        Squared, in the latent space.
    reconstruction : float
        Mean squared error of an entry.
    """

    latent: NDArray[Any]
    distances: NDArray[np.float64]
    reconstruction: float

    @property
    def labels(self) -> NDArray[np.int32]:
        """Nearest centroids, the lowest among equals."""
        return self.distances.argmin(axis=1).astype(np.int32)

    @property
    def inertia(self) -> float:
        """Sum of the squared latent distances to the nearest centroids."""
        return float(self.distances.min(axis=1).sum())


def in_fixed_batches(
    function: Callable[[Tensor], Tensor], batches: Iterable[Tensor], device: torch.device
) -> Iterator[Tensor]:
    """Results for batches, all of them computed at the same height and returned on the CPU."""
    for rows in batches:
        n_rows = len(rows)
        if n_rows < FIXED_ROWS:
            rows = torch.cat([rows, rows.new_zeros(FIXED_ROWS - n_rows, rows.shape[1])])
        yield function(rows.to(device))[:n_rows].cpu()


@torch.no_grad()
def encode(network: Autoencoder, rows: RowSource) -> NDArray[Any]:
    """Latent vectors of all rows."""
    was_training = network.training
    network.eval()
    parts = list(in_fixed_batches(network.encode, rows.in_order(), network.latent_mean.device))
    network.train(was_training)
    return torch.cat(parts).numpy()


@torch.no_grad()
def decode(network: Autoencoder, latent: NDArray[Any]) -> NDArray[Any]:
    """Rows of latent vectors."""
    was_training = network.training
    network.eval()
    points = torch.from_numpy(np.ascontiguousarray(latent)).to(network.latent_mean.dtype)
    parts = list(
        in_fixed_batches(network.decode, points.split(FIXED_ROWS), network.latent_mean.device)
    )
    network.train(was_training)
    return torch.cat(parts).numpy()


@torch.no_grad()
def squared_distances(codebook: LatentCodebook, latent: NDArray[Any]) -> NDArray[np.float64]:
    """Squared distances of latent vectors to all centroids, in float64 on the CPU."""
    exact = copy.deepcopy(codebook).cpu().double()  # not all devices have float64
    points = torch.from_numpy(np.ascontiguousarray(latent)).to(torch.float64)
    parts = [exact(part) for part in points.split(FIXED_ROWS)]
    return torch.cat(parts).numpy()


@torch.no_grad()
def reconstruction_error(network: Autoencoder, rows: RowSource) -> float:
    """Mean squared error of an entry."""
    device = network.latent_mean.device
    was_training = network.training
    network.eval()
    total = 0.0
    for batch in rows.in_order():
        sent = batch.to(device)
        back = network.decode(network.encode(sent))
        total += float((back - sent).square().sum())
    network.train(was_training)
    return total / (rows.n_samples * rows.n_features)


def evaluate(network: Autoencoder, codebook: LatentCodebook, rows: RowSource) -> Outcome:
    """Latent vectors, distances and the reconstruction error of all rows."""
    latent = encode(network, rows)
    return Outcome(latent, squared_distances(codebook, latent), reconstruction_error(network, rows))
