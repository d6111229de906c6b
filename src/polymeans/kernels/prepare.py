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
def take_features(
    centers,  # IN  (k, d)
    order,  # IN  (d_used,) features to take
    unit,  # IN  what everything is divided by
    lo,
    hi,
    out,  # OUT (k, d_used)
    inside,  # OUT (k,) squared norms of what was taken
    total,  # OUT (k,) squared norms of everything
):
    for j in range(lo, hi):
        s0 = s1 = 0.0
        for r in range(order.shape[0]):
            c = centers[j, order[r]] / unit
            out[j, r] = c
            s0 += np.float64(c) * np.float64(c)
        for t in range(centers.shape[1]):
            c = centers[j, t] / unit
            s1 += np.float64(c) * np.float64(c)
        inside[j] = s0
        # Summed in another order: without features left out the two must not differ.
        total[j] = s1 if order.shape[0] < centers.shape[1] else s0


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
