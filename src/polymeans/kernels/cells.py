"""Cells of a grid: the protocentroid of each set they combine, and sums over cells that share one.

Cell number ``c`` is in C order: the last set's digit runs fastest. Protocentroids of all sets stand
on top of each other, set after set.
"""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel(inner=True)
def decode(code, sizes, digits):
    """``digits`` = the protocentroid of each set that this cell is made of."""
    for q in range(sizes.shape[0] - 1, -1, -1):
        digits[q] = code % sizes[q]
        code //= sizes[q]


@kernel(inner=True)
def advance(digits, sizes, places):
    """Go on to the next cell: its digits, and where their protocentroids stand among all."""
    for q in range(sizes.shape[0] - 1, -1, -1):
        digits[q] += 1
        places[q] += 1
        if digits[q] < sizes[q]:
            break
        digits[q] = 0
        places[q] -= sizes[q]


@kernel(inner=True, allocates=True)
def first_cell(sizes):
    """Digits and places of cell 0, for ``advance``."""
    places = np.zeros(sizes.shape[0], dtype=np.int64)
    for q in range(1, sizes.shape[0]):
        places[q] = places[q - 1] + sizes[q - 1]
    return np.zeros(sizes.shape[0], dtype=np.int64), places


@kernel(allocates=True)
def pair_masses(
    masses,  # IN  (k,) of the cells
    sizes,  # IN  (p,)
    system,  # OUT (H, H) mass of the cells that two protocentroids share
):
    """The matrix of the normal equations of sums; its diagonal holds the marginal masses."""
    n_sets = sizes.shape[0]
    digits, places = first_cell(sizes)
    system[:] = 0.0
    for c in range(masses.shape[0]):
        if masses[c] > 0.0:
            for q in range(n_sets):
                for s in range(q, n_sets):
                    system[places[q], places[s]] += masses[c]
        advance(digits, sizes, places)
    for a in range(system.shape[0]):
        for b in range(a):
            system[a, b] = system[b, a]


@kernel(allocates=True)
def member_sums(
    cells,  # IN  (k, r) sums of the rows of each cell
    sizes,  # IN  (p,)
    sums,  # OUT (H, r) sums of the rows of each protocentroid
):
    """Add up the cells of each protocentroid."""
    digits, places = first_cell(sizes)
    sums[:] = 0.0
    for c in range(cells.shape[0]):
        for q in range(sizes.shape[0]):
            total = sums[places[q]]
            for t in range(cells.shape[1]):
                total[t] += cells[c, t]
        advance(digits, sizes, places)
