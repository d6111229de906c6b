"""Centroids in the latent space: free ones, or sums or products of protocentroids."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


class LatentCodebook(nn.Module):
    """Centroids that are trained by gradients.

    Free centroids are one set. Centroids are numbered in C order, as in
    :mod:`polymeans.codebooks.aggregation`.

    Parameters
    ----------
    sets : sequence of p arrays of shape (h_q, n_latent)
    aggregator : {"sum", "product"}
    """

    def __init__(self, sets: Sequence[Any], aggregator: str = "sum") -> None:
        super().__init__()
        self.aggregator = aggregator
        self.sets = nn.ParameterList(torch.as_tensor(part).clone() for part in sets)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Protocentroids in each set."""
        return tuple(len(part) for part in self.sets)

    def centroids(self) -> Tensor:
        """All centroids, of shape (h_1 · ... · h_p, n_latent)."""
        combined = self.sets[0]
        for following in list(self.sets)[1:]:
            pairs = combined[:, None, :], following[None, :, :]
            combined = pairs[0] + pairs[1] if self.aggregator == "sum" else pairs[0] * pairs[1]
            combined = combined.reshape(-1, combined.shape[-1])
        return combined

    def forward(self, latent: Tensor) -> Tensor:
        """Squared distances of rows to all centroids, of shape (n, k).

        For sums, rows are multiplied with the Σh protocentroids only: with t the table of the
        squared norms of the centroids, ``|z - Σ θ_q|² = |z|² - 2 Σ z·θ_q + t``.
        """
        norms = latent.square().sum(dim=1, keepdim=True)
        if self.aggregator == "sum":
            products, table = self._sums_of_products(latent), self._squared_norms()
        else:
            centroids = self.centroids()
            products, table = latent @ centroids.T, centroids.square().sum(dim=1)
        return (norms - 2.0 * products + table).clamp_min(0.0)

    def _sums_of_products(self, latent: Tensor) -> Tensor:
        """Inner products of rows with all sums of protocentroids."""
        parts = (latent @ torch.cat(list(self.sets)).T).split(self.sizes, dim=1)
        total = parts[0]
        for part in parts[1:]:
            total = (total[:, :, None] + part[:, None, :]).flatten(1)
        return total

    def _squared_norms(self) -> Tensor:
        """Squared norms of all sums, from the inner products of the protocentroids."""
        stacked = torch.cat(list(self.sets))
        gram = stacked @ stacked.T
        p, sizes = len(self.sets), self.sizes
        edges = np.cumsum((0, *sizes))
        total = gram.new_zeros(sizes)
        for q in range(p):
            rows = slice(int(edges[q]), int(edges[q + 1]))
            total = total + gram[rows, rows].diagonal().reshape(_along(sizes, q))
            for r in range(q + 1, p):
                columns = slice(int(edges[r]), int(edges[r + 1]))
                shape = [h if s in (q, r) else 1 for s, h in enumerate(sizes)]
                total = total + 2.0 * gram[rows, columns].reshape(shape)
        return total.flatten()

    def reordered(self, orders: Sequence[NDArray[np.int64]]) -> "LatentCodebook":
        """A copy whose sets have their members in other orders."""
        sets = [part.detach()[torch.as_tensor(order)] for part, order in zip(self.sets, orders)]
        return LatentCodebook(sets, self.aggregator)

    def to_arrays(self) -> list[NDArray[Any]]:
        """The sets as numpy arrays."""
        return [part.detach().cpu().numpy().copy() for part in self.sets]


def _along(sizes: Sequence[int], q: int) -> list[int]:
    """Shape of a vector over set q that is broadcast over the others."""
    return [h if s == q else 1 for s, h in enumerate(sizes)]
