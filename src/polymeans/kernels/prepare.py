"""Passes over the rows that are made once, before a fit: norms, sums, renumbering."""

import math

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.exact import add_dense, add_sparse
from polymeans.kernels.stretches import STRETCH, is_occupied


@kernel
def renumber(indices, rank, lo, hi, out):
    """``out[p] = rank[indices[p]]`` for p in lo:hi."""
    for p in range(lo, hi):
        out[p] = rank[indices[p]]


@kernel
def row_norms(indptr, values, lo, hi, norms):
    """Norms of CSR rows lo:hi."""
    for i in range(lo, hi):
        square = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            square += np.float64(values[p]) * np.float64(values[p])
        norms[i] = np.sqrt(square)


@kernel
def unit_rows(
    indptr,  # IN  (n + 1,) where each row begins in the values
    values,  # IN  flat
    lo,
    hi,
    out,  # OUT flat, rows of length one
    lengths,  # OUT (n,) positive, but zero for rows of zeros
):
    """Divide rows by their lengths; a power of two for each keeps its squares in range."""
    for i in range(lo, hi):
        first, last = indptr[i], indptr[i + 1]
        top = 0.0
        for p in range(first, last):
            top = max(top, abs(np.float64(values[p])))
        if top == 0.0:
            lengths[i] = 0.0
            for p in range(first, last):
                out[p] = 0.0
            continue
        scale = math.ldexp(1.0, min(-math.frexp(top)[1], 1000))
        s0 = s1 = 0.0
        for p in range(first, last - 1, 2):
            x0 = np.float64(values[p]) * scale
            x1 = np.float64(values[p + 1]) * scale
            s0 += x0 * x0
            s1 += x1 * x1
        if (last - first) % 2:
            x0 = np.float64(values[last - 1]) * scale
            s0 += x0 * x0
        length = np.sqrt(s0 + s1)
        lengths[i] = length
        for p in range(first, last):
            out[p] = np.float64(values[p]) * scale / length


@kernel
def feature_sums(
    indptr,
    indices,
    values,
    weights,
    magics,  # IN  (n_rungs - 1,)
    lo,
    hi,
    total,  # INOUT (n_rungs, d)
):
    """``total += Σ w x`` over rows lo:hi, exactly."""
    for i in range(lo, hi):
        if weights[i] != 0.0:
            add_sparse(indices, values, indptr[i], indptr[i + 1], weights[i], magics, total)


@kernel
def transpose(indptr, indices, values, starts, owners, entries):
    """Rows of each feature: ``owners`` and ``entries`` from ``starts[f]`` to ``starts[f + 1]``."""
    starts[:] = 0
    for p in range(indices.shape[0]):
        starts[indices[p] + 1] += 1
    for f in range(starts.shape[0] - 1):
        starts[f + 1] += starts[f]
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            f = indices[p]
            owners[starts[f]] = i
            entries[starts[f]] = values[p]
            starts[f] += 1
    for f in range(starts.shape[0] - 1, 0, -1):
        starts[f] = starts[f - 1]
    starts[0] = 0


@kernel
def count_features(indices, counts):
    """How often each feature occurs; added to ``counts``."""
    for p in range(indices.shape[0]):
        counts[indices[p]] += 1


@kernel
def take_features(
    centers,  # IN  (k, d)
    rank,  # IN  (d,) where a feature goes, -1: nowhere
    unit,  # IN  what everything is divided by
    lo,
    hi,
    out,  # OUT (k, d_used), zeros
    outside,  # OUT (k,) squared norms of what goes nowhere, positive if that is not zero
    total,  # OUT (k,) squared norms of everything
):
    """Centroids lo:hi in the features that rows use, in the order of their rank."""
    d = centers.shape[1]
    for j in range(lo, hi):
        everything = beyond = 0.0
        for first in range(0, d, STRETCH):
            last = min(first + STRETCH, d)
            if last - first == STRETCH and not is_occupied(centers[j], first):
                continue
            for t in range(first, last):
                c = np.float64(centers[j, t]) / unit
                everything += c * c
                if rank[t] >= 0:
                    out[j, rank[t]] = c
                else:
                    # A square may vanish where the number does not.
                    beyond += max(c * c, 2.0**-1074) if c != 0.0 else 0.0
        outside[j] = beyond
        total[j] = everything


@kernel
def put_features(
    centers,  # IN  (k, d_used)
    order,  # IN  (d_used,) where each of them goes
    unit,  # IN  what everything is multiplied by
    lo,
    hi,
    out,  # OUT (k, d), zeros
):
    """Undo ``take_features``: features that were left out are zero."""
    d = order.shape[0]
    for j in range(lo, hi):
        for first in range(0, d, STRETCH):
            last = min(first + STRETCH, d)
            if last - first < STRETCH or is_occupied(centers[j], first):
                for r in range(first, last):
                    out[j, order[r]] = centers[j, r] * unit


@kernel
def scatter_rows(indptr, indices, values, chosen, lo, hi, out):
    """``out[j]`` = CSR row ``chosen[j]``, dense, for j in lo:hi."""
    for j in range(lo, hi):
        out[j, :] = 0.0
        for p in range(indptr[chosen[j]], indptr[chosen[j] + 1]):
            out[j, indices[p]] = values[p]


@kernel
def sums_and_norms(
    values,  # IN  (n, d)
    weights,  # IN  (n,)
    magics,  # IN  (n_rungs - 1,)
    lo,
    hi,
    total,  # INOUT (n_rungs, d) += Σ w x, exactly
    norms,  # OUT (n,)
):
    """Exact sums of dense rows lo:hi, and their norms, in one pass."""
    for i in range(lo, hi):
        if weights[i] != 0.0:
            add_dense(values[i], weights[i], magics, total)
        norms[i] = np.sqrt(_square_about_zero(values[i]))


@kernel(inner=True)
def _square_about_zero(x):
    """Squared norm in the order of shifted_norms: the same bits where the shift is zero."""
    s0 = s1 = 0.0
    d = x.shape[0]
    for t in range(0, d - 1, 2):
        d0, d1 = np.float64(x[t]), np.float64(x[t + 1])
        s0 += d0 * d0
        s1 += d1 * d1
    if d % 2:
        d0 = np.float64(x[d - 1])
        s0 += d0 * d0
    return s0 + s1


@kernel
def shifted_norms(values, shift, lo, hi, out):
    """``out[i] = |values[i] - shift|`` for dense rows lo:hi."""
    for i in range(lo, hi):
        s0 = s1 = 0.0
        d = values.shape[1]
        for t in range(0, d - 1, 2):
            d0 = np.float64(values[i, t]) - np.float64(shift[t])
            d1 = np.float64(values[i, t + 1]) - np.float64(shift[t + 1])
            s0 += d0 * d0
            s1 += d1 * d1
        if d % 2:
            d0 = np.float64(values[i, d - 1]) - np.float64(shift[d - 1])
            s0 += d0 * d0
        out[i] = np.sqrt(s0 + s1)
