"""What several generators share."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement


def check_range(name: str, value: Any, smallest: float, largest: float = np.inf) -> None:
    """Raise unless ``value`` is a finite number between ``smallest`` and ``largest``."""
    if isinstance(value, Real) and np.isfinite(value) and smallest <= value <= largest:
        return
    wanted = f"a finite number of at least {smallest:g}"
    if np.isfinite(largest):
        wanted = f"a number between {smallest:g} and {largest:g}"
    kind = ValueError if isinstance(value, Real) else TypeError
    raise kind(f"{name} must be {wanted}, got {value!r}.")


def balanced(rng: np.random.RandomState, n_samples: int, n_kinds: int) -> NDArray[np.int64]:
    """Kinds 0 to ``n_kinds - 1``, each as often as any other give or take one, in random order."""
    if n_kinds > n_samples:
        # Kinds may be too many to list.
        kinds = sample_without_replacement(n_kinds, n_samples, random_state=rng)
    else:
        # The permutation says which kinds have one row more.
        kinds = rng.permutation(n_kinds)[np.arange(n_samples) % n_kinds]
    kinds = kinds.astype(np.int64)
    rng.shuffle(kinds)
    return kinds
