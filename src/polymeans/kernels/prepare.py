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
