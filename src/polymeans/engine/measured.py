"""The inertia of rows for which nothing was fitted, in parts that add up."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids
from polymeans.core.exact_sums import ExactSum
from polymeans.engine.blocks import Block
from polymeans.engine.distances import distances_in_user_units, is_in_range, own_distances


@dataclass(frozen=True)
class Measured:
    """Weighted squared distances of some rows; those of parts add up."""

    total: ExactSum
    #: What it is multiplied by, one after the other: a product of them might be out of range.
    factors: tuple[float, ...]

    @classmethod
    def of(
        cls, block: Block, centers: Centroids, labels: NDArray[np.int32], scale: float
    ) -> "Measured":
        """Of one block, times a scale."""
        frame = block.frame
        total = ExactSum.of(own_distances(block, centers, labels), block.weights)
        if is_in_range(frame, float(total)):
            return cls(total, (frame.unit, frame.unit, frame.weight_unit, scale))
        distances = distances_in_user_units(block, centers, labels)
        return cls(ExactSum.of(distances, block.weights), (frame.weight_unit, scale))

    def __add__(self, other: "Measured") -> "Measured":
        if self.factors == other.factors:
            return Measured(self.total + other.total, self.factors)
        # Units of extreme rows differ from block to block: rounded before it is added.
        return Measured(ExactSum.of(np.array([float(self), float(other)])), ())

    def __float__(self) -> float:
        return math.prod(self.factors, start=float(self.total))
