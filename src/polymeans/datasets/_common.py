"""Checks and draws that several generators share."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from polymeans._validation import as_float, shown


def check_range(name: str, value: Any, smallest: float, largest: float = np.inf) -> float:
    """``value`` as a float; an error unless it is between ``smallest`` and ``largest``."""
    number = as_float(value)
    if np.isfinite(number) and smallest <= number <= largest:
        return number
    wanted = f"a finite number of at least {smallest:g}"
    if np.isfinite(largest):
        wanted = f"a number between {smallest:g} and {largest:g}"
    kind = ValueError if isinstance(value, Real) else TypeError
    raise kind(f"{name} must be {wanted}, got {shown(value)}.")


def balanced(rng: np.random.RandomState, n_samples: int, n_kinds: int) -> NDArray[np.int64]:
    """Kinds 0 to ``n_kinds - 1`` in random order; their numbers differ by at most one."""
    if n_kinds > n_samples:
        # There may be too many kinds for a permutation of all.
        kinds = sample_without_replacement(n_kinds, n_samples, random_state=rng)
    else:
        # The permutation decides which kinds have one row more.
        kinds = rng.permutation(n_kinds)[np.arange(n_samples) % n_kinds]
    kinds = kinds.astype(np.int64)
    rng.shuffle(kinds)
    return kinds


def text_lengths(rng: np.random.RandomState, n_samples: int, mean: float) -> NDArray[np.int64]:
    """Numbers of words, at least one each: Poisson with a mean that is random (gamma), too."""
    return np.maximum(1, rng.poisson(mean * rng.gamma(2.0, 0.5, size=n_samples)))


def zipf_ranks(
    rng: np.random.RandomState, n_ranks: int, size: int, shift: int = 0
) -> NDArray[np.int64]:
    """Ranks from 0, rank r in proportion to ``1 / (r + 1 + shift)``."""
    cumulative = np.cumsum(1.0 / (np.arange(1, n_ranks + 1) + shift))
    draws = rng.random_sample(size) * cumulative[-1]
    # By rounding a draw may equal the last sum.
    return np.minimum(np.searchsorted(cumulative, draws, side="right"), n_ranks - 1)
