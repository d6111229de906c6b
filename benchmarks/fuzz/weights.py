"""Weights of rows: none, whole numbers, zeros, wide ranges."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = ("none", "none", "none", "whole", "with zeros", "fractions", "wide")


def draw_weights(
    rng: np.random.Generator, X: NDArray[Any], kind_of_values: str
) -> tuple[NDArray[np.float64] | None, str]:
    """Weights for rows, or None, and the name of their kind."""
    n = len(X)
    kind = str(rng.choice(KINDS))
    if kind == "none":
        return None, "no weights"
    if kind == "whole":
        return rng.integers(1, 5, n).astype(float), "whole weights"
    if kind == "wide":
        # As far apart as is allowed, anywhere in the range of numbers.
        return 10.0 ** (rng.uniform(-29, 29, n) + rng.uniform(-170, 170)), "wide weights"
    weights = rng.random(n) + 0.01
    if kind == "with zeros":
        weights[rng.random(n) < 0.4] = 0.0
        if kind_of_values.startswith("outlier"):
            # The outlier itself does not count: nothing at all may depend on it.
            weights[np.abs(X).max(axis=1).argmax()] = 0.0
        if not weights.any():
            weights[0] = 1.0
        return weights, "zero weights"
    return weights, "fractional weights"
