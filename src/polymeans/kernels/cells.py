"""Cells of a grid: which protocentroid of each set they combine, and sums over all that share one.

Cell number ``c`` is in C order: the last set's digit runs fastest. Protocentroids of all sets stand
on top of each other, set after set.
"""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel
def decode(code, sizes, digits):
    """``digits`` = the protocentroid of each set that this cell is made of."""
    for q in range(sizes.shape[0] - 1, -1, -1):
        digits[q] = code % sizes[q]
        code //= sizes[q]


@kernel
def places_of(digits, sizes, places):
    """``places`` = where the protocentroids with these digits stand among all."""
    start = 0
    for q in range(sizes.shape[0]):
        places[q] = start + digits[q]
        start += sizes[q]


@kernel
def pair_masses(
    masses,  # IN  (k,) of the cells
    sizes,  # IN  (p,)
    system,  # OUT (H, H) mass of the cells that two protocentroids share
):
    """The matrix of the normal equations of sums; its diagonal holds the marginal masses."""
    n_sets = sizes.shape[0]
    digits = np.empty(n_sets, dtype=np.int64)
    places = np.empty(n_sets, dtype=np.int64)
    system[:] = 0.0
    for c in range(masses.shape[0]):
        if masses[c] > 0.0:
            decode(c, sizes, digits)
            places_of(digits, sizes, places)
            for q in range(n_sets):
                for s in range(n_sets):
                    system[places[q], places[s]] += masses[c]


@kernel
def member_sums(
    cells,  # IN  (k, r) sums of the rows of each cell
    sizes,  # IN  (p,)
    sums,  # OUT (H, r) sums of the rows of each protocentroid
):
    """Add up the cells of each protocentroid."""
    n_sets = sizes.shape[0]
    digits = np.empty(n_sets, dtype=np.int64)
    places = np.empty(n_sets, dtype=np.int64)
    sums[:] = 0.0
    for c in range(cells.shape[0]):
        decode(c, sizes, digits)
        places_of(digits, sizes, places)
        for q in range(n_sets):
            for t in range(cells.shape[1]):
                sums[places[q], t] += cells[c, t]
