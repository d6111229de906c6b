"""Distances of rows to their own centroids, and to all of them."""

import numpy as np
from numba.extending import overload

from polymeans.kernels.compile import kernel
from polymeans.kernels.nearest import (
    book_width,
    clear_row,
    outer_entry,
    write_centroid,
    write_row,
)
from polymeans.kernels.rows import DenseArrays, exact_score, is_kind, score_rounding

#: Distances of CSR rows are differences of longer vectors' squares. Where fewer than so many times
#: their rounding is left, they are computed coordinate by coordinate.
_ROUNDINGS = 2.0**20

#: Squares below this may have lost digits, because parts of them were too small for float64.
_LEAST = 2.0**-900


@kernel
def own_distances(
    rows,  # IN  row container
    book,  # IN  centroids
    outer,  # IN  what they have at features that no row has
    norms,  # IN  (n,) row norms
    labels,  # IN  (n,)
    order,  # IN  (n,) rows by label, so that a centroid is in cache for all its rows
    lo,
    hi,
    out,  # OUT (n,)
):
    """Squared distances of rows to their own centroids."""
    n_features = book_width(book)
    x = np.zeros(n_features)
    c = np.empty(n_features)
    loaded = -1
    for position in range(lo, hi):
        i = order[position]
        j = labels[i]
        score = exact_score(rows, i, book, j)
        square, certain = distance_of_score(rows, i, norms, book, score, j)
        if not certain:
            if loaded != j:
                write_centroid(book, j, c)
                loaded = j
            write_row(rows, i, x)
            square = _squared_distance(x, c, book, outer, j)
            clear_row(rows, i, x)
        out[i] = square


@kernel
def all_distances(
    rows,  # IN  row container
    book,  # IN  centroids
    outer,  # IN  what they have at features that no row has
    norms,  # IN  (n,) row norms
    lo,
    hi,
    out,  # OUT (n, k)
):
    """Distances (not squared) of rows lo:hi to all centroids."""
    n_features = book_width(book)
    x = np.zeros(n_features)
    c = np.empty(n_features)
    for i in range(lo, hi):
        written = False
        for j in range(out.shape[1]):
            score = exact_score(rows, i, book, j)
            square, certain = distance_of_score(rows, i, norms, book, score, j)
            if certain and _LEAST < square < np.inf:
                out[i, j] = np.sqrt(square)
                continue
            if not written:
                write_row(rows, i, x)
                written = True
            write_centroid(book, j, c)
            out[i, j] = _length(x, c, book, outer, j)
        if written:
            clear_row(rows, i, x)


@kernel(inner=True)
def _length(x, c, book, outer, j):
    """``|x - c|``, squares being scaled so that none leaves the range of float64."""
    top = 0.0
    for t in range(x.shape[0]):
        top = max(top, abs(x[t] - c[t]))
    if outer.entries.shape[0]:
        for t in range(outer.rank.shape[0]):
            if outer.rank[t] < 0:
                top = max(top, abs(outer_entry(book, outer, j, t)))
    if top == 0.0 or top == np.inf:
        return top
    total = 0.0
    for t in range(x.shape[0]):
        apart = (x[t] - c[t]) / top
        total += apart * apart
    if outer.entries.shape[0]:
        for t in range(outer.rank.shape[0]):
            if outer.rank[t] < 0:
                entry = outer_entry(book, outer, j, t) / top
                total += entry * entry
    return top * np.sqrt(total)


@kernel(inner=True)
def _squared_distance(x, c, book, outer, j):
    total = 0.0
    for t in range(x.shape[0]):
        apart = x[t] - c[t]
        total += apart * apart
    if outer.entries.shape[0]:
        for t in range(outer.rank.shape[0]):
            if outer.rank[t] < 0:
                entry = outer_entry(book, outer, j, t)
                total += entry * entry
    return total


def distance_of_score(rows, i, norms, book, score, j):
    """The squared distance an exact score stands for, and whether rounding left enough of it."""
    raise RuntimeError("distance_of_score is compiled")  # pragma: no cover


@overload(distance_of_score)
def _distance_of_score(rows, i, norms, book, score, j):
    if is_kind(rows, DenseArrays):
        return lambda rows, i, norms, book, score, j: (score, True)

    def distance_sparse(rows, i, norms, book, score, j):
        norm = norms[i]
        square = norm * norm + 2.0 * score
        rounding = score_rounding(rows, i, norm, book, score, j, score, j) + 2.0**-50 * norm * norm
        return square, square > _ROUNDINGS * rounding and square < np.inf

    return distance_sparse
