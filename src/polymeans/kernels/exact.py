"""Sums that do not round: terms are split onto the rungs of a ladder, and each rung adds exactly.

A rung has a unit, a power of two. ``(t + magic) - magic`` with ``magic = 1.5 * 2**52 * unit`` is
the term rounded to a multiple of the unit; what is left goes to the next rung. The units are
chosen from the range of all terms (:mod:`polymeans.core.exact_sums`), so that no rung's total can
exceed 2**53 units and nothing is left after the last rung. Every addition is then exact: the
totals do not depend on the order of the terms, and subtracting a term undoes adding it.

No fastmath flag may reach these lines: a compiler that reassociates would remove the rounding.

Single numbers (inertia, masses, squared norms) are summed in *bins*: 32 bits of the binary
expansion each, over the whole range of float64, which needs no range beforehand.
"""

import math

import numpy as np

from polymeans.kernels.compile import kernel

#: Bits of a bin: an int64 has 31 more for carries. So many bins hold every float64: from the lowest
#: bit, a multiple of 32 below the smallest number 2**-1074, 70 * 32 bits reach 2**1152, beyond the
#: largest number 2**1024 and its carries.
BIN_BITS = 32
N_BINS = 70

#: Exponent of the lowest bit of the lowest bin.
LOWEST = -1088

#: Binary exponents of float64 numbers, from ``LOWEST`` on.
N_EXPONENTS = 2200

_MASK = (1 << BIN_BITS) - 1


@kernel(inner=True)
def add_to_bins(
    value,  # IN  a finite number
    bins,  # INOUT (N_BINS,) int64
):
    """Add a number exactly. A bin takes 2**29 additions before it could overflow."""
    if value == 0.0:
        return
    fraction, exponent = math.frexp(value)
    mantissa = np.int64(abs(fraction) * 9007199254740992.0)  # 2**53
    position = exponent - 53 - LOWEST
    b = position >> 5
    shift = position & 31
    low = (mantissa & _MASK) << shift
    high = (mantissa >> BIN_BITS) << shift
    first = low & _MASK
    second = (low >> BIN_BITS) + (high & _MASK)
    third = high >> BIN_BITS
    if fraction < 0.0:
        first, second, third = -first, -second, -third
    bins[b] += first
    bins[b + 1] += second
    bins[b + 2] += third


@kernel
def add_products_to_bins(a, b, lo, hi, bins):
    """Add ``a[i] * b[i]``, each product rounded once, for i in lo:hi; whether any is infinite.

    Where ``b[i]`` is zero, so is the product.
    """
    infinite = False
    for i in range(lo, hi):
        if b[i] != 0.0:
            product = a[i] * b[i]
            if abs(product) < np.inf:
                add_to_bins(product, bins)
            else:
                infinite = True
    return infinite


@kernel(inner=True)
def split_onto(
    term,  # IN  a number within the ladder's range
    magics,  # IN  (n_rungs - 1,)
    t,  # IN  column
    total,  # INOUT (n_rungs, d)
):
    """Add one term to column t."""
    n_above = magics.shape[0]
    for r in range(n_above):
        magic = magics[r]
        part = (term + magic) - magic
        total[r, t] += part
        term -= part
    total[n_above, t] += term


@kernel(inline="always")
def add_dense(x, weight, magics, total):
    """``total += weight * x`` on all rungs, for a whole row; the products are rounded once."""
    d = x.shape[0]
    n_above = magics.shape[0]
    if n_above == 0:
        for t in range(d):
            total[0, t] += weight * np.float64(x[t])
    elif n_above == 1:
        magic = magics[0]
        for t in range(d):
            term = weight * np.float64(x[t])
            part = (term + magic) - magic
            total[0, t] += part
            total[1, t] += term - part
    elif n_above == 2:
        magic, second = magics[0], magics[1]
        for t in range(d):
            term = weight * np.float64(x[t])
            part = (term + magic) - magic
            total[0, t] += part
            term -= part
            part = (term + second) - second
            total[1, t] += part
            total[2, t] += term - part
    else:
        for t in range(d):
            split_onto(weight * np.float64(x[t]), magics, t, total)


@kernel(inline="always")
def add_sparse(indices, values, lo, hi, weight, magics, total):
    """The same for a row's stored entries lo:hi."""
    n_above = magics.shape[0]
    if n_above == 0:
        for p in range(lo, hi):
            total[0, indices[p]] += weight * np.float64(values[p])
    elif n_above == 1:
        magic = magics[0]
        for p in range(lo, hi):
            term = weight * np.float64(values[p])
            part = (term + magic) - magic
            total[0, indices[p]] += part
            total[1, indices[p]] += term - part
    else:
        for p in range(lo, hi):
            split_onto(weight * np.float64(values[p]), magics, indices[p], total)


