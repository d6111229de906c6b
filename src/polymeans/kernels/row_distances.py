"""Distances of rows to their own centroids, and to all of them."""

import numpy as np

from polymeans.kernels.compile import kernel, overload
from polymeans.kernels.nearest import (
    book_width,
    clear_row,
    outer_entry,
    write_centroid,
    write_row,
)
from polymeans.kernels.rows import (
    DenseArrays,
    GridBook,
    exact_score,
    grid_centroid,
    is_kind,
    score_rounding,
)
from polymeans.kernels.stretches import STRETCH, is_occupied

#: Distances of CSR rows are differences of longer vectors' squares. Where fewer than so many times
#: their rounding is left, they are computed coordinate by coordinate.
_ROUNDINGS = 2.0**20

#: Squares below this may have lost digits, because parts of them were too small for float64.
_LEAST = 2.0**-900


@kernel(allocates=True)
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
    x = np.zeros(book_width(book))
    occupied = np.zeros(-(-x.shape[0] // STRETCH), dtype=np.bool_)
    marked = -1
    for position in range(lo, hi):
        i = order[position]
        j = labels[i]
        score = exact_score(rows, i, book, j)
        square, certain = distance_of_score(rows, i, norms, book, score, j)
        if not certain:
            write_row(rows, i, x)
            if j != marked:
                mark_stretches(book, j, occupied)
                marked = j
            square = squared_apart(x, book, j, occupied)
            if outer.entries.shape[0]:
                square = _with_outer(square, book, outer, j)
            clear_row(rows, i, x)
        out[i] = square


@kernel(allocates=True)
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
def _with_outer(square, book, outer, j):
    """A squared distance, and what the centroid has at features that no row has."""
    for t in range(outer.rank.shape[0]):
        if outer.rank[t] < 0:
            entry = outer_entry(book, outer, j, t)
            square += entry * entry
    return square


def mark_stretches(book, j, occupied):
    """Note in which stretches of features centroid j has an entry."""
    raise RuntimeError("mark_stretches is compiled")  # pragma: no cover


@overload(mark_stretches)
def _mark_stretches(book, j, occupied):
    if is_kind(book, GridBook):
        return lambda book, j, occupied: None  # combinations are built anew for each row

    def mark(book, j, occupied):
        c = book.numerators[j]
        for b in range(occupied.shape[0]):
            lo = b * STRETCH
            occupied[b] = lo + STRETCH > c.shape[0] or is_occupied(c, lo)

    return mark


def squared_apart(x, book, j, occupied):
    """``|x - c|²`` of a dense vector and centroid j, coordinate by coordinate."""
    raise RuntimeError("squared_apart is compiled")  # pragma: no cover


@overload(squared_apart)
def _squared_apart(x, book, j, occupied):
    if is_kind(book, GridBook):
        return lambda x, book, j, occupied: _apart_from_combination(x, book, j)

    def apart_from_quotient(x, book, j, occupied):
        # A cluster of few rows has few features: where both are zero there is nothing to add.
        c, divisor = book.numerators[j], book.denominators[j]
        square = 0.0
        for b in range(occupied.shape[0]):
            lo = b * STRETCH
            hi = min(lo + STRETCH, x.shape[0])
            if occupied[b] or is_occupied(x, lo):
                for t in range(lo, hi):
                    apart = x[t] - np.float64(c[t]) / divisor
                    square += apart * apart
        return square

    return apart_from_quotient


@kernel(inner=True, allocates=True)
def _apart_from_combination(x, book, j):
    c = grid_centroid(book, j)
    square = 0.0
    for t in range(x.shape[0]):
        apart = x[t] - c[t]
        square += apart * apart
    return square


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
