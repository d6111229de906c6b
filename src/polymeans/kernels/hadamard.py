"""The fast Walsh-Hadamard transform."""

import numpy as np

from polymeans.kernels.compile import kernel

#: Rows transformed side by side, one in each lane of the processor's vectors: a cache line of
#: float32.
SIDE_BY_SIDE = 16


@kernel
def signed_sums(
    rows,  # IN  (n, d)
    seed,  # IN  (d,)
    picks,  # IN  (r,) wanted rows of the Hadamard matrix
    lo,
    hi,
    out,  # OUT (n, r) inner products with these rows times the seed, entry by entry
    work,  # BUFFER (D, SIDE_BY_SIDE), D a power of two of at least d
):
    """``H (seed * x)`` for each row x, in Sylvester's order, D log D additions each."""
    n_features = rows.shape[1]
    size = work.shape[0]
    for first in range(lo, hi, SIDE_BY_SIDE):
        n_lanes = min(SIDE_BY_SIDE, hi - first)
        for lane in range(n_lanes):
            x = rows[first + lane]
            for t in range(n_features):
                work[t, lane] = x[t] * seed[t]
        for lane in range(n_lanes, SIDE_BY_SIDE):
            work[:, lane] = 0.0
        work[n_features:] = 0.0
        half = 1
        while half < size:
            for start in range(0, size, 2 * half):
                for t in range(start, start + half):
                    for lane in range(SIDE_BY_SIDE):
                        a = work[t, lane]
                        b = work[t + half, lane]
                        work[t, lane] = a + b
                        work[t + half, lane] = a - b
            half *= 2
        for lane in range(n_lanes):
            for p in range(picks.shape[0]):
                out[first + lane, p] = work[picks[p], lane]


@kernel
def signs(
    picks,  # IN  (r,) rows of the Hadamard matrix
    out,  # OUT (r, d) their first entries
):
    """Entry (i, t) is minus one to the number of bits that i and t have in common."""
    for p in range(picks.shape[0]):
        for t in range(out.shape[1]):
            common = picks[p] & np.int64(t)
            odd = False
            while common:
                common &= common - 1
                odd = not odd
            out[p, t] = -1.0 if odd else 1.0
