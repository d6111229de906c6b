"""Items by cluster: which rows, or which events, belong to each."""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel


class Groups(NamedTuple):
    """Items by cluster: those of cluster j are ``items[starts[j] : starts[j + 1]]``."""

    starts: np.ndarray
    items: np.ndarray


@kernel
def group_by_label(
    labels,  # IN  (m,) label of each item, negative items are left out
    starts,  # OUT (k + 1,) where each group begins
    items,  # OUT (m,) item positions, by label, ascending within a label
):
    """Fill the arrays of :class:`Groups` by counting."""
    k = starts.shape[0] - 1
    starts[:] = 0
    for m in range(labels.shape[0]):
        if labels[m] >= 0:
            starts[labels[m] + 1] += 1
    for j in range(k):
        starts[j + 1] += starts[j]
    for m in range(labels.shape[0]):
        j = labels[m]
        if j >= 0:
            items[starts[j]] = m
            starts[j] += 1
    for j in range(k, 0, -1):
        starts[j] = starts[j - 1]
    starts[0] = 0


@kernel
def count_labels(labels, weights, sizes):
    """Rows of positive weight under each label."""
    for i in range(labels.shape[0]):
        if weights[i] > 0.0:
            sizes[labels[i]] += 1
