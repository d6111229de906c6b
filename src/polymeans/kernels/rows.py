"""Operations on single rows, dense or CSR: exact scores, distances, exact sums.

``add_row``, ``exact_score`` and ``squared_distance`` are written once for each container here, so
that sums, Elkan's bounds and tie-breaking are written once for both.

``exact_score`` is what fast paths turn to where they cannot tell two centroids apart. It is
float64, in a fixed order of operations without contraction or reassociation. Scores that differ by
no more than their rounding (``score_rounding``) leave a row *contested*: its label is written as
``as_contested(label)``, and :mod:`polymeans.kernels.nearest` decides without rounding.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from polymeans.kernels.compile import kernel, overload
from polymeans.kernels.distances import exact_squared_distance
from polymeans.kernels.exact import add_dense, add_sparse

#: Products below 2**-1074 vanish, and what is left of them may be divided by a mass of 2**-200.
_FAINT = 2.0**-860


class DenseArrays(NamedTuple):
    """Rows of a C-ordered array."""

    values: np.ndarray


class SparseArrays(NamedTuple):
    """Rows of a CSR matrix."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


class Book(NamedTuple):
    """Centroid ``j`` is ``numerators[j] / denominators[j]``.

    Dense rows keep plain centroids (denominators 1). Sparse rows keep cluster sums over masses: a
    row that moves then touches only its own features, not a whole centroid.
    """

    numerators: np.ndarray
    denominators: np.ndarray
    half_norms: np.ndarray  # half the squared norm of each centroid (sparse rows)
    n_terms: int  # features that the norms were summed over (sparse rows)


class GridBook(NamedTuple):
    """Centroids made of one protocentroid from each set; see :mod:`polymeans.codebooks`."""

    protocentroids: np.ndarray  # (H, d) all sets on top of each other
    sizes: np.ndarray  # (p,)
    half_norms: np.ndarray  # (k,) half the squared norm of each centroid (sparse rows)
    multiply: bool
    longest: float  # no combination of protocentroids' norms exceeds it (sparse rows)
    n_terms: int  # features that the norms were summed over (sparse rows)


def is_kind(argument, kind) -> bool:
    """Whether a kernel's argument is of this kind of named tuple; for choosing what to compile."""
    return isinstance(argument, types.BaseNamedTuple) and argument.instance_class is kind


def add_row(rows, i, weight, magics, total):
    """``total += weight * row i``, exactly, on the rungs of a ladder; see kernels.exact."""
    raise RuntimeError("add_row is compiled")  # pragma: no cover


@overload(add_row, inline="always")
def _add_row(rows, i, weight, magics, total):
    if is_kind(rows, DenseArrays):

        def add_dense_row(rows, i, weight, magics, total):
            add_dense(rows.values[i], weight, magics, total)

        return add_dense_row
    if is_kind(rows, SparseArrays):

        def add_sparse_row(rows, i, weight, magics, total):
            first, last = rows.indptr[i], rows.indptr[i + 1]
            add_sparse(rows.indices, rows.values, first, last, weight, magics, total)

        return add_sparse_row


def exact_score(rows, i, book, j):
    """Score that decides labels: squared distance (dense), or it less ``|x|²`` and halved (CSR)."""
    raise RuntimeError("exact_score is compiled")  # pragma: no cover


def as_dtype_of(array, value):
    """``value`` rounded to the array's dtype."""
    raise RuntimeError("as_dtype_of is compiled")  # pragma: no cover


@overload(as_dtype_of)
def _as_dtype_of(array, value):
    if array.dtype == types.float32:
        return lambda array, value: np.float32(value)
    return lambda array, value: value


@kernel(inner=True, allocates=True)
def grid_members(book, j):
    """Rows of the stacked protocentroids that centroid j is made of."""
    n_sets = book.sizes.shape[0]
    members = np.empty(n_sets, dtype=np.int64)
    stride = book.half_norms.shape[0]
    start = 0
    for q in range(n_sets):
        stride //= book.sizes[q]
        members[q] = start + j // stride % book.sizes[q]
        start += book.sizes[q]
    return members


@kernel(inner=True, allocates=True)
def grid_centroid(book, j):
    """Centroid j: sums as they are, products rounded to the data's dtype."""
    theta = book.protocentroids
    members = grid_members(book, j)
    n_features = theta.shape[1]
    centroid = np.empty(n_features)
    first = theta[members[0]]
    for t in range(n_features):
        centroid[t] = first[t]
    for q in range(1, members.shape[0]):
        other = theta[members[q]]
        if book.multiply:
            for t in range(n_features):
                centroid[t] *= np.float64(other[t])
        else:
            for t in range(n_features):
                centroid[t] += np.float64(other[t])
    if book.multiply:
        for t in range(n_features):
            centroid[t] = as_dtype_of(theta, centroid[t])
    return centroid


