"""Which of two centroids is nearer to a row, decided without rounding.

*The label of a row is the centroid at the smallest distance, the lowest index among equals*: of the
numbers themselves, not of distances as float64 rounds them. Three steps, each only where the one
before leaves it open:

1. exact scores (:mod:`polymeans.kernels.rows`), which are float64, and a bound on their rounding;
2. the difference ``|x - b|² - |x - a|² = Σ (a - b)((x - a) + (x - b))``, whose terms are small
   where the centroids are close to the row, however far all three are from zero;
3. the same difference as a sum of whole numbers (bins of 32 bits over the range of all products).

Since all three agree with real arithmetic where they decide, the outcome does not depend on the
order of features or rows, on other rows, on the container, or on the magnitude of the numbers.
"""

import math
from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel, overload
from polymeans.kernels.rows import (
    Book,
    DenseArrays,
    GridBook,
    exact_score,
    grid_centroid,
    grid_members,
    is_kind,
    score_rounding,
)

_DOUBLE = 2.0**-53

#: Products of two mantissas of 53 bits begin at 2**-2252 at the lowest and end below 2**2049; so
#: many bins of 32 bits above this exponent hold any sum of them.
_LOWEST = -2304
_N_BINS = 148
_MASK = (1 << 32) - 1


class Outer(NamedTuple):
    """Entries of centroids at features that no row has (CSR rows)."""

    entries: np.ndarray  # (m, D) centroids or protocentroids, all features; (0, 0): all are zero
    present: np.ndarray  # (m,) bool: which of them have such entries
    unit: float  # what entries are divided by
    rank: np.ndarray  # (D,) negative where no row has the feature


@kernel(allocates=True)
def label_exactly(
    rows,  # IN  row container
    norms,  # IN  (n,) row norms (CSR rows; of dense ones nothing is read)
    book,  # IN  centroids
    outer,  # IN  what they have beside
    chosen,  # IN  rows to label; empty: all of lo:hi
    lo,
    hi,
    labels,  # OUT (n,)
):
    """Nearest centroids of rows: the definition as a plain loop."""
    n_features = book_width(book)
    x = np.zeros(n_features)
    a = np.empty(n_features)
    b = np.empty(n_features)
    bins = np.zeros(_N_BINS, dtype=np.int64)
    for position in range(lo, hi):
        i = chosen[position] if chosen.shape[0] else position
        norm = norms[i] if norms.shape[0] else 0.0
        label = 0
        best = exact_score(rows, i, book, 0)
        loaded = -1
        for j in range(1, book.half_norms.shape[0]):
            score = exact_score(rows, i, book, j)
            slack = score_rounding(rows, i, norm, book, score, j, best, label)
            if score > best + slack:
                continue
            if not score < best - slack:
                if loaded < 0:
                    write_row(rows, i, x)
                if loaded != label:
                    write_centroid(book, label, a)
                    loaded = label
                write_centroid(book, j, b)
                if not _is_nearer(x, b, a, book, outer, j, label, bins):
                    continue
            label = j
            best = score
        if loaded >= 0:
            clear_row(rows, i, x)
        labels[i] = label


@kernel(inner=True)
def _is_nearer(x, a, b, book, outer, j, other, bins):
    """Whether centroid a (number j) is strictly nearer to x than b (another number)."""
    total = size = 0.0
    equal = True
    for t in range(x.shape[0]):
        equal &= a[t] == b[t]
        apart = a[t] - b[t]
        to_a = x[t] - a[t]
        to_b = x[t] - b[t]
        total += apart * (to_a + to_b)
        size += abs(apart) * (abs(to_a) + abs(to_b))
    n_terms = x.shape[0]
    if outer.entries.shape[0]:
        n_terms = outer.rank.shape[0]
        for t in range(n_terms):
            if outer.rank[t] < 0:
                own, rival = outer_entry(book, outer, j, t), outer_entry(book, outer, other, t)
                equal &= own == rival
                total -= (own - rival) * (own + rival)
                size += abs(own - rival) * (abs(own) + abs(rival))
    if equal:
        return False
    # Five roundings in a term, and one for each addition; numbers too small for float64 vanish.
    slack = (n_terms + 16) * (_DOUBLE * size + 2.0**-1070)
    if total > slack and total < np.inf:
        return True
    if total < -slack and total > -np.inf:
        return False
    return _exact_sign(x, a, b, book, outer, j, other, bins) > 0


