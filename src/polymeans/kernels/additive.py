"""The linear system of sums of protocentroids, and its quick solution in trial loops."""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.least_squares import cholesky, solve_cholesky

#: Added to the diagonal, whose entries are about one: a direction that the rows leave open gets a
#: step of rounding errors (1e-16) over 1e-9, which is negligible, and others change by 1e-9.
_RIDGE = 1e-9


@kernel(allocates=True)
def make_definite(
    system,  # INOUT (H, H) pair masses; OUT in units of the protocentroids' own mass
    sizes,  # IN  (p,)
    root,  # OUT (H,) roots of the masses, one where there is none
):
    """Normalise pair masses and fix the directions that no labels determine.

    A shift from one set to another changes no centroid. In normalised coordinates the shifts are
    the vectors ``Σ_q c_q m_q`` with ``Σ_q c_q = 0``, where ``m_q``, of length one, holds the roots
    of the masses of set q; their projector ``Σ_q m_q m_q' - m m' / p``, with ``m = Σ_q m_q``, gives
    them the eigenvalue one. So does a one on the diagonal for protocentroids without rows. What
    is still singular then depends on the labels: parts of the grid that share no rows.
    """
    H, n_sets = system.shape[0], sizes.shape[0]
    total = 0.0
    for a in range(sizes[0]):
        total += system[a, a]
    length = np.sqrt(total) if total > 0.0 else 1.0
    scale, unit = np.zeros(H), np.zeros(H)  # 1 / root, and the entries of m; zero without rows
    for a in range(H):
        root[a] = np.sqrt(system[a, a]) if system[a, a] > 0.0 else 1.0
        if system[a, a] > 0.0:
            scale[a] = 1.0 / root[a]
            unit[a] = root[a] / length
    first = 0
    for q in range(n_sets):
        for a in range(first, first + sizes[q]):
            row = system[a]
            for b in range(H):
                row[b] = row[b] * scale[a] * scale[b] - unit[a] * unit[b] / n_sets
            for b in range(first, first + sizes[q]):
                row[b] += unit[a] * unit[b]
            if unit[a] == 0.0:
                row[a] = 1.0
        first += sizes[q]


@kernel(allocates=True)
def refit_quickly(
    system,  # IN  (H, H) pair masses; used up
    sums,  # IN  (H, r) sums of the rows of each protocentroid; used up
    sizes,  # IN  (p,)
    theta,  # INOUT (H, r) protocentroids
):
    """Fit protocentroids by one Cholesky solve.

    ``polymeans.codebooks.additive`` solves the same definite system for the fit itself: it looks
    at the pivots, takes eigenvectors where they are small, and repeats the step against rounding.
    A trial is judged by its objective and refined on the data if it wins, so a ridge is enough.
    """
    H, r = theta.shape
    for a in range(H):
        for b in range(H):
            mass = system[a, b]
            if mass > 0.0:
                for t in range(r):
                    sums[a, t] -= mass * theta[b, t]
    root = np.empty(H)
    make_definite(system, sizes, root)
    for a in range(H):
        system[a, a] += _RIDGE
    cholesky(system, H, 0.0)
    step = np.empty(H)
    for t in range(r):
        for a in range(H):
            step[a] = sums[a, t] / root[a]
        solve_cholesky(system, H, step)
        for a in range(H):
            theta[a, t] += step[a] / root[a]
