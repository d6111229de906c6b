"""One-time passes over CSR rows: renumbering, norms, means, transposition."""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel
def renumber(indices, rank, lo, hi, out):
    for p in range(lo, hi):
        out[p] = rank[indices[p]]


@kernel
def row_norms(indptr, values, lo, hi, norms):
    for i in range(lo, hi):
        square = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            square += np.float64(values[p]) * np.float64(values[p])
        norms[i] = np.sqrt(square)


@kernel
def scale_rows(indptr, values, factors, lo, hi, out):
    for i in range(lo, hi):
        for p in range(indptr[i], indptr[i + 1]):
            out[p] = values[p] * factors[i]


@kernel
def feature_sums(indptr, indices, values, weights, totals):
    """``totals += Σ w x`` over all rows."""
    for i in range(weights.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            totals[indices[p]] += weights[i] * values[p]


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
    for p in range(indices.shape[0]):
        counts[indices[p]] += 1


@kernel
def take_features(
    centers,  # IN  (k, d)
    rank,  # IN  (d,) where a feature goes, -1: nowhere
    unit,  # IN  what everything is divided by
    lo,
    hi,
    out,  # OUT (k, d_used)
    outside,  # OUT (k,) squared norms of what goes nowhere
    total,  # OUT (k,) squared norms of everything
):
    for j in range(lo, hi):
        everything = beyond = 0.0
        for t in range(centers.shape[1]):
            c = np.float64(centers[j, t]) / unit
            everything += c * c
            if rank[t] >= 0:
                out[j, rank[t]] = c
            else:
                beyond += c * c
        outside[j] = beyond
        total[j] = everything


@kernel
def put_features(centers, order, unit, lo, hi, out):
    """The way back: features that were left out are zero."""
    for j in range(lo, hi):
        out[j, :] = 0.0
        for r in range(order.shape[0]):
            out[j, order[r]] = centers[j, r] * unit


@kernel
def scatter_rows(indptr, indices, values, chosen, lo, hi, out):
    """Some rows, dense."""
    for j in range(lo, hi):
        out[j, :] = 0.0
        for p in range(indptr[chosen[j]], indptr[chosen[j] + 1]):
            out[j, indices[p]] = values[p]
