"""What exact scores decide by themselves: labels of a few rows, distances to own centroids."""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.rows import exact_score, squared_distance


@kernel
def assign_exact(
    rows,  # IN  row container
    book,  # IN  centroids
    lo,
    hi,
    labels,  # OUT (n,)
):
    """Labels by exact scores alone: the definition, and the quickest way for a handful of rows."""
    for i in range(lo, hi):
        best = np.inf
        label = 0
        for j in range(book.half_norms.shape[0]):
            score = exact_score(rows, i, book, j)
            if score < best:
                best = score
                label = j
        labels[i] = label


@kernel
def own_distances(
    rows,  # IN  row container
    book,  # IN  centroids
    norms,  # IN  (n,) row norms
    labels,  # IN  (n,)
    order,  # IN  (n,) rows by label, so that a centroid is in cache for all its rows
    lo,
    hi,
    out,  # OUT (n,)
):
    """Squared distances of rows to their own centroids."""
    for position in range(lo, hi):
        i = order[position]
        out[i] = squared_distance(rows, norms[i], exact_score(rows, i, book, labels[i]))
