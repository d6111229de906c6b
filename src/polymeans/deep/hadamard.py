"""Layers whose weights are Hadamard products of low-rank factors."""

import math
from typing import Any

import torch
from torch import Tensor, nn

#: Smallest rank, and the variance of a weight over that of a layer's inputs: both keep signals of
#: the same size from layer to layer.
SMALLEST_RANK = 10
_GAIN = 1.4

#: Deviation of the entries of later factors from one where a layer begins as a given matrix.
_FIRST_NOISE = 0.1


def rank_by_rule(n_in: int, n_out: int) -> int:
    """Rank of each factor to begin with: the root of the smaller side, ten at least."""
    return max(SMALLEST_RANK, math.isqrt(min(n_in, n_out)))


def largest_rank(n_in: int, n_out: int, n_factors: int) -> int:
    """Largest rank for which the factors have fewer numbers than the matrix; 0 if none has."""
    return (n_in * n_out - 1) // (n_factors * (n_in + n_out))


class HadamardLinear(nn.Module):
    """A linear layer with ``W = (U_1 V_1) ∘ ... ∘ (U_q V_q)``.

    Parameters
    ----------
    n_in, n_out : int
    rank : int
        Of each factor; together they represent ranks up to ``rank ** n_factors``.
    n_factors : int, default=2
        One is a plain low-rank layer.
    generator : torch.Generator
    dtype : torch.dtype
    """

    def __init__(
        self,
        n_in: int,
        n_out: int,
        rank: int,
        n_factors: int,
        generator: torch.Generator,
        dtype: torch.dtype,
    ) -> None:
        super().__init__()
        self.n_in, self.n_out, self.rank, self.n_factors = n_in, n_out, rank, n_factors

        def drawn(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=dtype)

        # Each factor has entries of the same variance, and they multiply to that of a weight.
        spread = (_GAIN / n_in) ** (0.25 / n_factors) / rank**0.25
        self.left = nn.ParameterList(spread * drawn(n_out, rank) for _ in range(n_factors))
        self.right = nn.ParameterList(spread * drawn(rank, n_in) for _ in range(n_factors))
        self.bias = nn.Parameter(torch.zeros(n_out, dtype=dtype))

    @classmethod
    def of_layer(
        cls, layer: nn.Linear, rank: int, n_factors: int, generator: torch.Generator
    ) -> "HadamardLinear":
        """A layer that begins near a trained one: its best approximation of this rank.

        That is the first factor. The others are ones, a little disturbed so that they can learn.
        """
        weight = layer.weight.detach().cpu()
        made = cls(layer.in_features, layer.out_features, rank, n_factors, generator, weight.dtype)
        left, values, right = torch.linalg.svd(weight, full_matrices=False)
        kept = min(rank, len(values))
        roots = values[:kept].sqrt()
        with torch.no_grad():
            for factor in (made.left[0], made.right[0]):
                factor.zero_()
            made.left[0][:, :kept] = left[:, :kept] * roots
            made.right[0][:kept] = roots[:, None] * right[:kept]
            for q in range(1, n_factors):
                for factor in (made.left[q], made.right[q]):
                    factor.copy_(_FIRST_NOISE / math.sqrt(rank) * _like(factor, generator))
                made.left[q][:, 0] = 1.0
                made.right[q][0] = 1.0
            made.bias.copy_(layer.bias.detach().cpu())
        return made

    @property
    def weight(self) -> Tensor:
        """The matrix, of shape (n_out, n_in)."""
        product = self.left[0] @ self.right[0]
        for left, right in zip(list(self.left)[1:], list(self.right)[1:]):
            product = product * (left @ right)
        return product

    def forward(self, rows: Tensor) -> Tensor:
        """Rows times the transposed matrix, plus the bias."""
        if self.n_factors == 1:  # without building the matrix
            return (rows @ self.right[0].T) @ self.left[0].T + self.bias
        return nn.functional.linear(rows, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes, for ``print``."""
        return f"{self.n_in}, {self.n_out}, rank={self.rank}, n_factors={self.n_factors}"


def _like(tensor: Tensor, generator: torch.Generator) -> Any:
    return torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
