"""Which few atoms of a dictionary a target needs: by dropping them one by one, or adding them.

A target ``t`` is to be written as ``Σ x_i atom_i``. Only the atoms' Gram matrix and their products
with the target matter. Both kernels give every entry a *value*, the squared error it saves, in
such a way that keeping the entries above any threshold is a state of the greedy path; so the
entries of many targets can share one budget.
"""

import numpy as np

from polymeans.kernels.compile import kernel

# Sums in any order; the same one every time.
_SUMS = {"reassoc", "contract"}

#: Added to the diagonal of a block of the Gram matrix, relative to its mean: far above rounding,
#: far below what an atom can save.
_RIDGE = 1e-10

#: An atom whose part outside the span of the chosen ones is below this share of its squared norm
#: adds nothing but rounding noise.
_SPANNED = 1e-9


@kernel(fastmath=_SUMS, inner=True)
def _invert(gram, members, m, ridge, lower, inverse):
    """Inverse of a small positive definite block of the Gram matrix, by Cholesky.

    Inner loops run along rows, so that they become vector instructions.
    """
    for a in range(m):
        row = lower[a]
        for b in range(a + 1):
            total = gram[members[a], members[b]]
            other = lower[b]
            for c in range(b):
                total -= row[c] * other[c]
            if a == b:
                # What rounding leaves of an atom that the others span counts as the ridge.
                row[a] = 1.0 / np.sqrt(max(total + ridge, ridge))
            else:
                row[b] = total * other[b]
    # The triangle's inverse takes its place, row by row.
    for a in range(m):
        row = lower[a]
        solved = inverse[a]
        for b in range(a):
            solved[b] = 0.0
        for c in range(a):
            share = row[c]
            other = inverse[c]
            for b in range(c + 1):
                solved[b] -= share * other[b]
        for b in range(a):
            solved[b] *= row[a]
        solved[a] = row[a]
    for a in range(m):
        for b in range(a + 1):
            lower[a, b] = inverse[a, b]
    # Its transpose times itself.
    for a in range(m):
        total_row = inverse[a]
        for b in range(a + 1):
            total_row[b] = 0.0
        for c in range(a, m):
            other = lower[c]
            share = other[a]
            for b in range(a + 1):
                total_row[b] += share * other[b]
    for a in range(m):
        for b in range(a):
            inverse[b, a] = inverse[a, b]


@kernel(fastmath=_SUMS)
def eliminate(
    gram,  # IN  (r, r) products of the atoms
    right,  # IN  (n, r) products of the targets with the atoms
    allowed,  # IN  (n, r) entries that may be used
    limit,  # IN  stop once dropping anything would cost more than this
    lo,
    hi,
    values,  # OUT (n, r) what dropping each entry costs, zero where it is not allowed
    lower,  # BUFFER (m, m), m: most entries of a target that are allowed
    inverse,  # BUFFER (m, m)
    members,  # BUFFER (r,) int64
    x,  # BUFFER (r,)
):
    """Drop one entry after the other from each target, always the one that costs least.

    The value of an entry is the largest cost up to its turn, so values rise along the path.
    """
    n_atoms = gram.shape[0]
    for j in range(lo, hi):
        m = 0
        trace = 0.0
        for i in range(n_atoms):
            values[j, i] = 0.0
            if allowed[j, i] and gram[i, i] > 0:
                members[m] = i
                trace += gram[i, i]
                m += 1
        if m == 0:
            continue
        _invert(gram, members, m, _RIDGE * trace / m, lower, inverse)
        for a in range(m):
            total = 0.0
            for b in range(m):
                total += inverse[a, b] * right[j, members[b]]
            x[a] = total
        path = 0.0
        while m > 0:
            worst = 0
            least = np.inf
            for a in range(m):
                cost = x[a] * x[a] / inverse[a, a]
                if cost < least:
                    least = cost
                    worst = a
            if least > limit:
                break
            path = max(path, least)
            values[j, members[worst]] = path
            # The inverse without one row and column is a rank-one correction of the rest.
            pivot = 1.0 / inverse[worst, worst]
            share = x[worst] * pivot
            dropped = inverse[worst]
            for a in range(m):
                if a != worst:
                    row = inverse[a]
                    x[a] -= share * row[worst]
                    factor = row[worst] * pivot
                    for b in range(m):
                        row[b] -= factor * dropped[b]
            m -= 1
            if worst != m:
                # The last one moves to the free place.
                members[worst] = members[m]
                x[worst] = x[m]
                for b in range(m + 1):
                    inverse[worst, b] = inverse[m, b]
                for b in range(m + 1):
                    inverse[b, worst] = inverse[b, m]
        for a in range(m):
            values[j, members[a]] = max(path, x[a] * x[a] / inverse[a, a])


@kernel(fastmath=_SUMS)
def pursue(
    gram,  # IN  (r, r)
    right,  # IN  (n, r)
    depth,  # IN  entries of one target at most
    floor,  # IN  stop once adding anything would save less than this
    lo,
    hi,
    values,  # OUT (n, r) what adding each entry saves, zero if it is not added
    basis,  # BUFFER (depth, r) products of the chosen atoms, made orthogonal, with all atoms
    left,  # BUFFER (r,) products of the atoms with what is left of the target
    norms,  # BUFFER (r,) squared norms of what is left of the atoms
):
    """Add one entry after the other to each target, always the one that saves most.

    Orthogonal least squares: an atom is judged by the part of it that the chosen ones do not span.
    The value of an entry is the smallest saving up to its turn, so values fall along the path.
    """
    n_atoms = gram.shape[0]
    for j in range(lo, hi):
        for i in range(n_atoms):
            values[j, i] = 0.0
            left[i] = right[j, i]
            norms[i] = gram[i, i]
        path = np.inf
        for step in range(depth):
            chosen = -1
            most = floor
            for i in range(n_atoms):
                if values[j, i] == 0.0 and norms[i] > _SPANNED * gram[i, i]:
                    gain = left[i] * left[i] / norms[i]
                    if gain > most:
                        most = gain
                        chosen = i
            if chosen < 0:
                break
            path = min(path, most)
            values[j, chosen] = path
            if step + 1 == depth:
                break
            root = 1.0 / np.sqrt(norms[chosen])
            direction = basis[step]
            for i in range(n_atoms):
                direction[i] = gram[chosen, i]
            for s in range(step):
                share = basis[s, chosen]
                other = basis[s]
                for i in range(n_atoms):
                    direction[i] -= share * other[i]
            along = left[chosen] * root
            for i in range(n_atoms):
                direction[i] *= root
                left[i] -= along * direction[i]
                norms[i] -= direction[i] * direction[i]
