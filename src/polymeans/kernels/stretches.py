"""Stretches of features without an entry, which most of a sparse centroid is made of."""

import numpy as np

from polymeans.kernels.compile import kernel

#: Features that are looked at together.
STRETCH = 16


@kernel(inner=True)
def is_occupied(values, first):
    """Whether a whole stretch has a value other than zero.

    The length is known and no index can be negative: otherwise the compiler would not use vectors,
    and reading the values would take seven times as long.
    """
    begin = np.uint64(first)
    n_occupied = 0
    for t in range(STRETCH):
        n_occupied += values[begin + np.uint64(t)] != 0.0
    return n_occupied > 0