@overload(exact_score)
def _exact_score(rows, i, book, j):
    if is_kind(book, GridBook):
        return _exact_grid_score(rows)
    if is_kind(rows, DenseArrays):

        def score_dense(rows, i, book, j):
            return exact_squared_distance(rows.values, i, book.numerators, j)

        return score_dense
    if is_kind(rows, SparseArrays):

        def score_sparse(rows, i, book, j):
            c = book.numerators[j]
            end = rows.indptr[i + 1]
            p = rows.indptr[i]
            s0 = s1 = 0.0
            while p + 2 <= end:
                s0 += np.float64(rows.values[p]) * np.float64(c[rows.indices[p]])
                s1 += np.float64(rows.values[p + 1]) * np.float64(c[rows.indices[p + 1]])
                p += 2
            if p < end:
                s0 += np.float64(rows.values[p]) * np.float64(c[rows.indices[p]])
            return book.half_norms[j] - (s0 + s1) / book.denominators[j]

        return score_sparse


def _exact_grid_score(rows):
    if is_kind(rows, DenseArrays):
        return lambda rows, i, book, j: _dense_grid_score(rows, i, book, j)
    return lambda rows, i, book, j: _sparse_grid_score(rows, i, book, j)


@kernel(inner=True, allocates=True)
def _dense_grid_score(rows, i, book, j):
    x = rows.values[i]
    c = grid_centroid(book, j)
    n_features = x.shape[0]
    s0 = s1 = s2 = s3 = 0.0
    t = 0
    while t + 4 <= n_features:
        d0 = np.float64(x[t]) - c[t]
        d1 = np.float64(x[t + 1]) - c[t + 1]
        d2 = np.float64(x[t + 2]) - c[t + 2]
        d3 = np.float64(x[t + 3]) - c[t + 3]
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
        t += 4
    while t < n_features:
        d0 = np.float64(x[t]) - c[t]
        s0 += d0 * d0
        t += 1
    return (s0 + s1) + (s2 + s3)


@kernel(inner=True, allocates=True)
def _sparse_grid_score(rows, i, book, j):
    # Only the coordinates that the row has. Products for sparse rows are kept as free
    # centroids, so these are sums.
    members = grid_members(book, j)
    total = 0.0
    for q in range(members.shape[0]):
        theta = book.protocentroids[members[q]]
        part = 0.0
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            part += np.float64(rows.values[p]) * np.float64(theta[rows.indices[p]])
        total += part
    return book.half_norms[j] - total


def score_rounding(rows, i, norm, book, score, j, best, label):
    """Centroids whose exact scores differ by no more than this may be in the other order."""
    raise RuntimeError("score_rounding is compiled")  # pragma: no cover


@overload(score_rounding)
def _score_rounding(rows, i, norm, book, score, j, best, label):
    if is_kind(rows, DenseArrays):

        def rounding_dense(rows, i, norm, book, score, j, best, label):
            # Two roundings in each square and one for each addition, relative to the distances;
            # squares too small for float64 vanish.
            n_terms = rows.values.shape[1] + 16
            return n_terms * (2.0**-53 * (score + best) + 2.0**-1070)

        return rounding_dense
    if is_kind(book, GridBook):

        def rounding_combinations(rows, i, norm, book, score, j, best, label):
            n_stored = rows.indptr[i + 1] - rows.indptr[i] + 16
            n_terms = book.n_terms + 64
            longest = book.longest
            rounding = 2.0**-51 * (n_stored * norm * longest + n_terms * longest * longest)
            return rounding + (n_stored + n_terms) * _FAINT

        return rounding_combinations

    def rounding_sparse(rows, i, norm, book, score, j, best, label):
        # Of the product with the row, and of the centroid's squared norm; twice each, for the
        # quotients that centroids are.
        n_stored = rows.indptr[i + 1] - rows.indptr[i] + 16
        half = max(book.half_norms[j], book.half_norms[label])
        n_terms = book.n_terms + 32
        rounding = 2.0**-51 * (n_stored * norm * np.sqrt(2.0 * half) + n_terms * half)
        return rounding + (n_stored + n_terms) * _FAINT

    return rounding_sparse


@kernel(inner=True)
def as_contested(label):
    """How a label is written whose row has another centroid as near, as far as scores can tell."""
    return -2 - label


def squared_distance(rows, norm, score):
    """The squared distance an exact score stands for; ``norm`` is the row's norm."""
    raise RuntimeError("squared_distance is compiled")  # pragma: no cover


@overload(squared_distance)
def _squared_distance(rows, norm, score):
    if is_kind(rows, DenseArrays):
        return lambda rows, norm, score: score
    if is_kind(rows, SparseArrays):

        def distance_sparse(rows, norm, score):
            # A row at its centroid has |x|² - 2 x·c + |c|² = 0 up to rounding; 2**-46 is that of
            # 128 operations.
            square = norm * norm + 2.0 * score
            return square if square > 2.0**-46 * norm * norm else 0.0

        return distance_sparse


def row_length(rows, i):
    """Number of stored entries of row ``i``."""
    raise RuntimeError("row_length is compiled")  # pragma: no cover


@overload(row_length)
def _row_length(rows, i):
    if is_kind(rows, DenseArrays):
        return lambda rows, i: rows.values.shape[1]
    if is_kind(rows, SparseArrays):
        return lambda rows, i: rows.indptr[i + 1] - rows.indptr[i]