@kernel(inner=True)
def _exact_sign(x, a, b, book, outer, j, other, bins):
    """Sign of ``|x - b|² - |x - a|² = Σ b² - a² - 2 x b + 2 x a``."""
    bins[:] = 0
    for t in range(x.shape[0]):
        if a[t] != b[t]:
            _add_product(b[t], b[t], 0, 1, bins)
            _add_product(a[t], a[t], 0, -1, bins)
            _add_product(x[t], b[t], 1, -1, bins)
            _add_product(x[t], a[t], 1, 1, bins)
    if outer.entries.shape[0]:
        for t in range(outer.rank.shape[0]):
            if outer.rank[t] < 0:
                own, rival = outer_entry(book, outer, j, t), outer_entry(book, outer, other, t)
                _add_product(rival, rival, 0, 1, bins)
                _add_product(own, own, 0, -1, bins)
    carry = np.int64(0)
    positive = False
    for k in range(bins.shape[0]):
        value = bins[k] + carry
        positive |= value & _MASK != 0
        carry = value >> 32
    if carry < 0:
        return -1
    return 1 if positive or carry > 0 else 0


@kernel(inner=True)
def _add_product(u, v, doublings, sign, bins):
    """Add ``sign * u * v * 2**doublings``, exactly."""
    if u == 0.0 or v == 0.0:
        return
    u_fraction, u_exponent = math.frexp(u)
    v_fraction, v_exponent = math.frexp(v)
    if (u_fraction < 0.0) != (v_fraction < 0.0):
        sign = -sign
    m = np.int64(abs(u_fraction) * 9007199254740992.0)  # 2**53
    n = np.int64(abs(v_fraction) * 9007199254740992.0)
    position = u_exponent + v_exponent + doublings - 106 - _LOWEST
    # Halves of 27 bits, whose products have 54.
    m_high, m_low = m >> 27, m & ((1 << 27) - 1)
    n_high, n_low = n >> 27, n & ((1 << 27) - 1)
    _add_integer(m_low * n_low, position, sign, bins)
    _add_integer(m_high * n_low + m_low * n_high, position + 27, sign, bins)
    _add_integer(m_high * n_high, position + 54, sign, bins)


@kernel(inner=True)
def _add_integer(value, position, sign, bins):
    """Add ``sign * value * 2**position`` for a value of at most 55 bits."""
    k = position >> 5
    shift = position & 31
    low = (value & _MASK) << shift
    high = (value >> 32) << shift
    bins[k] += sign * (low & _MASK)
    bins[k + 1] += sign * ((low >> 32) + (high & _MASK))
    bins[k + 2] += sign * (high >> 32)


def write_row(rows, i, x):
    """Row i as a dense vector; of a CSR row the zeros are not written."""
    raise RuntimeError("write_row is compiled")  # pragma: no cover


@overload(write_row)
def _write_row(rows, i, x):
    if is_kind(rows, DenseArrays):

        def write_dense(rows, i, x):
            for t in range(x.shape[0]):
                x[t] = rows.values[i, t]

        return write_dense

    def write_sparse(rows, i, x):
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            x[rows.indices[p]] = rows.values[p]

    return write_sparse


def clear_row(rows, i, x):
    """Zeros where :func:`write_row` wrote."""
    raise RuntimeError("clear_row is compiled")  # pragma: no cover


@overload(clear_row)
def _clear_row(rows, i, x):
    if is_kind(rows, DenseArrays):
        return lambda rows, i, x: None  # the next row is written over it

    def clear_sparse(rows, i, x):
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            x[rows.indices[p]] = 0.0

    return clear_sparse


def book_width(book):
    """Features of the centroids."""
    raise RuntimeError("book_width is compiled")  # pragma: no cover


@overload(book_width)
def _book_width(book):
    if is_kind(book, GridBook):
        return lambda book: book.protocentroids.shape[1]
    return lambda book: book.numerators.shape[1]


def write_centroid(book, j, out):
    """Centroid j in float64."""
    raise RuntimeError("write_centroid is compiled")  # pragma: no cover


@overload(write_centroid)
def _write_centroid(book, j, out):
    if is_kind(book, GridBook):
        return lambda book, j, out: _write_combination(book, j, out)
    if is_kind(book, Book):

        def write_quotient(book, j, out):
            c = book.numerators[j]
            divisor = book.denominators[j]
            for t in range(out.shape[0]):
                out[t] = np.float64(c[t]) / divisor

        return write_quotient


@kernel(inner=True, allocates=True)
def _write_combination(book, j, out):
    centroid = grid_centroid(book, j)
    for t in range(out.shape[0]):
        out[t] = centroid[t]


def outer_entry(book, outer, j, t):
    """Entry of centroid j at feature t, which no row has."""
    raise RuntimeError("outer_entry is compiled")  # pragma: no cover


@overload(outer_entry)
def _outer_entry(book, outer, j, t):
    if is_kind(book, GridBook):
        return lambda book, outer, j, t: _entry_of_combination(book, outer, j, t)

    def entry(book, outer, j, t):
        return np.float64(outer.entries[j, t]) / outer.unit if outer.present[j] else 0.0

    return entry


@kernel(inner=True, allocates=True)
def _entry_of_combination(book, outer, j, t):
    members = grid_members(book, j)
    total = outer.entries[members[0], t]
    for q in range(1, members.shape[0]):
        total += outer.entries[members[q], t]
    return total / outer.unit