@kernel(inner=True)
def rounded(total, t):
    """The sum of column t of all rungs, rounded once."""
    n_rungs = total.shape[0]
    if n_rungs == 1:
        return total[0, t]
    if n_rungs == 2:
        return total[0, t] + total[1, t]
    # From the lowest rung up; what each addition loses is added in the end.
    value = total[n_rungs - 1, t]
    lost = 0.0
    for r in range(n_rungs - 2, -1, -1):
        above = total[r, t]
        s = value + above
        back = s - value
        lost += (value - (s - back)) + (above - back)
        value = s
    return value + lost


@kernel(inner=True)
def _high_half(value):
    """The upper 26 bits of a number (Veltkamp)."""
    scaled = 134217729.0 * value  # 2**27 + 1
    return scaled - (scaled - value)


@kernel(inline="always", inner=True)
def rounded_about(total, t, m, o):
    """The sum of column t of all rungs less ``m * o``, accurately."""
    m_high = _high_half(m)
    m_low = m - m_high
    o_high = _high_half(o)
    o_low = o - o_high
    product = m * o
    rest = ((m_high * o_high - product) + m_high * o_low + m_low * o_high) + m_low * o_low
    value = total[0, t] - product
    back = value - total[0, t]
    lost = (total[0, t] - (value - back)) + (-product - back) - rest
    for r in range(1, total.shape[0]):
        s = value + total[r, t]
        back = s - value
        lost += (value - (s - back)) + (total[r, t] - back)
        value = s
    return value + lost


@kernel
def round_clusters(rungs, clusters, out):
    """``out[j, t]`` = the sum of ``rungs[j, :, t]``, rounded once, for some clusters j."""
    for j in clusters:
        total = rungs[j]
        for t in range(out.shape[1]):
            out[j, t] = rounded(total, t)


@kernel
def round_clusters_about(rungs, mass, origin, clusters, out):
    """``out[j, t]`` = the sum of ``rungs[j, :, t]`` less ``mass[j] * origin[t]``, accurately.

    The product is split into what float64 holds of it and the rest, so that rows far from zero
    lose nothing but the last rounding.
    """
    for j in clusters:
        total = rungs[j]
        m = mass[j]
        for t in range(out.shape[1]):
            out[j, t] = rounded_about(total, t, m, origin[t])


@kernel(fastmath={"nnan", "nsz"})
def range_of(values, lo, hi):
    """Largest and smallest non-zero absolute value of entries lo:hi of a flat array."""
    largest = values.dtype.type(0.0)
    smallest = values.dtype.type(np.inf)
    for p in range(lo, hi):
        size = abs(values[p])
        largest = max(largest, size)
        smallest = min(smallest, size if size > 0 else smallest)
    return np.float64(largest), np.float64(smallest)


@kernel
def is_narrow(values, lo, hi):
    """Whether entries lo:hi of a flat array are all float32 numbers."""
    n_wide = 0
    for p in range(lo, hi):
        n_wide += np.float64(np.float32(values[p])) != values[p]
    return n_wide == 0


@kernel(inner=True)
def mark_bits(
    term,  # IN  a finite number
    used,  # INOUT (N_BINS,) bool
):
    """Mark the bins that a term has bits in."""
    if term == 0.0:
        return
    fraction, exponent = math.frexp(term)
    mantissa = np.int64(abs(fraction) * 9007199254740992.0)
    position = exponent - 53 - LOWEST
    while mantissa & 1 == 0:
        mantissa >>= 1
        position += 1
    for b in range(position >> 5, ((exponent - LOWEST - 1) >> 5) + 1):
        used[b] = True


@kernel
def range_of_terms(
    indptr,  # IN  (n + 1,) where each row begins in the values
    values,  # IN  flat
    weights,  # IN  (n,)
    lo,
    hi,
):
    """Range of ``weights[i] * x`` over the entries of rows lo:hi, and how many are no float32."""
    largest, smallest = 0.0, np.inf
    n_wide = 0
    for i in range(lo, hi):
        w = weights[i]
        if w == 0.0:
            continue
        for p in range(indptr[i], indptr[i + 1]):
            term = abs(w * np.float64(values[p]))
            n_wide += np.float64(np.float32(term)) != term
            largest = max(largest, term)
            if term > 0.0:
                smallest = min(smallest, term)
    return largest, smallest, n_wide


@kernel
def count_exponents(
    indptr,  # IN  (n + 1,) where each row begins in the values
    values,  # IN  flat
    weights,  # IN  (n,)
    counts,  # INOUT (N_EXPONENTS,)
):
    """How many entries of rows that count have which binary exponent."""
    for i in range(indptr.shape[0] - 1):
        if weights[i] != 0.0:
            for p in range(indptr[i], indptr[i + 1]):
                if values[p] != 0:
                    counts[math.frexp(np.float64(values[p]))[1] - LOWEST] += 1


@kernel
def mark_terms(indptr, values, weights, lo, hi, used):
    """Mark the bins that terms of rows lo:hi have bits in."""
    for i in range(lo, hi):
        w = weights[i]
        if w != 0.0:
            for p in range(indptr[i], indptr[i + 1]):
                mark_bits(w * np.float64(values[p]), used)
