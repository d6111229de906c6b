"""Euclidean projection of rows onto the l1 ball."""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel
def project_rows(
    rows,  # IN  (n, d)
    radius,  # IN  of the ball, above zero
    lo,
    hi,
    out,  # OUT (n, d), may be the rows themselves
    gaps,  # BUFFER (d,)
):
    """Nearest point of the ball, row by row.

    It is ``sign(x) max(|x| - t, 0)`` for the t that makes its l1 norm the radius. Suppose all
    entries stay positive, compute t, drop those that do not, repeat: t only rises, so none is
    dropped in error, and the last t is exact (Michelot). Everything is measured as a gap to the
    largest entry, which always stays: ``|x| - t`` for large ``|x|`` and a small radius would be a
    difference of equals.
    """
    n_features = rows.shape[1]
    for i in range(lo, hi):
        x, y = rows[i], out[i]
        norm = largest = 0.0
        for t in range(n_features):
            a = abs(np.float64(x[t]))
            norm += a
            largest = max(largest, a)
        if norm <= radius:
            for t in range(n_features):
                y[t] = x[t]
            continue
        n_kept = n_features
        total = 0.0
        for t in range(n_features):
            gaps[t] = largest - abs(np.float64(x[t]))
            total += gaps[t]
        level = (radius + total) / n_kept
        while True:
            n_left = 0
            total = 0.0
            for p in range(n_kept):
                if gaps[p] < level:
                    total += gaps[p]
                    gaps[n_left] = gaps[p]
                    n_left += 1
            if n_left == n_kept:
                break
            n_kept = n_left
            level = (radius + total) / n_kept
        for t in range(n_features):
            value = level - (largest - abs(np.float64(x[t])))
            if value <= 0.0:
                y[t] = 0.0
            elif x[t] < 0:
                y[t] = -value
            else:
                y[t] = value
